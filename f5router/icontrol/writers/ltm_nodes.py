"""LTM nodes: what pool members refer to. A BIG-IP has one per address, whatever the partition.

Usually they come with the members and lie in the partition of the pools. Routers in several partitions
that share pods need them where the pools of all may refer to them (`--f5-node-partition`): there they
are made on purpose, with a description, so that any of these routers can tell them from an
administrator's. A node that is there already stays where it is, with its members.
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
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.encoding import item_path
from f5router.model import names
from f5router.model.errors import BigIPError, Conflict, Incomplete, InUse, NotFound, Refused
from f5router.model.json_types import JSON
from f5router.model.ltm import Pool

log = logging.getLogger(__name__)

KIND = "ltm/node"

ADDRESS_TAKEN = frozenset({"0107176c", "0107003a"})
"""TMOS message numbers: another node has the address (bigip-behaviour.md A2.3)."""

LISTED = 500
"""So many nodes at most are deleted after one reading of all."""

HINT = "one LTM node per address: routers that share pods need the same --f5-node-partition"

Write = Callable[[Pool, Mapping[str, str]], None]
"""Sends a pool, given the partition of each member's node where that is not the pool's own."""


def places(members: Iterable[JSON]) -> dict[str, str]:
    """Partition, with its slash, of the node of each address, from pool members as read.

    A member that cannot be read counts as absent, as its pool does.
    """
    found: dict[str, str] = {}
    for item in members:
        with contextlib.suppress(*ltm_codec.ODD):
            partition, *nested = ltm_codec.path_of(item).strip("/").split("/")
            if len(nested) == 1:
                found[ltm_codec.decode_member(item).address] = f"/{partition}"
    return found


class NodeWriter:
    """Thread-safe: two pools that ask for one node find it made. One thread at a time removes nodes."""

    def __init__(self, client: Client, *, own: str, shared: str | None):
        """Args:
        own: partition of the pools, with its slash.
        shared: that of new nodes; None: they come with the members, in the pools' own.
        """
        self._client, self._own, self.shared = client, own, shared
        self._lock = threading.Lock()
        """Of what follows, save `_found`, which only the thread that removes nodes uses."""
        self._places: dict[str, str] = {}
        """Of members of our pools: their nodes are in use, so nobody can remove them."""
        self._left: set[str] = set()
        """Addresses whose nodes nobody may need any more."""
        self._found: deque[tuple[str, str]] = deque()
        """Address and path of nodes that are to be deleted, as they were read."""
        self._listed: set[str] = set()
        """Addresses that `_found` answers for."""

    def update_from(self, observation: Observation) -> None:
        """Remember where the nodes of our pools' members are."""
        with self._lock:
            self._places = dict(observation.nodes)

    def forget(self, addresses: Iterable[str]) -> None:
        """Members of these addresses left a pool, or did not get there: any router may remove their nodes."""
        with self._lock:
            for address in addresses:
                self._left.add(address)
                self._listed.discard(address)
                self._places.pop(address, None)

    def write(self, pool: Pool, old: Pool | None, put: Write) -> None:
        """Write a pool, its nodes first.

        Args: old: the pool as it is there, None where it is not.
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
        made = replace(pool, members=frozenset(m for m in pool.members if m.address not in refused))
        try:
            if made != old:
                with self._lock:
                    places = {m.address: self._places.get(m.address, shared) for m in made.members}
                put(made, places)
        except BigIPError:
            self.forget(addresses)
            raise
        for error in refused.values():
            raise Incomplete(error, made, usable=bool(made.members))

    def _make(self, addresses: Iterable[str], shared: str) -> dict[str, Refused]:
        """See that there is a node for each; returns which cannot be, and why."""
        refused = {}
        with self._lock:
            missing = sorted({*addresses} - self._places.keys())
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
        """Partition of the node of an address, made if there is none. Raises: BigIPError."""
        body = {"name": address, "partition": shared.strip("/"), "address": address,
                "description": names.NODE_DESCRIPTION}
        try:
            self._client.post(KIND, body)
        except Conflict:
            log.debug("node exists", extra={"address": address})
        except Refused as exc:
            if exc.code in ADDRESS_TAKEN and self._is_own(address):
                return self._own
            raise
        return shared

    def _is_own(self, address: str) -> bool:
        """Whether the node is one that came with a member, before there was a shared partition."""
        try:
            self._client.get(item_path(KIND, f"{self._own}/{address}"))
        except NotFound:
            return False
        return True

    def remove_left(self, in_use: Collection[str], *, most: int = LISTED) -> int:
        """Delete nodes of ours that members left behind, and no pool refers to; returns how many.

        Only of addresses that this process saw in a pool of ours; the device refuses to delete a node that
        a pool uses, be it another router's. Must not run while a pool is written.
        Args:
            in_use: addresses of members of our pools.
            most: so many requests to delete at most; `left` says whether nodes remain.
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

        Raises: BigIPError: the node stays, and is the last to be tried again.
        """
        address, path = self._found[0]
        self._found.rotate(-1)
        with self._lock:
            gone = address in self._left
        if gone:
            try:
                self._client.delete(item_path(KIND, path))
            except (InUse, NotFound):
                gone = False
        self._found.pop()
        return gone

    @property
    def left(self) -> int:
        """How many addresses there are whose nodes may have to go."""
        return len(self._left)

    def _list(self) -> None:
        """Read which nodes there are of the addresses that were left; some of them, if there are many."""
        with self._lock:
            addresses = set(self._left)
            self._listed = set(self._left)  # now: what leaves a pool from here on is not answered for
        found = []
        for partition in sorted({self._own, self.shared or self._own}):
            reply = self._client.get(KIND, {"$filter": f"partition eq {partition.strip('/')}"})
            for item in reply.get("items") or []:
                path = ltm_codec.path_of(item)
                address = ltm_codec.address_of(path.rsplit("/", 1)[1])
                if address in addresses and path.startswith(f"{partition}/") and self._ours(item):
                    found.append((address, path))
        if len(found) > LISTED:
            # Looked at again before the rest is removed: somebody may have taken one over meanwhile.
            del found[LISTED:]
            with self._lock:
                self._listed &= {address for address, _ in found}
        self._found = deque(found)

    def _ours(self, item: JSON) -> bool:
        """Of nodes named by their address: what we made on purpose, or, where nodes come with members,
        what nobody has changed."""
        description = item.get("description", "")
        if description == names.NODE_DESCRIPTION:
            return True
        shared = ltm_codec.path_of(item).startswith(f"{self.shared}/")
        return not shared and not description and item.get("monitor", "default").strip() == "default"


def _explained(error: Refused) -> Refused:
    """The same refusal, with what can be done."""
    return Refused(error.method, error.path, f"{error.text.rstrip('.')}; {HINT}", status=error.status)
