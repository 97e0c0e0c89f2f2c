"""ingresses.py: which Ingresses become Routes, and what an event costs."""

from dataclasses import replace

import pytest

from f5router.admission import host_claims
from f5router.kube.api import decode, decode_ingress
from f5router.model.cluster import Key
from f5router.model.delta import Delta
from f5router.sources.settings import SourceSettings
from f5router.sources.translator import Translator
from tests import builders, manifests

WEB = builders.service("web", ports=(("http", 80),))
SITE = Key("shop", "site")


class Cluster:
    """A Translator, and what it made of all Deltas."""

    def __init__(self):
        self.translator = Translator(SourceSettings())
        self.routes = {}
        self.apply(services={WEB.key: WEB})

    @property
    def ingresses(self):
        return self.translator.sources["Ingress"]

    def apply(self, **changes) -> dict:
        """Apply changes; returns those of Routes."""
        changed = dict(self.translator.apply(Delta(**changes)).routes)
        self.routes |= changed
        self.routes = {key: route for key, route in self.routes.items()
                       if route is not None and route.option_refusal != host_claims.REFUSAL}
        return changed

    def put(self, *objects: dict) -> dict:
        kinds = {"Ingress": ("ingresses", decode_ingress.ingress), "Route": ("routes", decode.route),
                 "IngressClass": ("ingress_classes", decode_ingress.ingress_class)}
        changes = {field: {} for field, _ in kinds.values()}
        for obj in objects:
            field, read = kinds[obj["kind"]]
            value = read(obj)
            changes[field][value.key] = value
        return self.apply(**changes)

    def hosts(self) -> set[str]:
        return {route.host for route in self.routes.values()}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def ingress(name: str = "site", path: str = "/", **more) -> dict:
    obj = manifests.ingress(name, (f"{name}.example.com", path, "web", 80), **more)
    obj["metadata"]["uid"] = f"uid-{name}"
    return obj


@pytest.mark.parametrize(("own", "default", "spec", "annotation", "served"), [
    pytest.param(True, False, "f5router", None, True, id="by spec.ingressClassName"),
    pytest.param(False, False, "f5router", None, False, id="a class of another controller"),
    pytest.param(None, False, "f5router", None, False, id="a class that does not exist"),
    pytest.param(None, False, None, "f5router", True, id="the older annotation needs no IngressClass"),
    pytest.param(None, False, None, "nginx", False, id="another annotation"),
    pytest.param(True, False, "f5router", "nginx", False, id="controller: the annotation goes before"),
    pytest.param(True, False, None, None, False, id="none, and no default class"),
    pytest.param(True, True, None, None, True, id="none, and a default class of ours"),
    pytest.param(False, True, None, None, False, id="none, and another default class"),
    pytest.param(True, True, "", "", True, id="empty ones are none"),
])
def test_classes(cluster, own, default, spec, annotation, served):
    """Whichever comes first, Ingress or IngressClass.

    Sources: Kubernetes, Concepts, Ingress, "Ingress class", "Default IngressClass" and "Deprecated
    annotation"; for rows that begin with it,
    controller is openshift/route-controller-manager,
    pkg/route/ingress/ingress.go.
    """
    controller = "f5router.io/ingress" if own else "k8s.io/ingress-nginx"
    classes = [] if own is None else [manifests.ingress_class(controller=controller, default=default)]
    annotations = {} if annotation is None else {"kubernetes.io/ingress.class": annotation}
    obj = ingress(ingress_class=None, annotations=annotations)
    if spec is not None:
        obj["spec"]["ingressClassName"] = spec
    cluster.put(obj)
    cluster.put(*classes)
    assert bool(cluster.hosts()) == served
    other = Cluster()
    other.put(*classes)
    other.put(obj)
    assert other.routes == cluster.routes


def test_a_class_that_goes(cluster):
    cluster.put(manifests.ingress_class(), ingress())
    assert cluster.hosts() == {"site.example.com"}
    cluster.apply(ingress_classes={Key("", "f5router"): None})
    assert not cluster.hosts()


def test_a_service_that_comes_and_goes(cluster):
    """An event costs the Ingresses that name the Service."""
    cluster.apply(services={WEB.key: None})
    cluster.put(manifests.ingress_class(), ingress(), ingress("b"))
    assert [problem.reason for problem in cluster.ingresses.condition(SITE)] == ["ServiceNotFound"]
    assert SITE in cluster.ingresses.take_changed()
    cluster.apply(services={WEB.key: WEB})
    assert len(cluster.routes) == 2
    assert cluster.ingresses.condition(SITE) == ()
    assert cluster.ingresses.take_changed() == {SITE, Key("shop", "b")}
    assert cluster.apply(services={Key("shop", "other"): builders.service("other")}) == {}
    assert cluster.apply(services={WEB.key: replace(WEB, cluster_ip="192.0.2.1")}) == {}
    changed = cluster.apply(services={WEB.key: builders.service("web", ports=(("renamed", 80),))})
    assert {route.target_port for route in changed.values()} == {"renamed"}


def test_an_ingress_that_changes_and_goes(cluster):
    first = cluster.put(manifests.ingress_class(), ingress(path="/a"))
    second = cluster.put(ingress(path="/b"))
    assert second.keys() > first.keys()
    assert [second[key] for key in first] == [None]
    assert list(cluster.apply(ingresses={SITE: None}).values()) == [None]
    assert not cluster.routes


def owned(name: str, *, namespace: str = "shop", controller: bool = True, path: str = "") -> dict:
    """A Route that OpenShift's controller made of the Ingress site."""
    route = manifests.route(name, namespace=namespace, host="site.example.com", path=path)
    route["metadata"]["ownerReferences"] = [
        {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "site", "uid": "uid-site",
         "controller": controller}]
    return route


@pytest.mark.parametrize(("route", "virtual"), [
    pytest.param(owned("site-x"), 0, id="its Route serves it"),
    pytest.param(owned("site-x", path="/"), 0, id="whatever it makes of the slash"),
    pytest.param(owned("site-x", path="/other"), 1, id="the Route of another path"),
    pytest.param(owned("site-x", controller=False), 1, id="another owner"),
    pytest.param(owned("site-x", namespace="evil"), 1, id="a Route of another namespace"),
])
def test_routes_of_openshift(cluster, route, virtual):
    """One Route for each Host and path; when the other one goes, the virtual one is there at once.

    Source: openshift/route-controller-manager, pkg/route/ingress/ingress.go, which takes Routes for its own
    of which the Ingress is the controller.
    """
    cluster.put(manifests.ingress_class(), ingress())
    cluster.put(route)
    assert len(cluster.routes) == 1 + virtual
    if not virtual:
        (problem,) = cluster.ingresses.condition(SITE)
        assert (problem.reason, "site-x" in problem.message) == ("ServedByRoute", True)
    cluster.apply(routes={Key(route["metadata"]["namespace"], "site-x"): None})
    (left,) = cluster.routes.values()
    assert left.origin.key == SITE
    assert cluster.ingresses.condition(SITE) == ()
