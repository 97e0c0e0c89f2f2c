"""Ingresses and IngressRoutes beside Routes: served where the cluster has them; none stops another."""

import pytest

from f5router.kube.api.connection import connect
from f5router.kube.settings import KubeSettings
from f5router.model.cluster import Key
from f5router.model.gateway import GATEWAY
from f5router.model.selection import Selection
from f5router.sources.settings import SourceSettings
from mocks.kube import FakeKube
from tests import gateways, manifests
from tests.manifests import delegate, forward, ingress_route
from tests.unit.kube import objects
from tests.unit.kube.conftest import Follower, lists
from tests.waiting import DEADLINE_S, until

ALL = SourceSettings()
CONTOUR = "contour.heptio.com"
INGRESS = (manifests.ingress_class(), manifests.ingress("site", ("www.example.com", "/a", "web", 8080)),
           *manifests.service("shop", "web"))


def hosts(follower: Follower) -> set[str]:
    return {route.host for route in follower.state["routes"].values()}


def namespace(name: str, **labels: str) -> dict:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def older(api: str) -> dict:
    """The Ingress in an older version."""
    path = {"path": "/a", "backend": {"serviceName": "web", "servicePort": "http"}}
    return INGRESS[1] | {"apiVersion": api, "spec": {
        "rules": [{"host": "www.example.com", "http": {"paths": [path]}}]}, "metadata": {
        "namespace": "shop", "name": "site", "annotations": {"kubernetes.io/ingress.class": "f5router"}}}


@pytest.mark.parametrize("api", ["networking.k8s.io/v1", "networking.k8s.io/v1beta1", "extensions/v1beta1"])
def test_versions_of_ingress(tmp_path, api):
    """The newest one that the cluster serves is read; nothing else that it lacks is missed."""
    with FakeKube(openshift=False, ingress_api=api, bookmark_s=0.2) as kube:
        kube.withdraw(CONTOUR)
        kube.write_kubeconfig(tmp_path / "config")
        kube.apply([*INGRESS[2:], *(INGRESS[:2] if api.endswith("/v1") else [older(api)])])
        follower = Follower(connect(KubeSettings(kubeconfig=str(tmp_path / "config"))), sources=ALL)
        follower.until(lambda: hosts(follower) == {"www.example.com"})
        (route,) = follower.state["routes"].values()
        assert (route.path, route.service, route.target_port) == ("/a", "web", "http")
        assert follower.cluster.problems() == follower.cluster.missing() == ()
        assert {entry.path for entry in lists(kube, "ingresses")} == {f"/apis/{api}/ingresses"}
        follower.cluster.stop()


def test_a_kind_that_comes_later(kube, follow):
    """Routes too: an operator may install them after the router."""
    kube.withdraw("route.openshift.io", CONTOUR)
    kube.apply([*INGRESS, objects.route("a", host="route.example.com")])
    follower = follow(sources=ALL, absent_s=0.01)
    follower.until(lambda: hosts(follower) == {"www.example.com"})
    assert follower.cluster.problems() == ()
    kube.serve("route.openshift.io")
    follower.until(lambda: len(hosts(follower)) == 2)


def test_unread_until_absence_is_settled(kube, follow):
    """An API server that starts may not serve a kind yet whose objects are on the BIG-IP."""
    kube.withdraw(CONTOUR, "route.openshift.io")
    follower = follow(sources=ALL, absent_s=1000)
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert follower.cluster.drain().whole().sources_unread == {"Route", "IngressRoute"}
    hasty = follow(sources=ALL, absent_s=0.01)
    until(lambda: hasty.cluster.drain().whole().sources_unread == {"Route"})


DELEGATING = (
    ingress_route("root", delegate("/", "child"), fqdn="c.example.com", tls={"secretName": "vault/given"}),
    ingress_route("child", delegate("/a", "grandchild"), delegate("/b", "child")),
    ingress_route("grandchild", forward("/a", "web")),
    ingress_route("own", forward("/", "web"), fqdn="d.example.com"))


@pytest.mark.parametrize(("resource", "unread", "undecided"), [
    ("ingresses", {"Ingress"}, set()), ("ingressroutes", {"IngressRoute"}, set()),
    ("ingressclasses", set(), {("Ingress", "site")}),
    ("tlscertificatedelegations", set(),
     {("IngressRoute", name) for name in ("root", "child", "grandchild")}),
])
def test_a_forbidden_kind_stops_no_other(kube, follow, resource, unread, undecided):
    """As after an update of the router without one of its rights."""
    by_annotation = older("networking.k8s.io/v1")["metadata"] | {"name": "old"}
    kube.apply([*INGRESS, INGRESS[1] | {"metadata": by_annotation, "spec": {"rules": []}}, *DELEGATING,
                objects.route("a", host="route.example.com")])
    kube.forbid(resource)
    follower = follow(sources=ALL)
    follower.until(lambda: "route.example.com" in hosts(follower))
    drained = follower.cluster.drain().whole()
    assert drained.sources_unread == unread
    assert drained.undecided == {(kind, Key("shop", name)) for kind, name in undecided}
    assert follower.cluster.missing() == ()
    (problem,) = follower.cluster.problems()
    assert resource in problem
    kube.allow(resource)
    until(lambda: not (drained := follower.cluster.drain().whole()).sources_unread and not drained.undecided
          and not follower.cluster.problems())


