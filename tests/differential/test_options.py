"""Options in annotations: our router against HAProxy's."""

import contextlib
import socket
import ssl
from dataclasses import dataclass, field

import pytest

from mocks.bigip.dataplane.pod_server import take_frame
from tests import manifests
from tests.builders import identity
from tests.differential.conftest import Pair, Router
from tests.differential.differences import DIFFERENCES, OPTIONS
from tests.differential.haproxy_config import HAPROXY, PREFIXES, ROUTER
from tests.differential.outcomes import Outcome, Request
from tests.mocks.bigip.dataplane.conftest import DeviceClock
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.test_timeouts import UPGRADE
from tests.waiting import DEADLINE_S, until

KINDS = ("", "edge", "reencrypt", "passthrough")
EDGE = identity("options.example.com")
IN, OUT = "127.0.0.2", "127.0.0.3"
"""Addresses of clients."""
LISTS = {
    "address": {f"{HAPROXY}ip_allowlist": IN},
    "older-name": {f"{HAPROXY}ip_whitelist": f"10.0.0.0/8 {IN}"},
    "network": {f"{HAPROXY}ip_allowlist": "192.0.2.1 127.0.0.2/32"},
    "both-families": {f"{HAPROXY}ip_allowlist": f"2001:db8::/32 {IN} ::1"},
    "bad-entry": {f"{HAPROXY}ip_allowlist": f"me {IN}"},
    "both-names": {f"{HAPROXY}ip_allowlist": IN, f"{HAPROXY}ip_whitelist": OUT},
    "empty": {f"{HAPROXY}ip_allowlist": "", f"{HAPROXY}ip_whitelist": IN},
    "everybody": {f"{HAPROXY}ip_allowlist": "0.0.0.0/0"},
    "nobody": {f"{HAPROXY}ip_allowlist": "192.0.2.0/24"},
}
"""Name of a host: annotations of its Route."""
SWITCH = f"{HAPROXY}rate-limit-connections"
RATES = {
    "rate-tcp": {"rate-tcp": "2"}, "rate-http": {"rate-http": "2"}, "concurrent": {"concurrent-tcp": "2"},
    "rate-both": {"rate-tcp": "9", "rate-http": "2"}, "rate-bad": {"rate-tcp": "2.0", "rate-http": "two"},
    "rate-one": {"rate-tcp": "1"}, "rate-kept": {"rate-tcp": "3"}, "concurrent-kept": {"concurrent-tcp": "2"},
}
"""Name of a host: last word of an annotation that begins with SWITCH, and its value."""


