"""TCPRoutes on Gateways with addresses of their own: whose pod has a connection, and what resets it."""

import json
import socket
from collections import Counter

from tests.gateways import (
    backend,
    conditions,
    gateway,
    gateway_class,
    grant,
    http_route,
    listener,
    parent,
    rule,
    tcp_route,
)
from tests.rows import rows
from tests.traffic import clients
from tests.waiting import until

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway",
         "gateway_addresses": "10.9.0.0/28"}
TCP = listener("db", 5432, "TCP")
VIRTUAL = "/Common/openshift_tcp__infra.web.5432"
OBJECTS = (gateway_class(), gateway("web", TCP))
ROUTE = tcp_route("r", backend("one", 5432))


def site_with(site_of, *objects: dict, **options):
    options.setdefault("gateway_api", "v1.6")
    site = site_of(address="", **options)
    for number, name in enumerate(("one", "two", "http"), start=1):
        serve(site, name, f"10.1.{number}.1")
    serve(site, "theirs", "10.1.9.1", namespace="shop")
    site.apply(*objects)
    return site


def serve(site, name: str, *addresses: str, namespace: str = "infra") -> None:
    """A Service whose pods speak first, or HTTP."""
    port = 8080 if name == "http" else 5432
    site.serve(name, *addresses, namespace=namespace, port=port)
    for address in addresses if name != "http" else ():
        site.pod(address, name, namespace=namespace, port=port, raw=True, greeting=f"{name}\n".encode())


def service(site, virtual: str = VIRTUAL) -> str:
    """Name of the Service that a client without any first word hears of, or what becomes of it."""
    try:
        where = site.bigip.endpoint(virtual)
    except KeyError:
        return "refused"
    try:
        with socket.create_connection(where, timeout=20) as client:
            greeting = client.recv(100).decode().strip()
            client.sendall(b"x")
            assert json.loads(client.recv(1000).splitlines()[0])["pod"].rpartition("-")[0] == greeting
            return greeting
    except ConnectionError:
        return "reset"


def status(site, kind: str, name: str, namespace: str = "infra") -> dict:
    return (site.kube.get(kind, namespace, name) or {}).get("status") or {}


def of_route(site, name: str = "r", namespace: str = "infra") -> dict[str, tuple[str, str]]:
    parents = status(site, "TCPRoute", name, namespace).get("parents") or [{"conditions": []}]
    return conditions(parents[0]["conditions"])


def of_listener(site, name: str = "web") -> tuple[int, dict[str, tuple[str, str]]]:
    first = status(site, "Gateway", name)["listeners"][0]
    return first["attachedRoutes"], conditions(first["conditions"])


@rows("version", ["12.1.0", "14.1.2", "17.1.0"])
def test_its_connections_come_to_its_pods(site_of, version):
    """The pods may speak first. Without a route connections are reset."""
    site = site_with(site_of, *OBJECTS, tmos_version=version)
    assert site.converge(**FLAGS) == []
    assert service(site) == "reset"
    attached, of = of_listener(site)
    assert (attached, of["Programmed"]) == (0, ("True", "Programmed"))
    site.apply(ROUTE)
    assert site.converge(**FLAGS) == []
    assert (service(site), of_route(site)) == ("one", {
        "Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")})
    assert of_listener(site)[0] == 1
    assert site.bigip.attached_profiles(VIRTUAL) == [
        f"/Common/openshift_{side}-tcp-profile__infra.web.5432" for side in ("client", "server")]
    server = next(item for item in site.bigip.items("ltm/virtual") if item.path == VIRTUAL)
    assert not server.fields.get("policies")
    assert not server.fields.get("rules")
    site.clear()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []
    site.kube.delete("TCPRoute", "infra", "r")
    assert site.converge(**FLAGS) == []
    assert service(site) == "reset"
    site.kube.delete("Gateway", "infra", "web")
    assert site.converge(**FLAGS) == []
    assert service(site) == "refused"
    assert not [item.path for kind in ("ltm/virtual", "ltm/pool", "ltm/profile/tcp", "ltm/rule")
                for item in site.bigip.items(kind) if "infra" in item.path]


def test_the_oldest_route_of_a_listener_has_its_connections(site_of):
    """All of them are accepted, and counted; the next one follows when it goes."""
    site = site_with(site_of, *OBJECTS, ROUTE, tcp_route(
        "later", backend("two", 5432), created="2026-02-01T00:00:00Z"))
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    assert (service(site), of_listener(site)[0]) == ("one", 2)
    assert {of_route(site, name)["Accepted"] for name in ("r", "later")} == {("True", "Accepted")}
    site.kube.delete("TCPRoute", "infra", "r")
    site.settle(router)
    assert service(site) == "two"
    until(lambda: of_listener(site)[0] == 1)


