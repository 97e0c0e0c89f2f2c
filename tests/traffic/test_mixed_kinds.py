"""Requests to hosts of Routes, Ingresses and IngressRoutes of one cluster, while these change."""

import base64
from contextlib import ExitStack

import pytest

from tests import manifests
from tests.builders import Identity, identity
from tests.manifests import delegate, forward, ingress_route
from tests.traffic import clients, load
from tests.traffic.conftest import PODS, Site
from tests.waiting import until

FLAGS = {"sources": "routes,ingress,ingressroutes"}
YOUNG = "2026-02-01T00:00:00Z"
OLD, NEW = identity("*.example.com", serial=61), identity("rotated.example.com", serial=62)
THEIRS = identity("given.example.com", serial=63)
TERMINATION = "route.openshift.io/termination"
SHARED = "shared.example.com"


def secret(name: str, pair: Identity, namespace: str = "shop") -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": namespace, "name": name},
            "data": {f"tls.{kind}": base64.b64encode(text.encode()).decode()
                     for kind, text in (("crt", pair.certificate), ("key", pair.key))}}


def delegation(*namespaces: str) -> dict:
    """Give the Secret of the namespace vault to others."""
    return {"apiVersion": "contour.heptio.com/v1beta1", "kind": "TLSCertificateDelegation",
            "metadata": {"namespace": "vault", "name": "given"},
            "spec": {"delegations": [{"secretName": "given", "targetNamespaces": list(namespaces)}]}}


def objects() -> list[dict]:
    """Return the objects of all tests; each has hosts of its own."""
    given = {"secretName": "vault/given"}
    return [
        manifests.ingress_class(), secret("pair", OLD), secret("given", THEIRS, "vault"), delegation("shop"),
        manifests.ingress("rotated", ("rotated.example.com", "/", "a", 8080),
                          tls=((("rotated.example.com",), "pair"),)),
        *(manifests.ingress(kind, (f"{kind}.example.com", "/", "tls", 8443), annotations={TERMINATION: kind})
          for kind in ("reencrypt", "passthrough")),
        manifests.ingress("default", ("default-backend.example.com", "/a", "a", 8080),
                          defaultBackend={"service": {"name": "b", "port": {"number": 8080}}}),
        ingress_route("given", forward("/", "a"), fqdn="given.example.com", tls=given),
        ingress_route("taken", forward("/", "pay"), fqdn="taken.example.com", tls=given, namespace="bank"),
        ingress_route("times", forward("/", "a", timeoutPolicy={"request": "900ms"}),
                      forward("/long", "a", timeoutPolicy={"request": "infinity"}), fqdn="times.example.com"),
        ingress_route("cookie", forward("/", {"name": "many", "port": 8080, "strategy": "Cookie"}),
                      forward("/least", {"name": "many", "port": 8080, "strategy": "WeightedLeastRequest"}),
                      forward("/any", "many"), fqdn="many.example.com"),
        ingress_route("whole", forward("/", "many"),
                      forward("/own", {"name": "many", "port": 8080, "strategy": "RoundRobin"}),
                      fqdn="whole.example.com", strategy="Cookie"),
        *shared(),
        # One host in two namespaces.
        manifests.route("first", host="r.example.com", service="a"),
        manifests.ingress("late", ("r.example.com", "/x", "pay", 8080), namespace="bank", created=YOUNG),
        manifests.ingress("first", ("i.example.com", "/", "a", 8080)),
        manifests.route("late", host="i.example.com", path="/x", service="pay", namespace="bank",
                        created=YOUNG),
        ingress_route("first", forward("/", "a"), fqdn="c.example.com"),
        ingress_route("late", forward("/x", "pay"), namespace="bank", fqdn="c.example.com", created=YOUNG),
        # A root that is older than that of the namespace that has the host.
        manifests.route("mine", host="both.example.com", path="/r", service="a"),
        ingress_route("both", forward("/", "pay"), delegate("/v", "vertex", "shop"), namespace="bank",
                      fqdn="both.example.com", created="2026-01-02T00:00:00Z"),
        ingress_route("both", forward("/", "b"), delegate("/v", "vertex"), fqdn="both.example.com",
                      created=YOUNG),
        ingress_route("vertex", forward("/v", "a")),
    ]


