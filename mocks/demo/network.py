"""The BIG-IP as a host of the pod network: read from its REST interface and from the cluster's."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mocks.demo.api import Api

TUNNEL, PROFILE = "vxlan5000", "vxlan-ose"


@dataclass(frozen=True, slots=True)
class Network:
    """The VxLAN device; "" and 0 for what is not there."""

    profile: str = ""
    """Flooding and UDP port of the VxLAN profile."""
    tunnel: str = ""
    """VNID and local address."""
    self_ip: str = ""
    """Self IP of the tunnel, with its prefix length."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Endpoints of the FDB by MAC address, each with the Node that has the address: "10.3.89.1 node-1"."""


def read_network(cluster: Api, device: Api) -> Network:
    """Raises: requests.RequestException."""
    profile = device.get(f"/mgmt/tm/net/tunnels/vxlan/~Common~{PROFILE}")
    tunnel = device.get(f"/mgmt/tm/net/tunnels/tunnel/~Common~{TUNNEL}")
    addresses = [item["address"] for item in device.get("/mgmt/tm/net/self").get("items", [])
                 if item["vlan"] == f"/Common/{TUNNEL}"]
    records = device.get(f"/mgmt/tm/net/fdb/tunnel/~Common~{TUNNEL}/records").get("items", [])
    endpoints = {record["name"]: record["endpoint"].split("%")[0] for record in records}
    names = _names(cluster)
    return Network(
        profile=f"{profile['floodingType']}, UDP port {profile['port']}",
        tunnel=f"VNID {tunnel['key']}, from {tunnel['localAddress'].split('%')[0]}",
        self_ip=", ".join(addresses),
        nodes={mac: f"{ip} {names.get(ip, '-')}" for mac, ip in sorted(endpoints.items())},
    )


def _names(cluster: Api) -> dict[str, str]:
    """Nodes by address."""
    return {address["address"]: node["metadata"]["name"]
            for node in cluster.get("/api/v1/nodes")["items"]
            for address in node.get("status", {}).get("addresses", ())}
