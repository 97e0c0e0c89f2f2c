"""Decoding of LTM nodes, and of the node that a pool member names. Source: bigip-behaviour.md B3."""

from collections.abc import Mapping

from f5router.icontrol.codec import ltm_codec
from f5router.model.json_types import JSON
from f5router.model.ltm_nodes import LTMNode


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