def test_weights_and_shares(site_of):
    """The share of a Service that cannot be used is reset; all of it where there is no other."""
    site = site_with(site_of, *OBJECTS, tcp_route(
        "r", backend("one", 5432, weight=3), backend("two", 5432, weight=1)))
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    assert Counter(service(site) for _ in range(40)) == {"one": 30, "two": 10}
    site.apply(tcp_route("r", backend("one", 5432, weight=1), backend("missing", 5432, weight=1)))
    site.settle(router)
    until(lambda: of_route(site)["ResolvedRefs"] == ("False", "BackendNotFound"))
    seen = Counter(service(site) for _ in range(100))
    assert seen.keys() == {"one", "reset"}
    assert 20 < seen["one"] < 80
    for backends in ([backend("missing", 5432)], [backend("one", 5432, weight=0)]):
        site.apply(tcp_route("r", *backends))
        site.settle(router)
        assert {service(site) for _ in range(5)} == {"reset"}
    site.apply(ROUTE)
    site.settle(router)
    assert {service(site) for _ in range(20)} == {"one"}
    assert not [item for item in site.bigip.items("ltm/rule") if "share" in item.path]


def test_services_of_other_namespaces_need_a_grant(site_of):
    permitted = grant("g", "shop", ("TCPRoute", "infra"), ("", "Service", "theirs"))
    site = site_with(site_of, *OBJECTS, tcp_route("r", backend("theirs", 5432, namespace="shop")), permitted)
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    assert service(site) == "theirs"
    site.kube.delete("ReferenceGrant", "shop", "g")
    site.settle(router)
    until(lambda: of_route(site)["ResolvedRefs"] == ("False", "RefNotPermitted"))
    assert service(site) == "reset"
    site.apply(permitted, tcp_route(
        "r", backend("theirs", 5432, namespace="shop"), backend("one", 5432)))
    site.settle(router)
    assert Counter(service(site) for _ in range(20)) == {"one": 10, "theirs": 10}


@rows("release", ["v1.3", "v1.6"])
def test_each_version_is_read_and_has_a_status(site_of, release):
    version = {"v1.3": "v1alpha2", "v1.6": "v1"}[release]
    site = site_with(site_of, *OBJECTS, {**ROUTE, "apiVersion": f"gateway.networking.k8s.io/{version}"},
                     gateway_api=release)
    assert site.converge(**FLAGS) == []
    assert (service(site), of_route(site)["Accepted"]) == ("one", ("True", "Accepted"))


def test_the_front_end_of_the_router_has_no_port_for_it(site_of):
    site = site_with(site_of, gateway_class(), gateway("web", TCP, listener()), ROUTE, http_route(
        "h", rule(backend("http")), parents=(parent("web", sectionName="http"),)))
    assert site.converge(f5_vserver_address="203.0.113.10", sources="routes,gateway") == []
    assert of_listener(site)[1]["Accepted"] == ("False", "PortUnavailable")
    assert of_route(site)["Accepted"] == ("True", "Accepted")
    assert clients.plain(site.http, "x.example.com").status == 200


# --- what cannot be read -----------------------------------------------------------------


def http_too(site, listener_=TCP) -> None:
    """A Gateway with a listener for HTTP beside it, and its route."""
    site.apply(gateway("web", listener_, listener()), http_route(
        "h", rule(backend("http")), parents=(parent("web", sectionName="http"),)))


def answers(site) -> bool:
    return clients.plain(site.bigip.endpoint("/Common/openshift_http__infra.web.80"), "x.test").status == 200


def test_a_router_without_the_new_right_serves_all_others(site_of):
    """As one that was upgraded: HTTPRoutes come and go, and the listener tells what is missing."""
    site = site_with(site_of, *OBJECTS, ROUTE)
    http_too(site)
    site.kube.forbid("tcproutes")
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    assert answers(site)
    attached, of = of_listener(site)
    assert (attached, of["ResolvedRefs"], of["Programmed"]) == (0, ("Unknown", "Pending"), (
        "False", "Invalid"))
    assert conditions(status(site, "Gateway", "web")["conditions"])["Programmed"] == ("True", "Programmed")
    site.kube.delete("HTTPRoute", "infra", "h")
    site.settle(router)
    assert not answers(site)
    site.kube.allow("tcproutes")
    router.close()
    assert site.converge(**FLAGS) == []
    assert service(site) == "one"


