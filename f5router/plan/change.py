"""Changes of a Plan, and the stages in which they are written.

An object is created or updated before those that refer to it. Objects that are no longer wanted are deleted
afterwards, in the opposite order. A Route that moves from one policy or data-group to another is therefore
always in one of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import Generic, TypeGuard, TypeVar

from f5router.model import names, ownership, route_options
from f5router.model.access_log import RequestLog
from f5router.model.front_end_names import base_name, beside
from f5router.model.ltm import (
    Attachment,
    BigIPState,
    CertFile,
    ClientSSL,
    ClientSSLParent,
    CRLFile,
    DataGroup,
    HTTPCompression,
    IRule,
    KeyFile,
    Object,
    Policy,
    Pool,
    Record,
    Rule,
    ServerSSL,
    attachment_ref,
)
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, StaticRoute, Tunnel, VxlanProfile
from f5router.model.objects import Ref
from f5router.model.placement import FloatingAddress, References
from f5router.model.virtual_server import DefaultPool, HTTPProfile, Listening, TCPProfile, VirtualServer

T = TypeVar("T", bound=Object)
T_co = TypeVar("T_co", bound=Object, covariant=True)

CREATE, UPDATE, DELETE = "create", "update", "delete"


class Stage(IntEnum):
    """Place of a Change in a Plan; deletes pass the stages backwards.

    Changes of one stage do not refer to each other. Secure Rules come before insecure ones: a redirect to
    https must not be there before its target.
    """

    STATIC_ROUTE = auto()
    VXLAN_PROFILE = auto()
    TUNNEL = auto()
    SELF_IP = auto()
    FDB = auto()
    SOURCE_TRANSLATION = auto()
    CHECK_FILE = auto()
    """The CA file of a profile that a monitor has, where the monitor is written with it."""
    CHECK_PROFILE = auto()
    """That profile."""
    MONITOR = auto()
    POOL = auto()
    CONTAINER = auto()
    """Policies and data-groups without their contents, and certificate files."""
    CLIENT_CERTIFICATES = auto()
    """The iRule that lets no request pass without the client certificate which is asked for: a stricter text
    counts before profiles ask for more."""
    PARENT_PROFILE = auto()
    PROFILE = auto()
    """Profiles and iRules."""
    POD_TLS = auto()
    """Records that give pools their TLS or time-outs, say which clients get in, or whose a record is."""
    VIRTUAL_SERVER = auto()
    """The router's own virtual servers, which answer no client yet."""
    FLOATING_ADDRESS = auto()
    """The traffic groups of their addresses, which come with them."""
    ATTACHMENT = auto()
    CHECKED = auto()
    """The attachment of that iRule: behind the profiles that ask for the certificate, as it refuses clients
    who were not asked."""
    REFERENCE = auto()
    """References of virtual servers: an iRule of the administrator's may need profiles that are attached."""
    SERVER_NAME = auto()
    """Records of names for which a certificate is attached."""
    PASSTHROUGH_IRULE = auto()
    """The update of the original router's iRule, which turns TLS towards pods on and off."""
    EARLY_EXCLUSION = auto()
    """Records that except Hosts from a passthrough wildcard which serves none of their requests yet."""
    PASSTHROUGH = auto()
    DEFAULT_POOL = auto()
    """Pools of virtual servers that carry TCP of any kind."""
    ENDED_REDIRECT = auto()
    """Updates of Rules that redirect no more, when the Rule that they lead to is deleted early."""
    SECURE_RULE = auto()
    INSECURE_RULE = auto()
    POLICY_STRATEGY = auto()
    """The update of a policy: its strategy changes when the Rules are in place under either."""
    EXCLUSION = auto()
    """Records that except Hosts from a passthrough wildcard which serves them until their Rules are there."""
    COMPLETE = auto()
    """The records that say something about all others of a data-group: those are in place. So are the
    exceptions of a wildcard."""
    LISTENING = auto()
    """Virtual servers answer clients from now on, and stop first."""

    @property
    def is_network(self) -> bool:
        """True for the objects through which the BIG-IP reaches pods."""
        return self < Stage.CHECK_FILE

    @property
    def is_routing(self) -> bool:
        """True for objects that lead requests to pools, not for what these objects use."""
        return self >= Stage.PASSTHROUGH


_STAGES = {
    StaticRoute.KIND: Stage.STATIC_ROUTE, VxlanProfile.KIND: Stage.VXLAN_PROFILE, Tunnel.KIND: Stage.TUNNEL,
    SelfIP.KIND: Stage.SELF_IP, FDBRecord.KIND: Stage.FDB, SourceTranslation.KIND: Stage.SOURCE_TRANSLATION,
    **dict.fromkeys(route_options.MONITOR_TYPES, Stage.MONITOR), Pool.KIND: Stage.POOL,
    DataGroup.KIND: Stage.CONTAINER, CertFile.KIND: Stage.CONTAINER, KeyFile.KIND: Stage.CONTAINER,
    CRLFile.KIND: Stage.CONTAINER,
    Policy.KIND: Stage.CONTAINER,
    HTTPCompression.KIND: Stage.PROFILE,
    ServerSSL.KIND: Stage.PROFILE, ClientSSL.KIND: Stage.PROFILE, IRule.KIND: Stage.PROFILE,
    TCPProfile.KIND: Stage.PROFILE, HTTPProfile.KIND: Stage.PARENT_PROFILE,
    RequestLog.KIND: Stage.PROFILE,
    VirtualServer.KIND: Stage.VIRTUAL_SERVER,
    Attachment.KIND: Stage.ATTACHMENT,
    FloatingAddress.KIND: Stage.FLOATING_ADDRESS, References.KIND: Stage.REFERENCE,
    DefaultPool.KIND: Stage.DEFAULT_POOL, Listening.KIND: Stage.LISTENING,
}

