"""decode.py: Nodes, and what shows the network of the cluster."""

import pytest

from f5router.kube.api import decode
from f5router.model.cluster import (
    Key,
    Node,
)
from tests.rows import rows


def test_node():
    result = decode.node({
        "metadata": {"name": "n1", "uid": "u", "labels": {"zone": "a"},
                     "creationTimestamp": "2026-01-01T00:00:00Z",
                     "annotations": {"k8s.ovn.org/node-subnets": "{}", "other": "x"}},
        "spec": {"podCIDR": "10.128.0.0/23", "podCIDRs": ["10.128.0.0/23", 5], "unschedulable": True},
        "status": {
            "addresses": [
                {"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "192.0.2.1"},
                {"type": "InternalIP", "address": "FD00::1"}, {"type": "InternalIP", "address": "bad"}],
            "conditions": [{"type": "Ready", "status": "Unknown"}]}})
    assert result == Node(Key("", "n1"), "u", ("192.0.2.1", "fd00::1"), False, True,
                         ("10.128.0.0/23",), "{}", "2026-01-01T00:00:00Z")


@rows(("annotations", "others"), [
    pytest.param({"host-cidrs": '["192.0.2.1/24","10.9.0.1/16","fd00::1/64"]'}, ("10.9.0.1", "fd00::1"),
                 id="CIDRs"),
    pytest.param({"host-addresses": '["192.0.2.1","10.9.0.1"]'}, ("10.9.0.1",), id="addresses, older"),
    pytest.param({"host-cidrs": '["10.8.0.1/16"]', "host-addresses": '["10.9.0.1"]'}, ("10.8.0.1",),
                 id="both"),
    pytest.param({"host-cidrs": "["}, (), id="no JSON"),
    pytest.param({"host-cidrs": "[" * 100_000}, (), id="too deep"),
    pytest.param({"host-cidrs": '{"a": 1}'}, (), id="no list"),
    pytest.param({"host-cidrs": '["x", 5, null, "10.9.0.1/16"]'}, ("10.9.0.1",), id="odd entries"),
    pytest.param({"host-cidrs": 5}, (), id="no text"),
    pytest.param({}, (), id="none"),
])
def test_other_addresses_of_a_node(annotations, others):
    given = {f"k8s.ovn.org/{name}": text for name, text in annotations.items()}
    result = decode.node({
        "metadata": {"name": "n1", "annotations": given},
        "status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.1"}]}})
    assert result.other_ips == others


@pytest.mark.parametrize(("spec", "cidrs"), [
    pytest.param({"podCIDR": "10.128.0.0/23"}, ("10.128.0.0/23",), id="only the old field"),
    pytest.param({"podCIDR": 5, "podCIDRs": 5}, (), id="odd"),
    pytest.param({}, (), id="none"),
])
def test_node_networks(spec, cidrs):
    result = decode.node({"metadata": {"name": "n1"}, "spec": spec})
    assert (result.pod_cidrs, result.ready, result.unschedulable) == (cidrs, True, False)


@pytest.mark.parametrize(("obj", "wanted"), [
    ({"hostIP": "192.0.2.1", "subnet": "10.1.0.0/23"}, ("192.0.2.1", "10.1.0.0/23")),
    ({"hostIP": "x", "subnet": 7}, ("", "")), ({}, ("", "")),
])
def test_host_subnet(obj, wanted):
    """Fields of a wrong type have their neutral value."""
    result = decode.host_subnet({"metadata": {"name": "f5"}, **obj})
    assert (result.key.name, result.host_ip, result.subnet) == ("f5", *wanted)


@pytest.mark.parametrize(("obj", "wanted"), [
    ({"network": "10.128.0.0/14"}, ("10.128.0.0/14",)),
    ({"network": "10.1.0.0/16", "clusterNetworks": [{"CIDR": "10.1.0.0/16"}, {"CIDR": "10.2.0.0/16"}]},
     ("10.1.0.0/16", "10.2.0.0/16")),
    ({"network": None, "clusterNetworks": "x"}, ()),
])
def test_cluster_network(obj, wanted):
    assert decode.cluster_network({"metadata": {"name": "default"}, **obj}).networks == wanted


@pytest.mark.parametrize(("given", "port"), [
    pytest.param({}, 4789, id="none"), pytest.param({"vxlanPort": None}, 4789, id="null"),
    pytest.param({"vxlanPort": 8472}, 8472, id="another"), pytest.param({"vxlanPort": 0}, 4789, id="no port"),
    pytest.param({"vxlanPort": "8472"}, 4789, id="a text"),
])
def test_port_of_the_cluster_network(given, port):
    """openshift/api: network/v1, ClusterNetwork: an integer from 1 to 65535, 4789 if unset."""
    assert decode.cluster_network({"metadata": {"name": "default"}, **given}).vxlan_port == port


@rows(("spec", "expected"), [
    pytest.param({"cidr": "10.244.7.64/26", "node": "n1", "state": "confirmed", "deleted": "false"},
                 ("n1", ("10.244.7.64/26",)), id="confirmed"),
    pytest.param({"cidr": "10.244.7.64/26", "node": "n1"}, ("n1", ("10.244.7.64/26",)), id="no state"),
    pytest.param({"cidr": "10.244.7.64/26", "node": "n1", "type": "host"}, ("n1", ("10.244.7.64/26",)),
                 id="host"),
    pytest.param({"cidr": "10.244.7.64/26", "node": "n1", "type": "virtual"}, None, id="of no host"),
    pytest.param({"cidr": "10.244.7.64/26", "node": "n1", "state": "pending"}, None, id="pending"),
    pytest.param({"cidr": "10.244.7.64/26", "node": "n1", "deleted": "true"}, None, id="deleted, text"),
    pytest.param({"cidr": "10.244.7.64/26", "node": "n1", "deleted": True}, None, id="deleted"),
    pytest.param({"cidr": 5, "node": "n1"}, None, id="odd network"),
    pytest.param({"cidr": "10.244.7.64/26", "node": ["n1"]}, None, id="odd Node"),
    pytest.param("odd", None, id="odd"),
])
def test_block_affinities(spec, expected):
    result = decode.block_affinity({"metadata": {"name": "n1-10-244-7-64-26"}, "spec": spec})
    assert (result and (result.node, result.networks)) == expected


@rows(("ipam", "networks"), [
    pytest.param({"podCIDRs": ["10.0.1.0/24", "fd00::/64"]}, ("10.0.1.0/24", "fd00::/64"), id="one pool"),
    pytest.param({"pools": {"allocated": [{"pool": "a", "cidrs": ["10.1.0.0/27"]},
                                          {"pool": "b", "cidrs": ["10.2.0.0/27", 5]}, "odd"]}},
                 ("10.1.0.0/27", "10.2.0.0/27"), id="several pools"),
    pytest.param({"podCIDRs": ["10.0.1.0/24"], "pools": {"allocated": [{"cidrs": ["10.0.1.0/24"]}]}},
                 ("10.0.1.0/24",), id="twice"),
    pytest.param({"podCIDRs": "odd", "pools": []}, (), id="odd"),
    pytest.param({"podCIDRs": [f"10.{n >> 8}.{n & 255}.0/24" for n in range(2000)]},
                 tuple(f"10.{n >> 8}.{n & 255}.0/24" for n in range(1000)), id="many"),
    pytest.param(None, (), id="none"),
])
def test_cilium_nodes(ipam, networks):
    result = decode.cilium_node({"metadata": {"name": "n1"}, "spec": {"ipam": ipam}})
    assert (result.key, result.node, result.networks) == (Key("", "n1"), "n1", networks)