def test_a_router_that_starts_without_the_right_keeps_what_is_served(site_of):
    """Also shares; a Gateway that is gone is served no more, whatever else is not known."""
    site = site_with(site_of, *OBJECTS, tcp_route("r", backend("one", 5432), backend("missing", 5432)))
    http_too(site)
    assert site.converge(**FLAGS) == []
    site.kube.forbid("tcproutes")
    site.clear()
    router = site.router(**FLAGS)
    site.converge(router)
    assert site.writes() == []
    assert "one" in {service(site) for _ in range(40)}
    serve(site, "one", "10.1.1.2")
    site.pods.stop("10.1.1.1", 5432)
    site.settle(router)
    assert {service(site) for _ in range(40)} == {"one", "reset"}
    site.kube.delete("Gateway", "infra", "web")
    site.settle(router)
    assert service(site) == "refused"


def test_a_right_that_is_taken_away_while_the_router_runs(site_of):
    site = site_with(site_of, *OBJECTS, ROUTE)
    http_too(site)
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    site.kube.forbid("tcproutes")
    serve(site, "one", "10.1.1.2")
    site.kube.delete("HTTPRoute", "infra", "h")
    site.settle(router)
    assert (service(site), answers(site)) == ("one", False)


def test_crds_that_come_later(site_of):
    """Without them a listener has no routes."""
    site = site_with(site_of, *OBJECTS, ROUTE)
    http_too(site)
    site.kube.withdraw("tcproutes.gateway.networking.k8s.io")
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    assert (service(site), answers(site), of_listener(site)[1]["Programmed"]) == (
        "reset", True, ("True", "Programmed"))
    router.close()
    site.kube.serve("tcproutes.gateway.networking.k8s.io")
    assert site.converge(**FLAGS) == []
    assert service(site) == "one"
    site.kube.withdraw("tcproutes.gateway.networking.k8s.io")
    assert site.converge(**FLAGS) == []
    assert service(site) == "reset"


# --- each write ----------------------------------------------------------------------------

STEPS = {
    "its Gateway comes": ((gateway_class(),), (gateway("web", TCP), ROUTE), "refused", "one"),
    "it comes": (OBJECTS, (ROUTE,), "reset", "one"),
    "another Service": ((*OBJECTS, ROUTE), (tcp_route("r", backend("two", 5432)),), "one", "two"),
    "another port": ((*OBJECTS, ROUTE), (gateway("web", listener("db", 5433, "TCP")),), "one", "refused"),
    "an older route": ((*OBJECTS, ROUTE), (
        tcp_route("old", backend("two", 5432), created="2025-01-01T00:00:00Z"),), "one", "two"),
}


@rows("step", list(STEPS))
def test_a_router_that_ends_at_any_write(site_of, step):
    """A client gets what it was or what it will be, or a reset; the next router goes on."""
    before, after, old, new = STEPS[step]
    site = site_with(site_of, *before)
    assert site.converge(**FLAGS) == []
    assert service(site) == old
    site.apply(*after)
    for _ in site.each_end(1, **FLAGS):
        assert service(site) in {old, new, "reset"}
        assert site.converge(**FLAGS) == []
        assert service(site) == new


def test_a_share_that_comes_and_goes_write_by_write(site_of):
    """No connection comes to another pod at any time."""
    site = site_with(site_of, *OBJECTS, ROUTE)
    assert site.converge(**FLAGS) == []
    broken = tcp_route("r", backend("two", 5432), backend("missing", 5432, weight=9))
    for obj, old, new in ((broken, "one", {"two", "reset"}), (ROUTE, "two", {"one"})):
        site.apply(obj)
        for _ in site.each_end(3, **FLAGS):
            assert {service(site) for _ in range(5)} <= {old, *new, "reset"}
            if (pool := next(item for item in site.bigip.items("ltm/virtual") if item.path == VIRTUAL)
                    .fields["pool"]).endswith("two_http"):
                assert pool
                assert "reset" in {service(site) for _ in range(40)}
            assert site.converge(**FLAGS) == []
            assert {service(site) for _ in range(5)} <= new


@rows("back", [False, True])
def test_a_port_that_gets_another_protocol(site_of, back):
    """A client of the one never comes to the pods of the other."""
    forms = [gateway("web", TCP), gateway("web", listener("db", 5432))]
    site = site_with(site_of, gateway_class(), forms[back], ROUTE, http_route("h", rule(backend("http"))))
    assert site.converge(**FLAGS) == []
    site.apply(forms[not back])
    http = VIRTUAL.replace("tcp", "http")
    for _ in site.each_end(5, **FLAGS):
        assert service(site) in ("one", "reset", "refused")
        assert site.converge(**FLAGS) == []
        assert service(site) == ("one" if back else "refused")
        assert back or clients.plain(site.bigip.endpoint(http), "x.example.com").status == 200