def shared() -> list[dict]:
    """Return one object of each kind for one host, each with a path and a Service of its own."""
    return [
        manifests.route("shared", host=SHARED, path="/route", service="a"),
        manifests.ingress("shared", (SHARED, "/ingress", "b", 8080)),
        ingress_route("shared", forward("/root", "many"), fqdn=SHARED),
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("site"))
        site.serve("a", "10.1.1.1")
        site.serve("b", "10.1.1.2")
        site.serve("many", "10.1.2.1", "10.1.2.2", "10.1.2.3")
        site.serve("pay", "10.1.3.1", namespace="bank")
        site.serve("tls", "10.1.4.1", port=8443, tls=PODS)
        site.apply(*objects())
        site.now = site.router(**FLAGS)
        assert site.converge(site.now) == []
        yield site
        assert site.faults() == []


def plain(site: Site, host: str, path: str = "/", **how) -> str:
    """Return the Service whose pod answers on port 80; "" for none."""
    return service(clients.plain(site.http, host, path, **how))


def service(reply: clients.Seen) -> str:
    return reply.pod.get("pod", "").rpartition("-")[0]


def status(site: Site, name: str, namespace: str = "shop") -> tuple[str, str]:
    written = site.kube.get("IngressRoute", namespace, name).get("status", {})
    return written.get("currentStatus", ""), written.get("description", "")


def reconciled(site: Site, holds) -> None:
    """Let the router go on until something holds."""
    until(lambda: site.now.reconcile_once() and holds())


@pytest.mark.parametrize("kind", ["reencrypt", "passthrough"])
def test_termination_of_an_ingress(site, kind):
    reply = clients.python(site.https, f"{kind}.example.com")
    assert service(reply) == "tls"
    assert reply.certificate == ("default.example.com" if kind == "reencrypt" else "pods.example.com")


def test_default_backend(site):
    host = "default-backend.example.com"
    assert [plain(site, host, path) for path in ("/a", "/a/x", "/", "/ab")] == ["a", "a", "b", "b"]
    assert plain(site, "nobody.example.com") == ""


def test_times_of_an_ingressroute(site):
    """A late answer is a reset; infinity waits longer than any."""
    assert clients.plain(site.http, "times.example.com", "/?delay=3600").status == 0
    assert plain(site, "times.example.com", "/long?delay=1.2") == "a"


def test_strategies(site):
    """Cookie keeps a client at its pod, on its own paths only; the others share out."""
    first = clients.plain(site.http, "many.example.com")
    cookie = first.headers["set-cookie"].partition(";")[0]
    again = {clients.plain(site.http, "many.example.com", headers=[f"Cookie: {cookie}"]).pod["pod"]
             for _ in range(6)}
    assert again == {first.pod["pod"]}
    for path in ("/any", "/least"):
        replies = [clients.plain(site.http, "many.example.com", path) for _ in range(6)]
        assert len({reply.pod["pod"] for reply in replies}) == 3
        assert not any("set-cookie" in reply.headers for reply in replies)
    modes = [pool.fields["loadBalancingMode"] for pool in site.bigip.items("ltm/pool")
             if "many" in pool.path]
    assert modes.count("least-connections-member") == 1
    assert "set-cookie" in clients.plain(site.http, "whole.example.com").headers
    assert "set-cookie" not in clients.plain(site.http, "whole.example.com", "/own").headers


