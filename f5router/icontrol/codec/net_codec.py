"""Network objects and LTM nodes to and from the JSON of iControl REST.

A device returns other values than were written (bigip-behaviour.md B9): route domains on addresses, any or
any6 for unset ones, numbers as texts.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.codec.ltm_codec import address_of, items, located, path_of
from f5router.model.json_types import JSON
from f5router.model.ltm_nodes import LTMNode
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, StaticRoute, Tunnel, VxlanProfile

FIXED: Mapping[str, frozenset[str]] = {
    Tunnel.KIND: frozenset({"profile"}),
    SelfIP.KIND: frozenset({"address", "vlan"}),
    VxlanProfile.KIND: frozenset(),
}
"""Properties that cannot be changed once an object exists. Source: bigip-behaviour.md B9."""

_NOISE = ("kind", "fullPath", "generation", "selfLink")


def properties(obj: VxlanProfile | Tunnel | SelfIP) -> dict[str, Any]:
    """Return the properties of an object that the router sets, as they are written."""
    if isinstance(obj, VxlanProfile):
        return {"floodingType": obj.flooding, "port": obj.port}
    if isinstance(obj, SelfIP):
        service = obj.allow_service[0] if obj.allow_service == ("all",) else list(obj.allow_service)
        return {
            "address": obj.address, "vlan": obj.vlan, "allowService": service,
            "trafficGroup": obj.traffic_group, "floating": obj.floating,
        }
    return {
        "profile": obj.profile, "localAddress": obj.local_address,
        # In the family of the local address; an unset one reads as any6.
        "remoteAddress": obj.remote_address or "any",
        "key": obj.key, "mode": obj.mode, "mtu": obj.mtu, "tos": obj.tos,
        "transparent": obj.transparent, "usePmtu": obj.use_pmtu,
    }


def encode(obj: VxlanProfile | Tunnel | SelfIP) -> dict[str, Any]:
    """Encode the body of a POST.

    A self IP's name holds a "/", so its folder goes into `partition` whole, as the original router
    sent it (openshift/origin v3.11.0, pkg/router/f5/f5.go: ensureVxLANTunnel).
    """
    if isinstance(obj, SelfIP):
        folder, *name = obj.path.rsplit("/", 2)
        return {"name": "/".join(name), "partition": folder, **properties(obj)}
    return {**located(obj.path), **properties(obj)}


def decode_vxlan(obj: JSON) -> VxlanProfile:
    return VxlanProfile(path_of(obj), _number(obj.get("port")), str(obj.get("floodingType", "")))


def decode_tunnel(obj: JSON) -> Tunnel:
    return Tunnel(
        path_of(obj), str(obj.get("profile", "")), _set(obj.get("localAddress")), _number(obj.get("key")),
        _set(obj.get("remoteAddress")), str(obj.get("mode", "")), _number(obj.get("mtu")),
        str(obj.get("tos", "")), str(obj.get("transparent", "")), str(obj.get("usePmtu", "")),
    )


def decode_self(obj: JSON) -> SelfIP:
    service = obj.get("allowService") or ()
    address, slash, bits = str(obj.get("address", "")).partition("/")
    return SelfIP(
        path_of(obj), f"{address_of(address)}{slash}{bits}", str(obj.get("vlan", "")),
        (service,) if isinstance(service, str) else tuple(map(str, service)),
        str(obj.get("trafficGroup", "")), str(obj.get("floating", "")),
    )


def interface(address: SelfIP) -> str:
    """Return the canonical CIDR of a self IP; "" if it has none."""
    try:
        return str(ipaddress.ip_interface(address.address))
    except ValueError:
        return ""


def network(obj: JSON) -> str:
    """Return the canonical network of a self IP as read, without route domain; "" if it has none."""
    address, _, bits = str(obj.get("address", "")).partition("/")
    try:
        return str(ipaddress.ip_network(f"{address.partition('%')[0]}/{bits}", strict=False))
    except ValueError:
        return ""


def route_domain(obj: JSON) -> int:
    """Return the route domain of a self IP; 0 without suffix (bigip-behaviour.md B9), -1 if invalid."""
    _, percent, domain = str(obj.get("address", "")).partition("/")[0].partition("%")
    return _number(domain) if percent else 0


def encode_record(record: FDBRecord) -> dict[str, str]:
    """Encode the body of a POST, or one item of a list."""
    return {"name": record.mac, "endpoint": record.endpoint}


def raw_records(obj: JSON) -> list[JSON]:
    """Return the records of net/fdb/tunnel/<tunnel>: a sub-collection, or a list in the body (11.6)."""
    return items(obj, "records") or list(obj.get("records") or ())


def sendable(record: JSON) -> dict[str, Any]:
    """Return a record as read in the form in which it is sent back."""
    return {name: value for name, value in record.items()
            if name not in _NOISE and not name.endswith("Reference")}


def decode_records(tunnel: str, raw: Iterable[JSON]) -> list[FDBRecord]:
    """Decode records, owned or not; an endpoint that is no address stays as it is written."""
    return [FDBRecord(tunnel, mac_of(item), address_of(endpoint) or endpoint)
            for item in raw for endpoint in (str(item.get("endpoint", "")),)]


def mac_of(record: JSON) -> str:
    """Return the name of a record in lower case."""
    return str(record.get("name", "")).lower()


def decode_translation(virtual: str, obj: JSON) -> SourceTranslation:
    """Decode the source address translation of a virtual server."""
    return SourceTranslation(virtual, str(_translation(obj).get("type", "none")))


def translation_pool(obj: JSON) -> str:
    """Return the full path of the pool of a virtual server's source addresses; "" for none."""
    return str(_translation(obj).get("pool") or "")


