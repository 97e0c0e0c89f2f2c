"""Ownership of the objects of a BIG-IP: the test by folder and name, their users, their descriptions.

Records of the options of Routes stay on the device as long as their users.

By the `description` of an object the administrators of the BIG-IP see whose it is. It is made of an object's
own path and of settings, so it costs no request and depends on nothing that a Route brings. It is written
with an object and never compared: objects without one, of the original router or an earlier release, are no
difference, and a device that returns another text is not written to again.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TypeGuard

from f5router.model import access_log, names, original_names, tls_names
from f5router.model.access_log import RequestLog
from f5router.model.front_end_names import PATTERN, base_name, beside, front_end_of, front_end_of_server
from f5router.model.ltm import (
    Attachment,
    BigIPState,
    CertFile,
    ClientSSL,
    CRLFile,
    DataGroup,
    Forward,
    HTTPCompression,
    IRule,
    KeyFile,
    Object,
    Policy,
    Pool,
    Record,
    Rule,
    ServerSSL,
    record_ref,
)
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, StaticRoute, Tunnel, VxlanProfile
from f5router.model.objects import Ref
from f5router.model.placement import FloatingAddress, References
from f5router.model.route_options import MONITOR_TYPES, HTTPSMonitor, TCPMonitor
from f5router.model.virtual_server import DefaultPool, HTTPProfile, Listening, TCPProfile, VirtualServer

_OWNED = {
    Policy.KIND: rf"(?:{names.INSECURE_POLICY}|{names.SECURE_POLICY}){PATTERN}",
    Pool.KIND: rf"openshift_[a-z0-9.-]+(?:_[a-z0-9.-]*){{1,4}}(?:{names.LIMITED}|{names.RATED})?"
               rf"|{names.NOWHERE_POOL}|{access_log.POOL}{PATTERN}",
    **{kind: rf"{cls.STEM}{names.HEX}" for kind, cls in MONITOR_TYPES.items()},
    HTTPSMonitor.KIND: rf"{HTTPSMonitor.STEM}(?:{HTTPSMonitor.VERIFYING})?{names.HEX}",
    TCPMonitor.KIND: rf"{TCPMonitor.STEM}(?:[1-9][0-9]{{0,4}}|{names.HEX})",
    DataGroup.KIND: rf"(?:{names.PASSTHROUGH_GROUP}|{names.REENCRYPT_GROUP}|{names.LIMITS_GROUP}"
                    rf"|{names.TIMEOUT_GROUP}|{names.PERSISTENCE_GROUP}|{names.HTTP_GROUP}"
                    rf"|{names.SERVER_NAME_GROUP}|{names.OWNER_GROUP}){PATTERN}"
                    r"|openshift_addresses_[0-9a-f]{32}_dg",
    IRule.KIND: f"(?:{'|'.join(names.IRULE_ORDER)}){PATTERN}",
    ClientSSL.KIND: rf"(?:openshift_(?:host|wildcard)_{names.LABEL}(?:_{names.HEX})?-client-ssl-profile"
                    rf"|{tls_names.DEFAULT_CLIENTSSL}|{tls_names.DEFAULT_PARENT_CLIENTSSL}){PATTERN}"
                    rf"|{tls_names.HOST_PARENTS}",
    ServerSSL.KIND: (rf"openshift_tls_{names.HEX}(?:-sni)?-server-ssl-profile"
                     rf"|{tls_names.DEFAULT_SERVERSSL}{PATTERN}"),
    HTTPCompression.KIND: names.COMPRESSION_PROFILE + PATTERN,
    RequestLog.KIND: access_log.PROFILE + PATTERN,
    TCPProfile.KIND: f"openshift_(?:client|server)-tcp-profile{PATTERN}",
    HTTPProfile.KIND: f"openshift_http-profile{PATTERN}",
    CertFile.KIND: rf"(?:{names.STEM}|{tls_names.DEFAULT_STEM})-https-(?:cert|chain)-{names.HEX}\.crt"
                   rf"|openshift_(?:tls|client)-https-cabundle-{names.HEX}\.crt",
    CRLFile.KIND: rf"openshift_client-https-crl-{names.HEX}\.crl",
    KeyFile.KIND: rf"(?:{names.STEM}|{tls_names.DEFAULT_STEM})-https-key-{names.HEX}\.key",
    VxlanProfile.KIND: names.VXLAN_PROFILE,
    Tunnel.KIND: names.TUNNEL,
}
_PATTERNS = {kind: re.compile(pattern) for kind, pattern in _OWNED.items()}
_CIDR = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}/[0-9]{1,2}")
_RULE = re.compile(rf"(?:{names.STEM})(?:__[0-9]+)?")


def owns_path(folder: str, kind: str, path: str) -> bool:
    """True if an object lies in exactly our folder under a name that the module names makes."""
    parent, _, name = path.rpartition("/")
    pattern = _PATTERNS.get(kind)
    return pattern is not None and parent == folder and pattern.fullmatch(name) is not None


def owns(folder: str, obj: Object) -> bool:
    """True if an object is ours to change and delete.

    Nested objects are ours as follows: Rules with a Route's name in our policies, every record of our
    data-groups, attachments of our objects, self IPs on our tunnel that are named by their CIDR, and FDB
    records on it whose MAC address is made of their endpoint. Static routes are ours if they are named by
    their network. Virtual servers are read only if they have the router's mark.
    """
    if isinstance(obj, VirtualServer):
        return obj.path.rpartition("/")[0] == folder
    if isinstance(obj, Listening | References | DefaultPool):
        return obj.virtual.rpartition("/")[0] == folder
    if isinstance(obj, Rule):
        return owns_path(folder, Policy.KIND, obj.policy) and rule_stem(obj.name) != ""
    if isinstance(obj, Record):
        return owns_path(folder, DataGroup.KIND, obj.group)
    if isinstance(obj, Attachment):
        return owns_path(folder, obj.target_kind, obj.target)
    if isinstance(obj, SelfIP):
        return obj.vlan == names.tunnel(folder) and owns_self_path(folder, obj.path)
    if isinstance(obj, FDBRecord):
        return obj.tunnel == names.tunnel(folder) and obj.mac == names.fdb_mac(obj.endpoint)
    if isinstance(obj, StaticRoute):
        return obj.path == names.pod_route(folder, obj.network)
    if isinstance(obj, SourceTranslation | FloatingAddress):
        return False  # a property of another object: there is nothing to delete
    return owns_path(folder, obj.KIND, obj.path)


def is_of_service(pool: str) -> bool:
    """True for the full path of a pool that is a Service's. Args: pool: one of ours."""
    return base_name(pool) not in (names.NOWHERE_POOL, access_log.POOL)


