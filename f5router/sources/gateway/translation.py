"""The virtual Routes of a Gateway: one for each port, host and path; of rules that are alike the oldest one.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go, HTTPRouteRule.Matches: precedence
across rules and HTTPRoutes, and 404 where nothing matches. The Gateway claims the Hosts: its listeners say
which namespaces may have routes for them. A Host that no listener names is as old as the HTTPRoute that
brings it, so that no Gateway takes the Host of a Route that was there before.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from f5router.model import hostnames, http_edge, names
from f5router.model.cluster import Backend, Key, Origin, PathMatch, Route, RouteTLS
from f5router.model.gateway import GATEWAY, HTTP_ROUTE, Gateway, HTTPRoute, RequestRedirect
from f5router.model.route_options import RouteOptions
from f5router.sources.gateway import attachment, hosts
from f5router.sources.gateway.attachment import RouteAttachment
from f5router.sources.gateway.listeners import HTTPS, CheckedListener
from f5router.sources.gateway.route_rules import BackendTarget, CheckedRoute, CheckedRule, path_of

NOT_FOUND = 404
HTTP_PORT, HTTPS_PORT = 80, 443

_Attached = Mapping[Key, tuple[CheckedRoute, list[RouteAttachment]]]
Place = tuple[str, PathMatch, str]
"""Host, kind of path and path."""


@dataclass(slots=True)
class Translated:
    """The virtual Routes of a Gateway."""

    routes: dict[Key, Route] = field(default_factory=dict)
    of_listener: dict[int, Key] = field(default_factory=dict)
    """By number: the Route that shows if a listener with a hostname of its own, or none, is programmed."""


def translate(gateway: Gateway, listeners: tuple[CheckedListener, ...],
              attached: _Attached) -> Translated:
    """Translate the valid listeners of a Gateway with the HTTPRoutes that they accept."""
    result = Translated()
    for listener in listeners:
        if listener.is_valid:
            _translate(gateway, listener, listeners, attached, result)
    return result


def _translate(gateway: Gateway, listener: CheckedListener, listeners: tuple[CheckedListener, ...],
               attached: _Attached, result: Translated) -> None:
    places: dict[Place, Route] = {}
    for checked in sorted((checked for checked, _ in attached.values()), key=lambda each: each.route.age):
        for host in _hosts(checked.route.key, listener.number, attached):
            if attachment.most_specific(host, listener.number, listeners):
                for place, route in _routes(gateway, listener, checked, host):
                    places.setdefault(place, route)
    named = listener.listener.hostname
    open_hosts: dict[str, Route | None] = {host: route for (host, _, _), route in reversed(places.items())}
    if not named.startswith("*."):
        open_hosts.setdefault(named, None)
    for host, served in open_hosts.items():
        last = places.setdefault((host, PathMatch.SEGMENTS, ""), _closing(gateway, listener, host, served))
        if host == named:
            result.of_listener[listener.number] = last.key
    result.routes.update((route.key, route) for route in places.values())


def _hosts(route: Key, listener: int, attached: _Attached) -> Iterator[str]:
    shared = (name for each in attached[route][1] for number, hostnames_ in each.hosts
              if number == listener for name in hostnames_)
    yield from dict.fromkeys(shared)


def _routes(gateway: Gateway, listener: CheckedListener, checked: CheckedRoute,
            host: str) -> Iterator[tuple[Place, Route]]:
    """Yield the Routes of an HTTPRoute for one host, those of its first rules first."""
    for rule in checked.rules:
        for match in rule.rule.matches:
            kind, path = path_of(match)
            yield (host, kind, path), _route(gateway, listener, checked.route, rule, host, kind, path)


def _route(gateway: Gateway, listener: CheckedListener, route: HTTPRoute, rule: CheckedRule, host: str,
           kind: PathMatch, path: str) -> Route:
    distinction = f"{route.key.namespace} {_distinction(gateway, listener, host)} {kind} {path}"
    answer = _redirect(rule.redirect, listener, host) if rule.redirect else rule.answer()
    options = RouteOptions(balance="roundrobin", disable_cookies=True, request_actions=rule.actions,
                           reply=answer)
    serves = rule.targets and rule.redirect is None
    first, *others = rule.targets if serves else (BackendTarget(Key("", ""), "", 0),)
    return _base(
        gateway, listener, host,
        Key(rule.namespace if serves else route.key.namespace,
            names.virtual_route(HTTP_ROUTE, route.key.name, distinction)),
        created=route.created, path=path, path_match=kind, service=first.service.name,
        target_port=first.port, weight=first.weight, options=options,
        alternates=tuple(Backend(each.service.name, each.weight, port=each.port) for each in others),
        origin=Origin(HTTP_ROUTE, route.key, rule.field, "spec.hostnames", claimant=gateway.key,
                      tls_field=f"{listener.field}.tls.certificateRefs[0]"))


def _closing(gateway: Gateway, listener: CheckedListener, host: str, first: Route | None) -> Route:
    """Return the Route that answers where nothing matches. Args: first: one of the host; None for none."""
    return _base(
        gateway, listener, host,
        Key(gateway.key.namespace,
            names.virtual_route(GATEWAY, gateway.key.name, _distinction(gateway, listener, host))),
        created=first.created if first else gateway.created,
        options=RouteOptions(reply=http_edge.encode_answer(NOT_FOUND)),
        origin=Origin(GATEWAY, gateway.key, listener.field, f"{listener.field}.hostname",
                      tls_field=f"{listener.field}.tls.certificateRefs[0]"))


def _base(gateway: Gateway, listener: CheckedListener, host: str, key: Key, *, created: str,
          **more: object) -> Route:
    """Return a Route with what its listener says."""
    secure, named = listener.listener.protocol == HTTPS, listener.listener.hostname
    secret = listener.listener.certificates[0].key(gateway.key.namespace) if secure else None
    fields: dict[str, object] = {
        "uid": gateway.uid,
        "created": gateway.created if host == named else max(gateway.created, created),
        "host": host or hostnames.ANY,
        "default_backend": host == hosts.ALL,
        "tls": RouteTLS("edge", "None") if secure else None,
        "tls_secret": secret,
        "port": HTTPS_PORT if secure else HTTP_PORT,
    }
    return Route(key, **{**fields, **more})  # type: ignore[arg-type]


def _distinction(gateway: Gateway, listener: CheckedListener, host: str) -> str:
    return f"{gateway.key} {listener.listener.port} {host}"


def _redirect(wanted: RequestRedirect, listener: CheckedListener, host: str) -> str:
    """Return the redirect of a rule. Source: HTTPRequestRedirectFilter.Port."""
    served = listener.listener
    scheme = wanted.scheme or ("https" if served.protocol == HTTPS else "http")
    known = {"http": 80, "https": 443}[scheme]
    port = wanted.port or (known if wanted.scheme else served.port)
    return http_edge.encode_redirect(wanted.status or 302, scheme, wanted.hostname or host,
                                     0 if port == known else port)
