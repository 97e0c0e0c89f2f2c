"""TCPRoutes on listeners of protocol TCP: conditions, and the virtual Routes that serve them."""

from f5router.kube.api import decode_gateway
from f5router.model import http_edge
from f5router.model.cluster import Key
from f5router.model.front_end_names import carries_tcp
from f5router.model.gateway import TCP_ROUTE
from tests.gateways import (
    EVERYWHERE,
    PASSTHROUGH,
    backend,
    gateway,
    grant,
    http_route,
    listener,
    parent,
    rule,
    tcp_route,
)
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite

ACCEPTED, RESOLVED = ("True", "Accepted"), ("True", "ResolvedRefs")
LISTENER = listener("db", 5432, "TCP")
ROUTE = tcp_route("r", backend("v1"))


def site_of(*objects: dict) -> GatewaySite:
    return GatewaySite(*objects, ranges="10.9.0.0/28")


def of(site: GatewaySite, name: str = "r", namespace: str = "infra") -> dict[str, tuple[str, str]]:
    return site.route(name, namespace, TCP_ROUTE)


def services(site: GatewaySite) -> list[tuple[str, float]]:
    """Service of each virtual Route, and the share of connections that is reset."""
    answers = ((each.service, http_edge.reply_of(each.options.reply)) for each in site.routes.values())
    return [(service, answer.share if answer else 0.0) for service, answer in answers]


def test_its_listener_has_a_virtual_server_for_itself():
    site = site_of(gateway("web", LISTENER, listener()), ROUTE, http_route(
        "h", rule(backend("v2")), parents=(parent("web", sectionName="http"),)))
    assert of(site) == {"Accepted": ACCEPTED, "ResolvedRefs": RESOLVED}
    assert [(each.name, each.http, each.https, each.tcp) for each in site.source.front_ends] == [
        ("infra.web.80", "/Common/openshift_http__infra.web.80", None, None),
        ("infra.web.5432", None, None, "/Common/openshift_tcp__infra.web.5432")]
    (server,) = site.source.front_ends[1].listeners()
    assert (server.port, server.secure, server.has_http, carries_tcp(server.virtual)) == (
        5432, False, False, True)
    (route,) = (each for each in site.routes.values() if each.key.front_end == "infra.web.5432")
    assert (route.service, route.default_backend, route.origin.key) == ("v1", True, Key("infra", "r"))
    assert [each["attachedRoutes"] for each in site.gateway()["listeners"]] == [1, 1]
    assert site.gateway()["listeners"][0]["supportedKinds"] == [
        {"group": "gateway.networking.k8s.io", "kind": "TCPRoute"}]


def test_a_listener_without_a_route_resets_connections():
    site = site_of(gateway("web", LISTENER))
    assert services(site) == [("", 1.0)]
    site.put(ROUTE)
    assert services(site) == [("v1", 0.0)]
    site.put(gone=(("TCPRoute", "r"),))
    assert services(site) == [("", 1.0)]


@rows(("other", "losers"), [
    (listener("other", 5432), 2), (listener("other", 5432, "TCP"), 2),
    (listener("other", **{**PASSTHROUGH, "port": 5432}, hostname="a.test"), 2),
    (listener("other", 5432, "UDP"), 0),
])
def test_listeners_of_one_port(other, losers):
    """All members of a conflict lose; UDP is no member."""
    site = site_of(gateway("web", LISTENER, other), ROUTE)
    conflicted = [site.listener(name)["Conflicted"] for name in ("db", "other")]
    assert conflicted.count(("True", "ProtocolConflict")) == losers
    assert (site.listener("db")["Accepted"] == ACCEPTED) is (losers == 0)


@rows(("changed", "wanted"), [
    ({"hostname": "a.test"}, ("False", "UnsupportedValue")),
    ({"tls": {"mode": "Passthrough"}}, ("False", "UnsupportedValue")),
])
def test_listeners_that_are_refused(changed, wanted):
    """As no API server lets them be."""
    site = site_of(gateway("web", {**LISTENER, **changed}), ROUTE)
    assert site.listener("db")["Accepted"] == wanted
    assert site.routes == {}


def test_the_front_end_of_the_router_has_no_such_port():
    site = GatewaySite(gateway("web", listener("db", 80, "TCP")), ROUTE)
    assert site.listener("db")["Accepted"] == ("False", "PortUnavailable")
    assert site.routes == {}


@rows(("kinds", "supported"), [(["TCPRoute", "HTTPRoute"], ["TCPRoute"]), (["UDPRoute"], [])])
def test_kinds_that_do_not_suit_the_protocol(kinds, supported):
    own = {**LISTENER, "allowedRoutes": {"kinds": [{"kind": kind} for kind in kinds]}}
    site = site_of(gateway("web", own), ROUTE)
    assert site.listener("db")["ResolvedRefs"] == ("False", "InvalidRouteKinds")
    assert [each["kind"] for each in site.gateway()["listeners"][0]["supportedKinds"]] == supported


