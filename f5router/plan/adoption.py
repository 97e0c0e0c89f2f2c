"""Deletes beyond those of a pass: of what the original router left in /Common, and of everything of ours.

An object of the original is removed only if it is the original's beyond doubt:

- its name is exactly one that the original gives, in /Common, for a Route that exists or not;
- a profile refers to the certificate, key or chain of the same Route, by the original's name;
- a data-group has one of its names, and every record has the form that it writes;
- nothing else uses it: no virtual server but the router's own, no profile that stays, no other iRule.

Objects of a Route that is not served yet stay: what serves it now may still need them.

A router that goes for good deletes everything of ours, in the order of all deletes: what leads requests
before what it leads them to. An object of ours stays if it holds something of somebody else, which would go
with it: a policy with another one's Rule stays where it is attached, a tunnel with another one's FDB record
keeps its profile.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from f5router.model import original_names, ownership
from f5router.model.front_end_names import front_end_of
from f5router.model.ltm import (
    Attachment,
    BigIPState,
    CertFile,
    ClientSSL,
    DataGroup,
    KeyFile,
    Object,
    Policy,
    Record,
    Rule,
)
from f5router.model.net import FDBRecord, Tunnel
from f5router.model.objects import Ref
from f5router.model.placement import References
from f5router.model.virtual_server import Listening, VirtualServer
from f5router.plan.change import Plan
from f5router.plan.diff import diff

FILES = (CertFile.KIND, KeyFile.KIND)
REMOVED, REPLACED, LEFT, TAKEN_OVER = "removed", "replaced", "left", "taken over"
CHANGED, KEPT, CREATED, GIVEN_BACK = "changed", "kept", "created", "given back"
"""Further fates, of virtual servers and what is on them."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """An object that the original router made, or that has a name as it gives."""

    ref: Ref
    fate: str
    """REMOVED, REPLACED, LEFT or TAKEN_OVER; CHANGED, KEPT, CREATED or GIVEN_BACK."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """Objects of /Common with names of the original router, and objects that may use them."""

    profiles: Mapping[Ref, Mapping[str, Any]] = field(default_factory=dict)
    """Every SSL profile of the device, as read."""
    files: frozenset[Ref] = frozenset()
    groups: Mapping[str, tuple[str, tuple[Record, ...]]] = field(default_factory=dict)
    """Type and records, by full path."""
    irules: Mapping[str, str] = field(default_factory=dict)
    """Text by full path, of iRules that are not the router's own, nor written over by it."""
    carried: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Profiles by virtual server."""


def classify(inventory: Inventory, *, https_virtual: str | None,
             unserved: Mapping[str, str]) -> list[Leftover]:
    """Decide what happens to profiles, files and data-groups, in the order in which they are removed.

    Args: unserved: for Routes that are not served yet, by stem and by Host, why their objects stay.
    """
    leftovers = [Leftover(ref, *_profile(ref, item, inventory, https_virtual, unserved))
              for ref, item in sorted(inventory.profiles.items()) if _is_profile(ref)]
    gone = {leftover.ref for leftover in leftovers if leftover.fate == REMOVED}
    used = {text: ref.path for ref, item in sorted(inventory.profiles.items()) if ref not in gone
            for text in _texts(item)}
    for ref in sorted(inventory.files):
        user, waits = used.get(ref.path), unserved.get(original_names.stem(ref.path))
        why = f"profile {user} uses it" if user else waits or ""
        leftovers.append(Leftover(ref, LEFT if why else REMOVED, why))
    for path, (kind, records) in sorted(inventory.groups.items()):
        why = _group_stays(path, kind, records, inventory, unserved)
        leftovers.append(Leftover(Ref(DataGroup.KIND, path), LEFT if why else REMOVED, why))
    return leftovers


def _is_profile(ref: Ref) -> bool:
    is_its = original_names.is_client_ssl if ref.kind == ClientSSL.KIND else original_names.is_server_ssl
    return is_its(ref.path)


def _profile(ref: Ref, item: Mapping[str, Any], inventory: Inventory, https_virtual: str | None,
             unserved: Mapping[str, str]) -> tuple[str, str]:
    stem = original_names.stem(ref.path)
    names = {"cert": "https-cert.crt", "key": "https-key.key"} if ref.kind == ClientSSL.KIND else {
        "chain": "https-chain.crt"}
    for name, ending in names.items():
        own = f"{original_names.COMMON}/{stem}-{ending}"
        if item.get(name) != own:
            return LEFT, f"its {name} is {item.get(name)}, not {own}"
    others = sorted(path for path, carried in inventory.carried.items()
                    if ref.path in carried and path != https_virtual)
    if others:
        return LEFT, f"virtual server {others[0]} carries it"
    why = unserved.get(stem, "")
    return (LEFT, why) if why else (REMOVED, "")


def _group_stays(path: str, kind: str, records: Iterable[Record], inventory: Inventory,
                 unserved: Mapping[str, str]) -> str:
    """Return why a data-group is not removed; "" if it is."""
    name = path.rsplit("/", 1)[1]
    if kind != "string":
        return f"its type is {kind}, not string"
    for record in records:
        if not original_names.is_record(name, record.name, record.data):
            return f"record {record.name} is not one of the original router"
    users = sorted(rule for rule, text in inventory.irules.items() if name in text)
    if users:
        return f"iRule {users[0]} names it"
    return next((unserved[record.name] for record in records if record.name in unserved), "")


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


@dataclass(frozen=True, slots=True)
class Removal:
    """Deletes of all our objects, and why some of them stay."""

    plan: Plan
    stays: Mapping[Ref, str]


def removal(observed: BigIPState, folder: str) -> Removal:
    """Decide about each observed object."""
    stays: dict[Ref, str] = {}
    for obj in observed.values():
        if ownership.owns(folder, obj):
            continue
        if isinstance(obj, Rule):
            stays[Ref(Policy.KIND, obj.policy)] = f"it has rule {obj.name}, which is not the router's"
        elif isinstance(obj, FDBRecord):
            stays[Ref(Tunnel.KIND, obj.tunnel)] = f"it has FDB record {obj.mac}, which is not the router's"
    for obj in observed.values():
        target = Ref(obj.target_kind, obj.target) if isinstance(obj, Attachment) else None
        if target in stays:
            stays[obj.ref] = f"{target} stays"
    for tunnel in [obj for obj in observed.values() if isinstance(obj, Tunnel) and obj.ref in stays]:
        stays |= dict.fromkeys(tunnel.dependencies, f"{tunnel.ref} needs it")
    return Removal(diff({}, observed, lambda obj: obj.ref not in stays and ownership.owns(folder, obj)),
                   {ref: why for ref, why in stays.items() if ref in observed})


NESTED = Attachment | Listening | References | Rule | Record
"""Parts of other objects."""


def departure(observed: BigIPState, folder: str, kept: Collection[str],
              front_ends: Mapping[str, str]) -> Plan:
    """Return the deletes by which adopted virtual servers are given back where nothing serves afterwards.

    Their front ends go with them, unless another virtual server has one. Pools stay: others may have them.

    Args:
        kept: full paths of the virtual servers on which a router without addresses serves.
        front_ends: front end of each virtual server, by its full path.
    """
    away = {obj.path for obj in observed.values()
            if isinstance(obj, VirtualServer) and obj.is_adopted and obj.path not in kept}
    staying = {front_end_of(obj.target) for obj in observed.values()
               if isinstance(obj, Attachment) and obj.virtual not in away}
    going = {front_ends.get(path, "") for path in away} - staying - {""}

    def leaves(obj: Object) -> bool:
        if isinstance(obj, VirtualServer):
            return obj.path in away
        if isinstance(obj, Attachment | Listening | References):
            return obj.virtual in away
        path = obj.ref.path
        if isinstance(obj, Rule | Record):
            path = obj.policy if isinstance(obj, Rule) else obj.group
        return front_end_of(path) in going

    return removal({ref: obj for ref, obj in observed.items() if leaves(obj)}, folder).plan
