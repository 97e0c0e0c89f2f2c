"""Virtual servers of the router's own: what the settings ask for, and the objects on the BIG-IP.

A virtual server comes up disabled. It is enabled by an object of its own, Listening, once everything is
attached to it: no client meets one without its TLS or its policies, whatever ends the router in between.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from f5router.model.client_tls import ClientValidation
from f5router.model.cluster import Key
from f5router.model.front_end_names import named
from f5router.model.objects import BigIPObject, NamedObject, Ref
from f5router.model.placement import UNMANAGED, UNPLACED, Placement, Reach, TransportProfiles

AUTOMAP, UNTRANSLATED = "automap", "none"
"""Source address translation: to a self IP of the VLAN on which the BIG-IP reaches the pod, or none. Another
text is the full path of a SNAT pool."""


@dataclass(frozen=True, slots=True)
class FrontEndServer:
    """One virtual server: an address and a port."""

    virtual: str
    """Full path."""
    address: str
    """Canonical text."""
    port: int
    secure: bool
    """True for HTTPS."""
    first: str
    """Full path of the virtual server of the first address, which has the same policies; perhaps itself."""
    connection_limit: int = 0
    """0 for none."""
    translation: str = AUTOMAP
    placement: Placement = UNPLACED
    front_end: str = ""
    """Name of its front end."""
    has_http: bool = True
    """False if it carries TCP of any kind."""

    @property
    def is_copy(self) -> bool:
        """True if it is on a further address."""
        return self.virtual != self.first


@dataclass(frozen=True, slots=True)
class FrontEndLimits:
    """Limits of the virtual servers of a front end; by default, those of a BIG-IP.

    Source: recordings of /Common/tcp and /Common/http; they are the same from 11.6 to 17.1.
    """

    connections: int = 0
    """Most connections of clients to each virtual server; 0 for no limit."""
    client_fin_s: int = 0
    """How long a connection to a client may be half closed, in seconds; 0: as the BIG-IP has it."""
    server_fin_s: int = 0
    """The same for connections to pods."""
    client_idle_s: int = 300
    """How long a connection of a client may be silent, in seconds."""
    connect_ms: int = 45_000
    """How long an attempt to connect to a pod may take, in milliseconds."""
    queue_ms: int = 5000
    """How long a connection waits for a pod that is at its limit, in milliseconds. Source: openshift/router:
    as long as for a connection to a pod, 5 s by default (HAProxy, timeout queue)."""
    header_bytes: int = 32768
    """Most bytes of all headers of a request."""
    header_count: int = 64
    """Most headers of a request."""
    head_ms: int = 0
    """How long the headers of a connection's first request may take, in milliseconds; 0 for no limit."""
    hello_ms: int = 0
    """The same for its ClientHello."""
    response_s: int = 0
    """How long a response is waited for, in seconds, where a Route says nothing; 0: as the TCP profiles."""
    tunnel_s: int = 0
    """The same for silence on a connection that carries no HTTP."""
    keep_alive_s: int = 0
    """How long a connection may be silent between two requests, in seconds; 0: as the TCP profiles."""

    @property
    def are_timed(self) -> bool:
        """True if an iRule is needed for them."""
        return any((self.head_ms, self.hello_ms, self.response_s, self.tunnel_s, self.keep_alive_s))


FACTORY = FrontEndLimits()
"""Limits that a BIG-IP has without settings."""


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """Addresses on which one set of Routes is served, by virtual servers that the router creates."""

    addresses: tuple[str, ...]
    """In canonical form, each once."""
    name: str = field(default="", kw_only=True)
    """"" for the one whose objects have no name of a front end in theirs."""
    http: str | None
    """Full path of the HTTP virtual server of the first address; None: nothing is served over HTTP."""
    https: str | None
    tcp: str | None = field(default=None, kw_only=True)
    """Full path of one that carries TCP of any kind, on the port for HTTP; then there is no other."""
    http_port: int = 80
    https_port: int = 443
    limits: FrontEndLimits = FACTORY
    translation: str = AUTOMAP
    placement: Placement = UNPLACED
    own_default: bool = False
    """True if a Route of hostnames.ANY brings the certificate for server names that no other one is for."""
    validation: ClientValidation | None = None
    """Validation of client certificates, in place of the router's settings."""
    unread: tuple[Key, ...] = ()
    """Owners of certificates whose server names are not known yet; see tls_names.certificate_owner."""
    any_depth: bool = False
    """True if wildcards of any depth may have their connections led by the server name, and TLS may end for
    connections without requests."""

    @property
    def first(self) -> str:
        """Full path of one of the virtual servers of the first address; "" for none."""
        return self.http or self.https or self.tcp or ""

    def listeners(self) -> Iterator[FrontEndServer]:
        """Yield the virtual servers, those of the first address first."""
        has_http = self.tcp is None
        around = self.placement if has_http else self.placement.of_tcp
        for number, address in enumerate(self.addresses, start=1):
            for first, port, secure in ((self.http or self.tcp, self.http_port, False),
                                        (self.https, self.https_port, True)):
                if first is not None:
                    yield FrontEndServer(numbered(first, number), address, port, secure, first,
                                         self.limits.connections, self.translation, around, self.name,
                                         has_http)


