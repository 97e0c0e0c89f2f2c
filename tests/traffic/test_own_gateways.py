"""Gateways with addresses of their own: each answers by itself, on the ports of its listeners."""

import base64
from contextlib import ExitStack

import pytest

from tests import manifests
from tests.builders import identity
from tests.gateways import (
    EVERYWHERE,
    backend,
    conditions,
    gateway,
    gateway_class,
    http_route,
    listener,
    parent,
    rule,
)
from tests.traffic import clients
from tests.traffic.conftest import Site

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway",
         "gateway_addresses": "10.9.0.0/28,small=10.8.0.1"}
ONE, TWO = identity("one.example.com"), identity("two.example.com")


def secret(name: str, pair) -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": "infra", "name": name},
            "data": {"tls.crt": base64.b64encode(pair.certificate.encode()).decode(),
                     "tls.key": base64.b64encode(pair.key.encode()).decode()}}


@pytest.fixture
def site(site_of) -> Site:
    whole = site_of(address="", gateway_api="v1.6")
    for number, name in enumerate(("a", "b", "c"), start=1):
        whole.serve(name, f"10.1.{number}.1", namespace="infra")
    whole.apply(gateway_class())
    return whole


def virtual(site: Site, name: str, port: int, scheme: str = "http") -> tuple[str, int]:
    return site.bigip.endpoint(f"/Common/openshift_{scheme}__{name}.{port}")


def service(seen) -> str:
    """Service of the pod that answers, or the status."""
    return seen.pod.get("pod", str(seen.status)).rpartition("-")[0] or str(seen.status)


def status(site: Site, name: str, namespace: str = "infra") -> dict:
    return (site.kube.get("Gateway", namespace, name) or {}).get("status") or {}


def programmed(site: Site, name: str, namespace: str = "infra") -> tuple[str, str]:
    return conditions(status(site, name, namespace).get("conditions", ())).get("Programmed", ("", ""))


def addresses(site: Site, name: str, namespace: str = "infra") -> list[str]:
    return [each["value"] for each in status(site, name, namespace).get("addresses", ())]


def destinations(site: Site) -> set[str]:
    return {item.fields["destination"].removeprefix("/Common/") for item in site.bigip.items("ltm/virtual")
            if item.fields.get("enabled")}


def test_gateways_answer_by_themselves(site):
    """Listeners of one port and hostname on three Gateways, and further ports, with two certificates."""
    site.apply(
        secret("one", ONE), secret("two", TWO),
        gateway("web", listener(), listener("more", 8080),
                listener("one", 8443, "HTTPS", hostname="one.example.com", secret="one"),
                listener("two", 8443, "HTTPS", hostname="two.example.com", secret="two")),
        gateway("second", created="2026-01-02T00:00:00Z"),
        gateway("own", addresses=[{"type": "IPAddress", "value": "203.0.113.10"}]),
        http_route("a", rule(backend("a")), parents=(parent("web"),)),
        http_route("m", rule(backend("b"), paths=("/more",)), parents=(parent("web", sectionName="more"),)),
        http_route("b", rule(backend("b")), parents=(parent("second"),)),
        http_route("c", rule(backend("c")), parents=(parent("own"),)))
    assert site.converge(**FLAGS) == []
    assert {name: addresses(site, name) for name in ("web", "second", "own")} == {
        "web": ["10.9.0.1"], "second": ["10.9.0.2"], "own": ["203.0.113.10"]}
    assert {programmed(site, name) for name in ("web", "second", "own")} == {("True", "Programmed")}
    assert destinations(site) == {"10.9.0.1:80", "10.9.0.1:8080", "10.9.0.1:8443", "10.9.0.2:80",
                                  "203.0.113.10:80", "203.0.113.10:443"}
    for name, port, path, answer in (
            ("infra.web", 80, "/", "a"), ("infra.web", 80, "/more", "a"), ("infra.web", 8080, "/more", "b"),
            ("infra.web", 8080, "/", "a"), ("infra.second", 80, "/", "b")):
        seen = clients.plain(virtual(site, name, port), "any.example.com", path)
        assert service(seen) == answer, (name, port, path)
    assert service(clients.plain(site.http, "any.example.com")) == "c"
    secure = virtual(site, "infra.web", 8443, "https")
    for host in ("one.example.com", "two.example.com"):
        seen = clients.python(secure, host)
        assert (service(seen), seen.certificate) == ("a", host)
    site.clear()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []


def test_gateways_come_and_go_while_the_router_runs(site):
    """Nothing answers before it is complete, and a Gateway that goes takes its virtual servers with it."""
    with ExitStack() as stack:
        running = site.run(**FLAGS)
        stack.callback(running.stop)
        site.apply(gateway("web", addresses=[{"type": "IPAddress", "value": "10.9.0.5"}]),
                   http_route("a", rule(backend("a")), parents=(parent("web"),)))
        running.wait(lambda: programmed(site, "web") == ("True", "Programmed"))
        assert service(clients.plain(virtual(site, "infra.web", 80), "x.example.com")) == "a"
        assert addresses(site, "web") == ["10.9.0.5"]
        site.apply(gateway("web", listener("http", 81),
                           addresses=[{"type": "IPAddress", "value": "10.9.0.6"}]))
        running.wait(lambda: addresses(site, "web") == ["10.9.0.6"] and "10.9.0.6:81" in destinations(site))
        assert service(clients.plain(virtual(site, "infra.web", 81), "x.example.com")) == "a"
        running.wait(lambda: "10.9.0.5:80" not in destinations(site))
        site.kube.delete("Gateway", "infra", "web")
        running.wait(lambda: not any(each.startswith("10.9.") for each in destinations(site)))
        running.wait(lambda: not [item for item in site.bigip.items("ltm/policy") if "__" in item.path])


def test_a_gateway_that_changes_its_address_is_not_programmed_before_it_has_moved(site):
    """Its virtual server is still in service, on the address that it had."""
    old, new = ([{"type": "IPAddress", "value": f"10.9.0.{number}"}] for number in (5, 6))
    seen = set()

    def has_moved() -> bool:
        seen.add((programmed(site, "web")[0], *addresses(site, "web")))
        return addresses(site, "web") == ["10.9.0.6"]

    with ExitStack() as stack:
        running = site.run(**FLAGS)
        stack.callback(running.stop)
        site.apply(gateway("web", addresses=old))
        running.wait(lambda: addresses(site, "web") == ["10.9.0.5"])
        site.bigip.inject("delay", times=None, path="/ltm/virtual/", method="PATCH", seconds=0.5)
        site.bigip.inject("delay", times=None, path="/ltm/virtual", method="POST", seconds=0.5)
        site.apply(gateway("web", addresses=new))
        running.wait(has_moved)
    assert ("True",) not in seen, "on no address, but programmed"


def test_what_a_gateway_may_not_have(site):
    """Told by its condition; the others are served."""
    site.apply(
        gateway_class("small"), gateway("web", addresses=[{"type": "IPAddress", "value": "10.9.0.1"}]),
        gateway("outside", addresses=[{"type": "IPAddress", "value": "10.7.0.1"}]),
        gateway("same", addresses=[{"type": "IPAddress", "value": "10.9.0.1"}],
                created="2026-01-02T00:00:00Z"),
        gateway("theirs", listener(port=81), namespace="shop", created="2026-01-02T00:00:00Z",
                addresses=[{"type": "IPAddress", "value": "10.9.0.1"}]),
        gateway("shared", listener(port=81), created="2026-01-02T00:00:00Z",
                addresses=[{"type": "IPAddress", "value": "10.9.0.1"}]),
        gateway("first", class_name="small"),
        gateway("late", class_name="small", created="2026-01-02T00:00:00Z"),
        http_route("a", rule(backend("a")), parents=(parent("web"), parent("same"), parent("shared"))))
    site.converge(**FLAGS)
    assert {name: programmed(site, name) for name in (
            "web", "outside", "same", "shared", "first", "late")} == {
        "web": ("True", "Programmed"), "outside": ("False", "AddressNotUsable"),
        "same": ("False", "AddressNotAssigned"), "shared": ("True", "Programmed"),
        "first": ("True", "Programmed"), "late": ("False", "AddressNotAssigned")}
    assert programmed(site, "theirs", "shop") == ("False", "AddressNotAssigned")
    assert addresses(site, "outside") == addresses(site, "late") == []
    assert destinations(site) == {"10.9.0.1:80", "10.9.0.1:81", "10.8.0.1:80", "203.0.113.10:80",
                                  "203.0.113.10:443"}
    assert service(clients.plain(virtual(site, "infra.shared", 81), "x.example.com")) == "a"


