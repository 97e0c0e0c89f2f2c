"""Findings about the device and the way to the pods that do not concern single Routes."""

from typing import Protocol

from f5router.desired import baseline, compression
from f5router.desired.cluster_state import ClusterState
from f5router.model.device_facts import DeviceFacts
from f5router.model.texts import Findings
from f5router.network import node_ports, refused_addresses, vxlan, vxlan_checks


class NetworkSettings(vxlan.VxlanSettings, Protocol):
    """The part of config.Config that is used here."""

    @property
    def nodeport(self) -> node_ports.NodePortConfig | None: ...


def network(config: NetworkSettings, cluster: ClusterState, facts: DeviceFacts) -> Findings:
    """Report the problems between settings, device, Nodes and cluster network."""
    view = vxlan_checks.ClusterNetworkView(cluster.nodes, cluster.host_subnets, cluster.networks)
    return (vxlan_checks.check(config, facts, view)
            + node_ports.findings(cluster.candidates, config.nodeport)
            + refused_addresses.findings(facts))


def virtual_servers(config: baseline.BaselineSettings, facts: DeviceFacts) -> Findings:
    """Report settings that have no effect because of what is on a virtual server."""
    return compression.findings(config.edge.compressed_types, facts)
