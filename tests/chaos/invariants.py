"""Invariants of a router at any moment, and when all is as it is to be."""

import math

from f5router.app.controller import Controller
from f5router.icontrol.dispatcher import Lane
from f5router.reconcile.row import FOR_SERVING, LISTED, RowState


def asleep(router: Controller, now: float) -> list[str]:
    """Return the rows that nothing wakes: their turn, a reply, a timer, another row, or the end of a hold.

    A back-off that has ended waits for a reading, which comes with a turn of the loop.
    """
    table, is_awake = router.reconciler.table, router.next_turn_at() < math.inf
    engine, guard = router.reconciler.engine, router.reconciler.guard
    unread = bool(engine.undetermined() or engine.cluster.sources_unread or engine.cluster.undecided)
    waiting = {ref: on for on, refs in table.waiting.items() for ref in refs}
    lost = []
    for ref, row in table.rows.items():
        has_wake = {
            RowState.DUE: ref in table.queue or ref in table.members,
            RowState.SENT: ref in table.sent,
            RowState.REFUSED: table.timers.when(ref) == row.until or (row.until <= now and is_awake),
            RowState.BLOCKED: row.on in table.rows and waiting.get(ref) == row.on,
            RowState.HELD: (table.timers.when(ref) == row.until or is_awake if row.hold in FOR_SERVING
                            else guard.since is not None if row.hold in LISTED else unread or is_awake),
        }[row.state]
        if not has_wake:
            lost.append(f"{ref} is {row.state.name}, and nothing wakes it")
    return lost


def account(router: Controller, now: float) -> str:
    """Return what a router is about, for somebody who looks for the reason of a failure."""
    rollouts = router.reconciler.rollouts
    dispatchers = [(unit.name, unit.dispatcher) for unit in router.device.pair.units]
    in_flight = [f"{name} {lane.name} {dispatcher.in_flight(lane)}" for name, dispatcher in dispatchers
                 for lane in Lane if dispatcher.in_flight(lane)]
    return (f"leads: {router.replica.leads}; next turn in {router.next_turn_at() - now:.1f} s; "
            f"trouble: {rollouts.trouble!r}; rollout: {rollouts.current is not None}; "
            f"work: {bool(router.reconciler.work)}; in flight: {in_flight}; rows: {at_rest(router)[:4]}")


def at_rest(router: Controller) -> list[str]:
    """Return what a router has left to do, by its own account."""
    table = router.reconciler.table
    return [f"{ref} is {row.state.name}: {row.error}" for ref, row in table.rows.items()]
