"""The role and the deployment in docs/configuration.md are what the router needs."""

import re
from pathlib import Path

import yaml

from f5router import config
from mocks.kube import FakeKube
from tests import manifests

DOCS = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
PATH = re.compile(r"/apis?/(?:(?P<group>[a-z0-9.]+\.[a-z0-9.]+)/)?v\w+/(?:namespaces/[^/]+/)?"
                  r"(?P<resource>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>\w+))?")


def documented() -> list[dict]:
    """Every Kubernetes object of the page."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", DOCS.read_text(), re.MULTILINE | re.DOTALL)
    found = [obj for block in blocks for obj in yaml.safe_load_all(block)]
    return [obj for obj in found if "kind" in obj]


def granted() -> set[tuple[str, str, str]]:
    """API group, resource and verb of the documented role."""
    (role,) = (obj for obj in documented() if obj["kind"] == "ClusterRole")
    return {(group, resource, verb) for rule in role["rules"] for group in rule["apiGroups"]
            for resource in rule["resources"] for verb in rule["verbs"]}


def used(kube: FakeKube) -> set[tuple[str, str, str]]:
    """The same, of the requests that the router sent; discovery is open to every account."""
    found = set()
    for entry in kube.log:
        match = PATH.fullmatch(entry.path)
        if match is None:
            continue
        verb = VERBS.get(entry.method) or (
            "get" if match["name"] else "watch" if "watch" in entry.query else "list")
        resource = "/".join(filter(None, (match["resource"], match["sub"])))
        found.add((match["group"] or "", resource, verb))
    return found


def test_the_role_is_enough_and_not_more(lab):
    """List, watch, status by patch and by update, a conflict, Events, one of them twice; Endpoints too."""
    lab.apply(manifests.route("a"), manifests.route("broken", path="x"))
    lab.kube.inject("409", method="PATCH", path="status")
    router = lab.router()
    assert lab.converge(router) == []
    lab.apply(manifests.route("broken"))
    lab.settle(router)
    lab.apply(manifests.route("broken", path="x"))
    lab.settle(router)
    lab.kube.forbid("routes/status", ["patch"])
    lab.apply(manifests.route("b", host="b.com"))
    lab.settle(router)
    assert router._warnings.flush(10)
    lab.converge(watch_endpoints="true")
    assert lab.kube.wait_for(lambda: used(lab.kube) == granted()), used(lab.kube) ^ granted()


def test_the_deployment_starts():
    """Its variables are settings of the router, and its files are where the settings look for them."""
    objects = {obj["kind"]: obj for obj in documented()}
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    env = {item["name"]: item["value"] for item in container["env"]}
    mounts = {item["name"]: item["mountPath"] for item in container["volumeMounts"]}
    files = {f"{mounts['bigip-login']}/{name}": text
             for name, text in objects["Secret"]["stringData"].items()}
    del env["ROUTER_EXTERNAL_HOST_CA_BUNDLE"]
    found = config.load({}, env, lambda path: files[path])
    assert (found.bigip.host, found.bigip.username) == ("bigip.example.com", "f5router")
    assert (found.cert_upload, found.folder) == ("rest", "/Common")
    assert objects["Secret"]["metadata"]["name"] == pod["volumes"][0]["secret"]["secretName"]
    assert objects["ServiceAccount"]["metadata"]["name"] == pod["serviceAccountName"]
