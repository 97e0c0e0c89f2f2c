"""Hostnames of listeners and routes: which names both have, and which of two is more specific.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go, HTTPRouteSpec.Hostnames;
apis/v1/gateway_types.go, Listener.Hostname and "Listener isolation". A wildcard stands for one label or
more.
"""

from collections.abc import Iterable, Iterator

ALL = ""
"""The hostname of a listener, or of both, that has none: all hosts."""


def matches(pattern: str, host: str) -> bool:
    """True if each name that a hostname stands for is one of those of a pattern. Args: either may be ALL."""
    if pattern in (ALL, host):
        return True
    return pattern.startswith("*.") and host.removeprefix("*").endswith(pattern[1:])


def intersect(listener: str, route: str) -> str | None:
    """Return the names that two hostnames have in common; None for none."""
    if matches(listener, route):
        return route
    return listener if matches(route, listener) else None


def common(listener: str, hostnames: Iterable[str]) -> tuple[str, ...]:
    """Return the hostnames that a route has on a listener, each once; empty if there are none.

    Args: hostnames: of the route; empty for all that the listener has.
    """
    shared = (intersect(listener, hostname) for hostname in hostnames or (ALL,))
    return tuple(dict.fromkeys(host for host in shared if host is not None))


def patterns(host: str) -> Iterator[str]:
    """Yield the hostnames that stand for a host, the most specific one first, at last ALL.

    Args: host: no wildcard; ALL for the names that no other hostname stands for.
    """
    if host != ALL:
        yield host
        labels = host.split(".")
        yield from (".".join(("*", *labels[number:])) for number in range(1, len(labels)))
    yield ALL
