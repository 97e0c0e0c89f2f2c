"""docs/deploy for a BIG-IP in the cluster network: the lines for it, the rights of system:sdn-reader."""

from contextlib import ExitStack

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import manifests
from tests.e2e import deployment
from tests.e2e.deployment import Pod
from tests.e2e.site import Site
from tests.feature.sdn import MACS, PROFILE, TUNNEL, device, fdb, sdn

USED = [("", "nodes", "list"), ("", "nodes", "watch"),
        ("network.openshift.io", "hostsubnets", "list"), ("network.openshift.io", "hostsubnets", "watch"),
        ("network.openshift.io", "clusternetworks", "get")]
"""Rights of system:sdn-reader that the router needs."""
ADDRESS, GATEWAY = "10.3.89.213", "10.131.0.5/14"


@pytest.fixture
def site(tmp_path):
    with ExitStack() as stack:
        new_site = Site(stack, tmp_path)
        new_site.load()
        sdn(new_site)
        yield new_site


def reader(granted: list[tuple[str, str, str]]) -> dict:
    """system:sdn-reader with these rights."""
    rules = [{"apiGroups": [group], "resources": [kind], "verbs": [verb]} for group, kind, verb in granted]
    return manifests.sdn_reader() | {"rules": rules}


def objects(pod: Pod) -> dict[str, float]:
    """Our objects on the BIG-IP, by kind, as /metrics has them."""
    families = {family.name: family for family in text_string_to_metric_families(pod.get("/metrics").text)}
    return {sample.labels["kind"]: sample.value for sample in families["f5router_objects"].samples}


def test_the_lines_are_there():
    """Comments in the Deployment, which are the two settings and nothing else when they are none."""
    plain = {item["name"]: item["value"] for item in deployment.container()["env"]}
    whole = {item["name"]: item["value"] for item in deployment.container(vxlan=True)["env"]}
    assert whole.items() - plain.items() == {
        ("ROUTER_EXTERNAL_HOST_INTERNAL_ADDRESS", ADDRESS), ("ROUTER_EXTERNAL_HOST_VXLAN_GW_CIDR", GATEWAY)}


def test_the_bigip_joins_the_cluster_network(site):
    """Ready, with tunnel, self IP and a record per Node; no request is refused."""
    pod = site.start(vxlan=True)
    pod.until(lambda: pod.get("/readyz").status_code == 200)
    assert fdb(site) == MACS
    items = device(site)
    assert items["net/tunnels/tunnel"]["localAddress"] == ADDRESS
    assert items["net/tunnels/tunnel"]["profile"] == PROFILE
    assert (items["net/self"]["address"], items["net/self"]["vlan"]) == (GATEWAY, TUNNEL)
    pod.until(lambda: site.status("plain") == "True")
    network = {kind: number for kind, number in objects(pod).items() if kind.startswith("net/")}
    assert network == {"net/tunnels/vxlan": 1, "net/tunnels/tunnel": 1, "net/self": 1,
                       "net/fdb/tunnel/record": 2}
    site.apply(manifests.node("n3", "10.3.89.3"))
    pod.until(lambda: len(fdb(site)) == 3)
    pod.until(lambda: objects(pod)["net/fdb/tunnel/record"] == 3)
    assert {entry.status for entry in site.kube.log} <= {200, 201}
    assert [line for line in pod.lines() if line["level"] == "error"] == []


@pytest.mark.parametrize("right", USED, ids=lambda right: f"{right[2]} {right[1]}")
def test_every_right_of_the_reader_is_needed(site, right):
    """Without one of them the log names it; Routes are served, and the router is ready all the same."""
    group, resource, verb = right
    site.apply(reader([other for other in USED if other != right]))
    pod = site.start(vxlan=True)
    words = f'cannot {verb} resource "{resource}" in API group "{group}"'
    pod.until(lambda: any(words in line.get("error", "") for line in pod.lines()))
    told = next(line["error"] for line in pod.lines() if words in line.get("error", ""))
    assert "system:sdn-reader system:serviceaccount:f5router:f5router" in told
    pod.until(lambda: pod.get("/readyz").status_code == 200)
    assert site.pool("www.example.com") == "/Common/openshift_shop_web"
    pod.until(lambda: site.status("plain") == "True")
    assert bool(fdb(site)) is ((resource, verb) != ("nodes", "list"))


def test_no_other_right_is_needed(site):
    """The rights that are looked at one by one above are enough."""
    site.apply(reader(USED))
    pod = site.start(vxlan=True)
    pod.until(lambda: pod.get("/readyz").status_code == 200 and fdb(site) == MACS)
    assert {entry.status for entry in site.kube.log} <= {200, 201}


def test_without_the_binding(site):
    """15-sdn-reader.yaml was forgotten: all is served but for the way to the pods, as the log says."""
    site.kube.delete("ClusterRoleBinding", None, "f5router-sdn-reader")
    pod = site.start(vxlan=True)
    pod.until(lambda: pod.get("/readyz").status_code == 200)
    assert fdb(site) == {}
    pod.until(lambda: site.status("plain") == "True")
    (told,) = (line["error"] for line in pod.lines() if line["level"] == "error")
    assert "add-cluster-role-to-user system:sdn-reader system:serviceaccount:f5router:f5router" in told


def test_wrong_settings_are_told(site):
    """The settings of the YAML are compared with the cluster's objects; the Routes are served."""
    site.apply(manifests.host_subnet("f5", ADDRESS, "10.129.0.0/23"))
    pod = site.start(vxlan=True)
    pod.until(lambda: pod.get("/readyz").status_code == 200)
    (told,) = (line["problem"] for line in pod.lines() if line["level"] == "error")
    assert "set for example 10.129.0.5/14" in told
