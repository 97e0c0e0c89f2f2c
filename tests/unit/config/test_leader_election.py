"""Settings of leader election."""

import re

import pytest
import yaml

from f5router.config import cluster_settings
from f5router.kube.settings import ElectionTiming, LeaseSettings
from tests.e2e.deployment import FOLDER, document
from tests.unit.config.loading import config, files, problems

ELECT, NAME, SPACE = (
    f"ROUTER_LEADER_ELECT{suffix}" for suffix in ("", "_RESOURCE_NAME", "_RESOURCE_NAMESPACE"))
ON = {ELECT: "true", SPACE: "routers"}
TIMES = [f"ROUTER_LEADER_ELECT_{name}" for name in ("LEASE_DURATION", "RENEW_DEADLINE", "RETRY_PERIOD")]


def test_values():
    assert config({ELECT: "", SPACE: "routers"}).lease is None
    assert config(ON).lease == LeaseSettings("f5router-public", "routers", ElectionTiming(15, 10, 2))
    chosen = config(ON | {NAME: "a"} | dict(zip(TIMES, ("4s", "3s", "500ms"), strict=True))).lease
    assert chosen == LeaseSettings("a", "routers", ElectionTiming(4, 3, 0.5))


def test_the_namespace_of_the_pod():
    def read(path: str) -> str:
        return "here\n" if path == cluster_settings.NAMESPACE_FILE else files()(path)

    assert config({ELECT: "true"}, read).lease.namespace == "here"


@pytest.mark.parametrize(("env", "named"), [
    ({ELECT: "true"}, [SPACE]),
    (ON | {SPACE: "a/b"}, [SPACE]),
    (ON | {NAME: "A"}, [NAME]),
    (ON | {"ROUTER_SERVICE_NAME": "a b"}, [NAME]),
    (ON | {TIMES[0]: "10s"}, TIMES[:2]),
    (ON | {TIMES[2]: "9s"}, TIMES[1:]),
    (ON | {TIMES[2]: "0"}, TIMES[1:]),
])
def test_what_cannot_work(env, named):
    (problem,) = problems(env)
    assert re.findall("ROUTER_LEADER_ELECT_[A-Z_]+", problem.partition(":")[0]) == named


def patch(name: str) -> dict:
    return yaml.safe_load((FOLDER / "replicas" / name).read_text())["spec"]


def test_manifests():
    """The first patch changes the pod alone, the second all else; their Lease is that of the rights."""
    elect, replicas = patch("20-elect.yaml"), patch("30-replicas.yaml")
    assert list(elect) == ["template"]
    assert replicas == {"replicas": 2, "strategy": {
        "type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}
    deployment = document("Deployment", "f5router")["spec"]
    (box,) = elect["template"]["spec"]["containers"]
    assert box["name"] == deployment["template"]["spec"]["containers"][0]["name"]
    settings = config({each["name"]: each["value"] for each in box["env"]})
    lease, role, binding, budget = yaml.safe_load_all((FOLDER / "replicas/10-lease.yaml").read_text())
    assert (settings.lease.name, settings.lease.namespace) == (
        lease["metadata"]["name"], lease["metadata"]["namespace"])
    verbs = {verb: rule.get("resourceNames") for rule in role["rules"] for verb in rule["verbs"]}
    assert verbs == {"get": [settings.lease.name], "update": [settings.lease.name], "create": None}
    assert {each["metadata"]["namespace"] for each in (lease, role, binding, budget)} == {"f5router"}
    assert binding["subjects"][0]["name"] == deployment["template"]["spec"]["serviceAccountName"]
    assert budget["spec"]["selector"] == deployment["selector"]
