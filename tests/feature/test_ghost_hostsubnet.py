"""The command ghost-hostsubnet on a fake cluster, over real HTTPS."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from ghost_hostsubnet.__main__ import main
from mocks.kube import FakeKube
from mocks.kube.sdn import ASSIGN, DEFAULT_NETWORK, FIXED_VNID
from tests.waiting import DEADLINE_S, until

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


class TestCreate:
    def test_with_subnet(self, lab):
        """Created once, re-created by the SDN master, shown with the gateway; progress apart."""
        done = lab.run(*CREATE)
        assert done.exit_code == 0, done.stderr
        subnet = lab.get()
        assert (subnet["host"], subnet["hostIP"], subnet["subnet"]) == (NAME, HOST_IP, "10.128.0.0/23")
        assert subnet["metadata"]["annotations"] == {FIXED_VNID: "0"}
        assert [words.split() for words in done.stdout.splitlines()] == [
            ["NAME", "HOST", "IP", "SUBNET", "GATEWAY", "VNID", "STATE"],
            [NAME, HOST_IP, "10.128.0.0/23", "10.128.0.5/14", "0", "ready"],
        ]
        assert f"created HostSubnet {NAME} with hostIP {HOST_IP}" in done.stderr
        assert "given it 10.128.0.0/23" in done.stderr
        assert lab.writes() == [("POST", "/apis/network.openshift.io/v1/hostsubnets", 201)]

    def test_what_is_asked_for(self, still):
        """The object as the SDN master finds it."""
        assert still.run(*CREATE, "--timeout", "1s").exit_code == 1
        subnet = still.get()
        assert subnet["metadata"]["annotations"] == {ASSIGN: "true", FIXED_VNID: "0"}
        assert (subnet["host"], subnet["hostIP"], "subnet" in subnet) == (NAME, HOST_IP, False)

    def test_waits_by_watching(self, still):
        """The SDN master takes its time: one list after the creation, then a watch sees both steps."""
        process = still.start(*CREATE)
        assert still.kube.wait_for(lambda: still.kube.watches)
        still.kube.start_sdn()
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "10.128.0.0/23" in out) == (0, True), err
        assert err.splitlines() == [
            f"created HostSubnet {NAME} with hostIP {HOST_IP}",
            "the HostSubnet waits for the SDN master",
            "the SDN master has deleted it and not created it again yet",
            "the SDN master has given it 10.128.0.0/23",
        ]
        reads = [call for call in still.kube.log
                 if call.path.endswith("/hostsubnets") and call.method == "GET"]
        assert ["watch" in call.query for call in reads] == [False, False, True]

    @pytest.mark.parametrize("form", ["yaml", "json"])
    def test_output(self, lab, form):
        done = lab.run(*CREATE, "-o", form)
        assert (yaml.safe_load if form == "yaml" else json.loads)(done.stdout) == lab.get()

    def test_twice(self, lab):
        """The second run writes nothing and changes nothing."""
        first = lab.run(*CREATE)
        before = lab.get()
        lab.kube.clear_log()
        second = lab.run(*CREATE)
        assert (second.exit_code, second.stdout, lab.writes()) == (0, first.stdout, [])
        assert lab.get() == before
        assert "exists already; nothing to do" in second.stderr

    def test_at_once(self, tmp_path):
        """Two administrators: one HostSubnet, one subnet, both are told of it."""
        with cluster(tmp_path, sdn=True, sdn_delay_s=0.3) as lab:
            processes = [lab.start(*CREATE, "-o", "json") for _ in range(2)]
            told = [process.communicate(timeout=DEADLINE_S) for process in processes]
            assert [process.returncode for process in processes] == [0, 0], told
            assert [json.loads(out) for out, _ in told] == [lab.get()] * 2

    @pytest.mark.parametrize(("theirs", "status"), [
        pytest.param({"pending": True}, 0, id="the same"),
        pytest.param({"subnet": "10.128.0.0/23"}, 0, id="with its subnet"),
        pytest.param({"pending": True, "host_ip": "10.3.89.1"}, 1, id="another address"),
        pytest.param({"vnid": "5"}, 1, id="another VNID"),
    ])
    def test_somebody_was_quicker(self, still, theirs, status):
        """It comes between the look and the creation: theirs is waited for if it is as asked."""
        still.kube.inject("hold", method="POST")
        process = still.start(*CREATE)
        assert still.kube.wait_for(lambda: still.kube.held)
        still.ghost(**theirs)
        still.kube.release()
        assert still.kube.wait_for(lambda: still.writes())
        still.kube.start_sdn()
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "10.128.0.0/23" in out) == (status, status == 0), err
        assert ("created by somebody else" in err) is ("host_ip" in theirs)
        assert (f"ghost-hostsubnet delete --name {NAME}" in err) is ("vnid" in theirs)
        assert [write[2] for write in still.writes()] == [409]

    def test_other_address(self, still):
        """An existing one with another hostIP is left as it is."""
        before = still.ghost(host_ip="10.3.89.1")
        done = still.run(*CREATE)
        assert (done.exit_code, done.stdout, still.writes(), still.get()) == (1, "", [], before)
        assert f"use --host-ip 10.3.89.1, or run ghost-hostsubnet delete --name {NAME}" in done.stderr

    def test_existing_without_subnet(self, still):
        """It is waited for, not written again: that would take another subnet."""
        still.ghost(pending=True)
        process = still.start(*CREATE)
        assert still.kube.wait_for(lambda: still.kube.watches)
        still.kube.start_sdn()
        _, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, still.writes()) == (0, []), err
        assert still.get()["subnet"] == "10.128.0.0/23"

    @pytest.mark.parametrize("existing", [
        pytest.param({"vnid": None}, id="no VNID"), pytest.param({"vnid": "5"}, id="other VNID"),
        pytest.param({"host": "other"}, id="host"),
    ])
    def test_existing_that_is_wrong(self, still, existing):
        before = still.ghost(**existing)
        done = still.run(*CREATE)
        assert (done.exit_code, still.get()) == (1, before)
        assert f"ghost-hostsubnet delete --name {NAME} and create it again" in done.stderr

    def test_vnid_is_dropped(self, tmp_path):
        """The object that the SDN master made of it is looked at."""
        with cluster(tmp_path, sdn=True, sdn_delay_s=1) as lab:
            lab.ghost(pending=True, vnid="admin")
            done = lab.run(*CREATE)
            assert (done.exit_code, done.stdout) == (1, "")
            assert f"the annotation {FIXED_VNID} is missing" in done.stderr

    @pytest.mark.parametrize(("host_ip", "words"), [
        pytest.param("10.130.1.1", "in the cluster network 10.128.0.0/14", id="cluster network"),
        pytest.param("10.200.1.1", "in the cluster network 10.200.0.0/16", id="second cluster network"),
        pytest.param("172.30.255.1", "in the service network 172.30.0.0/16", id="service network"),
        pytest.param("192.0.2.1", "an address of the Node node-1", id="Node"),
        pytest.param("198.51.100.7", "an address of the Node node-1", id="Node's external address"),
        pytest.param("192.0.2.99", "the hostIP of the HostSubnet gone-1", id="HostSubnet of a Node"),
        pytest.param("10.3.89.99", "the hostIP of the HostSubnet old", id="another ghost"),
    ])
    def test_address_in_use(self, still, host_ip, words):
        still.put("ClusterNetwork", "default", network="10.128.0.0/14", serviceNetwork="172.30.0.0/16",
                  clusterNetworks=[{"CIDR": "10.128.0.0/14"}, {"CIDR": "10.200.0.0/16"}])
        still.node("node-1", ("Hostname", "node-1"), ("InternalIP", "192.0.2.1"),
                   ("ExternalIP", "198.51.100.7"))
        still.ghost(name="gone-1", host_ip="192.0.2.99", subnet="10.128.0.0/23")
        still.ghost(name="old", host_ip="10.3.89.99")
        done = still.run("create", "--name", NAME, "--host-ip", host_ip)
        assert (done.exit_code, done.stdout, still.writes()) == (1, "", [])
        assert f"error: {host_ip} " in done.stderr
        assert words in done.stderr

    @pytest.mark.parametrize("arguments", [
        pytest.param(("--name", NAME, "--host-ip", "2001:db8::1"), id="IPv6"),
        pytest.param(("--name", NAME, "--host-ip", "127.0.0.1"), id="loopback"),
        pytest.param(("--name", NAME, "--host-ip", "0.0.0.0"), id="unspecified"),
        pytest.param(("--name", NAME, "--host-ip", "224.0.0.1"), id="multicast"),
        pytest.param(("--name", NAME, "--host-ip", "bigip"), id="name"),
        pytest.param(("--name", "F5", "--host-ip", HOST_IP), id="bad name"),
        pytest.param(("--name", NAME, "--host-ip", HOST_IP, "--timeout", "soon"), id="duration"),
        pytest.param(("--name", NAME), id="no address"),
    ])
    def test_wrong_usage(self, still, arguments):
        """Exit status 2, and nothing is sent."""
        done = still.run("create", *arguments)
        assert (done.exit_code, still.kube.log) == (2, [])

    def test_name_of_a_node(self, still):
        still.node(NAME, ("InternalIP", "192.0.2.1"))
        done = still.run(*CREATE)
        assert (done.exit_code, still.writes()) == (1, [])
        assert "is the name of a Node" in done.stderr

    @pytest.mark.parametrize("form", ["table", "yaml", "json"])
    def test_dry_run(self, lab, form):
        done = lab.run(*CREATE, "--dry-run", "-o", form)
        assert (done.exit_code, lab.writes(), lab.get()) == (0, [], None)
        if form == "table":
            assert done.stdout.startswith(f"would create HostSubnet {NAME}")
        else:
            shown = (yaml.safe_load if form == "yaml" else json.loads)(done.stdout)
            assert shown["metadata"]["annotations"] == {ASSIGN: "true", FIXED_VNID: "0"}

    def test_dry_run_refuses_too(self, still):
        assert still.run("create", "--name", NAME, "--host-ip", "10.128.0.9", "--dry-run").exit_code == 1


class TestWait:
    def test_nobody_answers(self, still):
        """A time-out tells what to look at; the object stays, and another run goes on waiting."""
        done = still.run(*CREATE, "--timeout", "1s")
        assert (done.exit_code, done.stdout) == (1, "")
        assert "after 1 s the HostSubnet waits for the SDN master; is the SDN master running?" in done.stderr
        still.kube.clear_log()
        assert still.run(*CREATE, "--timeout", "1s").exit_code == 1
        assert still.writes() == []

    def test_not_created_again(self, lab):
        """No subnet is free: the SDN master deletes it, and that is all."""
        lab.put("ClusterNetwork", "default",
                clusterNetworks=[{"CIDR": "10.1.0.0/23", "hostSubnetLength": 9}])
        lab.ghost(name="other", host_ip="10.3.89.1", subnet="10.1.0.0/23")

        def waited_long_enough() -> bool:
            """True if the time-out came after the deletion; on a slow machine it may not."""
            done = lab.run(*CREATE, "--timeout", "1s")
            assert (done.exit_code, done.stdout) == (1, "")
            return "deleted it and not created it again yet; the log of the SDN master has" in done.stderr

        until(waited_long_enough)
        assert lab.get() is None

    def test_not_a_new_object(self, still):
        """Somebody wrote a subnet into it: nodes do not see that, so it does not count."""
        process = still.start(*CREATE)
        assert still.kube.wait_for(lambda: still.kube.watches)
        still.ghost()
        _, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "was not created again by the SDN master" in err) == (1, True), err

    def test_progress(self, still):
        """A line every few seconds, on standard error."""
        process = still.start(*CREATE, "--timeout", "6s")
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, out) == (1, "")
        assert re.search(r"still waiting, \d+ s of 6 s: the HostSubnet waits for the SDN master", err), err

    def test_interrupted(self, still):
        process = still.start(*CREATE)
        assert still.kube.wait_for(lambda: still.kube.watches)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "is left as it is; the same command goes on waiting" in err) == (1, True)

    @pytest.mark.parametrize(("fault", "options"), [
        pytest.param("503", {"method": "watch", "times": 2}, id="refused"),
        pytest.param("410", {"method": "watch"}, id="too old"),
        pytest.param("error-event", {"code": "410"}, id="too old, in the stream"),
        pytest.param("truncated", {}, id="cut off"),
        pytest.param("silent-drop", {}, id="silence"),
    ])
    def test_trouble(self, still, fault, options):
        """A watch that goes wrong costs only time."""
        still.kube.inject(fault, **options)
        process = still.start(*CREATE)
        assert still.kube.wait_for(
            lambda: len([call for call in still.kube.log if "watch" in call.query]) > 1)  # the fault was met
        still.kube.start_sdn()
        out, err = process.communicate(timeout=DEADLINE_S)
        assert (process.returncode, "10.128.0.0/23" in out) == (0, True), err
        assert len(still.writes()) == 1

    def test_lost_reply(self, lab):
        """It may have been created; the same command finds out, and creates no second one."""
        lab.kube.inject("drop", method="POST", applied=True)
        done = lab.run(*CREATE)
        assert done.exit_code == 1
        assert "may have been created or not" in done.stderr
        again = lab.run(*CREATE)
        assert (again.exit_code, len(lab.kube.list("HostSubnet"))) == (0, 1)
        assert lab.get()["subnet"] == "10.128.0.0/23"


class TestClusters:
    def test_oldest(self, tmp_path):
        """v1 under /oapi/v1, where there is no API group."""
        with FakeKube(sdn=True, sdn_delay_s=0.02, network_api="oapi") as kube:
            lab = Lab(kube, tmp_path)
            done = lab.run(*CREATE, "-o", "yaml")
            assert done.exit_code == 0, done.stderr
            assert yaml.safe_load(done.stdout) == kube.get("HostSubnet.oapi", None, NAME)
            assert yaml.safe_load(done.stdout)["apiVersion"] == "v1"
            assert lab.run("gateway", "--name", NAME).stdout == "10.128.0.5/14\n"
            assert yaml.safe_load(lab.run("show", "-o", "yaml").stdout)["items"][0]["apiVersion"] == "v1"
            assert lab.run("delete", "--name", NAME).exit_code == 0
            assert {call.path for call in kube.log if "/hostsubnets" in call.path} == {
                "/oapi/v1/hostsubnets", f"/oapi/v1/hostsubnets/{NAME}"}

    def test_schema_that_wants_a_subnet(self, tmp_path):
        """OpenShift 4 refuses a HostSubnet without one; a placeholder outside the pods' networks asks."""
        with cluster(tmp_path, network_api="crd") as lab:
            process = lab.start(*CREATE)
            assert lab.kube.wait_for(lambda: lab.kube.watches)
            asked = lab.get()
            assert (asked["subnet"], ASSIGN in asked["metadata"]["annotations"]) == ("192.0.2.0/24", True)
            assert lab.run("gateway", "--name", NAME).exit_code == 1  # the placeholder is no subnet
            lab.kube.start_sdn()
            out, err = process.communicate(timeout=DEADLINE_S)
            assert (process.returncode, "10.128.0.0/23" in out) == (0, True), err
            assert [status for _, _, status in lab.writes()] == [422, 201]
            assert lab.get()["subnet"] == "10.128.0.0/23"

    def test_discovery_is_closed(self, lab):
        """Without a right to discovery the kind itself tells."""
        lab.kube.inject("403", path="/apis/network.openshift.io/v1")
        assert lab.run(*CREATE).exit_code == 0

    @pytest.mark.parametrize("command", [
        CREATE, ("show",), ("gateway", "--name", NAME), ("check", "--name", NAME), ("delete", "--name", NAME),
    ], ids=lambda command: command[0])
    def test_another_plugin(self, tmp_path, command):
        """No HostSubnets: which plug-in it is instead, where the cluster tells."""
        with FakeKube(network_api="none") as kube:
            lab = Lab(kube, tmp_path)
            kube.apply({"apiVersion": "config.openshift.io/v1", "kind": "Network",
                        "metadata": {"name": "cluster"}, "status": {"networkType": "OVNKubernetes"}})
            done = lab.run(*command)
            assert (done.exit_code, done.stdout) == (1, "")
            assert "the cluster serves no HostSubnets" in done.stderr
            assert "(that is OVNKubernetes)" in done.stderr

    def test_plain_kubernetes(self, tmp_path):
        with FakeKube(openshift=False) as kube:
            done = Lab(kube, tmp_path).run(*CREATE)
            assert "the cluster serves no HostSubnets" in done.stderr
            assert "could not be found out" in done.stderr

    def test_left_over_kinds(self, tmp_path):
        """A cluster that was moved to another plug-in may still serve HostSubnets."""
        with FakeKube() as kube:
            kube.apply({"apiVersion": "config.openshift.io/v1", "kind": "Network",
                        "metadata": {"name": "cluster"}, "spec": {"networkType": "Calico"}})
            done = Lab(kube, tmp_path).run(*CREATE)
            assert (done.exit_code, kube.list("HostSubnet")) == (1, [])
            assert "has no ClusterNetwork" in done.stderr
            assert "(that is Calico)" in done.stderr

    @pytest.mark.parametrize(("resource", "verb", "role", "done_before"), [
        pytest.param("hostsubnets", "list", "system:sdn-reader", False, id="list"),
        pytest.param("nodes", "list", "system:sdn-reader", False, id="nodes"),
        pytest.param("clusternetworks", "get", "system:sdn-reader", False, id="clusternetworks"),
        pytest.param("hostsubnets", "create", "system:sdn-manager", False, id="create"),
        pytest.param("hostsubnets", "watch", "system:sdn-reader", True, id="watch"),
    ])
    def test_missing_right(self, still, resource, verb, role, done_before):
        """The right and the command that grants it; nothing half done without saying so."""
        still.kube.forbid(resource, (verb,))
        done = still.run(*CREATE)
        assert done.exit_code == 1
        assert f'cannot {verb} resource "{resource}"' in done.stderr
        command = f"oc adm policy add-cluster-role-to-user {role} system:serviceaccount:default:router"
        assert command in done.stderr
        assert (still.get() is not None, "is there, but" in done.stderr) == (done_before, done_before)

    def test_right_to_delete(self, still):
        still.ghost()
        still.kube.forbid("hostsubnets", ("delete",))
        done = still.run("delete", "--name", NAME)
        assert done.exit_code == 1
        assert "add-cluster-role-to-user system:sdn-manager" in done.stderr

    def test_reader_has_enough(self, lab):
        """system:sdn-reader may get ClusterNetworks but not list them."""
        lab.kube.forbid("clusternetworks", ("list", "watch"))
        assert lab.run(*CREATE).exit_code == 0

    def test_many_pages(self, still):
        """The lists are read to their end."""
        for number in range(501):
            still.node(f"node-{number:03}", ("InternalIP", f"10.3.{number // 250}.{number % 250}"))
        still.node("zebra", ("InternalIP", HOST_IP))
        assert "the Node zebra" in still.run(*CREATE).stderr

    def test_unreachable(self, still):
        still.kube.stop()
        done = still.run("show")
        assert (done.exit_code, done.stderr.startswith("error: GET ")) == (1, True)

    def test_wrong_token(self, still):
        still.kube.token = "other"
        done = still.run("show")
        assert done.exit_code == 1
        assert "credentials are missing, expired" in done.stderr

    @pytest.mark.parametrize("option", ["--kubeconfig", "--config"])
    def test_no_kubeconfig(self, option, tmp_path):
        done = CliRunner().invoke(main, ["show", option, str(tmp_path / "none")])
        assert (done.exit_code, "does not exist" in done.stderr) == (2, True)

    def test_context(self, still):
        assert still.run("show", "--context", "fake").exit_code == 0
        assert still.run("show", "--context", "other").exit_code == 2


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
