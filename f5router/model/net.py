"""Network objects of a BIG-IP as frozen values: VxLAN, FDB records, source addresses, static routes.

Names and fields of the VxLAN are the original router's
(openshift/origin v3.11.0, pkg/router/f5/f5.go: ensureVxLANTunnel, AddVtep); it had no routes.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from f5router.model.objects import BigIPObject, NamedObject, Ref

VXLAN_PORT = 4789
"""UDP port of VxLAN (RFC 7348 8), and of a ClusterNetwork without one."""


@dataclass(frozen=True, slots=True)
class VxlanProfile(NamedObject):
    """Encapsulation of a tunnel."""

    KIND: ClassVar[str] = "net/tunnels/vxlan"
    port: int = VXLAN_PORT
    """UDP port; the same on every Node."""
    flooding: str = "multipoint"
    """ARP requests go to the endpoint of every FDB record, so the device learns the pods' addresses."""


@dataclass(frozen=True, slots=True)
class Tunnel(NamedObject):
    """The BIG-IP's own end of the VxLAN."""

    KIND: ClassVar[str] = "net/tunnels/tunnel"
    profile: str
    """Full path; fixed once the tunnel exists (bigip-behaviour.md B9)."""
    local_address: str
    """The BIG-IP's address among the Nodes: hostIP of its HostSubnet."""
    key: int = 0
    """VNID 0, the global network of openshift-sdn."""
    remote_address: str = ""
    """"" for none: many other ends, those of the FDB."""
    mode: str = "bidirectional"
    mtu: int = 0
    tos: str = "preserve"
    transparent: str = "disabled"
    use_pmtu: str = "enabled"

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(VxlanProfile.KIND, self.profile),)


@dataclass(frozen=True, slots=True)
class SelfIP(NamedObject):
    """The BIG-IP's address in the cluster network, on the tunnel; its name is a CIDR, with the "/"."""

    KIND: ClassVar[str] = "net/self"
    address: str
    """CIDR with the prefix length of the cluster network; fixed once the self IP exists."""
    vlan: str
    """Full path of the tunnel."""
    allow_service: tuple[str, ...] = ("all",)
    traffic_group: str = "/Common/traffic-group-local-only"
    floating: str = "disabled"

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(Tunnel.KIND, self.vlan),)


@dataclass(frozen=True, slots=True)
class FDBRecord(BigIPObject):
    """Endpoint of the VxLAN at a Node."""

    KIND: ClassVar[str] = "net/fdb/tunnel/record"
    tunnel: str
    """Full path."""
    mac: str
    """In lower case."""
    endpoint: str
    """Canonical address, without route domain."""

    def _make_ref(self) -> Ref:
        return Ref(self.KIND, f"{self.tunnel}/records/{self.mac}")

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(Tunnel.KIND, self.tunnel),)


@dataclass(frozen=True, slots=True)
class SourceTranslation(BigIPObject):
    """Source address of a virtual server's connections to pool members."""

    KIND: ClassVar[str] = "ltm/virtual/source-address-translation"
    virtual: str
    """Full path."""
    type: str
    """automap, snat, lsn or none."""
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """Self IP whose address automap takes."""

    def _make_ref(self) -> Ref:
        return Ref(self.KIND, self.virtual)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return tuple(self.extra_dependencies)


@dataclass(frozen=True, slots=True)
class StaticRoute(NamedObject):
    """Route to the pods of one Node; its name contains the network, so no two lead to one network.

    See `names.pod_route`.
    """

    KIND: ClassVar[str] = "net/route"
    network: str
    """Canonical CIDR without route domain; fixed once the route exists (bigip-behaviour.md B9)."""
    gateway: str
    """Canonical address of the Node without route domain; "" in what is read, where it has none."""
    node: str = field(default="", compare=False)
    """Name of the Node; "" in what is read."""
