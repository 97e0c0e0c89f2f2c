"""Statuses of evaluated objects, with what the BIG-IP has of them.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/gateway_types.go: GatewayConditionProgrammed and
ListenerConditionProgrammed are true when the data plane has the configuration.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from f5router.model.cluster import Key, Subject
from f5router.model.findings import EXTERNAL
from f5router.model.findings import INVALID as REFUSED
from f5router.model.gateway import GatewayClass, GatewayRoute
from f5router.model.texts import Problem
from f5router.sources.gateway import client_validation, conditions
from f5router.sources.gateway.attachment import RouteAttachment
from f5router.sources.gateway.conditions import Conditions, StatusCondition, false, true
from f5router.sources.gateway.evaluation import EvaluatedGateway
from f5router.sources.gateway.listeners import CheckedListener
from f5router.sources.gateway.statuses import ClassStatus, GatewayStatus, ListenerStatus, RouteParents


class Programming(Protocol):
    """The part of the BIG-IP that statuses show."""

    def lacks(self, listener: CheckedListener) -> bool:
        """True if the BIG-IP does not have the virtual servers of a listener in service."""

    def server_refusal(self, listener: CheckedListener) -> str:
        """Return why the BIG-IP refuses a virtual server of a listener; "" if it does not."""

    def addresses(self, gateway: EvaluatedGateway) -> tuple[str, ...]:
        """Return the addresses on which the BIG-IP serves a Gateway."""

    def is_served(self, route: Key) -> bool | None:
        """Return the verdict on a virtual Route; None while there is none."""

    def refusal(self, route: Key) -> Problem | None:
        """Return why a virtual Route is not served; None if it is, or may be soon."""

    def refused_on(self, gateway: Key) -> Collection[Subject]:
        """Return the routes with a virtual Route on a Gateway that is refused, each once."""


def class_status(own: GatewayClass, features: tuple[str, ...] = ()) -> ClassStatus:
    """Return the status of a GatewayClass of this router. Args: features: see ClassStatus."""
    accepted = true(conditions.ACCEPTED) if not own.parameters else false(
        conditions.ACCEPTED, conditions.INVALID_PARAMETERS,
        "spec.parametersRef: no kind of parameters is supported")
    return ClassStatus(own.generation, Conditions.of(accepted), features)


def route_refusal(subject: Subject, gateway: EvaluatedGateway, device: Programming) -> Problem | None:
    """Return why the virtual Routes of a route on a Gateway are not served; None if they are."""
    return next(filter(None, map(device.refusal, sorted(gateway.virtual.of_route(subject)))), None)


def route_status(route: GatewayRoute, attachments: Iterable[tuple[EvaluatedGateway, RouteAttachment]],
                 controller: str, device: Programming) -> RouteParents:
    """Return the status of a route: that of its references to Gateways of this router."""
    entries = []
    for gateway, attachment in attachments:
        judged = attachment.conditions
        if judged[conditions.ACCEPTED].holds and (refusal := route_refusal(route.subject, gateway, device)):
            judged = judged.and_(false(conditions.ACCEPTED, refusal.reason, refusal.message))
        entries.append((attachment.parent, judged))
    return RouteParents(route.generation, controller, tuple(entries))


def gateway_status(evaluated: EvaluatedGateway, device: Programming) -> GatewayStatus:
    """Return the status of a Gateway of this router."""
    verdict = evaluated.verdict
    counts = evaluated.attached_routes(device.refused_on(verdict.gateway.key))
    listeners = tuple(
        ListenerStatus(each.listener.name, each.kinds, counts[each.number],
                       _resolved(each, evaluated, device).and_(_programmed(each, evaluated, device)))
        for each in verdict.listeners)
    refused = next(filter(None, map(device.server_refusal, verdict.served_listeners)), "")
    programmed = verdict.unprogrammed or (false(
        conditions.PROGRAMMED, conditions.ADDRESS_NOT_USABLE, refused) if refused else
        _all_programmed(listeners))
    insecure = client_validation.insecure(verdict.gateway)
    return GatewayStatus(
        verdict.gateway.generation,
        Conditions.of(verdict.accepted, programmed, *([insecure] if insecure else ())), listeners,
        *((device.addresses(evaluated), verdict.served.addresses) if verdict.unprogrammed is None else ()))


def _resolved(listener: CheckedListener, evaluated: EvaluatedGateway, device: Programming) -> Conditions:
    """Return the conditions of a listener, with what the check of its certificate has shown."""
    if not listener.certificates:
        return listener.conditions
    refusals = map(device.refusal, _routes(listener, evaluated))
    refusal = next((each for each in refusals if each and each.reason in (EXTERNAL, REFUSED)), None)
    if refusal is None:
        return listener.conditions
    return listener.conditions.and_(
        false(conditions.RESOLVED, conditions.INVALID_CERTIFICATE, refusal.message))


def _programmed(listener: CheckedListener, evaluated: EvaluatedGateway,
                device: Programming) -> StatusCondition:
    """Return the condition Programmed of a listener."""
    named: Mapping[str, StatusCondition] = listener.conditions.by_type
    bad = next((named[name] for name in (conditions.ACCEPTED, conditions.RESOLVED)
                if not named[name].holds), None)
    if bad is not None and (bad.status is None or not listener.is_valid):
        lasts = bad.status is False or listener.awaits_routes  # the others of the Gateway are served
        reason = conditions.INVALID if lasts else conditions.PENDING
        return false(conditions.PROGRAMMED, reason, bad.message)
    if (unprogrammed := evaluated.verdict.unprogrammed) is not None:
        return false(conditions.PROGRAMMED, conditions.INVALID, unprogrammed.message)
    if text := device.server_refusal(listener):
        return false(conditions.PROGRAMMED, conditions.INVALID, text)
    routes = _routes(listener, evaluated)
    if (refusal := next(filter(None, map(device.refusal, routes[:1])), None)) is not None:
        return false(conditions.PROGRAMMED, conditions.INVALID, refusal.message)
    if device.lacks(listener) or not all(device.refusal(each) or device.is_served(each) for each in routes):
        return false(conditions.PROGRAMMED, conditions.PENDING, "the BIG-IP does not have it yet")
    return true(conditions.PROGRAMMED)


def _routes(listener: CheckedListener, evaluated: EvaluatedGateway) -> list[Key]:
    """Return the virtual Routes that show if a listener is programmed, that of its hostname first."""
    first = evaluated.virtual.of_listener(listener.number)
    return [*([] if first is None else [first]), *evaluated.virtual.showing(listener.number)]


def _all_programmed(listeners: Iterable[ListenerStatus]) -> StatusCondition:
    """Return the condition Programmed of a Gateway: one listener is enough if others are invalid."""
    of = {each.name: each.conditions[conditions.PROGRAMMED] for each in listeners}
    waiting = next((each for each in of.values() if each.reason == conditions.PENDING), None)
    if waiting is None and any(each.holds for each in of.values()):
        return true(conditions.PROGRAMMED)
    bad = waiting or next(iter(of.values()))
    return false(conditions.PROGRAMMED, bad.reason, bad.message)
