"""LTM nodes of a BIG-IP: which one a pool member at an address has, and pools of which members are refused.

A BIG-IP has one node per address and route domain, in all partitions. A pool may refer to nodes of its own
partition and of /Common. A member names its node: at an address whose node has another name than ours the
member is written by that name, as reuse_nodes of f5_modules does (bigip_pool_member).
Sources: bigip-behaviour.md B3; F5Networks/f5-ansible#1595.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from f5router.model.errors import BigIPError, Refused
from f5router.model.ltm import MemberState, Pool

COMMON = "Common"

SHARE = "Controllers that share pods need their nodes in /Common (--f5-node-partition; CIS: --share-nodes)"


@dataclass(frozen=True, slots=True)
class LTMNode:
    """A node as it was read."""

    path: str
    address: str
    """Canonical text without route domain; "" for an FQDN node, which has none of its own."""
    domain: int | None = None
    """Route domain that its address names; None: the default one of its partition."""
    resolved: bool = False
    """True for a node that the BIG-IP makes of an FQDN, and removes when the name changes."""
    state: MemberState = "enabled"
    """As its administrator set it."""

    @property
    def partition(self) -> str:
        return self.path.split("/")[1]

    @property
    def name(self) -> str:
        """Name without partition and folders."""
        return self.path.rsplit("/", 1)[1]

    def obstacle(self, partition: str) -> str:
        """Return why no pool of a partition may have a member on this node; "" if one may."""
        if self.resolved:
            return f"LTM node {self.path}, which comes from an FQDN, has the address {self.address}"
        if self.partition not in (partition, COMMON):
            return (f"LTM node {self.path} has the address {self.address}; pools of /{partition} cannot use "
                    f"a node of /{self.partition}. {SHARE}")
        if self.name.count(":") == 1:
            return f"LTM node {self.path} has the address {self.address}, and a colon in its name"
        return ""


@dataclass(frozen=True, slots=True)
class NodeMap:
    """The nodes at which members of our pools cannot get a node of their own."""

    foreign: Mapping[str, LTMNode]
    """By address: those with another path than the one that would be made."""
    partition: str
    """Partition of the pools, without slashes."""
    shared: str = ""
    """Partition of new nodes; "" for that of the pools."""
    disabled: Mapping[str, LTMNode] = field(default_factory=dict)
    """By address: those that an administrator has disabled or forced offline, our own included."""

    def path(self, address: str) -> str:
        """Return the full path of an address's node, existing or to be created."""
        node = self.foreign.get(address)
        return node.path if node is not None else self.own_path(address)

    def own_path(self, address: str) -> str:
        """Return the full path of a node that comes with a member, or that we make."""
        return f"/{self.shared or self.partition}/{address}"

    def without(self, address: str) -> "NodeMap":
        """Return the nodes without the node of an address."""
        return replace(self, foreign={key: node for key, node in self.foreign.items() if key != address})

    def obstacle(self, address: str) -> str:
        """Return why no member may have this address; "" if one may."""
        node = self.foreign.get(address)
        return node.obstacle(self.partition) if node is not None else ""


def node_map(nodes: Iterable[LTMNode], defaults: Mapping[str, int], partition: str,
             shared: str = "") -> NodeMap:
    """Find the nodes that are in the route domain of our members.

    Args:
        nodes: those with an address, and another path than the one that would be made.
        defaults: the default route domain by partition; 0 for those that are not in it.
        partition, shared: see NodeMap.
    """
    ours = defaults.get(shared or partition, 0)
    return NodeMap({
        node.address: node for node in nodes
        if (defaults.get(node.partition, 0) if node.domain is None else node.domain) == ours},
        partition, shared)


class Incomplete(Refused):
    """The device has a pool without some of its members, as it refuses them.

    Attributes:
        applied: the pool as it is on the device now.
    """

    def __init__(self, error: Refused, applied: Pool):
        super().__init__(error.method, error.path, error.text, status=error.status)
        self.applied = applied


def is_usable(error: BigIPError) -> bool:
    """True for a pool that has members though some were refused: its dependents work with that."""
    return isinstance(error, Incomplete) and bool(error.applied.members)