def _translation(obj: JSON) -> JSON:
    translation = obj.get("sourceAddressTranslation")
    return translation if isinstance(translation, Mapping) else {}


def pool_addresses(obj: JSON) -> frozenset[str]:
    """Return the addresses of a SNAT pool, whose members are paths named by them."""
    names = (str(name).rsplit("/", 1)[-1] for name in obj.get("members") or ())
    return frozenset(address for name in names if (address := address_of(name)))


def encode_route(route: StaticRoute) -> dict[str, str]:
    """Encode the body of a POST."""
    return {**located(route.path), "network": route.network, "gw": route.gateway}


def decode_route(obj: JSON) -> StaticRoute:
    """Decode a static route, owned or not; a network such as "default" stays as it is written.

    Network and gateway may have a route domain, as in 10.128.0.0%1/23.
    """
    text = str(obj.get("network", ""))
    address, slash, bits = text.partition("/")
    try:
        network = str(ipaddress.ip_network(f"{address.partition('%')[0]}{slash}{bits}", strict=False))
    except ValueError:
        network = text
    return StaticRoute(path_of(obj), network, address_of(str(obj.get("gw", ""))))


def _set(value: Any) -> str:
    """Return an address without route domain; "" for an unset one."""
    text = str(value or "")
    unset = text.split("%")[0] in ("", "any", "any6", "none", "::", "0.0.0.0")
    return "" if unset else address_of(text) or text


def _number(value: Any) -> int:
    text = str(value if value is not None else 0)
    return int(text) if text.isdigit() else -1


def node_of_member(item: JSON) -> tuple[str, str] | None:
    """Return the address of a member and the full path of its node; None for one without an address."""
    address = ltm_codec.member_address(item)
    node = ltm_codec.node_and_port(ltm_codec.path_of(item))[0]
    return (address, node) if address and node.startswith("/") else None


def decode_node(item: JSON) -> LTMNode:
    """Decode a node; an FQDN node has the address any6, and the nodes made from it are ephemeral."""
    text, fqdn = str(item.get("address", "")), item.get("fqdn")
    domain = text.partition("%")[2]
    resolved = str(item.get("ephemeral")) == "true" or bool(isinstance(fqdn, Mapping) and fqdn.get("tmName"))
    return LTMNode(ltm_codec.path_of(item), ltm_codec.address_of(text),
                   int(domain) if domain.isdecimal() else None, resolved, ltm_codec.member_state(item))
