"""Reports of passes that are kept: verdicts on Routes, and the last changes with their causes."""

from f5router.admission.condition import Verdict
from f5router.model.cluster import Key
from f5router.model.ltm import Pool, Rule
from f5router.model.texts import Problem
from f5router.plan.change import CREATE, Change
from f5router.reconcile.report import Report
from f5router.views import records
from f5router.views.records import History, Known

A, B = Key("shop", "a"), Key("shop", "b")
GOOD = Verdict(True)


def create(obj):
    return Change(CREATE, None, obj)


def rule(name: str) -> Rule:
    return Rule("/Common/p", name, 1, frozenset(), None)


def report(*keys, **verdicts) -> Report:
    return Report(False, {Key("shop", name): verdict for name, verdict in verdicts.items()},
                  dict.fromkeys(keys, ()))


def test_a_pass_is_one_change_and_members_beside_it_another():
    books, pool = History(lambda: 5.0), Pool("/Common/openshift_shop_web")
    books.pass_began(is_first_load=False)
    for number in range(30):
        books.wrote(create(Pool(f"/Common/openshift_shop_s{number}")))
    books.wrote(create(rule("openshift_route_shop_web")))
    books.pass_ended(refused=1, calls=40, seconds=0.5)
    books.wrote(create(pool))
    beside, whole = books.changes
    assert (beside.causes, beside.calls, beside.writes) == (("Service shop/web",), None, 1)
    assert (whole.writes, whole.refused, whole.calls, whole.seconds, whole.at) == (31, 1, 40, 0.5, 5.0)
    assert whole.causes[:2] == ("Route shop/web", "Service shop/s0")
    assert len(whole.causes) == records.MOST_CAUSES
    assert len(whole.objects) == records.MOST_OBJECTS
    assert whole.objects[0] == "create ltm/pool /Common/openshift_shop_s0"


def test_a_first_load_is_a_cause_of_its_own():
    """Whichever Route comes first in it is not its cause; later passes and members beside it have theirs."""
    books, web = History(lambda: 5.0), create(rule("openshift_route_shop_web"))
    for is_first_load in (True, True, False):
        books.pass_began(is_first_load=is_first_load)
        for number in range(2 * records.MOST_CAUSES if is_first_load else 0):
            books.wrote(create(Pool(f"/Common/openshift_shop_s{number}")))
        books.wrote(web)
        books.pass_ended(refused=0, calls=40, seconds=0.5)
        books.wrote(create(Pool("/Common/openshift_shop_web")))
    assert [(change.causes, change.has_more_causes) for change in reversed(books.changes)] == [
        ((records.FIRST_LOAD,), False), (("Service shop/web",), False)] * 2 + [
        (("Route shop/web",), False), (("Service shop/web",), False)]


def test_a_pass_without_writes_is_no_change_and_a_problem_is_one_once():
    books = History(lambda: 5.0)
    for problem in ("", "away", "away", "", "other"):
        books.pass_began(is_first_load=False)
        books.pass_ended(refused=0, calls=1, seconds=0.1, problem=problem)
    assert [change.problem for change in books.changes] == ["other", "away"]
    for number in range(2 * records.MOST_CHANGES):
        books.wrote(create(Pool(f"/Common/openshift_shop_s{number}")))
    assert len(books.changes) == records.MOST_CHANGES


def test_warnings_are_known_and_are_no_change_of_the_status():
    """They come and go while the verdict stays; each time the lists are new."""
    now, books = [1.0], History(lambda: now[0])
    for warnings in ((), (Problem("NoEndpoints", "no pods"),), ()):
        books.record(Report(False, {A: GOOD}, {A: warnings}), {A: 1})
        assert books.known == {A: Known(GOOD, 1.0, bool(warnings))}
        now[0] += 1
    assert books.revision == 3


def test_causes_that_find_no_place():
    for number, more in ((records.MOST_CAUSES, False), (records.MOST_CAUSES + 1, True)):
        books = History(lambda: 5.0)
        books.pass_began(is_first_load=False)
        for name in [*range(number), 0]:
            books.wrote(create(rule(f"openshift_route_shop_r{name}")))
        books.pass_ended(refused=0, calls=1, seconds=0.1)
        assert (len(books.changes[0].causes), books.changes[0].has_more_causes) == (records.MOST_CAUSES, more)


def test_verdicts_keep_the_time_of_their_last_change():
    now, books = [1.0], History(lambda: now[0])
    seen = []
    books.on_change = lambda: seen.append(books.revision)
    books.record(report(A, B, a=GOOD), {A: 1, B: 1})
    now[0] = 2.0
    books.record(report(A, a=GOOD), {A: 1, B: 1})
    assert seen == [1]
    assert books.known == {A: Known(GOOD, 1.0), B: Known(None, 1.0)}
    books.record(report(B, b=GOOD), {B: 1})
    assert books.known == {B: Known(GOOD, 2.0)}
    assert seen == [1, 2]