def listeners(front_ends: Iterable[FrontEnd]) -> tuple[FrontEndServer, ...]:
    """Return the virtual servers of all front ends."""
    return tuple(listener for front_end in front_ends for listener in front_end.listeners())


class FrontEndSet(NamedTuple):
    """All front ends of the router."""

    own: tuple[FrontEnd, ...] = ()
    """The one without a name; () if an administrator has made its virtual servers."""
    further: tuple[FrontEnd, ...] = ()

    def by_name(self) -> dict[str, FrontEnd]:
        """Return the front ends by their names."""
        return {each.name: each for each in (*self.own, *self.further)}


def numbered(first: str, number: int) -> str:
    """Return the full path of the virtual server on an address.

    A number and no address: when addresses come and go, virtual servers change theirs in place, and no name
    has to go before another may come.

    Args: number: place of the address in the settings, from 1.
    """
    return first if number == 1 else f"{first}_{number}"


FROM_PARENT: Mapping[str, int] = {
    "idleTimeout": 300, "synRtoBase": 3000, "synMaxRetrans": 3, "maxHeaderCount": 64}
"""Properties of profiles that come from the parent unless a setting asks for another value than these: the
BIG-IP's own. A description names those that a setting has set."""
SETS = "sets "
"""Word before their names."""


@dataclass(frozen=True, slots=True)
class TCPProfile(NamedObject):
    """TCP towards the clients, or towards the pods; it has everything else from its parent."""

    KIND: ClassVar[str] = "ltm/profile/tcp"
    parent: str = "/Common/tcp"
    half_closed_s: tuple[int, int, int] = (5, 300, 5)
    """Limits of the states FIN_WAIT_1, FIN_WAIT_2 and CLOSE_WAIT, in seconds."""
    idle_s: int = 300
    syn_ms: int = 3000
    """How long the answer to the first SYN is waited for, in milliseconds; then twice as long, and so on."""
    syn_retries: int = 3
    """How often a SYN is sent again."""

    @property
    def times(self) -> dict[str, int]:
        """Return the properties of FROM_PARENT."""
        return {"idleTimeout": self.idle_s, "synRtoBase": self.syn_ms, "synMaxRetrans": self.syn_retries}

    @property
    def use(self) -> str:
        """Return the end of the description."""
        return _set_names(self.times)


@dataclass(frozen=True, slots=True)
class HTTPProfile(NamedObject):
    """HTTP of clients and pods; it has everything else from its parent."""

    KIND: ClassVar[str] = "ltm/profile/http"
    parent: str = "/Common/http"
    header_bytes: int = 32768
    header_count: int = 64

    @property
    def use(self) -> str:
        """Return the end of the description."""
        return _set_names({"maxHeaderCount": self.header_count})


def _set_names(values: Mapping[str, int]) -> str:
    names = [name for name, value in values.items() if value != FROM_PARENT[name]]
    return f"{SETS}{' '.join(names)}" if names else ""


def profiles(folder: str, limits: FrontEndLimits = FACTORY,
             front_end: str = "") -> tuple[tuple[TCPProfile | HTTPProfile, str], ...]:
    """Return the profiles without which no virtual server is created, each with its context.

    Each side has a TCP profile of its own: one name on both sides is refused (bigip-behaviour.md B7).
    """
    def path(name: str) -> str:
        return f"{folder}/{named(name, front_end)}"

    client, server = path("openshift_client-tcp-profile"), path("openshift_server-tcp-profile")
    syn_ms, syn_retries = syn_times(limits.connect_ms)
    return (
        (replace(_tcp(client, limits.client_fin_s), idle_s=limits.client_idle_s), "clientside"),
        (replace(_tcp(server, limits.server_fin_s), syn_ms=syn_ms, syn_retries=syn_retries), "serverside"),
        (HTTPProfile(path("openshift_http-profile"), header_bytes=limits.header_bytes,
                     header_count=limits.header_count), "all"))


OWN_PROFILES = ("openshift_client-tcp-profile", "openshift_server-tcp-profile", "openshift_http-profile")
"""Names of the profiles that `profiles` returns, without that of a front end."""


def used_profiles(folder: str, transport: TransportProfiles, front_end: str = "", *,
                  has_http: bool = True) -> frozenset[tuple[str, str]]:
    """Return the full paths of TCP and HTTP profiles of a virtual server, each with its context."""
    client, server, http = (f"{folder}/{named(name, front_end)}" for name in OWN_PROFILES)
    client, server = transport.client_tcp or client, transport.server_tcp or server
    sides = {(client, "all")} if client == server else {(client, "clientside"), (server, "serverside")}
    return frozenset({*sides, (transport.http or http, "all")}) if has_http else frozenset(sides)


def _tcp(path: str, fin_s: int) -> TCPProfile:
    profile = TCPProfile(path)
    return replace(profile, half_closed_s=(fin_s, fin_s, fin_s)) if fin_s else profile