def test_what_a_change_costs(site_of):
    """Endpoints are one call; a route that comes to a listener is its pool, and the use of it."""
    site = site_with(site_of, *OBJECTS)
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    site.clear()
    site.apply(ROUTE)
    site.settle(router)
    virtual = VIRTUAL.replace("/", "~")
    assert site.writes() == [("POST", "/mgmt/tm/ltm/pool"), ("PATCH", f"/mgmt/tm/ltm/virtual/{virtual}")]
    site.clear()
    serve(site, "one", "10.1.1.1", "10.1.1.2")
    site.settle(router)
    assert [method for method, _ in site.writes()] == ["PATCH"]
    site.clear()
    site.kube.delete("TCPRoute", "infra", "r")
    site.settle(router)
    assert site.writes() == [("PATCH", f"/mgmt/tm/ltm/virtual/{virtual}"), (
        "DELETE", "/mgmt/tm/ltm/pool/~Common~openshift_infra_one_http")]


def test_settings_of_virtual_servers(site_of):
    """Settings that need no HTTP hold, and headers of the PROXY protocol are removed."""
    site = site_with(site_of, *OBJECTS, ROUTE)
    site.bigip.put_object("net/vlan", {"name": "outside", "partition": "Common"})
    site.bigip.put_object("ltm/rule", {"name": "theirs", "partition": "Common", "apiAnonymous":
                                       "when HTTP_REQUEST { HTTP::header remove x }"})
    flags = {**FLAGS, "f5_vserver_vlans": "/Common/outside", "f5_vserver_snat": "none",
             "max_connections": "9", "f5_irules": "/Common/theirs", "syslog_address": "10.9.9.9",
             "use_proxy_protocol": "true"}
    assert site.converge(**flags) == []
    fields = next(item for item in site.bigip.items("ltm/virtual") if item.path == VIRTUAL).fields
    assert (fields["vlans"], fields["connectionLimit"], fields["sourceAddressTranslation"]["type"]) == (
        ["/Common/outside"], 9, "none")
    assert fields["rules"] == ["/Common/openshift_proxy_irule__infra.web.5432"]
    site.bigip.dataplane.vlan = "/Common/outside"
    with socket.create_connection(site.bigip.endpoint(VIRTUAL), timeout=20) as client:
        client.sendall(b"PROXY TCP4 192.0.2.1 192.0.2.2 1000 5432\r\nhello")
        seen = b""
        while not seen.endswith(b"hello"):
            more = client.recv(1000)
            assert more, seen
            seen += more
    assert b"PROXY" not in seen


def test_the_next_route_of_another_namespace_is_refused(site_of):
    """Connections no longer come to the pods of one that is gone, whose clients are another namespace's."""
    everywhere = gateway("web", listener("db", 5432, "TCP", namespaces={"from": "All"}))
    site = site_with(site_of, gateway_class(), everywhere, ROUTE, tcp_route(
        "next", backend("theirs", 5432), namespace="shop", created="2026-02-01T00:00:00Z",
        parents=(parent("web", namespace="infra"),)))
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    assert service(site) == "one"
    site.bigip.inject("refuse", times=None, method="POST", path="/mgmt/tm/ltm/pool", message="no more pools")
    site.kube.delete("TCPRoute", "infra", "r")
    site.settle(router)
    assert service(site) == "reset"


def test_a_gateway_with_several_addresses(site_of):
    """Its connections, and the share that is reset, are the same on each."""
    both = [{"type": "IPAddress", "value": f"10.9.0.{number}"} for number in (1, 2)]
    site = site_with(site_of, gateway_class(), gateway("web", TCP, addresses=both), ROUTE)
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    assert [each["value"] for each in status(site, "Gateway", "web")["addresses"]] == ["10.9.0.1", "10.9.0.2"]
    assert [service(site, virtual) for virtual in (VIRTUAL, f"{VIRTUAL}_2")] == ["one", "one"]
    site.apply(tcp_route("r", backend("two", 5432), backend("missing", 5432, weight=3)))
    site.settle(router)
    for virtual in (VIRTUAL, f"{VIRTUAL}_2"):
        assert {service(site, virtual) for _ in range(40)} == {"two", "reset"}
    router.close()
    site.kube.forbid("tcproutes")
    site.clear()
    site.converge(**FLAGS)
    assert site.writes() == []
