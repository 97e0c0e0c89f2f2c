"""Requests in threads, whose ends are messages."""

import math
import threading
from queue import SimpleQueue

import pytest

from f5router.icontrol.dispatcher import PATIENCE_S, Dispatcher, Lane
from f5router.icontrol.rest.slots import Slots
from tests.waiting import DEADLINE_S, until


@pytest.fixture
def make():
    dispatchers = []

    def dispatcher(limit: int, slots: Slots | None = None) -> Dispatcher:
        dispatchers.append(Dispatcher(limit, slots))
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


def test_a_job_that_hangs_gives_its_room_to_another(make):
    """So many at most as may be under way; it is under way until it ends."""
    dispatcher, gate = make(2), threading.Event()
    try:
        jobs = [dispatcher.send(lambda: gate.wait(DEADLINE_S), lambda job: None, Lane.MEMBERS)
                for _ in range(3)]
        until(lambda: all(job.thread for job in jobs))
        assert dispatcher.set_aside(jobs, 10.0) == 10.0 + PATIENCE_S
        assert dispatcher.member_room() == -1
        assert dispatcher.set_aside(jobs, 10.0 + PATIENCE_S) == math.inf
        assert dispatcher.member_room() == 1
        assert not dispatcher.is_quiet
    finally:
        gate.set()
    for _ in jobs:
        end(dispatcher)
    assert dispatcher.is_quiet
    assert dispatcher.member_room() == 2


def test_a_job_whose_requests_get_replies_does_not_hang(make):
    slots, gate = Slots(2), threading.Event()
    dispatcher = make(2, slots)
    try:
        def work() -> None:
            with slots.use():
                pass
            gate.wait(DEADLINE_S)
            with slots.use():
                gate.clear()
                gate.wait(DEADLINE_S)

        job = dispatcher.send(work, lambda job: None, Lane.ROLLOUT)
        until(lambda: job.thread and slots.begun(job.thread) == 1)
        assert [dispatcher.hangs_at(job, now) for now in (10.0, 10.5)] == [10.0 + PATIENCE_S] * 2
        gate.set()
        until(lambda: slots.begun(job.thread) == 2)
        assert dispatcher.hangs_at(job, 10.9) == 10.9 + PATIENCE_S
    finally:
        until(lambda: not gate.is_set())
        gate.set()
    end(dispatcher)
