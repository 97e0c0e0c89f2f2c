"""Filters of a rule: what they do to requests and responses, and why one cannot be served.

Sources: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go: HTTPRouteFilter,
HTTPHeaderFilter, HTTPRequestRedirectFilter, HTTPURLRewriteFilter, HTTPPathModifier (with its table of
results); HTTPBackendRef.Filters.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from f5router.model import header_actions, hostnames
from f5router.model.gateway import (
    Filter,
    HeaderModifier,
    HTTPRule,
    PathModifier,
    RequestRedirect,
    URLRewrite,
)
from f5router.model.hostnames import quote
from f5router.model.route_options import URL_PATH, PathRewrite
from f5router.sources.gateway import conditions
from f5router.sources.gateway.conditions import false

_REDIRECTS = (301, 302, 303, 307, 308)
_SIDES = {"RequestHeaderModifier": header_actions.REQUEST, "ResponseHeaderModifier": header_actions.RESPONSE}
_FULL, _PREFIX = "ReplaceFullPath", "ReplacePrefixMatch"
MOST_PORT = 65535


@dataclass(frozen=True, slots=True)
class RuleFilters:
    """All filters of a rule together."""

    request: tuple[str, ...] = ()
    """Changes of the headers of requests, as header_actions encodes them."""
    response: tuple[str, ...] = ()
    """Changes of the headers of responses."""
    redirect: RequestRedirect | None = None
    rewrite: PathRewrite | None = None
    """Replacement of the path that pods see."""


NO_FILTERS = RuleFilters()


class RefusedField(Exception):
    """A field of an HTTPRoute that cannot be served."""

    def __init__(self, text: str, reason: str = conditions.UNSUPPORTED_VALUE):
        super().__init__(text)
        self.condition = false(conditions.ACCEPTED, reason, text)


def of_rule(rule: HTTPRule, where: str) -> RuleFilters:
    """Return what the filters of a rule do, and those of its backends. Raises: RefusedField."""
    listed = list(_numbered(rule.filters, where))
    _check_types(rule, where)
    of_backends = {backend.filters for backend in rule.backends if backend.weight}
    if len(of_backends) > 1:
        raise RefusedField(f"{where}.backendRefs: filters that are not the same for all are not supported")
    for number, backend in enumerate(rule.backends):
        if backend.weight and backend.filters:
            listed += _of_backend(backend.filters, f"{where}.backendRefs[{number}]")
            break
    request, response = (_actions(listed, kind) for kind in _SIDES)
    for actions in (request, response):
        if sum(map(len, actions)) // 2 > header_actions.MOST_TOGETHER:
            raise RefusedField(f"{where}.filters: all names and values of headers together have more than "
                               f"{header_actions.MOST_TOGETHER} bytes")
    redirect, rewrite = None, None
    for field, each in listed:
        if each.redirect is not None:
            redirect = _redirect(each.redirect, f"{field}.requestRedirect", rule)
        elif each.rewrite is not None:
            rewrite = _rewrite(each.rewrite, f"{field}.urlRewrite", rule)
            if each.rewrite.hostname:
                request += (header_actions.encode_set("Host", each.rewrite.hostname,
                                                      side=header_actions.REQUEST),)
    if redirect and rule.backends:
        raise RefusedField(f"{where}.backendRefs: a rule that redirects cannot have any",
                           conditions.INCOMPATIBLE_FILTERS)
    if redirect and response:
        raise RefusedField(f"{where}.filters: the response of a redirect cannot be changed",
                           conditions.INCOMPATIBLE_FILTERS)
    return RuleFilters(request, response, redirect, rewrite)


def _numbered(filters: Iterable[Filter], where: str) -> Iterator[tuple[str, Filter]]:
    return ((f"{where}.filters[{number}]", each) for number, each in enumerate(filters))


def _check_types(rule: HTTPRule, where: str) -> None:
    """Refuse types that are unknown, stand twice, or exclude each other. Raises: RefusedField."""
    kinds = [each.type for each in rule.filters]
    for field, each in _numbered(rule.filters, where):
        if each.type not in (*_SIDES, "RequestRedirect", "URLRewrite"):
            raise RefusedField(f"{field}.type: {quote(each.type)} is not supported")
    if len(set(kinds)) < len(kinds):
        raise RefusedField(f"{where}.filters: a type is repeated", conditions.INCOMPATIBLE_FILTERS)
    if {"RequestRedirect", "URLRewrite"} <= set(kinds):
        raise RefusedField(f"{where}.filters: RequestRedirect and URLRewrite exclude each other",
                           conditions.INCOMPATIBLE_FILTERS)


def _of_backend(filters: Iterable[Filter], where: str) -> list[tuple[str, Filter]]:
    """Return the filters of a backend, which change headers alone. Raises: RefusedField."""
    listed = list(_numbered(filters, where))
    for field, each in listed:
        if each.headers is None:
            raise RefusedField(f"{field}.type: {quote(each.type)} is not supported with a backend")
    return listed


def _actions(listed: Iterable[tuple[str, Filter]], kind: str) -> tuple[str, ...]:
    """Return the actions of filters of a kind. Raises: RefusedField."""
    actions: list[str] = []
    for field, each in listed:
        if each.type == kind and each.headers is not None:
            try:
                actions += _header_actions(each.headers, _SIDES[kind])
            except ValueError as exc:
                raise RefusedField(f"{field}.{kind[0].lower()}{kind[1:]}: {exc}") from exc
    return tuple(actions)


def _header_actions(change: HeaderModifier, side: str) -> Iterator[str]:
    """Yield actions in the order of the specification's fields. Raises: ValueError."""
    permitted = (header_actions.HSTS,) if side == header_actions.RESPONSE else ()
    for encode, pairs in ((header_actions.encode_set, change.set), (header_actions.encode_add, change.add)):
        for name, value in pairs:
            yield encode(name, value.replace("%", "%%"), side=side, permitted=permitted)
    for name in change.remove:
        yield header_actions.encode_delete(name, permitted=permitted)


