"""Health of the members of one pool, as the BIG-IP's monitors report it.

Source: bigip-behaviour.md B3: `state` of a member is up, down, checking or unchecked besides what a user has
set, in the collection of members.
"""

from collections.abc import Mapping

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.encoding import item_path

_HEALTH = {"up": "up", "down": "down", "user-down": "down", "unchecked": "unchecked", "checking": "unchecked",
           "user-up": "unchecked"}


def read(client: Client, pool: str) -> Mapping[tuple[str, int], str]:
    """Read the health of members by address and port; a state that is not known is left out.

    Args: client: one for reading beside the control loop.
    Raises: BigIPError: it cannot be read.
    """
    reply = client.get("/mgmt/tm/" + item_path("ltm/pool", pool) + "/members")
    members = {}
    for item in reply.get("items") or ():
        if health := _HEALTH.get(str(item.get("state", ""))):
            member = ltm_codec.decode_member(item)
            members[member.address, member.port] = health
    return members
