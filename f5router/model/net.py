"""BIG-IP objects that join the device to the cluster network: VxLAN device, FDB, source addresses; routes.

Frozen values like those of bigip.py. Names and fields of the VxLAN are the original router's
(openshift/origin v3.11.0, pkg/router/f5/f5.go: ensureVxLANTunnel, AddVtep); it had no routes.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from f5router.model.cluster import VXLAN_PORT
from f5router.model.objects import BigIPObject, NamedObject, Ref


@dataclass(frozen=True, slots=True)
class VxlanProfile(NamedObject):
    """What a tunnel speaks."""

    KIND: ClassVar[str] = "net/tunnels/vxlan"
    port: int = VXLAN_PORT
    """UDP; the same on every Node."""
    flooding: str = "multipoint"
    """ARP requests go to every FDB record's endpoint; so the device learns the pods' addresses."""


@dataclass(frozen=True, slots=True)
class Tunnel(NamedObject):
    """The BIG-IP's own end of the VxLAN."""

    KIND: ClassVar[str] = "net/tunnels/tunnel"
    profile: str
    """Full path; the device cannot change it (bigip-behaviour.md B9)."""
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
    """With the length of the cluster network's prefix; the device cannot change it."""
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
    """Another end of the VxLAN: a Node."""

    KIND: ClassVar[str] = "net/fdb/tunnel/record"
    tunnel: str
    """Full path."""
    mac: str
    """In lower case."""
    endpoint: str
    """Canonical address, without route domain."""

    @property
    def ref(self) -> Ref:
        return Ref(self.KIND, f"{self.tunnel}/records/{self.mac}")

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(Tunnel.KIND, self.tunnel),)


@dataclass(frozen=True, slots=True)
class SourceTranslation(BigIPObject):
    """Which source address a virtual server gives to connections to its pools."""

    KIND: ClassVar[str] = "ltm/virtual/source-address-translation"
    virtual: str
    """Full path."""
    type: str
    """automap, snat, lsn or none."""
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """The self IP, whose address automap takes."""

    @property
    def ref(self) -> Ref:
        return Ref(self.KIND, self.virtual)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return tuple(self.extra_dependencies)


@dataclass(frozen=True, slots=True)
class StaticRoute(NamedObject):
    """The way to the pods of one Node; its name contains the network, so no two lead to one network.

    See `names.pod_route`.
    """

    KIND: ClassVar[str] = "net/route"
    network: str
    """Canonical CIDR without route domain; the device cannot change it (bigip-behaviour.md B9)."""
    gateway: str
    """Canonical address of the Node without route domain; "" in what is read, where it has none."""
