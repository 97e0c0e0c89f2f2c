"""docs/kustomize and docs/helm as kubectl and Helm render them."""

import functools
import os
import subprocess
from pathlib import Path

import yaml

from f5router.config.options import OPTIONS
from tests.e2e.deployment import FOLDER
from tests.waiting import DEADLINE_S

ROOT = FOLDER.parents[1]
HELM = ROOT / ".venv" / "bin" / "helm"
"""Brought by `make test`, like the schemas."""
SCHEMAS = sorted((ROOT / ".venv" / "schemas").glob("*.json"))
CHART = ROOT / "docs" / "helm" / "f5router"
OVERLAYS = ROOT / "docs" / "kustomize"
VARIABLES = {option.env: option.name for option in OPTIONS.values() if option.env}

TWO_REPLICAS = {
    "args": {"f5_static_routes": True}, "leaderElection": {"enabled": True}, "replicaCount": 2,
    "serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True}, "networkPolicy": {"enabled": True}}
ONE_NAMESPACE = {"args": {"namespace": "shop", "sources": "routes, ingress", "f5_503_page": False}}
EVERYTHING = TWO_REPLICAS | {
    "image": {"repository": "registry.example.com/f5router", "tag": "1", "pullPolicy": "Always"},
    "imagePullSecrets": [{"name": "registry"}],
    "args": {"f5_internal_address": "10.3.89.213", "f5_vxlan_gateway_cidr": "10.131.0.5/14",
             "namespace": "shop", "hostname_template": '${name}.example.com "<&>"', "f5_http_vserver": "",
             "f5_timeout": 90, "status_rate": 0.5, "max_pool_members": 10_000},
    "bigip_secret": {"create": True, "url": "https://b.example.com", "username": "u", "password": "p: \"#"},
    "serviceAccount": {"annotations": {"a": "b"}},
    "ingressClass": {"isDefaultIngressController": True},
    "metricsLoginSecret": "f5router-stats", "metricsTLSSecret": "f5router-metrics-tls",
    "service": {"annotations": {"a": "b"}},
    "serviceMonitor": {"enabled": True, "labels": {"a": "b"}, "endpoint": {"scheme": "https"}},
    "runbooks": "https://docs.example.com/alerts.html",
    "networkPolicy": {"enabled": True, "from": [{"namespaceSelector": {}}], "ports": [443],
                      "to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]},
    "podAnnotations": {"a": "b"}, "podLabels": {"a": "b"}, "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}], "affinity": {"nodeAffinity": {}}, "priorityClassName": "high",
    "extraEnv": [{"name": "STATS_USERNAME", "value": "prometheus"}],
    "extraVolumes": [{"name": "pages", "configMap": {"name": "pages"}}],
    "extraVolumeMounts": [{"name": "pages", "mountPath": "/etc/pages", "readOnly": True}],
}
"""Every value of the chart but names, with another content than the default."""

Objects = dict[tuple[str, str], dict]
"""By kind and name."""


@functools.cache
def kustomized(overlay: str) -> Objects:
    """Objects of an overlay."""
    text = subprocess.run(["kubectl", "kustomize", OVERLAYS / overlay], check=True, capture_output=True,
                          text=True, timeout=DEADLINE_S).stdout
    return by_name(yaml.safe_load_all(text))


def helm(*arguments: str | Path, values: dict | None = None) -> subprocess.CompletedProcess[str]:
    """Run Helm with values as a file; its home is not used."""
    return subprocess.run(
        [HELM, *arguments, *(("--values", "-") if values is not None else ())],
        input=yaml.safe_dump(values), capture_output=True, text=True, timeout=DEADLINE_S,
        env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})


def charted(values: dict, release: str = "f5router", namespace: str = "f5router") -> Objects:
    """Objects of the chart; what several would share by kind and name is an error."""
    run = helm("template", release, CHART, "--namespace", namespace, values=values)
    assert run.returncode == 0, run.stderr
    objects = [obj for obj in yaml.safe_load_all(run.stdout) if obj]
    assert len(by_name(objects)) == len(objects)
    return by_name(objects)


def by_name(objects) -> Objects:
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in objects}


def box_of(objects: Objects, name: str = "f5router") -> dict:
    """The container of the Deployment."""
    (box,) = objects["Deployment", name]["spec"]["template"]["spec"]["containers"]
    return box


def variables(box: dict) -> dict[str, str]:
    return {item["name"]: item["value"] for item in box["env"]}


def settings(box: dict) -> dict[str, str]:
    """Settings by flag, from flags and variables alike, that are not the default; each stands once."""
    command, *flags = box["args"]
    assert command == "run"
    given = [(VARIABLES[name], text) for name, text in variables(box).items()]
    given += [(name.removeprefix("--"), text) for name, _, text in (flag.partition("=") for flag in flags)]
    assert len(dict(given)) == len(given), given
    return {name: text for name, text in given if text != OPTIONS[name].default}
