"""Conversion of LTM objects to and from iControl REST JSON, a pair of functions for each kind.

A device returns other values than were written (bigip-behaviour.md B1, B3, B4, B8): blanks in monitors, route
domains on addresses, "none" for unset, strings for booleans. Both sides become one vocabulary here,
so that `==` is the diff.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from f5router.icontrol.codec import transport_codec
from f5router.model import hostnames, tls_names
from f5router.model.access_log import RequestLog
from f5router.model.client_tls import TLSProperties
from f5router.model.json_types import JSON
from f5router.model.ltm import (
    CertFile,
    ClientSSL,
    ClientSSLParent,
    CRLFile,
    DataGroup,
    HTTPCompression,
    IRule,
    KeyFile,
    MemberState,
    Object,
    Pool,
    PoolMember,
    Record,
    ServerSSL,
)
from f5router.model.route_options import MONITOR_TYPES, HealthMonitor, HTTPMonitor, HTTPSMonitor
from f5router.model.virtual_server import HTTPProfile, TCPProfile

ODD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions of a decoder for JSON of an unknown form."""


def located(path: str) -> dict[str, str]:
    """Return the properties that put an object at a full path. Source: bigip-behaviour.md A1."""
    partition, *folders, name = path.strip("/").split("/")
    body = {"name": name, "partition": partition}
    return {**body, "subPath": "/".join(folders)} if folders else body


def path_of(obj: JSON) -> str:
    """Return the full path of an object as read; sub-collection items may lack some of its properties."""
    full = str(obj.get("fullPath") or obj.get("name", ""))
    if full.startswith("/") or not obj.get("partition"):
        return full
    levels = (obj["partition"], obj.get("subPath"), full)
    return "/" + "/".join(str(level) for level in levels if level)


def items(obj: JSON, name: str) -> list[JSON]:
    """Return the items of an expanded sub-collection.

    An empty one has no `items`; 11.5 nests the list under the reference once more
    (bigip-behaviour.md A1, B7).
    """
    container = obj.get(f"{name}Reference", obj)
    while isinstance(container, Mapping):
        if "items" in container:
            return list(container["items"] or ())
        container = container.get(f"{name}Reference")
    return []


# --- pools -------------------------------------------------------------------------------


def pool_changes(pool: Pool, nodes: Mapping[str, str] = MappingProxyType({})) -> dict[str, Any]:
    """Encode the body of a PATCH; the member list replaces the old one.

    Args:
        nodes: full path of a member's node by its address; default: that of its name in the pool's partition.
    """
    own = "/" + pool.path.split("/")[1]
    return {
        "loadBalancingMode": pool.load_balancing,
        # Braces were refused by some versions (bigip-behaviour.md B3).
        "monitor": " ".join(pool.monitor.replace("{", " ").replace("}", " ").split()) or "none",
        "queueOnConnectionLimit": "enabled" if pool.queue_ms else "disabled",
        "queueTimeLimit": pool.queue_ms,
        "reselectTries": pool.reselect_tries,
        "members": [_encode_member(m, nodes.get(m.address) or f"{own}/{m.address}")
                    for m in sorted(pool.members)],
    }


def _encode_member(member: PoolMember, node: str) -> dict[str, Any]:
    """Encode all properties that we set: those left out may keep their values or get their defaults.

    The address is not among them: a node that is gone would be made again, under a name that is not ours.
    Source: f5-cccl, f5_cccl/resource/ltm/pool_member.py, which writes the same ones.
    """
    return {
        **located(f"{node}{'.' if ':' in node else ':'}{member.port}"), "ratio": member.ratio,
        "connectionLimit": member.connection_limit, "priorityGroup": member.priority_group,
        "session": "user-enabled" if member.state == "enabled" else "user-disabled",
        "state": "user-down" if member.state == "forced_offline" else "user-up",
    }


def decode_pool(obj: JSON) -> Pool:
    return Pool(
        path_of(obj), _monitor(obj.get("monitor", "")),
        frozenset(decode_member(item) for item in items(obj, "members")),
        obj.get("loadBalancingMode", "round-robin"),
        _number(obj.get("queueTimeLimit"), 0) if obj.get("queueOnConnectionLimit") == "enabled" else 0,
        _number(obj.get("reselectTries"), 0),
    )


