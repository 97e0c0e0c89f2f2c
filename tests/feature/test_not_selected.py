"""`f5router explain` of what the router leaves out, and of names that are nearly right, on both fakes."""

from contextlib import ExitStack

import pytest

from tests import manifests
from tests.builders import identity
from tests.feature.commands import SOURCES, invoke, labelled
from tests.feature.conftest import Lab

ONE = identity()


def of_class(obj: dict, name: str) -> dict:
    obj["metadata"].setdefault("annotations", {})["kubernetes.io/ingress.class"] = name
    return obj


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A router has written a Route and a wildcard; others are left out by settings that each test has."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("site"))
        lab.virtuals()
        wild = manifests.route("wild", host="any.wild.com")
        wild["spec"]["wildcardPolicy"] = "Subdomain"
        refused = manifests.route(
            "refused", host="refused.com", kind="edge", certificate=ONE.certificate, key=ONE.key)
        lab.bigip.inject("refuse", times=9, method="POST", path="file/ssl-cert", status=400,
                         message="01070712:3: the device does not like it")
        lab.apply(
            labelled({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, team="a"),
            *manifests.service("shop", "web", pods=("10.1.1.1",)),
            labelled(manifests.route("web"), shard="b"), wild, refused,
            manifests.route("other", namespace="bank", host="bank.com"),
            manifests.ingress_class(), manifests.ingress_class("nginx", controller="k8s.io/nginx"),
            manifests.ingress("site", ("i.com", "/", "web", 8080)),
            manifests.ingress("foreign", ("f.com", "/", "web", 8080), ingress_class="nginx"),
            manifests.ingress("misspelt", ("m.com", "/", "web", 8080), ingress_class="f5ruter"),
            manifests.ingress("classless", ("n.com", "/", "web", 8080), ingress_class=None),
            of_class(manifests.ingress("older", ("o.com", "/", "web", 8080), ingress_class=None), "haproxy"),
            manifests.ingress("empty"),
            manifests.ingress_route("tree", manifests.forward("/", "web"), fqdn="t.com"))
        router = lab.router(allow_wildcard_routes="true", sources=SOURCES)
        lab.converge(router)
        router.close()
        yield lab


def explain(site, kind: str, name: str, **flags: str) -> str:
    """Return the output for something that is not served."""
    result = invoke(site, "explain", kind, name, **flags)
    assert result.exit_code == 1, result.stdout
    return " ".join(result.stdout.split())


@pytest.mark.parametrize(("kind", "name", "flags", "text"), [
    ("route", "shop/web", {"labels": "shard=a"},
     "metadata.labels: shard=b: the label selector --labels 'shard=a' leaves it out"),
    ("route", "shop/wild", {"labels": "shard=a"}, "metadata.labels: none: the label selector"),
    ("ingress", "shop/site", {"labels": "shard=a"}, "metadata.labels: none: the label selector"),
    ("route", "shop/web", {"fields": "spec.host=b.com", "sources": "routes"},
     "the field selector --fields 'spec.host=b.com' leaves it out"),
    ("route", "shop/web", {"namespace_labels": "team=b"},
     "--namespace-labels 'team=b' leaves the namespace shop out: it has the labels "
     "kubernetes.io/metadata.name=shop, team=a"),
    ("route", "shop/web", {"sources": "ingress"}, "--sources does not name routes, so no Route is served"),
    ("ingress", "shop/site", {"sources": "routes"}, "--sources does not name ingress"),
    ("ingress", "shop/foreign", {}, "spec.ingressClassName is nginx: the IngressClass has spec.controller "
     "k8s.io/nginx; this router takes those with spec.controller f5router.io/ingress (--ingress-controller)"),
    ("ingress", "shop/misspelt", {},
     "spec.ingressClassName is f5ruter: there is no IngressClass f5ruter; did you mean f5router?;"),
    ("ingress", "shop/classless", {},
     "spec.ingressClassName is not set, and no IngressClass of this router is the default"),
    ("ingress", "shop/older", {}, "annotation kubernetes.io/ingress.class is haproxy: there is no "
     "IngressClass haproxy; this router takes"),
])
def test_the_setting_that_leaves_it_out(site, kind, name, flags, text):
    """With its value, and that of the object."""
    output = explain(site, kind, name, **flags)
    assert text in output
    assert f"{name}: NotSelected" in output
    assert output.endswith("to do: change the object, or the setting that the message names "
                           "(docs/findings.md#notselected)")


@pytest.mark.parametrize(("kind", "name", "text"), [
    ("route", "shop/nosuch", "Route shop/nosuch does not exist to do: correct the namespace or the name"),
    ("route", "shop/weeb", "Route shop/weeb does not exist; did you mean web?"),
    ("route", "shop/web,x=y", "Route shop/web,x=y does not exist"),
    ("route", "shop/site", "Route shop/site does not exist; an Ingress of this name does: see `f5router "
     "explain ingress shop/site`"),
    ("route", "shop/tree", "an IngressRoute of this name does: see `f5router explain ingressroute "
     "shop/tree`"),
    ("ingress", "shop/web", "Ingress shop/web does not exist; a Route of this name does"),
    ("service", "shop/wbe", "Service shop/wbe does not exist; did you mean web?"),
    ("host", "ww.example.com", "no Route of this router has it; did you mean www.example.com?"),
])
def test_names_that_are_nearly_right(site, kind, name, text):
    assert text in explain(site, kind, name)


def test_an_ingress_that_is_selected_and_becomes_no_route(site):
    output = explain(site, "ingress", "shop/empty")
    assert "spec: no rule or path of this Ingress can become a Route" in output


def test_a_router_of_another_namespace(site, monkeypatch):
    monkeypatch.setenv("ROUTER_NAMESPACE", "bank")
    text = "metadata.namespace: shop: the router serves only the namespace of --namespace, bank"
    assert text in explain(site, "route", "shop/web")


def test_ingress_classes_that_may_not_be_read(site):
    """The message is about them, and not about Ingresses."""
    site.kube.forbid("ingressclasses")
    try:
        output = explain(site, "ingress", "shop/foreign")
    finally:
        site.kube.allow("ingressclasses")
    assert "the router may not read ingressclasses, so it does not know whose the Ingress is: GET " in output
    assert "oc create clusterrole f5router-ingressclasses" in output


def test_a_route_that_is_newer_than_the_list(site):
    site.kube.inject("empty", method="list", path="/routes")
    output = explain(site, "route", "shop/web", sources="routes")
    assert "Route shop/web: NotYetRead" in output
    assert "to do: run the command again" in output


def test_an_ingress_that_cannot_be_decoded(site):
    broken = manifests.ingress("broken", ("b.com", "/", "web", 8080))
    broken["spec"]["tls"] = "all"
    site.kube.seed(broken)
    try:
        output = explain(site, "ingress", "shop/broken")
    finally:
        site.kube.delete("Ingress", "shop", "broken")
    assert "Ingress shop/broken: ExtendedValidationFailed" in output
    assert "shop/broken: spec.tls has a wrong type" in output


@pytest.mark.parametrize(("name", "route"), [
    ("www.example.com:443", "Route shop/web"), ("https://www.example.com/x?y", "Route shop/web"),
    ("WWW.Example.com.", "Route shop/web"), ("q.wild.com", "Route shop/wild"),
    ("*.wild.com", "Route shop/wild")])
def test_hosts(site, name, route):
    """As in a URL or a Host header, and below a wildcard."""
    result = invoke(site, "explain", "host", name, allow_wildcard_routes="true")
    assert (result.exit_code, result.stdout.partition(":")[0]) == (0, route)


def test_a_wildcard_is_for_one_label(site):
    explain(site, "host", "a.b.wild.com", allow_wildcard_routes="true")


def test_a_refusal_that_only_the_device_knows(site):
    """The words of the BIG-IP are in the status of the Route: nothing else has them."""
    assert site.admitted("shop", "refused")["reason"] == "DeviceRejected"
    output = explain(site, "route", "shop/refused")
    assert "Route shop/refused: device_rejected" in output
    assert "01070712:3: the device does not like it (as the router has reported since 20" in output
    assert "to do: change what the BIG-IP refuses" in output
