"""TLSRoutes on listeners whose TLS pods end: conditions, and the virtual Routes that serve them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.kube.api import decode_gateway
from f5router.model.cluster import Key, Subject
from f5router.model.gateway import TLS_ROUTE
from f5router.sources.gateway.evaluation import MOST_ROUTES
from f5router.sources.settings import ServedPorts
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
    tls_route,
)
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite, certificate

ACCEPTED, RESOLVED = ("True", "Accepted"), ("True", "ResolvedRefs")
UNSUPPORTED = ("False", "UnsupportedValue")
LISTENER = listener("tls", **PASSTHROUGH, hostname="*.test")
ROUTE = tls_route("r", backend("v1"), hostnames=("a.test",))


def of(site: GatewaySite, name: str = "r", namespace: str = "infra") -> dict[str, tuple[str, str]]:
    return site.route(name, namespace, TLS_ROUTE)


def passed(site: GatewaySite) -> dict[str, str]:
    """Service by host of what is passed through; "" for what is reset."""
    return {each.host: each.service for each in site.routes.values()
            if each.tls is not None and each.tls.termination == "passthrough"}


def test_its_hosts_pass_through_to_the_service():
    site = GatewaySite(gateway("web", LISTENER), ROUTE)
    assert of(site) == {"Accepted": ACCEPTED, "ResolvedRefs": RESOLVED}
    assert passed(site) == {"a.test": "v1"}
    (route,) = site.routes.values()
    assert (route.port, route.tls_secret, route.origin.key) == (443, None, Key("infra", "r"))
    assert site.gateway()["listeners"][0]["attachedRoutes"] == 1
    assert site.gateway()["listeners"][0]["supportedKinds"] == [
        {"group": "gateway.networking.k8s.io", "kind": "TLSRoute"}]


@rows(("changed", "wanted"), [
    ({"tls": {"mode": "Terminate", "certificateRefs": [{"name": "tls"}]}}, UNSUPPORTED),
    ({"tls": None}, UNSUPPORTED),
    ({"tls": {"mode": "Passthrough", "options": {"a.b/c": "d"}}}, UNSUPPORTED),
    ({"port": 8443}, ("False", "PortUnavailable")),
    ({"hostname": "-"}, UNSUPPORTED),
])
def test_listeners_that_are_refused(changed, wanted):
    site = GatewaySite(gateway("web", {**LISTENER, **changed}), ROUTE)
    assert site.listener("tls")["Accepted"] == wanted
    assert passed(site) == {}


@rows(("kinds", "supported"), [(["TCPRoute", "TLSRoute"], ["TLSRoute"]), (["HTTPRoute"], [])])
def test_kinds_that_do_not_suit_the_protocol(kinds, supported):
    own = {**LISTENER, "allowedRoutes": {"kinds": [{"kind": kind} for kind in kinds]}}
    site = GatewaySite(gateway("web", own), ROUTE)
    assert site.listener("tls")["ResolvedRefs"] == ("False", "InvalidRouteKinds")
    assert [each["kind"] for each in site.gateway()["listeners"][0]["supportedKinds"]] == supported


@rows(("listeners", "parent_", "reason"), [
    ([listener("http")], {}, "NotAllowedByListeners"),
    ([listener("https", 443, "HTTPS", hostname="a.test", secret="tls")], {}, "NotAllowedByListeners"),
    ([LISTENER], {"sectionName": "other"}, "NoMatchingParent"),
    ([LISTENER], {"port": 80}, "NoMatchingParent"),
    ([{**LISTENER, "hostname": "*.other"}], {}, "NoMatchingListenerHostname"),
])
def test_routes_that_no_listener_takes(listeners, parent_, reason):
    route = tls_route("r", backend("v1"), hostnames=("a.test",), parents=(parent("web", **parent_),))
    site = GatewaySite(gateway("web", *listeners), route)
    assert of(site) == {"Accepted": ("False", reason), "ResolvedRefs": RESOLVED}
    assert [each["attachedRoutes"] for each in site.gateway()["listeners"]] == [0]
    assert passed(site) == {}


def test_a_route_for_requests_does_not_attach_to_it():
    site = GatewaySite(gateway("web", LISTENER), http_route("r", rule(backend("v1"))))
    assert site.route()["Accepted"] == ("False", "NotAllowedByListeners")


@rows(("target", "reason"), [
    (backend("missing"), "BackendNotFound"),
    (backend("v1", 99), "BackendNotFound"),
    (backend("v1", kind="Other"), "InvalidKind"),
    (backend("v1", namespace="shop"), "RefNotPermitted"),
])
def test_a_backend_that_cannot_be_used_rejects_connections(target, reason):
    """Also beside one that can: its share must not come to others."""
    for others in ((), (backend("v2"),)):
        site = GatewaySite(gateway("web", LISTENER), tls_route("r", target, *others, hostnames=("a.test",)))
        assert of(site) == {"Accepted": ACCEPTED, "ResolvedRefs": ("False", reason)}
        assert passed(site) == {"a.test": ""}


def test_a_grant_must_be_for_its_kind():
    def site(kind: str) -> GatewaySite:
        site = GatewaySite(gateway("web", LISTENER), grant("g", "shop", (kind, "infra"), ("", "Service", "")))
        site.services[Key("shop", "v1")] = site.services[Key("infra", "v1")]
        site.put(tls_route("r", backend("v1", namespace="shop"), hostnames=("a.test",)))
        return site

    assert passed(site("HTTPRoute")) == {"a.test": ""}
    granted = site("TLSRoute")
    assert passed(granted) == {"a.test": "v1"}
    assert {key.namespace for key in granted.routes} == {"shop"}
    granted.put(gone=(("ReferenceGrant", "g"),))  # of another namespace
    assert passed(granted) == {"a.test": "v1"}


@rows("route", [
    tls_route("r", backend("v1"), hostnames=("*.a.test",)),
    tls_route("r", backend("v1"), hostnames=("a_b.test",)),
    tls_route("r", backend("v1"), hostnames=("a.test",), rules=[{}, {}]),
    tls_route("r", backend("v1"), hostnames=tuple(f"h{number}.test" for number in range(MOST_ROUTES + 1))),
    {**ROUTE, "spec": {**ROUTE["spec"], "rules": "x"}},
])
def test_routes_that_are_refused(route):
    site = GatewaySite(gateway("web", LISTENER), route)
    assert of(site)["Accepted"] == UNSUPPORTED
    assert passed(site) == {}


def test_services_of_several_namespaces_are_refused():
    site = GatewaySite(gateway("web", LISTENER),
                       grant("g", "shop", ("TLSRoute", "infra"), ("", "Service", "")))
    site.services[Key("shop", "v1")] = site.services[Key("infra", "v1")]
    site.put(tls_route("r", backend("v1"), backend("v1", namespace="shop"), hostnames=("a.test",)))
    assert of(site)["Accepted"] == UNSUPPORTED


def test_as_many_hostnames_as_a_gateway_serves():
    site = GatewaySite(gateway("web", LISTENER), tls_route(
        "r", backend("v1"), hostnames=tuple(f"h{number}.test" for number in range(MOST_ROUTES))))
    assert len(passed(site)) == MOST_ROUTES


def test_a_host_that_the_listener_names_is_closed_without_a_route():
    """The older one of two TLSRoutes has the host."""
    own = {**LISTENER, "hostname": "a.test"}
    site = GatewaySite(gateway("web", own))
    assert passed(site) == {"a.test": ""}
    site.put(ROUTE, tls_route("old", backend("v2"), hostnames=("a.test",), created="2025-01-01T00:00:00Z"))
    assert passed(site) == {"a.test": "v2"}
    site.put(gone=(("TLSRoute", "old"),))
    assert passed(site) == {"a.test": "v1"}
    site.put(gone=(("TLSRoute", "r"),))
    assert passed(site) == {"a.test": ""}


def test_a_listener_without_a_hostname_takes_those_of_its_routes():
    site = GatewaySite(gateway("web", listener("tls", **PASSTHROUGH)))
    assert site.routes == {}
    assert site.listener("tls")["Programmed"] == ("True", "Programmed")
    site.put(ROUTE)
    assert passed(site) == {"a.test": "v1"}


def own(*objects: dict) -> GatewaySite:
    """Gateways with addresses of their own."""
    return GatewaySite(*objects, served=ServedPorts(), ranges="10.9.0.0/28")


def test_wildcards_on_addresses_of_its_own():
    """All names of the listener are closed but for those of routes, and on its port all others."""
    site = own(gateway("web", LISTENER))
    assert passed(site) == {"*.test": "", "*": ""}
    site.put(tls_route("r", backend("v1"), hostnames=("*.test", "a.test", "*.b.test")))
    assert of(site)["Accepted"] == ACCEPTED
    assert passed(site) == {"*.test": "v1", "a.test": "v1", "*.b.test": "v1", "*": ""}
    (front_end,) = site.source.front_ends
    assert front_end.any_depth
    assert site.listener("tls")["Programmed"] == ("True", "Programmed")


@rows(("hostname", "routes", "wanted"), [
    ("", ("*.test",), {"*": "", "*.test": "v1"}),
    ("a.test", ("*.test",), {"*": "", "a.test": "v1"}),
    ("*.test", ("*.a.test", "a.test"), {"*": "", "*.test": "", "*.a.test": "v1", "a.test": "v1"}),
])
def test_hostnames_of_both(hostname, routes, wanted):
    site = own(gateway("web", listener("tls", **PASSTHROUGH, hostname=hostname)),
               tls_route("r", backend("v1"), hostnames=routes))
    assert passed(site) == wanted


def test_beside_listeners_that_end_tls_other_names_are_theirs():
    https = listener("https", 443, "HTTPS", hostname="a.test", secret="tls")
    site = own(gateway("web", LISTENER, https))
    site.put(secrets=(certificate(),))
    assert passed(site) == {"*.test": ""}
    assert {each.host for each in site.routes.values() if each.tls and each.tls.termination == "edge"} == {
        "a.test", "*"}


@rows("site_of", [GatewaySite, own])
def test_a_route_and_a_listener_without_hostnames(site_of):
    site = site_of(gateway("web", listener("tls", **PASSTHROUGH)), tls_route("r", backend("v1")))
    assert of(site)["Accepted"] == UNSUPPORTED
    assert "v1" not in passed(site).values()


def test_a_more_specific_listener_that_ends_tls_has_its_host():
    https = listener("https", 443, "HTTPS", hostname="a.test", secret="tls")
    site = GatewaySite(gateway("web", LISTENER, https))
    site.put(tls_route("r", backend("v1"), hostnames=("a.test", "b.test")), secrets=(certificate(),))
    assert passed(site) == {"b.test": "v1"}
    assert {each.host for each in site.routes.values() if each.tls_secret} == {"a.test"}


def test_the_same_hostname_with_and_without_tls_ended_here_is_a_conflict():
    https = listener("https", 443, "HTTPS", hostname="*.test", secret="tls")
    site = GatewaySite(gateway("web", LISTENER, https), ROUTE)
    assert site.listener("tls")["Conflicted"] == ("True", "HostnameConflict")
    assert passed(site) == {}


def test_routes_of_two_kinds_may_have_one_name():
    site = GatewaySite(gateway("web", listener("http", namespaces=EVERYWHERE), LISTENER), ROUTE,
                       http_route("r", rule(backend("v2")), hostnames=("a.test",)))
    assert of(site)["Accepted"] == site.route()["Accepted"] == ACCEPTED
    assert passed(site) == {"a.test": "v1"}
    site.put(gone=(("HTTPRoute", "r"),))
    assert passed(site) == {"a.test": "v1"}
    assert Subject(TLS_ROUTE, Key("infra", "r")) in site.source.routes


json = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3),
                    lambda each: st.lists(each, max_size=2) | st.dictionaries(
                        st.sampled_from(["backendRefs", "name", "weight", "port", "kind"]), each, max_size=3))


@given(st.fixed_dictionaries({}, optional={
    "hostnames": json, "rules": json, "parentRefs": st.just([parent("web")]) | json}))
def test_no_spec_stops_others(spec):
    bad = {**tls_route("bad"), "spec": spec}
    assert decode_gateway.tls_route(bad).key == Key("infra", "bad")
    assert "a.test" in passed(GatewaySite(gateway("web", LISTENER), bad, ROUTE))


@pytest.mark.parametrize("version", ["v1", "v1alpha3", "v1alpha2"])
def test_all_versions_are_read_alike(version):
    obj = {**ROUTE, "apiVersion": f"gateway.networking.k8s.io/{version}"}
    assert decode_gateway.tls_route(obj) == decode_gateway.tls_route(ROUTE)


def test_a_hostname_of_which_all_listeners_lose_has_one_answer():
    """Not one of each, of which chance decides."""
    site = GatewaySite(gateway("web", listener("tls", **PASSTHROUGH, hostname="a.example.com"), listener(
        "https", 443, "HTTPS", hostname="a.example.com", secret="tls"), listener(
        "wide", 443, "HTTPS", hostname="*.example.com", secret="tls")))
    closing = list(site.source.evaluated[Key("infra", "web")].virtual.closing())
    assert len(closing) == len({*closing}) == 3
