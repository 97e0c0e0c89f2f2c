"""Requests in threads, whose ends are messages."""

import threading
from queue import SimpleQueue

import pytest

from f5router.icontrol.dispatcher import Dispatcher, Lane
from tests.waiting import DEADLINE_S


@pytest.fixture
def make():
    dispatchers = []

    def dispatcher(limit: int) -> Dispatcher:
        dispatchers.append(Dispatcher(limit))
        dispatchers[-1].messages = SimpleQueue()
        dispatchers[-1].deliver = dispatchers[-1].messages.put
        return dispatchers[-1]

    yield dispatcher
    for each in dispatchers:
        each.close()


def end(dispatcher: Dispatcher) -> None:
    dispatcher.messages.get(timeout=DEADLINE_S)()


def test_the_end_of_a_job_is_a_message(make):
    """With its result, or the error; what follows is done by whoever takes the message."""
    dispatcher, ended = make(2), []
    dispatcher.send(lambda: "read", ended.append)
    end(dispatcher)
    dispatcher.send(lambda: 1 / 0, ended.append)
    end(dispatcher)
    assert [job.result for job in ended] == ["read", None]
    assert [type(job.error) for job in ended] == [type(None), ZeroDivisionError]


@pytest.mark.parametrize(("limit", "rollout", "members", "room", "member_room"), [
    (4, 0, 0, 3, 4), (4, 3, 0, 0, 1), (4, 0, 2, 1, 2), (4, 0, 4, 1, 0), (4, 1, 3, 0, 0), (1, 0, 0, 1, 1),
    (1, 1, 0, 0, 1), (1, 0, 1, 1, 0)])
def test_each_lane_has_its_share(make, limit, rollout, members, room, member_room):
    """Room for one write of members is left; more of them leave a rollout at least one request."""
    dispatcher, gate = make(limit), threading.Event()
    try:
        for lane, count in ((Lane.ROLLOUT, rollout), (Lane.MEMBERS, members)):
            for _ in range(count):
                dispatcher.send(lambda: gate.wait(DEADLINE_S), lambda job: None, lane)
        assert (dispatcher.room(), dispatcher.member_room()) == (room, member_room)
        assert dispatcher.is_quiet == (rollout + members == 0)
    finally:
        gate.set()
    for _ in range(rollout + members):
        end(dispatcher)
    assert dispatcher.is_quiet


def test_a_reading_counts_for_no_lane(make):
    dispatcher = make(1)
    dispatcher.send(lambda: None, lambda job: None)
    assert (dispatcher.is_quiet, dispatcher.room(), dispatcher.in_flight(Lane.OTHER)) == (True, 1, 1)
    end(dispatcher)
    assert dispatcher.in_flight(Lane.OTHER) == 0
