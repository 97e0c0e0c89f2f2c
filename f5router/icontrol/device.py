"""The BIG-IP as the router's only writer sees it: what is there, and how a Plan is carried out.

`observed` is kept from confirmed writes and re-read on demand. A refusal costs the object and what
needs it; anything else that goes wrong ends the pass, and the next one begins with a reading.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType

from f5router.bigip import Attachment, DeviceFacts, Object, Policy, Pool, Record, Ref, Rule
from f5router.errors import AuthFailed, BigIPError, InUse, NotFound, NotReady, Refused, UploadError
from f5router.icontrol.attachments import AttachmentWriter
from f5router.icontrol.client import Client, item_path
from f5router.icontrol.files import FileWriter
from f5router.icontrol.objects import ObjectWriter
from f5router.icontrol.observe import Observation, observe
from f5router.icontrol.policies import PolicyWriter
from f5router.icontrol.records import RecordWriter
from f5router.plan import DELETE, Change, Plan

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Outcome:
    """What became of a Plan."""

    done: list[Change] = field(default_factory=list)
    failed: dict[Ref, BigIPError] = field(default_factory=dict)
    """Refused, with the device's words; what needs a refused object has the same error."""
    withheld: list[Change] = field(default_factory=list)
    """Deletes that wait: the object is in use, or serves a Route whose new form was refused."""

    def merge(self, other: "Outcome") -> None:
        self.done += other.done
        self.failed.update(other.failed)
        self.withheld += other.withheld


def blames_object(error: BigIPError) -> bool:
    """Whether only the object is to blame, so that the pass can go on."""
    return isinstance(error, Refused | UploadError) or (isinstance(error, AuthFailed) and error.status == 400)


