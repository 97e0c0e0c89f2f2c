"""Choosing a member: methods, states, priority groups, persistence; what happens when it does not answer."""

from __future__ import annotations

from collections import Counter

import pytest

from mocks.bigip.dataplane.balancing import Balancer, Member
from mocks.bigip.dataplane.persistence import SourceTable, cookie_name, cookie_value, masked
from mocks.bigip.matching import Unsupported
from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net, forward, host, rule, until


def member(number: int, **fields) -> Member:
    return Member("/P/p", f"/P/10.0.0.{number}:80", f"10.0.0.{number}", 80, **fields)


def chosen(members: list[Member], times: int, *, method: str = "round-robin", **options) -> dict[int, int]:
    """How often each member was chosen, by its number."""
    balancer = Balancer()
    counts: Counter[int] = Counter()
    for _ in range(times):
        choice = balancer.choose(members, method=method, **options)
        if choice is not None:
            counts[int(choice.address.rsplit(".", 1)[1])] += 1
            balancer.opened(choice)
    return dict(counts)


@pytest.mark.parametrize(
    ("members", "options", "expected"),
    [
        pytest.param([member(1), member(2), member(3)], {}, {1: 4, 2: 4, 3: 4}, id="round-robin"),
        pytest.param([member(1), member(2, enabled=False)], {}, {1: 12}, id="disabled"),
        pytest.param([member(1, down=True), member(2)], {}, {2: 12}, id="down"),
        pytest.param([member(1, down=True)], {}, {}, id="all down"),
        pytest.param([], {}, {}, id="empty"),
        pytest.param([member(1), member(2)], {"not_these": {"/P/10.0.0.1:80"}}, {2: 12}, id="tried already"),
        pytest.param([member(1, limit=2), member(2)], {}, {1: 2, 2: 10}, id="connection limit"),
        pytest.param(
            [member(1, ratio=1), member(2, ratio=2), member(3, ratio=3)], {"method": "ratio-member"},
            {1: 2, 2: 4, 3: 6}, id="ratio",
        ),
        pytest.param([member(1, ratio=9), member(2)], {}, {1: 6, 2: 6}, id="ratio counts with its method"),
        pytest.param(
            [member(1, priority=5), member(2, priority=5), member(3)], {"least_active": 1},
            {1: 6, 2: 6}, id="priority group",
        ),
        pytest.param(
            [member(1, priority=5), member(2, priority=5, down=True), member(3)], {"least_active": 2},
            {1: 6, 3: 6}, id="too few of a group",
        ),
        pytest.param(
            [member(1, priority=5), member(3)], {}, {1: 6, 3: 6}, id="groups without minActiveMembers"
        ),
    ],
)  # fmt: skip
def test_choice(members, options, expected):
    assert chosen(members, 12, **options) == expected


def test_ratios_are_spread():
    """1:1:4 is never a row of more than three for the strongest."""
    balancer, members = Balancer(), [member(1), member(2), member(3, ratio=4)]
    order = [balancer.choose(members, method="ratio-member").address[-1] for _ in range(12)]
    assert Counter(order) == {"1": 2, "2": 2, "3": 8}
    assert "3333" not in "".join(order)


def test_least_connections():
    balancer, members = Balancer(), [member(1), member(2)]
    for busy in (members[0], members[0], members[1]):
        balancer.opened(busy)
    assert balancer.choose(members, method="least-connections-member") is members[1]
    balancer.closed(members[0])
    balancer.closed(members[0])
    assert balancer.choose(members, method="least-connections-member") is members[0]
    balancer.closed(members[1])
    assert not balancer.connections


def test_an_unknown_method_is_loud():
    with pytest.raises(Unsupported, match="fastest-node"):
        Balancer().choose([member(1)], method="fastest-node")


# -- persistence -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "port", "value"),
    [
        ("10.1.1.100", 8080, "1677787402.36895.0000"),
        ("192.0.2.1%5", 80, "rd5o00000000000000000000ffffc0000201o80"),
        ("2001:112::30", 80, "vi20010112000000000000000000000030.20480"),
        ("2001:112::30%3", 80, "rd3o20010112000000000000000000000030o80"),
    ],
)
def test_cookie_values(address, port, value):
    """K6917, as quoted in bigip-behaviour.md B11."""
    assert cookie_value(Member("/P/p", "/P/x", address, port)) == value


@pytest.mark.parametrize(
    ("pool", "configured", "name"),
    [
        ("/Common/web", "none", "BIGipServerweb"),
        ("/P/web", "none", "BIGipServer~P~web"),
        ("/P/a/web", "none", "BIGipServer~P~a~web"),
        ("/P/web", "mine", "mine"),
    ],
)
def test_cookie_names(pool, configured, name):
    assert cookie_name(pool, configured) == name


