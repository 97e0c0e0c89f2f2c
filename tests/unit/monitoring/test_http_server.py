"""The HTTP server for probes and Prometheus."""

import http.client
import logging
import socket
import threading

import pytest

from f5router.config.parsers import Address
from f5router.model.errors import ConfigError
from f5router.monitoring import http_server
from f5router.monitoring.health import CheckResult
from f5router.monitoring.http_server import Pages, Server
from tests.rows import rows
from tests.waiting import DEADLINE_S

GOOD = [CheckResult("one"), CheckResult("two")]
BAD = [CheckResult("one"), CheckResult("two", "it is not there")]
LIST = "[+]one ok\n[-]two failed: it is not there\n{} check failed\n"
LOCAL = Address("127.0.0.1", 0)
LOGIN = "Basic YWRtaW46c2VjcmV0OndvcmQ="  # admin:secret:word


def pages(live=GOOD, ready=GOOD, login=None, local=False) -> Pages:
    return Pages(lambda: live, lambda: ready, lambda accept: (f"accept={accept}\n".encode(), "text/x"), login,
                 local=local)


def ask(server: Server, path: str, method: str = "GET", **headers: str) -> tuple[int, str]:
    """Status and body."""
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=DEADLINE_S)
    try:
        connection.request(method, path, headers=headers)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


@pytest.mark.parametrize(("path", "expected"), [
    ("/healthz", (200, "ok")),
    ("/healthz/", (200, "ok")),
    ("/healthz?verbose", (200, "[+]one ok\n[+]two ok\nhealthz check passed\n")),
    ("/healthz/one", (200, "ok")),
    ("/healthz/three", (404, "404 page not found\n")),
    ("/readyz", (500, LIST.format("readyz"))),
    ("/healthz/ready", (500, LIST.format("readyz"))),
    ("/healthz/ready?verbose=1", (500, LIST.format("readyz"))),
    ("/readyz/one", (200, "ok")),
    ("/readyz/two", (500, "[-]two failed: it is not there\nreadyz check failed\n")),
    ("/healthz/ready/one?verbose", (200, "[+]one ok\nreadyz check passed\n")),
    ("/readyz/one/two", (404, "404 page not found\n")),
    ("/", (404, "404 page not found\n")),
    ("/metricsx", (404, "404 page not found\n")),
])
def test_health(path, expected):
    """The paths of OpenShift's router (metrics.go), and Kubernetes' own."""
    with Server(LOCAL, pages(ready=BAD)) as server:
        assert ask(server, path) == expected


def test_no_answer_is_cached_or_taken_for_a_page():
    """Once each: an answer with two of a header may be read either way."""
    with Server(LOCAL, pages(login=("admin", "secret"))) as server:
        for line, status in ((b"GET /healthz", 200), (b"GET /metrics", 401), (b"GET /none", 404),
                             (b"GET http://[::1", 400), (b"POST /", 501)):
            with (socket.create_connection(server.server_address, timeout=DEADLINE_S) as client,
                  http.client.HTTPResponse(client) as reply):
                client.sendall(line + b" HTTP/1.0\r\n\r\n")
                reply.begin()
                assert reply.status == status
                assert reply.headers.get_all("Cache-Control") == ["no-store"]
                assert reply.headers.get_all("X-Content-Type-Options") == ["nosniff"]


def test_a_failing_liveness():
    with Server(LOCAL, pages(live=BAD)) as server:
        assert ask(server, "/healthz") == (500, LIST.format("healthz"))
        assert ask(server, "/readyz") == (200, "ok")


def test_head_has_no_body_and_nothing_can_be_posted():
    with Server(LOCAL, pages()) as server:
        with socket.create_connection(server.server_address, timeout=DEADLINE_S) as client:
            client.sendall(b"HEAD /healthz HTTP/1.0\r\n\r\n")
            reply = client.makefile("rb").read()
        assert b"\r\nContent-Length: 2\r\n" in reply
        assert reply.endswith(b"\r\n\r\n")
        assert ask(server, "/healthz", "POST")[0] == 501


@pytest.mark.parametrize(("authorization", "status"), [
    (LOGIN, 200), (LOGIN.replace("Basic", "basic"), 200), ("", 401), ("Bearer x", 401), ("Basic", 401),
    ("Basic %%%", 401), ("Basic YWRtaW46c2VjcmV0", 401), (LOGIN.replace("Basic", "Bearer"), 401),
    ("Basic w6Q=", 401),
], ids=["right", "lower case", "none", "bearer", "empty", "no base64", "wrong", "other scheme", "no ASCII"])
def test_metrics_need_the_login(authorization, status):
    """Where one is set; probes never need it."""
    with Server(LOCAL, pages(login=("admin", "secret:word"))) as server:
        headers = {"Authorization": authorization} if authorization else {}
        reply, body = ask(server, "/metrics", Accept="text/z", **headers)
        assert (reply, body) == ((200, "accept=text/z\n") if status == 200 else (401, "Unauthorized\n"))
        assert ask(server, "/healthz") == (200, "ok")