USUAL_SYN_MS, LONGEST_SYN_MS, MOST_SYN_RETRIES = 3000, 5000, 16
"""Default and greatest value of synRtoBase, greatest of synMaxRetrans. Source: F5Networks/f5-ansible,
bigip_profile_tcp."""
LONGEST_CONNECT_MS = LONGEST_SYN_MS * (2 ** (MOST_SYN_RETRIES + 1) - 1)


def syn_times(connect_ms: int) -> tuple[int, int]:
    """Return synRtoBase and synMaxRetrans with which a pod that does not answer is given up in time.

    The time between two SYNs doubles each time (clouddocs, LB_FAILED: 3, 6, 12 and 24 s). One SYN that is
    lost never fails a connection: at least one is sent again.

    Args: connect_ms: at most LONGEST_CONNECT_MS.
    """
    for retries in range(1, MOST_SYN_RETRIES + 1):
        base_ms = -(-connect_ms // (2 ** (retries + 1) - 1))
        if base_ms <= USUAL_SYN_MS:
            break
    return base_ms, retries


@dataclass(frozen=True, slots=True)
class VirtualServer(NamedObject):
    """A virtual server that the router has created; attachments are objects of their own."""

    KIND: ClassVar[str] = "ltm/virtual"
    address: str
    port: int
    profiles: frozenset[tuple[str, str]]
    """TCP and HTTP profiles by full path, with their context; those of an administrator whom no setting names
    are not among them."""
    translation: str = AUTOMAP
    connection_limit: int = 0
    """Most connections of clients at a time; 0 for no limit."""
    reach: Reach = UNMANAGED
    as_ours: bool = True
    """True if every other property that decides which requests come is as the router sets it."""
    is_adopted: bool = field(default=False, compare=False)
    """True if an administrator made it."""

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        own = self.path.rpartition("/")[0] + "/openshift_"
        return tuple(Ref(HTTPProfile.KIND if context == "all" else TCPProfile.KIND, path)
                     for path, context in sorted(self.profiles) if path.startswith(own))


@dataclass(frozen=True, slots=True)
class Listening(BigIPObject):
    """The router has enabled a virtual server. It stays so if an administrator disables it afterwards."""

    KIND: ClassVar[str] = "ltm/virtual/listening"
    virtual: str
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """The attachments without which no client may be answered."""

    def _make_ref(self) -> Ref:
        return listening_ref(self.virtual)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(VirtualServer.KIND, self.virtual), *self.extra_dependencies)


@dataclass(frozen=True, slots=True)
class DefaultPool(BigIPObject):
    """The pool of a virtual server that carries TCP of any kind: all of its connections go there."""

    KIND: ClassVar[str] = "ltm/virtual/pool"
    virtual: str
    pool: str
    """Full path."""
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """Attachments that act on the connections."""

    def _make_ref(self) -> Ref:
        return default_pool_ref(self.virtual)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(VirtualServer.KIND, self.virtual), Ref("ltm/pool", self.pool), *self.extra_dependencies)


def default_pool_ref(virtual: str) -> Ref:
    """Return the Ref of a DefaultPool."""
    return Ref(DefaultPool.KIND, virtual)


def listening_ref(virtual: str) -> Ref:
    """Return the Ref of a Listening."""
    return Ref(Listening.KIND, virtual)


# --- marks -------------------------------------------------------------------------------

MARK = "f5router"
"""Name of the entry in the metadata of the router's virtual servers."""
ADOPTED = "f5router-adopted"
"""Name of a further entry, in the metadata of those that an administrator made and the router took over."""
_STATES = {False: "being prepared", True: "in service"}
"""Value of that entry, and end of the description; True once the router has enabled it."""


def metadata_entry(*, listening: bool) -> dict[str, str]:
    """Return the entry."""
    return {"name": MARK, "value": _STATES[listening]}


def marked_description(description: str, *, listening: bool, adopted: bool = False) -> str:
    """Return the description with the mark. Args: description: see ownership.describer."""
    return f"{description}; {'adopted; ' if adopted else ''}{_STATES[listening]}"


def is_adopted(description: str, metadata: Iterable[tuple[str, str]]) -> bool:
    """True if an administrator made a virtual server of the router: it is given back, and never deleted."""
    ends = tuple(f"; adopted; {state}" for state in _STATES.values())
    return description.endswith(ends) or any(name == ADOPTED for name, _ in metadata)


def state_of(description: str, metadata: Iterable[tuple[str, str]]) -> bool | None:
    """Return whether the router has enabled a virtual server; None if it is not one of the router's.

    One of the two marks is enough: descriptions are edited by people, and metadata may be unknown to the
    device (bigip-behaviour.md B12.18).
    """
    values = [value for name, value in metadata if name == MARK]
    ours = description.startswith(f"managed by {MARK}")
    values += [state for state in _STATES.values() if ours and description.endswith(f"; {state}")]
    known = [value == _STATES[True] for value in values if value in _STATES.values()]
    return known[0] if known else None
