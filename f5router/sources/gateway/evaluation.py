"""Evaluates one Gateway with the HTTPRoutes that name it: conditions, counts and virtual Routes.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/gateway_types.go: GatewayConditionType and reasons,
GatewayStatusAddress; ListenerStatus.AttachedRoutes counts accepted routes whatever else is wrong.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from f5router.model.cluster import Key, Route
from f5router.model.gateway import Gateway, HTTPRoute
from f5router.model.hostnames import quote
from f5router.sources.gateway import attachment, conditions, listeners, route_rules, translation
from f5router.sources.gateway.attachment import RouteAttachment
from f5router.sources.gateway.conditions import StatusCondition, false, true
from f5router.sources.gateway.listeners import CheckedListener
from f5router.sources.gateway.references import GatewayView
from f5router.sources.settings import ServedPorts

MOST_ROUTES = 1000
"""Virtual Routes of one HTTPRoute on one Gateway."""


@dataclass(frozen=True, slots=True)
class EvaluatedGateway:
    """A Gateway with all that its status says, except what only the BIG-IP shows."""

    gateway: Gateway
    accepted: StatusCondition
    unprogrammed: StatusCondition | None
    """Why it is not on the BIG-IP, whatever that has; None if it is to be."""
    listeners: tuple[CheckedListener, ...] = ()
    attached: Mapping[Key, tuple[RouteAttachment, ...]] = field(default_factory=dict)
    """By HTTPRoute that names it."""
    routes: Mapping[Key, Route] = field(default_factory=dict)
    """The virtual Routes."""
    of_listener: Mapping[int, Key] = field(default_factory=dict)
    """See Translated."""

    def attached_routes(self, number: int, refused: Collection[Key] = ()) -> int:
        """Count the HTTPRoutes that a listener has accepted, each once, apart from some."""
        return sum(any(number == other for each in entries for other, _ in each.hosts)
                   for key, entries in self.attached.items() if key not in refused)


def unusable(gateway: Gateway, served: ServedPorts) -> StatusCondition | None:
    """Return why a Gateway cannot have the front end; None if it can."""
    if not served.addresses:
        return false(conditions.PROGRAMMED, conditions.ADDRESS_NOT_ASSIGNED,
                     "the router has no front end of its own: --f5-vserver-address is not set")
    other = next((each.value for each in gateway.addresses if each.value not in ("", *served.addresses)), "")
    if other:
        return false(conditions.PROGRAMMED, conditions.ADDRESS_NOT_USABLE,
                     f"spec.addresses: {quote(other)} is no address of the router's front end, which has "
                     f"{', '.join(served.addresses)}")
    return None


def asks_for_front_end(gateway: Gateway, served: ServedPorts, view: GatewayView) -> bool:
    """True if a Gateway can have the front end."""
    return not gateway.problem and unusable(gateway, served) is None and _accepted(
        gateway, listeners.check(gateway, served, view)).holds


def evaluate(gateway: Gateway, routes: Iterable[HTTPRoute], served: ServedPorts, view: GatewayView,
             taken: StatusCondition | None = None) -> EvaluatedGateway:
    """Evaluate a Gateway. Args: taken: why it does not get the front end, for reasons outside of it."""
    if gateway.problem:
        refused = false(conditions.ACCEPTED, conditions.INVALID, gateway.problem)
        return EvaluatedGateway(gateway, refused, _invalid(refused))
    checked = listeners.check(gateway, served, view)
    accepted = _accepted(gateway, checked)
    unprogrammed = _invalid(accepted) if not accepted.holds else unusable(gateway, served) or taken
    attached = {}
    for route in routes:
        of_rules = route_rules.check(route, view)
        entries = attachment.attach(of_rules, gateway, checked, view)
        attached[route.key] = of_rules, _bounded(of_rules, entries)
    result = translation.Translated() if unprogrammed else translation.translate(gateway, checked, attached)
    return EvaluatedGateway(
        gateway, accepted, unprogrammed, checked,
        {key: tuple(entries) for key, (_, entries) in attached.items()}, result.routes, result.of_listener)


def _accepted(gateway: Gateway, checked: Iterable[CheckedListener]) -> StatusCondition:
    if gateway.parameters:
        return false(conditions.ACCEPTED, conditions.INVALID_PARAMETERS,
                     "spec.infrastructure.parametersRef: no kind of parameters is supported")
    if gateway.unsupported:
        return false(conditions.ACCEPTED, conditions.INVALID, f"{gateway.unsupported}: it is not supported")
    for number, address in enumerate(gateway.addresses):
        if address.type != "IPAddress":
            return false(conditions.ACCEPTED, conditions.UNSUPPORTED_ADDRESS,
                         f"spec.addresses[{number}].type: {quote(address.type)} is not supported")
    bad = [each for each in checked if not each.conditions[conditions.ACCEPTED].holds]
    if not bad:
        return true(conditions.ACCEPTED)
    text = f"listener {quote(bad[0].listener.name)}: {bad[0].conditions[conditions.ACCEPTED].message}"
    good = len(bad) < len(gateway.listeners)
    return StatusCondition(conditions.ACCEPTED, good, conditions.LISTENERS_NOT_VALID, text)


def _invalid(accepted: StatusCondition) -> StatusCondition:
    return false(conditions.PROGRAMMED, conditions.INVALID, accepted.message)


def _bounded(checked: route_rules.CheckedRoute, entries: list[RouteAttachment]) -> list[RouteAttachment]:
    """Refuse an HTTPRoute that would have more virtual Routes than one may have."""
    matches = sum(len(rule.rule.matches) for rule in checked.rules)
    names = sum(len(shared) for each in entries for _, shared in each.hosts)
    if matches * names <= MOST_ROUTES:
        return entries
    refused = false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE,
                    f"spec: its hostnames on this Gateway, times its matches, are {matches * names}, at most "
                    f"{MOST_ROUTES} are supported")
    return [RouteAttachment(each.parent, each.conditions.and_(refused)) for each in entries]