@rows(("kind", "own"), [
    ("TCPRoute", LISTENER), ("TLSRoute", listener("db", **PASSTHROUGH)), ("HTTPRoute", listener("db")),
])
def test_a_kind_whose_crd_is_missing_is_not_supported(kind, own):
    """A listener that names it has a reason for that; one that does not has no routes, nothing else."""
    site = site_of(gateway("web", own))
    named = {**own, "allowedRoutes": {"kinds": [{"kind": kind}]}}
    for each, absent, supported, reason in (
            (own, frozenset(), [kind], "ResolvedRefs"), (own, frozenset({kind}), [], "ResolvedRefs"),
            (named, frozenset({kind}), [], "InvalidRouteKinds"), (named, frozenset(), [kind], "ResolvedRefs"),
            (named, frozenset({"UDPRoute"}), [kind], "ResolvedRefs")):
        site.put(gateway("web", each), absent=absent)
        assert [of["kind"] for of in site.gateway()["listeners"][0]["supportedKinds"]] == supported
        assert site.listener("db")["ResolvedRefs"][1] == reason


@rows(("listeners", "parent_", "reason"), [
    ([listener("http")], {}, "NotAllowedByListeners"),
    ([LISTENER], {"sectionName": "other"}, "NoMatchingParent"),
    ([LISTENER], {"port": 80}, "NoMatchingParent"),
])
def test_routes_that_no_listener_takes(listeners, parent_, reason):
    site = site_of(gateway("web", *listeners), tcp_route(
        "r", backend("v1"), parents=(parent("web", **parent_),)))
    assert of(site) == {"Accepted": ("False", reason), "ResolvedRefs": RESOLVED}
    assert [each["attachedRoutes"] for each in site.gateway()["listeners"]] == [0]
    assert "v1" not in {service for service, _ in services(site)}


@rows(("backends", "reason", "wanted"), [
    ((backend("missing"),), "BackendNotFound", ("", 1.0)),
    ((backend("v1", 99),), "BackendNotFound", ("", 1.0)),
    ((backend("v1", kind="Other"), backend("v2", weight=3)), "InvalidKind", ("v2", 0.25)),
    ((backend("v1", namespace="shop"), backend("v2")), "RefNotPermitted", ("v2", 0.5)),
    ((backend("missing", weight=0), backend("v2")), "BackendNotFound", ("v2", 0.0)),
    ((backend("v1", weight=0),), "ResolvedRefs", ("", 1.0)),
    ((), "ResolvedRefs", ("", 1.0)),
])
def test_the_share_of_a_backend_that_cannot_be_used_is_reset(backends, reason, wanted):
    site = site_of(gateway("web", LISTENER), tcp_route("r", *backends))
    assert of(site) == {"Accepted": ACCEPTED, "ResolvedRefs": (
        "True" if reason == "ResolvedRefs" else "False", reason)}
    assert services(site) == [wanted]


def test_backends_of_several_namespaces():
    site = site_of(gateway("web", LISTENER), grant("g", "shop", ("TCPRoute", "infra"), ("", "Service", "")))
    site.services[Key("shop", "v1")] = site.services[Key("infra", "v1")]
    site.put(tcp_route("r", backend("v1", namespace="shop"), backend("v2", weight=2)))
    (route,) = site.routes.values()
    assert (route.key.namespace, route.service, route.weight) == ("shop", "v1", 1)
    assert [(each.namespace, each.service, each.weight) for each in route.alternates] == [("infra", "v2", 2)]


def test_several_routes_of_one_listener():
    """All are accepted and counted; the oldest one is served, of any namespace that the listener allows."""
    site = site_of(gateway("web", {**LISTENER, "allowedRoutes": {"namespaces": EVERYWHERE}}), ROUTE)
    site.services[Key("shop", "v1")] = site.services[Key("infra", "v1")]
    site.put(tcp_route("old", backend("v1"), namespace="shop", created="2025-01-01T00:00:00Z",
                       parents=(parent("web", namespace="infra"),)))
    assert [(each.key.namespace, each.service) for each in site.routes.values()] == [("shop", "v1")]
    assert of(site)["Accepted"] == of(site, "old", "shop")["Accepted"] == ACCEPTED
    assert site.gateway()["listeners"][0]["attachedRoutes"] == 2


@rows("spec", [{"rules": [{}, {}]}, {"rules": 5}, {"rules": [{"backendRefs": [{"weight": "x"}]}]}])
def test_routes_that_are_refused(spec):
    """Each names the field; the listener resets connections."""
    site = site_of(gateway("web", LISTENER), {**ROUTE, "spec": {**ROUTE["spec"], **spec}})
    assert of(site)["Accepted"] == ("False", "UnsupportedValue")
    assert "spec.rules" in site.parents(kind=TCP_ROUTE)[0]["conditions"][0]["message"]
    assert services(site) == [("", 1.0)]


def test_decoding_a_second_time_changes_nothing():
    assert decode_gateway.tcp_route(ROUTE) == decode_gateway.tcp_route(dict(ROUTE))


def test_routes_that_cannot_be_read():
    """The listener keeps its virtual server and says nothing of its pool; all others are as they were."""
    unread = frozenset({TCP_ROUTE})
    site = GatewaySite(ranges="10.9.0.0/28")
    site.put(gateway("web", LISTENER, listener()), unread=unread)
    assert site.listener("db")["ResolvedRefs"] == ("Unknown", "Pending")
    assert site.listener("db")["Programmed"] == ("False", "Invalid")
    assert site.listener("http")["Programmed"] == site.conditions()["Programmed"] == ("True", "Programmed")
    assert {each.front_end for each in site.routes} == {"infra.web.80"}
    assert len(site.source.front_ends) == 2
    site.put(ROUTE)
    assert {each.front_end for each in site.routes} == {"infra.web.80", "infra.web.5432"}
    assert site.listener("db")["Programmed"] == ("True", "Programmed")
