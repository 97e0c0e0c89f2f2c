"""calls.py: a wait ends when there is something to do, and not before."""

import threading

import pytest

from f5router.icontrol.calls import Calls
from tests.waiting import DEADLINE_S, until


class Owner:
    """An owner of Calls, in a thread of its own; its requests end when the test lets them."""

    def __init__(self) -> None:
        self.calls = Calls(max_in_flight=4, longest_s=DEADLINE_S)  # only events end a wait
        self.release, self.looks = threading.Event(), 0
        self.calls.attend = self._attend
        self._thread = threading.Thread(target=lambda: None)

    def _attend(self) -> None:
        self.looks += 1

    def begin(self, work) -> None:
        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def request(self, number: int = 0) -> int:
        assert self.release.wait(DEADLINE_S)
        return number

    def join(self) -> None:
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()


@pytest.fixture
def owner():
    owner = Owner()
    yield owner
    owner.release.set()
    owner.calls.close()


def test_a_wake_ends_a_wait(owner):
    """Each brings one look, and nothing else does while the request is under way."""
    owner.begin(lambda: owner.calls.run(owner.request))
    for looks in (1, 2, 3):
        until(lambda looks=looks: owner.looks == looks)
        owner.calls.wake()
    until(lambda: owner.looks == 4)
    owner.release.set()
    owner.join()
    assert owner.looks == 5


def test_the_end_of_a_request_ends_a_wait(owner):
    results: list[int] = []
    owner.begin(lambda: results.extend(owner.calls.each(owner.request, range(20), lambda item: item)))
    until(lambda: owner.looks == 1)
    owner.release.set()
    owner.join()
    assert sorted(results) == list(range(20))
    assert owner.looks <= 21


def test_a_wake_before_the_wait_counts(owner):
    owner.calls.wake()
    owner.begin(lambda: owner.calls.run(owner.request))
    until(lambda: owner.looks == 2)


def test_what_is_due_ends_a_wait(owner):
    due = iter([0.0, 0.0])
    owner.calls.due_in = lambda: next(due, DEADLINE_S)
    owner.begin(lambda: owner.calls.run(owner.request))
    until(lambda: owner.looks == 3)


def test_an_error_of_urgent_work_is_kept(owner):
    """The work is not asked for again, even if it stays due."""
    asked = []

    def attend() -> None:
        owner.looks += 1
        raise ValueError("urgent")

    owner.calls.attend, owner.calls.due_in = attend, lambda: asked.append(True) or 0.0
    owner.begin(lambda: owner.calls.run(owner.request))
    until(lambda: owner.looks == 1)
    owner.release.set()
    owner.join()
    assert (owner.looks, asked, owner.calls.interrupted) == (1, [], True)
    with pytest.raises(ValueError, match="urgent"):
        owner.calls.settle()


@pytest.mark.parametrize("early", [False, True])
def test_giving_up_ends_a_pause(owner, early):
    if early:
        owner.calls.give_up()
    owner.begin(lambda: owner.calls.pause(DEADLINE_S))
    until(lambda: early or owner.looks == 1)
    owner.calls.give_up()
    owner.join()


def test_urgent_requests_end_a_wait(owner):
    """They are begun and taken by the owner while it waits for something else."""
    taken: list[int] = []
    begun = []

    def attend() -> None:
        taken.extend(owner.calls.urgent_results())
        if not begun:
            begun.append(True)
            owner.calls.begin_urgent(lambda item: item, 7)

    owner.calls.attend = attend
    owner.begin(lambda: owner.calls.run(owner.request))
    until(lambda: taken == [7])
