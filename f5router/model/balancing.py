"""The words for how a Route's pods share its connections, and which of them applies.

Source: openshift/router, images/router/haproxy/conf/haproxy-config.template (balance).
"""

from dataclasses import dataclass

ALGORITHMS = ("roundrobin", "leastconn", "random", "source")


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
