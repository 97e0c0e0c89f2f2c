"""Facts about the device besides our own objects: versions, virtual servers, tunnels, addresses.

The administrator made them; they decide what the router may write.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VirtualFacts:
    """What the administrator put on a virtual server, as far as it decides what we may do."""

    path: str
    exists: bool = True
    port: int = 0
    """Of the destination; 0 for any."""
    http: bool = True
    """Carries an http profile."""
    client_ssl: tuple[str, ...] = ()
    """Client SSL profiles that are not ours."""
    sni_defaults: tuple[str, ...] = ()
    """Those among client_ssl with sniDefault true."""
    server_ssl: tuple[str, ...] = ()
    """Server SSL profiles that are not ours."""
    original_client_ssl: tuple[tuple[str, str], ...] = ()
    """Server name and full path of the original router's client SSL profiles, which are not the
    administrator's."""
    original_server_ssl: tuple[str, ...] = ()
    """The original router's server SSL profiles."""
    snat: str = "none"
    """Source address translation: none, automap, snat or lsn."""
    snat_pool: str = ""
    """Full path, of snat and lsn."""
    snat_addresses: frozenset[str] = frozenset()
    """Addresses of the SNAT pool; read only where VxLAN is configured."""

    @property
    def encrypts(self) -> bool:
        """True if requests are encrypted towards every pod unless an iRule prevents it."""
        return bool(self.server_ssl or self.original_server_ssl)


@dataclass(frozen=True, slots=True)
class TunnelFacts:
    """Our tunnel, or one of another router or an administrator that has self IPs in our route domain."""

    path: str
    local_address: str
    """"" where it is not set."""
    addresses: tuple[str, ...] = ()
    """CIDRs of those self IPs, without route domain."""


@dataclass(frozen=True, slots=True)
class OriginalFacts:
    """What is still as the original router made it, besides the profiles of a virtual server."""

    irule: bool = False
    """names.PASSTHROUGH_IRULE has its text."""
    reencrypt: frozenset[tuple[str, str]] = frozenset()
    """Host and pool of each Rule of its own that leads to pods with TLS."""
    passthrough: tuple[tuple[str, str], ...] = ()
    """Records of its data-group in /Common, where the router's own is in another folder."""


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What was read of the device besides our own objects; an input of desired.build."""

    version: tuple[int, ...] = (14, 1, 2)
    http: VirtualFacts | None = None
    """None: no such virtual server is configured."""
    https: VirtualFacts | None = None
    vxlan_port: int = 0
    """Of our VxLAN profile, 0 without one."""
    tunnels: tuple[TunnelFacts, ...] = ()
    """Read only where VxLAN is configured."""
    own_addresses: frozenset[str] = frozenset()
    """Where the device itself answers: our virtual servers, self IPs, management; in canonical form."""
    unread_addresses: tuple[str, ...] = ()
    """Which of them could not be read, and why."""
    original: OriginalFacts = OriginalFacts()
