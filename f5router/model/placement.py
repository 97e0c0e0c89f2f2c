"""Where the router's own virtual servers are reached, and what of the administrator's is on them.

Everything here that is not set belongs to the administrator: the router neither writes nor compares it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from f5router.model.access_log import AccessLog
from f5router.model.objects import BigIPObject, Ref

EVERYWHERE = frozenset[str]()
"""VLANs of a virtual server that answers on all of them."""


@dataclass(frozen=True, slots=True)
class Reach:
    """VLANs and mirroring of a virtual server; None for what an administrator sets on the BIG-IP."""

    vlans: frozenset[str] | None = None
    """Full paths of the VLANs and tunnels on which clients are answered; EVERYWHERE for all."""
    mirrored: bool | None = None
    """True if the other unit of a pair knows the connections, which then survive a failover."""


UNMANAGED = Reach()
"""An administrator sets everything."""


@dataclass(frozen=True, slots=True)
class TransportProfiles:
    """Full paths of the administrator's profiles in place of the router's own; "" for the router's."""

    http: str = ""
    client_tcp: str = ""
    server_tcp: str = ""

    def paths(self) -> frozenset[str]:
        """Return those that are set."""
        return frozenset(filter(None, (self.http, self.client_tcp, self.server_tcp)))


class Reference(NamedTuple):
    """An object of the administrator's that a setting puts on a virtual server."""

    kind: str
    """Property of the virtual server: one of REFERENCE_KINDS."""
    path: str


RULES, PROFILES, LOG_PROFILES, FIREWALL = "rules", "profiles", "securityLogProfiles", "fwEnforcedPolicy"
REFERENCE_KINDS = (RULES, PROFILES, LOG_PROFILES, FIREWALL)
"""In the order of their references. Only the order of iRules among each other matters."""


def in_order(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """Return references so that equal ones are equal: by kind, iRules as they come, all others by path."""
    return tuple(sorted(references, key=lambda each: (
        REFERENCE_KINDS.index(each.kind), "" if each.kind == RULES else each.path)))


@dataclass(frozen=True, slots=True)
class References(BigIPObject):
    """Objects that settings have put on a virtual server, without those that somebody has put there."""

    KIND: ClassVar[str] = "ltm/virtual/references"
    virtual: str
    entries: tuple[Reference, ...]
    """As `in_order` returns them."""

    def _make_ref(self) -> Ref:
        return references_ref(self.virtual)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref("ltm/virtual", self.virtual),)


def references_ref(virtual: str) -> Ref:
    """Return the Ref of References."""
    return Ref(References.KIND, virtual)


ADDRESS = "ltm/virtual-address"


@dataclass(frozen=True, slots=True)
class FloatingAddress(BigIPObject):
    """The traffic group of the address of a virtual server.

    The BIG-IP creates and deletes virtual addresses with virtual servers. Another one of the same text may be
    somebody else's, in another folder or route domain, so an address is found by a virtual server on it.
    """

    KIND: ClassVar[str] = f"{ADDRESS}/traffic-group"
    virtual: str
    address: str
    """Canonical text, without route domain: where the virtual server is, or will be."""
    traffic_group: str
    """Full path."""

    def _make_ref(self) -> Ref:
        return floating_ref(self.virtual, self.address)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref("ltm/virtual", self.virtual),)


def floating_ref(virtual: str, address: str) -> Ref:
    """Return the Ref of a FloatingAddress."""
    return Ref(FloatingAddress.KIND, f"{virtual}/{address}")


@dataclass(frozen=True, slots=True)
class Placement:
    """Settings of a front end about the network around it, and of objects that it refers to."""

    reach: Reach = UNMANAGED
    access_log: AccessLog | None = None
    """None: no line is sent."""
    transport: TransportProfiles = TransportProfiles()
    traffic_group: str = ""
    """Full path; "" as the BIG-IP sets it: that of the folder."""
    references: tuple[Reference, ...] = ()
    """As `in_order` returns them."""
    one_connect: str = ""
    """Full path of the OneConnect profile among the references; "" for none."""

    @property
    def of_tcp(self) -> "Placement":
        """The settings of a virtual server that carries TCP of any kind: nothing that may need HTTP."""
        kept = (each for each in self.references if each.kind in (LOG_PROFILES, FIREWALL))
        return replace(self, access_log=None, references=tuple(kept), one_connect="")


UNPLACED = Placement()
"""An administrator sets everything."""
