"""Attachment of routes to the listeners of a Gateway.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/shared_types.go: ParentReference, RouteConditionReason;
apis/v1/gateway_types.go: ListenerStatus.AttachedRoutes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from f5router.model.gateway import GATEWAY, GROUP, Gateway, KindRef, ParentRef
from f5router.model.hostnames import quote
from f5router.sources.gateway import conditions, hosts
from f5router.sources.gateway.conditions import Conditions, StatusCondition, false, true
from f5router.sources.gateway.listeners import TLS, CheckedListener, ends_connections
from f5router.sources.gateway.references import GatewayView, allows_namespace
from f5router.sources.gateway.route_rules import CheckedRoute


@dataclass(frozen=True, slots=True)
class RouteAttachment:
    """An entry of spec.parentRefs of a route that names a Gateway."""

    parent: ParentRef
    conditions: Conditions
    """Accepted and ResolvedRefs."""
    hosts: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """Listeners that accept the route, by their numbers, each with the hostnames that it has there."""


def attach(checked: CheckedRoute, gateway: Gateway, listeners: Iterable[CheckedListener],
           view: GatewayView) -> list[RouteAttachment]:
    """Attach a route to a Gateway, once for each of its references to it."""
    route, listeners = checked.route, tuple(listeners)
    return [_attached(checked, parent, gateway, listeners, view) for parent in route.parents
            if parent.ref[:2] == (GROUP, GATEWAY) and parent.ref.key(route.key.namespace) == gateway.key]


def _attached(checked: CheckedRoute, parent: ParentRef, gateway: Gateway,
              listeners: tuple[CheckedListener, ...], view: GatewayView) -> RouteAttachment:
    refused, shared = _match(checked, parent, gateway, listeners, view)
    ended = {each.number for each in listeners if ends_connections(each.listener)}
    accepted = (refused or checked.refusal or _wildcard(shared, listeners)
                or (checked.ended_refusal if any(number in ended for number, _ in shared) else None)
                or true(conditions.ACCEPTED))
    return RouteAttachment(parent, Conditions.of(accepted, checked.resolved),
                      tuple(shared) if accepted.holds else ())


def _match(checked: CheckedRoute, parent: ParentRef, gateway: Gateway,
           listeners: tuple[CheckedListener, ...], view: GatewayView,
           ) -> tuple[StatusCondition | None, list[tuple[int, tuple[str, ...]]]]:
    route = checked.route
    named = [each for each in listeners if parent.section in ("", each.listener.name)
             and parent.port in (0, each.listener.port)]
    if not named:
        wanted = f"sectionName {quote(parent.section)}" if parent.section else f"port {parent.port}"
        return false(conditions.ACCEPTED, conditions.NO_PARENT,
                     f"Gateway {gateway.key} has no listener of {wanted}"), []
    ours = [each for each in named if KindRef(GROUP, route.kind) in each.kinds]
    allowed = [each for each in ours
               if allows_namespace(view, each.listener, gateway.key, route.key.namespace)]
    if not allowed:
        what = f"of namespace {route.key.namespace}" if ours else "of this kind"
        hint = ""
        if ours and ours[0].listener.namespaces == "Same":
            hint = ": allowedRoutes.namespaces.from is Same there, which is the default"
        return false(conditions.ACCEPTED, conditions.NOT_ALLOWED,
                     f"Gateway {gateway.key} allows no routes {what}{hint}"), []
    shared = [(each.number, hosts.common(each.listener.hostname, route.hostnames)) for each in allowed]
    shared = [(number, names) for number, names in shared if names]
    if not shared:
        return false(conditions.ACCEPTED, conditions.NO_HOSTNAME,
                     f"spec.hostnames has no name of a listener of Gateway {gateway.key}"), []
    return None, shared


def _wildcard(shared: Iterable[tuple[int, tuple[str, ...]]],
              listeners: Iterable[CheckedListener]) -> StatusCondition | None:
    """Return why hostnames of a TLSRoute are refused.

    On the router's own front end, whose text of the iRule is for all Routes, no wildcard is served.
    """
    passing = {each.number: each.front_end for each in listeners if each.listener.protocol == TLS}
    for number, names in shared:
        for name in names if number in passing else ():
            if name == hosts.ALL:
                text = "it is empty, and the listener has no hostname; name the hosts, or wildcards"
            elif name.startswith("*.") and not passing[number]:
                text = (f"{quote(name)} is a wildcard, which is supported on addresses of the Gateway's own "
                        "alone; name each host")
            else:
                continue
            return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE, f"spec.hostnames: {text}")
    return None