def test_source_table():
    table = SourceTable()
    table.keep("/P/v", "1.2.3.4", member(1), now=0)
    assert table.find("/P/v", "1.2.3.4", now=180, timeout_s=180) == ("/P/p", "/P/10.0.0.1:80")
    assert table.find("/P/w", "1.2.3.4", now=0, timeout_s=180) is None
    assert table.find("/P/v", "1.2.3.4", now=181, timeout_s=180) is None
    assert len(table) == 0
    assert [masked("10.1.2.3", mask) for mask in ("none", "255.255.0.0")] == ["10.1.2.3", "10.1.0.0"]


# -- through sockets -------------------------------------------------------------------------------


@pytest.fixture
def net(make_net) -> Net:
    """Three pods."""
    net = make_net()
    for number in (1, 2, 3):
        net.pod(f"10.1.0.{number}")
    return net


MEMBERS = ("10.1.0.1:8080", "10.1.0.2:8080", "10.1.0.3:8080")


def spread(net: Net, vs: str, times: int = 12) -> dict[str, int]:
    return dict(Counter(net.ask(vs).pod for _ in range(times)))


def test_round_robin_by_connection(net: Net):
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS))
    assert spread(net, vs) == {"pod-1": 4, "pod-2": 4, "pod-3": 4}


def test_ratio_member(net: Net):
    net.put("ltm/pool", "p", loadBalancingMode="ratio-member", members=[
        {"name": name, "ratio": ratio} for name, ratio in zip(MEMBERS, (1, 2, 3), strict=True)
    ])  # fmt: skip
    assert spread(net, net.virtual("v", pool="/P/p")) == {"pod-1": 2, "pod-2": 4, "pod-3": 6}


def test_least_connections_member(net: Net):
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS, loadBalancingMode="least-connections-member"))
    clients = [net.connect(vs) for _ in range(6)]
    assert Counter(client.ask().pod for client in clients) == {"pod-1": 2, "pod-2": 2, "pod-3": 2}
    for client in clients:
        if client.ask().pod == "pod-2":
            client.close()
    until(lambda: net.plane.counters()["connections"] == 4)
    assert net.ask(vs).pod == "pod-2"
    for client in clients:
        client.close()


def test_an_unknown_method_resets_and_is_recorded(net: Net):
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS, loadBalancingMode="fastest-node"))
    assert net.ask(vs).ended == RESET
    assert net.errors() == ["load-balancing method fastest-node"]


@pytest.mark.parametrize(
    "change", [{"session": "user-disabled"}, {"state": "user-down"}], ids=["disabled", "forced down"]
)
@pytest.mark.parametrize("what", ["ltm/pool/~P~p/members/~P~10.1.0.1:8080", "ltm/node/~P~10.1.0.1"])
def test_members_and_nodes_that_take_nothing_new(net: Net, change, what):
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS[:2]))
    with net.connect(vs) as client:
        before = client.ask().pod
        net.change("PATCH", what, change)
        assert spread(net, vs, 4) == {"pod-2": 4}
        assert client.ask().pod == before


def test_a_member_that_refuses_resets_without_reselection(net: Net):
    net.big.pods.stop("10.1.0.1", 8080)
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS[:2]))
    assert sorted(net.ask(vs).status for _ in range(4)) == [0, 0, 200, 200]


def test_reselect_tries(net: Net):
    net.big.pods.stop("10.1.0.1", 8080)
    net.big.pods.stop("10.1.0.2", 8080)
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS, reselectTries=2))
    assert spread(net, vs, 3) == {"pod-3": 3}


def test_a_member_that_never_answers(make_net):
    net = make_net(speed=450.0)  # 45 s are 0.1 s
    net.big.pods.silence("10.1.0.1", 8080)
    vs = net.virtual("v", pool=net.pool("p", "10.1.0.1:8080"))
    assert net.ask(vs).ended == RESET
    assert "does not answer" in net.last().outcome


def test_route_domains_and_ipv6_members(net: Net):
    net.pod("2001:db8::5", 80, name="six")
    net.big.put_object("net/route-domain", {"name": "7", "id": 7})
    vs = net.virtual("v", pool=net.pool("p", "10.1.0.1%7:8080", "2001:db8::5.80"))
    assert spread(net, vs, 4) == {"pod-1": 2, "six": 2}


@pytest.mark.parametrize(
    ("snat", "recorded"),
    [
        ({"type": "none"}, "none"),
        ({"type": "automap"}, "automap"),
        ({"type": "snat", "pool": "/P/s"}, "/P/s"),
    ],
)
def test_snat_is_recorded(net: Net, snat, recorded):
    net.put("ltm/snatpool", "s", members=["/P/10.9.9.9"])
    net.ask(net.virtual("v", pool=net.pool("p", *MEMBERS), sourceAddressTranslation=snat))
    assert net.last().snat == recorded