def is_host_profile(folder: str, path: str) -> bool:
    """True for a client SSL profile of ours that is for one Host."""
    return (owns_path(folder, ClientSSL.KIND, path) and not tls_names.is_parent(path)
            and base_name(path) != tls_names.DEFAULT_CLIENTSSL)


def owns_self_path(folder: str, path: str) -> bool:
    """True if a self IP in exactly our folder is named by a CIDR, as ours are."""
    return path.startswith(f"{folder}/") and _CIDR.fullmatch(path[len(folder) + 1:]) is not None


def rule_stem(name: str) -> str:
    """Return the stem of the Route in a Rule's name; "" if no Route gives such a name."""
    return name.split("__", 1)[0] if _RULE.fullmatch(name) else ""


OPTIONS_BY_POOL = {
    names.LIMITS_GROUP: names.LIMITS_IRULE,
    names.TIMEOUT_GROUP: names.TIMEOUT_IRULE,
    names.PERSISTENCE_GROUP: "",
}
"""Data-groups whose records are named by a pool, or by a Host whose TLS is passed through; each with the
iRule that is attached only while there are records, "" for iRules that are always attached."""

OPTION_IRULES = {**OPTIONS_BY_POOL, names.HTTP_GROUP: names.HEADERS_IRULE}
"""All data-groups with options. Rules name the records of names.HTTP_GROUP."""


def stays_with(refs: Iterable[Ref], observed: BigIPState) -> set[Ref]:
    """Return the objects that must stay as long as certain objects of the device stay.

    These are their dependencies, the records with their options and those of the pools that they lead to,
    and the attachments of the iRules that act on these. A Rule does not wait for a record with time-outs, but
    without it connections of a Rule that stays would end too early.
    """
    needed = {need for ref in refs if ref in observed for need in needs(observed[ref], observed)}
    attachments = {need for need in needed if is_for_attachments(need)}
    if not attachments:  # mostly: a look at every object of the device takes 15 ms with 5,000 Routes
        return needed
    return needed - attachments | {
        ref for ref, obj in observed.items() if attachments_of(obj) in attachments}


_ATTACHMENTS = f"{Attachment.KIND} of an iRule"
"""Kind of a Ref that stands for all attachments of an iRule; no object has it."""


def needs(obj: Object, observed: BigIPState) -> set[Ref]:
    """Return what must stay as long as an object of the device does: see `stays_with`.

    One Ref stands for all attachments of an iRule: that which `attachments_of` returns for each of them.
    """
    records = {ref for ref in option_records(obj) if ref in observed}
    groups = {record.group for ref in records if isinstance(record := observed[ref], Record)}
    return {*obj.dependencies, *records, *(
        Ref(_ATTACHMENTS, beside(group, irule)) for group in groups
        if (irule := OPTION_IRULES.get(base_name(group))))}


