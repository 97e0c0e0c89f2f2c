"""condition.py: when a Route is left to another router of the same name.

Numbers: openshift/router, pkg/router/controller/contention.go.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission.condition import CHANGE_LIMIT, Contention
from tests.unit.conftest import Clock

INTERVAL_S = 180.0
OURS, THEIRS, OTHER = ({"host": host, "routerName": "public"} for host in ("a", "b", "c"))


@pytest.fixture
def contention(clock):
    return Contention(interval_s=INTERVAL_S, clock=clock)


def contend(contention, uid="u"):
    """Two foreign changes with our repair between them."""
    contention.writing(uid, OURS, None)
    contention.changed(uid, THEIRS)
    contention.writing(uid, OURS, THEIRS)
    contention.changed(uid, THEIRS)


@pytest.mark.parametrize(("changes", "contended"), [
    pytest.param([], False, id="none"),
    pytest.param([THEIRS], False, id="the first is a candidate"),
    pytest.param([THEIRS, THEIRS], False, id="the same again"),
    pytest.param([THEIRS, OTHER], True, id="a second, different one"),
    pytest.param([None, THEIRS], True, id="removed, then written"),
    pytest.param([THEIRS, None], True, id="written, then removed"),
])
def test_changes(contention, changes, contended):
    for entry in changes:
        assert contention.changed("u", entry) is True
    assert contention.contended("u", created=False) is contended
    assert contention.contended("another", created=False) is False
    assert contention.count() == contended


def test_own_writes_are_no_changes(contention):
    """The watch may report them before or after the reply, and with any time."""
    for entry in (OURS, OTHER):
        contention.writing("u", entry, contention.own_entry("u"))
        assert contention.changed("u", entry | {"conditions": []}) is False
    contention.confirmed("u", THEIRS)
    assert contention.changed("u", THEIRS) is False
    assert contention.changed("u", OURS) is True
    assert contention.contended("u", created=False) is False


def test_a_repair_is_tried_once(contention):
    """Our success makes it a candidate again; the next foreign change ends it."""
    contention.writing("u", OURS, None)
    contention.changed("u", THEIRS)
    assert contention.contended("u", created=False) is False
    contention.writing("u", OURS, THEIRS)
    contention.changed("u", THEIRS)
    assert contention.contended("u", created=False) is True


@pytest.mark.parametrize(("ours", "over", "contended"), [
    pytest.param(None, THEIRS, True, id="theirs"),
    pytest.param(OTHER, OTHER, False, id="ours"),
    pytest.param(None, None, False, id="none"),
])
def test_who_is_overwritten_may_come_back_once(contention, ours, over, contended):
    """And is then left alone at once: a whole cluster of Routes is not written twice."""
    if ours:
        contention.confirmed("u", ours)
    contention.writing("u", OURS, over)
    contention.changed("u", THEIRS)
    assert contention.contended("u", created=False) is contended


@pytest.mark.parametrize(("after_s", "contended", "counted"), [
    pytest.param(INTERVAL_S, True, 1, id="an interval"),
    pytest.param(INTERVAL_S + 1, False, 1, id="tried again after one"),
    pytest.param(2 * INTERVAL_S, False, 0, id="forgotten at the flush"),
])
def test_it_ends(contention, clock, after_s, contended, counted):
    contend(contention)
    clock.now += after_s
    assert contention.contended("u", created=False) is contended
    assert contention.count() == counted


@pytest.mark.parametrize(("intervals", "lasts"), [(0, True), (10, True), (10.1, False)])
def test_it_lasts_a_while(contention, clock, intervals, lasts):
    """Longer than from one pass to the next, in which the two meet again."""
    assert contention.is_lasting() is False
    contend(contention)
    clock.now += intervals * INTERVAL_S
    assert contention.is_lasting() is lasts


@pytest.mark.parametrize(("after_s", "known"), [(3 * INTERVAL_S, True), (4 * INTERVAL_S, False)])
def test_a_candidate_lives_longer(contention, clock, after_s, known):
    """Three intervals; looked at every two of them."""
    contention.changed("u", THEIRS)
    clock.now += 2 * INTERVAL_S
    contention.count()
    clock.now += after_s - 2 * INTERVAL_S
    contention.changed("u", OTHER)
    assert contention.count() == known


def test_too_much_stops_all_but_new_entries(contention, clock):
    """Until the next flush, and while there are still so many."""
    for number in range(CHANGE_LIMIT):
        contend(contention, f"u{number}")
    assert contention.contended("another", created=False) is False
    contend(contention, "one more")
    assert contention.contended("another", created=False) is True
    assert contention.contended("another", created=True) is False
    assert contention.contended("u0", created=True) is True
    clock.now += 2 * INTERVAL_S
    assert contention.contended("another", created=False) is False


def test_a_change_of_a_contended_route_counts(contention):
    """One Route that is changed all the time stops the rest too, as upstream's does."""
    contend(contention)
    for number in range(CHANGE_LIMIT):
        assert contention.contended("another", created=False) is False
        contention.changed("u", {"host": str(number)})
    assert contention.contended("another", created=False) is True


def test_forgotten_routes(contention):
    contend(contention)
    assert contention.own_entry("u") == OURS
    contention.discard("u")
    assert contention.own_entry("u") is None
    assert contention.count() == 0


@given(st.lists(st.tuples(st.floats(0, 120), st.booleans()), min_size=1, max_size=200))
def test_writes_are_bounded(steps):
    """However quick the other router is: at most two writes of a Route per interval.

    Each step: so much later, the other writes or does not; then we look.
    """
    clock = Clock()
    contention, writes, entry = Contention(interval_s=INTERVAL_S, clock=clock), [], None
    for later_s, theirs in steps:
        clock.now += later_s
        if theirs and entry != THEIRS:
            entry = THEIRS
            contention.changed("u", entry)
        if entry != OURS and not contention.contended("u", created=entry is None):
            entry, over = OURS, entry
            contention.writing("u", entry, over)
            contention.changed("u", entry)
            writes.append(clock.now)
    for start in writes:
        assert sum(start <= at < start + INTERVAL_S for at in writes) <= 2
