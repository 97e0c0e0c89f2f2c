"""failover_watch.py: what a periodic look at the failover state changes, and what the log says."""

import logging
from types import SimpleNamespace

import pytest

from f5router.app.failover_watch import SUBJECT, FailoverWatch
from f5router.model.errors import AuthFailed, BigIPError, Busy, DeviceTimeout, NotReady, Unreachable

STANDBY = "the unit is STANDBY"


class Failover:
    """The state of a unit by its last answer."""

    def __init__(self):
        self.known = ""

    def obstacle(self) -> str:
        return self.known

    def remarks(self) -> tuple[str, ...]:
        return (self.known,) if self.known else ()


class Unit:
    """A device as the watch sees it, and the watch."""

    def __init__(self):
        self.pair, self.reasons = Failover(), []
        self.watch = FailoverWatch(self, SimpleNamespace(must_read=self.reasons.append))

    def look(self, answer: str | BigIPError) -> bool:
        """Let the watch take this answer; return whether a reading follows."""
        error = answer if isinstance(answer, BigIPError) else None
        if error is None:
            self.pair.known = answer
        self.watch.checked(SimpleNamespace(error=error))
        return bool(self.reasons)


def logged(caplog) -> list[tuple[str, str]]:
    """Messages with their problems, in order; forgotten then."""
    entries = [(record.message, record.problem) for record in caplog.records if hasattr(record, "problem")]
    caplog.clear()
    return entries


@pytest.mark.parametrize(("answer", "reading_follows"), [
    pytest.param("", False, id="active"),
    pytest.param(STANDBY, True, id="standby"),
    pytest.param(Unreachable("GET", "/x", "refused"), True, id="unreachable"),
    pytest.param(AuthFailed("GET", "/x", "no", status=401), True, id="login refused"),
    pytest.param(NotReady("GET", "/x", "starting"), True, id="starting"),
    pytest.param(Busy("GET", "/x", "busy"), False, id="busy"),
    pytest.param(DeviceTimeout("GET", "/x", "slow"), False, id="slow"),
])
def test_a_reading_follows_where_it_has_something_to_report(answer, reading_follows):
    """An error does not reach the control loop."""
    assert Unit().look(answer) is reading_follows


def test_a_change_of_the_state_is_logged_once(caplog):
    """An answer that fails to come changes nothing."""
    caplog.set_level(logging.INFO)
    unit = Unit()
    for answer in (STANDBY, STANDBY, Unreachable("GET", "/x", "refused"), STANDBY):
        unit.look(answer)
    assert logged(caplog) == [(SUBJECT, STANDBY)]
    unit.look("")
    unit.look("")
    assert logged(caplog) == [("problem resolved", STANDBY)]