def test_an_address_that_the_bigip_refuses(site):
    """Its words are in the status; the Gateway beside it is served."""
    site.bigip.put_object("ltm/virtual", {
        "name": "another", "partition": "Common", "destination": "/Common/10.9.0.1:80", "ipProtocol": "tcp",
        "profiles": ["/Common/tcp"], "description": "another team"})
    site.apply(gateway("web"), gateway("second", created="2026-01-02T00:00:00Z"))
    site.converge(**FLAGS)
    assert programmed(site, "web") == ("False", "AddressNotUsable")
    message = next(each["message"] for each in status(site, "web")["conditions"]
                   if each["type"] == "Programmed")
    assert "illegally shares destination address" in message
    assert addresses(site, "web") == []
    assert programmed(site, "second") == ("True", "Programmed")


def test_an_address_stays_while_a_port_is_refused(site):
    """A listener that the BIG-IP refuses later takes nothing from the others: also not over a restart."""
    web = {"created": "2026-01-02T00:00:00Z"}
    site.apply(gateway("first"), gateway("web", **web),
               http_route("a", rule(backend("a")), parents=(parent("web"),)))
    assert site.converge(**FLAGS) == []
    assert addresses(site, "web") == ["10.9.0.2"]
    site.bigip.put_object("ltm/virtual", {
        "name": "another", "partition": "Common", "destination": "/Common/10.9.0.2:81", "ipProtocol": "tcp",
        "profiles": ["/Common/tcp"], "description": "another team"})
    site.apply(gateway("web", listener(), listener("more", 81), **web))
    site.kube.delete("Gateway", "infra", "first")
    for _ in range(2):
        site.converge(**FLAGS)
        assert programmed(site, "web") == ("False", "AddressNotUsable")
        assert addresses(site, "web") == ["10.9.0.2"]
        assert {"10.9.0.2:80"} == {each for each in destinations(site) if each.endswith(":80")} - {
            "203.0.113.10:80"}


def test_routes_of_the_cluster_do_not_meet_gateways(site):
    """A host on a Gateway with addresses of its own is nobody's elsewhere."""
    site.serve("web", "10.1.9.1")
    site.apply(manifests.route("r", host="x.example.com"), gateway("web", listener(namespaces=EVERYWHERE)),
               http_route("a", rule(backend("a")), parents=(parent("web"),), hostnames=("x.example.com",)))
    assert site.converge(**FLAGS) == []
    assert service(clients.plain(site.http, "x.example.com")) == "web"
    assert service(clients.plain(virtual(site, "infra.web", 80), "x.example.com")) == "a"


def test_what_answers_for_a_host_whose_pool_is_refused(site):
    """404, as for a host that nobody has; not the pods of an HTTPRoute for all hosts that comes later."""
    site.apply(gateway("web"), http_route("a", rule(backend("a")), hostnames=("a.example.com",)))
    site.bigip.inject("refuse", times=None, path="/ltm/pool$", method="POST", body="openshift_infra_a",
                      status=400, message="no")
    router = site.router(**FLAGS)
    site.converge(router)
    place = virtual(site, "infra.web", 80)
    assert service(clients.plain(place, "a.example.com")) == "404"
    site.apply(http_route("all", rule(backend("b"))))
    site.settle(router)
    assert service(clients.plain(place, "any.example.com")) == "b"
    assert service(clients.plain(place, "a.example.com")) == "503"


