"""Statuses of Gateways, their listeners and HTTPRoutes, row by row.

Sources: gateway-api.sigs.k8s.io, API specification; kubernetes-sigs/gateway-api v1.4.1, apis/v1 and
conformance/tests.
"""

from f5router.model.cluster import Key
from f5router.model.texts import Problem
from f5router.sources.settings import ServedPorts
from tests.gateways import (
    EVERYWHERE,
    backend,
    conditions,
    gateway,
    gateway_class,
    grant,
    headers,
    http_route,
    listener,
    parent,
    path_modifier,
    redirect,
    response_headers,
    rewrite,
    rule,
)
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite, certificate

OK, TO_V1 = "True", rule(backend("v1"))
HTTPS = {"port": 443, "protocol": "HTTPS"}


def test_a_gateway_is_programmed_with_the_address_of_the_front_end():
    site = GatewaySite(gateway("web"), http_route("r", TO_V1))
    assert site.conditions() == {"Accepted": (OK, "Accepted"), "Programmed": (OK, "Programmed")}
    status = site.gateway()
    assert status["addresses"] == [{"type": "IPAddress", "value": "203.0.113.10"}]
    (only,) = status["listeners"]
    assert (only["attachedRoutes"], only["supportedKinds"]) == (
        1, [{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}])
    assert site.route() == {"Accepted": (OK, "Accepted"), "ResolvedRefs": (OK, "ResolvedRefs")}


@rows(("spec", "served", "accepted", "programmed"), [
    ({"addresses": [{"value": "203.0.113.10"}]}, None, (OK, "Accepted"), (OK, "Programmed")),
    ({"addresses": [{"type": "IPAddress"}]}, None, (OK, "Accepted"), (OK, "Programmed")),
    ({"addresses": [{"value": "203.0.113.11"}]}, None, (OK, "Accepted"), ("False", "AddressNotUsable")),
    ({"addresses": [{"type": "Hostname", "value": "a.example.com"}]}, None,
     ("False", "UnsupportedAddress"), ("False", "Invalid")),
    ({"infrastructure": {"parametersRef": {"group": "a.b", "kind": "C", "name": "d"}}}, None,
     ("False", "InvalidParameters"), ("False", "Invalid")),
    ({"tls": {"backend": {"clientCertificateRef": {"name": "c"}}}}, None, ("False", "Invalid"),
     ("False", "Invalid")),
    ({"listeners": []}, None, ("False", "ListenersNotValid"), ("False", "Invalid")),
    ({"addresses": "no list"}, None, ("False", "Invalid"), ("False", "Invalid")),
    ({}, ServedPorts(), (OK, "Accepted"), ("False", "AddressNotAssigned")),
])
def test_what_a_gateway_may_ask_for(spec, served, accepted, programmed):
    obj = gateway("web")
    obj["spec"] |= spec
    site = GatewaySite(obj, **({} if served is None else {"served": served}))
    assert site.conditions() == {"Accepted": accepted, "Programmed": programmed}
    assert (site.gateway()["addresses"] == []) == (programmed[0] == "False")
    assert bool(site.routes) == (programmed[0] == OK)


