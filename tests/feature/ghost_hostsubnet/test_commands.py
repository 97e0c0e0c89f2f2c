"""ghost-hostsubnet show, gateway, check and delete."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from ghost_hostsubnet.__main__ import main
from mocks.kube.sdn import ASSIGN, FIXED_VNID
from tests.feature.ghost_hostsubnet.conftest import CREATE, HOST_IP, NAME
from tests.waiting import DEADLINE_S


class TestShow:
    def test_all(self, still):
        """HostSubnets of Nodes are not shown."""
        still.node("node-1", ("InternalIP", "192.0.2.1"))
        still.ghost(name="node-1", host_ip="192.0.2.1", vnid=None, subnet="10.128.0.0/23")
        still.ghost()
        still.ghost(name="second", pending=True, host_ip="10.3.89.214")
        done = still.run("show")
        assert [line.split() for line in done.stdout.splitlines()[1:]] == [
            [NAME, HOST_IP, "10.131.0.0/23", "10.131.0.5/14", "0", "ready"],
            ["second", "10.3.89.214", "-", "-", "0", "waits", "for", "the", "SDN", "master"],
        ]
        listed = json.loads(still.run("show", "-o", "json").stdout)
        assert [item["metadata"]["name"] for item in listed["items"]] == [NAME, "second"]

    def test_one(self, still):
        before = still.ghost()
        assert yaml.safe_load(still.run("show", "--name", NAME, "-o", "yaml").stdout) == before
        done = still.run("show", "--name", "other")
        assert (done.exit_code, done.stderr) == (
            1, f"error: there is no HostSubnet other (without a Node: {NAME})\n")

    def test_none(self, still):
        done = still.run("show")
        assert (done.exit_code, done.stdout, done.stderr) == (0, "", "no HostSubnet without a Node\n")
        assert json.loads(still.run("show", "-o", "json").stdout)["items"] == []


class TestGateway:
    def test_value(self, still):
        """Nothing but the value, ready for a variable."""
        still.ghost()
        done = still.run("gateway", "--name", NAME)
        assert (done.exit_code, done.stdout, done.stderr) == (0, "10.131.0.5/14\n", "")
        assert json.loads(still.run("gateway", "--name", NAME, "-o", "json").stdout) == {
            "gateway": "10.131.0.5/14", "subnet": "10.131.0.0/23", "clusterNetwork": "10.128.0.0/14"}

    def test_several_networks(self, still):
        """The mask is that of the network of the subnet; the others need a route."""
        still.put("ClusterNetwork", "default",
                  clusterNetworks=[{"CIDR": "10.64.0.0/16"}, {"CIDR": "10.128.0.0/14"}])
        still.ghost()
        done = still.run("gateway", "--name", NAME)
        assert done.stdout == "10.131.0.5/14\n"
        assert "pods in 10.64.0.0/16 are not on-link" in done.stderr

    def test_about_to_change(self, still):
        """Somebody applied the manifest again: the subnet that is there now will not stay."""
        still.put("HostSubnet", NAME, metadata={"annotations": {ASSIGN: "true", FIXED_VNID: "0"}}, host=NAME,
                  hostIP=HOST_IP, subnet="10.131.0.0/23")
        done = still.run("gateway", "--name", NAME)
        assert (done.exit_code, done.stdout) == (1, "")

    @pytest.mark.parametrize(("ghost", "words"), [
        pytest.param(None, "there is no HostSubnet", id="none"),
        pytest.param({"pending": True}, "has no subnet yet: run ghost-hostsubnet create", id="no subnet"),
        pytest.param({"subnet": "10.64.0.0/23"}, "lies in no cluster network (10.128.0.0/14)", id="outside"),
        pytest.param({"subnet": "10.131.0.0/31"}, "too small", id="too small"),
    ])
    def test_none(self, still, ghost, words):
        if ghost is not None:
            still.ghost(**ghost)
        done = still.run("gateway", "--name", NAME)
        assert (done.exit_code, done.stdout) == (1, "")
        assert words in done.stderr


class TestCheck:
    def test_good(self, lab):
        lab.run(*CREATE)
        value = lab.run("gateway", "--name", NAME).stdout.strip()
        done = lab.run("check", "--name", NAME, "--internal-address", HOST_IP, "--gateway-cidr", value)
        assert done.exit_code == 0, done.stdout
        assert {line.split()[0] for line in done.stdout.splitlines()} == {"ok"}
        assert len(done.stdout.splitlines()) == 11

    def test_classic_mistake(self, still):
        still.ghost()
        done = still.run("check", "--name", NAME, "--gateway-cidr", "10.131.0.5/23")
        assert done.exit_code == 1
        assert [line for line in done.stdout.splitlines() if not line.startswith("ok ")] == [
            "WRONG  /23 is the mask of the HostSubnet, with which the pods of other nodes are not on-link; "
            "it must be /14, that of the cluster network 10.128.0.0/14: use 10.131.0.5/14, not 10.131.0.5/23"]

    def test_wrong(self, still):
        """A Node has taken the address; nothing is changed."""
        before = still.ghost(vnid="1")
        still.node("node-1", ("InternalIP", HOST_IP))
        done = still.run("check", "--name", NAME, "--internal-address", "10.3.89.1", "-o", "json")
        assert (done.exit_code, still.writes(), still.get()) == (1, [], before)
        wrong = {check["check"] for check in json.loads(done.stdout) if not check["ok"]}
        assert wrong == {"vnid", "hostIP", "internal address"}

    def test_none(self, still):
        done = still.run("check", "--name", NAME)
        assert (done.exit_code, done.stdout) == (
            1, f"WRONG  there is no HostSubnet {NAME} (without a Node: none)\n")


class TestDelete:
    def test_and_create_again(self, lab):
        """The subnet is free again; a second run finds nothing to do."""
        lab.run(*CREATE)
        done = lab.run("delete", "--name", NAME)
        assert (done.exit_code, done.stdout, lab.get()) == (
            0, f"deleted HostSubnet {NAME}; its subnet 10.128.0.0/23 is free again\n", None)
        again = lab.run("delete", "--name", NAME)
        assert (again.exit_code, "nothing to do" in again.stdout) == (0, True)
        assert lab.run(*CREATE).exit_code == 0

    @pytest.mark.parametrize("annotated", [True, False])
    def test_never_a_node(self, still, annotated):
        """Known by the annotation or, where a version has none, by its name."""
        if not annotated:
            still.node(NAME)
        annotations = {"pod.network.openshift.io/node-uid": "9"} if annotated else {}
        before = still.put("HostSubnet", NAME, metadata={"annotations": annotations}, host=NAME,
                           hostIP=HOST_IP, subnet="10.128.0.0/23")
        done = still.run("delete", "--name", NAME)
        assert (done.exit_code, still.writes(), still.get()) == (1, [], before)
        assert "is the HostSubnet of a Node" in done.stderr

    def test_dry_run(self, still):
        before = still.ghost()
        done = still.run("delete", "--name", NAME, "--dry-run")
        assert (done.exit_code, still.writes(), still.get()) == (0, [], before)
        assert done.stdout == f"would delete HostSubnet {NAME} with subnet 10.131.0.0/23\n"

    def test_another_meanwhile(self, still):
        """Only the very object that was looked at is deleted; what came in its place after another look."""
        still.ghost()
        still.kube.inject("hold", method="DELETE")
        process = still.start("delete", "--name", NAME)
        assert still.kube.wait_for(lambda: still.kube.held)
        still.kube.delete("HostSubnet", None, NAME)
        still.ghost(subnet="10.131.2.0/23")
        still.kube.release()
        out, _ = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "its subnet 10.131.2.0/23 is free" in out, still.get()) == (0, True, None)
        assert [status for _, _, status in still.writes()] == [409, 200]

    def test_while_it_is_created_again(self, still):
        """Gone for a moment is not gone."""
        still.ghost(pending=True)
        still.kube.inject("hold", method="DELETE")
        process = still.start("delete", "--name", NAME)
        assert still.kube.wait_for(lambda: still.kube.held)
        still.kube.delete("HostSubnet", None, NAME)
        still.kube.inject("hold", path="/api/v1/nodes")
        still.kube.release()
        assert still.kube.wait_for(lambda: still.kube.held == 2)  # by now it has seen that there is none
        assert [status for _, _, status in still.writes()] == [404]
        still.kube.clear_log()
        still.ghost()
        still.kube.release()
        out, _ = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "deleted HostSubnet" in out, still.get()) == (0, True, None)
        assert [status for _, _, status in still.writes()] == [200]


def test_command_is_installed():
    """By its name as well as by python -m."""
    program = Path(sys.executable).with_name("ghost-hostsubnet")
    for command in ([str(program)], [sys.executable, "-m", "ghost_hostsubnet"]):
        done = subprocess.run([*command, "--help"], text=True, capture_output=True, timeout=DEADLINE_S)
        assert (done.returncode, "create" in done.stdout) == (0, True)
        assert "Usage: ghost-hostsubnet" in done.stdout


def test_the_fake_from_the_command_line(tmp_path):
    """As docs/ghost-hostsubnet.md says."""
    config = tmp_path / "kubeconfig"
    fake = subprocess.Popen([sys.executable, "-m", "mocks.kube", "--sdn", "--write-kubeconfig", str(config)],
                            text=True, stdout=subprocess.PIPE)
    try:
        assert fake.stdout.readline().startswith("ready: ")
        done = CliRunner().invoke(main, [*CREATE, "--config", str(config)])
        assert (done.exit_code, "10.128.0.5/14" in done.stdout) == (0, True), done.stderr
    finally:
        fake.terminate()
        fake.communicate(timeout=DEADLINE_S)
