"""Monitors: real checks on the members' sockets, and what they mean for traffic and for REST."""

from __future__ import annotations

import pytest

from mocks.bigip.dataplane.monitors import Checked
from mocks.bigip.refusals import Refusal
from tests.builders import identity
from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net, until


def state(net: Net, member: str = "10.1.0.1:8080") -> str:
    """As REST shows it."""
    return net.big.get(f"ltm/pool/~P~p/members/~P~{member}")["state"]


@pytest.fixture
def net(make_net) -> Net:
    """Intervals of 5 s are 0.2 s, time-outs of 16 s 0.64 s, enough for an answer on a busy machine."""
    return make_net(speed=25.0)


@pytest.mark.parametrize(
    ("before", "good", "now", "after", "due"),
    [
        pytest.param(None, True, 1, False, 6, id="up at the first good answer"),
        pytest.param(None, False, 1, None, 6, id="still unknown after a bad one"),
        pytest.param(None, False, 16, True, 21, id="down when the time is over"),
        pytest.param(False, False, 15, False, 16, id="up until then, and looked at just then"),
        pytest.param(False, False, 16, True, 21, id="down"),
        pytest.param(True, False, 17, True, 22, id="still down"),
        pytest.param(True, True, 17, False, 22, id="up again"),
    ],
)
def test_results(before, good, now, after, due):
    """Interval 5 s, timeout 16 s, the last good answer at 0."""
    checked = Checked("/P/p", "/P/x", "10.1.0.1", 80, (0, ()), since=0.0, down=before)
    assert checked.learn(good, now=now, interval_s=5, timeout_s=16) == due
    assert (checked.down, checked.since) == (after, now if good else 0.0)


def test_time_until_up():
    """A member that is down is up when it has answered well for so long, without a bad answer."""
    checked = Checked("/P/p", "/P/x", "10.1.0.1", 80, (0, ()), since=0.0, down=True)
    for now, good, down in ((20, True, True), (25, False, True), (30, True, True), (35, True, True),
                            (40, True, False)):
        checked.learn(good, now=now, interval_s=5, timeout_s=16, until_up_s=10)
        assert checked.down == down


@pytest.mark.parametrize("monitor", ["tcp", "tcp_half_open", "http", "icmp", "gateway_icmp"])
def test_up_and_down_and_up_again(net: Net, monitor):
    net.pod("10.1.0.1")
    vs = net.virtual("v", pool=net.pool("p", "10.1.0.1:8080", monitor=f"/Common/{monitor}"))
    until(lambda: state(net) == "up")
    net.big.pods.stop("10.1.0.1", 8080)
    until(lambda: state(net) == "down")
    assert net.ask(vs).ended == RESET
    assert net.last().outcome == "reset: no member available"
    net.pod("10.1.0.1")
    until(lambda: state(net) == "up")
    assert net.ask(vs).status == 200


def test_a_member_that_is_down_gets_nothing(net: Net):
    net.pod("10.1.0.1")
    vs = net.virtual("v", pool=net.pool("p", "10.1.0.1:8080", "10.1.0.2:8080", monitor="/Common/tcp"))
    until(lambda: state(net, "10.1.0.2:8080") == "down")
    assert [net.ask(vs).pod for _ in range(4)] == ["pod-1"] * 4


def test_without_a_monitor_members_are_unchecked_and_used(net: Net):
    vs = net.virtual("v", pool=net.pool("p", "10.1.0.1:8080"))
    assert state(net) == "unchecked"
    assert net.ask(vs).ended == RESET
    assert "refuses connections" in net.last().outcome
    net.pod("10.1.0.1")
    assert net.ask(vs).status == 200


def test_a_connection_outlives_its_member(net: Net):
    """serviceDownAction none (bigip-behaviour.md B11)."""
    net.pod("10.1.0.1")
    net.put("ltm/monitor/http", "m", send="GET /?status=200\\r\\n", recv="nothing says this")
    vs = net.virtual("v", pool=net.pool("p", "10.1.0.1:8080"))
    with net.connect(vs) as client:
        client.ask()
        net.change("PATCH", "ltm/pool/~P~p", {"monitor": "/P/m"})
        until(lambda: state(net) == "down")
        assert client.ask().status == 200
    assert net.ask(vs).ended == RESET


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"send": "GET /health HTTP/1.1\\r\\nHost: h\\r\\n"}, "up", id="any answer"),
        pytest.param({"send": "GET / HTTP/1.1\\r\\n\\r\\n", "recv": "200 OK"}, "up", id="recv"),
        pytest.param({"send": "GET /?status=503 HTTP/1.1\\r\\n", "recv": "200 OK"}, "down", id="other recv"),
        pytest.param({"send": "GET / HTTP/1.0\\r\\n", "recv": "HTTP/1\\.[01] 2"}, "up", id="pattern"),
        pytest.param({"recv": "200", "reverse": "enabled"}, "down", id="reverse"),
        pytest.param({"destination": "*:9090"}, "down", id="another port"),
    ],
)
def test_http(net: Net, fields, expected):
    net.pod("10.1.0.1")
    net.put("ltm/monitor/http", "m", **fields)
    net.pool("p", "10.1.0.1:8080", monitor="/P/m")
    net.plane.check_members()
    assert state(net) == expected


