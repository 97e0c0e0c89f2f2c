"""A change that comes while nothing is under way, and many at once."""

import socket
import time
from collections.abc import Iterator
from contextlib import suppress

from benchmarks.waits import crowd
from benchmarks.waits.site import TENANT, Row, Settings, Site, rule, site
from tests import manifests

ROUTES = 1000
TRIES = 20
APART_S = 1.5
LIMIT_S = 10.0
LOOK_S = 0.002
PODS = ("10.55.0.1", "10.55.0.2")


def answered(where: tuple[str, int], host: str, pod: str, limit_s: float = LIMIT_S) -> float | None:
    """When a pod answered a request for a host first; None if it did not in time.

    It is called once the BIG-IP has been given what is needed: requests before would cost the fake CPU.
    """
    end = time.monotonic() + limit_s
    request = f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode()
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(where, timeout=5) as connection:
            connection.sendall(request)
            reply = b""
            while data := connection.recv(65536):
                reply += data
            if reply.startswith(b"HTTP/1.1 200") and f"pod-{pod}".encode() in reply:
                return time.monotonic()
        time.sleep(LOOK_S)
    return None


def leading(settings: Settings) -> Iterator[Row]:
    """Seconds until a request is answered, and what a burst costs."""
    count = settings.count(ROUTES)
    with site(settings, dataplane=True) as place:
        place.device.start_pods(*PODS)
        place.cluster.apply(*manifests.service(TENANT, "moving", pods=PODS[:1]),
                            manifests.route("moving", host="moving.shop.test", service="moving"))
        place.cluster.fill(crowd.with_service, count)
        place.start()
        place.device.quiet(1.0, 60.0)
        where = place.device.listener()
        yield from _answers(place, where, settings.times(TRIES), f"{count:,} Routes are there")
        place.device.quiet(2.0, 60.0)
        yield from burst(place, count)


def _answers(place: Site, where: tuple[str, int], tries: int, name: str) -> Iterator[Row]:
    first = Row("a plain Route is added: its first write", name)
    added = Row("a plain Route is added and answers", name)
    moved = Row("an endpoint changes and answers", name)
    for number in range(tries):
        time.sleep(APART_S)
        host = f"fresh{number}.shop.test"
        place.device.expect(rule(TENANT, f"fresh{number}"))
        begin = place.cluster.apply(manifests.route(f"fresh{number}", host=host, service="moving"))
        place.device.seen(rule(TENANT, f"fresh{number}"), LIMIT_S)
        first.add(begin, place.device.first_write())
        added.add(begin, answered(where, host, PODS[number % 2]))
        time.sleep(APART_S)
        pod = PODS[(number + 1) % 2]
        begin = place.cluster.apply(manifests.endpoints(TENANT, "moving", (pod,)))
        place.device.pool_written(pod, LIMIT_S)
        moved.add(begin, answered(where, "moving.shop.test", pod))
    yield from (first, added, moved)


def burst(place: Site, count: int) -> Iterator[Row]:
    """Many new Routes at once: calls until nothing more is written."""
    name = f"{count:,} Routes at once"
    place.device.calls()
    begin = place.cluster.begin(crowd.added_routes, count)
    place.wait(lambda: place.device.rules() >= 2 * count, 300.0)
    took = Row(name, "all rules are published", [time.monotonic() - begin])
    place.device.quiet(2.0, 60.0)
    calls = place.device.calls()
    yield took
    yield Row(name, "reads", [calls.pop("GET", 0)], unit="calls")
    yield Row(name, "writes", [sum(calls.values())], unit="calls")