def decode_member(item: JSON) -> PoolMember:
    """Decode a member; one without an address keeps its name, which equals no desired member."""
    node, port = node_and_port(str(item.get("name", "")).rsplit("/", 1)[-1])
    return PoolMember(member_address(item) or node, int(port) if port.isdigit() else 0,
                      _number(item.get("ratio"), 1), _number(item.get("connectionLimit"), 0),
                      member_state(item), _number(item.get("priorityGroup"), 0))


def member_address(item: JSON) -> str:
    """Return the canonical address of a member; "" for one without an address."""
    return address_of(str(item.get("address") or "")) or address_of(
        node_and_port(str(item.get("name", "")).rsplit("/", 1)[-1])[0])


def node_and_port(name: str) -> tuple[str, str]:
    """Split the name, or path, of a member; IPv6 has a dot in front of the port (bigip-behaviour.md B3)."""
    node, _, port = name.rpartition("." if name.count(":", name.rfind("/") + 1) > 1 else ":")
    return node, port


def member_state(item: JSON) -> MemberState:
    """Decode the value that a user has set; monitors set other values, such as monitor-enabled and down.

    Source: bigip-behaviour.md B3.
    """
    if item.get("state") == "user-down":
        return "forced_offline"
    return "disabled" if item.get("session") == "user-disabled" else "enabled"


def _number(value: object, default: int) -> int:
    """Return a number that some versions send as text; the default if it is absent or neither."""
    if type(value) is int and value >= 0:
        return value
    text = str(value)
    return int(text) if text.isdecimal() else default


def address_of(text: str) -> str:
    """Return the canonical address without route domain; "" if the text is no address."""
    if hostnames.IPV4.fullmatch(text):
        return text
    try:
        return str(ipaddress.ip_address(text.split("%", 1)[0]))
    except ValueError:
        return ""


def _monitor(text: str) -> str:
    words = str(text).replace("{", " { ").replace("}", " } ").split()
    plain = " ".join(words)
    if plain in ("none", "/Common/none"):
        return ""
    if words[:1] == ["min"] and "{" not in words:
        return f"{' '.join(words[:3])} {{ {' '.join(words[3:])} }}"
    return plain


def monitor_changes(monitor: HealthMonitor) -> dict[str, Any]:
    """Encode a PATCH."""
    body: dict[str, Any] = {
        "interval": monitor.interval_s, "timeout": monitor.timeout_s, "timeUntilUp": monitor.until_up_s}
    if isinstance(monitor, HTTPMonitor):
        body |= {"send": monitor.send, "recv": monitor.recv or "none"}
    if isinstance(monitor, HTTPSMonitor) and monitor.ssl_profile:
        body["sslProfile"] = monitor.ssl_profile
    return body


def _decode_monitor(kind: type[HealthMonitor], obj: JSON) -> HealthMonitor:
    times = (_number(obj.get(name), 0) for name in ("interval", "timeout", "timeUntilUp"))
    texts = (_unset(obj.get(name)) for name in ("send", "recv")) if issubclass(kind, HTTPMonitor) else ()
    verifies = f"/{HTTPSMonitor.STEM}{HTTPSMonitor.VERIFYING}" in path_of(obj)
    profile = (_unset(obj.get("sslProfile")),) if verifies else ()
    return kind(path_of(obj), *times, *texts, *profile)


# --- data-groups and iRules --------------------------------------------------------------


