"""The way of a new administrator by Helm: from the chart to a served Route, a broken one, and two replicas.

Helm is the real one. Nothing rolls a Deployment out here, so `--wait` is left out.
"""

import os
import re
import subprocess
from contextlib import ExitStack

import pytest
import requests
from click.testing import CliRunner

from f5router.cli.main import main
from tests import manifests
from tests.e2e import deployment
from tests.e2e.deployment import Pod
from tests.e2e.pages import blocks
from tests.e2e.rendering import CHART, HELM, ROOT, helm
from tests.e2e.site import Site
from tests.waiting import DEADLINE_S

PODS = {"hello-1": "10.128.0.11", "hello-2": "10.128.0.12"}
PREPARE, INSTALL, UPGRADE = (
    block.text for block in blocks("helm/f5router/README.md") if block.language == "sh")
INSTALL, ROLLOUT = INSTALL.rsplit("\n", 1)
(FIRST_ROUTE,) = (block.text for block in blocks("guide.md") if "apply -n hello" in block.text)
FIRST, SECOND = UPGRADE.replace(" --wait", "").splitlines()
HOST, EXPLAIN = "hello.example.com", ("explain", "route", "hello/hello")


class Release(Site):
    """Both fakes, the BIG-IP with traffic, and an administrator with Helm."""

    def __init__(self, stack, folder):
        super().__init__(stack, folder, dataplane=True)
        self.apply(manifests.node("n1", "10.3.89.1", cidrs=("10.128.0.0/23",)))
        self.bigip.put_object("net/self", {"name": "near", "partition": "Common", "address": "10.3.89.213/24",
                                           "vlan": "/Common/internal"})
        self._home = folder
        self._prepare()

    def _prepare(self) -> None:
        """Fill the folders of the guide, and make the Secrets of them."""
        (self._home / "docs").symlink_to(ROOT / "docs")
        for secret, texts in deployment.secrets(self.bigip, self.key.read_text()).items():
            deployment.folder(self._home / secret.removeprefix("bigip-"), texts)
        self.done(PREPARE)

    def run(self) -> Pod:
        """Do what the cluster does with the Deployment; the pod is ready then, and the rollout has ended."""
        names = [volume["secret"]["secretName"]
                 for volume in self.deployment()["spec"]["template"]["spec"]["volumes"]]
        pod = self.start(workload=self.deployment(), secrets={
            name: deployment.decoded(self.kube.get("Secret", "f5router", name)) for name in names})
        pod.until(lambda: pod.get(pod.box["readinessProbe"]).status_code == 200)
        self.rolled_out(1)
        self.done(ROLLOUT)
        return pod

    def done(self, text: str) -> str:
        """Type commands that must succeed; returns what they print."""
        typed = self.type(text)
        assert typed.returncode == 0, typed.stdout + typed.stderr
        return typed.stdout

    def type(self, text: str) -> subprocess.CompletedProcess[str]:
        """Type commands, beside the pages."""
        environment = {"PATH": f"{HELM.parent}:{os.environ['PATH']}", "HOME": str(self._home),
                       "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run(["bash", "-ec", text], cwd=self._home, env=environment, capture_output=True,
                              text=True, timeout=DEADLINE_S)

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

    def execute(self, pod: Pod, *command: str) -> tuple[str, int]:
        """Run a command as kubectl exec does: with the variables of the pod, and no argument of it."""
        environment = pod.environment | {"KUBECONFIG": str(self.kubeconfig), "NO_COLOR": "1"}
        result = CliRunner().invoke(main, command, env=environment)
        return result.stdout, result.exit_code


@pytest.fixture
def release(tmp_path):
    with ExitStack() as stack:
        yield Release(stack, tmp_path)


def test_from_the_chart_to_a_route_and_to_its_fault(release):
    """Installed, served with traffic; then without pods: the cause by `explain`, and on the status page."""
    notes = release.done(INSTALL)
    for words in (ROLLOUT, "-- f5router doctor", "explain route NAMESPACE/NAME", "http://localhost:1936/"):
        assert words in notes
    pod = release.run()

    release.done(FIRST_ROUTE)
    for name, address in PODS.items():
        release.bigip.pods.start(address, 8080, name, namespace="hello")
    release.apply(manifests.endpoints("hello", "hello", tuple(PODS.values())))
    pod.until(lambda: "True" in str(release.kube.get("Route", "hello", "hello").get("status")))
    pod.until(lambda: release.answer().status_code == 200)
    assert release.answer().json()["pod"] in PODS
    assert release.execute(pod, *EXPLAIN)[1] == 0
    said, status = release.execute(pod, "doctor")
    assert status == 0, said
    assert re.search(r"ok +way to the pods +.*static route", said), said

    release.apply(manifests.endpoints("hello", "hello", ()))
    pod.until(lambda: release.answer().status_code == 503)
    said, status = release.execute(pod, *EXPLAIN)
    assert status == 1
    assert "first broken link: no member takes requests: spec.to.name: Service hello has no ready" in said
    assert "to do: see why the pods are not ready: kubectl get endpointslices -n hello" in said

    login = re.findall(r"--from-literal=\w+=(\S+)", PREPARE)

    def page() -> str:
        shown = pod.get("/api/v1/routes/hello/hello", auth=tuple(login))
        return shown.text if shown.ok else ""

    pod.until(lambda: "Service hello has no ready endpoints" in page())
    assert "<html" in pod.get("/", auth=tuple(login)).text
    assert pod.get("/").status_code == 401
    assert "forbidden" not in pod.log


def test_two_replicas_are_two_upgrades(release):
    """Both steps at once, and the second one too early, change nothing; a new release may have two."""
    release.done(INSTALL)
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
        release.done(command)
    spec = release.deployment()["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (2, "RollingUpdate")
    (box,) = spec["template"]["spec"]["containers"]
    assert {"name": "ROUTER_LEADER_ELECT", "value": "true"} in box["env"]
    new = INSTALL.replace("helm install f5router", "helm install f5router-new")
    release.done(f"{new} --set leaderElection.enabled=true --set replicaCount=2"
                 " --set ingressClass.ingressClassName=new")


def test_rendering_refuses_nothing():
    """Without a cluster nothing is known of what runs."""
    values = {"leaderElection": {"enabled": True}, "replicaCount": 2}
    assert helm("template", "f5router", CHART, "--namespace", "f5router", values=values).returncode == 0
