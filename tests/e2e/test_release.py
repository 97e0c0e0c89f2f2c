"""The way of a new administrator by Helm: from the chart to a served Route, a broken one, and two replicas.

Helm is the real one. Nothing rolls a Deployment out here, so `--wait` is left out.
"""

import os
import subprocess
from contextlib import ExitStack

import pytest
import requests
from click.testing import CliRunner

from f5router.cli.main import main
from tests import manifests
from tests.e2e.deployment import FOLDER
from tests.e2e.pages import blocks
from tests.e2e.rendering import CHART, HELM, ROOT, helm
from tests.e2e.site import Site
from tests.waiting import DEADLINE_S

PODS = {"hello-1": "10.128.0.11", "hello-2": "10.128.0.12"}
INSTALL, UPGRADE = (block.text for block in blocks("helm/f5router/README.md") if block.language == "sh")
FIRST, SECOND = UPGRADE.replace(" --wait", "").splitlines()
HOST = "hello.example.com"


class Release(Site):
    """Both fakes, the BIG-IP with traffic, and an administrator with Helm."""

    def __init__(self, stack, folder):
        super().__init__(stack, folder, dataplane=True)
        for name in ("f5router", "hello"):
            self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        self.apply(manifests.node("n1", "10.3.89.1", cidrs=("10.128.0.0/23",)))
        self.bigip.put_object("net/self", {"name": "near", "partition": "Common", "address": "10.3.89.213/24",
                                           "vlan": "/Common/internal"})
        self._home = folder

    def type(self, text: str) -> subprocess.CompletedProcess[str]:
        """Type a command, in the root of the repository."""
        environment = {"PATH": f"{HELM.parent}:{os.environ['PATH']}", "HOME": str(self._home),
                       "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run(["bash", "-c", text], cwd=ROOT, env=environment, capture_output=True, text=True,
                              timeout=DEADLINE_S)

    def deployment(self) -> dict:
        return self.kube.get("Deployment", "f5router", "f5router")

    def rolled_out(self, replicas: int) -> None:
        """Do what the cluster does with the Deployment."""
        obj = self.deployment()
        obj["status"] = {"observedGeneration": obj["metadata"]["generation"], **dict.fromkeys(
            ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas)}
        self.apply(obj)

    def answer(self) -> requests.Response:
        """Ask for the Route as a client does."""
        address, port = self.bigip.endpoint("/Common/ose-vserver")
        with requests.Session() as session:
            session.trust_env = False
            return session.get(f"http://{address}:{port}/", headers={"Host": HOST}, timeout=DEADLINE_S)

    def explain(self) -> tuple[str, int]:
        """Ask why the Route is, or is not, served."""
        flags = self.flags(name="f5router")
        result = CliRunner().invoke(main, ["explain", "route", "hello/hello", *(
            f"--{name}={value}" for name, value in flags.items())])
        return result.stdout, result.exit_code


@pytest.fixture
def release(tmp_path):
    with ExitStack() as stack:
        yield Release(stack, tmp_path)


def test_from_the_chart_to_a_route_and_to_its_fault(release):
    """Installed, served with traffic; then without pods: the cause by `explain`, and on the status page."""
    installed = release.type(INSTALL)
    assert installed.returncode == 0, installed.stderr
    assert "kubectl rollout status deployment/f5router" in installed.stdout
    pod = release.start(workload=release.deployment())
    pod.until(lambda: pod.get("/readyz").status_code == 200)

    example = release.type(f"kubectl apply -n hello -f {FOLDER / 'example.yaml'}")
    assert example.returncode == 0, example.stderr
    for name, address in PODS.items():
        release.bigip.pods.start(address, 8080, name, namespace="hello")
    release.apply(manifests.endpoints("hello", "hello", tuple(PODS.values())))
    pod.until(lambda: "True" in str(release.kube.get("Route", "hello", "hello").get("status")))
    pod.until(lambda: release.answer().status_code == 200)
    assert release.answer().json()["pod"] in PODS
    assert release.explain()[1] == 0

    release.apply(manifests.endpoints("hello", "hello", ()))
    pod.until(lambda: release.answer().status_code == 503)
    said, status = release.explain()
    assert status == 1
    assert "first broken link: /Common/openshift_hello_hello has no members" in said
    assert "to do: oc get endpointslices -n hello: the Service needs pods that are ready" in said

    def page() -> str:
        shown = pod.get("/api/v1/routes/hello/hello")
        return shown.text if shown.ok else ""

    pod.until(lambda: "Service hello has no ready endpoints" in page())
    assert "<html" in pod.get("/").text
    assert "forbidden" not in pod.log


def test_two_replicas_are_two_upgrades(release):
    """Both steps at once, and the second one too early, change nothing; a new release may have two."""
    assert release.type(INSTALL).returncode == 0
    release.rolled_out(1)
    before = release.deployment()
    for command, first in ((f"{FIRST} --set replicaCount=2", False), (FIRST, True), (SECOND, False)):
        done = release.type(command)
        assert (done.returncode == 0) == first, done.stderr
        if first:
            before = release.deployment()
        else:
            assert "First upgrade with --set leaderElection.enabled=true --set replicaCount=1" in done.stderr
            assert release.deployment() == before
    release.rolled_out(1)
    for command in (SECOND, SECOND, "helm upgrade f5router docs/helm/f5router -n f5router --reuse-values"):
        done = release.type(command)
        assert done.returncode == 0, done.stderr
    spec = release.deployment()["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (2, "RollingUpdate")
    (box,) = spec["template"]["spec"]["containers"]
    assert {"name": "ROUTER_LEADER_ELECT", "value": "true"} in box["env"]
    new = INSTALL.replace("helm install f5router", "helm install f5router-new")
    done = release.type(f"{new} --set leaderElection.enabled=true --set replicaCount=2"
                        " --set ingressClass.ingressClassName=new")
    assert done.returncode == 0, done.stderr


def test_rendering_refuses_nothing():
    """Without a cluster nothing is known of what runs."""
    values = {"leaderElection": {"enabled": True}, "replicaCount": 2}
    assert helm("template", "f5router", CHART, "--namespace", "f5router", values=values).returncode == 0