def test_a_source_that_is_switched_off(kube, follow):
    kube.apply([*INGRESS, objects.route("a", host="route.example.com")])
    follower = follow(sources=SourceSettings(("Route",)))
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert follower.cluster.drain().whole().sources_unread == frozenset()
    assert lists(kube, "ingresses") == lists(kube, "ingressroutes") == []
    other = follow(sources=SourceSettings(("Ingress",)))
    other.until(lambda: hosts(other) == {"www.example.com"})
    assert len(lists(kube, "routes")) == 1


@pytest.mark.parametrize("secrets", [True, False])
def test_secrets_of_ingresses(kube, follow, secrets):
    """They are read also where Routes may not name Secrets."""
    secured = manifests.ingress("secured", ("tls.example.com", "/", "web", 8080),
                                tls=((("tls.example.com",), "own"),))
    route = objects.route("a", tls={"termination": "edge", "externalCertificate": {"name": "theirs"}})
    kube.apply([*INGRESS, secured, route, objects.secret("own"), objects.secret("theirs")])
    follower = follow(sources=ALL, secrets=secrets)
    follower.until(lambda: len(follower.state["secrets"]) == 1 + secrets)
    assert Key("shop", "own") in follower.state["secrets"]
    asked = [entry.query.get("fieldSelector", "") for entry in lists(kube, "secrets")]
    assert ("metadata.name=theirs" in asked) == secrets


def test_selection(kube, follow):
    """Labels select Ingresses as they select Routes, and namespaces their virtual Routes."""
    labelled = manifests.ingress("labelled", ("label.example.com", "/", "web", 8080))
    labelled["metadata"]["labels"] = {"tier": "front"}
    kube.apply([*INGRESS, labelled, namespace("shop", zone="west")])
    follower = follow(sources=ALL, selection=Selection(labels="tier=front", namespace_labels="zone=west"))
    follower.until(lambda: hosts(follower) == {"label.example.com"})
    kube.apply(namespace("shop", zone="east"))
    follower.until(lambda: not hosts(follower))


def test_secrets_of_selected_roots(kube, follow):
    """A root whose Route nobody can make yet has its Secret read, if its namespace is selected."""
    for name, zone in (("shop", "west"), ("bank", "east")):
        kube.apply([namespace(name, zone=zone), manifests.ingress_route(
            "root", namespace=name, fqdn=f"{name}.example.com", tls={"secretName": f"of-{name}"})])
    kube.apply(objects.secret("of-shop"))
    follower = follow(sources=ALL, secrets=True, selection=Selection(namespace_labels="zone=west"))
    follower.until(lambda: Key("shop", "of-shop") in follower.state["secrets"])
    kube.apply(namespace("shop", zone="east"))
    follower.until(lambda: Key("shop", "of-shop") not in follower.state["secrets"])
    assert not [entry for entry in lists(kube, "secrets")
                if "of-bank" in entry.query.get("fieldSelector", "")]


def test_a_conversion_that_nobody_has_ended(kube, follow):
    """An error elsewhere leaves it: its Routes come with the next drain, and Secrets are followed."""
    kube.apply([*INGRESS[2:], INGRESS[0]])
    follower = follow(sources=ALL)
    follower.until(lambda: follower.state["services"])
    kube.apply(manifests.ingress("secured", ("tls.example.com", "/", "web", 8080),
                                 tls=((("tls.example.com",), "own"),)))
    until(follower.cluster.pending)
    left = follower.cluster.drain()
    assert left.objects.ingresses
    assert {route.host for route in follower.cluster.drain().whole().routes.values()} == {"tls.example.com"}
    until(lambda: [entry for entry in lists(kube, "secrets")
                   if "metadata.name=own" in entry.query.get("fieldSelector", "")])


def test_gateways_of_other_namespaces(tmp_path):
    """Whoever selects these answers for them: this router neither serves them nor writes their statuses."""
    with FakeKube(gateway_api="v1.6", bookmark_s=0.2) as kube:
        kube.write_kubeconfig(tmp_path / "config")
        kube.apply([gateways.gateway_class(), *(
            obj for name, zone in (("shop", "west"), ("bank", "east"))
            for obj in (namespace(name, zone=zone), gateways.gateway("web", namespace=name),
                        gateways.http_route("a", namespace=name)))])
        follower = Follower(connect(KubeSettings(kubeconfig=str(tmp_path / "config"))),
                            sources=SourceSettings((GATEWAY,)),
                            selection=Selection(namespace_labels="zone=west"))
        source = follower.cluster.objects(GATEWAY)
        follower.until(lambda: source.evaluated)
        assert set(source.evaluated) == {Key("shop", "web")}
        assert {subject.key for subject in source.routes} == {Key("shop", "a")}
        kube.apply(namespace("bank", zone="west"))
        follower.until(lambda: len(source.routes) == len(source.evaluated) == 2)
        kube.apply(namespace("shop", zone="east"))
        follower.until(lambda: set(source.evaluated) == {Key("bank", "web")})
        follower.cluster.stop()
