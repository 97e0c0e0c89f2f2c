"""Pods come and go while requests are under way: none is lost, and a pod that ends gets no new ones."""

import threading

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.load import Load, Target
from tests.waiting import until

NAME = "shop.example.com"
EDGE = identity(NAME)
FLAGS = {"f5_pool_monitor": "none"}
"""Checks of members would count as connections to pods."""


@pytest.fixture(params=["", "edge", "passthrough"], ids=lambda kind: kind or "plain")
def kind(request) -> str:
    return request.param


@pytest.fixture
def served(site: Site, kind: str) -> Site:
    """A Route whose Service has the pods 10.1.1.1 and 10.1.1.2."""
    site.port, site.tls = (8443, PODS) if kind == "passthrough" else (8080, None)
    site.serve("web", "10.1.1.1", "10.1.1.2", port=site.port, tls=site.tls)
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind == "edge" else {}
    route = manifests.route("a", host=NAME, service="web", kind=kind, **tls)
    # By default the two connections of one client to a passthrough Route may come to one pod.
    route["metadata"]["annotations"] = {"haproxy.router.openshift.io/balance": "roundrobin"}
    site.apply(route)
    return site


def endpoints(site: Site, *ready: str, draining: tuple[str, ...] = ()) -> None:
    name = "https" if site.tls else "http"
    site.apply(manifests.endpoints("shop", "web", ready, ports=((name, site.port),), draining=draining))


def ask(site: Site, kind: str, path: str = "/", *, source: str = "") -> clients.Seen:
    """Ask as the client with an address; "" for any."""
    if kind:
        return clients.python(site.https, NAME, path, source=source)
    return clients.raw(site.http, clients.request_bytes(NAME, path), source=source)


def test_a_pod_that_ends_finishes_what_it_has_and_gets_nothing_new(served, kind):
    router = served.router(**FLAGS)
    served.settle(router)
    ending = served.pods["10.1.1.1", served.port]
    slow: list[clients.Seen] = []
    threads = [threading.Thread(target=lambda: slow.append(ask(served, kind, "/?delay=2"))) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: ending.requests and served.pods["10.1.1.2", served.port].requests)
    accepted = ending.accepted
    endpoints(served, "10.1.1.2", draining=("10.1.1.1",))
    served.clear()
    served.settle(router)
    assert [method for method, _ in served.writes()] == ["PATCH"]
    assert {ask(served, kind).pod["address"] for _ in range(6)} == {"10.1.1.2"}
    endpoints(served, "10.1.1.2")
    served.settle(router)
    for thread in threads:
        thread.join()
    assert {seen.pod["address"] for seen in slow} == {"10.1.1.1", "10.1.1.2"}
    assert ending.accepted == accepted
    router.close()


def test_the_last_pods_serve_until_they_are_gone(served, kind):
    """All end at once: their requests would be lost otherwise."""
    endpoints(served, draining=("10.1.1.1", "10.1.1.2"))
    assert served.converge(**FLAGS) == []
    addresses = {ask(served, kind, source=f"127.0.0.{last}").pod["address"] for last in range(2, 8)}
    assert addresses == {"10.1.1.1", "10.1.1.2"}


def test_a_pod_that_is_gone_before_its_endpoint(served, kind):
    """The node died, or the router is late: another pod answers."""
    assert served.converge(**FLAGS) == []
    served.pods.stop("10.1.1.1", served.port)
    assert {ask(served, kind).pod["address"] for _ in range(4)} == {"10.1.1.2"}


def test_a_rolling_update_loses_no_request(served, kind):
    """Two pods are replaced one after the other; an old one takes no connection once it is draining."""
    address = served.https if kind else served.http
    target = Target("a", address, NAME, "/?delay=0.2", tls=bool(kind), right=served.right("web"),
                    alone=kind == "passthrough")
    pods = ["10.1.1.1", "10.1.1.2"]
    router = served.router(**FLAGS)
    served.settle(router)
    with Load(target, clients=12) as load:
        for new in ("10.1.1.3", "10.1.1.4"):
            tls = (PODS.certificate.encode(), PODS.key.encode()) if served.tls else None
            served.pod(new, "web", port=served.port, tls=tls)
            old, pods = pods[0], [*pods[1:], new]
            endpoints(served, *pods, draining=(old,))
            served.settle(router)
            until(load.more(24))
            # Requests that were balanced before have been answered: no connection waits to be accepted.
            served.pods.drain(old, served.port)
            until(load.more(24))
            endpoints(served, *pods)
            served.settle(router)
            until(load.more(24))
        report = load.stop()
    assert report.failed == []
    assert report.wrong == []
    assert report.sent["a"] >= 96
    router.close()
