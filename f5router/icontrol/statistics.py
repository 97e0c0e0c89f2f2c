"""Statistics of pools, members and virtual servers, as the BIG-IP counts them; single pools.

One request reads those of all pools of the device. There is no documented filter for `/stats`, so the caller
picks its own. Members have no such collection outside of /Common: each pool's are a request.

Sources: bigip-behaviour.md A3 has the names of the counters, and where each is recorded or documented. Keys
of entries differ between versions, `tmName` is the full path; members have `addr` and `port` instead.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.unit import Unit
from f5router.model.errors import NotReady, Refused
from f5router.model.json_types import JSON
from f5router.model.ltm import Pool
from f5router.model.objects import Ref

CONNFAILS = "connfails"
"""Connections that a TCP profile could not open: inferred from `ltmTcpProfileStatConnfails` of
F5-BIGIP-LOCAL-MIB, whose names for HTTP profiles correspond to those of REST."""
POOLS, VIRTUALS = "ltm/pool", "ltm/virtual"
BITS_OF_A_BYTE = 8
RESPONSES = ("2xx", "3xx", "4xx", "5xx")
"""Classes of responses that an HTTP profile counts."""


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
    max_connections: int | None = None
    """Most that were open at once; None for objects that were added up."""
    queued: int | None = None
    """Connections that wait for a member; None for objects without a queue."""


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


@dataclass(frozen=True, slots=True)
class MemberStatistics:
    """Traffic and health of a pool member."""

    traffic: Traffic
    is_available: bool | None = None
    """By its monitors; None without any."""
    is_enabled: bool = True
    """False if an administrator has disabled it, or its node."""


@dataclass(frozen=True, slots=True)
class VirtualStatistics:
    """Traffic of a virtual server, and what its profiles count of it."""

    traffic: Traffic
    responses: Mapping[str, int] = field(default_factory=dict)
    """HTTP responses by class, of RESPONSES; empty if no HTTP profile counts them."""
    connection_errors: int | None = None
    """Connections to pool members that could not be opened; None if no TCP profile counts them."""


def pools(client: Client) -> dict[str, PoolStatistics]:
    """Read the statistics of all pools of the device by path. Raises: BigIPError."""
    reply = client.statistics(f"/mgmt/tm/{POOLS}/stats")
    return {path: _pool(values) for path, values in _entries(reply)}


def pool(client: Client, path: str) -> PoolStatistics | None:
    """Read the statistics of one pool; None if the reply has none. Raises: BigIPError."""
    reply = client.statistics(f"/mgmt/tm/{item_path(POOLS, path)}/stats")
    return next((_pool(values) for _, values in _entries(reply)), None)


def members(client: Client, pool: str) -> dict[str, MemberStatistics]:
    """Read the statistics of a pool's members by address and port, as `10.1.2.3:80`. Raises: BigIPError."""
    reply = client.statistics(f"/mgmt/tm/{item_path(POOLS, pool)}/members/stats")
    read = {}
    for _, values in _entries(reply):
        address, port = _text(values, "addr"), _number(values, "port")
        if address:  # not of the pool itself, as in a reply of 13.1 to a name without a partition
            read[f"[{address}]:{port}" if ":" in address else f"{address}:{port}"] = MemberStatistics(
                _traffic(values, "serverside", "connq"),
                {"available": True, "offline": False}.get(_text(values, "status.availabilityState")),
                _text(values, "status.enabledState") in ("enabled", ""))
    return read


def virtual_server(client: Client, path: str) -> VirtualStatistics | None:
    """Read the statistics of a virtual server by two requests; None if the first reply has none.

    Raises: BigIPError; a refusal of the second request only leaves out what profiles count.
    """
    url = f"/mgmt/tm/{item_path(VIRTUALS, path)}"
    reply = client.statistics(f"{url}/stats")
    traffic = next((_traffic(values, "clientside") for _, values in _entries(reply)), None)
    if traffic is None:
        return None
    try:
        reply = client.statistics(f"{url}/profiles/stats")
    except Refused as exc:
        log.debug("statistics of profiles not read", extra={"virtual_server": path, "error": str(exc)})
        return VirtualStatistics(traffic)
    by_type: dict[str, list[Mapping[str, Any]]] = {}
    for _, values in _entries(reply):
        by_type.setdefault(_text(values, "typeId"), []).append(values)
    http = by_type.get("ltm profile http")
    failures = [_number(values, CONNFAILS) for values in by_type.get("ltm profile tcp", ())
                if CONNFAILS in values]
    responses = {name: sum(_number(values, f"resp_{name}Cnt") for values in http)
                 for name in RESPONSES} if http else {}
    return VirtualStatistics(traffic, responses, sum(failures) if failures else None)


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
        _traffic(values, "serverside", "connqAll"),
        _number(values, "memberCnt") if "memberCnt" in values else None,
        _number(values, "activeMemberCnt"), _text(values, "status.availabilityState") != "unknown")


def _traffic(values: Mapping[str, Any], side: str, queue: str = "") -> Traffic:
    """Args: side: whose connections are counted; queue: name of the queue, "" without one."""
    return Traffic(
        _number(values, f"{side}.curConns"), _number(values, f"{side}.totConns"),
        _number(values, f"{side}.bitsIn") // BITS_OF_A_BYTE,
        _number(values, f"{side}.bitsOut") // BITS_OF_A_BYTE, _number(values, "totRequests"),
        _number(values, f"{side}.maxConns"), _number(values, f"{queue}.depth") if queue else None)


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


_HEALTH = {"available": "up", "offline": "down", "unknown": "unchecked"}
"""By availability; a member that is disabled, or whose node is, is `disabled` whatever its monitor finds."""


def read_health(client: Client, pool: str) -> Mapping[tuple[str, int], str]:
    """Read the health of members by address and port; a state that is not known is left out.

    The members themselves do not show that their LTM node is disabled or forced offline.

    Args: client: one for reading beside the control loop.
    Raises: BigIPError: it cannot be read.
    """
    reply = client.statistics(f"/mgmt/tm/{item_path(POOLS, pool)}/members/stats")
    health: dict[tuple[str, int], str] = {}
    for _, values in _entries(reply):
        enabled = _text(values, "status.enabledState") in ("enabled", "")
        checking = _text(values, "monitorStatus") == "checking"  # no result yet: nobody knows
        availability = "unknown" if checking else _text(values, "status.availabilityState")
        state = _HEALTH.get(availability) if enabled else "disabled"
        address = ltm_codec.member_address({"address": _text(values, "addr")})
        if address and state:
            health[address, _number(values, "port")] = state
    return health
