"""ghost-hostsubnet on clusters of several kinds, with and without rights."""

import pytest
import yaml
from click.testing import CliRunner

from ghost_hostsubnet.__main__ import main
from mocks.kube import FakeKube
from mocks.kube.sdn import ASSIGN
from tests.feature.ghost_hostsubnet.conftest import CREATE, HOST_IP, NAME, Lab, cluster
from tests.waiting import DEADLINE_S


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
            kube.withdraw("cilium.io", "crd.projectcalico.org")
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
