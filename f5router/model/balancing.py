"""The words for how a Route's pods share its connections, and which of them applies.

Sources: openshift/router, images/router/haproxy/conf/haproxy-config.template (balance); tmsh reference, ltm
pool load-balancing-mode.
"""

from dataclasses import dataclass

ALGORITHMS = ("roundrobin", "leastconn", "random", "source")

BY_NODE = "least-connections-node"
"""The BIG-IP's method that counts all connections of a pod, whatever pools lead to it, and no weights."""

METHODS = {
    "round-robin": "roundrobin", "ratio-member": "roundrobin", "ratio-session": "roundrobin",
    "ratio-node": "roundrobin",
    "least-connections-member": "leastconn", "ratio-least-connections-member": "leastconn",
    "weighted-least-connections-member": "leastconn",
    BY_NODE: BY_NODE, "ratio-least-connections-node": BY_NODE,
}
"""Methods of the BIG-IP, each with the algorithm that means the same for members of ours, whose weights and
limits come from the Route and whose nodes have none.

The others are left out. dynamic-ratio-* needs an agent on each pod, least-sessions a persistence profile on
the virtual server, weighted-least-connections-node a limit on each node. fastest-* sends most requests to a
pod that fails at once. observed-* and predictive-* are computed every second for each member, at the cost of
everybody else: F5 does not recommend them for large pools. Source: techdocs.f5.com, BIG-IP Local Traffic
Management, "Load balancing methods".
"""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The router's settings, which apply where a Route has no annotation."""

    http: str = ""
    """One of ALGORITHMS; "" if the operator did not choose."""
    tcp: str = ""
    """The same, for passthrough."""

    def of(self, termination: str, *, several: bool = False) -> str:
        """Return the algorithm of a Route without one of its own.

        Args: several: True if several of its Services have a weight above 0.
        """
        if several:
            return "roundrobin"
        if termination == "passthrough":
            return self.tcp or self.http or "source"
        return self.http or "random"