def test_metrics_are_open_without_a_login():
    with Server(LOCAL, pages()) as server:
        assert ask(server, "/metrics", Accept="a/b") == (200, "accept=a/b\n")


@pytest.fixture
def local():
    with Server(LOCAL, pages(local=True)) as server:
        yield server


@rows(("host", "status"), [
    ("127.0.0.1:1936", 200), ("localhost:1936", 200), ("LOCALHOST", 200), ("[::1]:1936", 200),
    ("10.128.0.9:8443", 200), ("f5router-6d5f", 200), ("f5router.ns.svc:8443", 200), ("", 200),
    ("f5router.ns.svc.cluster.local.", 200),
    ("attacker.example.com:1936", 403), ("127.0.0.1.attacker.example.com", 403), ("10.0.0.1.nip.io", 403),
    ("localhost.attacker.example.com", 403), ("a.svc.example.com", 403), ("x@attacker.com", 403),
    ("a.local@attacker.com", 403), ("attacker.com/.svc", 403), ("attacker.com.", 403), ("[", 403),
])
def test_a_site_that_points_its_name_at_this_machine(local, host, status):
    """DNS rebinding: a browser here would let it read the metrics. Probes have any Host, and are answered."""
    assert ask(local, "/metrics", Host=host)[0] == status
    for path in ("/healthz", "/readyz"):
        assert ask(local, path, Host=host) == (200, "ok")


def test_whoever_has_the_login_or_comes_from_elsewhere_may_use_any_name():
    for where, headers in ((pages(login=("admin", "secret:word"), local=True), {"Authorization": LOGIN}),
                           (pages(), {})):
        with Server(LOCAL, where) as server:
            assert ask(server, "/metrics", Host="metrics.example.com", **headers)[0] == 200


def test_a_bug_is_an_answer_and_a_line_in_the_log(caplog):
    def fail():
        raise RuntimeError("a bug")

    with Server(LOCAL, Pages(fail, fail, fail)) as server:
        assert ask(server, "/healthz") == (500, "internal error\n")
    assert "a bug" in caplog.text


def test_an_address_in_use_is_a_problem_of_the_settings():
    """Which, and why."""
    with Server(LOCAL, pages()) as server, pytest.raises(ConfigError) as caught:
        Server(Address(*server.server_address), pages())
    (problem,) = caught.value.problems
    assert problem == (
        "--listen-addr / ROUTER_LISTEN_ADDR, --stats-port / STATS_PORT: cannot listen on "
        f"{server.where}: Address already in use")


def test_a_name_without_address_is_one_too():
    with pytest.raises(ConfigError, match="has no address"):
        Server(Address("nowhere.invalid", 0), pages())


def test_the_address_is_logged(caplog):
    """Also the port that was found."""
    caplog.set_level(logging.INFO)
    with Server(LOCAL, pages()) as server:
        (record,) = (record for record in caplog.records if record.name == http_server.__name__)
        assert record.address == server.where == f"127.0.0.1:{server.server_address[1]}"


def test_all_addresses():
    """IPv4, and IPv6 where the machine has it."""
    with Server(Address("", 0), pages()) as server:
        port = server.server_address[1]
        families = [("127.0.0.1", port)] + [("::1", port)] * socket.has_dualstack_ipv6()
        for where in families:
            socket.create_connection(where, timeout=DEADLINE_S).close()


def test_it_stops_at_once_whoever_is_connected():
    """A client that says nothing holds up nothing, and the port is free."""
    server = Server(LOCAL, pages(), silence_s=3600.0)
    with socket.socket() as client:
        with server:
            client.connect(server.server_address)
            assert ask(server, "/healthz")[0] == 200
        with Server(Address(*server.server_address), pages()):
            pass
    assert not [thread for thread in threading.enumerate() if thread.name == "serving"]


@pytest.mark.parametrize(("address", "text"), [
    (("", 80), ":80"), (("::1", 80), "[::1]:80"), (("10.0.0.1", 80), "10.0.0.1:80")])
def test_shown(address, text):
    assert http_server.shown(*address) == text
