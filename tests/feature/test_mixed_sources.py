"""Routes, Ingresses and IngressRoutes of one cluster: restarts, lists that are empty by mistake, edits."""

import base64
import logging
from dataclasses import replace

import pytest

from f5router.kube.settings import WatchTiming
from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.builders import identity
from tests.feature.test_mass_delete import SUSPICIOUS, deletes, messages, told
from tests.waiting import until

SOURCES = "routes,ingress,ingressroutes"
MANY = 30
PAIR = identity("*.example.com", serial=71)


def secret() -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": "shop", "name": "pair"},
            "data": {f"tls.{name}": base64.b64encode(text.encode()).decode()
                     for name, text in (("crt", PAIR.certificate), ("key", PAIR.key))}}


def of_each_kind(number: int) -> list[dict]:
    """Return a Route, an Ingress and a root; every third with TLS, and one with a vertex of another team."""
    host, tls = f"{number}.example.com", number % 3 == 0
    vertex = [manifests.ingress_route(f"v{number}", manifests.forward("/v", "pay"), namespace="bank")]
    return [
        manifests.route(f"r{number}", host=f"r{host}", kind="edge" if tls else ""),
        manifests.ingress(f"i{number}", (f"i{host}", "/", "web", 8080),
                          (f"i{host}", "/x", "web", 8080, "Exact"),
                          tls=(((f"i{host}",), "pair"),) if tls else ()),
        manifests.ingress_route(f"c{number}", manifests.forward("/", "web"),
                                *([manifests.delegate("/v", f"v{number}", "bank")] if tls else ()),
                                fqdn=f"c{host}", tls={"secretName": "pair"} if tls else None),
        *(vertex if tls else ()),
    ]


def load(lab, count: int) -> None:
    lab.apply(secret(), manifests.ingress_class(), *manifests.service("bank", "pay", pods=("10.1.2.1",)),
              *(obj for number in range(count) for obj in of_each_kind(number)))


def rules(lab, marker: str) -> int:
    """Count the Rules of Ingresses (-i-) or IngressRoutes (-c-)."""
    return sum(marker in item.name for item in lab.bigip.items("ltm/policy/rules"))


def test_a_restart_writes_nothing(lab):
    load(lab, 6)
    assert lab.converge(sources=SOURCES) == []
    assert rules(lab, "-i-")
    assert rules(lab, "-c-")
    versions = {(obj["kind"], obj["metadata"]["name"]): obj["metadata"]["resourceVersion"]
                for kind in ("Ingress", "IngressRoute") for obj in lab.kube.list(kind)}
    lab.clear()
    assert lab.converge(sources=SOURCES) == []
    assert lab.writes() == []
    assert versions == {(obj["kind"], obj["metadata"]["name"]): obj["metadata"]["resourceVersion"]
                        for kind in ("Ingress", "IngressRoute") for obj in lab.kube.list(kind)}


@pytest.mark.parametrize(("kind", "marker"), [("Ingress", "-i-"), ("IngressRoute", "-c-")])
def test_a_wrong_empty_list_costs_nothing(lab, running, kind, marker, caplog):
    """Deletes of most of what serves wait for a second list, whatever kind a first list lacks."""
    lab.apply(manifests.ingress_class(), *(
        manifests.ingress(f"i{number}", (f"i{number}.com", "/", "web", 8080)) if kind == "Ingress" else
        manifests.ingress_route(f"c{number}", manifests.forward("/", "web"), fqdn=f"c{number}.com")
        for number in range(MANY)))
    assert lab.converge(sources=SOURCES) == []
    assert rules(lab, marker) == MANY
    lab.clear()
    lab.kube.inject("empty", path="/ingresses" if kind == "Ingress" else "/ingressroutes")
    router = running(sources=SOURCES)
    router.wait(lambda: told(caplog, "held-back deletes released"))
    assert len(told(caplog)) == 1
    assert (rules(lab, marker), deletes(lab)) == (MANY, [])


@pytest.mark.parametrize("resource", ["ingresses", "ingressclasses", "ingressroutes"])
def test_an_empty_list_gives_no_host_away(lab, running, resource, caplog):
    """A Route of another namespace stays refused while the owner of its Host is missing in one list."""
    caplog.set_level(logging.INFO)
    owner = (manifests.ingress_route("owner", manifests.forward("/", "web"), fqdn="a.com")
             if resource == "ingressroutes" else manifests.ingress("owner", ("a.com", "/", "web", 8080)))
    lab.apply(manifests.ingress_class(), owner, *manifests.service("bank", "pay", pods=("10.1.2.1",)),
              manifests.route("late", namespace="bank", host="a.com", service="pay",
                              created="2026-02-01T00:00:00Z"))
    lab.timing = replace(lab.timing, watch=WatchTiming(confirm_s=0.2))
    router = running(sources=SOURCES)
    router.wait(lambda: lab.admitted("bank", "late").get("status") == "False")
    version = lab.kube.get("Route", "bank", "late")["metadata"]["resourceVersion"]
    lab.clear()
    lab.kube.inject("empty", path=f"/{resource}")
    lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "newer"}})
    lab.kube.compact()
    lab.kube.inject("drop-watch")
    router.wait(lambda: (resource, 1) in messages(caplog, SUSPICIOUS, "kind", "missing"))
    router.wait(lambda: messages(caplog, "listed", "kind").count((resource,)) >= 2)
    lab.apply(manifests.route("next", host="next.com"))
    router.wait(lambda: lab.admitted("shop", "next").get("status") == "True")
    assert lab.kube.get("Route", "bank", "late")["metadata"]["resourceVersion"] == version
    assert "_shop_web" in decide(lab.bigip.store, "/Common/ose-vserver", Request("a.com", "/")).pool
    assert not [path for _, path in lab.writes() if "bank" in path]


@pytest.mark.parametrize("count", [5, 40])
def test_an_edit_below_a_root_is_a_few_writes(lab, count):
    """The same number whatever else the root delegates."""
    def vertex(number: int, service: str = "web") -> dict:
        return manifests.ingress_route(f"v{number}", manifests.forward(f"/{number}", service))

    lab.apply(*manifests.service("shop", "other", pods=("10.1.1.9",)), *map(vertex, range(count)),
              manifests.ingress_route("root", manifests.forward("/", "other"), *(
                  manifests.delegate(f"/{number}", f"v{number}") for number in range(count)),
                  fqdn="www.example.com"))
    router = lab.router(sources="ingressroutes")
    assert lab.converge(router) == []
    assert rules(lab, "-c-") == count + 1
    lab.clear()
    lab.apply(vertex(3, "other"))
    until(lambda: router.reconcile_once() and lab.writes())
    assert [(method, path.partition("/ltm/")[2].split("/")[0]) for method, path in lab.writes()] == [
        ("POST", "pool"), ("PATCH", "data-group"), ("PATCH", "policy"), ("PATCH", "policy"),
        ("POST", "policy"), ("PATCH", "data-group"), ("DELETE", "pool")]
