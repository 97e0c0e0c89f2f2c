"""Checks of /healthz and /readyz."""

import threading

import pytest

from f5router.model.errors import Unreachable
from f5router.monitoring import health
from f5router.monitoring.health import CheckResult, Health, Heartbeat
from tests.waiting import ends_elsewhere


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def problems(checks: list[CheckResult]) -> dict[str, str]:
    return {check.name: check.problem for check in checks if check.problem}


def test_a_loop_that_comes_round_is_alive(clock):
    heart = Heartbeat(limit_s=30, clock=clock)
    for _ in range(3):
        heart.beat()
        clock.now += 30
        assert heart.problem() == ""


def test_a_loop_that_hangs_is_not(clock):
    """Neither is one that never began."""
    heart = Heartbeat(limit_s=30, clock=clock)
    clock.now += 31
    assert heart.problem() == "the control loop has stalled: no progress for 31 s, the limit is 30 s"
    heart.beat()
    assert heart.problem() == ""
    clock.now += 31
    assert heart.problem()


def test_a_long_pass_is_alive_as_long_as_it_gets_on(clock):
    """Each request that was sent counts; the last one counts once."""
    sent = [0]
    heart = Heartbeat(limit_s=30, progress=lambda: sent[0], clock=clock)
    heart.beat()
    for _ in range(4):
        clock.now += 25
        sent[0] += 1
        assert heart.problem() == ""
    clock.now += 31
    assert heart.problem()


def test_progress_is_read_without_the_lock(clock):
    """A beat of the loop does not wait for it."""
    beats = []

    def progress():
        if heart is not None:
            beats.append(ends_elsewhere(heart.beat))

    heart = None
    heart = Heartbeat(limit_s=30, progress=progress, clock=clock)
    heart.problem()
    assert beats == [True]


def test_a_loop_whose_thread_ended_is_dead_at_once(clock):
    heart = Heartbeat(limit_s=30, clock=clock)
    thread = threading.Thread(target=heart.beat)
    thread.start()
    thread.join()
    assert heart.problem() == "the control loop has ended"


def test_readiness_lists_what_is_missing(clock):
    """First nothing is there; then one after the other."""
    missing, stopping = ["routes are not listed yet", "services are not listed yet"], []
    state = Health(Heartbeat(limit_s=30, clock=clock), missing=lambda: missing,
                   stopping=lambda: bool(stopping))
    assert problems(state.ready()) == {
        "cluster-listed": "routes are not listed yet; services are not listed yet",
        "bigip-reached": "not reached yet", "has-synced": "the first load is not complete",
    }
    missing.clear()
    state.failed(Unreachable("GET", "/mgmt/tm/sys/version", "Connection refused"))
    assert problems(state.ready()) == {
        "bigip-reached": "GET /mgmt/tm/sys/version: Connection refused",
        "has-synced": "the first load is not complete",
    }
    state.reached()
    assert problems(state.ready()) == {"has-synced": "the first load is not complete"}
    state.loading = lambda: "500 of 3,200 writes, 0:00:12, about 1:05 left"
    assert problems(state.ready()) == {
        "has-synced": "the first load is not complete: 500 of 3,200 writes, 0:00:12, about 1:05 left"}
    state.loaded()
    assert problems(state.ready()) == {}
    state.failed(Unreachable(text="gone"))
    assert problems(state.ready()) == {"bigip-reached": "gone"}  # it was loaded, and serves
    state.reached()
    stopping.append(True)
    assert problems(state.ready()) == {"process-running": "the router is stopping"}


def test_slow_requests_are_a_remark(clock):
    """The router is ready; the remark stands where the operator looks for the device."""
    slow = []
    state = Health(Heartbeat(limit_s=30, clock=clock), missing=lambda: (), slow=lambda: slow)
    state.reached()
    state.loaded()
    assert {check.note for check in state.ready()} == {""}
    slow.append("GET /mgmt/tm/ltm/policy takes over 40 s")
    assert {check.name: check.note for check in state.ready() if check.note} == {"bigip-reached": slow[0]}
    assert problems(state.ready()) == {}


@pytest.mark.parametrize(("checks", "verbose", "expected"), [
    ([CheckResult("a")], False, (True, "ok")),
    ([CheckResult("a"), CheckResult("b")], True, (True, "[+]a ok\n[+]b ok\nreadyz check passed\n")),
    ([CheckResult("a"), CheckResult("b", "why")], False,
     (False, "[+]a ok\n[-]b failed: why\nreadyz check failed\n")),
    ([CheckResult("a", note="late", warns=True), CheckResult("b", note="one")], False, (True, "ok")),
    ([CheckResult("a", note="late", warns=True), CheckResult("b", note="one")], True,
     (True, "[!]a warning: late\n[+]b ok: one\nreadyz check passed\n")),
])
def test_report(checks, verbose, expected):
    assert health.report("readyz", checks, verbose=verbose) == expected


def test_a_reason_is_one_short_line():
    assert health.excerpt("a\n b" + "x" * 999) == "a b" + "x" * 253


def test_another_router_is_a_warning(clock):
    """The router is ready all the same; the check is there only then."""
    problems_of = {"other": ""}
    state = Health(Heartbeat(limit_s=30, clock=clock), missing=lambda: (),
                   others=lambda: problems_of["other"])
    assert "partition" not in {check.name for check in state.ready()}
    problems_of["other"] = "another router writes here"
    assert CheckResult("partition", "", "another router writes here", warns=True) in state.ready()
