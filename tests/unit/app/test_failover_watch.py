"""failover_watch.py: what a periodic look at the failover state changes, and what the log says."""

import logging

import pytest

from f5router.app.failover_watch import SUBJECT, FailoverWatch
from f5router.model.errors import AuthFailed, BigIPError, Busy, DeviceTimeout, NotReady, Unreachable

PERIOD_S = 5.0
STANDBY = "the unit is STANDBY"


class Failover:
    """The state of a unit: an obstacle, or an error in the place of an answer."""

    def __init__(self):
        self.answer: str | BigIPError = ""
        self.known = ""
        self.checks = 0

    def check(self) -> None:
        self.checks += 1
        if isinstance(self.answer, BigIPError):
            raise self.answer
        self.known = self.answer

    def obstacle(self) -> str:
        return self.known

    def remarks(self) -> tuple[str, ...]:
        return (self.known,) if self.known else ()


class Unit:
    """A device as the watch sees it, and the watch."""

    def __init__(self, clock, *, stale: bool = False):
        self.failover, self.stale = Failover(), stale
        self.pair = self.failover
        self.watch = FailoverWatch(self, period_s=PERIOD_S, clock=clock)

    def look(self, answer: str | BigIPError) -> bool:
        """Let the watch read this answer; return whether a pass follows."""
        self.failover.answer = answer
        self.watch.check()
        return self.stale


def logged(caplog) -> list[tuple[str, str]]:
    """Messages with their problems, in order; forgotten then."""
    entries = [(record.message, record.problem) for record in caplog.records if hasattr(record, "problem")]
    caplog.clear()
    return entries


@pytest.mark.parametrize(("answer", "pass_follows"), [
    pytest.param("", False, id="active"),
    pytest.param(STANDBY, True, id="standby"),
    pytest.param(Unreachable("GET", "/x", "refused"), True, id="unreachable"),
    pytest.param(AuthFailed("GET", "/x", "no", status=401), True, id="login refused"),
    pytest.param(NotReady("GET", "/x", "starting"), True, id="starting"),
    pytest.param(Busy("GET", "/x", "busy"), False, id="busy"),
    pytest.param(DeviceTimeout("GET", "/x", "slow"), False, id="slow"),
])
@pytest.mark.parametrize("stale", [False, True])
def test_a_pass_follows_where_it_has_something_to_report(clock, answer, pass_follows, stale):
    """A device that was stale before stays so, and an error does not reach the control loop."""
    assert Unit(clock, stale=stale).look(answer) is (pass_follows or stale)


@pytest.mark.parametrize("answer", ["", STANDBY, Unreachable("GET", "/x", "refused")])
def test_the_next_look_is_due_after_a_period(clock, answer):
    """The first one is due at once; one that failed is not repeated earlier."""
    unit = Unit(clock)
    assert unit.watch.due_at < clock()
    unit.look(answer)
    assert unit.watch.due_at == clock() + PERIOD_S


def test_a_pass_that_read_the_state_postpones_the_next_look(clock, caplog):
    """`record` takes the state over without a request."""
    unit = Unit(clock)
    unit.failover.known = STANDBY
    unit.watch.record()
    assert (unit.failover.checks, unit.watch.due_at) == (0, clock() + PERIOD_S)
    assert logged(caplog) == [(SUBJECT, STANDBY)]


def test_a_change_of_the_state_is_logged_once(clock, caplog):
    """An answer that fails to come changes nothing."""
    caplog.set_level(logging.INFO)
    unit = Unit(clock)
    for answer in (STANDBY, STANDBY, Unreachable("GET", "/x", "refused"), STANDBY):
        unit.look(answer)
    assert logged(caplog) == [(SUBJECT, STANDBY)]
    unit.look("")
    unit.look("")
    assert logged(caplog) == [("problem resolved", STANDBY)]