def _redirect(redirect: RequestRedirect, field: str, rule: HTTPRule) -> RequestRedirect:
    if redirect.status not in (0, *_REDIRECTS) or redirect.scheme not in ("", "http", "https"):
        raise RefusedField(f"{field}: its scheme or statusCode is not supported")
    if redirect.hostname and (problem := hostnames.problem(redirect.hostname)):
        raise RefusedField(f"{field}.hostname: {problem}")
    if redirect.port > MOST_PORT:
        raise RefusedField(f"{field}.port: {redirect.port} is no port")
    path_rewrite(redirect.path, f"{field}.path", rule)
    return redirect


def _rewrite(rewrite: URLRewrite, field: str, rule: HTTPRule) -> PathRewrite | None:
    if rewrite.hostname and (problem := hostnames.problem(rewrite.hostname)):
        raise RefusedField(f"{field}.hostname: {problem}")
    return path_rewrite(rewrite.path, f"{field}.path", rule)


def path_rewrite(path: PathModifier | None, field: str, rule: HTTPRule) -> PathRewrite | None:
    """Return the replacement of a path; None for none. Raises: RefusedField."""
    if path is None:
        return None
    if path.type not in (_FULL, _PREFIX):
        raise RefusedField(f"{field}.type: {quote(path.type)} is not supported")
    if path.type == _PREFIX and any(match.path_type != "PathPrefix" for match in rule.matches):
        raise RefusedField(f"{field}: {_PREFIX} needs matches of PathPrefix alone",
                           conditions.INCOMPATIBLE_FILTERS)
    target = path.value or "/"
    if URL_PATH.fullmatch(target) is None:
        raise RefusedField(f"{field}: {quote(path.value)} is no path that the BIG-IP can put into a request")
    prefix = path.type == _PREFIX
    return PathRewrite(target, keeps_rest=prefix, drops_slash=prefix and target.endswith("/"))
