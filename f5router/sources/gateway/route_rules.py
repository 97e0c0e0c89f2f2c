"""Rules of an HTTPRoute by themselves: what each does to a request, and why one cannot be served.

Sources: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go: HTTPRouteRule, HTTPBackendRef (an
invalid one keeps its share, and answers 500), HTTPRequestRedirectFilter; apis/v1/shared_types.go,
RouteConditionReason; GEP-1911 for appProtocol.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from f5router.model import header_actions, hostnames, http_edge
from f5router.model.cluster import Key
from f5router.model.gateway import (
    Filter,
    GatewayRoute,
    HTTPRoute,
    HTTPRule,
    RequestRedirect,
)
from f5router.model.hostnames import quote
from f5router.sources.gateway import backends, conditions, matches
from f5router.sources.gateway.backends import BackendTarget
from f5router.sources.gateway.conditions import StatusCondition, false, true
from f5router.sources.gateway.references import GatewayView

_UNSUPPORTED_PROTOCOLS = ("kubernetes.io/h2c", "kubernetes.io/wss")
"""Values of appProtocol that ask for a protocol which pods are not asked in."""
_REDIRECTS = (301, 302, 303, 307, 308)
NO_BACKEND = 500
MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """A rule with what it does."""

    number: int
    rule: HTTPRule
    targets: tuple[BackendTarget, ...] = ()
    """Services that can be used, with their weights."""
    failing: int = 0
    """Weight of those that cannot."""
    actions: tuple[str, ...] = ()
    """Changes of the headers of requests, as header_actions encodes them."""
    redirect: RequestRedirect | None = None

    @property
    def field(self) -> str:
        """Its place in the HTTPRoute."""
        return f"spec.rules[{self.number}]"

    @property
    def namespace(self) -> str:
        """The namespace of its Services; "" without one."""
        return self.targets[0].service.namespace if self.targets else ""

    def answer(self) -> str:
        """Return what the BIG-IP answers by itself, as http_edge encodes it; "" for nothing."""
        total = self.failing + sum(target.weight for target in self.targets)
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


class _Refused(Exception):
    """A field of an HTTPRoute that cannot be served."""

    def __init__(self, text: str, reason: str = conditions.UNSUPPORTED_VALUE):
        super().__init__(text)
        self.condition = false(conditions.ACCEPTED, reason, text)


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
        except _Refused as exc:
            refusal = refusal or exc.condition
    resolved = problems[0] if problems else true(conditions.RESOLVED)
    return CheckedRoute(route, refusal, resolved, tuple(rules))


def _rule(route: HTTPRoute, number: int, rule: HTTPRule, view: GatewayView,
          problems: list[StatusCondition]) -> CheckedRule:
    where, weights, failing = f"spec.rules[{number}]", Counter[tuple[Key, str]](), 0
    for count, backend in enumerate(rule.backends):
        target = backends.resolve(
            route, f"{where}.backendRefs[{count}]", backend, view, _UNSUPPORTED_PROTOCOLS)
        if isinstance(target, StatusCondition):
            problems.append(target)
            failing += backend.weight
        elif backend.weight:
            weights[target.service, target.port] += backend.weight
    for text in _unsupported(rule):
        raise _Refused(f"{where}.{text}")
    if len({service.namespace for service, _ in weights}) > 1:
        raise _Refused(f"{where}.backendRefs: Services of several namespaces in one rule are not supported")
    actions, redirect = _filters(rule, where)
    targets = tuple(BackendTarget(*backend, weight) for backend, weight in weights.items())
    return CheckedRule(number, rule, targets, failing, actions, redirect)


def _unsupported(rule: HTTPRule) -> Iterator[str]:
    """Yield the fields of a rule that cannot be served."""
    for number, match in enumerate(rule.matches):
        if problem := matches.unsupported(match):
            yield f"matches[{number}].{problem}"
    for number, backend in enumerate(rule.backends):
        if backend.has_filters:
            yield f"backendRefs[{number}].filters: they are not supported"
    for name in rule.others:
        yield f"{name}: it is not supported"


def _filters(rule: HTTPRule, where: str) -> tuple[tuple[str, ...], RequestRedirect | None]:
    """Return the actions of filters on headers, and a redirect. Raises: _Refused."""
    actions: list[str] = []
    redirect: RequestRedirect | None = None
    for number, each in enumerate(rule.filters):
        field = f"{where}.filters[{number}]"
        if each.unsupported:
            raise _Refused(f"{each.unsupported}: it is not supported")
        if each.headers is not None:
            try:
                actions += _header_actions(each)
            except ValueError as exc:
                raise _Refused(f"{field}.requestHeaderModifier: {exc}") from exc
        elif each.redirect is not None:
            if each.redirect.status not in (0, *_REDIRECTS) or each.redirect.scheme not in (
                    "", "http", "https"):
                raise _Refused(f"{field}.requestRedirect: its scheme or statusCode is not supported")
            if (host := each.redirect.hostname) and (problem := hostnames.problem(host)):
                raise _Refused(f"{field}.requestRedirect.hostname: {problem}")
            if each.redirect.port > MOST_PORT:
                raise _Refused(f"{field}.requestRedirect.port: {each.redirect.port} is no port")
            redirect = each.redirect
        else:
            raise _Refused(f"{field}.type: {quote(each.type)} is not supported")
    kinds = [each.type for each in rule.filters]
    if len(set(kinds)) < len(kinds):
        raise _Refused(f"{where}.filters: a type is repeated", conditions.INCOMPATIBLE_FILTERS)
    if sum(map(len, actions)) // 2 > header_actions.MOST_TOGETHER:
        raise _Refused(f"{where}.filters: all names and values of headers together have more than "
                       f"{header_actions.MOST_TOGETHER} bytes")
    if redirect and rule.backends:
        raise _Refused(f"{where}.backendRefs: a rule that redirects cannot have any",
                       conditions.INCOMPATIBLE_FILTERS)
    return tuple(actions), redirect


def _header_actions(entry: Filter) -> Iterator[str]:
    """Yield actions in the order of the specification's fields. Raises: ValueError."""
    assert entry.headers is not None, "a filter that changes headers"
    for encode, pairs in ((header_actions.encode_set, entry.headers.set),
                          (header_actions.encode_add, entry.headers.add)):
        for name, value in pairs:
            yield encode(name, value.replace("%", "%%"), side=header_actions.REQUEST)
    yield from map(header_actions.encode_delete, entry.headers.remove)
