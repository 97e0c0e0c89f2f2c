"""Settings of virtual servers that our router creates: what clients see of them and of HAProxy."""

import contextlib
import http.client
import re
import socket
import ssl
import time
from collections.abc import Callable

import pytest

from tests import manifests
from tests.differential.conftest import Router
from tests.differential.haproxy_config import HAPROXY
from tests.differential.outcomes import Request
from tests.differential.test_options import upgraded
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.waiting import DEADLINE_S, until

HOST, OWN = "plain.example.com", "own.example.com"
ENDED, RESET = "ended", "reset"


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    own = manifests.route("own", host=OWN, service="web")
    own["metadata"]["annotations"] = {f"{HAPROXY}timeout": "20s"}
    site.apply(manifests.route("plain", host=HOST, service="web"), own,
               manifests.route("edge", host="edge.example.com", service="web", kind="edge"))


def answer(host: str, path: str, *headers: str) -> Callable[[Router], str]:
    """Return an observation of the status of an answer, or of the reset in its place."""
    request = Request(host, path, how={"headers": headers})
    return lambda router: str(request.send(router).status or RESET)


def end_of(begun: bytes, *, trickle: bytes = b"", secure: bool = False) -> Callable[[Router], str]:
    """Return an observation of how a connection ends on which no request becomes complete.

    Args: begun: is sent at once; trickle: is sent again and again.
    """
    def observe(router: Router) -> str:
        with socket.create_connection(router.https if secure else router.http, DEADLINE_S) as client:
            client.sendall(begun)
            client.settimeout(0.05)
            end, received = time.monotonic() + 5, b""
            while time.monotonic() < end:
                try:
                    if trickle:
                        client.sendall(trickle)
                    if not (more := client.recv(4096)):
                        return received.split()[1].decode() if received else ENDED
                    received += more
                except TimeoutError:
                    continue
                except ConnectionError:
                    return received.split()[1].decode() if received else RESET
            return "stays"

    return observe


def after_an_answer(pause_s: float) -> Callable[[Router], str]:
    """Return an observation of a connection that was silent for a while after a response."""
    def observe(router: Router) -> str:
        with contextlib.closing(http.client.HTTPConnection(*router.http, timeout=DEADLINE_S)) as client:
            for number in range(2):
                try:
                    client.auto_open = not number
                    client.request("GET", "/", headers={"Host": HOST})
                    client.getresponse().read()
                except (OSError, http.client.HTTPException):
                    return ENDED
                if not number:
                    time.sleep(pause_s)
            return "answered"

    return observe


def beside_two(router: Router) -> str:
    """Return what a third client sees while two are connected; all see an answer after they have left."""
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            client = stack.enter_context(socket.create_connection(router.http, DEADLINE_S))
            client.sendall(clients.request_bytes(HOST, close=False))
            assert client.recv(12) == b"HTTP/1.1 200"
        try:
            with socket.create_connection(router.http, DEADLINE_S) as third:
                third.settimeout(1.0)
                third.sendall(clients.request_bytes(HOST))
                seen = "answered" if third.recv(1) else RESET
        except TimeoutError:
            seen = "waits"
        except ConnectionError:
            seen = RESET
    assert until(lambda: Request(HOST).send(router).status == 200)
    return seen


def long_headers(count: int) -> tuple[str, ...]:
    return tuple(f"X-Long-{number}: {'x' * 980}" for number in range(count))


