"""LTM objects of a BIG-IP as frozen values, and the desired or observed state of a device.

Desired and Observed are both a BigIPState: a mapping of Ref to object. Objects that REST nests (Rules in a
policy, records in a data-group, attachments of a virtual server) are separate here, so that one Route changes
a few small objects and `==` is the diff. The writers of `icontrol/` put them together again.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, NamedTuple, Self

from f5router.model import route_options
from f5router.model.access_log import RequestLog
from f5router.model.client_tls import TLSProperties
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, StaticRoute, Tunnel, VxlanProfile
from f5router.model.objects import BigIPObject, NamedObject, Ref
from f5router.model.placement import FloatingAddress, References
from f5router.model.request_match import PLAIN_SLOT
from f5router.model.route_options import HealthMonitor
from f5router.model.virtual_server import DefaultPool, HTTPProfile, Listening, TCPProfile, VirtualServer

MemberState = Literal["enabled", "disabled", "forced_offline"]
"""State of a pool member.

A disabled member keeps its connections and persistent clients, but gets no new ones. A member that is forced
offline keeps its connections only. Source: F5Networks/f5-ansible, bigip_pool_member.
"""


class PoolMember(NamedTuple):
    """Address and port of an endpoint, and its share of the pool's connections."""

    address: str
    """Canonical text without route domain."""
    port: int
    ratio: int = 1
    """Share of the connections, relative to those of the other members."""
    connection_limit: int = 0
    """Connections at a time; 0 for no limit."""
    state: MemberState = "enabled"
    priority_group: int = 0
    """Number of the Service by whose name the pod is verified, see names.BY_SERVICE; 0 for none.

    It has no effect on which member is chosen while the pool's min-active-members is 0, the default. Source:
    tmsh reference, ltm pool.
    """

    @property
    def name(self) -> str:
        """Name on the BIG-IP: 10.1.1.1:80, 2001:db8::1.80. Source: bigip-behaviour.md B3."""
        return f"{self.address}{'.' if ':' in self.address else ':'}{self.port}"


@dataclass(frozen=True, slots=True)
class Pool(NamedObject):
    """LTM pool of a Service port."""

    KIND: ClassVar[str] = "ltm/pool"
    monitor: str = ""
    """Monitor in the form that is read: "/Common/tcp", "min 1 of { /Common/a /Common/b }"; "" for none."""
    members: frozenset[PoolMember] = frozenset()
    """Ready endpoints; may be empty."""
    load_balancing: str = "round-robin"
    queue_ms: int = 0
    """How long a connection waits while every member is at its limit, in milliseconds; 0: it is refused."""
    reselect_tries: int = 3
    """How many other members are tried if one cannot be connected to.

    Source: openshift/router, haproxy-config.template: option redispatch, with HAProxy's default of 3 retries.
    """

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        """The monitor, if it is ours. A pool is written without one that is missing: see plan/diff.py."""
        kind = route_options.monitor_kind(self.monitor)
        return (Ref(kind, self.monitor),) if kind else ()


@dataclass(frozen=True, slots=True)
class Policy(NamedObject):
    """One of our LTM policies without its Rules, except the last rule, default_noop."""

    KIND: ClassVar[str] = "ltm/policy"
    strategy: str = "first-match"
    controls: frozenset[str] = frozenset({"forwarding"})
    requires: frozenset[str] = frozenset({"http"})
    noop: bool = True
    """True if default_noop exists, has no conditions, and comes after all Rules that may be added."""
    sets_pool_variable: bool = True
    """True if default_noop sets names.UNMATCHED_VARIABLE."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a Rule; its values are alternatives.

    Source: bigip-behaviour.md B4.
    """

    operand: str
    """httpHost, httpUri, httpHeader or httpMethod."""
    selector: str
    """host, path, pathSegment or queryParameter; all of a header or method."""
    operator: str
    """equals, startsWith or endsWith."""
    values: frozenset[str]
    index: int = 0
    """Number of a pathSegment, from 1."""
    case_sensitive: bool = False
    name: str = ""
    """Name of a header, in lower case, or of a queryParameter; "" without one."""


