"""TLSRoutes by themselves: the backends to which connections go with their TLS untouched.

A backend that cannot be used keeps its share, and its connections are rejected. Here one such backend is
enough to reject all of them: pods of a pool cannot share connections with nothing. Source:
kubernetes-sigs/gateway-api v1.6.1, apis/v1/tlsroute_types.go: TLSRouteRule.BackendRefs.
"""

from collections import Counter

from f5router.model import hostnames
from f5router.model.cluster import Key
from f5router.model.gateway import HTTPRule, TLSRoute
from f5router.model.hostnames import quote
from f5router.sources.gateway import backends, conditions
from f5router.sources.gateway.backends import BackendTarget
from f5router.sources.gateway.conditions import StatusCondition, false, true
from f5router.sources.gateway.references import GatewayView
from f5router.sources.gateway.route_rules import CheckedRoute, CheckedRule


def check(route: TLSRoute, view: GatewayView) -> CheckedRoute:
    """Check a TLSRoute; its rule matches every connection to its hostnames."""
    problems: list[StatusCondition] = []
    targets, failing = Counter[tuple[Key, str]](), 0
    for number, rule in enumerate(route.rules[:1]):
        for count, backend in enumerate(rule):
            target = backends.resolve(route, f"spec.rules[{number}].backendRefs[{count}]", backend, view)
            if isinstance(target, StatusCondition):
                problems.append(target)
                failing += backend.weight
            elif backend.weight:
                targets[target.service, target.port] += backend.weight
    refusal = _refusal(route, {service.namespace for service, _ in targets})
    served = () if failing else tuple(BackendTarget(*each, weight) for each, weight in targets.items())
    return CheckedRoute(route, refusal, problems[0] if problems else true(conditions.RESOLVED),
                        (CheckedRule(0, HTTPRule(), served, failing),))


def _refusal(route: TLSRoute, namespaces: set[str]) -> StatusCondition | None:
    """Return why a TLSRoute cannot be served; None if it can. Args: namespaces: of its Services."""
    wrong = ((host, problem) for host in route.hostnames
             if (problem := hostnames.problem(host.removeprefix("*."))))
    text = route.problem
    if not text and (first := next(wrong, None)):
        text = f"spec.hostnames: {quote(first[0])}: {first[1]}"
    if not text and len(route.rules) > 1:
        text = "spec.rules: only one rule is supported"
    if not text and len(namespaces) > 1:
        text = "spec.rules[0].backendRefs: Services of several namespaces are not supported"
    return false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE, text) if text else None