SIZES = {"ROUTER_BUF_SIZE": "24576", "ROUTER_MAX_REWRITE_SIZE": "8192"}
ROWS = [
    # variables, what is asked, HAProxy's router, ours
    ({"ROUTER_DEFAULT_SERVER_TIMEOUT": "1s"}, answer(HOST, "/"), "200", "200"),
    ({"ROUTER_DEFAULT_SERVER_TIMEOUT": "1s"}, answer(HOST, "/?delay=3600"), "504", RESET),
    ({"ROUTER_DEFAULT_SERVER_TIMEOUT": "1s"}, answer(OWN, "/?delay=2"), "200", "200"),
    ({"ROUTER_DEFAULT_SERVER_TIMEOUT": "1s", "ROUTER_DEFAULT_CLIENT_TIMEOUT": "1s"},
     answer(OWN, "/?delay=2"), "200", "200"),
    ({"ROUTER_SLOWLORIS_TIMEOUT": "1s"}, end_of(b"GET / HTTP/1.1\r\nX-Long: ", trickle=b"a"), "408", RESET),
    ({"ROUTER_SLOWLORIS_TIMEOUT": "1s"}, answer(HOST, "/?delay=2"), "200", "200"),
    ({"ROUTER_SLOWLORIS_HTTP_KEEPALIVE": "1s", "ROUTER_DEFAULT_SERVER_TIMEOUT": "1s",
      "ROUTER_DEFAULT_CLIENT_TIMEOUT": "1s"}, after_an_answer(2.5), ENDED, ENDED),
    ({"ROUTER_SLOWLORIS_HTTP_KEEPALIVE": "1s", "ROUTER_DEFAULT_SERVER_TIMEOUT": "1s"}, after_an_answer(2.5),
     ENDED, ENDED),
    ({"ROUTER_SLOWLORIS_HTTP_KEEPALIVE": "1s"}, after_an_answer(2.5), ENDED, "answered"),
    ({"ROUTER_SLOWLORIS_HTTP_KEEPALIVE": "10s", "ROUTER_DEFAULT_CLIENT_TIMEOUT": "1s"},
     after_an_answer(2.5), ENDED, "answered"),
    ({"ROUTER_DEFAULT_CLIENT_TIMEOUT": "1s"}, after_an_answer(2.5), ENDED, ENDED),
    ({"ROUTER_DEFAULT_CLIENT_TIMEOUT": "1s"}, end_of(b""), "408", RESET),
    (SIZES, answer(HOST, "/", *long_headers(14)), "200", "200"),
    (SIZES, answer(HOST, "/", *long_headers(18)), "400", RESET),
    ({"ROUTER_MAX_CONNECTIONS": "2"}, beside_two, "waits", RESET),
    ({"ROUTER_INSPECT_DELAY": "1s"}, end_of(b"\x16\x03\x01", secure=True), "stays", RESET),
]


@pytest.mark.parametrize(("variables", "ask", "haproxy", "ours"), ROWS, ids=[
    f"{number} {'+'.join(row[0])}" for number, row in enumerate(ROWS)])
def test_settings(pair_of, variables, ask, haproxy, ours):
    """Differences are those of docs/haproxy-settings.md, "Time-outs" and "Properties of virtual servers"."""
    pair = pair_of(build, variables=variables, is_own=True)
    assert pair.both_at_once(ask) == (haproxy, ours)


@pytest.mark.parametrize(("silent_s", "expected"), [(DEADLINE_S, "ends"), (0.4, "stays")])
def test_tunnels(pair_of, silent_s, expected):
    pair = pair_of(build, variables={"ROUTER_DEFAULT_TUNNEL_TIMEOUT": "1s"}, is_own=True)
    assert pair.both_at_once(lambda router: upgraded(
        router, HOST, secure=False, silent_s=silent_s)) == (expected, expected)


def chosen(router: Router, offer: str) -> str:
    """Return the suite of TLS 1.2 for a client with one alone; "" if it is refused."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{offer}:@SECLEVEL=0")
    with socket.create_connection(router.https, DEADLINE_S) as raw:
        try:
            with context.wrap_socket(raw, server_hostname="edge.example.com") as client:
                return client.cipher()[0]
        except (ssl.SSLError, ConnectionError):
            return ""


def test_cipher_suites_without_a_setting(pair_of):
    """They are those of `intermediate`."""
    pair = pair_of(build, is_own=True)
    offers = ("ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA", "CAMELLIA256-SHA", "ARIA128-GCM-SHA256")
    theirs, ours = pair.both(lambda router: [chosen(router, offer) for offer in offers])
    assert ours == theirs == [*offers[:2], "", ""]


FIELDS = re.compile(
    r"<(?P<priority>\d+)>\w{3} [ \d]\d \d\d:\d\d:\d\d \S+ \w+(?:\[\d+\])?: (?P<client>[\d.]+):\d+ "
    r"\[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d\.\d{3}\] \S+ \S+/\S+ (?:-?\d+/){4}\+?\d+ (?P<status>\d+) \d+ - - "
    r'\S{4} (?:\d+/){4}\d+ \d+/\d+ "(?P<request>[^"]*)"')
"""A line of either: the order of its fields, and those that both know."""


def test_the_access_log(pair_of):
    """A program that reads lines of the one reads those of the other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as log:
        log.bind(("127.0.0.1", 0))
        log.settimeout(DEADLINE_S)
        pair = pair_of(build, is_own=True, log=f"127.0.0.1:{log.getsockname()[1]}",
                       syslog_address="10.9.9.9")
        server = pair.site.pods.log_server("10.9.9.9", 514)
        seen = []
        for router in (pair.haproxy, pair.ours):
            assert Request(HOST, "/a?b=c").send(router).status == 200
        lines = log.recv(4096).decode().rstrip("\n"), until(lambda: server.lines)[0]
        for line in lines:
            match = FIELDS.fullmatch(line)
            assert match, line
            seen.append(match.groupdict())
    assert seen[0] == seen[1]
    assert seen[0] == {"priority": "142", "client": "127.0.0.1", "status": "200",
                       "request": "GET /a?b=c HTTP/1.1"}
