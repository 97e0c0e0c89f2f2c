"""Rules of routes on a Gateway as virtual Routes: one for each port, host and match.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go, HTTPRouteRule.Matches: 404 where
nothing matches. The Gateway claims the Hosts: its listeners say
which namespaces may have routes for them. A Host that no listener names is as old as the HTTPRoute that
brings it, so that no Gateway takes the Host of a Route that was there before.
"""

from collections.abc import Iterator
from typing import NamedTuple

from f5router.model import hostnames, http_edge, names
from f5router.model.cluster import CA_CRT, Backend, Key, Origin, PathMatch, PodAuthority, Route, RouteTLS
from f5router.model.gateway import GATEWAY, Gateway, GatewayRoute, RequestRedirect
from f5router.model.request_match import ANY_REQUEST, NO_REQUEST, RequestMatch
from f5router.model.route_options import RouteOptions
from f5router.sources.gateway import certificates, filters, hosts, matches
from f5router.sources.gateway.backends import BackendTarget
from f5router.sources.gateway.listeners import HTTP, HTTPS, CheckedListener, ends_connections
from f5router.sources.gateway.ranks import Order
from f5router.sources.gateway.route_rules import CheckedRoute, CheckedRule

NOT_FOUND = 404
HTTP_PORT, HTTPS_PORT = 80, 443


class RoutePlace(NamedTuple):
    """Requests that one rule has: those of a listener for a host and a path, or some of them."""

    listener: int
    host: str
    kind: PathMatch
    path: str
    match: RequestMatch


class PlacedRoute(NamedTuple):
    """A Route that has a place unless an older HTTPRoute has it."""

    order: Order
    route: Route


def routes(gateway: Gateway, listener: CheckedListener, checked: CheckedRoute,
           host: str) -> Iterator[tuple[RoutePlace, PlacedRoute]]:
    """Yield the Routes of a route for one host, those of its first rules first."""
    for rule in checked.rules:
        for match in rule.rule.matches:
            place = RoutePlace(listener.number, host, *matches.path_of(match), matches.request_of(match))
            yield place, PlacedRoute((checked.route.age, rule.number, place.match.subject),
                                     _route(gateway, listener, checked.route, rule, place))


def _route(gateway: Gateway, listener: CheckedListener, route: GatewayRoute, rule: CheckedRule,
           place: RoutePlace) -> Route:
    _, host, kind, path, match = place
    distinction = f"{route.key.namespace} {_distinction(gateway, listener, host)} {kind} {path}"
    if match.is_narrow:
        distinction = f"{tuple(match)} {distinction}"
    does = rule.filters
    answer = _redirect(does.redirect, listener, place, rule) if does.redirect else rule.answer()
    options = RouteOptions(
        balance="roundrobin", disable_cookies=True, unbound_by_rules=True, request_actions=does.request,
        response_actions=does.response, rewrite=does.rewrite, reply=answer)
    serves = rule.targets and does.redirect is None
    (first, weight), *others = rule.targets if serves else ((BackendTarget(Key("", ""), ""), 0),)
    return _base(
        gateway, listener, host,
        Key(rule.namespace if serves else route.key.namespace,
            names.virtual_route(route.kind, route.key.name, distinction)),
        created=route.created, **_towards_pods(listener, rule if serves else None),
        path=path, path_match=kind, match=match, service=first.service.name,
        target_port=first.port, weight=weight, options=options,
        alternates=tuple(Backend(each.service.name, share, port=each.port, namespace=each.service.namespace)
                         for each, share in others),
        origin=Origin(route.kind, route.key, rule.field, "spec.hostnames", claimant=gateway.key,
                      tls_field=listener.certificate_field(host)))