def annotated(name: str, kind: str, annotations: dict[str, str], *, service: str = "web", path: str = "",
              insecure: str = "") -> dict:
    """Return a Route with annotations; its name and kind are those of its host."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    prefix = "tls-" if kind in ("reencrypt", "passthrough") else ""
    whole = f"{name}-{kind}" if kind else name
    obj = manifests.route(whole + path.replace("/", "-"), host=f"{whole}.example.com", path=path, kind=kind,
                          service=prefix + service, insecure=insecure, **tls)
    obj["metadata"]["annotations"] = annotations
    return obj


def build(site: Site) -> None:
    for prefix, network, port, tls in (("", "10.1", 8080, None), ("tls-", "10.2", 8443, PODS)):
        site.serve(f"{prefix}web", f"{network}.1.1", port=port, tls=tls)
        site.serve(f"{prefix}two", f"{network}.2.1", f"{network}.2.2", port=port, tls=tls)
        site.serve(f"{prefix}half", f"{network}.3.1", f"{network}.3.2", port=port, tls=tls)
        site.pods.stop(f"{network}.3.2", port)
    site.apply(*manifests.service("shop", "empty"))
    for kind in KINDS:
        site.apply(*(annotated(name, kind, annotations) for name, annotations in LISTS.items()),
                   annotated("interval", kind, {f"{ROUTER}haproxy.health.check.interval": "100ms"},
                             service="half"),
                   annotated("limited", kind, {f"{HAPROXY}pod-concurrent-connections": "1",
                                               f"{HAPROXY}balance": "leastconn"}, service="two"),
                   annotated("timeout", kind, {f"{HAPROXY}timeout": "900ms"}),
                   annotated("bad-timeout", kind, {f"{HAPROXY}timeout": "1.5s"}),
                   annotated("tunnel", kind, {f"{HAPROXY}timeout-tunnel": "900ms"}))
        for name, limits in RATES.items():
            site.apply(annotated(name, kind, {SWITCH: "true", **{f"{SWITCH}.{key}": value
                                                                 for key, value in limits.items()}}))
    site.apply(annotated("unswitched", "", {f"{SWITCH}.rate-tcp": "2"}),
               annotated("unswitched-no", "", {SWITCH: "yes", f"{SWITCH}.rate-tcp": "2"}))
    site.bigip.dataplane.clock.time_of_day = DeviceClock()
    listed = LISTS["address"]
    site.apply(
        annotated("redirected", "edge", listed, insecure="Redirect"),
        annotated("allowed", "edge", listed, insecure="Allow"),
        annotated("paths", "", {}), annotated("paths", "", listed, path="/api"),
        annotated("bad-list", "", {f"{HAPROXY}ip_allowlist": "me you"}),
        annotated("blank-list", "", {f"{HAPROXY}ip_allowlist": f" {IN}"}),
        annotated("no-pod", "", listed, service="empty"),
        annotated("cookie", "", {}),
        annotated("source-cookie", "", {f"{HAPROXY}balance": "source"}),
        annotated("dash-cookie", "", {f"{ROUTER}cookie_name": "-x"}),
    )


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build, refused={"bad-list"})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("name", LISTS)
def test_lists_of_clients(pair, name, kind):
    host = f"{name}-{kind}.example.com" if kind else f"{name}.example.com"
    requests = [Request(host, secure=bool(kind), source=source) for source in (IN, OUT)]
    theirs, ours = pair.both(lambda router: [request.outcome(router) for request in requests])
    assert ours == theirs
    assert [outcome.status for outcome in ours] == [
        0 if name == "nobody" else 200, 200 if name == "everybody" else 0]


@pytest.mark.parametrize(("request_", "status"), [
    pytest.param(Request("redirected-edge.example.com", source=OUT), 302, id="redirect"),
    pytest.param(Request("redirected-edge.example.com", secure=True, source=OUT), 0, id="redirect, TLS"),
    pytest.param(Request("allowed-edge.example.com", source=OUT), 0, id="port 80"),
    pytest.param(Request("allowed-edge.example.com", source=IN), 200, id="port 80, listed"),
    pytest.param(Request("paths.example.com", "/", source=OUT), 200, id="another path"),
    pytest.param(Request("paths.example.com", "/api", source=OUT), 0, id="path"),
    pytest.param(Request("paths.example.com", "/api", source=OUT,
                         how={"headers": [f"X-Forwarded-For: {IN}"]}), 0, id="X-Forwarded-For"),
    pytest.param(Request("no-pod.example.com", source=IN), 503, id="no pod, listed"),
])
def test_lists_and_other_fields(pair, request_, status):
    theirs, ours = pair.both(request_.outcome)
    assert ours == theirs
    assert ours.status == status


def test_a_list_holds_for_later_requests_of_a_connection(pair):
    """The first path is open to the client."""
    def statuses(router: Router) -> list[int]:
        requests = (clients.request_bytes("paths.example.com", path, close=False)
                    for path in ("/", "/", "/api", "/"))
        replies = clients.several(router.http, *requests)
        return [seen.status for seen in replies]
    theirs, ours = pair.both(statuses)
    assert ours == theirs == [200, 200]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_a_check_interval(pair, kind):
    """With one of two pods gone, the other answers all, though on a busy machine it may be down at first."""
    name = f"interval-{kind}" if kind else "interval"
    until(lambda: pair.process.checked_down(f"{PREFIXES[kind]}:shop:{name}"))
    host = f"{name}.example.com"
    request = Request(host, secure=bool(kind))

    def answers(router: Router) -> list[Outcome]:
        outcomes = [request.outcome(router) for _ in range(4)]
        return outcomes if {outcome.status for outcome in outcomes} == {200} else []

    theirs, ours = pair.both(lambda router: until(lambda: answers(router)))
    assert ours == theirs


@pytest.mark.parametrize(("name", "delay_s", "status"), [
    ("timeout", 0, 200), ("bad-timeout", 1.2, 200), ("tunnel", 1.2, 200), ("timeout-passthrough", 3600, 0),
    ("tunnel-passthrough", 3600, 0), ("bad-timeout-passthrough", 1.2, 200), ("tunnel-edge", 1.2, 200),
    ("timeout-reencrypt", 0, 200),
])
def test_time_outs(pair, name, delay_s, status):
    """How long a pod may take for its response; another length of silence is a row of the differences."""
    request = Request(f"{name}.example.com", f"/?delay={delay_s}", secure="-" in name.removeprefix("bad-"))
    theirs, ours = pair.both_at_once(request.outcome)
    assert ours == theirs
    assert ours.status == status


def upgraded(router: Router, host: str, *, secure: bool, silent_s: float) -> str:
    """Return what becomes of an upgraded connection on which nothing is sent for some seconds."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.ExitStack() as stack:
        address = router.https if secure else router.http
        sock = stack.enter_context(socket.create_connection(address, DEADLINE_S))
        if secure:
            sock = stack.enter_context(context.wrap_socket(sock, server_hostname=host))
        sock.sendall(clients.request_bytes(host, headers=UPGRADE, close=False))
        received = b""
        while (taken := take_frame(bytearray(received.partition(b"\r\n\r\n")[2]))) is None:
            received += sock.recv(65536)
        assert (received[:12], taken[0]) == (b"HTTP/1.1 101", 1)
        sock.settimeout(silent_s)
        try:
            return "ends" if sock.recv(1) == b"" else "speaks"
        except TimeoutError:
            return "stays"
        except OSError:
            return "ends"


