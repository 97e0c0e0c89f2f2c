"""Virtual addresses of virtual servers, also of those whose destination has the name of one.

A destination is read with the address, or with the name of its virtual address, which may be any text
(bigip-behaviour.md B7, B12.15). A virtual address is looked up only where the text of a destination is not
enough.
"""

from f5router.icontrol import pages
from f5router.icontrol.codec import ltm_codec, virtual_codec
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.model.json_types import JSON
from f5router.model.placement import ADDRESS
from f5router.model.virtual_server import VirtualServer


def read_server(client: Client, path: str) -> JSON | None:
    """Read a virtual server with its profiles and policies; None if it does not exist. Raises: BigIPError."""
    raw = get_if_there(client, item_path(VirtualServer.KIND, path), {"expandSubcollections": "true"})
    return None if raw is None else with_address(client, raw)


def with_address(client: Client, raw: JSON) -> JSON:
    """Return a virtual server with the address that its destination names.

    One request more where that is a name. Raises: BigIPError.
    """
    if not virtual_codec.names_address(raw):
        return raw
    there = get_if_there(client, item_path(ADDRESS, virtual_codec.address_path(raw)))
    return {**raw, virtual_codec.NAMED_ADDRESS: str((there or {}).get("address", ""))}


def of_server(client: Client, raw: JSON) -> JSON | None:
    """Read the virtual address that a virtual server is on; None if it is not found.

    Args: raw: as read, perhaps with an address where the virtual address has a name. Raises: BigIPError.
    """
    path = virtual_codec.address_path(raw)
    if (there := get_if_there(client, item_path(ADDRESS, path))) is not None:
        return there
    folder, _, address = path.rpartition("/")
    return next((each for each in pages.items(client, ADDRESS, {})
                 if ltm_codec.path_of(each).rpartition("/")[0] == folder
                 and str(each.get("address")) == address), None)
