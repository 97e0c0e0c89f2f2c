"""The BIG-IP as the router's only writer sees it: what is there, and how a Plan is carried out.

`observed` is kept from confirmed writes and re-read on demand. A refusal, or a write of one object without a
usable reply, costs the object and what needs it; anything else that goes wrong ends the pass. The next one
begins with a reading then, as it does after any write that may have been done or not.
"""

import logging
import threading
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from types import MappingProxyType

from f5router.icontrol import folders
from f5router.icontrol.calls import Calls
from f5router.icontrol.failover import Failover
from f5router.icontrol.observation import Observation
from f5router.icontrol.observe import observe
from f5router.icontrol.outcome import Outcome, RetentionTest
from f5router.icontrol.rest import readiness
from f5router.icontrol.rest.blame import Blame, blames_object
from f5router.icontrol.rest.client import Client
from f5router.icontrol.sender import Newest, Sender
from f5router.icontrol.writers.attachments import AttachmentWriter
from f5router.icontrol.writers.fdb import FDBWriter
from f5router.icontrol.writers.files import FileWriter
from f5router.icontrol.writers.ltm_nodes import NodeWriter
from f5router.icontrol.writers.objects import ObjectWriter
from f5router.icontrol.writers.policies import PolicyWriter
from f5router.icontrol.writers.records import RecordWriter
from f5router.icontrol.writers.static_routes import StaticRouteWriter
from f5router.icontrol.writers.tunnels import TunnelWriter
from f5router.icontrol.writers.writer import Result, Results
from f5router.model.device_facts import DeviceFacts, VirtualFacts
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
from f5router.model.json_types import JSON
from f5router.model.ltm import BigIPState, Object, Pool, Record
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, AnyChange, Plan, Stage
from f5router.plan.overtaking import UncertainWrites

log = logging.getLogger(__name__)


class Stopped(BigIPError):
    """The router is to end: what is not written yet stays as it is."""