@pytest.mark.parametrize(("name", "silent_s", "expected"), [
    ("tunnel", DEADLINE_S, "ends"), ("timeout", 1.5, "stays")])
@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind or "plain")
def test_an_upgraded_connection(pair, kind, name, silent_s, expected):
    """timeout-tunnel ends it, timeout does not, though the silence is longer."""
    host = f"{name}-{kind}.example.com" if kind else f"{name}.example.com"
    theirs, ours = pair.both_at_once(
        lambda router: upgraded(router, host, secure=bool(kind), silent_s=silent_s))
    assert ours == theirs == expected


@dataclass
class Held:
    """Requests under way, one for each pod of Service two, which are at their limit then."""

    router: Router
    pods: list
    stack: contextlib.ExitStack
    sockets: list[socket.socket] = field(default_factory=list)

    def arrived(self) -> int:
        return sum(len(pod.requests) for pod in self.pods)

    def send(self, *headers: str, method: str = "GET") -> socket.socket:
        """Send a request on a connection of its own."""
        sock = self.stack.enter_context(socket.create_connection(self.router.http, DEADLINE_S))
        sock.sendall(clients.request_bytes("limited.example.com", method=method, headers=headers))
        return sock

    def begin(self) -> None:
        for _ in self.pods:
            before = self.arrived()
            self.sockets.append(self.send("Content-Length: 1", method="POST"))
            until(lambda before=before: self.arrived() == before + 1)


def status(sock: socket.socket) -> int:
    return clients.answer(b"".join(iter(lambda: sock.recv(65536), b""))).status


@pytest.fixture
def limited(pair):
    """Makes what holds the requests of a router."""
    with contextlib.ExitStack() as stack:
        pods = [pod for pod in pair.site.pods if pod.name.startswith("two-")]

        def make(router: Router) -> Held:
            held = Held(router, pods, stack)
            held.begin()
            return held
        yield make


def test_connections_to_each_pod(pair, limited):
    """Requests beyond the limit wait until others end, and are answered then."""
    def statuses(router: Router) -> list[int]:
        held = limited(router)
        count = held.arrived()
        waiting = [held.send() for _ in range(3)]
        assert Request("everybody.example.com").outcome(router).status == 200  # comes after those that wait
        assert held.arrived() == count
        for sock in held.sockets:
            sock.sendall(b"x")
        return [status(sock) for sock in (*held.sockets, *waiting)]
    theirs, ours = pair.both(statuses)
    assert ours == theirs == [200] * 5


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize(("name", "statuses"), [
    ("rate-tcp", [200, 0, 0]), ("rate-http", [200, 200, 0]), ("rate-both", [200, 200, 0]),
    ("rate-bad", [200, 200, 200])])
def test_rates(pair, name, kind, statuses):
    """Requests with a connection each, and then one of another client."""
    host = f"{name}-{kind}.example.com" if kind else f"{name}.example.com"
    requests = [Request(host, secure=bool(kind), source=source) for source in (IN, IN, IN, OUT)]
    theirs, ours = pair.both(lambda router: [request.outcome(router) for request in requests])
    assert ours == theirs
    http_only = kind == "passthrough" and "rate-tcp" not in RATES[name]
    expected = [200] * 3 if http_only or (kind == "passthrough" and name == "rate-both") else statuses
    assert [outcome.status for outcome in ours] == [*expected, 200]


@pytest.mark.parametrize("name", ["unswitched", "unswitched-no"])
def test_rates_without_the_switch(pair, name):
    request = Request(f"{name}.example.com", source=IN)
    theirs, ours = pair.both(lambda router: [request.outcome(router).status for _ in range(3)])
    assert ours == theirs == [200] * 3


def test_requests_at_a_time(pair):
    """The first one is under way until its body has come."""
    def statuses(router: Router) -> list[int]:
        pod, answers = pair.site.pods["10.1.1.1", 8080], []
        arrived = len(pod.requests)
        with socket.create_connection(router.http, DEADLINE_S, (IN, 0)) as sock:
            sock.sendall(clients.request_bytes("concurrent.example.com", method="POST",
                                               headers=["Content-Length: 1"]))
            until(lambda: len(pod.requests) > arrived)
            answers += [Request("concurrent.example.com", source=source).outcome(router).status
                        for source in (IN, IN, OUT)]
            sock.sendall(b"x")
            answers.append(status(sock))
        again = Request("concurrent.example.com", source=IN)
        until(lambda: again.outcome(router).status == 200)
        return answers
    theirs, ours = pair.both(statuses)
    assert ours == theirs == [0, 0, 200, 200]


@pytest.mark.parametrize("difference", [row for row in DIFFERENCES if row.cluster == OPTIONS],
                         ids=lambda row: row.request)
def test_differences(pair, difference):
    assert pair.both(difference.observe) == (difference.haproxy, difference.ours)