def _towards_pods(listener: CheckedListener, rule: CheckedRule | None) -> dict[str, object]:
    """Return the fields of a Route whose pods are asked over TLS; none for others.

    Args: rule: None if none serves.
    """
    of = {target.service.name: target.tls for target, _ in rule.targets if target.tls} if rule else {}
    if not of:
        return {}
    tls = next(iter(of.values()))
    authority = PodAuthority(
        tls.authority, CA_CRT, f"BackendTLSPolicy {tls.policy}", tuple(
            sorted((service, each.hostname) for service, each in of.items())), asks_for_name=True)
    if listener.listener.protocol == HTTP:
        return {"pod_authority": authority, "pods_speak_tls": True}
    return {"pod_authority": authority, "tls": RouteTLS("reencrypt", "None")}


def closing(gateway: Gateway, listener: CheckedListener, host: str, created: str) -> Route:
    """Return the Route that answers where nothing matches; connections with their TLS untouched are reset.

    Args: created: time of the oldest HTTPRoute of the host, RFC 3339; "" without one.
    """
    return _base(
        gateway, listener, host,
        Key(gateway.key.namespace,
            names.virtual_route(GATEWAY, gateway.key.name, _distinction(gateway, listener, host))),
        created=created,
        options=RouteOptions(reply=http_edge.encode_answer(NOT_FOUND)),
        origin=Origin(GATEWAY, gateway.key, listener.field, f"{listener.field}.hostname",
                      tls_field=listener.certificate_field(host)))


def showing(gateway: Gateway, listener: CheckedListener, name: str) -> Route:
    """Return the Route that shows the certificate of a listener for a server name, and serves nothing."""
    return _base(
        gateway, listener, name,
        Key(gateway.key.namespace, names.virtual_route(
            GATEWAY, gateway.key.name, f"certificate {_distinction(gateway, listener, name)}")),
        created="", match=NO_REQUEST, options=RouteOptions(reply=http_edge.encode_answer(NOT_FOUND)),
        origin=Origin(
            GATEWAY, gateway.key, listener.field, f"{listener.field}.hostname",
            tls_field=listener.certificate_field(name)))


def _base(gateway: Gateway, listener: CheckedListener, host: str, key: Key, *, created: str,
          **more: object) -> Route:
    """Return a Route with what its listener says."""
    protocol, named = listener.listener.protocol, listener.listener.hostname
    secure = protocol == HTTPS
    ends = bool(listener.certificates) and (secure or ends_connections(listener.listener))
    own = ends and hosts.matches(named, host) and (host != hosts.ALL or bool(listener.front_end))
    secret = certificates.choose(listener.certificates, host).secret if own else None
    fields: dict[str, object] = {
        "uid": gateway.uid,
        "created": gateway.created if host == named else max(gateway.created, created),
        "host": host or hostnames.ANY,
        "alone": bool(listener.front_end),
        "default_backend": host == hosts.ALL,
        "wildcard_policy": hostnames.ANY_DEPTH if host.startswith("*.") else "None",
        "tls": RouteTLS("edge", "None") if secure else None if protocol == HTTP else RouteTLS("passthrough"),
        "tls_secret": secret,
        "port": HTTP_PORT if protocol == HTTP else HTTPS_PORT,
        "match": ANY_REQUEST,
    }
    return Route(key.on(listener.front_end), **{**fields, **more})  # type: ignore[arg-type]


def _distinction(gateway: Gateway, listener: CheckedListener, host: str) -> str:
    return f"{gateway.key} {listener.listener.port} {host}"


def _redirect(wanted: RequestRedirect, listener: CheckedListener, place: RoutePlace,
              rule: CheckedRule) -> str:
    """Return the redirect of a rule. Source: HTTPRequestRedirectFilter.Port."""
    served = listener.listener
    scheme = wanted.scheme or ("https" if served.protocol == HTTPS else "http")
    known = {"http": 80, "https": 443}[scheme]
    port = wanted.port or (known if wanted.scheme else served.port)
    own = "" if place.host.startswith("*.") else place.host
    path = filters.path_rewrite(wanted.path, f"{rule.field}.filters", rule.rule)
    return http_edge.encode_redirect(wanted.status or 302, scheme, wanted.hostname or own,
                                     0 if port == known else port, (place.path, path) if path else None)
