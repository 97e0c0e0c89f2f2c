"""Settings of a virtual server and its profiles that clients notice: limits, time-outs, log lines."""

from __future__ import annotations

import pytest

from mocks.bigip import Quirk
from mocks.bigip.dataplane import config
from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net, until

PROFILES = ["/Common/tcp", "/Common/http"]


def web(net: Net, **fields) -> str:
    net.pod("10.1.0.1", name="web")
    return net.virtual("v", pool=net.pool("web", "10.1.0.1:8080"), **fields)


# -- connections -----------------------------------------------------------------------------------


def test_connections_above_the_limit_are_refused(make_net):
    net = make_net()
    vs = web(net, connectionLimit=2)
    with net.connect(vs) as first, net.connect(vs) as second:
        assert [client.ask().pod for client in (first, second)] == ["web", "web"]
        with net.connect(vs) as third:
            assert third.ask().ended == RESET
        assert first.ask().pod == "web"
    net.quiet()
    assert net.ask(vs).pod == "web"


def test_a_limit_that_is_raised_counts_for_the_next_connection(make_net):
    net = make_net()
    vs = web(net, connectionLimit=1)
    with net.connect(vs) as first:
        first.ask()
        net.change("PATCH", "ltm/virtual/~P~v", {"connectionLimit": 2})
        assert net.ask(vs).pod == "web"


@pytest.mark.parametrize("side", ["clientside", "serverside"])
def test_each_side_has_its_own_idle_timeout(make_net, side):
    """The shorter ends both; one of 300,000 s would not in this test."""
    net = make_net(speed=100.0)
    net.put("ltm/profile/tcp", "short", idleTimeout=20)
    net.put("ltm/profile/tcp", "long", idleTimeout=300_000)
    other = {"clientside": "serverside", "serverside": "clientside"}[side]
    vs = web(net, profiles=[{"name": "/P/short", "context": side}, {"name": "/P/long", "context": other},
                            "/Common/http"])
    with net.connect(vs) as client:
        assert client.ask().pod == "web"
        assert client.rest() == (b"", RESET)


def test_a_server_side_timeout_does_not_end_a_client_that_has_no_server(make_net):
    net = make_net(speed=1000.0)
    net.put("ltm/profile/tcp", "short", idleTimeout=1)
    vs = web(net, profiles=["/Common/http", {"name": "/Common/tcp", "context": "clientside"},
                            {"name": "/P/short", "context": "serverside"}])
    with net.connect(vs) as client:
        client.send(b"GET / HTTP/1.1\r\n")
        until(lambda: net.plane.flows)
        (flow,) = net.plane.flows
        until(lambda: flow.virtual)
        assert (flow.virtual.idle_s, flow.virtual.server_idle_s, flow.idle_limit()) == (300, 1, 300)


@pytest.mark.parametrize(("fields", "seconds"), [
    ({}, 45.0), ({"synMaxRetrans": 1, "synRtoBase": 1500}, 4.5), ({"synMaxRetrans": 0}, 3.0),
])
def test_how_long_a_member_may_stay_silent(make_net, fields, seconds):
    net = make_net(speed=1000.0)
    net.put("ltm/profile/tcp", "own", **fields)
    vs = web(net, profiles=["/P/own", "/Common/http"])
    net.big.pods.silence("10.1.0.1", 8080)
    with net.connect(vs) as client:
        assert client.ask().ended == RESET
    net.quiet()
    with net.store.lock:
        assert config.virtual(net.store, vs).syn_s == seconds


@pytest.mark.parametrize(("size", "status"), [(400, 200), (600, 0)])
def test_the_size_of_headers_by_the_own_profile(make_net, size, status):
    net = make_net()
    net.put("ltm/profile/http", "own", enforcement={"maxHeaderSize": 512})
    vs = web(net, profiles=["/Common/tcp", "/P/own"])
    with net.connect(vs) as client:
        assert client.ask(headers=f"X: {'x' * size}\r\n").status == status


@pytest.mark.parametrize(("quirks", "ended"), [((), ""), ((Quirk.LISTENER_GONE_RESETS,), RESET)])
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_connections_of_a_listener_that_is_gone(make_net, quirks, ended, method):
    net = make_net(quirks=quirks)
    vs = web(net, profiles=["/Common/tcp"])
    with net.connect(vs) as client:
        assert client.ask().pod == "web"
        net.change("PATCH", "ltm/virtual/~P~v", {"disabled": True})
        net.big.listeners()
        assert client.ask().pod == "web"
        net.change(method, "ltm/virtual/~P~v", {"destination": "10.9.9.9:80"} if method == "PATCH" else None)
        net.big.listeners()
        answer = client.ask()
        assert (answer.status, answer.ended) == ((200, "") if not ended else (0, RESET))


# -- log lines -------------------------------------------------------------------------------------

TEMPLATE = ("<134>$CLIENT_IP [$DATE_NCSA] \"$HTTP_REQUEST\" $HTTP_METHOD $HTTP_URI $HTTP_PATH $HTTP_QUERY "
            "$HTTP_STATCODE $HTTP_STATUS $SERVER_IP:$SERVER_PORT $VIRTUAL_NAME $VIRTUAL_POOL_NAME "
            "$VIRTUAL_IP:$VIRTUAL_PORT ${User-agent} ${x-none}.")
EXPECTED = ("<134>127.0.0.1 [14/Nov/2023:22:13:20 +0000] \"GET /a?b=c HTTP/1.1\" GET /a?b=c /a b=c "
            "200 200 OK 10.1.0.1:8080 /P/v /P/web 10.9.0.10:80 curl .")