class Device:
    """Not thread-safe; it sends independent writes in parallel itself."""

    def __init__(
        self,
        client: Client,
        files: FileWriter,
        *,
        folder: str,
        http_virtual: str | None,
        https_virtual: str | None,
        policy_model: str = "auto",
        max_in_flight: int = 4,
    ):
        self.client = client
        self._files = files
        self._folder = folder
        self._virtuals = (http_virtual, https_virtual)
        self._objects = ObjectWriter(client)
        self._records = RecordWriter(client)
        self._attachments = AttachmentWriter(client, folder)
        self._policies = PolicyWriter(client, model=policy_model)
        self._executor = ThreadPoolExecutor(max_in_flight, thread_name_prefix="bigip")
        self.observed: dict[Ref, Object] = {}
        self.facts = DeviceFacts()
        self.stale = True
        """True until an observation, and after anything that leaves doubt."""
        self.left_addresses: set[str] = set()
        """Addresses that left a pool of ours; their LTM nodes may be orphans."""

    def close(self) -> None:
        """Stop the writers' threads."""
        self._executor.shutdown()
        self._files.close()

    # --- reading -------------------------------------------------------------------------

    def observe(self, *, create_folder: bool = True) -> None:
        """Read the device anew.

        Args:
            create_folder: make our folder where it is missing; without, it counts as empty.
        Raises:
            BigIPError: nothing that was known is changed.
        """
        if not self._ensure_folder(create=create_folder):
            self.observed, self.facts, self.stale = {}, DeviceFacts(self.client.version()), False
            return
        seen: Observation = observe(self.client, self._folder, self._virtuals)
        self.observed, self.facts = seen.objects, seen.facts
        self._policies.learn(seen.facts.version, seen.legacy, seen.drafts)
        self._attachments.learn(seen.facts)
        self.stale = False

    def _ensure_folder(self, *, create: bool) -> bool:
        path = ""
        for part in self._folder.strip("/").split("/"):
            path += f"/{part}"
            try:
                self.client.get(item_path("sys/folder", path))
            except NotFound:
                if not create:
                    return False
                if not self.client.ready():
                    raise NotReady("GET", "/mgmt/tm/sys/ready", "the device is starting") from None
                self._objects.create_folder(path)
                log.info("folder created", extra={"path": path})
        return True

    # --- writing -------------------------------------------------------------------------

    def apply(
        self,
        plan: Plan,
        *,
        known: Mapping[Ref, BigIPError] = MappingProxyType({}),
        withhold: Callable[[Outcome], set[str]] = lambda outcome: set(),
        on_change: Callable[[Change], None] = lambda change: None,
    ) -> Outcome:
        """Carry out a Plan in its order.

        Args:
            known: what was refused before and is not in this Plan.
            withhold: given what failed so far, Hosts whose old objects must stay.
            on_change: called for each Change that the device confirmed.
        Raises:
            BigIPError: the device, not an object, is to blame; what was confirmed is in `observed`.
        """
        outcome = Outcome()
        try:
            for (deleting, _), group in groupby(plan, key=lambda c: (c.verb == DELETE, c.level)):
                changes = list(group)
                if deleting:
                    changes = self._kept_back(changes, withhold(outcome), outcome)
                else:
                    changes = self._unblocked(changes, known, outcome)
                for change, error in self._write(changes):
                    self._settle(change, error, outcome, on_change)
        except BigIPError:
            self.stale = True
            raise
        return outcome

    def _write(self, changes: list[Change]) -> Iterable[tuple[Change, BigIPError | None]]:
        """Send Changes that do not refer to each other; yields each with its error or None."""
        if not changes:
            return []
        kind = changes[0].ref.kind
        if kind == Record.KIND:
            return self._grouped(changes, lambda c: c.obj.group, self._write_records)
        if kind == Attachment.KIND:
            return self._grouped(changes, lambda c: c.obj.virtual, self._attachments.write)
        if kind == Rule.KIND:
            return self._grouped(changes, lambda c: c.obj.policy, self._policies.write_rules)
        return self._parallel(changes)

    def _grouped(self, changes, key, write) -> Iterable[tuple[Change, BigIPError | None]]:
        results = []
        for whole, group in groupby(sorted(changes, key=lambda c: (key(c), c.ref)), key=key):
            results += write(whole, list(group))
        return results

    def _parallel(self, changes: list[Change]) -> list[tuple[Change, BigIPError | None]]:
        if len(changes) == 1:
            return [self._one(changes[0])]
        return list(self._executor.map(self._one, changes))

    def _one(self, change: Change) -> tuple[Change, BigIPError | None]:
        try:
            if change.ref.kind == Policy.KIND:
                self._policies.write_policy(change)
            elif change.ref.kind in self._files.KINDS:
                self._files.write(change)
            else:
                self._objects.write(change)
        except BigIPError as exc:
            return change, exc
        return change, None

    def _write_records(self, group: str, changes: list[Change]) -> list[tuple[Change, BigIPError | None]]:
        current = [obj for obj in self.observed.values() if isinstance(obj, Record) and obj.group == group]
        return self._records.write(group, changes, current)

    def _settle(self, change: Change, error: BigIPError | None, outcome: Outcome, on_change) -> None:
        if error is None:
            self._confirm(change)
            outcome.done.append(change)
            on_change(change)
        elif change.verb == DELETE and isinstance(error, InUse):
            outcome.withheld.append(change)
        elif blames_object(error):
            log.warning("change refused", extra={
                "object": str(change.ref), "verb": change.verb, "error": str(error),
            })
            outcome.failed[change.ref] = error
            # Another hand may have changed it: compare again with what is there.
            self.stale = self.stale or isinstance(error, NotFound)
        else:
            raise error

    def _confirm(self, change: Change) -> None:
        if isinstance(change.old, Pool):
            stays = change.new.members if isinstance(change.new, Pool) else frozenset()
            self.left_addresses |= {m.address for m in change.old.members - stays}
        if change.new is None:
            self.observed.pop(change.ref, None)
        else:
            self.observed[change.ref] = change.new

    def _unblocked(
        self, changes: list[Change], known: Mapping[Ref, BigIPError], outcome: Outcome
    ) -> list[Change]:
        """Leave out what needs something that failed or is not there; it fails likewise."""
        free = []
        for change in changes:
            error = None
            for ref in change.obj.needs:
                error = outcome.failed.get(ref) or known.get(ref)
                if error is None and ref not in self.observed:
                    error = Refused(text=f"{ref} is not there")
                if error is not None:
                    break
            if error is None:
                free.append(change)
            else:
                outcome.failed[change.ref] = error
        return free

    def _kept_back(self, changes: list[Change], hosts: set[str], outcome: Outcome) -> list[Change]:
        """Leave out deletes that would take an old form away before the new one serves."""
        if not outcome.failed and not outcome.withheld:
            return changes
        leaving = {change.ref for change in changes}
        needed = {ref for obj in self.observed.values() if obj.ref not in leaving for ref in obj.needs}
        free = []
        for change in changes:
            if change.ref in needed or self._hosts(change.obj) & hosts:
                outcome.withheld.append(change)
            else:
                free.append(change)
        return free

    def _hosts(self, obj: Object) -> set[str]:
        if isinstance(obj, Rule):
            return set(obj.hosts)
        if isinstance(obj, Record):
            return {obj.name}
        if isinstance(obj, Attachment):
            target = self.observed.get(Ref(obj.target_kind, obj.target))
            return {getattr(target, "server_name", "")} if target else set()
        return {obj.server_name} if hasattr(obj, "server_name") else set()

    # --- afterwards ----------------------------------------------------------------------

    def save(self) -> None:
        """Save the running configuration to disk. Raises: BigIPError."""
        self.client.save()

    def remove_orphans(self) -> int:
        """Delete LTM nodes that our members left behind; returns how many.

        Only addresses that this process saw in a pool of ours, in our partition, referenced by no
        pool; the device refuses to delete a node that a pool uses. Raises: BigIPError.
        """
        in_use = {m.address for obj in self.observed.values() if isinstance(obj, Pool) for m in obj.members}
        addresses, self.left_addresses = self.left_addresses - in_use, set()
        if not addresses:
            return 0
        return self._objects.remove_nodes(addresses, "/" + self._folder.split("/")[1])