@dataclass(frozen=True, slots=True)
class Forward:
    """Action: load-balance to a pool."""

    pool: str
    sets_pool_variable: bool = True
    """True if a second action sets names.POOL_VARIABLE to the pool."""
    insecure: bool = False
    """True if another action sets names.INSECURE_VARIABLE."""
    http: str = ""
    """Name of a record in names.HTTP_GROUP, to which another action sets names.HTTP_VARIABLE; "" for none."""
    unbound: bool = False
    """True if another action sets names.STAY_VARIABLE: no client stays with a pod."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """Action: an answer that sends the client elsewhere."""

    location: str
    """URL; BIG-IP evaluates the text after "tcl:"."""
    status: int = 302


@dataclass(frozen=True, slots=True)
class CheckedRedirect:
    """Action: names.REQUEST_IRULE answers 302, once it has found the Host to be one label in Rule.suffix."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Conditions or an action that we never write, as read; differs from every desired one."""

    text: str


@dataclass(frozen=True, slots=True)
class Rule(BigIPObject):
    """Conditions and action of a Route in a policy."""

    KIND: ClassVar[str] = "ltm/policy/rule"
    policy: str
    """Full path."""
    name: str
    priority_band: int
    """Precedence: Rules of a smaller band come first; see names.priority_band."""
    conditions: frozenset[Condition] | Foreign
    """All must match."""
    action: Forward | Redirect | CheckedRedirect | Foreign
    ordinal: int = field(default=-1, compare=False)
    """As read from the device; plan/rule_order.py chooses it for what is wanted."""
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """Attachments and TLS records that must be in place first, besides policy and pool."""
    protection: frozenset[Ref] = field(default=frozenset(), compare=False)
    """Attachments that act on all requests of the virtual server, and must be in place first too: many Rules
    share one set in memory."""
    hosts: frozenset[str] = field(default=frozenset(), compare=False)
    """Hosts that the conditions name."""
    suffix: str = ""
    """Domain of a wildcard Host after a dot, which is passed to names.REQUEST_IRULE."""
    slot: int = 0
    """Its part of the band, see request_match.slot; 0 for all of it."""

    @property
    def rank(self) -> int:
        """Precedence: of two Rules that a request matches, the one with the smaller rank gets it."""
        return self.priority_band * (PLAIN_SLOT + 1) + self.slot

    def _make_ref(self) -> Ref:
        return rule_ref(self.policy, self.name)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        pool = (Ref(Pool.KIND, self.action.pool),) if isinstance(self.action, Forward) else ()
        return (Ref(Policy.KIND, self.policy), *pool, *self.extra_dependencies, *self.protection)


def rule_ref(policy: str, name: str) -> Ref:
    """Return the Ref of a Rule."""
    return Ref(Rule.KIND, f"{policy}/rules/{name}")


@dataclass(frozen=True, slots=True)
class DataGroup(NamedObject):
    """Internal data-group: without its records if of type string, with them if of type ip."""

    KIND: ClassVar[str] = "ltm/data-group/internal"
    type: str = "string"
    addresses: frozenset[str] = frozenset()
    """CIDRs that are the records of a data-group of type ip; they are written with it, in one request."""
    copied: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    """Name and data of records with which it is created, because it hides the data-group of the same name in
    /Common from the original router's iRule."""


@dataclass(frozen=True, slots=True)
class Record(BigIPObject):
    """One record of a data-group."""

    KIND: ClassVar[str] = "ltm/data-group/internal/record"
    group: str
    name: str
    data: str
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """Objects that the record names, and attachments that must be in place first."""

    def _make_ref(self) -> Ref:
        return record_ref(self.group, self.name)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(DataGroup.KIND, self.group), *self.extra_dependencies)


def record_ref(group: str, name: str) -> Ref:
    """Return the Ref of a Record."""
    return Ref(Record.KIND, f"{group}/records/{name}")


@dataclass(frozen=True, slots=True)
class IRule(NamedObject):
    """Tcl on a virtual server."""

    KIND: ClassVar[str] = "ltm/rule"
    text: str = field(repr=False, default="")
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """Data-groups that the text names."""

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return tuple(self.extra_dependencies)


@dataclass(frozen=True, slots=True)
class CertFile(NamedObject):
    """Certificate file; its name contains a hash of the content, so equal paths are equal files."""

    KIND: ClassVar[str] = "sys/file/ssl-cert"
    pem: str = field(default="", compare=False, repr=False)
    """Content; "" in what is read."""


