"""TCPRoutes by themselves: the backends to which connections go as they are.

A backend that cannot be used keeps its share, and its connections are reset. Source:
kubernetes-sigs/gateway-api v1.6.1, apis/v1/tcproute_types.go: TCPRouteRule.BackendRefs.
"""

from f5router.model.gateway import HTTPRule, TCPRoute
from f5router.sources.gateway import backends, conditions
from f5router.sources.gateway.conditions import false, true
from f5router.sources.gateway.references import GatewayView
from f5router.sources.gateway.route_rules import CheckedRoute, CheckedRule


def check(route: TCPRoute, view: GatewayView) -> CheckedRoute:
    """Check a TCPRoute; its rule matches every connection to the listeners that it is attached to."""
    targets, failing, problems = backends.divide(
        route, "spec.rules[0].backendRefs", route.rules[0] if route.rules else (), view, by_policy=False)
    text = route.problem
    if not text and len(route.rules) > 1:
        text = "spec.rules: only one rule is supported"
    refusal = false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE, text) if text else None
    return CheckedRoute(route, refusal, problems[0] if problems else true(conditions.RESOLVED),
                        (CheckedRule(0, HTTPRule(), targets, failing),))
