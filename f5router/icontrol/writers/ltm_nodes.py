"""Writer of LTM nodes, to which pool members refer. A BIG-IP has one per address, in any partition.

Usually they come with the members and lie in the partition of the pools. Routers in several partitions
that share pods need them where the pools of all may refer to them (`--f5-node-partition`): there they
are created separately, with a description by which any of these routers recognises them. An existing
node stays where it is, with its members.
Source: bigip-behaviour.md B3; AS3's shareNodes does the same (F5Networks/f5-appsvcs-extension#3, #868).
"""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client, delete_if_there, get_if_there
from f5router.icontrol.rest.encoding import item_path
from f5router.model import names
from f5router.model.errors import BigIPError, Conflict, Incomplete, InUse, NotFound, Refused
from f5router.model.json_types import JSON
from f5router.model.ltm import BigIPState, Pool

log = logging.getLogger(__name__)

KIND = "ltm/node"

ADDRESS_TAKEN = frozenset({"0107176c", "0107003a"})
"""TMOS message numbers: another node has the address (bigip-behaviour.md A2.3)."""

BATCH = 500
"""Nodes that are deleted after one reading of all, at most."""

HINT = "one LTM node per address: routers that share pods need the same --f5-node-partition"

Write = Callable[[Pool, Mapping[str, str]], None]
"""Sends a pool, given the partition of the nodes of its members by address."""


def places(members: Iterable[JSON]) -> dict[str, str]:
    """Return the partition, with its slash, of the node of each address, from pool members as read.

    A member that cannot be read counts as absent, as its pool does.
    """
    partitions: dict[str, str] = {}
    for item in members:
        with contextlib.suppress(*ltm_codec.ODD):
            partition, *nested = ltm_codec.path_of(item).strip("/").split("/")
            if len(nested) == 1:
                partitions[ltm_codec.decode_member(item).address] = f"/{partition}"
    return partitions