@dataclass(frozen=True, slots=True)
class KeyFile(NamedObject):
    """Private key file, named like a CertFile but with .key at the end."""

    KIND: ClassVar[str] = "sys/file/ssl-key"
    pem: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CRLFile(NamedObject):
    """File with lists of revoked certificates, named like a CertFile but with .crl at the end."""

    KIND: ClassVar[str] = "sys/file/ssl-crl"
    pem: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ClientSSL(NamedObject):
    """Client SSL profile of one Host, or with the default certificate."""

    KIND: ClassVar[str] = "ltm/profile/client-ssl"
    PARENT: ClassVar[str] = "/Common/clientssl"
    server_name: str
    """"" for the default certificate."""
    cert: str
    """"" together with the key: those of the parent."""
    key: str
    chain: str = ""
    """Full paths of files; "" for none."""
    parent: str = PARENT
    sni_default: bool = False
    own_parent: bool = field(default=False, compare=False)
    """True if the parent is a ClientSSLParent."""

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        chain = (Ref(CertFile.KIND, self.chain),) if self.chain else ()
        pair = (Ref(CertFile.KIND, self.cert), Ref(KeyFile.KIND, self.key)) if self.cert else ()
        parent = (Ref(self.KIND, self.parent),) if self.own_parent else ()
        return (*pair, *chain, *parent)


@dataclass(frozen=True, slots=True)
class ClientSSLParent(NamedObject):
    """Client SSL profile on no virtual server, from which others have everything but their certificate.

    A device applies a change of it to its children: "Manual: BIG-IP System: SSL Administration", custom
    profiles; bigip-behaviour.md B8.
    """

    KIND: ClassVar[str] = ClientSSL.KIND
    parent: str
    properties: TLSProperties
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """Files that the properties name."""

    @classmethod
    def read(cls, path: str, parent: str, properties: TLSProperties) -> Self:
        """Return a profile of the device."""
        named = ((CertFile.KIND, properties.ca_file), (CertFile.KIND, properties.advertised_ca),
                 (CRLFile.KIND, properties.crl_file))
        return cls(path, parent, properties, frozenset(Ref(kind, file) for kind, file in named if file))

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return tuple(self.extra_dependencies)


@dataclass(frozen=True, slots=True)
class ServerSSL(NamedObject):
    """Server SSL profile: how TLS towards pods is verified."""

    KIND: ClassVar[str] = route_options.SERVER_SSL
    ca_file: str = ""
    """Full path of a CertFile; "": the pod's certificate is not verified."""
    authenticate_name: str = ""
    """Host name that the pod's certificate must carry; "": any."""
    parent: str = "/Common/serverssl"
    server_name: str = ""
    """Name that the pod is asked for; "": none."""

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(CertFile.KIND, self.ca_file),) if self.ca_file else ()


@dataclass(frozen=True, slots=True)
class HTTPCompression(NamedObject):
    """HTTP compression profile of ours, for all Routes."""

    KIND: ClassVar[str] = "ltm/profile/http-compression"
    content_types: frozenset[str]
    """Regular expressions."""
    as_ours: bool = True
    """True if every other property is as the router sets it."""


@dataclass(frozen=True, slots=True)
class Attachment(BigIPObject):
    """One of our policies, iRules or profiles on a virtual server; all others are the administrator's."""

    KIND: ClassVar[str] = "ltm/virtual/attachment"
    virtual: str
    kind: str
    """Property of the virtual server: policies, rules or profiles."""
    target: str
    """Full path of the attached object."""
    target_kind: str
    """Kind of the target's Ref."""
    context: str = ""
    """Context of a profile: clientside, serverside or all; "" for policies and iRules."""
    extra_dependencies: frozenset[Ref] = field(default=frozenset(), compare=False)
    """Records that must be in place before the attachment takes effect, besides the target."""
    replaces: str = field(default="", compare=False)
    """Full path of a profile that is detached in the same write, because a virtual server may have only one
    of its server name, or one with sniDefault: the original router's, or the administrator's default. As
    read, the latter, which takes its place again in the write that detaches this one; "" for none."""

    def _make_ref(self) -> Ref:
        return attachment_ref(self.virtual, self.kind, self.target)

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(self.target_kind, self.target), *self.extra_dependencies)


@functools.lru_cache(maxsize=256)
def attachment_ref(virtual: str, kind: str, target: str) -> Ref:
    """Return the Ref of an Attachment."""
    return Ref(Attachment.KIND, f"{virtual}/{kind}/{target}")


Object = (
    HealthMonitor | Pool | Policy | Rule | DataGroup | Record | IRule
    | CertFile | KeyFile | CRLFile | ClientSSL | ClientSSLParent | ServerSSL | HTTPCompression | Attachment
    | VxlanProfile | Tunnel | SelfIP | FDBRecord | SourceTranslation | StaticRoute
    | TCPProfile | HTTPProfile | RequestLog | VirtualServer | References | FloatingAddress | Listening
    | DefaultPool
)
BigIPState = Mapping[Ref, Object]
