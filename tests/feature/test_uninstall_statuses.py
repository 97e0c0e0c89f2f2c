"""f5router uninstall: the router's statuses of Ingresses and IngressRoutes go, those of others stay."""

import pytest

from tests import manifests
from tests.feature.test_uninstall import reasons, run
from tests.waiting import until

SOURCES = "routes,ingress,ingressroutes"
OURS, THEIRS = {"hostname": "router.example.com"}, {"hostname": "theirs.example.com"}
FLAGS = {"sources": SOURCES, "router_canonical_hostname": "router.example.com"}
VALID = {"currentStatus": "valid", "description": "valid IngressRoute"}


def ingress(name: str, *entries: dict, **more) -> dict:
    manifest = manifests.ingress(name, (f"{name}.example.com", "/", "web", 8080), **more)
    return manifest | {"status": {"loadBalancer": {"ingress": list(entries)}}}


def ingress_route(name: str, *, ingress_class: str = "", **status: str) -> dict:
    manifest = manifests.ingress_route(name, manifests.forward("/", "web"), fqdn=f"{name}.com")
    if ingress_class:
        manifest["metadata"]["annotations"] = {"contour.heptio.com/ingress.class": ingress_class}
    return manifest | {"status": status or VALID}


def statuses(lab) -> dict[str, object]:
    """Return the status of each Ingress and IngressRoute that has any."""
    by_name = {f"{obj['metadata']['namespace']}/{obj['metadata']['name']}": obj.get("status") or {}
             for kind in ("Ingress", "IngressRoute") for obj in lab.kube.list(kind)}
    shown = {name: status["loadBalancer"].get("ingress") if "loadBalancer" in status else status
             for name, status in by_name.items()}
    return {name: status for name, status in shown.items() if status}


def patches(lab) -> list:
    return [entry for entry in lab.kube.log if entry.method in ("PATCH", "PUT")]


@pytest.fixture
def cluster(lab):
    """Statuses of ours and of others."""
    lab.apply(manifests.ingress_class(), *manifests.service("shop", "web", pods=("10.1.1.1",)),
              ingress("site", OURS), ingress("edited", OURS, THEIRS), ingress("moved", THEIRS),
              ingress("foreign", OURS, ingress_class="other"), ingress("none"),
              ingress("bank", OURS, namespace="bank"),
              ingress_route("root"), ingress_route("contours", ingress_class="theirs"),
              ingress_route("more", surplus="stays", **VALID))
    return lab


STAY = {"shop/edited": [OURS, THEIRS], "shop/moved": [THEIRS], "shop/foreign": [OURS],
        "shop/contours": VALID, "shop/more": {"surplus": "stays"}}


def test_what_a_router_wrote(lab, capsys):
    """The addresses of its virtual servers, and what it makes of an IngressRoute."""
    lab.apply(manifests.ingress_class(), *manifests.service("shop", "web", pods=("10.1.1.1",)),
              manifests.ingress("site", ("site.example.com", "/", "web", 8080)),
              manifests.ingress_route("root", manifests.forward("/", "web"), fqdn="root.com"))
    router = lab.router(sources=SOURCES)
    assert lab.converge(router) == []
    until(lambda: set(statuses(lab)) == {"shop/site", "shop/root"})
    router.close()
    assert run(lab, sources=SOURCES) == 0
    assert statuses(lab) == {}
    assert "Ingress: 1 had a status of this router, 1 are cleared" in capsys.readouterr().out


def test_what_others_wrote_stays(cluster, capsys):
    """First a list, which changes nothing; another run finds nothing, and writes nothing."""
    before = statuses(cluster)
    assert run(cluster, dry_run=True, **FLAGS) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("Ingress")] == [
        "Ingress\tbank/bank\trouter.example.com", "Ingress\tshop/site\trouter.example.com",
        "Ingress: 2 have a status of this router; nothing is changed",
        "IngressRoute\tshop/more\tvalid", "IngressRoute\tshop/root\tvalid",
        "IngressRoute: 2 have a status of this router; nothing is changed"]
    assert patches(cluster) == []
    assert statuses(cluster) == before
    assert run(cluster, **FLAGS) == 0
    assert statuses(cluster) == STAY
    written = len(patches(cluster))
    assert run(cluster, **FLAGS) == 0
    assert len(patches(cluster)) == written


