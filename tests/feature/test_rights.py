"""The role in docs/deploy is what the router needs; tests/e2e/test_deploy.py takes its rights away."""

import re

from mocks.kube import FakeKube
from tests import manifests
from tests.e2e import deployment
from tests.waiting import DEADLINE_S

OLD = "extensions"
"""API group of Ingresses in clusters without networking.k8s.io/v1."""
GATEWAY_API = "gateway.networking.k8s.io"
"""API group of what a router with virtual servers of its own lists: tests/traffic/test_gateway_demand.py."""
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
PATH = re.compile(r"/apis?/(?:(?P<group>[a-z0-9.]+\.[a-z0-9.]+)/)?v\w+/(?:namespaces/[^/]+/)?"
                  r"(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>\w+))?")


def used(kube: FakeKube) -> set[tuple[str, str, str]]:
    """API group, resource and verb of requests that the router sent; discovery is open to every account."""
    rights = set()
    for entry in kube.log:
        match = PATH.fullmatch(entry.path)
        if match is None:
            continue
        verb = VERBS.get(entry.method) or (
            "get" if match["name"] else "watch" if "watch" in entry.query else "list")
        resource = "/".join(filter(None, (match["resource"], match["sub"])))
        rights.add((match["group"] or "", resource, verb))
    return rights


def test_the_role_is_enough_and_not_more(lab):
    """List, watch, status, a conflict of it, Events, one of them twice; Endpoints too."""
    lab.apply(manifests.route("a"), manifests.route("broken", path="x"))
    lab.kube.inject("409", method="PATCH", path="status")
    lab.apply(manifests.ingress_class(), manifests.ingress("site", ("i.example.com", "/", "web", 8080)),
              *manifests.service("shop", "web"))
    lab.apply(manifests.ingress_route("root", fqdn="r.example.com"))
    router = lab.router(sources="routes,ingress,ingressroutes")
    assert lab.converge(router) == []
    lab.apply(manifests.route("broken"))
    lab.settle(router)
    lab.apply(manifests.route("broken", path="x"))
    lab.settle(router)
    assert router.reporter.events.flush(DEADLINE_S)
    lab.converge(watch_endpoints="true")
    granted = {right for name in ("f5router", "f5router-ingressroutes")
               for right in deployment.rights(name) if right[0] not in (OLD, GATEWAY_API)}
    assert lab.kube.wait_for(lambda: used(lab.kube) == granted), used(lab.kube) ^ granted
