"""Rules of an HTTPRoute by themselves: what each does to a request, and why one cannot be served.

Sources: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go: HTTPRouteRule, HTTPBackendRef (an
invalid one keeps its share, and answers 500), HTTPRequestRedirectFilter; apis/v1/shared_types.go,
RouteConditionReason; GEP-1911 for appProtocol.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from f5router.model import hostnames, http_edge
from f5router.model.gateway import GatewayRoute, HTTPRoute, HTTPRule
from f5router.model.hostnames import quote
from f5router.sources.gateway import backends, conditions, filters, matches
from f5router.sources.gateway.backends import BackendTarget
from f5router.sources.gateway.conditions import StatusCondition, false, true
from f5router.sources.gateway.filters import NO_FILTERS, RefusedField, RuleFilters
from f5router.sources.gateway.references import GatewayView

_UNSUPPORTED_PROTOCOLS = ("kubernetes.io/h2c", "kubernetes.io/wss")
"""Values of appProtocol that ask for a protocol which pods are not asked in."""
NO_BACKEND = 500


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A rule with what it does."""

    number: int
    rule: HTTPRule
    targets: tuple[tuple[BackendTarget, int], ...] = ()
    """Services that can be used, with their weights."""
    failing: int = 0
    """Weight of those that cannot."""
    filters: RuleFilters = NO_FILTERS

    @property
    def field(self) -> str:
        """Its place in the HTTPRoute."""
        return f"spec.rules[{self.number}]"

    @property
    def namespace(self) -> str:
        """The namespace of its first Service, and of its pool; "" without one."""
        return self.targets[0][0].service.namespace if self.targets else ""

    def answer(self) -> str:
        """Return what the BIG-IP answers by itself, as http_edge encodes it; "" for nothing."""
        total = self.failing + sum(weight for _, weight in self.targets)
        if not total or not self.targets:
            return http_edge.encode_answer(NO_BACKEND)
        return http_edge.encode_answer(NO_BACKEND, self.failing / total) if self.failing else ""


@dataclass(frozen=True, slots=True)
class CheckedRoute:
    """A route with what is known of it without a Gateway."""

    route: GatewayRoute
    refusal: StatusCondition | None
    """Why nothing of it can be served; None if it can."""
    resolved: StatusCondition
    rules: tuple[CheckedRule, ...] = ()
    ended_refusal: StatusCondition | None = None
    """Why a TLSRoute cannot be served by listeners that end TLS; None if it can."""


def check(route: HTTPRoute, view: GatewayView) -> CheckedRoute:
    """Check an HTTPRoute; what cannot be served refuses all of it."""
    problems: list[StatusCondition] = []
    refusal, rules = None, []
    if route.problem:
        refusal = false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE, route.problem)
    for host in route.hostnames:
        if problem := hostnames.problem(host.removeprefix("*.")):
            refusal = refusal or false(conditions.ACCEPTED, conditions.UNSUPPORTED_VALUE,
                                       f"spec.hostnames: {quote(host)}: {problem}")
    for number, rule in enumerate(route.rules):
        try:
            rules.append(_rule(route, number, rule, view, problems))
        except RefusedField as exc:
            refusal = refusal or exc.condition
    resolved = problems[0] if problems else true(conditions.RESOLVED)
    return CheckedRoute(route, refusal, resolved, tuple(rules))


def _rule(route: HTTPRoute, number: int, rule: HTTPRule, view: GatewayView,
          problems: list[StatusCondition]) -> CheckedRule:
    where = f"spec.rules[{number}]"
    divided = backends.divide(
        route, f"{where}.backendRefs", rule.backends, view, refused_protocols=_UNSUPPORTED_PROTOCOLS)
    problems += divided.problems
    for text in _unsupported(rule):
        raise RefusedField(f"{where}.{text}")
    if problem := backends.differ((target for target, _ in divided.targets), of_several_namespaces=True):
        raise RefusedField(f"{where}.backendRefs: {problem}")
    does = filters.of_rule(rule, where)
    return CheckedRule(number, rule, divided.targets, divided.failing, does)


def _unsupported(rule: HTTPRule) -> Iterator[str]:
    """Yield the fields of a rule that cannot be served."""
    for number, match in enumerate(rule.matches):
        if problem := matches.unsupported(match):
            yield f"matches[{number}].{problem}"
    for name in rule.others:
        yield f"{name}: it is not supported"
