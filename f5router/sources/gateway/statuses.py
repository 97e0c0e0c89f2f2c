"""Statuses of GatewayClasses, Gateways and routes in JSON, merged into those that the objects have.

Entries of other controllers in status.parents stay, and ours that no reference asks for go. Source:
kubernetes-sigs/gateway-api v1.4.1, apis/v1/shared_types.go: HTTPRouteStatus, RouteParentStatus (at most 32).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from f5router.model.cluster import Key
from f5router.model.gateway import GATEWAY, GROUP, KindRef, ParentRef
from f5router.model.json_types import JSON
from f5router.sources.gateway.conditions import ACCEPTED, PENDING, PROGRAMMED, Conditions, render

MOST_PARENTS, MOST_ANCESTORS = 32, 16


@dataclass(frozen=True, slots=True)
class ListenerStatus:
    """Status of a listener."""

    name: str
    kinds: tuple[KindRef, ...]
    attached_routes: int
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class GatewayStatus:
    """Status of a Gateway."""

    generation: int
    conditions: Conditions
    listeners: tuple[ListenerStatus, ...] = ()
    addresses: tuple[str, ...] = ()
    """Addresses on which it is served."""
    assigned: tuple[str, ...] = ()
    """Addresses that it has, served or not."""

    def merged(self, known: JSON, now: str) -> JSON:
        """Return the status in JSON. Addresses that the Gateway keeps stay: a router that starts reads them.

        Args: known: as it is; now: the time, RFC 3339.
        """
        shown = {*self.addresses, *(each.get("value") for each in _objects(known.get("addresses")))}
        before = _by_name(known.get("listeners"))
        return {
            "conditions": render(self.conditions, self.generation, known.get("conditions"), now),
            "addresses": [{"type": "IPAddress", "value": address} for address in self.assigned
                          if address in shown],
            "listeners": [{
                "name": each.name,
                "supportedKinds": [{"group": kind.group, "kind": kind.kind} for kind in each.kinds],
                "attachedRoutes": each.attached_routes,
                "conditions": render(each.conditions, self.generation,
                                     before.get(each.name, {}).get("conditions"), now),
            } for each in self.listeners],
        }


@dataclass(frozen=True, slots=True)
class ClassStatus:
    """Status of a GatewayClass."""

    generation: int
    conditions: Conditions
    features: tuple[str, ...] = ()
    """Names of the features that are served, sorted; () where the CRD may not have them."""

    def merged(self, known: JSON, now: str) -> JSON:
        """Return the status in JSON. Args: as of GatewayStatus."""
        features = {"supportedFeatures": [{"name": name} for name in self.features]} if self.features else {}
        return {"conditions": render(self.conditions, self.generation, known.get("conditions"), now),
                **features}


@dataclass(frozen=True, slots=True)
class RouteParents:
    """Status of a route: its entries in status.parents that are ours."""

    generation: int
    controller: str
    parents: tuple[tuple[ParentRef, Conditions], ...] = ()

    def merged(self, known: JSON, now: str) -> JSON:
        """Return the status in JSON. Args: as of GatewayStatus."""
        entries = _objects(known.get("parents"))
        others = [each for each in entries if each.get("controllerName") != self.controller]
        before = {_place(each.get("parentRef")): each for each in entries
                  if each.get("controllerName") == self.controller}
        ours: list[JSON] = [{
            "parentRef": dict(parent.written),
            "controllerName": self.controller,
            "conditions": render(conditions, self.generation,
                                 before.get(_place(dict(parent.written)), {}).get("conditions"), now),
        } for parent, conditions in self.parents]
        return {"parents": [*others, *ours][:MOST_PARENTS]}

    def differs_from(self, known: JSON) -> bool:
        """True if there is anything of ours to write, or to remove."""
        return bool(self.parents) or any(
            each.get("controllerName") == self.controller for each in _objects(known.get("parents")))


@dataclass(frozen=True, slots=True)
class PolicyStatus:
    """Status of a BackendTLSPolicy: its entries in status.ancestors that are ours.

    Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/policy_types.go: PolicyStatus (at most 16).
    """

    generation: int
    controller: str
    gateways: tuple[Key, ...]
    conditions: Conditions

    def merged(self, known: JSON, now: str) -> JSON:
        """Return the status in JSON. Args: as of GatewayStatus."""
        entries = _objects(known.get("ancestors"))
        others = [each for each in entries if each.get("controllerName") != self.controller]
        before = {_place(each.get("ancestorRef")): each for each in entries
                  if each.get("controllerName") == self.controller}
        refs = ({"group": GROUP, "kind": GATEWAY, "namespace": key.namespace, "name": key.name}
                for key in self.gateways)
        ours: list[JSON] = [{
            "ancestorRef": ref, "controllerName": self.controller,
            "conditions": render(self.conditions, self.generation,
                                 before.get(_place(ref), {}).get("conditions"), now)} for ref in refs]
        return {"ancestors": [*others, *ours][:MOST_ANCESTORS]}

    def differs_from(self, known: JSON) -> bool:
        """True if there is anything of ours to write, or to remove."""
        return bool(self.gateways) or any(
            each.get("controllerName") == self.controller for each in _objects(known.get("ancestors")))


Status = GatewayStatus | ClassStatus | RouteParents | PolicyStatus


def _objects(value: object) -> Sequence[JSON]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _by_name(value: object) -> Mapping[str, JSON]:
    return {str(each.get("name")): each for each in _objects(value)}


def _place(parent: object) -> tuple[tuple[str, str], ...]:
    items: Iterable[tuple[str, object]] = parent.items() if isinstance(parent, dict) else ()
    return tuple(sorted((name, str(value)) for name, value in items))


# --- withdrawal --------------------------------------------------------------------------

BEGINNING = "1970-01-01T00:00:00Z"


PARENTS, ANCESTORS = "parents", "ancestors"
"""Fields with an entry for each Gateway: in the status of a route, and in that of a policy."""


def gateways_of(known: JSON, controller: str, field: str) -> list[str]:
    """Return the names of the Gateways in the entries of a controller. Args: field: PARENTS or ANCESTORS."""
    refs = (each.get(f"{field[:-1]}Ref") for each in _objects(known.get(field))
            if each.get("controllerName") == controller)
    return [str(ref.get("name")) for ref in refs if isinstance(ref, dict)]


def without(known: JSON, controller: str, field: str) -> JSON:
    """Return a status without the entries of a controller. Args: field: PARENTS or ANCESTORS."""
    return {field: [each for each in _objects(known.get(field)) if each.get("controllerName") != controller]}


def written_gateway(known: JSON) -> JSON | None:
    """Return what a controller has written into the status of a Gateway, as text; None if nothing."""
    shown = _written(known)
    return {"conditions": shown or "listeners"} if shown or known.get("listeners") or known.get(
        "addresses") else None


def waiting_gateway() -> JSON:
    """Return the fields of a Gateway that no controller has seen. Source: GatewayStatus, kubebuilder:default.
    """
    return {"conditions": _waiting(ACCEPTED, PROGRAMMED), "addresses": None, "listeners": None}


def written_class(known: JSON) -> JSON | None:
    """Return what a controller has written into the status of a GatewayClass, as text; None if nothing."""
    return {"conditions": shown} if (shown := _written(known)) else None


def waiting_class() -> JSON:
    """Return the fields of a GatewayClass that no controller has seen. Source: GatewayClassStatus."""
    return {"conditions": _waiting(ACCEPTED), "supportedFeatures": None}


def _written(known: JSON) -> str:
    return ", ".join(f"{each.get('type')} {each.get('status')}" for each in _objects(known.get("conditions"))
                     if each.get("reason") != PENDING or each.get("status") != "Unknown")


def _waiting(*kinds: str) -> list[JSON]:
    return [{"type": kind, "status": "Unknown", "reason": PENDING, "message": "Waiting for controller",
             "lastTransitionTime": BEGINNING} for kind in kinds]