@rows(("given", "wanted"), [
    (listener(port=8080), {"Accepted": ("False", "PortUnavailable")}),
    (listener(port=1111, protocol="INVALID"), {"Accepted": ("False", "UnsupportedProtocol")}),
    (listener(**HTTPS, secret="tls"), {"Accepted": (OK, "Accepted"), "ResolvedRefs": (OK, "ResolvedRefs")}),
    (listener(**HTTPS, tls={"certificateRefs": [{"name": "tls"}, {"name": "missing"}]}),
     {"Accepted": (OK, "Accepted"), "ResolvedRefs": ("False", "InvalidCertificateRef")}),
    (listener(**HTTPS, hostname="a.b", secret="tls", tls={"mode": "Terminate"}),
     {"Accepted": (OK, "Accepted"), "ResolvedRefs": (OK, "ResolvedRefs")}),
    (listener(**HTTPS, hostname="a.b", secret="missing"),
     {"ResolvedRefs": ("False", "InvalidCertificateRef")}),
    (listener(**HTTPS, hostname="a.b", secret="unread"), {"ResolvedRefs": ("Unknown", "Pending")}),
    (listener(**HTTPS, hostname="a.b", secret="opaque"),
     {"ResolvedRefs": ("False", "InvalidCertificateRef")}),
    (listener(**HTTPS, hostname="a.b", secret="certs/tls"), {"ResolvedRefs": ("False", "RefNotPermitted")}),
    (listener(**HTTPS, hostname="a.b", tls={"certificateRefs": [{"kind": "X", "name": "tls"}]}),
     {"ResolvedRefs": ("False", "InvalidCertificateRef")}),
    (listener(**HTTPS, hostname="a.b", tls={"options": {"a.b/c": "d"}, "certificateRefs": [{"name": "tls"}]}),
     {"Accepted": ("False", "UnsupportedValue")}),
    (listener(allowedRoutes={"kinds": [{"kind": "InvalidRoute"}]}),
     {"ResolvedRefs": ("False", "InvalidRouteKinds")}),
])
def test_a_listener_that_cannot_be_served(given, wanted):
    """Another listener is served all the same."""
    site = GatewaySite()
    site.put(gateway("web", given, listener("other", hostname="other.example.com")), secrets=(
        certificate(), certificate("opaque", type="Opaque"), certificate(namespace="certs"),
        certificate("missing", problem="Secret 'missing' not found"),
        certificate("unread", not_loaded=True)))
    assert site.listener(given["name"]).items() >= wanted.items()
    valid = {status for status, _ in wanted.values()} == {OK}
    assert site.listener(given["name"])["Programmed"][0] == str(valid)
    assert site.listener("other")["Programmed"] == (OK, "Programmed")
    assert any(host == "other.example.com" for host, *_ in site.served())


@rows(("kinds", "supported"), [
    ([{"kind": "InvalidRoute"}], []),
    ([{"kind": "InvalidRoute"}, {"kind": "HTTPRoute"}], ["HTTPRoute"]),
    ([{"kind": "HTTPRoute"}], ["HTTPRoute"]),
])
def test_supported_kinds_are_those_that_both_know(kinds, supported):
    """GatewayInvalidRouteKind."""
    site = GatewaySite(gateway("web", listener(allowedRoutes={"kinds": kinds})))
    assert [each["kind"] for each in site.gateway()["listeners"][0]["supportedKinds"]] == supported


@rows(("given", "reason"), [
    ((listener("a"), listener("b")), "HostnameConflict"),
    ((listener("a"), listener("b", protocol="HTTPS", hostname="a.b", secret="tls")), "ProtocolConflict"),
    ((listener("a"), listener("b", protocol="TCP")), "ProtocolConflict"),
    ((listener("a"), listener("b", hostname="b.example.com")), ""),
])
def test_all_members_of_a_conflict_lose(given, reason):
    site = GatewaySite(gateway("web", *given))
    for each in given:
        expected = ("True", reason) if reason else ("False", "NoConflicts")
        assert site.listener(each["name"])["Conflicted"] == expected
    assert site.conditions()["Accepted"] == (("False", "ListenersNotValid") if reason else (OK, "Accepted"))


