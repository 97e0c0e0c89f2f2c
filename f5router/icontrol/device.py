"""The BIG-IP as the router's only writer sees it: its observed state, readings, and results of writes.

`observed` is updated with each confirmed write and re-read on demand. A refusal, or a write without a usable
reply, costs one object and its dependents. After any other failure, or doubt, a reading comes first.
"""

import functools
import logging
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from f5router.icontrol import surroundings, write_log
from f5router.icontrol.dispatcher import Dispatcher, Job, Lane
from f5router.icontrol.failover import Failover
from f5router.icontrol.observation import Observation, expect
from f5router.icontrol.observe import DeviceReading
from f5router.icontrol.own_servers import NONE as NO_SERVERS
from f5router.icontrol.own_servers import OwnServers
from f5router.icontrol.pair import Pair
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.readiness import blames_object
from f5router.icontrol.unit import Unit
from f5router.icontrol.writers.ltm_nodes import addresses
from f5router.model.device_facts import DeviceFacts
from f5router.model.errors import BigIPError, Busy, Forbidden, InUse, Unconfirmed
from f5router.model.json_types import JSON
from f5router.model.ltm import BigIPState, Object, Pool
from f5router.model.ltm_nodes import Incomplete
from f5router.model.objects import Ref
from f5router.model.virtual_server import (
    AUTOMAP,
    UNTRANSLATED,
    FrontEndSet,
    VirtualServer,
    listeners,
)
from f5router.plan.change import DELETE, AnyChange
from f5router.plan.rule_order import Ordinals

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Settled:
    """Fates of the Changes of one Job. One that is neither done nor has an error was not sent."""

    done: tuple[AnyChange, ...] = ()
    errors: Mapping[Ref, BigIPError] = field(default_factory=dict)
    """Why the others were not done, or not confirmed, by object: each backs off by itself."""
    trouble: Exception | None = None
    """The first error for which no object is to blame."""


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
        own_servers: OwnServers = NO_SERVERS,
        checks_tls: bool = False,
        drain_s: float = 0.0,
    ):
        """Args:
        profiles: full paths of the server SSL profiles that Routes may name.
        own_servers: virtual servers that the router creates.
        checks_tls: find out if monitors can verify pods.
        drain_s: pause of a rollout between deletes of Rules and records, and those of pools and TLS objects.
        """
        self.pair, self._folder, self.drain_s, self._vxlan = pair, folder, drain_s, vxlan
        self.own_servers = self._read_servers = own_servers
        """Virtual servers that the router creates, by its newest settings."""
        self._virtuals = (http_virtual, https_virtual)
        self._begun = functools.partial(DeviceReading, folder=folder, virtuals=self._virtuals, vxlan=vxlan,
                                        static_routes=static_routes, profiles=frozenset(profiles),
                                        checks_tls=checks_tls)
        self.unit: Unit = pair.units[0]
        """The unit that is read and written. It changes at the beginning of a reading only."""
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
        self.written: dict[Ref, Object | None] | None = None
        """Objects whose write was confirmed since the reading under way began, which may be older; None for
        deleted ones. None while nothing is read."""
        self.beside: Job | None = None
        """The reading beside the loop that is under way."""
        self.observed: dict[Ref, Object] = {}
        self.facts, self.ordinals, self._log = DeviceFacts(), Ordinals(), write_log.WriteLog()
        self.legacy: frozenset[str] = frozenset()

    @property
    def client(self) -> Client:
        """Client of the unit in use; likewise what follows."""
        return self.unit.client

    @property
    def failover(self) -> Failover:
        return self.unit.failover

    @property
    def counts(self) -> Counter[str]:
        """Requests sent to all units, by method."""
        return sum((Counter(dict(unit.client.counts)) for unit in self.pair.units), Counter())

    def give_up(self) -> None:
        """End the Plan that is being carried out at its next write. From any thread."""
        for unit in self.pair.units:
            unit.give_up()

    def watch_stop(self, stop: threading.Event, then: Callable[[], None] | None = None) -> None:
        """Let a stop end requests to a BIG-IP that does not answer. Args: then: method that follows."""
        # Weak, as the thread outlasts a device without a stop.
        calls = [weakref.WeakMethod(method) for method in (self.give_up, then) if method is not None]

        def wait() -> None:
            stop.wait()
            for call in calls:
                if (method := call()) is not None:
                    method()

        threading.Thread(target=wait, daemon=True, name="stop").start()

    # --- reading -------------------------------------------------------------------------

    def observe(self, *, create_folder: bool = True) -> None:
        """Read the device in the calling thread, as commands do.

        Args: create_folder: False to treat a missing folder as an empty one instead of creating it.
        Raises: Standby, PartitionMissing, BigIPError: `observed` and `facts` are unchanged.
        """
        self.turn_to(self.active_unit())
        reading = self.begin_whole_reading()
        try:
            self.read_facts(reading, create_folder=create_folder)
            self.expect(reading)
            self.take(reading.read_objects())
        except BaseException:
            self.fail_reading()
            raise

    def begin_whole_reading(self) -> DeviceReading:
        """Begin a reading whose result `take` puts in the place of everything that is known."""
        self.written, self.beside, self._read_servers = {}, None, self.own_servers
        self.on_reading()
        return self._reading(self.client)

    def read_facts(self, reading: DeviceReading, *, create_folder: bool = True) -> None:
        """Read what decides how objects may be written; from any thread. Raises: BigIPError."""
        if create_folder:
            self.failover.require_active()
        folder = surroundings.ensure_folder(self.client, self._folder, create=create_folder)
        if folder is None:
            return reading.lack_folder()
        reading.folder = folder
        self.pair.set_traffic_group(str(folder.get("trafficGroup") or ""))
        reading.read_facts()

    def expect(self, reading: DeviceReading) -> None:
        """Take the folder of a reading, and tell it which objects it will probably find."""
        self.folder = reading.folder
        reading.expected = expect(self.desired(), self.observed)

    def fail_reading(self) -> None:
        """End a reading without a result."""
        self.written = None

    def take(self, observation: Observation) -> None:
        """Take the result of a reading of everything."""
        newer, self.written = self.written or {}, None
        self.on_read(observation)
        observation = replace(observation, facts=self.completed(observation.facts))
        before = addresses(self.observed)
        self.observed, self.ordinals = observation.objects, Ordinals(observation.objects.values())
        self.facts, self.legacy = observation.facts, observation.legacy
        for ref, obj in newer.items():
            self.record_object(ref, obj)
        for observer in self.unit.observers:
            observer.update_from(observation)
        self.unit.nodes.forget(before - addresses(self.observed))

    def begin_reading(self, then: Callable[[Job], None]) -> None:
        """Read the device beside the loop. Args: then: see Dispatcher.send; a Job that counts is `beside`."""
        reading = self._reading(self.client.for_reading())
        self.on_reading()
        self.written = {}
        self.beside = self.dispatcher.send(reading.read, then, Lane.BESIDE)

    def end_reading(self) -> None:
        """Take no more of the reading beside the loop."""
        self.written = self.beside = None

    def _reading(self, client: Client) -> DeviceReading:
        return self._begun(client, unit=self.unit.number, peers=self.pair.peers(self.unit),
                           own_servers=self.own_servers, expected=expect(self.desired(), self.observed))

    # --- front ends ----------------------------------------------------------------------

    @property
    def virtual_servers(self) -> tuple[str, ...]:
        """Full paths of the virtual servers of all front ends, each once."""
        further = (each.virtual for each in self.own_servers.listeners)
        return tuple(dict.fromkeys(filter(None, (*self._virtuals, *further))))

    def set_front_ends(self, front_ends: FrontEndSet) -> bool:
        """Replace the virtual servers that the router creates; while nothing is being written.

        Returns: True if the device must be read before the next Plan: an earlier run has left one of them, or
        a SNAT pool of theirs is to be compared with the tunnels.
        """
        before = {each.virtual for each in self.own_servers.listeners}
        self.own_servers = replace(self.own_servers, listeners=listeners((*front_ends.own,
                                                                          *front_ends.further)))
        self.facts = self.completed(self.facts)
        for unit in self.pair.units:
            unit.virtual_servers.own_servers = self.own_servers
            unit.attachments.take_facts(self.facts)
        new = [each for each in self.own_servers.listeners if each.virtual not in before]
        pools = self._vxlan and any(each.translation not in (AUTOMAP, UNTRANSLATED) for each in new)
        return pools or any(Ref(VirtualServer.KIND, each.virtual) in self.observed for each in new)

    def completed(self, facts: DeviceFacts) -> DeviceFacts:
        """Return facts with those about the virtual servers of all front ends, as OwnServers.completed."""
        return self.own_servers.completed(facts, self._virtuals)

    @property
    def is_outdated(self) -> bool:
        """True if the front ends have changed since the last reading of everything began."""
        return self._read_servers is not self.own_servers

    def active_unit(self) -> Unit:
        """Return the active unit; from any thread. Raises: Standby: not exactly one is active; BigIPError."""
        if not self.pair.is_several:
            return self.unit
        return self.pair.choose(self.pair.look(),
                                lambda unit: surroundings.traffic_group(unit.client, self._folder))

    def look(self) -> None:
        """Ask all units of a pair for their state; from any thread. Raises: Standby, BigIPError."""
        self.pair.look()
        self.failover.require_active()

    def turn_to(self, unit: Unit) -> None:
        """Read and write a unit from now on."""
        if unit is self.unit:
            return
        log.warning("another BIG-IP is active", extra={"bigip": unit.name, "before": self.unit.name})
        self.unit, self.folder, self.facts = unit, {}, DeviceFacts(unit=unit.number)
        self.observed, self.beside, self.ordinals = {}, None, Ordinals()
        self.on_switch()

    # --- writing -------------------------------------------------------------------------

    @property
    def dispatcher(self) -> Dispatcher:
        """Threads for the requests to the unit in use."""
        return self.unit.dispatcher

    def send(self, changes: list[AnyChange], then: Callable[[Job], None], lane: Lane) -> Job:
        """Write Changes of one group, or a single one, in a thread. Args: then: see Dispatcher.send."""
        sender = self.unit.sender
        return self.dispatcher.send(lambda: sender.write(changes), then, lane)

    def settle(self, job: Job, on_change: Callable[[AnyChange], None]) -> Settled:
        """Record the results of a Job. Args: on_change: called for each Change that was confirmed."""
        trouble, done, errors = job.error, list[AnyChange](), dict[Ref, BigIPError]()
        for change, error, seconds in job.result or ():
            if isinstance(error, Incomplete) and error.applied != change.old:
                applied = replace(change, new=error.applied)
                self._confirm(applied, seconds)
                on_change(applied)
            if error is None:
                self._confirm(change, seconds)
                done.append(change)
                on_change(change)
            elif change.verb == DELETE and isinstance(error, InUse):
                errors[change.ref] = error
            elif blames_object(error):
                self._log.refused(change, error, seconds)
                errors[change.ref] = error
            elif trouble is None or isinstance(trouble, Busy):
                trouble = error
            if isinstance(error, Unconfirmed) or (isinstance(error, Forbidden) and error.alone is not None):
                errors[change.ref] = error  # backs off on its own, even if the whole device does
        return Settled(tuple(done), errors, trouble)

    def _confirm(self, change: AnyChange, seconds: float) -> None:
        self._log.done(change, seconds)
        if isinstance(change.old, Pool):
            stays = change.new.members if isinstance(change.new, Pool) else frozenset()
            self.unit.nodes.forget({m.address for m in change.old.members} - {m.address for m in stays})
        self.record_object(change.ref, change.new)
        if self.written is not None:
            self.written[change.ref] = change.new

    def record_object(self, ref: Ref, obj: Object | None) -> None:
        """Take an object as it is on the device; None if it is not there."""
        self.ordinals.replace(self.observed.get(ref), obj)
        if obj is None:
            self.observed.pop(ref, None)
        else:
            self.observed[ref] = obj

    # --- afterwards ----------------------------------------------------------------------

    def save(self) -> None:
        """Save the running configuration to disk. Raises: BigIPError."""
        self.failover.require_active()
        self.client.save()

    def installed_files(self) -> set[str]:
        """Return the paths of our certificate files."""
        return {ref.path for ref in self.observed if ref.kind in self.unit.files.kinds}

    def remove_drafts(self) -> None:
        """Remove drafts that a failure has left; refusals are logged.

        From any thread, while no policy is being written.
        """
        self.unit.policies.remove_drafts(self.failover.require_active)

    def remove_files(self, installed: set[str]) -> None:
        """Remove files from the device's disk that a failure has left; refusals are logged.

        From any thread. Args: installed: from `installed_files`. Raises: BigIPError.
        """
        self.unit.files.remove_left(installed)

    @property
    def orphans(self) -> int:
        """Number of addresses that left our pools and may still have an LTM node."""
        return self.unit.nodes.left

    def keep_used_nodes(self) -> None:
        """Leave the LTM nodes alone whose addresses members of our pools have again."""
        self.unit.nodes.keep(addresses(self.observed))

    def remove_orphans(self, most: int) -> int:
        """Delete so many LTM nodes at most that our members left; return their number.

        From any thread, after `keep_used_nodes`. Raises: BigIPError.
        """
        self.failover.require_active()
        return self.unit.nodes.remove_left((), most=most)