def test_only_where_the_router_serves(cluster):
    """The namespaces that it selects; kinds that it does not serve, or the cluster has not, cost nothing."""
    before = statuses(cluster)
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
                  {"apiVersion": "v1", "kind": "Namespace",
                   "metadata": {"name": "bank", "labels": {"shard": "blue"}}})
    cluster.kube.clear_log()
    assert run(cluster, **FLAGS | {"sources": "routes"}) == 0
    assert not any("ingress" in entry.path for entry in cluster.kube.log)
    assert run(cluster, namespace_labels="shard=blue", **FLAGS) == 0
    del before["bank/bank"]
    assert statuses(cluster) == before
    groups = "contour.heptio.com", "networking.k8s.io", "route.openshift.io"
    cluster.kube.withdraw(*groups)
    assert run(cluster, **FLAGS) == 0
    cluster.kube.serve(*groups)
    assert statuses(cluster) == before


def test_below_roots_of_other_namespaces(lab):
    """A root's namespace decides, as for the router that runs; what another root reaches too is left."""
    def space(name: str, shard: str) -> dict:
        metadata = {"name": name, "labels": {"shard": shard}}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}

    def child(name: str, namespace: str = "parts") -> dict:
        return manifests.ingress_route(name, manifests.forward("/", "web"), namespace=namespace)

    def root(namespace: str, *names: str) -> dict:
        entries = [manifests.delegate(f"/{name}", name, "parts") for name in names]
        return manifests.ingress_route("root", *entries, namespace=namespace, fqdn=f"{namespace}.com")

    lab.apply(space("blue", "blue"), space("parts", "none"), space("red", "red"),
              *(obj | {"status": VALID} for obj in (
                  root("blue", "a", "both"), root("red", "b", "both"), child("a"), child("b"), child("both"),
                  child("orphan", "blue"), child("stray"))))
    assert run(lab, namespace_labels="shard=blue", **FLAGS) == 0
    assert set(statuses(lab)) == {"red/root", "parts/b", "parts/both", "parts/stray"}


def test_refusals(cluster, caplog):
    """A conflict is tried again. A right that is missing is named with the command that grants it."""
    for resource in ("ingresses", "ingressroutes"):
        cluster.kube.forbid(resource, ["list"])
    assert run(cluster, **FLAGS) == 0
    assert sum("grant it with" in getattr(record, "error", "") for record in caplog.records) == 2
    for resource in ("ingresses", "ingressroutes"):
        cluster.kube.allow(resource)
    before = statuses(cluster)
    caplog.clear()
    cluster.kube.forbid("ingresses/status", ["patch"])
    cluster.kube.forbid("ingressroutes", ["patch"])
    assert run(cluster, **FLAGS) == 1
    assert sum("grant it with" in getattr(record, "error", "") for record in caplog.records) == 2
    assert reasons(caplog).strip() == "statuses are left"
    assert statuses(cluster) == before
    cluster.kube.allow("ingresses/status")
    cluster.kube.allow("ingressroutes")
    cluster.kube.inject("409", method="PATCH", path="/site/status", times=2)
    cluster.kube.inject("422", method="PATCH", path="/ingressroutes/root")
    assert run(cluster, **FLAGS) == 1
    assert statuses(cluster) == STAY | {"shop/root": VALID}
    assert [record.object for record in caplog.records if record.message == "status refused"] == ["shop/root"]
    assert run(cluster, **FLAGS) == 0
    assert statuses(cluster) == STAY
