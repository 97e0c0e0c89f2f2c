"""The BIG-IP as the router's only writer sees it: its observed state, and how a Plan is carried out.

`observed` is updated with each confirmed write and re-read on demand. A refusal, or a write without a usable
reply, costs one object and its dependents. After any other failure, or doubt, the next pass reads first.
"""

import functools
import logging
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType

from f5router.icontrol import beside, folders, write_log
from f5router.icontrol.calls import Calls
from f5router.icontrol.drain import Drain
from f5router.icontrol.expected import expect
from f5router.icontrol.failover import Failover
from f5router.icontrol.observation import Observation
from f5router.icontrol.observe import DeviceReading
from f5router.icontrol.outcome import Outcome, RetentionTest
from f5router.icontrol.pair import Pair
from f5router.icontrol.rest.blame import blames_object
from f5router.icontrol.rest.client import Client
from f5router.icontrol.sender import Newest, Sender, Sent
from f5router.icontrol.unit import Unit
from f5router.icontrol.writers.ltm_nodes import addresses
from f5router.model import ownership
from f5router.model.device_facts import DeviceFacts
from f5router.model.errors import (
    BigIPError,
    Busy,
    Forbidden,
    Incomplete,
    InUse,
    NotFound,
    Refused,
    Unconfirmed,
    is_usable,
)
from f5router.model.health_checks import MONITOR_TYPES
from f5router.model.json_types import JSON
from f5router.model.ltm import BigIPState, Object, Pool
from f5router.model.objects import Ref
from f5router.plan import diff
from f5router.plan.change import DELETE, AnyChange, Plan, Stage, concerns
from f5router.plan.leaving import UncertainWrites
from f5router.plan.ordinals import Ordinals

log = logging.getLogger(__name__)
Errors = Mapping[Ref, BigIPError]


