"""The loop's part for a Reconciler that has no Controller: until nothing is under way."""

import contextlib
import math
import time
from collections.abc import Callable

from f5router.app.controller import Controller
from f5router.icontrol.dispatcher import Job, Lane
from f5router.model.errors import BigIPError
from f5router.model.objects import Ref
from f5router.plan.change import Plan
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.rollout import UNDER_WAY
from f5router.reconcile.row import RowState
from f5router.reconcile.table import Table

STEP_S = 0.005
LONGEST_S = 60.0


def settle(reconciler: Reconciler, clock: Callable[[], float],
           advance: Callable[[float], None] = lambda seconds: None) -> None:
    """Do all that is due. Args: advance: moves a clock that stands still. Raises: what ends the writing."""
    end, retried = time.monotonic() + LONGEST_S, set[Ref]()
    reconciler.rollouts.trouble = None
    while True:
        assert time.monotonic() < end, "work without end"
        reconciler.timers.fire(clock())
        reconciler.work.step(STEP_S)
        reconciler.dispatch()
        trouble = reconciler.rollouts.trouble
        if trouble is not None and reconciler.device.dispatcher.is_quiet:
            raise trouble
        if trouble is None and reconciler.is_idle and not retry_after_slow_writes(reconciler.table, retried):
            return
        if reconciler.can_go_on or reconciler.work:
            wait_s = 0.0
        elif reconciler.rollouts.current is not None and not reconciler.table.sent:  # it pauses
            at = reconciler.rollouts.current.wakes_at(clock())
            advance(max(0.0, at - clock()))
            wait_s = max(0.0, min(0.05, at - clock()))
        else:
            wait_s = 0.05
        for message in reconciler.inbox.take(wait_s):
            message()


def retry_after_slow_writes(table: Table, retried: set[Ref]) -> bool:
    """End the back-offs of what waited for a slow write, once that has ended; returns True if there are any.

    On a loaded machine any write may take longer than the router's patience.

    Args: retried: objects that are left alone, to which those are added.
    """
    waited = [] if table.sent else [ref for ref, row in table.failures.items()
                                    if row.error is UNDER_WAY and ref not in retried]
    for ref in waited:
        table.retry(ref)
    retried.update(waited)
    return bool(waited)


def whole_plan(reconciler: Reconciler) -> Plan:
    """Return the Plan of everything that differs."""
    reconciler.compare_all()
    return reconciler.rollouts.plan(with_members=True)


def attempt(router: Controller) -> None:
    """Do all that is due; a failure of the device makes the router back off."""
    with contextlib.suppress(BigIPError):
        router.reconcile_once()


def next_retry(reconciler: Reconciler) -> float | None:
    """Return the time of the next attempt; -infinity if something is due, None if nothing is."""
    if not reconciler.is_idle:
        return -math.inf
    return next_due(reconciler.table)


def next_due(table: Table) -> float | None:
    """Return when time brings the next attempt; None if time alone brings none."""
    return min((row.until for row in table.rows.values()
                if row.state in (RowState.REFUSED, RowState.HELD) and row.until < math.inf), default=None)


def take_events(router: Controller) -> None:
    """Take what changed in the cluster; write nothing."""
    router.take_events()
    router.reconciler.work.finish()


def check_failover(router: Controller) -> None:
    """Read the failover state as the loop does periodically."""
    job = Job(router.device.dispatcher, lambda: None, lambda job: None, Lane.OTHER)
    try:
        router.device.failover.check()
    except BigIPError as exc:
        job.error = exc
    router.upkeep.failover.checked(job)


def turn(router: Controller) -> None:
    """Let the loop do what is due, and wait for the replies to all that it has sent."""
    router.turn()
    end = time.monotonic() + LONGEST_S
    while is_under_way(router):
        assert time.monotonic() < end, "a reply is missing"
        router.turn(STEP_S)


def is_under_way(router: Controller) -> bool:
    """True if a computation goes on, or a request is in flight."""
    units = router.device.pair.units
    return bool(router.reconciler.work or router.reconciler.background) or any(
        unit.dispatcher.in_flight(lane) for unit in units for lane in Lane)


def write_a_part(router: Controller) -> None:
    """Let a part of what is due be written: until something more is confirmed, and nothing is under way."""
    reconciler, dispatcher, confirmed = router.reconciler, router.device.dispatcher, []
    told, reconciler.rollouts.on_change = reconciler.rollouts.on_change, lambda change: (told(change),
                                                                                         confirmed.append(change))
    end = time.monotonic() + LONGEST_S
    while not (confirmed and dispatcher.is_quiet):
        assert time.monotonic() < end, "nothing was written"
        if not confirmed:
            reconciler.dispatch()
        for message in reconciler.inbox.take(0.0 if reconciler.can_go_on else STEP_S):
            message()
    reconciler.rollouts.on_change = told
