"""Work that is done while a pass waits for the BIG-IP, and the early end of a pass that others wait for."""

import math
from collections.abc import Callable, Iterable

from f5router.app.debounce import EventSignal
from f5router.app.endpoint_pace import EndpointPace
from f5router.app.replica import Replica
from f5router.app.settling import Settling
from f5router.app.timing import Timing
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.model.cluster import Key
from f5router.model.errors import Busy
from f5router.plan.change import AnyChange
from f5router.reconcile.reconciler import Reconciler


class UrgentWork:
    """Programs changed endpoints between two requests. The loop's thread calls its methods."""

    def __init__(self, cluster: ClusterWatcher, reconciler: Reconciler, signal: EventSignal, replica: Replica,
                 settling: Settling, *, hold_off_s: float, events_due: Callable[[], float | None],
                 record_change: Callable[[AnyChange], None], timing: Timing, clock: Callable[[], float]):
        """Args:
            events_due: returns when a pass is due because of events.
            record_change: called for each confirmed write.
        """
        self._cluster, self._reconciler, self._replica = cluster, reconciler, replica
        self._settling, self._timing, self._clock = settling, timing, clock
        self._events_due, self._record_change = events_due, record_change
        self.pace = EndpointPace(signal, hold_off_s=hold_off_s, clock=clock)
        self.pass_began = math.inf
        """When the pass of the loop began; other passes are not preempted."""
        self._not_before = -math.inf
        """Changed endpoints are not programmed before: the device was busy."""
        for unit in reconciler.device.pair.units:
            unit.calls.preempted = self._is_preempted
            unit.calls.due_in, unit.calls.urgent_ended = self._due_in, signal.wake
        signal.on_event = lambda: reconciler.device.calls.wake()

    def program_endpoints(self) -> None:
        """Program endpoints whose turn it is, whatever is under way. Raises: BigIPError.

        No other event delays them: an address may be another tenant's pod's by now. A new leader reads each
        pool first, until it has read the BIG-IP: what the leader before has written is right.
        """
        takes_over = self._replica.is_taking_over
        if self._clock() < self._not_before or not (takes_over or self._may_program()):
            return
        event_at = self.pace.oldest_at()
        late = self.pace.begin()
        if delta := self._cluster.drain_endpoints(self.pace.is_held, settled=not late):
            self._reconciler.times.begin(event_at)
            self.record(self._reconciler.take_endpoints(delta))
        self.pace.end(pending=self._cluster.has_endpoints())
        self._reconciler.rebuild_pools()
        program = self._replica.takeover.program if takes_over else self._reconciler.members.program
        try:
            program(self._record_change)
        except Busy:
            if not self._settling.is_disturbing():
                raise
            self._not_before = self._clock() + self._timing.busy_s

    def record(self, services: Iterable[Key]) -> None:
        """Note Services whose endpoints have changed, and that are programmed now or at a takeover."""
        self.pace.record(services)
        self._replica.record(services)

    def endpoints_due(self) -> float | None:
        """Return when endpoints are to be programmed, if no event comes before; None if none are left."""
        due = self.pace.due_at(pending=self._cluster.has_endpoints())
        return None if due is None else max(due, self._not_before)

    def _may_program(self) -> bool:
        return self._replica.leads and self._replica.has_read

    def _due_in(self) -> float:
        """Return the seconds after which there is something to do even if nothing comes in."""
        times = [math.inf]
        if self._may_program() or self._replica.is_taking_over:
            if self._reconciler.engine.has_changed_pools:
                times.append(self._not_before)
            if (endpoints := self.endpoints_due()) is not None:
                times.append(endpoints)
        if not self._reconciler.device.calls.interrupted and self._cluster.pending() > 0 and (
                events := self._events_due()) is not None:
            times.append(max(events, self.pass_began + self._timing.slice_s))
        return min(times) - self._clock()

    def _is_preempted(self) -> bool:
        """True if a pass has had its time, and other changes are pending whose hold-off is over."""
        now, due = self._clock(), self._events_due()
        return (now >= self.pass_began + self._timing.slice_s and due is not None and due <= now
                and self._cluster.pending() > 0)
