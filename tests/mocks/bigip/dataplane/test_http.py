"""HTTP through the data plane: what the member receives and what the client gets."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest

from mocks.bigip.dataplane.pod_server import frame, take_frame
from tests.mocks.bigip.dataplane.client import END, RESET, Client
from tests.mocks.bigip.dataplane.conftest import Net, until

VS = "/P/http"


def test_a_request_reaches_the_pod_as_it_was_sent(net: Net):
    answer = net.ask(VS, "/a%2fb//../c?q=%20&x", headers="X-One: 1\r\nx-ONE:  2 \r\n")
    assert (answer.status, answer.version) == (200, "HTTP/1.1")
    seen = answer.seen
    assert (seen["pod"], seen["namespace"], seen["port"]) == ("web", "shop", 8080)
    assert (seen["method"], seen["target"], seen["protocol"]) == ("GET", "/a%2fb//../c?q=%20&x", "HTTP/1.1")
    assert seen["headers"] == [["Host", "a.example"], ["X-One", "1"], ["x-ONE", "2"]]
    assert seen["tls"] is None


def test_what_is_recorded(net: Net):
    net.ask(VS, "/x")
    served = net.last()
    assert (served.virtual, served.host, served.target, served.method) == (VS, "a.example", "/x", "GET")
    assert (served.pool, served.member, served.status) == ("/P/web", "10.1.0.1:8080", 200)
    assert (served.outcome, served.snat, served.client[0]) == ("served", "none", "127.0.0.1")


def test_keep_alive_uses_one_connection_to_the_pod(net: Net):
    with net.connect(VS) as client:
        seen = [client.ask(f"/{number}").seen for number in range(3)]
    assert [request["request"] for request in seen] == [1, 2, 3]
    assert len({request["connection"] for request in seen}) == 1


def test_pipelined_requests_are_answered_in_order(net: Net):
    with net.connect(VS) as client:
        client.send(b"".join(b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(5)))
        assert [client.answer().seen["target"] for _ in range(5)] == [f"/{number}" for number in range(5)]


@pytest.mark.parametrize("size", [0, 1, 70_000, 3_000_000])
def test_bodies_of_requests(net: Net, size):
    assert net.ask(VS, method="POST", body=b"x" * size).seen["body_size"] == size


def test_chunked_request_with_trailers(net: Net):
    with net.connect(VS) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        for piece in (b"3\r\nabc\r\n", b"2\r\n", b"de", b"\r\n0\r\nX-Sum: 1\r\n\r\n"):
            client.send(piece)
        seen = client.answer().seen
        assert (seen["body"], ["Transfer-Encoding", "chunked"] in seen["headers"]) == ("abcde", True)
        assert seen["trailers"] == [["X-Sum", "1"]]
        assert client.ask("/next").seen["target"] == "/next"


CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param((CHUNKED + b"zz\r\nabc\r\n0\r\n\r\n",), id="with the head"),
        pytest.param((CHUNKED, b"zz\r\nabc\r\n0\r\n\r\n"), id="behind the head"),
        pytest.param((CHUNKED + b"3\r\nabc\r\n", b"-1\r\nabc\r\n"), id="behind a good one"),
        pytest.param((CHUNKED + b"3\r\nabcdef\r\n0\r\n\r\n",), id="longer than it says"),
        pytest.param((CHUNKED, b"3\r\n", b"abc", b"x\r\n"), id="no line end behind it"),
        pytest.param((CHUNKED + b"ffffffffffffffffff\r\n",), id="size overflows"),
    ],
)
def test_a_bad_chunk_resets(net: Net, pieces):
    """The head may have been sent to the member already; the member is not kept waiting."""
    with net.connect(VS) as client:
        for piece in pieces:
            client.send(piece)
        assert client.rest() == (b"", RESET)
    assert net.last().outcome.startswith("reset: ")


def test_a_bad_chunk_after_the_answer(net: Net):
    """The member need not wait for the body; what it said stands."""
    with net.connect(VS) as client:
        client.send(CHUNKED.replace(b"/", b"/?early=1", 1) + b"3\r\nabc\r\n")
        client.send(b"zz\r\n")
        data, ended = client.rest()
    assert ended in (RESET, END)
    assert not data or data.startswith(b"HTTP/1.1 ")


@pytest.mark.parametrize(
    ("query", "framing"),
    [
        pytest.param("chunked=3&length=100000", "Transfer-Encoding", id="chunked"),
        pytest.param("length=2000000", "Content-Length", id="with length"),
    ],
)
def test_bodies_of_responses(net: Net, query, framing):
    with net.connect(VS) as client:
        answer = client.ask(f"/?{query}")
        assert answer.header(framing) is not None
        assert answer.trailers == (b"X-End: yes\r\n" if "chunked" in query else b"")
        assert len(answer.body) > int(query.rpartition("=")[2])
        assert client.ask("/next").seen["request"] == 2


def test_a_body_that_the_end_of_the_connection_ends(net: Net):
    with net.connect(VS) as client:
        answer = client.ask("/?unframed=1&length=50000")
    assert (answer.ended, answer.seen["pod"]) == (END, "web")


@pytest.mark.parametrize("status", [204, 304, 404, 500])
def test_statuses(net: Net, status):
    with net.connect(VS) as client:
        client.send(b"GET /?status=%d HTTP/1.1\r\nHost: a\r\n\r\n" % status)
        assert client.answer().status == status


def test_head(net: Net):
    with net.connect(VS) as client:
        answer = client.ask("/", method="HEAD")
        assert (answer.body, int(answer.header("Content-Length")) > 100) == (b"", True)
        assert client.ask("/next").seen["request"] == 2


def test_expect_100_continue(net: Net):
    with net.connect(VS) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        assert client.answer().status == 100
        client.send(b"abc")
        assert client.answer().seen["body"] == "abc"


def test_a_response_before_the_body_was_sent(net: Net):
    with net.connect(VS) as client:
        client.send(b"POST /?early=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc")
        assert client.answer().status == 200
        assert client.rest() == (b"", END)


def test_a_client_that_ends_in_the_body(net: Net):
    """The pod would wait for the rest of it."""
    pod = net.big.pods["10.1.0.1", 8080]
    with net.connect(VS) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab")
        until(lambda: pod.connections)
    until(lambda: not pod.connections and not net.plane.shared.balancer.connections)


def test_http_1_0(net: Net):
    with net.connect(VS) as client:
        answer = client.ask("/?chunked=2", version="1.0")
        assert (answer.seen["protocol"], answer.ended) == ("HTTP/1.0", END)
        assert answer.header("Transfer-Encoding") is None
    with net.connect(VS) as client:
        seen = [client.ask("/", version="1.0", headers="Connection: keep-alive\r\n").seen for _ in "ab"]
        assert [request["request"] for request in seen] == [1, 2]


@pytest.mark.parametrize(
    "options",
    [{"headers": "Connection: close\r\n"}, {"target": "/?close=1"}],
    ids=["the client's wish", "the pod's wish"],
)
def test_connection_close(net: Net, options):
    with net.connect(VS) as client:
        assert client.ask(**options).status == 200
        assert client.rest() == (b"", END)


def test_a_pod_that_closes_an_idle_connection_ends_the_clients(net: Net):
    with net.connect(VS) as client:
        client.ask()
        pod = net.big.pods["10.1.0.1", 8080]
        net.plane.thread.call(lambda: [connection.close() for connection in pod.connections])
        assert client.rest() == (b"", END)


def test_a_pod_that_resets_instead_of_answering(net: Net):
    with net.connect(VS) as client:
        assert client.ask("/?drop=1").ended == RESET
    assert net.last().outcome.startswith("reset")


def test_a_client_that_leaves_while_it_waits(net: Net):
    with net.connect(VS) as client:
        client.send(b"GET /?delay=60 HTTP/1.1\r\nHost: a\r\n\r\n")
        until(lambda: net.plane.counters()["server connections"])
        client.sock.setsockopt(1, 13, b"\1\0\0\0\0\0\0\0")
    net.quiet()


def test_a_client_that_sends_no_more_still_gets_its_answer(net: Net):
    with net.connect(VS) as client:
        client.send(b"GET /?delay=0.05 HTTP/1.1\r\nHost: a\r\n\r\n")
        client.sock.shutdown(1)
        assert client.answer().status == 200
        assert client.rest() == (b"", END)


ODD = [
    pytest.param(b"GET / HTTP/1.1\r\n\r\n", "/", [], id="no Host"),
    pytest.param(
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "/", [["Host", "a"], ["Host", "b"]], id="two Hosts"
    ),
    pytest.param(
        b"GET http://b.example/x?y HTTP/1.1\r\nHost: a\r\n\r\n",
        "http://b.example/x?y",
        [["Host", "a"]],
        id="absolute form",
    ),
    pytest.param(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "*", [["Host", "a"]], id="asterisk"),
    pytest.param(b"GET /a;b=[]{}|'() HTTP/1.1\r\nHost:\r\n\r\n", "/a;b=[]{}|'()", [["Host", ""]], id="marks"),
    pytest.param(
        b"GET / HTTP/1.1\r\nX: \xe9\xff\r\n\r\n", "/", [["X", "\xe9\xff"]], id="bytes above 127 in a header"
    ),
]


@pytest.mark.parametrize(("sent", "target", "headers"), ODD)
def test_odd_requests_pass(net: Net, sent, target, headers):
    with net.connect(VS) as client:
        client.send(sent)
        seen = client.answer().seen
    assert (seen["target"], seen["headers"]) == (target, headers)


REFUSED = [
    pytest.param(b"GET / HTTP/1.1\r\nX: " + b"a" * 33_000 + b"\r\n\r\n", id="header over 32,768 bytes"),
    pytest.param(b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000, id="header without end"),
    pytest.param(b"GET /" + b"a" * 33_000 + b" HTTP/1.1\r\n\r\n", id="target over 32,768 bytes"),
    pytest.param(b"GET / HTTP/1.1\r\n" + b"X: 1\r\n" * 65 + b"\r\n", id="65 headers"),
    pytest.param(b"\x16\x03\x01\x00\x05hello", id="TLS"),
    pytest.param(b"hello\r\n\r\n", id="no HTTP"),
    pytest.param(b"FROB / HTTP/1.1\r\n\r\n", id="unknown method"),
    pytest.param(b"GET /a b HTTP/1.1\r\n\r\n", id="blank in the target"),
    pytest.param("GET /?\xe9 HTTP/1.1\r\n\r\n".encode(), id="bytes above 127 in the target"),
    pytest.param(
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        id="two framings",
    ),
    pytest.param(b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", id="length is no number"),
]


@pytest.mark.parametrize("sent", REFUSED)
def test_refused_requests_reset(net: Net, sent):
    with net.connect(VS) as client:
        client.send(sent)
        assert client.rest() == (b"", RESET)


def test_long_headers_within_the_limits_pass(net: Net):
    headers = "".join(f"X-{number}: {'a' * 500}\r\n" for number in range(62))
    assert len(net.ask(VS, headers=headers).seen["headers"]) == 63


def test_a_bad_request_behind_a_good_one(net: Net):
    with net.connect(VS) as client:
        client.send(b"GET /good HTTP/1.1\r\nHost: a\r\n\r\nbad bad\r\n\r\n")
        assert client.answer().seen["target"] == "/good"
        assert client.rest() == (b"", RESET)


# -- upgrades --------------------------------------------------------------------------------------

UPGRADE = (
    b"GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def next_frame(client: Client) -> tuple[int, bytes]:
    """The next frame that a client gets."""
    while True:
        held = bytearray(client.buffer)
        taken = take_frame(held)
        if taken is not None:
            client.buffer = bytes(held)
            return taken
        assert not client.more()


def test_websocket(net: Net):
    with net.connect(VS) as client:
        client.send(UPGRADE + frame(1, b"early", mask=b"abcd"))
        answer = client.answer()
        assert (answer.status, answer.header("Sec-WebSocket-Accept")) == (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        assert json.loads(next_frame(client)[1])["pod"] == "web"
        assert next_frame(client) == (1, b"early")
        client.send(frame(2, b"x" * 70_000, mask=b"abcd"))
        assert next_frame(client) == (2, b"x" * 70_000)
        client.send(frame(8, b"", mask=b"abcd"))
        assert next_frame(client)[0] == 8
        assert client.rest() == (b"", END)
    assert net.last().outcome == "tunnelled"


def test_an_upgrade_that_the_pod_does_not_want(net: Net):
    with net.connect(VS) as client:
        assert client.ask("/1", headers="Connection: Upgrade\r\nUpgrade: h2c\r\n").seen["target"] == "/1"
        assert client.ask("/2").seen["target"] == "/2"
        upgrade = b"GET /%d HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
        client.send(b"".join(upgrade % number for number in (3, 4, 5)))
        assert [client.answer().seen["target"] for _ in "345"] == ["/3", "/4", "/5"]


# -- http profile ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "sent", "expected"),
    [
        pytest.param({"insertXforwardedFor": "enabled"}, "", [["X-Forwarded-For", "127.0.0.1"]], id="xff"),
        pytest.param(
            {"insertXforwardedFor": "enabled"},
            "X-Forwarded-For: 1.2.3.4\r\n",
            [["X-Forwarded-For", "1.2.3.4"], ["X-Forwarded-For", "127.0.0.1"]],
            id="xff beside another",
        ),
        pytest.param({"headerInsert": "X-By: big ip"}, "", [["X-By", "big ip"]], id="headerInsert"),
        pytest.param({"headerErase": "X-Old"}, "x-old: 1\r\n", [], id="headerErase"),
    ],
)
def test_request_headers_of_the_profile(make_net, fields, sent, expected):
    net = make_net()
    net.pod("10.1.0.1")
    net.put("ltm/profile/http", "h", **fields)
    vs = net.virtual("v", pool=net.pool("web", "10.1.0.1:8080"), profiles=["/Common/tcp", "/P/h"])
    assert net.ask(vs, headers=sent).seen["headers"] == [["Host", "a.example"], *expected]


def test_what_is_not_known_of_an_http_profile_is_loud(make_net):
    net = make_net()
    net.put("ltm/profile/http", "h", redirectRewrite="all")
    vs = net.virtual("v", profiles=["/Common/tcp", "/P/h"])
    assert net.ask(vs).ended == RESET
    assert net.errors() == ["redirectRewrite of an http profile: all"]


# -- compression -----------------------------------------------------------------------------------

LONG = "type=text/html&length=2000"


@pytest.fixture(scope="module")
def compressing(shared: Net) -> str:
    shared.put("ltm/profile/http-compression", "small", minSize=10, keepAcceptEncoding="enabled")
    for name, profile in (("usual", "/Common/httpcompression"), ("small", "/P/small")):
        profiles = ["/Common/tcp", "/Common/http", profile]
        shared.virtual(f"compressing-{name}", pool="/P/web", profiles=profiles)
    return "/P/compressing-usual"


@pytest.mark.parametrize(("query", "accepted", "encoding"), [
    (LONG, "gzip", "gzip"), (LONG, "deflate", "deflate"), (LONG, "deflate, gzip;q=0.1", "gzip"),
    (LONG, "gzip;q=0", ""), (LONG, "br", ""), (LONG, "", ""), ("type=text/html", "gzip", ""),
    ("type=text/html&chunked=9", "gzip", "gzip"), ("type=image/png&length=2000", "gzip", ""),
    (f"{LONG}&headers=Content-Encoding:br", "gzip", "br"), (f"{LONG}&unframed=1", "gzip", "gzip"),
])
def test_compression(net: Net, compressing: str, query: str, accepted: str, encoding: str):
    """The profile that a device has: bodies from 1,024 bytes, text, and no Accept-Encoding for the pod."""
    with net.connect(compressing) as client:
        answer = client.ask(f"/?{query}", headers=f"Accept-Encoding: {accepted}\r\n")
    assert (answer.header("Content-Encoding") or "") == encoding
    plain = {"gzip": gzip.decompress, "deflate": zlib.decompress}.get(encoding, bytes)(answer.body)
    assert "accept-encoding" not in {name.lower() for name, _ in json.loads(plain)["headers"]}


def test_compression_of_another_profile(net: Net, compressing: str):
    with net.connect("/P/compressing-small") as client:
        answers = [client.ask("/?type=text/html", headers="Accept-Encoding: gzip\r\n") for _ in range(3)]
    for answer in answers:
        assert (answer.header("Content-Encoding"), answer.header("Vary")) == ("gzip", "Accept-Encoding")
        shown = json.loads(gzip.decompress(answer.body))
        assert ["Accept-Encoding", "gzip"] in shown["headers"]
