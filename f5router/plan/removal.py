"""Deletes for a router that goes for good: everything of ours, and nothing that others need.

The order is that of all deletes: what leads requests before what it leads them to. An object of ours stays if
it holds something of somebody else, which would go with it: a policy with another one's Rule stays where it
is attached, a tunnel with another one's FDB record keeps its profile.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from f5router.model import ownership
from f5router.model.ltm import Attachment, BigIPState, Policy, Rule
from f5router.model.net import FDBRecord, Tunnel
from f5router.model.objects import Ref
from f5router.plan.change import Plan
from f5router.plan.diff import diff


@dataclass(frozen=True, slots=True)
class Removal:
    """Deletes of all that is ours, and why some of it stays."""

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

