"""From what changed in the cluster to writes on the BIG-IP: what may be sent is sent, nothing is waited for.

The loop calls the messages of `inbox`, and `dispatch` after whatever has happened. A reading of the whole
device compares everything: at the start, and after anything that leaves doubt. Otherwise only what an event
has touched is looked at.
"""

import math
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import PATIENCE_S
from f5router.model.client_tls import TLSFiles
from f5router.model.cluster import Key, Route
from f5router.model.delta import Changes, Delta
from f5router.model.device_facts import DeviceFacts
from f5router.model.limits import Steps, finish
from f5router.model.objects import Ref
from f5router.model.virtual_server import FrontEndSet
from f5router.plan.diff import diff
from f5router.reconcile.certificate_warnings import CertificateWarnings
from f5router.reconcile.change_times import ChangeTimes
from f5router.reconcile.delete_guard import DeleteGuard
from f5router.reconcile.drift_counts import DriftCounts
from f5router.reconcile.inbox import Inbox, Work, weakly
from f5router.reconcile.members import Members
from f5router.reconcile.report import Report, RouteReports
from f5router.reconcile.retention import OF_NODES, Retention
from f5router.reconcile.rollouts import Rollouts
from f5router.reconcile.row import ObjectRow
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from f5router.reconcile.verdicts import Verdicts
from f5router.reconcile.whole_reading import DeviceLeftovers, DeviceReader

STEP_S = 0.005
"""Longest time for long computations before the loop looks at its messages again, plus one step."""
WAIT_S = 1.0
"""Longest wait for a message of whoever waits until nothing is under way."""