def encode_records(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Encode the whole list `records`."""
    return [{"name": record.name, "data": record.data} for record in sorted(records, key=lambda r: r.name)]


def _data_group_changes(group: DataGroup) -> dict[str, Any]:
    if group.type != "ip":
        return {"type": group.type}
    return {"type": group.type, "records": [{"name": cidr} for cidr in sorted(group.addresses)]}


def decode_data_group(obj: JSON) -> tuple[DataGroup, list[Record]]:
    path = path_of(obj)
    if obj.get("type") == "ip":
        names = (str(record["name"]) for record in obj.get("records") or ())
        return DataGroup(path, "ip", frozenset(map(_cidr, names))), []
    records = [Record(path, str(r["name"]), str(r.get("data", ""))) for r in obj.get("records") or ()]
    return DataGroup(path, obj.get("type", "string")), records


def _cidr(text: str) -> str:
    """Return the CIDR of a record without its route domain; a host may be read without its length.

    A record that is no address stays as it is, and equals none. Source: bigip-behaviour.md B6.
    """
    try:
        return str(ipaddress.ip_network(re.sub(r"%[0-9]+", "", text), strict=False))
    except ValueError:
        return text


def decode_irule(obj: JSON) -> IRule:
    return IRule(path_of(obj), str(obj.get("apiAnonymous", "")).strip())


# --- profiles and files ------------------------------------------------------------------


def client_ssl_changes(profile: ClientSSL | ClientSSLParent) -> dict[str, Any]:
    """Encode a PATCH. The pair stays together: half a pair is refused (bigip-behaviour.md A7)."""
    if isinstance(profile, ClientSSLParent):
        return {"defaultsFrom": profile.parent, **_tls_properties(profile.properties)}
    pair = {"cert": profile.cert, "key": profile.key, "chain": profile.chain or "none"}
    return {
        "defaultsFrom": profile.parent, "serverName": profile.server_name or "none",
        "sniDefault": "true" if profile.sni_default else "false",
        **(pair if profile.cert else {"inheritCertkeychain": "true"}),
    }


def _tls_properties(properties: TLSProperties) -> dict[str, Any]:
    """Encode all properties. The device sets whichever is left out of ciphers and cipherGroup to none."""
    group, options = properties.cipher_group, sorted(properties.options)
    text = f"{{ {' '.join(options)} }}" if options else "none"
    return {
        **({"cipherGroup": group} if group else {"ciphers": properties.ciphers}),
        "tmOptions": text if properties.options_in_braces else options,
        "peerCertMode": properties.peer_cert_mode, "authenticate": properties.authenticate,
        "caFile": properties.ca_file or "none", "clientCertCa": properties.advertised_ca or "none",
        "crlFile": properties.crl_file or "none",
    }


def decode_tls_properties(obj: JSON) -> TLSProperties:
    """Decode properties; options are a list, or from TMOS 14 on a text in braces (bigip-behaviour.md B8).

    They are written in the form in which they are read: which forms a device takes is not recorded.
    """
    options = obj.get("tmOptions") or ()
    text = options if isinstance(options, str) else " ".join(map(str, options))
    words = frozenset(text.replace("{", " ").replace("}", " ").split()) - {"none"}
    return TLSProperties(
        _unset(obj.get("ciphers")), _unset(obj.get("cipherGroup")), words,
        str(obj.get("peerCertMode") or "ignore"), str(obj.get("authenticate") or "once"),
        _unset(obj.get("caFile")), _unset(obj.get("clientCertCa")), _unset(obj.get("crlFile")),
        isinstance(options, str))


def decode_client_ssl(obj: JSON) -> ClientSSL | ClientSSLParent:
    path, parent = path_of(obj), _unset(obj.get("defaultsFrom"))
    if tls_names.is_parent(path):
        return ClientSSLParent.read(path, parent, decode_tls_properties(obj))
    pair = obj if "cert" in obj else next(iter(obj.get("certKeyChain") or ()), {})
    if str(obj.get("inheritCertkeychain")) == "true":
        pair = {}
    return ClientSSL(
        path, _unset(obj.get("serverName")), _unset(pair.get("cert")), _unset(pair.get("key")),
        _unset(pair.get("chain")), parent, str(obj.get("sniDefault")) == "true", tls_names.is_parent(parent),
    )


def server_ssl_changes(profile: ServerSSL) -> dict[str, Any]:
    """Encode a PATCH. Without peerCertMode require nothing is verified (bigip-behaviour.md B8)."""
    return {
        "defaultsFrom": profile.parent,
        "caFile": profile.ca_file or "none",
        "peerCertMode": "require" if profile.ca_file else "ignore",
        "authenticateName": profile.authenticate_name or "none",
        **({"serverName": profile.server_name} if profile.server_name else {}),
    }


def decode_server_ssl(obj: JSON) -> ServerSSL:
    verified = obj.get("peerCertMode", "ignore") == "require"
    ca_file = _unset(obj.get("caFile"))
    return ServerSSL(
        path_of(obj), (ca_file or "none") if verified else "",
        _unset(obj.get("authenticateName")), _unset(obj.get("defaultsFrom")),
        _unset(obj.get("serverName")) if tls_names.asks_for_name(path_of(obj)) else "",
    )


COMPRESSION = {
    "defaultsFrom": "/Common/httpcompression",
    "contentTypeExclude": [], "uriInclude": [".*"], "uriExclude": [],
    "keepAcceptEncoding": "enabled", "selective": "disabled", "allowHttp_10": "disabled",
    "varyHeader": "enabled", "methodPrefer": "gzip", "minSize": 128,
}
"""Properties of an HTTPCompression as HAProxy compresses, whatever its parent has.

F5's documents state no lower bound of minSize, but that of its default, 1,024; a gzip body of less than 128
bytes saves nothing.
"""


def compression_changes(profile: HTTPCompression) -> dict[str, Any]:
    """Encode a PATCH."""
    return {**COMPRESSION, "contentTypeInclude": sorted(profile.content_types)}


def decode_compression(obj: JSON) -> HTTPCompression:
    """Decode a profile; an empty list may be read as none."""
    def same(name: str) -> bool:
        wanted, read = COMPRESSION[name], obj.get(name)
        if isinstance(wanted, list):
            return wanted == (read if isinstance(read, list) else [])
        return str(read) == str(wanted)

    types = obj.get("contentTypeInclude")
    return HTTPCompression(path_of(obj), frozenset(map(str, types if isinstance(types, list) else ())),
                           all(map(same, COMPRESSION)))


def _unset(value: Any) -> str:
    return "" if value in (None, "none") else str(value)


# --- all kinds ---------------------------------------------------------------------------


CHANGES: Mapping[str, Callable[..., dict[str, Any]]] = {
    **dict.fromkeys(MONITOR_TYPES, monitor_changes),
    Pool.KIND: pool_changes,
    DataGroup.KIND: _data_group_changes,
    IRule.KIND: lambda irule: {"apiAnonymous": irule.text},
    ClientSSL.KIND: client_ssl_changes,
    ServerSSL.KIND: server_ssl_changes,
    HTTPCompression.KIND: compression_changes,
    TCPProfile.KIND: transport_codec.tcp_changes,
    HTTPProfile.KIND: transport_codec.http_changes,
    RequestLog.KIND: transport_codec.request_log_changes,
}
"""Encoders of the body of a PATCH."""


Single = (HealthMonitor | Pool | DataGroup | IRule | ClientSSL | ClientSSLParent | ServerSSL
          | HTTPCompression | TCPProfile | HTTPProfile | RequestLog)
"""Objects that are one REST object each."""


def encode(obj: Single, *more: Mapping[str, str]) -> dict[str, Any]:
    """Encode the body of a POST. Args: more: further arguments of the kind's entry in CHANGES."""
    body = {**located(obj.path), **CHANGES[obj.KIND](obj, *more)}
    if isinstance(obj, Pool) and not obj.monitor:
        del body["monitor"]
    if isinstance(obj, HTTPMonitor) and not obj.recv:
        del body["recv"]
    if isinstance(obj, ClientSSL):
        body.pop("inheritCertkeychain", None)
    if isinstance(obj, TCPProfile | HTTPProfile):
        return transport_codec.without_inherited(body, {})
    if isinstance(obj, DataGroup) and obj.copied:
        body["records"] = encode_records(Record(obj.path, name, data) for name, data in obj.copied)
    return body


DECODERS: Mapping[str, Callable[[JSON], Object]] = {
    **{kind: partial(_decode_monitor, cls) for kind, cls in MONITOR_TYPES.items()},
    Pool.KIND: decode_pool,
    IRule.KIND: decode_irule,
    ClientSSL.KIND: decode_client_ssl,
    ServerSSL.KIND: decode_server_ssl,
    HTTPCompression.KIND: decode_compression,
    TCPProfile.KIND: lambda obj: transport_codec.decode_tcp(path_of(obj), obj),
    HTTPProfile.KIND: lambda obj: transport_codec.decode_http(path_of(obj), obj),
    RequestLog.KIND: lambda obj: transport_codec.decode_request_log(path_of(obj), obj),
    CertFile.KIND: lambda obj: CertFile(path_of(obj)),
    KeyFile.KIND: lambda obj: KeyFile(path_of(obj)),
    CRLFile.KIND: lambda obj: CRLFile(path_of(obj)),
}
"""Decoders of the kinds whose JSON has no nested objects."""
