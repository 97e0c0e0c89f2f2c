"""The image of docs/deploy: built as its file says, run as a cluster does: any user, nothing to write to."""

import json
import random
import shlex
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

from mocks.kube import FakeKube
from tests import manifests
from tests.e2e import container, deployment, image
from tests.e2e.deployment import ACCOUNT, USERS
from tests.e2e.image import FILE, ROOT, Image
from tests.e2e.pages import blocks
from tests.e2e.site import Site
from tests.feature.sdn import MACS, fdb, sdn
from tests.waiting import DEADLINE_S


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Image:
    """Skip where, and only where, no file system can be mounted."""
    try:
        return Image(tmp_path_factory.mktemp("image"))
    except container.NotPermitted as error:
        pytest.skip(f"mount namespaces are not permitted here: {error}")


def run(built: Image, *arguments: str, mounts: dict[str, Path] | None = None, user: int | None = None,
        **environment: str) -> subprocess.CompletedProcess:
    """A program of the image, from start to end, as a user of any ID unless it is given."""
    user = random.choice(USERS) if user is None else user
    return subprocess.run(
        built.command([*arguments], user=user, environment=environment, mounts=mounts or {}),
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=DEADLINE_S)


def test_the_file():
    """Any user ID but root's, the router as entry point, no secrets, no registry but the builder's own."""
    user, _, group = image.instructions("USER")[0].partition(":")
    assert int(user) > 0
    assert group == "0"
    assert [image.instructions("FROM", stage=stage)[0].split()[0] for stage in (0, 1)] == [
        "python:3.11-slim"] * 2
    assert image.instructions("ENTRYPOINT") == ['["f5router"]']
    assert image.instructions("CMD") == [json.dumps(deployment.container()["args"])]
    assert image.instructions("COPY") == [f"--from=build {image.PLACE} {image.PLACE}"]
    for line in image.instructions("COPY", stage=0):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists(), name
    assert deployment.container()["image"] in FILE.read_text()


@pytest.mark.parametrize(("command", "words"), [
    (("f5router", "version"), "f5router "), (("f5router", "run", "--help"), "--f5-host"),
    (("ghost-hostsubnet", "--version"), "ghost-hostsubnet"),
    (("ghost-hostsubnet", "create", "--help"), "--host-ip"),
])
def test_both_commands(built, command, words):
    """With nothing but what setup.cfg asks for."""
    done = run(built, *command)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout


def test_the_other_command_by_hand(built, tmp_path):
    """As docs/deploy/README.md runs it: another entry point, and the kubeconfig of an administrator."""
    (text,) = (block.text for block in blocks("deploy/README.md") if "podman run" in block.text)
    *options, _, mount, name = shlex.split(text.partition(" show ")[0])
    assert options == ["podman", "run", "--rm", "--user", "0", "--entrypoint", "ghost-hostsubnet"]
    assert name == deployment.container()["image"]
    inside = mount.removeprefix("~/.kube/config:").removesuffix(":ro")
    with FakeKube(sdn=True, sdn_delay_s=0.02) as kube:
        kube.write_kubeconfig(tmp_path / "config")
        (tmp_path / "config").chmod(0o600)
        kube.apply([manifests.host_subnet("n1", "10.3.89.1", "10.128.0.0/23")])
        done = run(built, *options[-1:], "show", *shlex.split(text.partition(" show ")[2]), user=0,
                   mounts={inside: tmp_path / "config"})
    assert done.returncode == 0, done.stderr
    assert "10.128.0.0/23" in done.stdout


def test_nothing_that_installs_packages(built):
    done = run(built, "sh", "-c", f"ls {image.PLACE}/bin {image.PLACE}/lib/python3*/site-packages")
    assert "f5router" in done.stdout.split()
    assert not [name for name in done.stdout.split() if name.startswith("pip")]


def test_there_is_nothing_to_write_to(built):
    """Else the next test would show nothing."""
    done = run(built, "sh", "-c", "id -u; id -G; touch /opt/f5router/x; touch /x; touch /dev/shm/../x")
    user, groups = done.stdout.splitlines()
    assert int(user) in USERS
    assert groups == "0"
    assert done.stderr.count("cannot touch") == 3


def test_the_pod(built, tmp_path):
    """The whole deployment, with VxLAN, by the paths of its YAML; certificates go over SSH."""
    with ExitStack() as stack:
        site = Site(stack, tmp_path)
        site.load()
        sdn(site)
        pod = site.start(vxlan=True, built=built)
        pod.until(lambda: pod.get("/readyz").status_code == 200)
        pod.until(lambda: site.status("edge") == "True")
        assert site.pool("edge.example.com", tls=True) == "/Common/openshift_shop_web"
        assert fdb(site) == MACS
        pod.process.terminate()
        assert pod.process.wait(DEADLINE_S) == 0, pod.log
        assert {line["level"] for line in pod.lines()} <= {"info", "warning"}
        assert "Read-only" not in pod.log
        assert "Permission denied" not in pod.log


def test_the_other_command_in_a_pod(built, tmp_path):
    """ghost-hostsubnet by the account of a pod, which has the stock role for it."""
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
               "metadata": {"name": "ghost"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                           "name": "system:sdn-manager"},
               "subjects": [{"kind": "ServiceAccount", "namespace": "f5router", "name": "ghost"}]}
    account = {"apiVersion": "v1", "kind": "ServiceAccount",
               "metadata": {"namespace": "f5router", "name": "ghost"}}
    with FakeKube(sdn=True, sdn_delay_s=0.02) as kube:
        kube.apply([manifests.sdn_manager(), account, binding])
        place = deployment.folder(tmp_path / "account", deployment.account_files(kube, "f5router", "ghost"))
        server = {"KUBERNETES_SERVICE_HOST": "127.0.0.1",
                  "KUBERNETES_SERVICE_PORT": kube.url.rpartition(":")[2]}
        create = ("ghost-hostsubnet", "create", "--name=openshift-f5-node", "--host-ip=10.3.89.213")
        done = run(built, *create, mounts={ACCOUNT: place}, **server)
        assert done.returncode == 0, done.stderr
        done = run(built, "ghost-hostsubnet", "gateway", "--name=openshift-f5-node", mounts={ACCOUNT: place},
                   **server)
        assert done.stdout == "10.128.0.5/14\n"
        assert run(built, "ghost-hostsubnet", "delete", "--name=openshift-f5-node", mounts={ACCOUNT: place},
                   **server).returncode == 0
        assert {entry.status for entry in kube.log} <= {200, 201}