class Device:
    """Not thread-safe; it sends requests in threads itself, independent ones in parallel."""

    def __init__(
        self,
        client: Client,
        files: FileWriter,
        *,
        folder: str,
        http_virtual: str | None,
        https_virtual: str | None,
        policy_model: str = "auto",
        node_partition: str | None = None,
        vxlan: bool = False,
        static_routes: bool = False,
        max_in_flight: int = 4,
        drain_s: float = 0.0,
    ):
        """Args: drain_s: pause between the end of what leads requests somewhere, and of what it used."""
        self.client = client
        self.failover = Failover(client)
        self._drain_s = drain_s
        self._files = files
        self._folder = folder
        self._virtuals = (http_virtual, https_virtual)
        self._network = {"vxlan": vxlan, "static_routes": static_routes}
        self.calls = Calls(max_in_flight)
        self._given_up = threading.Event()
        self.sender = Sender(self.calls, Blame(lambda: client.get_once(readiness.VERSION)), self._checkpoint)
        self._nodes = NodeWriter(client, own="/" + folder.split("/")[1], shared=node_partition)
        self._attachments = AttachmentWriter(client, folder)
        fdb = FDBWriter(client)
        policies = PolicyWriter(client, model=policy_model, checkpoint=self._checkpoint,
                                enough=lambda: self.calls.interrupted, attempt=self.sender.attempt_in_order)
        self.sender.register(
            files, TunnelWriter(client, folder), fdb, StaticRouteWriter(client, folder),
            ObjectWriter(client, self._nodes), RecordWriter(client, self._records), policies,
            self._attachments)
        self._observers = (self._nodes, self._attachments, fdb, policies)
        """What takes something from each Observation."""
        self.folder: JSON = {}
        """Properties of our folder; {} before the first observation."""
        self._meanwhile: dict[Ref, Object | None] | None = None
        """What was written since a reading began, which may be older."""
        self.observed: dict[Ref, Object] = {}
        self.facts = DeviceFacts()
        self.unconfirmed: set[Ref] = set()
        """Objects whose last write may have been done or not, and that were not read since."""
        self.stale = True
        """True until an observation, and after anything that leaves doubt."""

    def close(self) -> None:
        """Stop the writers' threads."""
        self.calls.close()
        self._files.close()

    def give_up(self) -> None:
        """End the Plan that is being carried out at its next write. From any thread."""
        self._given_up.set()
        self.client.give_up()

    def _checkpoint(self) -> None:
        if self._given_up.is_set():
            raise Stopped(text="the router was told to stop")
        self.failover.require_active()

    # --- reading -------------------------------------------------------------------------

    def observe(self, *, create_folder: bool = True) -> None:
        """Read the device anew.

        Args:
            create_folder: make our folder where it is missing in its partition; without, it counts as empty.
        Raises:
            Standby: the folder may not be made, as the unit is not active.
            PartitionMissing, BigIPError: nothing that was known is changed.
        """
        self._meanwhile = {}
        unconfirmed, self.unconfirmed = self.unconfirmed, set()
        self.calls.begin()
        try:
            observation = self.calls.run(lambda: self._read(create_folder=create_folder))
            self.calls.settle()
            newer = self._meanwhile
        except BaseException:
            self.unconfirmed |= unconfirmed
            raise
        finally:
            self._meanwhile = None
        self.stale = bool(self.unconfirmed)
        before = _addresses(self.observed)
        self.observed, self.facts = observation.objects, observation.facts
        for ref, obj in newer.items():
            self._note(ref, obj)
        for observer in self._observers:
            observer.update_from(observation)
        self._nodes.forget(before - _addresses(self.observed))

    def _read(self, *, create_folder: bool) -> Observation:
        """Read everything of ours."""
        if create_folder:
            self.failover.require_active()
        folder = folders.ensure(self.client, self._folder, create=create_folder)
        if folder is None:
            # The virtual servers would be in the folder.
            http, https = (VirtualFacts(path, exists=False) if path else None for path in self._virtuals)
            return Observation(facts=DeviceFacts(self.client.version(), http, https))
        self.folder = folder
        self.failover.traffic_group = str(folder.get("trafficGroup") or "")
        return observe(self.client, self._folder, self._virtuals, **self._network)

    def foresee(self, plan: Plan) -> dict[Ref, BigIPError]:
        """Return the objects of a Plan that would be refused for a reason known before they are sent."""
        return self._attachments.foresee(plan)

    # --- writing -------------------------------------------------------------------------

    def apply(
        self,
        plan: Plan,
        *,
        earlier_failures: Mapping[Ref, BigIPError] = MappingProxyType({}),
        deferred: Collection[Ref] = (),
        should_retain: Callable[[Outcome], RetentionTest] = lambda outcome: lambda obj: False,
        on_change: Callable[[AnyChange], None] = lambda change: None,
        newest: Newest = lambda change: change,
        soon: Callable[[Ref], bool] = lambda ref: True,
        outcome: Outcome | None = None,
    ) -> Outcome:
        """Carry out a Plan in its order, or the beginning of it when `calls` are interrupted.

        Args:
            earlier_failures: objects that were refused before and are not in this Plan.
            deferred: objects whose delete was deferred before; their dependencies stay as long as they do.
            should_retain: given what failed, tells which previous objects must stay.
            on_change: called for each Change that the device confirmed.
            newest: gives the Change of a pool as it is just before it is sent, None if it is done by now.
            soon: False for an object that was tried so often that less specific ones wait for it no longer.
            outcome: what is returned; the caller has it also when this raises.
        Raises:
            Standby: the unit is not active, or no longer.
            BigIPError: the device, not an object, is to blame; what was confirmed is in `observed`.
        """
        retained, led, begun, outcome = None, False, False, Outcome() if outcome is None else outcome
        self.sender.uncertain = UncertainWrites(soon)
        self.calls.begin()
        try:
            self.failover.require_active()
            for (deleting, stage), group in groupby(plan, key=lambda c: (c.verb == DELETE, c.stage)):
                changes = list(group)
                if outcome.not_sent or self.calls.interrupted:
                    # Of what comes later nothing may be done before what comes earlier.
                    outcome.not_sent += changes
                    continue
                if deleting:
                    retained = retained or should_retain(outcome)
                    stays = {*earlier_failures, *deferred}
                    changes = self._without_retained(changes, retained, stays, outcome)
                    led = led and not (changes and not stage.is_routing and self._drained())
                    # Connections whose TLS began to end here come to the Rules yet.
                    begun = stage == Stage.EXCLUSION or (begun and not (changes and self._drained()))
                else:
                    changes = self._unblocked(changes, earlier_failures, outcome)
                led = led or (stage.is_routing and bool(changes))
                self._settle(self.sender.send(changes, newest, outcome.not_sent), outcome, on_change)
            self.calls.settle()
        except Busy:
            raise  # it was not done, and what was done before is in `observed`
        except BaseException:
            # Whatever it was: something may have been written that is not in `observed`.
            self.stale = True
            raise
        return outcome

    def begin_updates(self, changes: Iterable[AnyChange]) -> None:
        """Begin to write Changes that cannot wait, beside requests that are under way."""
        self.sender.begin_updates(changes)

    def ended_updates(self) -> Results:
        """Return the Changes of `begin_updates` that ended, for `settle_updates`."""
        return self.sender.ended_updates()

    def settle_updates(self, results: Iterable[Result], on_change: Callable[[AnyChange], None],
                       outcome: Outcome) -> None:
        """Note what became of Changes. Raises: BigIPError."""
        try:
            self._settle(results, outcome, on_change)
        except Busy:
            raise
        except BaseException:
            self.stale = True
            raise

    def is_in_flight(self, ref: Ref) -> bool:
        """True while a request about an object is under way."""
        return self.sender.is_in_flight(ref)

    def _drained(self) -> bool:
        """Let requests connect that were led to a pool just before it, or its TLS, is taken away."""
        self.calls.pause(self._drain_s, self._given_up.wait)
        return True

    def _records(self, group: str) -> list[Record]:
        return [obj for obj in self.observed.values() if isinstance(obj, Record) and obj.group == group]

    def _settle(self, results: Iterable[Result], outcome: Outcome,
                on_change: Callable[[AnyChange], None]) -> None:
        """Note what became of Changes. Raises: the first error for which no object is to blame."""
        trouble = None
        for change, error in results:
            if isinstance(error, Incomplete) and error.made != change.old:
                part = replace(change, new=error.made)
                self._confirm(part)
                on_change(part)
            if error is None:
                self._confirm(change)
                outcome.done.append(change)
                on_change(change)
            elif change.verb == DELETE and isinstance(error, InUse):
                outcome.deferred_deletes.append(change)
                outcome.in_use[change.ref] = error
            elif blames_object(error):
                log.warning("change refused", extra={
                    "object": str(change.ref), "verb": change.verb, "error": str(error),
                })
                outcome.failed[change.ref] = error
                # Another hand may have changed it: compare again with what is there.
                self.stale = self.stale or isinstance(error, NotFound | Unconfirmed)
            elif trouble is None or isinstance(trouble, Busy):
                trouble = error
            if isinstance(error, Unconfirmed) or (isinstance(error, Forbidden) and error.alone is not None):
                outcome.failed[change.ref] = error  # has a back-off of its own also where the device has one
            if isinstance(error, Unconfirmed):
                self.unconfirmed.add(change.ref)
        if trouble is not None:
            raise trouble

    def _confirm(self, change: AnyChange) -> None:
        if isinstance(change.old, Pool):
            stays = change.new.members if isinstance(change.new, Pool) else frozenset()
            self._nodes.forget({m.address for m in change.old.members - stays})
        self._note(change.ref, change.new)
        if self._meanwhile is not None:
            self._meanwhile[change.ref] = change.new

    def _note(self, ref: Ref, obj: Object | None) -> None:
        if obj is None:
            self.observed.pop(ref, None)
        else:
            self.observed[ref] = obj

    def _unblocked(
        self, changes: list[AnyChange], earlier: Mapping[Ref, BigIPError], outcome: Outcome
    ) -> list[AnyChange]:
        """Leave out what needs something that failed or is not there; it fails likewise."""
        free, errors = [], ChainMap(outcome.failed, dict(earlier))
        for change in changes:
            error, blocked = self._obstacle(change.obj, errors)
            error = error or self.sender.uncertain.obstacle(change)
            if error is None:
                free.append(change)
                continue
            self.sender.uncertain.note(change, error)
            outcome.failed[change.ref] = error
            if blocked:
                outcome.blocked.add(change.ref)
        return free

    def _obstacle(self, obj: Object, errors: Mapping[Ref, BigIPError]) -> tuple[BigIPError | None, bool]:
        """Why an object cannot be written yet, and whether that is the refusal of another.

        Looks through what is on the device too: an attachment that is there serves nobody while the
        profile that it attaches is still an old one.
        """
        seen: set[Ref] = set()
        stack = list(obj.dependencies) if errors else []
        while stack:
            ref = stack.pop()
            if ref in errors and not is_usable(errors[ref]):
                return errors[ref], True
            if ref not in seen and ref in self.observed:
                seen.add(ref)
                stack.extend(self.observed[ref].dependencies)
        missing = next((ref for ref in obj.dependencies if ref not in self.observed), None)
        return (None if missing is None else Refused(text=f"{missing} is not there")), False

    def _without_retained(
        self, changes: list[AnyChange], retained: RetentionTest, stays: set[Ref], outcome: Outcome
    ) -> list[AnyChange]:
        """Leave out deletes of previous objects that must stay, and of their dependencies."""
        staying = {*stays, *outcome.failed, *(change.ref for change in outcome.deferred_deletes)}
        staying -= {change.ref for change in changes}
        needed = {need for ref in staying if ref in self.observed for need in self.observed[ref].dependencies}
        free = []
        for change in changes:
            if change.ref in needed or retained(change.obj):
                outcome.deferred_deletes.append(change)
            else:
                free.append(change)
        return free

    # --- afterwards ----------------------------------------------------------------------

    def save(self) -> None:
        """Save the running configuration to disk. Raises: BigIPError."""
        self.failover.require_active()
        self.client.save()

    def remove_uploads(self) -> None:
        """Remove certificate and key files that are left on the device's disk; refusals are logged."""
        self._files.remove_left({ref.path for ref in self.observed if ref.kind in self._files.kinds})

    @property
    def orphans(self) -> int:
        """How many addresses left our pools whose LTM nodes may still be there."""
        return self._nodes.left

    def remove_orphans(self, most: int) -> int:
        """Delete LTM nodes that our members left behind; returns how many.

        Args: most: so many at most in this call.
        Raises: BigIPError.
        """
        self.failover.require_active()
        return self._nodes.remove_left(_addresses(self.observed), most=most)


def _addresses(objects: BigIPState) -> set[str]:
    """Those of the members of all pools."""
    return {m.address for obj in objects.values() if isinstance(obj, Pool) for m in obj.members}
