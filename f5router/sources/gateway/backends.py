"""Backends of routes: the Service that an entry of backendRefs stands for, or why it cannot be used.

Sources: kubernetes-sigs/gateway-api v1.4.1, apis/v1/object_reference_types.go and shared_types.go,
RouteConditionReason; GEP-1911 for appProtocol.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from f5router.model.cluster import Key
from f5router.model.gateway import SERVICE, BackendRef, GatewayRoute
from f5router.model.hostnames import quote
from f5router.sources.gateway import conditions
from f5router.sources.gateway.backend_tls import BackendTLS
from f5router.sources.gateway.conditions import StatusCondition, false, true
from f5router.sources.gateway.references import GatewayView, permits


class BackendTarget(NamedTuple):
    """A Service that gets requests."""

    service: Key
    port: str
    """Name of its port, as Route.target_port."""
    tls: BackendTLS | None = None
    """TLS towards its pods; None for clear text, or for what clients send."""


def resolve(route: GatewayRoute, field: str, backend: BackendRef, view: GatewayView, *,
            refused_protocols: tuple[str, ...] = (),
            by_policy: bool = True) -> BackendTarget | StatusCondition:
    """Return what a backend stands for, or why it cannot be used.

    A condition that holds is that of a backend which only its BackendTLSPolicy keeps from being used.

    Args:
        field: its place in the route.
        refused_protocols: values of appProtocol.
        by_policy: True if BackendTLSPolicies say how its pods are asked.
    """
    ref, key = backend.ref, backend.ref.key(route.key.namespace)
    if ref[:2] != ("", SERVICE):
        return false(conditions.RESOLVED, conditions.INVALID_KIND,
                     f"{field}: {quote(ref.kind)} of group {quote(ref.group)} is not supported, only "
                     "Services")
    if not permits(view, route.key, route.kind, ref):
        return false(conditions.RESOLVED, conditions.NOT_PERMITTED,
                     f"{field}: no ReferenceGrant in namespace {quote(key.namespace)} permits {route.kind}s "
                     f"of namespace {route.key.namespace} to refer to Service {quote(key.name)}")
    service = view.service(key)
    port = next((port for port in service.ports if port.port == backend.port and port.protocol == "TCP"),
                None) if service else None
    if service is None or port is None:
        text = f"no TCP port {backend.port}" if service else "not found"
        return false(conditions.RESOLVED, conditions.BACKEND_NOT_FOUND,
                     f"{field}: Service {quote(key.name)}: {text}")
    if port.app_protocol in refused_protocols:
        return false(conditions.RESOLVED, conditions.UNSUPPORTED_PROTOCOL,
                     f"{field}: appProtocol {quote(port.app_protocol)} is not supported")
    policy = view.policies.winner(key, port.name) if by_policy else None
    tls = view.policies.tls(policy) if policy else None
    if policy is not None and tls is None:
        return true(conditions.RESOLVED)
    return BackendTarget(key, port.name, tls)


class Divided(NamedTuple):
    """Backends of one rule."""

    targets: tuple[tuple[BackendTarget, int], ...]
    """Services that can be used, with their weights."""
    failing: int
    """Weight of the backends that cannot be used."""
    problems: tuple[StatusCondition, ...]
    """Why they cannot."""


def divide(route: GatewayRoute, field: str, backends: Iterable[BackendRef], view: GatewayView, *,
           refused_protocols: tuple[str, ...] = (), by_policy: bool = True) -> Divided:
    """Resolve the backends of a rule. Args: field: their list in the route; for the others see `resolve`."""
    weights, failing, problems = Counter[BackendTarget](), 0, []
    for count, backend in enumerate(backends):
        target = resolve(route, f"{field}[{count}]", backend, view,
                         refused_protocols=refused_protocols, by_policy=by_policy)
        if isinstance(target, StatusCondition):
            problems += [] if target.holds else [target]
            failing += backend.weight
        elif backend.weight:
            weights[target] += backend.weight
    return Divided(tuple(weights.items()), failing, tuple(problems))


def differ(targets: Iterable[BackendTarget], *, of_several_namespaces: bool = False) -> str:
    """Return why backends cannot serve one rule together; "" if they can.

    Args: of_several_namespaces: True if they may be, without BackendTLSPolicies.
    """
    targets = tuple(targets)
    if len({target.service.namespace for target in targets}) > 1 and not (
            of_several_namespaces and not any(target.tls for target in targets)):
        return "Services of several namespaces in one rule are not supported here"
    if len({target.tls and target.tls.authority for target in targets}) > 1:
        return ("Services whose BackendTLSPolicies name different authorities, and Services with and without "
                "one, are not supported in one rule")
    names = {(target.service, target.tls and target.tls.hostname) for target in targets}
    if len(names) > len({service for service, _ in names}):
        return "one Service with several hostnames of BackendTLSPolicies is not supported in one rule"
    return ""
