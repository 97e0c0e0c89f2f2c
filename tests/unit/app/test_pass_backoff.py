"""When the loop goes on after a pass that failed, and what the log says."""

import logging
import math

import pytest

from f5router.app.pass_backoff import PassBackoff
from f5router.app.timing import Timing
from f5router.model.errors import AuthFailed, Forbidden, LoginRefused, Unreachable, Unsupported

TIMING = Timing()
DOWN = Unreachable("GET", "/mgmt/tm/sys", "refused")


def backoff(now: list[float]) -> PassBackoff:
    return PassBackoff("bigip.example.com", timing=TIMING, clock=lambda: now[0])


def levels(caplog, message: str = "BIG-IP not programmed") -> list[int]:
    return [record.levelno for record in caplog.records if record.getMessage() == message]


def test_waits_double_up_to_a_limit_and_endpoints_wait_less():
    now = [100.0]
    waiting = backoff(now)
    delays = []
    for _ in range(8):
        waiting.failed(DOWN)
        delays.append((waiting.until - now[0], waiting.resumes_at(endpoints=True) - now[0]))
    assert delays == [(1, 1), (2, 2), (4, 4), (8, 5), (16, 5), (32, 5), (60, 5), (60, 5)]
    assert waiting.resumes_at(endpoints=False) == waiting.until


@pytest.mark.parametrize(("error", "both"), [
    (LoginRefused("POST", "/login", "no"), (60, 60)),
    (AuthFailed("POST", "/login", "no", status=403), (1, 1)),
    (Unsupported("POST", "/login", "no"), (1, 1)),
    (Forbidden("GET", "/mgmt/tm/sys", "no"), (1, 1)),
    (DOWN, (1, 1)),
    (RuntimeError("a bug"), (1, 1)),
], ids=lambda value: type(value).__name__)
def test_a_refused_login_is_not_repeated_for_endpoints(error, both):
    """Accounts are locked after a few; no other reply has that effect, and most of them pass."""
    now = [0.0]
    waiting = backoff(now)
    waiting.failed(error)
    assert (waiting.until, waiting.resumes_at(endpoints=True)) == both


def test_a_success_ends_it(caplog):
    caplog.set_level(logging.INFO)
    now = [50.0]
    waiting = backoff(now)
    waiting.failed(DOWN)
    waiting.failed(DOWN)
    waiting.succeeded()
    assert waiting.until <= now[0]
    (again,) = (record for record in caplog.records if record.getMessage() == "BIG-IP programmed again")
    assert again.failures == 2
    waiting.failed(DOWN)
    assert waiting.until == now[0] + 1, "the waits begin anew"


def test_a_cause_is_an_error_once_until_a_success(caplog):
    caplog.set_level(logging.DEBUG)
    waiting = backoff([0.0])
    for error in (DOWN, DOWN, LoginRefused("POST", "/login", "no"), DOWN):
        waiting.failed(error)
    assert levels(caplog) == [logging.ERROR, logging.DEBUG, logging.ERROR, logging.DEBUG]
    waiting.succeeded()
    waiting.failed(DOWN)
    assert levels(caplog)[-1] == logging.ERROR


def test_a_bug_has_a_traceback_each_time(caplog):
    waiting = backoff([0.0])
    for _ in range(2):
        try:
            raise RuntimeError("a bug")
        except RuntimeError as exc:
            waiting.failed(exc)
    assert levels(caplog) == [logging.ERROR, logging.ERROR]
    assert all(record.exc_info and record.exc_info[0] is RuntimeError for record in caplog.records)


def test_block_without_a_failure():
    """A standby unit, or a save that is under way: nothing is logged, endpoints wait no longer."""
    now = [0.0]
    waiting = backoff(now)
    waiting.block(5.0, math.inf)
    assert (waiting.until, waiting.resumes_at(endpoints=True)) == (5.0, 5.0)
