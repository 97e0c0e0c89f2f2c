"""A made-up cluster: every kind of Route, ten per namespace, a certificate for one in ten."""

from collections.abc import Iterator

from f5router.model.cluster import EndpointPort, EndpointSlice, Key, Route, RouteTLS
from f5router.model.delta import Delta
from tests.builders import identity

KINDS = ("", "edge", "edge", "reencrypt", "passthrough")
"""By the number of the Route."""
MIXED = ("", "", "", "path", "path", "path", "edge", "edge", "reencrypt", "passthrough")
"""Kinds of a larger cluster, by the last digit of the Route's number."""
SECURED = (6, 7, 8)
"""Digits of its edge and re-encrypt Routes."""
PORTS = (EndpointPort("http", 8080),)


def routes(count: int, *, start: int = 0) -> dict[Key, Route]:
    """Routes number start to start + count."""
    shared = identity("shared.example.com")
    by_key = {}
    for number in range(start, start + count):
        kind = KINDS[number % len(KINDS)]
        own = shared.tls if number % 10 == 1 else {}
        route_key = Key(f"ns{number // 10}", f"route{number}")
        by_key[route_key] = Route(
            route_key, uid=f"uid{number}", created="2026-01-01T00:00:00Z", host=f"h{number}.example.com",
            service=f"svc{number}", tls=RouteTLS(kind, "Redirect", **own) if kind else None,
        )
    return by_key


def slices(count: int, *, suffix: str = ".1") -> dict[Key, EndpointSlice]:
    """Two pods for each Route's Service."""
    by_key = {}
    for number in range(count):
        key = Key(f"ns{number // 10}", f"svc{number}-1")
        base = f"10.{number >> 16 & 255}.{number >> 8 & 255}"
        pods = frozenset({f"{base}.{number & 255}", f"10.{200 + (number >> 16)}.{number >> 8 & 255}{suffix}"})
        by_key[key] = EndpointSlice(key, f"svc{number}", pods, PORTS)
    return by_key


def events(count: int) -> Iterator[tuple[str, Delta]]:
    """Name and Delta of each event to measure."""
    yield "endpoints of one Service", Delta(slices=slices(1, suffix=".77"))
    added = ("unsecured", "edge with certificate", "edge", "reencrypt", "passthrough")
    for offset, name in enumerate(added):
        # Numbers beyond the load; every tenth, offset 1, brings a certificate.
        number = (count // 10 + 1 + offset) * 10 + offset
        yield f"one {name} Route added", Delta(routes=routes(1, start=number))
        yield f"one {name} Route deleted", Delta(routes=dict.fromkeys(routes(1, start=number)))