@rows(("name", "more", "wanted"), [
    ("section", {"parents": (parent("web", sectionName="none"),)}, ("False", "NoMatchingParent")),
    ("port", {"parents": (parent("web", port=81),)}, ("False", "NoMatchingParent")),
    ("hostname", {"hostnames": ("other.test",)}, ("False", "NoMatchingListenerHostname")),
    ("namespace", {"namespace": "app", "parents": (parent("web", namespace="infra"),)},
     ("False", "NotAllowedByListeners")),
    ("wildcard", {"hostnames": ("*.example.com",), "parents": (parent("web", sectionName="wild"),)},
     (OK, "Accepted")),
    ("wider", {"hostnames": ("*.com",), "parents": (parent("web", sectionName="wild"),)}, (OK, "Accepted")),
    ("below", {"hostnames": ("x.y.example.com",), "parents": (parent("web", sectionName="wild"),)},
     (OK, "Accepted")),
    ("apex", {"hostnames": ("example.com",), "parents": (parent("web", sectionName="wild"),)},
     ("False", "NoMatchingListenerHostname")),
])
def test_attachment(name, more, wanted):
    site = GatewaySite(gateway("web", listener(hostname="a.example.com"),
                               listener("wild", hostname="*.example.com")),
                       http_route(name, TO_V1, **more))
    assert site.route(name, more.get("namespace", "infra"))["Accepted"] == wanted
    counts = sum(each["attachedRoutes"] for each in site.gateway()["listeners"])
    assert counts == (wanted[0] == OK)


@rows(("labels", "operator", "values", "allowed"), [
    ({"team": "a"}, "In", ["a", "b"], True), ({"team": "c"}, "In", ["a", "b"], False),
    ({}, "NotIn", ["a"], True), ({"team": "a"}, "NotIn", ["a"], False), ({"team": "a"}, "Exists", [], True),
    ({}, "Exists", [], False), ({}, "DoesNotExist", [], True), ({}, "Unknown", [], False),
])
def test_namespaces_are_allowed_by_their_labels(labels, operator, values, allowed):
    """And no longer, once the labels change."""
    selector = {"matchExpressions": [{"key": "team", "operator": operator, "values": values}]}
    site = GatewaySite(
        gateway("web", listener(namespaces={"from": "Selector", "selector": selector})),
        {"kind": "Namespace", "metadata": {"name": "app", "labels": labels}},
        http_route("r", TO_V1, namespace="app", parents=(parent("web", namespace="infra"),)))
    assert site.route(namespace="app")["Accepted"][1] == ("Accepted" if allowed else "NotAllowedByListeners")


@rows(("given", "wanted"), [
    (backend("missing"), "BackendNotFound"), (backend("v1", 81), "BackendNotFound"),
    (backend("v1", kind="Other"), "InvalidKind"), (backend("v1", group="a.b"), "InvalidKind"),
    (backend("v1", namespace="app"), "RefNotPermitted"),
])
def test_a_backend_that_cannot_be_used_answers_500_to_its_share(given, wanted):
    site = GatewaySite(gateway("web"), http_route("r", rule(backend("v1", weight=3), given), rule(
        given, paths=("/all",))))
    assert site.route() == {"Accepted": (OK, "Accepted"), "ResolvedRefs": ("False", wanted)}
    served = site.served()
    assert served["*", 80, "segments", ""] == ("v1", "answer.500.250000")
    assert served["*", 80, "segments", "/all"] == ("", "answer.500.1000000")


def test_weights_of_backends_that_are_alike_add_up():
    site = GatewaySite(gateway("web", listener(hostname="a.test")), http_route("r", rule(
        backend("v1", weight=3), backend("v2", weight=5), backend("v1", weight=4), backend("v2", weight=0))))
    (route,) = (route for route in site.routes.values() if route.service)
    assert [(route.service, route.weight), *((each.service, each.weight) for each in route.alternates)] == [
        ("v1", 7), ("v2", 5)]


