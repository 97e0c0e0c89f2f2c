"""The test whether the router owns an object of a BIG-IP: by its folder and its name."""

import re

from f5router.model import names
from f5router.model.ltm import (
    Attachment,
    CertFile,
    ClientSSL,
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
)
from f5router.model.monitors import TYPES, TCPMonitor
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, StaticRoute, Tunnel, VxlanProfile

_OWNED = {
    Policy.KIND: rf"{names.INSECURE_POLICY}|{names.SECURE_POLICY}",
    Pool.KIND: rf"openshift_[a-z0-9.-]+(?:_[a-z0-9.-]*){{1,4}}(?:{names.LIMITED}|{names.RATED})?"
               rf"|{names.NOWHERE_POOL}",
    **{kind: rf"{cls.STEM}{names.HEX}" for kind, cls in TYPES.items()},
    TCPMonitor.KIND: rf"{TCPMonitor.STEM}(?:[1-9][0-9]{{0,4}}|{names.HEX})",
    DataGroup.KIND: rf"{names.PASSTHROUGH_GROUP}|{names.REENCRYPT_GROUP}|{names.LIMITS_GROUP}"
                    rf"|{names.TIMEOUT_GROUP}|{names.PERSISTENCE_GROUP}|{names.HTTP_GROUP}"
                    rf"|{names.SERVER_NAME_GROUP}|{names.OWNER_GROUP}"
                    r"|openshift_addresses_[0-9a-f]{32}_dg",
    IRule.KIND: "|".join(names.IRULE_ORDER),
    ClientSSL.KIND: rf"openshift_(?:host|wildcard)_{names.LABEL}(?:_{names.HEX})?-client-ssl-profile"
                    rf"|{names.DEFAULT_CLIENTSSL}|{names.PARENT_CLIENTSSL}|{names.DEFAULT_PARENT_CLIENTSSL}"
                    rf"|{names.VERSION_PARENT_CLIENTSSL}",
    ServerSSL.KIND: rf"openshift_tls_{names.HEX}-server-ssl-profile|{names.DEFAULT_SERVERSSL}",
    HTTPCompression.KIND: names.COMPRESSION_PROFILE,
    CertFile.KIND: rf"(?:{names.STEM}|{names.DEFAULT_STEM})-https-(?:cert|chain)-{names.HEX}\.crt"
                   rf"|openshift_(?:tls|client)-https-cabundle-{names.HEX}\.crt",
    CRLFile.KIND: rf"openshift_client-https-crl-{names.HEX}\.crl",
    KeyFile.KIND: rf"(?:{names.STEM}|{names.DEFAULT_STEM})-https-key-{names.HEX}\.key",
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
    their network.
    """
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
    if isinstance(obj, SourceTranslation):
        return False  # a property of the administrator's virtual server: there is nothing to delete
    return owns_path(folder, obj.KIND, obj.path)


def is_host_profile(folder: str, path: str) -> bool:
    """True for a client SSL profile of ours that is for one Host."""
    return (owns_path(folder, ClientSSL.KIND, path) and not names.is_parent(path)
            and path != names.full_path(folder, names.DEFAULT_CLIENTSSL))


def owns_self_path(folder: str, path: str) -> bool:
    """True if a self IP in exactly our folder is named by a CIDR, as ours are."""
    return path.startswith(f"{folder}/") and _CIDR.fullmatch(path[len(folder) + 1:]) is not None


def rule_stem(name: str) -> str:
    """Return the stem of the Route in a Rule's name; "" if no Route gives such a name."""
    return name.split("__", 1)[0] if _RULE.fullmatch(name) else ""
