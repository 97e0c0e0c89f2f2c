"""Statistics of pools and virtual servers, as the BIG-IP counts them; the health of members; single pools.

One request reads those of all pools of the device. There is no documented filter for `/stats`, so the caller
picks its own. Members have no such collection outside of /Common.

Sources: F5Networks/f5-appsvcs-extension#918 (statistics of all pools in one reply, of members per pool);
recordings of ltm/pool/stats of 17.0.0.1 and of items of 13.1.1 and 16.0.0 (bigip-behaviour.md A3): keys of
entries differ between versions, `tmName` is the full path; e-XpertSolutions/f5-rest-client#22 and
pr8kerl/f5er#16: `memberCnt` is in replies of 13.1, but not of 12.1.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.encoding import item_path
from f5router.icontrol.unit import Unit
from f5router.model.errors import NotReady
from f5router.model.json_types import JSON
from f5router.model.ltm import Pool
from f5router.model.objects import Ref

POOLS, VIRTUALS = "ltm/pool", "ltm/virtual"
BITS_OF_A_BYTE = 8


@dataclass(frozen=True, slots=True)
class Traffic:
    """Connections and bytes of an object since it was made, or its statistics were reset."""

    connections: int = 0
    """Open now."""
    opened: int = 0
    """Opened so far."""
    bytes_in: int = 0
    """Towards the object, such as requests."""
    bytes_out: int = 0
    requests: int = 0
    """HTTP requests, where an HTTP profile counts them."""


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """Traffic and members of a pool."""

    traffic: Traffic
    members: int | None = None
    """None before 13.1."""
    active: int = 0
    """Members that take connections."""
    is_checked: bool = True
    """False for a pool without a monitor: nobody knows which of its members are up."""


def pools(client: Client) -> dict[str, PoolStatistics]:
    """Read the statistics of all pools of the device by path. Raises: BigIPError."""
    reply = client.statistics(f"/mgmt/tm/{POOLS}/stats")
    return {path: _pool(values) for path, values in _entries(reply)}


def pool(client: Client, path: str) -> PoolStatistics | None:
    """Read the statistics of one pool; None if the reply has none. Raises: BigIPError."""
    reply = client.statistics(f"/mgmt/tm/{item_path(POOLS, path)}/stats")
    return next((_pool(values) for _, values in _entries(reply)), None)


def virtual_server(client: Client, path: str) -> Traffic | None:
    """Read the statistics of a virtual server; None if the reply has none. Raises: BigIPError."""
    reply = client.statistics(f"/mgmt/tm/{item_path(VIRTUALS, path)}/stats")
    return next((_traffic(values, "clientside") for _, values in _entries(reply)), None)


def _entries(reply: JSON) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield path and values of each object of a reply; an entry of another form is left out."""
    entries = reply.get("entries")
    for url, entry in entries.items() if isinstance(entries, dict) else ():
        nested = entry.get("nestedStats") if isinstance(entry, dict) else None
        values = nested.get("entries") if isinstance(nested, dict) else None
        if isinstance(values, dict):
            yield _text(values, "tmName") or _path(str(url)), values


def _path(url: str) -> str:
    """Return the full path in a key such as https://localhost/mgmt/tm/ltm/pool/~Common~a/stats."""
    name = url.removesuffix("/stats").rpartition("/")[2]
    return unquote(name).replace("~", "/")


def _pool(values: Mapping[str, Any]) -> PoolStatistics:
    return PoolStatistics(
        _traffic(values, "serverside"), _number(values, "memberCnt") if "memberCnt" in values else None,
        _number(values, "activeMemberCnt"), _text(values, "status.availabilityState") != "unknown")


def _traffic(values: Mapping[str, Any], side: str) -> Traffic:
    """Args: side: whose connections are counted."""
    return Traffic(
        _number(values, f"{side}.curConns"), _number(values, f"{side}.totConns"),
        _number(values, f"{side}.bitsIn") // BITS_OF_A_BYTE,
        _number(values, f"{side}.bitsOut") // BITS_OF_A_BYTE, _number(values, "totRequests"))


def _number(values: Mapping[str, Any], name: str) -> int:
    """Return a counter; 0 if it is missing or no number."""
    entry = values.get(name)
    value = entry.get("value") if isinstance(entry, dict) else None
    return value if isinstance(value, int) and value >= 0 else 0


def _text(values: Mapping[str, Any], name: str) -> str:
    entry = values.get(name)
    text = entry.get("description") if isinstance(entry, dict) else None
    return text if isinstance(text, str) else ""


log = logging.getLogger(__name__)


def read_pools(unit: Unit, refs: Iterable[Ref]) -> dict[Ref, Pool]:
    """Read pools beside the loop; missing and undecodable pools are left out.

    Raises: Standby: the unit is not active; NotReady: it is starting; BigIPError.
    """
    unit.failover.require_active()
    client, pools = unit.client.for_reading(), {}
    for ref in refs:
        item = get_if_there(client, item_path(Pool.KIND, ref.path), {"expandSubcollections": "true"})
        try:
            if item is not None:
                pools[ref] = ltm_codec.decode_pool(item)
        except ltm_codec.ODD as exc:
            log.warning("object not understood", extra={
                "kind": Pool.KIND, "path": ref.path, "error": repr(exc)})
    if not client.ready():  # while it starts, it has some of its configuration
        raise NotReady("GET", "/mgmt/tm/sys/ready", "the device is starting or loading its configuration")
    return pools


_HEALTH = {"up": "up", "down": "down", "user-down": "down", "unchecked": "unchecked", "checking": "unchecked",
           "user-up": "unchecked"}


def read_health(client: Client, pool: str) -> Mapping[tuple[str, int], str]:
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