class Device:
    """One BIG-IP. Not thread-safe; it sends requests in threads of its own, independent ones in parallel."""

    def __init__(
        self, pair: Pair, *,
        folder: str,
        http_virtual: str | None,
        https_virtual: str | None,
        vxlan: bool = False,
        static_routes: bool = False,
        profiles: Collection[str] = (),
        drain_s: float = 0.0,
        sleep: Callable[[float], object] | None = None,
    ):
        """Args:
        profiles: full paths of the server SSL profiles that Routes may name.
        drain_s: pause between deletes of Rules and records, and those of pools and TLS objects.
        sleep: makes this pause; None for one in which urgent work goes on, and which give_up ends.
        """
        self.pair, self._folder, self._drain_s = pair, folder, drain_s
        self._virtuals = (http_virtual, https_virtual)
        self._begun = functools.partial(DeviceReading, folder=folder, virtuals=self._virtuals, vxlan=vxlan,
                                        static_routes=static_routes, profiles=frozenset(profiles))
        self.unit: Unit = pair.units[0]
        """The unit that is read and written. It changes at the beginning of a reading only."""
        self._pause = sleep or (lambda seconds: self.calls.pause(seconds))
        for unit in pair.units:
            unit.observed = lambda: self.observed
        self.desired: Callable[[], BigIPState] = dict
        """Returns the objects as they are wanted, which a reading probably finds."""
        self.on_switch: Callable[[], None] = lambda: None
        """Called after `unit` has changed; `observed` is empty then."""
        self.on_reading: Callable[[], None] = lambda: None
        """Called when a reading begins."""
        self.on_read: Callable[[Observation], None] = lambda observation: None
        """Called with a reading before `observed` takes anything of it."""
        self.folder: JSON = {}
        """Properties of our folder; {} before the first observation."""
        self._meanwhile: dict[Ref, Object | None] | None = None
        """Objects written since a reading began; the reading may be older."""
        self.beside: beside.BesideReading | None = None
        """The reading beside the loop that is under way."""
        self.observed: dict[Ref, Object] = {}
        self.facts, self.ordinals, self._log = DeviceFacts(), Ordinals(), write_log.WriteLog()
        self.legacy: frozenset[str] = frozenset()
        self.unconfirmed: set[Ref] = set()
        """Objects whose last write may have been applied or not, and that were not read since."""
        self.stale = True
        """True if the device must be read before the next pass."""

    @property
    def client(self) -> Client:
        """Client of the unit in use; likewise what follows."""
        return self.unit.client

    @property
    def failover(self) -> Failover:
        return self.unit.failover

    @property
    def calls(self) -> Calls:
        return self.unit.calls

    @property
    def sender(self) -> Sender:
        return self.unit.sender

    @property
    def counts(self) -> Counter[str]:
        """Requests sent to all units, by method."""
        return sum((Counter(dict(unit.client.counts)) for unit in self.pair.units), Counter())

    def give_up(self) -> None:
        """End the Plan that is being carried out at its next write. From any thread."""
        for unit in self.pair.units:
            unit.give_up()

    # --- reading -------------------------------------------------------------------------

    def observe(self, *, create_folder: bool = True,
                on_facts: Callable[[DeviceFacts], None] = lambda facts: None) -> None:
        """Read the device.

        Args:
            create_folder: False to treat a missing folder as an empty one instead of creating it.
            on_facts: called before the objects are read; facts about the original router come later.
        Raises: Standby, PartitionMissing, BigIPError: `observed` and `facts` are unchanged.
        """
        self._choose_unit()
        self._meanwhile, self.beside = {}, None
        self.on_reading()
        unconfirmed, self.unconfirmed = self.unconfirmed, set()
        self.calls.begin()
        try:
            reading = self._reading(self.client)
            self.calls.run(lambda: self._begin(reading, create_folder=create_folder))
            on_facts(reading.facts)
            reading.expected = expect(self.desired(), self.observed)
            observation = self.calls.run(reading.read_objects)
            self.calls.settle()
            newer = self._meanwhile
        except BaseException:
            self.unconfirmed |= unconfirmed
            raise
        finally:
            self._meanwhile = None
        self.stale = bool(self.unconfirmed)
        self.on_read(observation)
        before = addresses(self.observed)
        self.observed, self.ordinals = observation.objects, Ordinals(observation.objects.values())
        self.facts, self.legacy = observation.facts, observation.legacy
        for ref, obj in newer.items():
            self.record_object(ref, obj)
        for observer in self.unit.observers:
            observer.update_from(observation)
        self.unit.nodes.forget(before - addresses(self.observed))

    def begin_reading(self, ended: Callable[[], None]) -> None:
        """Read the device beside the loop, into `beside`. Args: ended: called from its thread."""
        reading = self._reading(self.client.for_reading())
        self.on_reading()
        self.beside = beside.BesideReading(beside.begin(reading.read, ended))

    def _reading(self, client: Client) -> DeviceReading:
        return self._begun(client, unit=self.unit.number, peers=self.pair.peers(self.unit),
                           expected=expect(self.desired(), self.observed))

    def _choose_unit(self) -> None:
        """Turn to the unit that is active. Raises: Standby: none is, or several are; BigIPError."""
        if not self.pair.is_several:
            return
        self.calls.begin()
        unit = self.pair.choose(self.calls.run(self.pair.look),
                                lambda unit: folders.traffic_group(unit.client, self._folder))
        if unit is self.unit:
            return
        log.warning("another BIG-IP is active", extra={"bigip": unit.name, "before": self.unit.name})
        self.unit, self.folder, self.facts = unit, {}, DeviceFacts(unit=unit.number)
        self.observed, self.unconfirmed, self.beside, self.ordinals = {}, set(), None, Ordinals()
        self.stale = True
        self.on_switch()

    def _begin(self, reading: DeviceReading, *, create_folder: bool) -> None:
        """Begin to read everything of ours."""
        if create_folder:
            self.failover.require_active()
        folder = folders.ensure(self.client, self._folder, create=create_folder)
        if folder is None:
            return reading.lack_folder()
        self.folder = folder
        self.pair.set_traffic_group(str(folder.get("trafficGroup") or ""))
        reading.read_facts()

    # --- writing -------------------------------------------------------------------------

    def apply(
        self,
        plan: Plan,
        *,
        earlier_failures: Errors = MappingProxyType({}),
        deferred: Collection[Ref] = (),
        should_retain: Callable[[Outcome], RetentionTest] = lambda outcome: lambda obj: False,
        on_change: Callable[[AnyChange], None] = lambda change: None,
        newest: Newest = lambda change: change,
        soon: Callable[[Ref], bool] = lambda ref: True,
        outcome: Outcome | None = None,
    ) -> Outcome:
        """Carry out a Plan in its order, or its beginning if `calls` are interrupted.

        Args:
            earlier_failures: objects that were refused before and are not in this Plan.
            deferred: objects that are not deleted now, or refused; their dependencies stay with them.
            should_retain: given what failed, returns which previous objects must stay.
            on_change: called for each Change that the device confirmed.
            newest: returns the current Change of a pool just before it is sent, None if none is left.
            soon: False for an object tried so often that less specific ones no longer wait for it.
            outcome: filled and returned; so the caller has it even if this raises.
        Raises: BigIPError: the device itself fails, or is not active; confirmed writes are in `observed`.
        """
        outcome = outcome or Outcome()
        # Requests that were just routed have time to connect.
        drain = Drain(lambda: self._pause(self._drain_s))
        self.sender.uncertain = UncertainWrites(soon)
        self.calls.begin()
        with self._stale_after_error():
            if self.pair.is_several:
                self.calls.run(self.pair.look)
            self.failover.require_active()
            for deleting, stage, changes in self._stages(plan, outcome):
                deletes = [change for change in changes if change.verb == DELETE]
                writes = [change for change in changes if change.verb != DELETE]
                if deletes:
                    deletes = self._without_retained(deletes, should_retain(outcome), deferred, outcome)
                changes = deletes + self._unblocked(writes, earlier_failures, outcome)
                drain.before(stage, changes, deleting=deleting)
                self._settle(self.sender.send(changes, newest, outcome.not_sent), outcome, on_change)
            self.calls.settle()
        return outcome

    def _stages(self, plan: Plan, outcome: Outcome) -> Iterator[tuple[bool, Stage, list[AnyChange]]]:
        """Yield True for deletes that come last, a stage and its Changes, until one is interrupted."""
        for (deleting, stage), group in groupby(plan, key=lambda c: (c.is_late_delete, c.stage)):
            changes = list(group)
            if outcome.not_sent or self.calls.interrupted:
                outcome.not_sent += changes  # never before those of an earlier stage
            else:
                yield deleting, stage, changes

    @contextmanager
    def _stale_after_error(self) -> Iterator[None]:
        try:
            yield
        except Busy:
            raise  # the request was not executed, and `observed` has those before it
        except BaseException:
            # Something may have been written that is not in `observed`.
            self.stale = True
            raise

    def settle_updates(self, results: Iterable[Sent], on_change: Callable[[AnyChange], None],
                       outcome: Outcome) -> None:
        """Record the results of urgent Changes, from `sender.ended_updates`. Raises: BigIPError."""
        with self._stale_after_error():
            self._settle(results, outcome, on_change)

    def _settle(self, results: Iterable[Sent], outcome: Outcome,
                on_change: Callable[[AnyChange], None]) -> None:
        """Record the results of Changes. Raises: the first error for which no object is to blame."""
        device_error = None
        for change, error, seconds in results:
            if isinstance(error, Incomplete) and error.applied != change.old:
                applied = replace(change, new=error.applied)
                self._confirm(applied, seconds)
                on_change(applied)
            if error is None:
                self._confirm(change, seconds)
                outcome.done.append(change)
                on_change(change)
            elif change.verb == DELETE and isinstance(error, InUse):
                outcome.deferred_deletes.append(change)
                outcome.in_use[change.ref] = error
            elif blames_object(error):
                self._log.refused(change, error, seconds)
                outcome.failed[change.ref] = error
                # Somebody else may have changed it: read the device again.
                self.stale = self.stale or isinstance(error, NotFound | Unconfirmed)
            elif device_error is None or isinstance(device_error, Busy):
                device_error = error
            if isinstance(error, Unconfirmed) or (isinstance(error, Forbidden) and error.alone is not None):
                outcome.failed[change.ref] = error  # backs off on its own, even if the whole device does
            if isinstance(error, Unconfirmed):
                self.unconfirmed.add(change.ref)
        if device_error is not None:
            raise device_error

    def _confirm(self, change: AnyChange, seconds: float) -> None:
        self._log.done(change, seconds)
        if isinstance(change.old, Pool):
            stays = change.new.members if isinstance(change.new, Pool) else frozenset()
            self.unit.nodes.forget({m.address for m in change.old.members} - {m.address for m in stays})
        self.record_object(change.ref, change.new)
        if self._meanwhile is not None:
            self._meanwhile[change.ref] = change.new
        if self.beside is not None:
            self.beside.written[change.ref] = change.new

    def record_object(self, ref: Ref, obj: Object | None) -> None:
        """Take an object as it is on the device; None if it is not there."""
        self.ordinals.replace(self.observed.get(ref), obj)
        if obj is None:
            self.observed.pop(ref, None)
        else:
            self.observed[ref] = obj

    def _unblocked(self, changes: list[AnyChange], earlier: Errors, outcome: Outcome) -> list[AnyChange]:
        """Return the Changes whose dependencies are in place; the others fail as their dependencies did."""
        possible, errors = [], ChainMap(outcome.failed, dict(earlier))
        for change in changes:
            if concerns(change, Pool):
                change = replace(change,
                                 new=diff.without_missing_monitors(change.obj, change.old, self.observed))
            error, blocked = self._obstacle(change, errors)
            error = error or self.sender.uncertain.obstacle(change)
            if error is None:
                possible.append(change)
                continue
            self.sender.uncertain.note(change, error)
            outcome.failed[change.ref] = error
            outcome.blocked |= {change.ref} if blocked else set()
        return possible

    def _obstacle(self, change: AnyChange, errors: Errors) -> tuple[BigIPError | None, bool]:
        """Return why an object cannot be written yet, and True if a dependency was refused.

        An object that is there is not turned to another pool whose members are refused; a new one may be.
        Dependencies on the device are followed too: an attachment is useless while the update of its profile
        is refused. A monitor keeps nothing waiting: a pool does without.
        """
        old, seen = change.old, set[Ref]()
        stack = list(change.obj.dependencies) if errors else []
        while stack:
            ref = stack.pop()
            if ref.kind in MONITOR_TYPES:
                continue
            if (error := errors.get(ref)) is not None and not is_usable(error) and not (
                    isinstance(error, Incomplete) and (old is None or ref in old.dependencies)):
                return error, True
            if ref not in seen and ref in self.observed:
                seen.add(ref)
                stack.extend(self.observed[ref].dependencies)
        missing = next((ref for ref in change.obj.dependencies if ref not in self.observed), None)
        return (None if missing is None else Refused(text=f"{missing} is not there")), False

    def _without_retained(
        self, changes: list[AnyChange], retained: RetentionTest, stays: Collection[Ref], outcome: Outcome
    ) -> list[AnyChange]:
        """Return the deletes that may be made: not of retained objects, nor of what they need."""
        staying = {*stays, *outcome.failed, *(change.ref for change in outcome.deferred_deletes)}
        staying -= {change.ref for change in changes}
        needed = ownership.stays_with(staying, self.observed)
        possible = []
        for change in changes:
            if change.ref in needed or retained(change.obj):
                outcome.deferred_deletes.append(change)
            else:
                possible.append(change)
        return possible

    # --- afterwards ----------------------------------------------------------------------

    def save(self) -> None:
        """Save the running configuration to disk. Raises: BigIPError."""
        self.failover.require_active()
        self.client.save()

    def remove_left(self) -> None:
        """Remove drafts, and files from the device's disk, that a failure has left; refusals are logged."""
        installed = {ref.path for ref in self.observed if ref.kind in self.unit.files.kinds}
        self.calls.begin()
        self.calls.run(lambda: self._remove_left(installed))
        self.calls.settle()

    def _remove_left(self, installed: set[str]) -> None:
        self.unit.policies.remove_drafts(self.failover.require_active)
        self.unit.files.remove_left(installed)

    @property
    def orphans(self) -> int:
        """Number of addresses that left our pools and may still have an LTM node."""
        return self.unit.nodes.left

    def remove_orphans(self, most: int) -> int:
        """Delete so many LTM nodes at most that our members left; return their number. Raises: BigIPError."""
        self.failover.require_active()
        return self.unit.nodes.remove_left(addresses(self.observed), most=most)