def test_one_host_of_three_kinds(site):
    """Each path goes to its own pods, and whatever is deleted, the others stay."""
    paths = {"Route": ("/route", "a"), "Ingress": ("/ingress", "b"), "IngressRoute": ("/root", "many")}
    assert {kind: plain(site, SHARED, path) for kind, (path, _) in paths.items()} == {
        kind: name for kind, (_, name) in paths.items()}
    for obj in shared():
        gone, path = obj["kind"], paths[obj["kind"]][0]
        site.kube.delete(gone, "shop", "shared")
        reconciled(site, lambda path=path: not plain(site, SHARED, path))
        assert {kind for kind, (path, _) in paths.items() if plain(site, SHARED, path)} == {*paths} - {gone}
        site.apply(obj)
        reconciled(site, lambda path=path: plain(site, SHARED, path))


@pytest.mark.parametrize("host", ["r.example.com", "i.example.com", "c.example.com"])
def test_the_oldest_of_two_namespaces(site, host):
    """The namespace of the oldest object has all paths, whatever the kinds are."""
    for path in ("/", "/x"):
        assert plain(site, host, path) == "a"


def test_both_have_a_reason(site):
    """Neither names the other one."""
    def reasons(kind: str, namespace: str, name: str) -> set[str]:
        return {event["message"] for event in site.kube.list("Event") if event["involvedObject"] | {
            "kind": kind, "namespace": namespace, "name": name} == event["involvedObject"]}

    for winner, loser, host in (("Route", "Ingress", "r.example.com"), ("Ingress", "Route", "i.example.com"),
                                ("IngressRoute", "IngressRoute", "c.example.com")):
        article = "an" if winner.startswith("I") else "a"
        until(lambda loser=loser: reasons(loser, "bank", "late"))
        texts = reasons(loser, "bank", "late")
        assert [text.partition(": ")[2] for text in texts] == [
            f"{article} {winner.lower()} in another namespace holds {host} and is older than late"]
        until(lambda winner=winner: reasons(winner, "shop", "first"))
        assert reasons(winner, "shop", "first") == {
            f"another object claims {host}, too; this one is older and holds it"}


def test_a_root_that_has_lost_its_host(site):
    """It takes no other root out of service, nor a vertex, whose statuses stay."""
    assert [plain(site, "both.example.com", path) for path in ("/r", "/", "/v")] == ["a", "b", "a"]
    assert [status(site, *names)[0] for names in (("both",), ("vertex",), ("both", "bank"))] == [
        "valid", "valid", "invalid"]
    assert status(site, "both", "bank")[1] == (
        "spec.virtualhost.fqdn: a route in another namespace holds both.example.com and is older than both")


def test_a_new_certificate_of_an_ingress(site):
    """It is served without a restart, and no request fails meanwhile."""
    target = load.Target("rotated", site.https, "rotated.example.com", tls=True, right=site.right("a"))
    seen = lambda: clients.python(site.https, "rotated.example.com").certificate  # noqa: E731
    assert seen() == "*.example.com"
    with load.Load(target, clients=2) as clients_of:
        site.apply(secret("pair", NEW))
        reconciled(site, lambda: seen() == "rotated.example.com")
        until(clients_of.more(5))
    assert (clients_of.report.failed, clients_of.report.wrong) == ([], [])


def test_a_certificate_of_another_namespace(site):
    """Only who may have it shows it, and no longer than that: then the host is not served at all."""
    def seen(name: str) -> tuple[str, str]:
        reply = clients.python(site.https, f"{name}.example.com")
        return reply.certificate, service(reply)

    nothing = "default.example.com", ""
    assert (seen("given"), seen("taken")) == (("given.example.com", "a"), nothing)
    assert status(site, "taken", "bank") == (
        "invalid", 'Spec.VirtualHost.TLS Secret "vault/given" certificate delegation not permitted')
    site.apply(delegation("bank"))
    reconciled(site, lambda: seen("given") == nothing and seen("taken")[1] == "pay")
    until(lambda: status(site, "given")[0] == "invalid")
    assert plain(site, "given.example.com") == ""
    site.kube.delete("TLSCertificateDelegation", "vault", "given")
    reconciled(site, lambda: seen("taken") == nothing)
    reconciled(site, lambda: not [path for path in site.paths("sys/file/ssl-key")
                                  if THEIRS.key.strip() in site.content(path)])