@rows(("source", "target", "wanted"), [
    (("HTTPRoute", "infra"), ("", "Service", ""), True), (("HTTPRoute", "infra"), ("", "Service", "v"), True),
    (("HTTPRoute", "infra"), ("", "Service", "x"), False), (("Gateway", "infra"), ("", "Service", ""), False),
    (("HTTPRoute", "other"), ("", "Service", ""), False),
    (("HTTPRoute", "infra"), ("a", "Service", ""), False),
    (("HTTPRoute", "infra"), ("", "Secret", ""), False),
])
def test_reference_grants(source, target, wanted):
    """HTTPRouteInvalidReferenceGrant; a grant that goes permits nothing any more."""
    site = GatewaySite(gateway("web"), http_route("r", rule(backend("v", namespace="app"))))
    site.services[Key("app", "v")] = site.services[Key("infra", "v1")]
    site.put(grant("g", "app", source, target), grant("wrong", "infra", source, target))
    assert (site.route()["ResolvedRefs"][1] == "ResolvedRefs") == wanted
    site.put({"kind": "ReferenceGrant", "metadata": {"namespace": "app", "name": "g"}, "spec": {}})
    assert site.route()["ResolvedRefs"] == ("False", "RefNotPermitted")


@rows(("given", "reason"), [
    (rule(backend("v1"), matches=[{"path": {"type": "RegularExpression", "value": "/a.*"}}]),
     "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"method": "CONNECT"}]), "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"headers": [{"name": "a", "value": "Tcl:[HTTP::uri]"}]}]),
     "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"headers": [{"name": "a", "value": "b.*", "type": "RegularExpression"}]}]),
     "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"headers": [{"name": "a", "value": " b"}]}]), "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"headers": [{"name": "a", "value": "b\r\nc: d"}]}]), "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"headers": [{"name": "a b", "value": "b"}]}]), "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"headers": [
        {"name": "a", "value": "b" * 4000}, {"name": "b", "value": "b" * 100}]}]), "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"queryParams": [{"name": "a", "value": "b%20c"}]}]), "UnsupportedValue"),
    (rule(backend("v1"), matches=[{"queryParams": [{"name": f"a{number}", "value": "b"}
                                                   for number in range(5)]}]), "UnsupportedValue"),
    (rule(backend("v1"), filters=({"type": "RequestMirror"},)), "UnsupportedValue"),
    (rule(filters=(redirect(path={"type": "Odd"}),)), "UnsupportedValue"),
    (rule(filters=(redirect(path=path_modifier(full="/a\r\nb: c")),)), "UnsupportedValue"),
    (rule(filters=(redirect(path=path_modifier(prefix="/b")),), exact=("/a",)), "IncompatibleFilters"),
    (rule(filters=(redirect(hostname="a.b"), response_headers(remove=["a"]))), "IncompatibleFilters"),
    (rule(backend("v1"), filters=(rewrite(path=path_modifier(full="/a?b")),)), "UnsupportedValue"),
    (rule(backend("v1"), filters=(rewrite(hostname="a b"),)), "UnsupportedValue"),
    (rule(filters=(rewrite(hostname="a.b"), redirect(hostname="c.d"))), "IncompatibleFilters"),
    (rule(backend("v1"), filters=(response_headers(set=[{"name": "Set-Cookie", "value": "a"}]),)),
     "UnsupportedValue"),
    (rule(backend("v1", filters=[headers(remove=["a"])]), backend("v2")), "UnsupportedValue"),
    (rule(backend("v1", filters=[rewrite(hostname="a.b")])), "UnsupportedValue"),
    (rule(backend("v1"), filters=({"type": "CORS"},)), "UnsupportedValue"),
    (rule(backend("v1"), filters=({"type": "ExtensionRef"},)), "UnsupportedValue"),
    (rule(backend("v1"), filters=(redirect(hostname="a.b"),)), "IncompatibleFilters"),
    (rule(backend("v1"), filters=(headers(remove=["a"]), headers(remove=["b"]))), "IncompatibleFilters"),
    (rule(backend("v1"), filters=(headers(set=[{"name": "Cookie", "value": "a"}]),)), "UnsupportedValue"),
    (rule(backend("v1"), timeouts={"request": "1s"}), "UnsupportedValue"),
    (rule(backend("v1", weight="1")), "UnsupportedValue"),
])
def test_what_cannot_be_served_is_refused_and_nothing_of_it_served(given, reason):
    site = GatewaySite(gateway("web"), http_route("r", rule(backend("v2"), paths=("/good",)), given))
    assert site.route()["Accepted"] == ("False", reason)
    assert site.served() == {("*", 80, "segments", ""): ("", "answer.404.1000000")}


