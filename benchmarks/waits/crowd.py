"""Objects of the tenant that others wait for. They are made in the API server's process."""

import itertools
from collections.abc import Iterable, Iterator

from benchmarks.cluster import MIXED, SECURED
from tests import manifests
from tests.builders import identity

CROWD = "crowd"
CHILD_ROUTES = 100
KEYS = 16
"""So many RSA keys are made, each for many certificates: most certificates are RSA, but keys take long."""


def service() -> Iterator[dict]:
    """The Service of all that follows."""
    yield from manifests.service(CROWD, "crowd", pods=("10.66.0.1",))


def routes(count: int, *, prefix: str = "r") -> Iterator[dict]:
    """So many plain Routes."""
    for number in range(count):
        yield _route(f"{prefix}{number}", "/")


def mixed(count: int) -> Iterator[dict]:
    """Routes as in benchmarks.scale, each with a Service of three pods, three of ten with a certificate."""
    for number in range(count):
        kind, name, space = MIXED[number % 10], f"m{number}", f"crowd{number // 10}"
        high, low = number >> 8 & 255, number & 255
        yield from manifests.service(space, name, pods=tuple(
            f"10.{net}.{high}.{low}" for net in (128, 129, 130)))
        host = f"{name}.crowd.test"
        tls = pair(host, number % KEYS, "rsa") if number % 10 in SECURED else {}
        yield manifests.route(
            name, namespace=space, host=host, service=name, path="/shop" if kind == "path" else "",
            kind="" if kind == "path" else kind, **tls)


def pair(host: str, number: int, algorithm: str = "ec") -> dict[str, str]:
    """Certificate and key of a host, as a Route has them. Args: number: for each another key."""
    own = identity(host, serial=number + 1, algorithm=algorithm)
    return {"certificate": own.certificate, "key": own.key}


def _route(name: str, path: str) -> dict:
    return manifests.route(name, namespace=CROWD, service="crowd", host=f"{name}.crowd.test", path=path)


def with_service(count: int) -> Iterator[dict]:
    """The Service and its Routes."""
    yield from service()
    yield from routes(count)


def changed_routes(count: int) -> Iterator[dict]:
    """Another path for one Route after the other, without an end."""
    for number in itertools.count():
        yield _route(f"r{number % count}", f"/{number}")


def added_routes(count: int) -> list[dict]:
    """New Routes, ready to be applied at once."""
    return list(routes(count, prefix="new"))


def certificates(count: int) -> list[dict]:
    """Edge Routes, each with a certificate of its own."""
    secured = []
    for number in range(count):
        host = f"c{number}.crowd.test"
        secured.append(manifests.route(f"c{number}", namespace=CROWD, service="crowd", host=host, kind="edge",
                                       **pair(host, number)))
    return secured


def ingress_routes(count: int) -> Iterator[dict]:
    """The Service, and roots of one route each."""
    yield from service()
    for number in range(count):
        yield _root(number, manifests.forward("/", "crowd"))


def changed_ingress_routes(count: int) -> Iterator[dict]:
    """Another route for one root after the other, without an end."""
    for number in itertools.count():
        yield _root(number % count, manifests.forward(f"/{number}", "crowd"))


def _root(number: int, *entries: dict) -> dict:
    return manifests.ingress_route(f"i{number}", *entries, namespace=CROWD, fqdn=f"i{number}.crowd.test")


def delegating(count: int) -> Iterator[dict]:
    """The Service, roots that all delegate to one object, and that object."""
    yield from service()
    yield _child(range(CHILD_ROUTES))
    for number in range(count):
        yield _root(number, manifests.delegate("/", "child"))


def changed_child(_count: int) -> Iterator[dict]:
    """Another path for one of its routes after the other, without an end."""
    versions = list(range(CHILD_ROUTES))
    for number in itertools.count():
        versions[number % CHILD_ROUTES] += CHILD_ROUTES
        yield _child(versions)


def _child(versions: Iterable[int]) -> dict:
    return manifests.ingress_route(
        "child", *(manifests.forward(f"/{version}", "crowd") for version in versions), namespace=CROWD)