def test_clients_stay_with_no_pod(site):
    """No session cookie, whatever the router's default is: on no front end."""
    site.apply(gateway("web"), http_route("a", rule(backend("a"))),
               gateway("own", addresses=[{"type": "IPAddress", "value": "203.0.113.10"}]),
               http_route("b", rule(backend("b")), parents=(parent("own"),), hostnames=("b.example.com",)),
               manifests.route("c", namespace="infra", host="c.example.com", service="c"))
    assert site.converge(**FLAGS) == []
    for place, host, sets in ((virtual(site, "infra.web", 80), "b.example.com", False),
                              (site.http, "b.example.com", False), (site.http, "c.example.com", True)):
        seen = clients.plain(place, host)
        assert seen.status == 200
        assert ("set-cookie" in seen.headers) is sets, host


def test_without_a_front_end_of_the_router(site):
    """Gateways are all that is served."""
    flags = {"sources": "gateway", "gateway_addresses": "10.9.0.0/28", "f5_http_vserver": "",
             "f5_https_vserver": ""}
    site.apply(gateway("web"), http_route("a", rule(backend("a")), parents=(parent("web"),)))
    assert site.converge(**flags) == []
    assert destinations(site) == {"10.9.0.1:80"}
    assert service(clients.plain(virtual(site, "infra.web", 80), "x.example.com")) == "a"


def test_a_missing_right_changes_nothing(site):
    """Not even of a router that starts without it: all virtual servers stay, with what is on them."""
    site.apply(
        secret("one", ONE), gateway("web", listener(), listener(
            "one", 8443, "HTTPS", hostname="one.example.com", secret="one")),
        http_route("a", rule(backend("a")), parents=(parent("web"),)))
    assert site.converge(**FLAGS) == []
    before = destinations(site)
    for kind in ("gateways", "gatewayclasses", "httproutes", "tlsroutes", "referencegrants", "namespaces"):
        site.kube.forbid(kind)
        site.clear()
        site.converge(**FLAGS)
        assert (destinations(site), site.writes()) == (before, []), kind
        site.kube.allow(kind)
    assert service(clients.plain(virtual(site, "infra.web", 80), "x.example.com")) == "a"
    assert clients.python(virtual(site, "infra.web", 8443, "https"), "one.example.com").status == 200
    site.kube.delete("Gateway", "infra", "web")
    assert site.converge(**FLAGS) == []
    assert destinations(site) == {"203.0.113.10:80", "203.0.113.10:443"}


def test_an_address_goes_to_another_gateway(site):
    """Its virtual server goes first: no client of one comes to the pods of the other."""
    fixed = [{"type": "IPAddress", "value": "10.9.0.5"}]
    site.apply(gateway("web", addresses=fixed), http_route("a", rule(backend("a")), parents=(parent("web"),)),
               gateway("second", listener(port=81)),
               http_route("b", rule(backend("b")), parents=(parent("second"),)))
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    site.kube.delete("Gateway", "infra", "web")
    site.apply(gateway("second", addresses=fixed))
    site.settle(router)
    site.later()
    site.settle(router)
    assert destinations(site) == {"10.9.0.5:80", "203.0.113.10:80", "203.0.113.10:443"}
    assert service(clients.plain(virtual(site, "infra.second", 80), "x.example.com")) == "b"
    assert addresses(site, "second") == ["10.9.0.5"]


def test_a_port_gets_another_protocol(site):
    site.apply(secret("one", ONE), gateway("web", listener(port=443)),
               http_route("a", rule(backend("a")), parents=(parent("web"),)))
    router = site.router(**FLAGS)
    assert site.converge(router) == []
    site.apply(gateway("web", listener("http", 443, "HTTPS", hostname="one.example.com", secret="one")))
    site.settle(router)
    site.later()
    site.settle(router)
    assert service(clients.python(virtual(site, "infra.web", 443, "https"), "one.example.com")) == "a"
    assert not [item for item in site.bigip.items("ltm/virtual") if "openshift_http__" in item.path]
