"""Reader and writer of LTM nodes, to which pool members refer. A BIG-IP has one per address.

Usually they come with the members and lie in the partition of the pools. Routers in several partitions
that share pods need them where the pools of all may refer to them (`--f5-node-partition`): there they
are created separately, with a description by which any of these routers recognises them. An existing
node stays where it is, with its name and its members: a member is written by it where a pool may refer to it.
All nodes are read only when the device has refused one: pools whose nodes are ours cost no request more.
Source: bigip-behaviour.md B3; AS3's shareNodes does the same (F5Networks/f5-appsvcs-extension#3, #868).
"""

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from f5router.icontrol.codec import ltm_codec, net_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client, delete_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.writer import PoolWrite
from f5router.model import names
from f5router.model.errors import AuthFailed, BigIPError, Conflict, InUse, NotFound, Refused
from f5router.model.json_types import JSON
from f5router.model.ltm import BigIPState, Pool, PoolMember
from f5router.model.ltm_nodes import LTMNode, NodeMap, node_map

log = logging.getLogger(__name__)

NODE_KIND = "ltm/node"


def read_nodes(client: Client, partition: str, shared: str = "") -> NodeMap:
    """Read the nodes of all partitions that our account sees, and route domains if any is not ours.

    Args: partition: of the pools; shared: of new nodes, "" for that of the pools; both without slashes.
    Raises: BigIPError.
    """
    nodes: list[LTMNode] = []
    ours: list[LTMNode] = []
    own = NodeMap({}, partition, shared)
    for item in client.get(NODE_KIND).get("items") or []:
        try:
            node = net_codec.decode_node(item)
            if node.address:
                (ours if node.path == own.own_path(node.address) else nodes).append(node)
        except ltm_codec.ODD as exc:
            log.warning("object not understood", extra={"kind": NODE_KIND, "error": repr(exc)})
    foreign = node_map(nodes, _default_domains(client) if nodes else {}, partition, shared)
    return replace(foreign, disabled={
        node.address: node for node in (*ours, *foreign.foreign.values()) if node.state != "enabled"})


def _default_domains(client: Client) -> dict[str, int]:
    """Return the default route domain of each partition; {} if our account may not read them."""
    try:
        items = client.get("auth/partition").get("items") or []
        return {str(item.get("name")): int(item.get("defaultRouteDomain") or 0) for item in items}
    except (AuthFailed, Refused, *ltm_codec.ODD) as exc:
        log.warning("default route domains not read", extra={"error": repr(exc)})
        return {}


KIND = NODE_KIND

ADDRESS_TAKEN = frozenset({"0107176c", "0107003a"})
"""TMOS message numbers: another node has the address (bigip-behaviour.md A2.3)."""

BATCH = 500
"""Nodes that are deleted after one reading of all, at most."""

Write = Callable[[Pool, Mapping[str, str], bool], None]
"""Sends a pool, given the nodes of its members by address, and if it is on the device."""


