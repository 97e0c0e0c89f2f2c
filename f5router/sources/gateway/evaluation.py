"""Evaluates one Gateway with the routes that name it: conditions, counts and virtual Routes.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/gateway_types.go: GatewayConditionType and reasons,
GatewayStatusAddress; ListenerStatus.AttachedRoutes counts accepted routes whatever else is wrong.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from f5router.model.cluster import Key, Route, Subject
from f5router.model.gateway import Gateway, GatewayRoute, HTTPRoute, TCPRoute, TLSRoute
from f5router.model.hostnames import quote
from f5router.sources.gateway import attachment, conditions, listeners, route_rules, server_names, streams
from f5router.sources.gateway.attachment import RouteAttachment
from f5router.sources.gateway.conditions import StatusCondition, false, true
from f5router.sources.gateway.listeners import CheckedListener
from f5router.sources.gateway.references import GatewayView
from f5router.sources.gateway.route_rules import CheckedRoute
from f5router.sources.gateway.virtual_routes import VirtualRoutes
from f5router.sources.settings import ServedPorts

NO_ADDRESSES = ServedPorts()

MOST_ROUTES = 1000
"""Virtual Routes of one route on one Gateway."""


@dataclass(frozen=True, slots=True)
class GatewayVerdict:
    """A Gateway by itself: without routes, and without what only the BIG-IP shows."""

    gateway: Gateway
    accepted: StatusCondition
    unprogrammed: StatusCondition | None
    """Why it is not on the BIG-IP, whatever that has; None if it is to be."""
    listeners: tuple[CheckedListener, ...] = ()
    served: ServedPorts = NO_ADDRESSES
    """Where it is served."""

    @property
    def served_listeners(self) -> list[CheckedListener]:
        """The listeners that are to be served."""
        return [each for each in self.listeners if each.is_valid] if self.unprogrammed is None else []

    @property
    def closed_listeners(self) -> list[CheckedListener]:
        """The others whose hostname a served listener of the port covers: no requests for it come there."""
        served = self.served_listeners
        numbers = {each.number for each in served}
        return [closed for each in self.listeners if each.number not in numbers
                and (closed := each.closed_beside(served)) is not None]


class EvaluatedGateway:
    """A Gateway with the routes that name it: all that their statuses say except what the BIG-IP shows.

    A change of a route costs what that one has on the Gateway. Not thread-safe.
    """

    def __init__(self, verdict: GatewayVerdict):
        self.verdict = verdict
        self.attached: dict[Subject, tuple[CheckedRoute, tuple[RouteAttachment, ...]]] = {}
        """By route that names it."""
        self._counts: Counter[int] = Counter()
        """Routes that a listener has accepted, by its number."""
        self.virtual = VirtualRoutes(
            verdict.gateway, verdict.served_listeners, verdict.closed_listeners)

    @property
    def gateway(self) -> Gateway:
        """The Gateway."""
        return self.verdict.gateway

    def put(self, route: GatewayRoute, view: GatewayView) -> dict[Key, Route | None] | None:
        """Evaluate a route that names the Gateway.

        Returns: the virtual Routes that differ, None for removed ones; None if the route is as before.
        """
        checked = _check(route, view)
        entries = [] if self.gateway.problem else attachment.attach(
            checked, self.gateway, self.verdict.listeners, view)
        now = checked, tuple(_bounded(checked, entries))
        if self.attached.get(route.subject) == now:
            return None
        changes = self.virtual.put(*now)
        self._count(route.subject, -1)
        self.attached[route.subject] = now
        self._count(route.subject, 1)
        return changes

    def remove(self, subject: Subject) -> dict[Key, Route | None]:
        """Remove a route that does not name the Gateway any more. Returns: as put."""
        self._count(subject, -1)
        self.attached.pop(subject, None)
        return self.virtual.remove(subject)

    def attachments(self, subject: Subject) -> tuple[RouteAttachment, ...]:
        """Return those of a route."""
        return self.attached[subject][1] if subject in self.attached else ()

    def attached_routes(self, refused: Iterable[Subject] = ()) -> Counter[int]:
        """Return how many routes a listener has accepted, by its number, apart from some."""
        counts = self._counts.copy()
        for subject in refused:
            counts.subtract(self._accepting(subject))
        return counts

    def _count(self, subject: Subject, difference: int) -> None:
        for number in self._accepting(subject):
            self._counts[number] += difference

    def _accepting(self, subject: Subject) -> set[int]:
        """Return the listeners that have accepted a route: each counts it once."""
        return {number for each in self.attachments(subject) for number, _ in each.hosts}


def _check(route: GatewayRoute, view: GatewayView) -> CheckedRoute:
    if isinstance(route, TLSRoute):
        return server_names.check(route, view)
    if isinstance(route, TCPRoute):
        return streams.check(route, view)
    assert isinstance(route, HTTPRoute), "there is no other kind"
    return route_rules.check(route, view)


def unusable(gateway: Gateway, served: ServedPorts) -> StatusCondition | None:
    """Return why a Gateway cannot have the front end; None if it can."""
    if not served.addresses:
        return false(conditions.PROGRAMMED, conditions.ADDRESS_NOT_ASSIGNED,
                     "the router has no addresses for it: neither --gateway-addresses nor "
                     "--f5-vserver-address is set")
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


def judge(gateway: Gateway, served: ServedPorts, taken: StatusCondition | None,
          view: GatewayView) -> GatewayVerdict:
    """Judge a Gateway by itself.

    Args: taken: why it is not served, for reasons outside of it.
    """
    if gateway.problem:
        refused = false(conditions.ACCEPTED, conditions.INVALID, gateway.problem)
        return GatewayVerdict(gateway, refused, _invalid(refused))
    checked = listeners.check(gateway, served, view)
    accepted = _accepted(gateway, checked)
    unprogrammed = _invalid(accepted) if not accepted.holds else taken or (
        unusable(gateway, served) if served.ports is not None else None)
    return GatewayVerdict(gateway, accepted, unprogrammed, checked, served)


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
    if not gateway.listeners:
        return false(conditions.ACCEPTED, conditions.LISTENERS_NOT_VALID, "spec.listeners: it is empty")
    bad = [each for each in checked if not each.conditions[conditions.ACCEPTED].holds]
    if not bad:
        return true(conditions.ACCEPTED)
    text = f"listener {quote(bad[0].listener.name)}: {bad[0].conditions[conditions.ACCEPTED].message}"
    good = len(bad) < len(gateway.listeners)
    return StatusCondition(conditions.ACCEPTED, good, conditions.LISTENERS_NOT_VALID, text)


def _invalid(accepted: StatusCondition) -> StatusCondition:
    return false(conditions.PROGRAMMED, conditions.INVALID, accepted.message)


def _bounded(checked: route_rules.CheckedRoute, entries: list[RouteAttachment]) -> list[RouteAttachment]:
    """Refuse a route that would have more virtual Routes than one may have."""
    matches = sum(len(rule.rule.matches) for rule in checked.rules)
    names = sum(len(shared) for each in entries for _, shared in each.hosts)
    if matches * names <= MOST_ROUTES:
        return entries
    refused = false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE,
                    f"spec: its hostnames on this Gateway, times its matches, are {matches * names}, at most "
                    f"{MOST_ROUTES} are supported")
    return [RouteAttachment(each.parent, each.conditions.and_(refused)) for each in entries]
