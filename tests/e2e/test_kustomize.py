"""docs/kustomize: overlays of the files in docs/deploy, rendered by kubectl."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from mocks.kube import FakeKube
from tests.e2e import deployment
from tests.e2e.deployment import FOLDER
from tests.e2e.rendering import OVERLAYS, Objects, box_of, by_name, kustomized, variables
from tests.waiting import DEADLINE_S

NODES, SDN = ("ClusterRole", "f5router-nodes"), ("ClusterRoleBinding", "f5router-sdn-reader")
NODES_BINDING = ("ClusterRoleBinding", "f5router-nodes")
NETWORKS = {(kind, "f5router-pod-networks") for kind in ("ClusterRole", "ClusterRoleBinding")}
VXLAN = {"ROUTER_EXTERNAL_HOST_INTERNAL_ADDRESS": "10.3.89.213",
         "ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR": "10.131.0.5/14"}
ELECTION = {"ROUTER_LEADER_ELECT": "true", "ROUTER_LEADER_ELECT_RESOURCE_NAME": "f5router",
            "ROUTER_LEADER_ELECT_RESOURCE_NAMESPACE": "f5router"}


def files(*folders: str) -> Objects:
    """Objects of the files that the base and components name."""
    content = {FOLDER / name: yaml.safe_load((FOLDER / name / "kustomization.yaml").read_text())
               for name in ("", *folders)}
    paths = [folder / path for folder, named in content.items() for path in named["resources"]]
    generated = [config_map(folder, entry) for folder, named in content.items()
                 for entry in named.get("configMapGenerator", ())]
    return by_name([*(obj for path in paths for obj in yaml.safe_load_all(path.read_text())), *generated])


def config_map(folder: Path, entry: dict) -> dict:
    """Return the ConfigMap of a generator with files."""
    files = (text.split("=") for text in entry["files"])
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": entry["name"], "namespace": entry["namespace"],
                         "labels": entry["options"]["labels"]},
            "data": {name: (folder / path).read_text() for name, path in files}}


@pytest.mark.parametrize(("overlay", "removed", "more", "folders"), [
    ("vxlan", {NODES, NODES_BINDING, *NETWORKS}, VXLAN, ()),
    ("static-routes", {SDN}, {"ROUTER_F5_STATIC_ROUTES": "true"}, ()),
    ("node-ports", {SDN, *NETWORKS}, {"ROUTER_POOL_MEMBER_TYPE": "nodeport"}, ()),
    ("two-replicas", {SDN}, {"ROUTER_F5_STATIC_ROUTES": "true", **ELECTION},
     ("replicas", "monitoring", "network-policy")),
])
def test_an_overlay_is_the_files(overlay, removed, more, folders):
    """Nothing is a copy: an overlay removes rights that its network does not need, and adds settings."""
    objects, wanted = kustomized(overlay), files(*folders)
    assert objects.keys() == wanted.keys() - removed
    for key in objects.keys() - {("Deployment", "f5router")}:
        assert objects[key] == wanted[key], key
    box, plain = box_of(objects), deployment.container()
    assert variables(box) == variables(plain) | more
    assert {**box, "env": None} == {**plain, "env": None}
    spec = objects["Deployment", "f5router"]["spec"]
    strategy = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}, "type": "RollingUpdate"}
    assert (spec["replicas"], spec["strategy"]) == ((2, strategy) if folders else (1, {"type": "Recreate"}))


def test_selectors_find_the_pod_and_the_service():
    """The network policy, the budget and the scrape are for what is rendered beside them."""
    objects = kustomized("two-replicas")
    pod = objects["Deployment", "f5router"]["spec"]["template"]["metadata"]["labels"].items()
    service = objects["Service", "f5router-metrics"]
    policy, scrape = (objects[kind, "f5router"]["spec"] for kind in ("NetworkPolicy", "ServiceMonitor"))
    assert policy["podSelector"]["matchLabels"].items() <= pod
    assert scrape["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert {end["port"] for end in scrape["endpoints"]} <= {port["name"] for port in service["spec"]["ports"]}
    ports = {port["port"] for rule in policy["ingress"] for port in rule["ports"]}
    assert ports == {port["containerPort"] for port in box_of(objects)["ports"]}


@pytest.mark.parametrize("overlay", ["node-ports", "two-replicas"])
def test_an_overlay_is_applied(tmp_path, overlay):
    """By kubectl as docs/deploy/README.md has it, with the Prometheus operator; then all of it is there."""
    with FakeKube() as kube:
        kube.write_kubeconfig(tmp_path / "config")
        for command in ("apply", "diff"):
            done = subprocess.run(
                ["kubectl", command, "-k", OVERLAYS / overlay], capture_output=True, text=True,
                timeout=DEADLINE_S, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path),
                                         "KUBECONFIG": str(tmp_path / "config")})
            assert done.returncode == 0, done.stdout + done.stderr
        for (kind, name), obj in kustomized(overlay).items():
            assert kube.get(kind, obj["metadata"].get("namespace"), name), kind
