"""TLSRoutes by themselves: the backends to which connections go, with their TLS untouched or ended.

A backend that cannot be used keeps its share, and its connections are rejected. Here one such backend is
enough to reject all of them: pods of a pool cannot share connections with nothing. Source:
kubernetes-sigs/gateway-api v1.6.1, apis/v1/tlsroute_types.go: TLSRouteRule.BackendRefs.
"""

from collections.abc import Iterable

from f5router.model import hostnames
from f5router.model.gateway import HTTPRule, TLSRoute
from f5router.model.hostnames import quote
from f5router.sources.gateway import backends, conditions
from f5router.sources.gateway.backends import BackendTarget
from f5router.sources.gateway.conditions import StatusCondition, false, true
from f5router.sources.gateway.references import GatewayView
from f5router.sources.gateway.route_rules import CheckedRoute, CheckedRule


def check(route: TLSRoute, view: GatewayView) -> CheckedRoute:
    """Check a TLSRoute; its rule matches every connection to its hostnames."""
    targets, failing, problems = backends.divide(
        route, "spec.rules[0].backendRefs", route.rules[0] if route.rules else (), view, by_policy=False)
    refusal = _refusal(route, backends.differ(target for target, _ in targets))
    return CheckedRoute(route, refusal, problems[0] if problems else true(conditions.RESOLVED),
                        (CheckedRule(0, HTTPRule(), () if failing else targets, failing),),
                        _ended_refusal(targets, view))


def _ended_refusal(targets: Iterable[tuple[BackendTarget, int]], view: GatewayView) -> StatusCondition | None:
    """Return why connections whose TLS has ended cannot go to the backends; None if they can.

    Pods with a BackendTLSPolicy are asked over TLS alone.
    """
    asked = next((target.service for target, _ in targets
                  if view.policies.winner(target.service, target.port)), None)
    return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE,
                 f"spec.rules[0].backendRefs: Service {quote(asked.name)} has a BackendTLSPolicy, which is "
                 "not supported on a listener of protocol TLS and mode Terminate") if asked else None


def _refusal(route: TLSRoute, problem: str) -> StatusCondition | None:
    """Return why a TLSRoute cannot be served; None if it can. Args: problem: of its backends."""
    wrong = ((host, fault) for host in route.hostnames
             if (fault := hostnames.problem(host.removeprefix("*."))))
    text = route.problem
    if not text and (first := next(wrong, None)):
        text = f"spec.hostnames: {quote(first[0])}: {first[1]}"
    if not text and len(route.rules) > 1:
        text = "spec.rules: only one rule is supported"
    if not text and problem:
        text = f"spec.rules[0].backendRefs: {problem}"
    return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE, text) if text else None
