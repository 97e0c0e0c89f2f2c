"""Reading of all LTM nodes, which are read only where a write was refused, and by `plan` and `doctor`."""

import logging

from f5router.icontrol.codec import ltm_codec, node_codec
from f5router.icontrol.rest.client import Client
from f5router.model.errors import AuthFailed, Refused
from f5router.model.ltm_nodes import NodeMap, node_map

log = logging.getLogger(__name__)

KIND = "ltm/node"


def read(client: Client, partition: str, shared: str = "") -> NodeMap:
    """Read the nodes of all partitions that our account sees, and route domains if any is not ours.

    Args: partition: of the pools; shared: of new nodes, "" for that of the pools; both without slashes.
    Raises: BigIPError.
    """
    nodes, own = [], NodeMap({}, partition, shared)
    for item in client.get(KIND).get("items") or []:
        try:
            node = node_codec.decode_node(item)
            if node.address and node.path != own.own_path(node.address):
                nodes.append(node)
        except ltm_codec.ODD as exc:
            log.warning("object not understood", extra={"kind": KIND, "error": repr(exc)})
    return node_map(nodes, _default_domains(client) if nodes else {}, partition, shared)


def _default_domains(client: Client) -> dict[str, int]:
    """Return the default route domain of each partition; {} if our account may not read them."""
    try:
        items = client.get("auth/partition").get("items") or []
        return {str(item.get("name")): int(item.get("defaultRouteDomain") or 0) for item in items}
    except (AuthFailed, Refused, *ltm_codec.ODD) as exc:
        log.warning("default route domains not read", extra={"error": repr(exc)})
        return {}