def nodes_of(members: Iterable[JSON]) -> dict[str, str]:
    """Return the full path of the node of each address, from pool members as read.

    A member that cannot be read counts as absent, as its pool does.
    """
    nodes: dict[str, str] = {}
    for item in members:
        with contextlib.suppress(*ltm_codec.ODD):
            if (place := net_codec.node_of_member(item)) is not None:
                nodes[place[0]] = place[1]
    return nodes


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
        self._used: dict[str, str] = {}
        """Full path by address of a pool member: the node is in use, so nobody can remove or rename it."""
        self._all = NodeMap({}, own.strip("/"), (shared or "").strip("/"))
        """All nodes as they were read last."""
        self._readings = 0
        """How many readings of all nodes have begun."""
        self._is_old = False
        """True if the device was observed since: what is left out may be possible now."""
        self._reading = threading.Lock()
        """Held while all nodes are read."""
        self._left: set[str] = set()
        """Addresses whose nodes may be unused."""
        self._found: deque[tuple[str, str]] = deque()
        """Address and path of the nodes that are to be deleted."""
        self._listed: set[str] = set()
        """Addresses whose nodes are all in `_found`."""

    def update_from(self, observation: Observation) -> None:
        """Remember which nodes our pools' members have."""
        with self._lock:
            self._used, self._is_old = dict(observation.nodes), True

    def forget(self, addresses: Iterable[str]) -> None:
        """Record addresses that left a pool or were refused there: any router may remove their nodes."""
        with self._lock:
            for address in addresses:
                self._left.add(address)
                self._listed.discard(address)
                self._used.pop(address, None)
                if self._all.path(address) == f"{self._own}/{address}":
                    self._all = self._all.without(address)  # it came with a member, and may go

    # --- writing ---------------------------------------------------------------------------

    def write(self, pool: Pool, old: Pool | None, put: Write) -> None:
        """Write a pool, its nodes first.

        Args: old: the pool on the device, None if there is none.
        Raises: Incomplete: it was written without members that the device refuses, or whose address another
            node has. BigIPError.
        """
        nodes: dict[str, str] = {}

        def send(members: Pool, exists: bool) -> None:
            nodes.clear()
            nodes.update(self._paths(members))
            put(members, nodes, exists)

        write = PoolWrite(pool, old, send, lambda members: self._check(members, nodes))
        addresses = {member.address for member in pool.members}
        try:
            left, refused = self._written(write, addresses)
        except BigIPError:
            self._note_unused(addresses)
            raise
        self._note_unused(member.address for member in refused)
        write.incomplete(left, refused)

    def _written(self, write: PoolWrite, addresses: set[str]) -> tuple[
            dict[str, Refused], dict[PoolMember, Refused]]:
        """Write a pool; again after a reading of all nodes, if the first attempt is refused.

        Returns: the addresses that are left out, and the members that are refused, with the reasons.
        Raises: BigIPError.
        """
        readings = self._readings
        left: dict[str, Refused] = {}
        try:
            left = self._prepare(addresses)
            write.send(left)
        except Refused as exc:
            refusal = exc
        else:
            return left, {}
        if self._may_be_nodes(refusal, addresses) and self._has_read(refusal, addresses, readings):
            try:
                left = self._prepare(addresses)
                write.send(left)
            except Refused as exc:
                refusal = exc
            else:
                return left, {}
            if write.is_wrong:  # nodes changed again: none of another name counts
                left |= dict.fromkeys(addresses & self._all.foreign.keys(), refusal)
                write.send(left)
                return left, {}
        if isinstance(refusal, NotFound):
            raise refusal  # the pool, or what it needs, is gone: the device is read again
        return left, write.bisect(refusal, left)

    def _has_read(self, refusal: Refused, addresses: set[str], since: int) -> bool:
        """Read all nodes after a refusal; False if our account may not read them. Raises: BigIPError."""
        with self._lock:
            for address in addresses:
                self._used.pop(address, None)
        try:
            self._read_all(since)
        except (AuthFailed, Refused) as exc:
            log.warning("LTM nodes not read", extra={"error": str(exc), "refusal": refusal.text})
            return False
        return True

    def _note_unused(self, addresses: Iterable[str]) -> None:
        """Record nodes that we may have created, but that no pool uses."""
        if self.shared is not None:
            self.forget(addresses)

    def _may_be_nodes(self, error: Refused, addresses: set[str]) -> bool:
        """True if a refusal may be over once it is known which nodes there are now."""
        return error.code in ADDRESS_TAKEN or (isinstance(error, NotFound) and (
            self.shared is not None or any(self.path(address) != self._all.own_path(address)
                                           for address in addresses)))

    def path(self, address: str) -> str:
        """Return the full path of an address's node, as far as it is known."""
        return self._used.get(address) or self._all.path(address)

    def _paths(self, pool: Pool) -> dict[str, str]:
        with self._lock:
            return {member.address: self.path(member.address) for member in pool.members}

    def _prepare(self, addresses: Iterable[str]) -> dict[str, Refused]:
        """Create the nodes that are missing, if they are ours to create.

        Returns: the addresses that cannot have a member, and why. Raises: BigIPError.
        """
        left = self._obstacles(addresses)
        if left and self._is_old:
            self._read_all(self._readings)
            left = self._obstacles(addresses)
        if self.shared is not None:
            with self._lock:
                missing = sorted(address for address in addresses
                                 if address not in self._used and address not in left
                                 and address not in self._all.foreign)
                self._left.difference_update(missing)  # else it may be removed before the pool refers to it
            for address in missing:
                self._create(address, self.shared)
        return left

    def _obstacles(self, addresses: Iterable[str]) -> dict[str, Refused]:
        with self._lock:
            unused = sorted(address for address in addresses if address not in self._used)
            obstacles = {address: self._all.obstacle(address) for address in unused}
        return {address: Refused(text=text) for address, text in obstacles.items() if text}

    def _create(self, address: str, shared: str) -> None:
        """Create the node of an address, unless it is there. Raises: BigIPError."""
        body = {"name": address, "partition": shared.strip("/"), "address": address,
                "description": names.NODE_DESCRIPTION}
        try:
            self._client.post(KIND, body)
        except Conflict:
            log.debug("node exists", extra={"address": address})
        with self._lock:
            self._used[address] = f"{shared}/{address}"

    def _read_all(self, since: int) -> None:
        """Read all nodes, unless another thread began to after so many readings. Raises: BigIPError."""
        with self._reading:
            if self._readings > since:
                return
            self._readings += 1
            self._is_old = False
            nodes = self.read()
            with self._lock:
                self._all = nodes

    def read(self) -> NodeMap:
        """Read all nodes, in one request, or two if there are some of other names. Raises: BigIPError."""
        return read_nodes(self._client, self._own.strip("/"), (self.shared or "").strip("/"))

    def _check(self, pool: Pool, nodes: Mapping[str, str]) -> None:
        """Re-read the members of a pool if a node of another name may have a new address.

        Args: nodes: those by which it was written. Raises: NotFound: one has; BigIPError.
        """
        with self._lock:
            known = self._all
            doubtful = sorted(address for address, path in nodes.items()
                              if address not in self._used and path != known.own_path(address))
        if not doubtful:
            return
        reply = self._client.get(item_path(Pool.KIND, pool.path, "members"))
        read = nodes_of(reply.get("items") or ())
        with self._lock:
            self._used.update((address, read[address]) for address in doubtful if address in read)
        for address in doubtful:
            if address not in read:
                raise NotFound("GET", item_path(Pool.KIND, pool.path),
                               f"LTM node {nodes[address]} has not the address {address} any more")
            if address in known.foreign:
                _tell(known.foreign[address])

    # --- removal ---------------------------------------------------------------------------

    def remove_left(self, in_use: Collection[str], *, most: int = BATCH) -> int:
        """Delete our nodes that members left behind and no pool refers to; return their number.

        Only of addresses that this process saw in a pool of ours; the device refuses to delete a node that
        a pool uses, be it another router's. Must not run while a pool is written.
        Args:
            in_use: addresses of members of our pools.
            most: limit of deletes; `left` is 0 once no node remains.
        Raises: BigIPError.
        """
        self.keep(in_use)
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

    def keep(self, addresses: Iterable[str]) -> None:
        """Leave the nodes of these addresses alone: members of our pools have them."""
        with self._lock:
            self._left -= set(addresses)

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

    def take_over(self, other: "NodeWriter") -> None:
        """Note what another unit has left: config sync has brought its nodes here, too."""
        with other._lock:
            addresses = set(other._left)
        self.forget(addresses)

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
                address = path.rsplit("/", 1)[1]  # one of another name, or spelling, is not ours
                if address in addresses and path == f"{partition}/{address}" and self._ours(item):
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


def _tell(node: LTMNode) -> None:
    """Log that members use a node of another name."""
    fields = {"node": node.path, "address": node.address}
    if node.state == "enabled":
        log.info("pool members use an LTM node of another name", extra=fields)
    else:
        log.warning("LTM node disabled by an administrator: its pool members get no new clients",
                    extra=fields)


def addresses(objects: BigIPState) -> set[str]:
    """Return the addresses of the members of all pools."""
    return {m.address for obj in objects.values() if isinstance(obj, Pool) for m in obj.members}