NETWORK_KINDS = frozenset(kind for kind, stage in _STAGES.items() if stage.is_network)
"""Kinds of the objects through which the BIG-IP reaches pods."""


@dataclass(frozen=True, slots=True)
class Change(Generic[T_co]):
    """One create, update or delete. `old` is None for a create, `new` for a delete."""

    verb: str
    old: T_co | None
    new: T_co | None
    after_rules: bool = False
    """True for a record of Stage.EXCLUSION; see `diff`."""
    among_wildcards: Stage | None = None
    """Stage of a record that has another one than usual, because of wildcards of any depth; see `diff`."""
    early: bool = False
    """True for a delete that is made with the writes of its stage, before them; see `leaving`."""
    ends_redirect: bool = False
    """True for an update of Stage.ENDED_REDIRECT; see `leaving`."""
    for_check: bool = False
    """True for a profile that a monitor of the same Plan has, and the file of that."""

    @property
    def is_late_delete(self) -> bool:
        """True for a delete that comes after all writes."""
        return self.verb == DELETE and not self.early

    @property
    def obj(self) -> T_co:
        """The new object, or the deleted one."""
        obj = self.new if self.new is not None else self.old
        assert obj is not None, self.verb
        return obj

    @property
    def ref(self) -> Ref:
        """The Ref of the object."""
        return self.obj.ref

    @property
    def stage(self) -> Stage:
        """The Stage in which it is written."""
        if self.verb == UPDATE and isinstance(self.obj, Policy):
            return Stage.POLICY_STRATEGY
        if self.verb == UPDATE and (
                isinstance(self.obj, IRule) and base_name(self.ref.path) == names.PASSTHROUGH_IRULE):
            return Stage.PASSTHROUGH_IRULE
        if self.ends_redirect:
            return Stage.ENDED_REDIRECT
        if self.for_check:
            return Stage.CHECK_PROFILE if isinstance(self.obj, ServerSSL) else Stage.CHECK_FILE
        if self.after_rules:
            return Stage.EXCLUSION
        return self.among_wildcards or stage(self.obj)


AnyChange = Change[Object]

Plan = tuple[AnyChange, ...]
"""Changes in the order in which they are written."""


def concerns(change: AnyChange, kind: type[T]) -> TypeGuard[Change[T]]:
    """True if a Change creates, updates or deletes an object of a kind."""
    return isinstance(change.obj, kind)


def of_kind(changes: Iterable[AnyChange], kind: type[T]) -> list[Change[T]]:
    """Return the Changes of one kind."""
    return [change for change in changes if concerns(change, kind)]


def checks_clients(obj: Object | None) -> TypeGuard[Attachment]:
    """True for the attachment of the iRule that refuses clients without a certificate."""
    return isinstance(obj, Attachment) and base_name(obj.target) == names.CLIENT_CERTIFICATE_IRULE


def ends_check(obj: Object | None, desired: BigIPState) -> TypeGuard[Attachment]:
    """True for such an attachment that leaves a virtual server which serves on: it asks clients no more."""
    return checks_clients(obj) and attachment_ref(
        obj.virtual, "policies", beside(obj.target, names.SECURE_POLICY)) in desired


def asks_clients(obj: Object | None) -> TypeGuard[ClientSSL | ClientSSLParent | Attachment]:
    """True for what may ask clients for certificates: client SSL profiles, their parents and attachments."""
    return isinstance(obj, ClientSSL | ClientSSLParent) or (
        isinstance(obj, Attachment) and obj.target_kind == ClientSSL.KIND)


def stage(obj: Object) -> Stage:
    """Return the Stage of an object; it refers to objects of earlier stages only.

    An Attachment also depends on whatever it needs to take effect.
    """
    if isinstance(obj, ClientSSLParent):
        return Stage.PARENT_PROFILE
    if isinstance(obj, IRule) and base_name(obj.path) == names.CLIENT_CERTIFICATE_IRULE:
        return Stage.CLIENT_CERTIFICATES
    if checks_clients(obj):
        return Stage.CHECKED
    if isinstance(obj, Record):
        group = base_name(obj.group)
        if group in (names.REENCRYPT_GROUP, *ownership.OPTION_IRULES):
            return Stage.POD_TLS
        if group == names.OWNER_GROUP:
            return Stage.COMPLETE if obj.name == names.OWNERS_KNOWN else Stage.POD_TLS
        if group == names.SERVER_NAME_GROUP:
            return Stage.COMPLETE if obj.name == names.STRICT else Stage.SERVER_NAME
        return Stage.EARLY_EXCLUSION if obj.data == names.EXCLUSION else Stage.PASSTHROUGH
    if isinstance(obj, Rule):
        secure = base_name(obj.policy) == names.SECURE_POLICY
        return Stage.SECURE_RULE if secure else Stage.INSECURE_RULE
    return _STAGES[obj.KIND]
