"""Attacks on the metrics port: clients hold no threads, lock nobody out, print no traceback."""

import contextlib
import logging
import random
import socket
import ssl
import threading
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from f5router.config.parsers import Address
from f5router.monitoring import connections
from f5router.monitoring.connections import (
    MOST,
    MOST_OF_CLIENT,
    MOST_THREADS,
    TLS,
    ConnectionLimits,
    Contexts,
    client_of,
)
from f5router.monitoring.health import CheckResult
from f5router.monitoring.http_server import HEAD_BYTES, Pages, Server
from tests import builders
from tests.examples import examples
from tests.waiting import DEADLINE_S, until

LOCAL = Address("127.0.0.1", 0)
IDENTITY = builders.identity("metrics.svc")
PROBE = b"GET /healthz HTTP/1.0\r\n\r\n"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def tls(tmp_path_factory) -> TLS:
    folder = tmp_path_factory.mktemp("serving")
    (folder / "tls.crt").write_text(IDENTITY.certificate)
    (folder / "tls.key").write_text(IDENTITY.key)
    return TLS(str(folder / "tls.crt"), str(folder / "tls.key"))


def pages() -> Pages:
    return Pages(lambda: [CheckResult("a")], lambda: [CheckResult("a")],
                 lambda accept: (b"metrics\n", "text/plain"))


@pytest.fixture(params=["HTTP", "TLS"])
def serve(request, tls):
    """A server of either kind; clients may speak HTTP to both."""
    contexts = Contexts(tls) if request.param == "TLS" else None
    return lambda **options: Server(LOCAL, pages(), contexts, **options)


