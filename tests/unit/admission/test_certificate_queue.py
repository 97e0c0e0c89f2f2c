"""Order of the checks of certificates, and verdicts that are kept."""

import itertools
import threading

import pytest

from f5router.admission import certificates
from f5router.admission.certificates import CheckQueue, Texts
from f5router.model.cluster import Key
from tests import bombs
from tests.builders import identity
from tests.waiting import DEADLINE_S

ID, OTHER = identity(algorithm="ec"), identity(algorithm="ec", serial=1)
CHEAP = Texts(ID.certificate, ID.key, ID.issuer)
BOMB = Texts(**bombs.one_name(60, "p256"))
A, B = Key("a", "one"), Key("b", "one")


def stepping(**options) -> CheckQueue:
    """One in which each look at the clock is a millisecond later: a turn is a step."""
    return CheckQueue(at_once_s=0.0, clock=itertools.count(0.0, 0.001).__next__, **options)


def drained(queue: CheckQueue) -> set[Key]:
    while queue.turn():
        pass
    return queue.work()


def test_at_once():
    """Without a thread beside the loop there is no waiting."""
    queue = CheckQueue()
    assert queue.ask(A, CHEAP) is None
    assert queue.work() == {A}
    assert queue.ask(A, CHEAP) == certificates.check(CHEAP)
    assert queue.work() == set()


def test_nothing_to_check():
    assert stepping().ask(A, Texts()) == certificates.Certificates()


def test_a_verdict_is_kept():
    """While the texts are the same, also after others were asked for in between; not for another Route."""
    queue = stepping()
    queue.ask(A, CHEAP)
    assert drained(queue) == {A}
    first = queue.ask(A, Texts(ID.certificate, ID.key, ID.issuer))
    assert first is not None
    assert queue.ask(A, Texts(OTHER.certificate, OTHER.key)) is None
    assert queue.ask(A, CHEAP) is first
    assert not queue.turn()
    assert queue.ask(B, CHEAP) is None
    assert queue.ask(A, Texts(ID.certificate, ID.key, ID.issuer, extended=False)) is None


def test_only_the_newest_texts_are_checked():
    """However often a Route is edited while it waits, or is being checked."""
    queue = stepping()
    for number in range(50):
        queue.ask(A, Texts(ID.certificate, "x" * number))
        queue.turn()
    queue.ask(A, CHEAP)
    assert queue.pending() == 1
    assert drained(queue) == {A}
    assert queue.ask(A, CHEAP).problems == ()


def test_a_route_that_went_is_not_checked():
    queue = stepping()
    queue.ask(A, BOMB)
    queue.turn()
    queue.forget(A)
    assert not queue.turn()
    assert queue.work() == set()
    assert queue.pending() == 0
    assert queue.ask(A, BOMB) is None, "no verdict is kept"


def test_namespaces_take_turns():
    """A thousand bombs of one cost another namespace as many steps as its own check has."""
    queue = stepping()
    for number in range(1000):
        queue.ask(Key("a", f"r{number}"), BOMB)
    for _ in range(100):
        queue.turn()
    queue.ask(B, CHEAP)
    steps = sum(1 for _ in certificates.check_in_steps(CHEAP)) + 1
    for _ in range(2 * steps):
        queue.turn()
    assert B in queue.work()


def test_hosts_of_others_take_no_turns():
    """Certificates of a stranger, who publishes the paths of a team on hosts of his, wait for themselves."""
    queue = stepping()
    for number in range(1000):
        queue.ask(Key("b", f"r{number}"), BOMB, claimant="a")
    for _ in range(100):
        queue.turn()
    queue.ask(B, CHEAP)
    for _ in range(2 * (sum(1 for _ in certificates.check_in_steps(CHEAP)) + 1)):
        queue.turn()
    assert B in queue.work()
    queue.forget(Key("b", "r7"))
    assert queue.pending() == 999


def test_routes_of_a_namespace_are_checked_one_after_the_other():
    """So the queue holds the memory of one unfinished check for a namespace."""
    queue, routes = stepping(), [Key("a", f"r{number}") for number in range(5)]
    for route in routes:
        queue.ask(route, CHEAP)
    verdicts = []
    while queue.turn():
        verdicts.append(len(routes) - queue.pending())
    steps = sum(1 for _ in certificates.check_in_steps(CHEAP)) + 1
    assert verdicts.index(1) + 1 == len(verdicts) / len(routes) == steps


def test_a_text_that_is_none():
    """JSON may hold halves of characters; that is a fault of its Route only."""
    queue = stepping()
    queue.ask(A, Texts(ID.certificate.replace("\n", "\n\ud800", 1)))
    queue.ask(B, CHEAP)
    assert drained(queue) == {A, B}
    assert "it cannot be checked" in queue.ask(A, Texts(
        ID.certificate.replace("\n", "\n\ud800", 1))).problems[0]


@pytest.mark.parametrize("before", [[], [Key("b", f"r{number}") for number in range(20)]])
def test_beside_the_loop(before):
    """The thread tells of news, whatever was asked for before and went since."""
    queue, told = CheckQueue(), threading.Event()
    with queue.beside(told.set, start_s=0.0, later_s=0.0):
        for key in (A, *before):
            queue.ask(key, CHEAP)
        queue.work()
        for key in before:
            queue.forget(key)
        checked = set()
        while A not in checked:
            assert told.wait(DEADLINE_S)
            told.clear()
            assert queue.news
            checked |= queue.work()
            assert not queue.news
    assert queue.ask(A, CHEAP).problems == ()
    queue.ask(B, CHEAP)
    assert queue.work() == {B}, "without the thread, `work` checks all"
