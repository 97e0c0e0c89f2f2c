"""ghost-hostsubnet create."""

import json

import pytest
import yaml

from mocks.kube.sdn import ASSIGN, FIXED_VNID
from tests.feature.ghost_hostsubnet.conftest import CREATE, HOST_IP, NAME, cluster
from tests.waiting import DEADLINE_S


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
        assert "already exists; nothing to do" in second.stderr

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
