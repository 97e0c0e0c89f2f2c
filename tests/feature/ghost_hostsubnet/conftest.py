"""The command ghost-hostsubnet on a fake cluster, over real HTTPS."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ghost_hostsubnet.__main__ import main
from mocks.kube import FakeKube
from mocks.kube.sdn import ASSIGN, DEFAULT_NETWORK, FIXED_VNID

NAME, HOST_IP = "openshift-f5-node", "10.3.89.213"
CREATE = ("create", "--name", NAME, "--host-ip", HOST_IP)


@pytest.fixture(autouse=True)
def _no_credentials_of_the_developer(monkeypatch, tmp_path):
    for name in ("KUBECONFIG", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


class Lab:
    """A cluster and the command on it."""

    def __init__(self, kube: FakeKube, folder: Path):
        self.kube = kube
        self.kubeconfig = folder / "kubeconfig"
        kube.write_kubeconfig(self.kubeconfig)

    def run(self, *arguments: str) -> Result:
        """The command in this process; stdout, stderr, exit_code."""
        return CliRunner().invoke(main, [*arguments, "--kubeconfig", str(self.kubeconfig)])

    def start(self, *arguments: str) -> subprocess.Popen:
        """The command in a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "ghost_hostsubnet", *arguments], text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=os.environ | {"KUBECONFIG": str(self.kubeconfig)},
            # A shell's background job has it ignored, and children inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def writes(self) -> list[tuple[str, str, int]]:
        return [(call.method, call.path, call.status) for call in self.kube.log if call.method != "GET"]

    def get(self, name: str = NAME) -> dict | None:
        return self.kube.get("HostSubnet", None, name)

    def put(self, kind: str, name: str, **fields) -> dict:
        metadata = fields.pop("metadata", {}) | {"name": name}
        version = "v1" if kind == "Node" else "network.openshift.io/v1"
        return self.kube.apply({"apiVersion": version, "kind": kind, "metadata": metadata} | fields)

    def ghost(self, *, pending: bool = False, host_ip: str = HOST_IP, vnid: str | None = "0",
              name: str = NAME, subnet: str = "10.131.0.0/23", **fields) -> dict:
        """A ghost HostSubnet that is there already."""
        annotations = ({ASSIGN: "true"} if pending else {}) | ({} if vnid is None else {FIXED_VNID: vnid})
        given = {"host": name, "hostIP": host_ip} | ({} if pending else {"subnet": subnet}) | fields
        return self.put("HostSubnet", name, metadata={"annotations": annotations}, **given)

    def node(self, name: str = "node-1", *addresses: tuple[str, str]) -> None:
        listed = [{"type": kind, "address": address} for kind, address in addresses]
        self.put("Node", name, status={"addresses": listed})


@contextmanager
def cluster(folder: Path, **options) -> Iterator[Lab]:
    """A cluster with a ClusterNetwork but, unless asked for, without an SDN master."""
    with FakeKube(**({"sdn_delay_s": 0.02, "bookmark_s": 0.2} | options)) as kube:
        lab = Lab(kube, folder)
        if not options.get("sdn"):
            lab.put("ClusterNetwork", "default", **DEFAULT_NETWORK)
        yield lab


@pytest.fixture
def lab(tmp_path) -> Iterator[Lab]:
    with cluster(tmp_path, sdn=True) as kube_lab:
        yield kube_lab


@pytest.fixture
def still(tmp_path) -> Iterator[Lab]:
    """A cluster whose SDN master does nothing."""
    with cluster(tmp_path) as kube_lab:
        yield kube_lab