def test_source_address_persistence(net: Net):
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS), persist=[{"name": "source_addr"}])
    clients = {f"127.0.0.{number}": [] for number in (2, 3, 4)}
    for _ in range(3):
        for source, pods in clients.items():
            with net.connect(vs, source=source) as client:
                pods.append(client.ask().pod)
    assert [len(set(pods)) for pods in clients.values()] == [1, 1, 1]
    assert len({pods[0] for pods in clients.values()}) == 3
    net.change("PATCH", f"ltm/pool/~P~p/members/~P~{MEMBERS[0]}", {"session": "user-disabled"})
    with net.connect(vs, source="127.0.0.2") as client:
        assert client.ask().pod == clients["127.0.0.2"][0]
    net.change("PATCH", f"ltm/pool/~P~p/members/~P~{MEMBERS[0]}", {"state": "user-down"})
    with net.connect(vs, source="127.0.0.2") as client:
        assert client.ask().pod != clients["127.0.0.2"][0]


def test_cookie_persistence(net: Net):
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS), persist=[{"name": "cookie"}])
    first = net.ask(vs)
    name, _, value = first.header("Set-Cookie").partition(";")[0].partition("=")
    assert name == "BIGipServer~P~p"
    assert first.header("Set-Cookie").endswith("; path=/; Httponly")
    again = [net.ask(vs, headers=f"Cookie: x=1; {name}={value}\r\n") for _ in range(4)]
    assert {answer.pod for answer in again} == {first.pod}
    assert {answer.header("Set-Cookie") for answer in again} == {None}
    other = net.ask(vs, headers=f"Cookie: {name}=1.2.0000\r\n")
    assert other.header("Set-Cookie") is not None


def test_cookie_is_secure_over_tls_and_may_expire(net: Net):
    net.put("ltm/persistence/cookie", "c", cookieName="mine", expiration="3600")
    profiles = ["/Common/tcp", "/Common/http", net.client_ssl("front")]
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS), profiles=profiles, persist=[{"name": "/P/c"}])
    cookie = net.ask(vs, sni="front").header("Set-Cookie")
    assert cookie.startswith("mine=")
    assert cookie.endswith("; max-age=3600; path=/; Httponly; Secure")


def test_persistence_by_a_policy(net: Net):
    always = {"forward": True, "select": True, "pool": net.pool("p", *MEMBERS)}
    sticky = rule({"persist": True, "cookieInsert": True}, always, **host("sticky"))
    net.policy("pol", sticky, forward("/P/p"))
    vs = net.virtual("v", policies=["/P/pol"])
    assert net.ask(vs, host="sticky").header("Set-Cookie") is not None
    assert net.ask(vs, host="other").header("Set-Cookie") is None


def test_hsts(net: Net):
    hsts = {"mode": "enabled", "maximumAge": 60, "includeSubdomains": "enabled", "preload": "disabled"}
    net.put("ltm/profile/http", "h", hsts=hsts)
    profiles = ["/Common/tcp", "/P/h", net.client_ssl("front")]
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS), profiles=profiles)
    answer = net.ask(vs, sni="front")
    assert answer.header("Strict-Transport-Security") == "max-age=60; includeSubDomains"


# -- OneConnect ------------------------------------------------------------------------------------


def test_one_connect_balances_each_request_and_reuses_connections(net: Net):
    profiles = ["/Common/tcp", "/Common/http", "/Common/oneconnect"]
    vs = net.virtual("v", pool=net.pool("p", *MEMBERS[:2]), profiles=profiles)
    with net.connect(vs) as client:
        seen = [client.ask().seen for _ in range(6)]
    assert [request["pod"] for request in seen] == ["pod-1", "pod-2"] * 3
    assert {request["connection"] for request in seen} == {1}
    with net.connect(vs) as client:
        assert client.ask().seen["request"] == 4
    until(lambda: net.plane.counters()["idle server connections"] == 2)


def test_one_connect_shares_connections_of_a_member_between_pools(net: Net):
    """By member, not by pool: what docs/assumptions.md warns of."""
    net.pool("p", MEMBERS[0])
    net.pool("q", MEMBERS[0])
    profiles = ["/Common/tcp", "/Common/http", "/Common/oneconnect"]
    policy = net.policy("pol", forward("/P/q", **host("q")))
    vs = net.virtual("v", pool="/P/p", policies=[policy], profiles=profiles)
    assert [net.ask(vs, host=name).seen["request"] for name in ("p", "q", "p")] == [1, 2, 3]
    assert [entry.pool for entry in net.plane.log] == ["/P/p", "/P/q", "/P/p"]


def test_an_idle_connection_that_the_pod_closed_is_not_used(net: Net):
    profiles = ["/Common/tcp", "/Common/http", "/Common/oneconnect"]
    vs = net.virtual("v", pool=net.pool("p", MEMBERS[0]), profiles=profiles)
    net.ask(vs)
    net.pod("10.1.0.1", name="newer")
    assert net.ask(vs).pod == "newer"