def test_https(net: Net):
    pair = identity("pod.example")
    net.pod("10.1.0.1", 443, tls=(pair.certificate.encode(), pair.key.encode()))
    net.pod("10.1.0.2", 443)
    net.pool("p", "10.1.0.1:443", "10.1.0.2:443", monitor="/Common/https")
    net.plane.check_members()
    assert (state(net, "10.1.0.1:443"), state(net, "10.1.0.2:443")) == ("up", "down")


@pytest.mark.parametrize("in_tmm", [True, False])
def test_https_by_a_profile(net: Net, in_tmm):
    """It verifies as the profile says, authority and name, where monitors run in TMM."""
    pair, other = identity("pod.example"), identity("other.example")
    stranger = identity("pod.example", ca="Another CA")
    members = []
    for number, each in enumerate((pair, other, stranger), start=1):
        net.pod(f"10.1.0.{number}", 443, tls=(each.certificate.encode(), each.key.encode()))
        members.append(f"10.1.0.{number}:443")
    net.big.install("/P/ca.crt", pair.issuer.encode())
    net.put("ltm/profile/server-ssl", "s", caFile="/P/ca.crt", peerCertMode="require",
            authenticateName="pod.example")
    net.put("ltm/monitor/https", "m", sslProfile="/P/s")
    net.change("PATCH", "sys/db/bigd.tmm", {"value": "enable" if in_tmm else "disable"})
    net.pool("p", *members, monitor="/P/m")
    net.plane.check_members()
    assert [state(net, member) for member in members] == (["up", "down", "down"] if in_tmm else ["up"] * 3)
    with pytest.raises(Refusal, match="in use"):
        net.change("DELETE", "ltm/profile/server-ssl/~P~s")
    net.change("PATCH", "ltm/monitor/https/~P~m", {"sslProfile": "none"})
    net.change("DELETE", "ltm/profile/server-ssl/~P~s")


@pytest.mark.parametrize(("version", "profile"), [("13.0.0", "/Common/serverssl"), ("16.1.2", "/P/none")])
def test_profiles_that_are_refused(make_net, version, profile):
    net = make_net(tmos_version=version)
    with pytest.raises(Refusal):
        net.put("ltm/monitor/https", "m", sslProfile=profile)


@pytest.mark.parametrize(
    ("monitor", "expected"),
    [
        ("/Common/tcp and /Common/http", "down"),
        ("min 1 of /Common/tcp /Common/http", "up"),
        ("min 2 of /Common/tcp /Common/http /Common/icmp", "up"),
    ],
)
def test_several_monitors(net: Net, monitor, expected):
    """A raw pod does not speak HTTP, but it echoes; a silent answer is none."""
    net.put("ltm/monitor/http", "strict", recv="HTTP/1.1 200")
    net.pod("10.1.0.1", raw=True)
    net.pool("p", "10.1.0.1:8080", monitor=monitor.replace("/Common/http", "/P/strict"))
    net.plane.check_members()
    assert state(net) == expected


def test_a_members_own_monitor(net: Net):
    net.pod("10.1.0.1")
    members = [{"name": "10.1.0.1:8080", "monitor": "none"}, {"name": "10.1.0.2:8080"}]
    net.put("ltm/pool", "p", monitor="/Common/tcp", members=members)
    net.plane.check_members()
    assert (state(net), state(net, "10.1.0.2:8080")) == ("unchecked", "down")


def test_a_nodes_monitor(net: Net):
    net.pool("p", "10.1.0.1:8080")
    net.change("PATCH", "ltm/node/~P~10.1.0.1", {"monitor": "/Common/icmp"})
    vs = net.virtual("v", pool="/P/p")
    net.plane.check_members()
    assert net.ask(vs).ended == RESET
    assert net.last().outcome == "reset: no member available"


def test_a_new_member_takes_traffic_while_it_is_checked(make_net):
    """bigip-behaviour.md does not tell; the other way is a quirk."""
    for quirks, status in ((), 200), (("checking-takes-nothing",), 0):
        net = make_net(quirks=quirks, speed=0.001)  # the time-out of 16 s takes hours
        net.put("ltm/monitor/tcp", "silent", destination="*:9")
        net.pool("p", monitor="/P/silent")
        vs = net.virtual("v", pool="/P/p")
        net.pod("10.1.0.1")
        net.change("POST", "ltm/pool/~P~p/members", {"name": "10.1.0.1:8080"})
        assert state(net) == "checking"
        assert net.ask(vs).status == status


def test_changes_of_pools_are_followed(net: Net):
    net.pool("p", "10.1.0.1:8080", monitor="/Common/tcp")
    until(lambda: state(net) == "down")
    net.change("PATCH", "ltm/pool/~P~p", {"monitor": "none"})
    until(lambda: state(net) == "unchecked")
    net.change("DELETE", "ltm/pool/~P~p")
    until(lambda: not net.plane.monitors.pools)


def test_what_is_not_known_of_a_monitor_is_told_once(net: Net):
    net.put("ltm/monitor/http", "m", destination="192.0.2.9:80")
    net.pool("p", "10.1.0.1:8080", "10.1.0.2:8080", monitor="/P/m")
    until(lambda: state(net) == "down")
    assert net.errors() == ["monitor with destination 192.0.2.9:80 or recvDisable"]