class Reconciler:
    """Joins the pure parts with the device. One thread calls its methods."""

    def __init__(self, engine: Engine, device: Device, *, folder: str, clock: Callable[[], float],
                 drain_s: float = 0.0, allow_mass_delete: bool = False, facts_first: bool = False,
                 inbox: Inbox | None = None, slice_s: float = math.inf):
        """Args:
            drain_s: how long the previous objects of a Route stay that becomes passthrough.
            allow_mass_delete: hold no deletes back, however many.
            facts_first: the first changes of the cluster wait for facts about the device, on which the
                objects of each Host depend: so these are built once.
            inbox: a new one if None is given.
            slice_s: a rollout that others wait for ends after this long.
        """
        self.engine, self.device, self._clock = engine, device, clock
        self.inbox, self.timers = inbox or Inbox(), Timers()
        self.work, self.background = Work(), Work()
        """Computations that rollouts wait for, and those that disturb nothing."""
        for unit in device.pair.units:
            unit.dispatcher.deliver = self.inbox.put
        reference = weakref.ref(engine)  # else the device, with cycles of its own, would keep it
        device.desired = lambda: known.objects if (known := reference()) else {}
        self._held: list[Delta] | None = [] if facts_first else None
        """Changes that wait for the first facts; None once these are known, or cannot be read."""
        self.table = Table(lambda: (engine.objects, device.observed), self.timers, clock)
        self.guard = DeleteGuard(self.table, allow=allow_mass_delete)
        self.retention = Retention(
            engine, device, self.table, folder=folder, guard=self.guard, drain_s=drain_s)
        self.members = Members(engine, device, self.table, self.retention)
        self.reader = DeviceReader(device, self.table, clock=clock, on_facts=weakly(self.take_facts),
                                   on_end=weakly(self._reading_ended))
        self.table.on_retry = weakly(self.reader.must_read)
        self.rollouts = Rollouts(engine, device, self.table, self.members, self.retention, self.reader,
                                 timers=self.timers, clock=clock, slice_s=slice_s,
                                 rebuild=weakly(self.rebuild_all))
        self.rollouts.before_plan = weakly(self._report_between)
        self.rollouts.on_begin, self.rollouts.on_end = map(weakly, (self._begin, self._end))
        self.leftovers = DeviceLeftovers(device, on_error=weakly(self.rollouts.suspend))
        self.times, self.drift = ChangeTimes(self.table, clock), DriftCounts(clock)
        self.certificates = CertificateWarnings(engine)
        self.verdicts = Verdicts(engine, device, self.table, certificates=self.certificates)
        self.reports = reports = RouteReports(engine, device, self.table, self.verdicts, self.certificates)
        self.rollouts.on_settled = weakly(reports.note_settled)
        self.rollouts.must_wait = lambda: reports.are_left
        self.has_read = self._has_started = self.is_passing = False
        """True once the device was read by a router that writes; the last: from `on_begin` to `on_end`."""
        self.patience_s = PATIENCE_S
        """How long whoever waits until nothing is under way waits for a write without a reply."""
        self.first_load = 0
        """Number of objects that the first reading found to be written."""
        self.on_report: Callable[[Report], None] = lambda report: None
        """Called with what has settled."""
        self.on_begin: Callable[[], None] = lambda: None
        """Called when a reading or a rollout begins,"""
        self.on_end: Callable[[Exception | None], None] = lambda error: None
        """and when the last of those that follow each other has ended, with the error that ended it."""
        self._event_at: float | None = None

    # --- events --------------------------------------------------------------------------

    def apply(self, delta: Delta) -> None:
        """Take changes of the cluster at once."""
        finish(self.apply_in_steps(Changes.known(delta)))

    def apply_in_steps(self, changes: Changes, since: float | None = None) -> Steps[None]:
        """Take changes of the cluster: all but Routes at once, as endpoints that come meanwhile are newer.

        Args: since: monotonic seconds of the oldest event.
        """
        if self._held is not None:
            self._held.append(changes.whole())
            return
        ways_known, undetermined = self._knows_ways(), self.retention.undetermined()
        before = {key: self.engine.route(key) for key in self.engine.undecided()}
        objects = replace(changes.objects, routes={}, undecided=self.engine.cluster.undecided)
        services = self.engine.cluster.services_of(objects)
        yield from self._collected(self.engine.apply_in_steps(objects), since)
        converted = yield from changes.conversion
        if converted.front_ends is not None:
            yield from self._collected(self._set_front_ends(converted.front_ends), since)
        before = {key: self.engine.route(key) for key in converted.routes} | before
        yield from self._collected(self.engine.apply_in_steps(converted), since)
        if self.rollouts.follows:
            return
        for key, old in before.items():
            self._note_route(key, old, self.engine.route(key))
        self.reports.is_due |= converted.statuses_due
        if self.retention.undetermined() != undetermined:
            self.rollouts.retry_deferred()  # what waits may do so for them
        self._collect(services)
        if self._knows_ways() and not ways_known:
            # Only now it is known which objects belong to Nodes that are gone.
            self.table.touch(ref for ref in list(self.device.observed) if ref.kind in OF_NODES)

    def _set_front_ends(self, front_ends: FrontEndSet) -> Steps[None]:
        if self.device.set_front_ends(front_ends):
            self.must_read("front ends have changed")
        yield from self.engine.set_front_ends(front_ends, self.device.completed(self.engine.facts))

    def _knows_ways(self) -> bool:
        return self.engine.cluster.nodes_listed and not self.engine.cluster.networks_unread

    def unit_changed(self) -> None:
        """Forget what was written and refused on a unit that is not used any more; a reading follows."""
        self.rollouts.abandon()
        self.table.start_over()
        self.must_read("another unit is active")

    def set_tls_files(self, files: TLSFiles) -> None:
        """Take the new content of the administrator's files for TLS towards clients."""
        self._event_at = None
        self.engine.set_tls_files(files)
        self._collect()

    def set_default_destination_ca(self, certificates: str) -> Steps[None]:
        """Take renewed authorities for pods."""
        return self._collected(self.engine.set_default_destination_ca(certificates))

    def take_endpoints(self, delta: Delta, since: float | None = None) -> set[Key]:
        """Take changes of endpoints only, and return their Services. Args: since: see apply_in_steps."""
        self._event_at = since
        services = self.engine.cluster.services_of(delta)
        self.engine.apply_endpoints(delta)
        self._collect(services)
        return services

    def rebuild_pools(self) -> None:
        """Do one step of what changes of endpoints have left to do."""
        if self.engine.has_changed_pools:
            next(self.engine.rebuild_pools(), None)
            self._collect()

    def take_drift(self, refs: set[Ref]) -> None:
        """Take objects that may not be as they should be."""
        changed = {change.ref for change in diff(
            self.engine.objects, self.device.observed, self.retention.owns, refs, self.device.ordinals)}
        self.table.touch_differing(changed)
        self.members.correct(changed)

    def end_reading(self) -> None:
        """Let the next report count as one of everything: all that was read is compared."""
        self.reports.is_due = self.reports.is_full = True

    def confirm_deletes(self) -> None:
        """Let deletes go ahead that waited for a complete list, which was applied; judge the others anew."""
        self.guard.confirm()
        self.rollouts.is_demanded = True

    def _note_route(self, key: Key, old: Route | None, new: Route | None) -> None:
        if self.retention.draining.note(key, old, new, self._clock()):
            self.rollouts.retry_deferred()
        self.reports.note_route(key, old, new)

    def must_read(self, reason: str) -> None:
        """Let a reading of the device come before the next Plan. Args: reason: for the log."""
        self.reader.must_read(reason)

    def _collected(self, work: Steps[None], since: float | None = None) -> Steps[None]:
        """Do work of the engine in its steps. Args: since: see apply_in_steps."""
        for _ in work:
            self._event_at = since
            self._collect()
            yield
        self._event_at = since
        self._collect()

    def _collect(self, services: Iterable[Key] = ()) -> None:
        """Take from the engine what an event affects. Args: services: whose endpoints changed."""
        dirty, affected = self.engine.take_changes()
        if self.rollouts.follows:
            return  # a reading finds what differs, once this router leads
        self.members.note_endpoints(services, self._event_at)
        if self.has_read or self.device.observed:  # else the first reading shows what differs
            now = self._clock()
            self.table.touch(dirty, since=now if self._event_at is None else min(self._event_at, now))
        if affected:
            self.reports.add(affected)
            if self.failures:  # what a team has changed is tried at once, not when its back-off ends
                needed = self.engine.closure(ref for key in affected for ref in self.engine.uses(key))
                for ref in needed & self.failures.keys():
                    self.table.retry(ref)

    def queue_lengths(self) -> tuple[int, int]:
        """Return how many objects wait for a rollout or a reply, and how many pools for their members."""
        return len(self.table.queue) + len(self.table.sent), len(self.table.members)

    @property
    def failures(self) -> Mapping[Ref, ObjectRow]:
        """Objects that the device refused."""
        return self.table.failures

    @property
    def loaded(self) -> bool:
        """True once every Change that the first reading called for was tried, whatever has come in since."""
        return self.has_read and not self.table.first

    # --- the loop's part --------------------------------------------------------------------

    def dispatch(self) -> None:
        """Send what may be sent now, and report what has settled."""
        if self.rollouts.trouble is None:
            if self.has_read:
                self.rebuild_pools()
                self.rollouts.send_due_members()
            if self.reader.reason and not (self.reader.reading or self.rollouts.current or self.work):
                self.read()
            if self.reader.reading is None and self.has_read:
                self.rollouts.advance(may_begin=not (self.work or self.leftovers.takes_drafts))
            busy = self.rollouts.current or self.rollouts.is_due or self.rollouts.is_writing_policies
            if self.leftovers.may_begin and self.reader.reading is None and not busy:
                self.leftovers.remove()
        if self._may_report() and not self.work:
            self._report()

    def _may_report(self) -> bool:
        """True if what has settled can be told: what is known of the device is not in doubt."""
        return (self.reports.is_due and self.rollouts.current is None and self.reader.reading is None
                and self.rollouts.trouble is None and not self.reader.reason)

    def _report_between(self) -> None:
        """Report between two rollouts, but not before the first one after a reading."""
        if self._may_report() and not self.rollouts.is_demanded:
            self._report()

    @property
    def can_go_on(self) -> bool:
        """True if `dispatch` has something to do that needs no message."""
        return self.rollouts.trouble is None and bool(
            self.engine.has_changed_pools or self._may_report()
            or (self.rollouts.current is None and self.reader.reading is None and not self.rollouts.is_asking
                and (self.reader.reason or (self.rollouts.is_due and not self.leftovers.takes_drafts))))

    @property
    def is_idle(self) -> bool:
        """True if nothing is under way, and nothing is due before a timer; writes that hang do not count."""
        hanging = len(self.table.hanging(self.patience_s))
        return not (self.work or self.background or self.reader.reading or self.rollouts.current
                    or self.table.members or self.reports.is_due or self.rollouts.is_due
                    or (self.reader.reason and self.rollouts.trouble is None)
                    or self.engine.has_changed_pools or hanging < len(self.table.sent) or self.leftovers)

    def run_until_idle(self) -> None:
        """Do all that is due, and wait until nothing is under way.

        Raises: the error because of which nothing more is sent, often a BigIPError.
        """
        while True:
            self.timers.fire(self._clock())
            (self.work or self.background).step(STEP_S)
            self.dispatch()
            trouble = self.rollouts.trouble
            if trouble is not None and self.device.dispatcher.is_quiet:
                raise trouble
            if trouble is None and self.is_idle:
                return
            for message in self.inbox.take(self._wait_s()):
                message()

    def _wait_s(self) -> float:
        """Return how long `run_until_idle` may wait for a message."""
        if self.can_go_on or self.work or self.background:
            return 0.0
        at = self.timers.next_at()
        return WAIT_S if at is None else max(0.0, min(WAIT_S, at - self._clock()))

    def read(self, *, create_folder: bool = True) -> None:
        """Begin to read the device. Args: as those of WholeReading."""
        self._begin()
        self.reader.begin(create_folder=create_folder)

    def start_over(self, *, follows: bool) -> None:
        """Begin to write, or to follow another router: what is known, due or to be reported is out of date.

        The next reading as a leader finds all of it again, except Routes that are gone by then.
        """
        self.rollouts.follows, self.rollouts.trouble = follows, None
        self.rollouts.current = None  # its requests in flight end as they may
        self.table.clear()
        self.reports.clear()
        self.rollouts.is_demanded = False
        self.retention.draining.expire(self._clock())
        self.has_read = self.is_passing = False
        self.reader.drop()
        self.must_read("this router follows" if follows else "this router begins to lead")

    def take_facts(self, facts: DeviceFacts) -> None:
        """Take the changes that waited for facts."""
        held, self._held = self._held, None
        if held is not None:
            self.engine.set_facts(self.device.completed(facts))
            for delta in held:
                self.apply(delta)

    def _reading_ended(self, error: Exception | None) -> None:
        self.take_facts(self.device.facts)
        if error is not None:
            self.rollouts.suspend(error)
        elif self.rollouts.follows:
            self.engine.set_facts(self.device.facts)
            self.rebuild_all()
            self._end()
        else:
            self._compare_all()

    def rebuild_all(self) -> None:
        """Do what changes of endpoints have left to do."""
        finish(self.engine.rebuild_pools())
        self._collect()

    def compare_all(self) -> None:
        """Compare everything that is wanted with what a reading in the calling thread has shown."""
        self.reader.taken()
        self.take_facts(self.device.facts)
        self._compare_all()

    def _compare_all(self) -> None:
        self.engine.set_facts(self.device.facts)
        self.retention.keep_pods()
        self.rebuild_all()
        self._start_over()

    def _start_over(self) -> None:
        """Fill the table after a reading: with everything that differs, and nothing else."""
        changes = diff(self.engine.objects, self.device.observed, self.retention.owns,
                       ordinals=self.device.ordinals)
        differing = {change.ref for change in changes}
        self.members.start_over(ref for ref in differing if self.table.is_present_pool(ref))
        first, self.has_read = not self._has_started, True
        self.table.keep(differing)
        self.table.touch_differing((change.ref for change in changes), first=first,
                                   since=self.reader.read_at if first else None)
        self.table.retry_due()
        if first:
            self._has_started = True
            self.first_load = len(differing)
            self.retention.hold_members(self._clock())
            self.retention.hold_ways(self._clock())
        self.reports.add_all()
        self.rollouts.is_demanded = self.leftovers.is_due = True

    def _begin(self) -> None:
        if not self.is_passing:
            self.is_passing = True
            self.on_begin()

    def _end(self) -> None:
        if self.is_passing:
            self.is_passing = False
            self.on_end(self.rollouts.trouble)

    # --- results ---------------------------------------------------------------------------

    def _report(self) -> None:
        report = self.reports.take()
        self.guard.kept = frozenset(self.engine.pools_of_pods())
        self.on_report(report)
