"""Facts about the device besides our own objects: versions, virtual servers, tunnels, addresses.

The administrator made them; they decide what the router may write.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from f5router.model.client_tls import TLSProperties


@dataclass(frozen=True, slots=True)
class VirtualFacts:
    """State of a virtual server, apart from our objects."""

    path: str
    exists: bool = True
    is_own: bool = False
    """True if the router has created it, or will: then it is described as it will be."""
    port: int = 0
    """Port of the destination; 0 for any."""
    address: str = field(default="", compare=False)
    """Address of the destination, without route domain; nothing on the device depends on it."""
    enabled: bool = field(default=True, compare=False)
    """False if somebody has disabled it; nothing that the router writes depends on it."""
    disabled_address: str = field(default="", compare=False)
    """Full path of its virtual address if that is disabled; read by commands alone."""
    http: bool = True
    """True if it has an http profile."""
    client_ssl: tuple[str, ...] = ()
    """Client SSL profiles that are not ours."""
    sni_defaults: tuple[str, ...] = ()
    """Those among client_ssl with sniDefault true."""
    server_names: frozenset[str] = frozenset()
    """Names in lower case for which these profiles have a certificate: their serverName."""
    replaced_client_ssl: str = ""
    """The administrator's client SSL profile whose place names.DEFAULT_CLIENTSSL has; "" if none is replaced.
    """
    default_properties: TLSProperties = field(default_factory=TLSProperties)
    """Those of default_client_ssl."""
    usual_suites: bool = False
    """True if it has the cipher suites of OpenShift's router where no setting asks for others."""
    server_ssl: tuple[str, ...] = ()
    """Server SSL profiles that are not ours."""
    compression: tuple[str, ...] = ()
    """HTTP compression profiles that are not ours."""
    original_client_ssl: tuple[tuple[str, str], ...] = ()
    """Server name and full path of the original router's client SSL profiles, which are not the
    administrator's."""
    original_server_ssl: tuple[str, ...] = ()
    """The original router's server SSL profiles."""
    snat: str = "none"
    """Source address translation: none, automap, snat or lsn."""
    snat_pool: str = ""
    """Full path of the pool of snat or lsn."""
    snat_addresses: frozenset[str] = frozenset()
    """Addresses of the SNAT pool; read only where VxLAN is configured."""

    @property
    def default_client_ssl(self) -> str:
        """The administrator's client SSL profile for clients without another; "" if that is not one."""
        defaults = self.sni_defaults or self.client_ssl
        return self.replaced_client_ssl or (defaults[0] if len(defaults) == 1 else "")

    @property
    def encrypts(self) -> bool:
        """True if requests are encrypted towards every pod unless an iRule prevents it."""
        return bool(self.server_ssl or self.original_server_ssl)


@dataclass(frozen=True, slots=True)
class TunnelFacts:
    """Our tunnel, or a foreign tunnel that has self IPs in our route domain."""

    path: str
    local_address: str
    """"" where it is not set."""
    addresses: tuple[str, ...] = ()
    """CIDRs of those self IPs, without route domain."""


@dataclass(frozen=True, slots=True)
class OriginalFacts:
    """Objects that the original router left, besides the profiles of a virtual server."""

    irule: bool = False
    """True if names.PASSTHROUGH_IRULE has the original router's text."""
    reencrypt: frozenset[tuple[str, str]] = frozenset()
    """Host and pool of each of its Rules for pods with TLS."""
    passthrough: tuple[tuple[str, str], ...] = ()
    """Records of its data-group in /Common, where the router's own is in another folder."""


class Doubt(NamedTuple):
    """Networks in which units of the BIG-IP that have not been read since the start may have addresses."""

    units: tuple[str, ...] = ()
    """Their names, each with the reason."""
    networks: frozenset[str] = frozenset()
    """CIDRs of the networks that the unit in use shares with them, without tunnels."""
    kept: frozenset[str] = frozenset()
    """Addresses in these networks that are pool members on the device already."""

    def covers(self, addresses: Iterable[str]) -> bool:
        """True if an address lies in one of the networks. Args: addresses: in canonical form."""
        networks = [ipaddress.ip_network(network) for network in self.networks]
        return any(ipaddress.ip_address(each) in network for each in addresses for network in networks)


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """Facts that an observation reads besides our own objects; an input of the desired state."""

    version: tuple[int, ...] = (14, 1, 2)
    unit: int = field(default=0, kw_only=True)
    """Which of the units of a pair it is, counted from 0 in the order of the settings."""
    http: VirtualFacts | None = None
    """None if no such virtual server is configured."""
    https: VirtualFacts | None = None
    further: tuple[VirtualFacts, ...] = field(default=(), kw_only=True)
    """The router's own virtual servers on further addresses, and those of further front ends."""
    foreign: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Full paths where somebody else's virtual server is and the router would create one."""
    prepared: frozenset[str] = field(default=frozenset(), kw_only=True)
    """Those of them to which something of the router is attached: an administrator has made them for it."""
    vxlan_port: int = 0
    """UDP port of our VxLAN profile; 0 without one."""
    tunnels: tuple[TunnelFacts, ...] = ()
    """Read only where VxLAN is configured."""
    floating_addresses: tuple[str, ...] = field(default=(), kw_only=True)
    """Floating self IPs of our route domain on other VLANs and tunnels than ours, likewise."""
    own_addresses: frozenset[str] = frozenset()
    """Addresses of the device itself in canonical form: our virtual servers, self IPs, management."""
    networks: frozenset[str] | None = field(default=None, kw_only=True)
    """Networks of the self IPs in our route domain, as canonical CIDRs; None if they are not read."""
    unread_addresses: tuple[str, ...] = ()
    """Those that could not be read, and why."""
    doubt: Doubt = field(default=Doubt(), kw_only=True)
    """Where units of the settings that were not read may have others."""
    original: OriginalFacts = OriginalFacts()
    client_ssl: TLSProperties = field(default_factory=TLSProperties)
    """Properties of /Common/clientssl."""
    tls_check_problem: str = field(default="", kw_only=True)
    """Why monitors cannot verify pods as requests do; "" if they can, or no setting asks for it."""
    missing_profiles: frozenset[str] = frozenset()
    """Full paths of the server SSL profiles that Routes may name and that are not there."""

    @property
    def virtuals(self) -> tuple[VirtualFacts, ...]:
        """Return the facts about all virtual servers of the settings."""
        return tuple(each for each in (self.http, self.https, *self.further) if each is not None)

    def of_front_end(self, http: str | None, https: str | None) -> "DeviceFacts":
        """Return the facts for a further front end, of which the original router has left nothing.

        Args: http, https: full paths of its virtual servers.
        """
        by_path = {each.path: each for each in self.further}
        return replace(self, http=by_path.get(http or ""), https=by_path.get(https or ""),
                       original=OriginalFacts())
