"""`f5router doctor` and `plan` where Routes have no pod that answers, or the BIG-IP no way to it."""

import json
from contextlib import ExitStack

import pytest

from f5router.kube.api.connection import connect
from f5router.kube.settings import KubeSettings
from f5router.kube.watch import single_reads
from mocks.kube import FakeKube
from tests import manifests
from tests.feature.conftest import Lab
from tests.feature.test_doctor import checks, doctor
from tests.feature.test_preflight import document, plan
from tests.rows import rows

NODEPORT = {"pool_member_type": "nodeport"}
ROUTES, SERVICES = 18, 12


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Services without node ports, some with two Routes; each test leaves them as they were."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("site"))
        lab.virtuals(sourceAddressTranslation={"type": "automap"})
        lab.apply(manifests.node("n1", "10.3.89.1"))
        for n in range(SERVICES):
            lab.apply(*manifests.service("shop", f"s{n}", pods=(f"10.128.0.{n + 1}",)))
        for n in range(ROUTES):
            lab.apply(manifests.route(f"r{n}", host=f"r{n}.example.com", service=f"s{n % SERVICES}"))
        assert lab.converge() == []
        yield lab


def of_pools(lab, *states: str, **flags: str) -> list[str]:
    return [text for _, check, text in checks(doctor(lab, "-o", "json", **flags), *states)
            if check == "pools"]


def of_way(lab, *states: str, **flags: str) -> list[str]:
    return [text for _, check, text in checks(doctor(lab, "-o", "json", **flags), *states)
            if check == "way to the pods"]


def test_plan_with_node_ports(site):
    """The problem has the numbers, and what `run` does instead; the exit status is 1."""
    result = plan(site, **NODEPORT)
    assert ("12 pools lose their last member: 18 Routes would answer 503; --pool-member-type=nodeport, and "
            "no Service of theirs has a node port; `run` lets them keep their pods until one has"
            ) in " ".join(result.stdout.split())
    assert result.exit_code == 1


def test_plan_where_it_is_allowed(site):
    (problem,) = document(site, allow_mass_delete="true", **NODEPORT)["problems"]
    assert "12 pools lose their last member: 18 Routes would answer 503" in json.dumps(problem)
    assert "keep their pods" not in json.dumps(problem)


def test_plan_with_a_selector_that_chooses_no_node(site):
    problems = json.dumps(document(site, node_label_selector="tier=none", **NODEPORT)["problems"])
    assert "no Node has the labels of --node-label-selector tier=none" in problems
    assert "12 pools lose their last member: 18 Routes would answer 503; --pool-member-type=nodeport, and " \
        "no Node is a member" in problems


def test_plan_without_pods_is_a_warning(site):
    """A team that has no pod must not make the administrator's check fail."""
    site.apply(manifests.endpoints("shop", "s0", ()))
    try:
        result = document(site)
    finally:
        site.apply(manifests.endpoints("shop", "s0", ("10.128.0.1",)))
    assert result["problems"] == []
    (text,) = result["warnings"]
    assert text.startswith("1 pool loses its last member: 2 Routes would answer 503; Route shop/")
    assert text.endswith("Service s0 has no ready endpoints, and no others: it selects no pod that runs "
                         "(NoEndpoints 2)")


def test_plan_is_well(site):
    result = document(site)
    assert (result["problems"], result["warnings"]) == ([], [])


def test_doctor_with_node_ports(site):
    (text,) = of_pools(site, "failure", **NODEPORT)
    assert text.startswith("no Service has a node port: 12 pools lose their last member: 18 Routes would")
    assert "kubectl patch service NAME" in text


def test_doctor_where_one_service_has_no_node_port(site):
    """A warning if nothing that is served is taken away by it."""
    for n in range(SERVICES):
        site.apply(manifests.published("shop", f"s{n}", ports=(("http", 8080, 30080 + n),))[0])
    site.apply(*manifests.service("shop", "new", pods=("10.128.9.1",)),
               manifests.route("new", host="new.example.com", service="new"))
    try:
        (text,) = of_pools(site, "warning", **NODEPORT)
        assert of_pools(site, "failure", **NODEPORT) == []
    finally:
        site.kube.delete("Route", "shop", "new")
        for n in range(SERVICES):
            site.apply(manifests.service("shop", f"s{n}")[0])
    assert text.startswith("1 pool has no member: 1 Route would answer 503; --pool-member-type=nodeport")