def connect(server: Server, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(server.server_address, DEADLINE_S, source_address=(source, 0))


def client_context() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def everything(client: socket.socket) -> bytes:
    """Read until the end of the connection."""
    reply = b""
    with contextlib.suppress(OSError):
        while block := client.recv(65536):
            reply += block
    return reply


def send(server: Server, sent: bytes, *, secure: bool = False, source: str = "127.0.0.1") -> bytes:
    """Send bytes and the end; return the answer."""
    with connect(server, source) as raw:
        client = client_context().wrap_socket(raw) if secure else raw
        with client:
            with contextlib.suppress(OSError):
                client.sendall(sent)
                raw.shutdown(socket.SHUT_WR) if not secure else None
            return everything(client)


def loud(caplog) -> list[str]:
    """Lines above debug, and tracebacks."""
    return [record.getMessage() for record in caplog.records if record.name.startswith("f5router")
            and (record.exc_info or record.levelno > logging.INFO)]


@pytest.mark.parametrize(("target", "expected"), [
    (b"http://[::1", 400), (b"http://]/", 400), (b"http://[::1]/healthz", 200), (b"//[", 404),
    ("http://\u2100/".encode(), 404), (b"/healthz?" + b"&" * 1000, 200),
])
def test_a_target_that_is_none(caplog, target, expected):
    """A 400 or what it names, and no word of it above debug."""
    caplog.set_level(logging.DEBUG)
    with Server(LOCAL, pages()) as server:
        status = send(server, b"GET " + target + b" HTTP/1.0\r\n\r\n").split(b" ", 2)[1]
    assert int(status) == expected
    assert loud(caplog) == []


@pytest.mark.parametrize("head", [
    b"GET /" + b"x" * HEAD_BYTES + b" HTTP/1.0\r\n\r\n",
    b"GET /healthz HTTP/1.0\r\nA: " + b"x" * HEAD_BYTES + b"\r\n\r\n",
    b"GET /healthz HTTP/1.0\r\n" + b"A: %s\r\n" % (b"x" * 1000) * 20 + b"\r\n",
    b"GET /healthz HTTP/1.0\r\n" + b"A: b\r\n" * 200 + b"\r\n",
], ids=["line", "header", "headers", "many"])
def test_a_head_that_is_too_long(serve, caplog, head):
    with serve() as server:
        # It is not read to its end, so a reset may overtake the answer.
        assert send(server, head)[:12] in (b"HTTP/1.0 431", b"")
        assert b"200 OK" in send(server, PROBE)
        until(lambda: len(server.connections) == 0)
    assert loud(caplog) == []


def test_a_head_just_short_enough(serve):
    head = b"GET /healthz HTTP/1.0\r\nA: "
    with serve() as server:
        rest = HEAD_BYTES - len(head) - len(b"\r\n\r\n")
        assert b"200 OK" in send(server, head + b"x" * rest + b"\r\n\r\n")


@pytest.mark.parametrize("sent", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01", b"G", b"GET / HTTP/1.0\r\nA: "],
                         ids=["nothing", "TLS", "half a hello", "a byte", "half a head"])
def test_a_slow_client_is_cut_off(serve, sent, caplog):
    """However often it says something: the whole counts. Its thread ends."""
    clock = Clock()
    with serve(clock=clock) as server, connect(server) as client:
        client.sendall(sent)
        until(lambda: len(server.connections) == 1)
        clock.now = connections.LIFE_S - 0.1
        with contextlib.suppress(OSError):
            client.sendall(b"\x00")
        assert b"200 OK" in send(server, PROBE)
        clock.now = connections.LIFE_S
        everything(client)
        until(lambda: len(server.connections) == 0)
    assert loud(caplog) == []


def test_a_slow_reader_is_cut_off(caplog):
    """It takes nothing of an answer that fills every buffer."""
    clock = Clock()
    large = Pages(list, list, lambda accept: (b"x" * 50_000_000, "text/plain"))
    with Server(LOCAL, large, clock=clock) as server, connect(server) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert client.recv(1) == b"H"
        clock.now = connections.LIFE_S
        until(lambda: len(server.connections) == 0)
    assert loud(caplog) == []


@pytest.mark.parametrize("sources", [1, 200])
def test_silent_connections_lock_nobody_out(serve, sources, caplog):
    """From one client or many: threads are bounded, the probes of kubelet answered, all returned."""
    before = threading.active_count()
    with serve() as server, contextlib.ExitStack() as stack:
        for number in range(300):
            source = f"127.0.{1 + number % sources}.1" if sources > 1 else "127.0.0.1"
            client = stack.enter_context(connect(server, source))
            client.sendall(b"\x16\x03")
            if number % 20 == 0:
                assert b"200 OK" in send(server, PROBE)
        assert b"200 OK" in send(server, PROBE, source="127.0.0.1")
        until(lambda: len(server.connections) <= (MOST_OF_CLIENT if sources == 1 else MOST))
        until(lambda: threading.active_count() <= before + MOST + 1)
    until(lambda: threading.active_count() <= before)
    assert loud(caplog) == []


def test_a_stop_ends_every_connection(serve):
    with serve() as server:
        clients = [connect(server) for _ in range(5)]
        until(lambda: len(server.connections) == 5)
    until(lambda: len(server.connections) == 0)
    for client in clients:
        client.close()


# --- the bounds alone ------------------------------------------------------------------------


@contextlib.contextmanager
def pairs(count: int) -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    sockets = [socket.socketpair() for _ in range(count)]
    try:
        yield sockets
    finally:
        for ours, theirs in sockets:
            ours.close()
            theirs.close()


def is_open(theirs: socket.socket) -> bool:
    theirs.setblocking(False)
    try:
        return theirs.recv(1) != b""
    except BlockingIOError:
        return True


def test_the_client_with_the_most_makes_room():
    limits = ConnectionLimits(Clock())
    with pairs(MOST + 1) as sockets:
        for number, (ours, _) in enumerate(sockets[:-1]):
            assert limits.admit(ours, "10.0.0.1" if number < MOST_OF_CLIENT else f"10.1.0.{number}")
        assert all(is_open(theirs) for _, theirs in sockets)
        assert limits.admit(sockets[-1][0], "10.2.0.1")
        assert [number for number, (_, theirs) in enumerate(sockets) if not is_open(theirs)] == [0]


def test_threads_that_do_not_end_are_bounded():
    limits = ConnectionLimits(Clock())
    with pairs(MOST_THREADS + 1) as sockets:
        admitted = [limits.admit(ours, "10.0.0.1") for ours, _ in sockets]
        assert admitted == [True] * MOST_THREADS + [False]
        limits.release(sockets[0][0])
        assert limits.admit(sockets[-1][0], "10.0.0.2")


@pytest.mark.parametrize(("address", "other", "same"), [
    ("10.0.0.1", "10.0.0.2", False), ("::ffff:10.0.0.1", "10.0.0.1", True),
    ("2001:db8::1", "2001:db8::2", True), ("2001:db8::1", "2001:db8:0:1::1", False),
    ("fe80::1%eth0", "fe80::2%eth0", True), ("odd", "odd", True),
])
def test_client_of(address, other, same):
    assert (client_of(address) == client_of(other)) == same


# --- any bytes -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(tls) -> Iterator[Server]:
    with Server(LOCAL, pages(), Contexts(tls)) as server:
        yield server


WORDS = st.sampled_from([b"GET", b"HEAD", b"POST", b" ", b"/healthz", b"/metrics", b"?verbose", b"HTTP/1.0",
                         b"HTTP/1.1", b"HTTP/9.9", b"\r\n", b"\n", b"\r\n\r\n", b"Host: x", b"Accept: ", b":",
                         b"application/openmetrics-text;version=", b"Authorization: Basic ",
                         b"Expect: 100-continue",
                         b"Transfer-Encoding: chunked", b"http://[", b"%", b"\x00", b"\xff", b"\x16\x03\x01"])
BYTES = st.lists(WORDS | st.binary(max_size=20), max_size=15).map(b"".join)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture], deadline=None,
          max_examples=examples(150))
@given(BYTES, st.booleans())
def test_any_bytes_get_an_answer_or_none(served, caplog, sent, secure):
    """Over HTTP and inside of TLS; nothing above debug in the log."""
    caplog.clear()
    reply = send(served, sent + b"\r\n\r\n", secure=secure)
    plain = (b"<!DOCTYPE", b"ok", b"404", b"400", b"metrics", b"[+]")  # to HTTP/0.9
    alert = (b"\x15\x03",)  # to what begins like TLS
    assert not reply or reply.startswith((b"HTTP/1.", *plain, *alert))
    assert b"500" not in reply[:12]
    assert loud(caplog) == []


def test_random_bytes_leave_no_thread(served, caplog):
    """Seeded; records of TLS with random content among them."""
    chance = random.Random(20261122)
    for _ in range(200):
        begin = chance.choice([b"", b"\x16", b"\x16\x03\x01\x00\x40\x01"])
        send(served, begin + chance.randbytes(chance.randrange(200)))
    assert b"200 OK" in send(served, PROBE)
    until(lambda: len(served.connections) == 0)
    assert loud(caplog) == []