def logged(net: Net, **fields) -> tuple[str, object]:
    """A virtual server with a log profile, and what takes its lines."""
    net.put("ltm/pool", "log", members=["10.2.0.1:514"])
    net.put("ltm/profile/request-log", "log", **fields)
    return web(net, profiles=[*PROFILES, "/P/log"]), net.big.pods.log_server("10.2.0.1", 514)


RESPONSES = {"responseLogging": "enabled", "responseLogPool": "/P/log"}


def test_a_line_for_each_response(make_net):
    net = make_net()
    net.plane.clock.time_of_day = lambda: 1_700_000_000.0
    vs, server = logged(net, **RESPONSES, responseLogTemplate=TEMPLATE)
    with net.connect(vs) as client:
        for _ in range(2):
            assert client.ask("/a?b=c", headers="User-Agent: curl\r\n").status == 200
    until(lambda: len(server.lines) == 2)
    assert server.lines == [EXPECTED] * 2


def test_sizes_and_times(make_net):
    net = make_net()
    vs, server = logged(net, **RESPONSES, responseLogTemplate="$RESPONSE_SIZE $RESPONSE_MSECS")
    answer = net.ask(vs, "/?delay=0.05")
    (line,) = until(lambda: server.lines)
    size, milliseconds = map(int, line.split())
    assert size == len(answer.body)
    assert milliseconds >= 50


def test_a_line_for_each_request_as_the_client_sent_it(make_net):
    net = make_net()
    vs, server = logged(net, requestLogging="enabled", requestLogPool="/P/log",
                        requestLogTemplate="$HTTP_URI ${x-a} $HTTP_STATCODE.")
    net.rule("change", "when HTTP_REQUEST { HTTP::uri /changed\nHTTP::header replace X-A b }")
    net.change("PATCH", "ltm/virtual/~P~v", {"rules": ["/P/change"]})
    with net.connect(vs) as client:
        assert client.ask("/sent", headers="X-A: a\r\n").seen["target"] == "/changed"
    assert until(lambda: server.lines) == ["/sent a ."]


def test_lines_by_tcp(make_net):
    """A line feed of the template ends each; the device puts none there."""
    net = make_net()
    net.plane.clock.time_of_day = lambda: 1_700_000_000.25
    vs, server = logged(net, **RESPONSES, responseLogProtocol="mds-tcp", responseLogTemplate=(
        "$DATE_DD/$DATE_MON/$DATE_YYYY:$TIME_HMS.$TIME_MSECS $TIME_OFFSET $BIGIP_HOSTNAME $HTTP_PATH\n"))
    assert [net.ask(vs, path).status for path in ("/a", "/b")] == [200, 200]
    until(lambda: len(server.lines) == 2)
    moment = f"14/Nov/2023:22:13:20.250 +0000 {net.store.unit.hostname}"
    assert sorted(server.lines) == [f"{moment} /a", f"{moment} /b"]


@pytest.mark.parametrize(("fields", "vlan", "status"), [
    ({}, "", 200), ({}, "/Common/external", 200),
    ({"vlansEnabled": True, "vlans": ["/Common/internal"]}, "/Common/internal", 200),
    ({"vlansEnabled": True, "vlans": ["/Common/internal"]}, "/Common/external", 0),
    ({"vlansDisabled": True, "vlans": ["/Common/internal"]}, "/Common/internal", 0),
    ({"vlansDisabled": True, "vlans": ["/Common/internal"]}, "/Common/external", 200),
])
def test_vlans(make_net, fields, vlan, status):
    net = make_net()
    vs = web(net, **fields)
    net.plane.vlan = vlan
    with net.connect(vs) as client:
        assert client.ask().status == status


@pytest.mark.parametrize(("quirks", "lines"), [((), []), ((Quirk.LOGS_OWN_RESPONSES,), ["503 7"])])
def test_what_an_irule_answers(make_net, quirks, lines):
    net = make_net(quirks=quirks)
    vs, server = logged(net, **RESPONSES, responseLogTemplate="$HTTP_STATCODE $RESPONSE_SIZE")
    answer = 'if {[HTTP::path] eq "/own"} { HTTP::respond 503 content nothing }'
    net.rule("answer", f"when HTTP_REQUEST {{ {answer} }}")
    net.change("PATCH", "ltm/virtual/~P~v", {"rules": ["/P/answer"]})
    assert net.ask(vs, "/own").status == 503
    assert net.ask(vs, "/pod").status == 200
    until(lambda: len(server.lines) == len(lines) + 1)
    assert server.lines[:-1] == lines


def test_nobody_takes_the_lines(make_net):
    """Traffic goes on: without a pool, without a member that is there, with a disabled one."""
    net = make_net()
    vs, server = logged(net, **RESPONSES, responseLogTemplate="x")
    net.change("PATCH", "ltm/pool/~P~log/members/~P~10.2.0.1:514", {"session": "user-disabled"})
    assert net.ask(vs).pod == "web"
    net.change("PATCH", "ltm/pool/~P~log", {"members": ["10.2.0.9:514"]})
    assert net.ask(vs).pod == "web"
    net.change("PATCH", "ltm/profile/request-log/~P~log", {"responseLogPool": "none"})
    assert net.ask(vs).pod == "web"
    assert server.lines == []


@pytest.mark.parametrize(("fields", "error"), [
    ({"responseLogTemplate": "$GUESS"}, "word of a log template: $GUESS"),
])
def test_what_is_not_carried_out_is_an_error(make_net, fields, error):
    net = make_net()
    vs, _ = logged(net, **RESPONSES, **fields)
    assert net.ask(vs).pod == "web"
    assert until(net.errors) == [error]