def set_state(lab, state: str, count: int = SERVICES) -> None:
    for n in range(count):
        member = f"ltm/pool/~Common~openshift_shop_s{n}/members/~Common~10.128.0.{n + 1}:8080"
        lab.change("PATCH", member, {"state": state})


def test_doctor_counts_members_that_are_up(site):
    assert of_pools(site, "ok") == ["members are up in each of 12 that are checked; "]
    set_state(site, "user-down", count=3)
    try:
        (text,) = of_pools(site, "warning")
        set_state(site, "user-down")
        (failed,) = of_pools(site, "failure")
    finally:
        set_state(site, "user-up")
    assert text.startswith("no member is up in 3 pools of 12, the first /Common/openshift_shop_s0")
    assert failed.startswith("no member of any pool is up: 12 pools, the first /Common/openshift_shop_s0")
    assert "tmsh show ltm pool /Common/openshift_shop_s0 members" in failed


def test_doctor_where_the_way_is_missing(site):
    """No monitor reaches a pod, and no network or route of the BIG-IP leads there."""
    set_state(site, "user-down")
    try:
        (text,) = of_way(site, "warning")
        assert of_way(site, "ok") == []
        assert of_way(site, "ok", f5_static_routes="true") == []  # no Node has a network of pods
    finally:
        set_state(site, "user-up")
    assert text.startswith("it is probably missing: the settings make none")
    assert "towards the pods 10.128.0.1, 10.128.0.10, 10.128.0.11 and 9 more" in text
    assert "OpenShift SDN: set --f5-internal-address and --f5-vxlan-gateway-cidr" in text


@rows(("kind", "body"), [
    ("net/self", {"name": "near", "address": "10.128.0.213/16", "vlan": "/Common/internal"}),
    ("net/route", {"name": "pods", "network": "10.128.0.0/14", "gw": "10.3.89.1"}),
])
def test_doctor_where_the_device_has_a_way(site, kind, body):
    site.bigip.put_object("net/self", {"name": "nodes", "partition": "Common", "address": "10.3.89.5/24",
                                       "vlan": "/Common/internal"})
    site.bigip.put_object(kind, {**body, "partition": "Common"})
    set_state(site, "user-down")
    try:
        assert of_way(site, "warning") == []
        (text,) = of_way(site, "ok")
    finally:
        set_state(site, "user-up")
        site.change("DELETE", f"{kind}/~Common~{body['name']}")
        site.change("DELETE", "net/self/~Common~nodes")
    assert "the BIG-IP has self IPs or routes towards all pods" in text


def test_doctor_where_monitors_reach_pods(site):
    """Whatever routes the BIG-IP has, as those that it learns by BGP."""
    assert of_way(site, "ok") == ["the settings make none, and the BIG-IP's monitors reach pods; "]


@pytest.mark.parametrize(("annotations", "served", "plugin"), [
    ({"k8s.ovn.org/node-subnets": "{}"}, True, single_reads.OVN),
    ({"flannel.alpha.coreos.com/backend-type": "vxlan"}, True, single_reads.FLANNEL),
    ({"projectcalico.org/IPv4Address": "10.3.89.1/24"}, True, single_reads.CALICO),
    ({"network.cilium.io/ipv4-pod-cidr": "10.0.0.0/24"}, True, single_reads.CILIUM),
    ({"io.cilium.network.ipv4-pod-cidr": "10.0.0.0/24"}, True, single_reads.CILIUM),
    ({}, True, single_reads.OPENSHIFT_SDN), ({}, False, ""),
])
def test_plugins(annotations, served, plugin, tmp_path):
    with FakeKube(network_api="group" if served else "none") as kube:
        kube.write_kubeconfig(tmp_path / "config")
        node = manifests.node("n1", "10.3.89.1")
        node["metadata"]["annotations"] = annotations
        kube.apply(node)
        connection = connect(KubeSettings(kubeconfig=str(tmp_path / "config")))
        assert single_reads.network_plugin(connection) == plugin
        kube.forbid("nodes", ("list",))
        assert single_reads.network_plugin(connection) == (single_reads.OPENSHIFT_SDN if served else "")
