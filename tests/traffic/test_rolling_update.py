"""Pods come and go while requests are under way: none is lost, and a pod that ends gets no new ones."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

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


SLOW_S = 10.0
KINDS = ("", "edge", "reencrypt")
OLD, NEW = ("10.1.1.1", "10.1.1.2"), ("10.1.1.3", "10.1.1.4")


class Slow:
    """Clients of plain, edge and re-encrypt Routes, some with the cookie of a pod, whose answers take long.

    The pods of all three Services have the same addresses.
    """

    def __init__(self, site: Site, threads: ThreadPoolExecutor):
        self.site, self._threads = site, threads
        self.cookies: dict[tuple[str, str], str] = {}
        """By kind, and the pod that a client had first."""
        self.under_way: list[tuple[str, Future]] = []
        """The pod whose cookie counts, "" for any, and who answered."""
        for kind in KINDS:
            pair = (PODS.certificate.encode(), PODS.key.encode()) if kind == "reencrypt" else None
            for address in (*OLD, *NEW):
                site.pod(address, f"web{kind}", port=self.port(kind), tls=pair)
            site.apply(*manifests.service("shop", f"web{kind}", ports=(("http", self.port(kind)),)))
            tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind else {}
            tls |= {"destinationCACertificate": PODS.issuer} if kind == "reencrypt" else {}
            site.apply(manifests.route(f"a{kind}", host=f"a{kind}.example.com", service=f"web{kind}",
                                       kind=kind, **tls))
        self.become(*OLD)

    @staticmethod
    def port(kind: str) -> int:
        return {"": 8080, "edge": 8081, "reencrypt": 8443}[kind]

    def become(self, *ready: str, draining: tuple[str, ...] = ()) -> None:
        for kind in KINDS:
            self.site.apply(manifests.endpoints("shop", f"web{kind}", ready, draining=draining,
                                                ports=(("http", self.port(kind)),)))

    def ask(self, kind: str, cookie: str = "", delay_s: float = 0) -> clients.Seen:
        asking, address = (clients.python, self.site.https) if kind else (clients.plain, self.site.http)
        return asking(address, f"a{kind}.example.com", f"/?delay={delay_s}",
                      headers=[f"Cookie: {cookie}"] if cookie else [])

    def get_cookies(self) -> None:
        """Have a client of each kind with the cookie of each pod."""
        def have_all() -> bool:
            for kind in KINDS:
                seen = self.ask(kind)
                self.cookies[kind, seen.pod["address"]] = seen.headers["set-cookie"].partition(";")[0]
            return len(self.cookies) == len(KINDS) * len(OLD)
        until(have_all)

    def arrived(self) -> int:
        return sum(len(pod.requests) for pod in self.site.pods)

    def wave(self, *ready: str, delay_s: float = SLOW_S) -> None:
        """Send requests of clients with their cookie and without, and wait until pods have them all.

        Args: ready: pods whose cookies count.
        """
        wanted = self.arrived() + (2 + len(OLD)) * len(KINDS)
        for kind in KINDS:
            for pod, cookie in [("", "")] * 2 + [(pod, self.cookies[kind, pod]) for pod in OLD]:
                answered = self._threads.submit(self.ask, kind, cookie, delay_s)
                self.under_way.append((pod if pod in ready else "", answered))
        until(lambda: self.arrived() >= wanted)

    def busy(self, address: str) -> bool:
        """True if a pod with this address has a request that it has not answered."""
        return any(connection.is_busy for pod in self.site.pods if pod.address == address
                   for connection in pod.connections)


def test_a_rolling_update_of_pods_that_answer_slowly(site):
    """No request is lost while two pods are replaced; each is under way for longer than a step takes."""
    with ThreadPoolExecutor(64) as threads:
        slow = Slow(site, threads)
        router = site.router(**FLAGS)
        site.settle(router)
        slow.get_cookies()
        slow.wave(*OLD)
        pods = list(OLD)
        for old, new in zip(OLD, NEW, strict=True):
            pods = [*pods[1:], new]
            slow.become(*pods, draining=(old,))
            site.settle(router)
            taken = {pod: pod.accepted for pod in site.pods if pod.address == old}
            slow.wave(*pods)
            assert {pod: pod.accepted for pod in taken} == taken
            until(lambda old=old: not slow.busy(old))
            for kind in KINDS:
                site.pods.stop(old, slow.port(kind))
            # Some are balanced before the endpoint has gone; no other step waits for the last ones.
            slow.wave(*pods, delay_s=SLOW_S if new != NEW[-1] else SLOW_S / 5)
            slow.become(*pods)
            site.settle(router)
        answers = [(pod, future.result()) for pod, future in slow.under_way]
        # Whatever the cookies are, the new pods answer.
        last = [slow.ask(kind, slow.cookies[kind, pod]) for kind in KINDS for pod in OLD]
        router.close()
    assert [seen for _, seen in answers if seen.status != 200] == []
    assert [seen for pod, seen in answers if pod and seen.pod["address"] != pod] == []
    assert {seen.pod["address"] for _, seen in answers} == {*OLD, *NEW}
    assert {each.pod["address"] for each in last} <= set(NEW)