def attachments_of(obj: Object) -> Ref | None:
    """Return the Ref that stands for the attachments of an iRule, of which this is one; None if it is not."""
    if isinstance(obj, Attachment) and obj.target_kind == IRule.KIND:
        return Ref(_ATTACHMENTS, obj.target)
    return None


def is_for_attachments(ref: Ref) -> bool:
    """True for a Ref that stands for attachments."""
    return ref.kind == _ATTACHMENTS


def option_records(obj: Object) -> Iterator[Ref]:
    """Yield the records that may have options of an object that leads requests to a pool."""
    if isinstance(obj, Rule) and isinstance(obj.action, Forward):
        if obj.action.http:
            yield record_ref(beside(obj.policy, names.HTTP_GROUP), obj.action.http)
        yield from _named(obj.policy, obj.action.pool)
    elif isinstance(obj, Record) and (
            obj.data != names.EXCLUSION and base_name(obj.group) == names.PASSTHROUGH_GROUP):
        pool = original_names.pool(obj.group.rpartition("/")[0], obj.data)
        yield from (*_named(obj.group, pool), *_named(obj.group, obj.name))


def _named(path: str, name: str) -> Iterator[Ref]:
    """Yield the records named by a pool or Host. Args: path: full path of an object of their front end."""
    yield from (record_ref(beside(path, group), name) for group in OPTIONS_BY_POOL)


DESCRIBED_KINDS = frozenset({
    *MONITOR_TYPES, Pool.KIND, Policy.KIND, DataGroup.KIND, ClientSSL.KIND, ServerSSL.KIND,
    HTTPCompression.KIND, RequestLog.KIND, TCPProfile.KIND, HTTPProfile.KIND, VirtualServer.KIND,
    Tunnel.KIND, StaticRoute.KIND,
})
"""Kinds that get one. Source: bigip-behaviour.md B1.

Rules and records get none: they are written in lists of all, which would
become longer, and are named by their Route, Host or pool.
"""

LONGEST_DESCRIPTION = 200
"""Longest description, in characters."""

Describe = Callable[[Object], str]
"""Returns the description of an object; "" for a kind that gets none."""

_OTHER = re.compile(r"[^A-Za-z0-9.:_/*() -]+")


def describer(router: str, hostname: str = "", folder: str = "/Common") -> Describe:
    """Return the function that describes the objects of a router.

    Args:
        router: its name, see --name.
        hostname: the name under which clients reach it, see --router-canonical-hostname; "" for none.
    """
    owner = " ".join(filter(None, ("managed by f5router", router, f"({hostname})" if hostname else "")))

    def describe(obj: Object) -> str:
        if obj.KIND not in DESCRIBED_KINDS:
            return ""
        use = _use(folder, obj)
        return _OTHER.sub("_", f"{owner}: {use}" if use else owner)[:LONGEST_DESCRIPTION]

    return describe


def description_properties(describe: Describe, obj: Object) -> dict[str, str]:
    """Return the property for the body of a request; none for a kind that gets no description."""
    text = describe(obj)
    return {"description": text} if text else {}


def _use(folder: str, obj: Object) -> str:
    """Return the object of the cluster that an object serves; "" if it serves all."""
    if isinstance(obj, Pool) and is_of_service(obj.path):
        known = names.pool_key(folder, obj.path) or names.own_pool_key(folder, obj.path)
        return f"Service {known[0]}" if known else f"a Service in {names.pool_namespace(obj.path)}"
    if isinstance(obj, ClientSSL) and obj.server_name:
        return f"host {obj.server_name}"
    if isinstance(obj, TCPProfile | HTTPProfile):
        return obj.use
    if isinstance(obj, VirtualServer):
        return f"port {obj.port} of {obj.address}"
    return ""


def front_end(obj: Object) -> str:
    """Return the front end of an object that serves a Host; "" also for an object of none."""
    match obj:
        case Rule(policy=path) | Record(group=path) | Attachment(target=path) | ClientSSL(path=path):
            return front_end_of(path)
        case DefaultPool(virtual=path):
            return front_end_of_server(path)
    return ""


def is_passthrough(obj: Object) -> TypeGuard[Record]:
    """True for a record that leads TLS of a Host to pods."""
    return (isinstance(obj, Record) and base_name(obj.group) == names.PASSTHROUGH_GROUP
            and obj.data != names.EXCLUSION)
