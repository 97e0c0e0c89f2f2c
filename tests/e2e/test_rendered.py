"""Objects that kubectl renders of docs/kustomize, and Helm of docs/helm: valid, and run as they are."""

import functools
import json
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from tests import manifests
from tests.e2e import deployment
from tests.e2e.rendering import (
    EVERYTHING,
    ONE_NAMESPACE,
    SCHEMAS,
    TWO_REPLICAS,
    Objects,
    box_of,
    by_name,
    charted,
    kustomized,
)
from tests.e2e.site import EDGE, Site
from tests.feature.sdn import MACS, fdb, sdn

WITHOUT_A_CLUSTER = {"PodDisruptionBudget", "NetworkPolicy", "ServiceMonitor", "PrometheusRule", "ConfigMap"}
"""Kinds that do nothing between the fakes."""
OPERATOR = {"ServiceMonitor", "PrometheusRule"}
"""Kinds of the Prometheus operator, which Kubernetes' schemas do not have; promtool reads the alerts."""


def problems(schema: dict, obj: dict) -> list[str]:
    """Return what a schema has against an object.

    The import takes a second and more, for grammars of addresses: only the process that runs these tests
    has to pay it.
    """
    import jsonschema

    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(obj)]


@functools.cache
def definitions(path: Path) -> dict[tuple[str, str], dict]:
    """Schemas by apiVersion and kind; each has all of them, for those that it refers to."""
    schema = json.loads(path.read_text())
    return {
        ("/".join(filter(None, (kind["group"], kind["version"]))), kind["kind"]): schema | {
            "$ref": f"#/$defs/{name}"}
        for name, definition in schema["$defs"].items()
        for kind in definition.get("x-kubernetes-group-version-kind", ())}


def test_the_schemas_refuse():
    """A field that does not exist, in the depth of a Deployment, and a value of another type."""
    assert len(SCHEMAS) == 2
    for path in SCHEMAS:
        schema = definitions(path)["apps/v1", "Deployment"]
        for change in ({"readOnlyy": True}, {"imagePullPolicy": 1}):
            obj = json.loads(json.dumps(deployment.document("Deployment", "f5router")))
            obj["spec"]["template"]["spec"]["containers"][0] |= change
            assert problems(schema, obj)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
@pytest.mark.parametrize("objects", [
    pytest.param(lambda: by_name(obj for path in deployment.FILES
                                 for obj in yaml.safe_load_all(path.read_text())), id="docs/deploy"),
    pytest.param(lambda: kustomized("vxlan"), id="vxlan"),
    pytest.param(lambda: kustomized("two-replicas"), id="two-replicas"),
    pytest.param(lambda: charted({}), id="chart"),
    pytest.param(lambda: charted(EVERYTHING), id="chart, every value"),
    pytest.param(lambda: charted(ONE_NAMESPACE), id="chart, one namespace"),
])
def test_a_cluster_accepts_it(objects, path):
    """By the schemas of the oldest and the newest Kubernetes that the package has; no unknown field."""
    for (kind, _), obj in objects().items():
        if kind not in OPERATOR:
            schema = definitions(path)[obj["apiVersion"], kind]
            assert problems(schema, obj) == []


def started(stack, folder, objects: Objects, vxlan: bool):
    """The pod, and the Site with what was rendered and two Routes."""
    site = Site(stack, folder)
    site.apply(*(obj for (kind, _), obj in objects.items() if kind not in WITHOUT_A_CLUSTER))
    site.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
               *manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("plain"),
               manifests.route("edge", host="edge.example.com", kind="edge",
                               certificate=EDGE.certificate, key=EDGE.key),
               manifests.ingress("site", ("i.example.com", "/", "web", 8080)))
    if vxlan:
        site.apply(manifests.sdn_reader())
        sdn(site)
    else:
        site.apply(manifests.node("n1", "10.3.89.1", cidrs=("10.128.0.0/23",)))
        site.bigip.put_object("net/self", {"name": "near", "partition": "Common",
                                           "address": "10.3.89.213/24", "vlan": "/Common/internal"})
    return site, site.start(box=box_of(objects))


@pytest.mark.parametrize(("objects", "vxlan", "static"), [
    pytest.param(lambda: kustomized("vxlan"), True, False, id="kustomize, vxlan"),
    pytest.param(lambda: kustomized("two-replicas"), False, True, id="kustomize, two replicas"),
    pytest.param(lambda: charted(TWO_REPLICAS), False, True, id="chart, two replicas"),
    pytest.param(lambda: charted(ONE_NAMESPACE), False, False, id="chart, one namespace"),
])
def test_the_router_runs_as_rendered(tmp_path, objects, vxlan, static):
    """With exactly these arguments, variables and rights: ready, and no request is refused."""
    with ExitStack() as stack:
        site, pod = started(stack, tmp_path, objects(), vxlan)
        pod.until(lambda: pod.get("/readyz").status_code == 200)
        pod.until(lambda: site.status("plain") == site.status("edge") == "True")
        pod.until(lambda: site.kube.get("Ingress", "shop", "site").get("status"))
        assert site.pool("edge.example.com", tls=True) == "/Common/openshift_shop_web"
        assert site.pool("i.example.com")
        if vxlan:
            assert fdb(site) == MACS
        if static:
            assert "/Common/openshift_pods_10.128.0.0_23" in site.paths("net/route")
            assert "leading" in pod.log
        assert {entry.status for entry in site.kube.log} <= {200, 201}
        assert site.bigip.errors == []