class NodeWriter:
    """Thread-safe: two pools may need one node. One thread at a time removes nodes."""

    def __init__(self, client: Client, *, own: str, shared: str | None, batch: int = BATCH):
        """Args:
        own: partition of the pools, with its slash.
        shared: partition of new nodes; None: they come with the members, in the pools' own.
        batch: nodes that are deleted after one reading of all, at most.
        """
        self._client, self._own, self.shared, self._batch = client, own, shared, batch
        self._lock = threading.Lock()
        """For the attributes below, except `_found`, which only the thread that removes nodes uses."""
        self._places: dict[str, str] = {}
        """Partition by address of a pool member: the node is in use, so nobody can remove it."""
        self._left: set[str] = set()
        """Addresses whose nodes may be unused."""
        self._found: deque[tuple[str, str]] = deque()
        """Address and path of the nodes that are to be deleted."""
        self._listed: set[str] = set()
        """Addresses whose nodes are all in `_found`."""

    def update_from(self, observation: Observation) -> None:
        """Remember where the nodes of our pools' members are."""
        with self._lock:
            self._places = dict(observation.nodes)

    def forget(self, addresses: Iterable[str]) -> None:
        """Note addresses that left a pool, or did not get there: any router may remove their nodes."""
        with self._lock:
            for address in addresses:
                self._left.add(address)
                self._listed.discard(address)
                self._places.pop(address, None)

    def write(self, pool: Pool, old: Pool | None, put: Write) -> None:
        """Write a pool, its nodes first.

        Args: old: the pool on the device, None if there is none.
        Raises: Incomplete: it was written without the members whose address another node has.
            BigIPError.
        """
        try:
            if self.shared is None:
                put(pool, {})
            else:
                self._write(pool, old, put, self.shared)
        except Incomplete:
            raise
        except Refused as exc:
            if exc.code not in ADDRESS_TAKEN:
                raise
            raise _explained(exc) from exc

    def _write(self, pool: Pool, old: Pool | None, put: Write, shared: str) -> None:
        try:
            self._write_once(pool, old, put, shared)
        except NotFound:
            # Another router may just have removed a node that nobody used.
            self._write_once(pool, old, put, shared)

    def _write_once(self, pool: Pool, old: Pool | None, put: Write, shared: str) -> None:
        addresses = {member.address for member in pool.members}
        refused = self._make(addresses, shared)
        possible = replace(pool, members=frozenset(m for m in pool.members if m.address not in refused))
        try:
            if possible != old:
                with self._lock:
                    places = {m.address: self._places.get(m.address, shared) for m in possible.members}
                put(possible, places)
        except BigIPError:
            self.forget(addresses)
            raise
        for error in refused.values():
            raise Incomplete(error, possible, usable=bool(possible.members))

    def _make(self, addresses: Iterable[str], shared: str) -> dict[str, Refused]:
        """Create the missing nodes; return the addresses that cannot have one, and why."""
        refused = {}
        with self._lock:
            missing = sorted({address for address in addresses if address not in self._places})
        for address in missing:
            try:
                place = self._create(address, shared)
            except Refused as exc:
                if exc.code not in ADDRESS_TAKEN:
                    raise
                refused[address] = _explained(exc)
            else:
                with self._lock:
                    self._places[address] = place
        return refused

    def _create(self, address: str, shared: str) -> str:
        """Return the partition of the node of an address, created if there is none. Raises: BigIPError."""
        body = {"name": address, "partition": shared.strip("/"), "address": address,
                "description": names.NODE_DESCRIPTION}
        try:
            self._client.post(KIND, body)
        except Conflict:
            log.debug("node exists", extra={"address": address})
        except Refused as exc:
            own = item_path(KIND, f"{self._own}/{address}")
            if exc.code in ADDRESS_TAKEN and get_if_there(self._client, own) is not None:
                return self._own  # it came with a member, before there was a shared partition
            raise
        return shared

    def remove_left(self, in_use: Collection[str], *, most: int = BATCH) -> int:
        """Delete our nodes that members left behind and no pool refers to; return their number.

        Only of addresses that this process saw in a pool of ours; the device refuses to delete a node that
        a pool uses, be it another router's. Must not run while a pool is written.
        Args:
            in_use: addresses of members of our pools.
            most: limit of deletes; `left` is 0 once no node remains.
        Raises: BigIPError.
        """
        with self._lock:
            self._left -= set(in_use)
        if not self.left:
            self._found.clear()
            return 0
        if not self._found:
            self._list()
        removed = sum(self._remove_next() for _ in range(min(most, len(self._found))))
        if not self._found:
            with self._lock:
                self._left -= self._listed
                self._listed.clear()
        return removed

    def _remove_next(self) -> bool:
        """Delete one node, unless it is used again; False if it stays.

        Raises: BigIPError: the node stays, and is tried again after the others.
        """
        address, path = self._found[0]
        self._found.rotate(-1)
        with self._lock:
            gone = address in self._left
        if gone:
            try:
                delete_if_there(self._client, item_path(KIND, path))
            except InUse:
                gone = False
        self._found.pop()
        return gone

    @property
    def left(self) -> int:
        """Number of addresses whose nodes may be unused."""
        return len(self._left)

    def _list(self) -> None:
        """Read the nodes of the addresses that were left; a batch of them, if there are many."""
        with self._lock:
            addresses = set(self._left)
            self._listed = set(self._left)  # now: an address that leaves a pool from here on is read later
        nodes = []
        for partition in sorted({self._own, self.shared or self._own}):
            reply = self._client.get(KIND, {"$filter": f"partition eq {partition.strip('/')}"})
            for item in reply.get("items") or []:
                path = ltm_codec.path_of(item)
                address = ltm_codec.address_of(path.rsplit("/", 1)[1])
                if address in addresses and path.startswith(f"{partition}/") and self._ours(item):
                    nodes.append((address, path))
        if len(nodes) > self._batch:
            # The rest is read again before it is removed: somebody may have taken a node over meanwhile.
            del nodes[self._batch:]
            with self._lock:
                self._listed &= {address for address, _ in nodes}
        self._found = deque(nodes)

    def _ours(self, item: JSON) -> bool:
        """True if a node named by its address is ours.

        That is one that we created separately, or, where nodes come with members, one that nobody changed.
        """
        description = item.get("description", "")
        if description == names.NODE_DESCRIPTION:
            return True
        shared = ltm_codec.path_of(item).startswith(f"{self.shared}/")
        return not shared and not description and item.get("monitor", "default").strip() == "default"


def _explained(error: Refused) -> Refused:
    """Return the refusal with what the administrator can do."""
    return Refused(error.method, error.path, f"{error.text.rstrip('.')}; {HINT}", status=error.status)


def addresses(objects: BigIPState) -> set[str]:
    """Return the addresses of the members of all pools."""
    return {m.address for obj in objects.values() if isinstance(obj, Pool) for m in obj.members}