def test_the_oldest_gateway_has_the_front_end_until_it_goes():
    site = GatewaySite(gateway("web", created="2026-01-02T00:00:00Z"), http_route("r", TO_V1),
                       gateway("old", created="2026-01-01T00:00:00Z"))
    assert site.conditions()["Programmed"] == ("False", "AddressNotAssigned")
    assert site.conditions("old")["Programmed"] == (OK, "Programmed")
    assert site.gateway()["listeners"][0]["attachedRoutes"] == 1
    site.put(gone=(("Gateway", "old"),))
    assert site.conditions()["Programmed"] == (OK, "Programmed")
    assert site.served()["*", 80, "segments", ""] == ("v1", "")


def test_no_older_gateway_takes_the_front_end_away():
    """Not even after a restart: the status says who has it."""
    web = gateway("web", created="2026-01-02T00:00:00Z")
    older = gateway("old", created="2026-01-01T00:00:00Z")
    site = GatewaySite(web, http_route("r", TO_V1))
    site.put(older)
    again = GatewaySite(web | {"status": site.gateway()}, older, http_route("r", TO_V1))
    for each in (site, again):
        assert each.conditions()["Programmed"] == (OK, "Programmed")
        assert each.conditions("old")["Programmed"] == ("False", "AddressNotAssigned")
        assert each.served()["*", 80, "segments", ""] == ("v1", "")
    again.put(gone=(("Gateway", "web"),))
    assert again.conditions("old")["Programmed"] == (OK, "Programmed")


def test_gateways_of_other_controllers_are_left_alone():
    site = GatewaySite(gateway_class("other", "example.com/other"), gateway("web", class_name="other"),
                       http_route("r", TO_V1))
    assert (site.source.evaluated, site.parents(), site.routes) == ({}, [], {})
    site.put(gateway_class("other"))
    assert site.route()["Accepted"] == (OK, "Accepted")


def test_an_admission_that_fails_is_shown_in_both():
    site = GatewaySite(gateway("web"), http_route("r", TO_V1, hostnames=("a.test",)))
    site.refused = {key: Problem("HostAlreadyClaimed", "taken") for key, route in site.routes.items()
                    if route.host == "a.test"}
    assert site.route()["Accepted"] == ("False", "HostAlreadyClaimed")
    assert site.gateway()["listeners"][0]["attachedRoutes"] == 0
    assert site.conditions()["Programmed"] == (OK, "Programmed")


def test_entries_of_others_stay_and_transitions_keep_their_time():
    site = GatewaySite(gateway("web"), http_route("r", TO_V1))
    other = {"controllerName": "example.com/other", "parentRef": {"name": "web"}, "conditions": []}
    (entry,) = site.parents()
    old = {**entry, "conditions": [{**each, "lastTransitionTime": "2020-01-01T00:00:00Z",
                                    "status": "True" if each["type"] == "Accepted" else "False"}
                                   for each in entry["conditions"]]}
    stale = {**old, "parentRef": {"name": "gone"}}
    kept, ours = site.parents(known={"parents": [other, old, stale]})
    assert kept == other
    times = {each["type"]: each["lastTransitionTime"][:4] for each in ours["conditions"]}
    assert times == {"Accepted": "2020", "ResolvedRefs": "2026"}
    assert conditions(ours["conditions"])["ResolvedRefs"] == (OK, "ResolvedRefs")


def test_a_selector_of_all_namespaces():
    site = GatewaySite(gateway("web", listener(namespaces=EVERYWHERE)),
                       http_route("r", TO_V1, namespace="app", parents=(parent("web", namespace="infra"),)))
    assert site.route(namespace="app")["Accepted"] == (OK, "Accepted")
