"""Settings of one Route besides its spec: values, checked and in one unit."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """Options of a Route; each default means "as the router is configured"."""

    balance: str = ""
    """roundrobin, leastconn, random or source."""
    pod_connections: int = 0
    """Connections at a time to each pod; 0 for no limit."""
    sources: tuple[str, ...] = ()
    """CIDRs of the clients that may connect, sorted; empty: all clients may."""
    timeout_ms: int = 0
    """Milliseconds to wait for a pod's response; for passthrough, as tunnel_timeout_ms."""
    tunnel_timeout_ms: int = 0
    """Milliseconds without data on an upgraded or passed-through connection."""
    check_interval_ms: int = 0
    """Milliseconds between two health checks of a pod."""


DEFAULTS = RouteOptions()
