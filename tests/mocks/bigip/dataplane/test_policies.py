"""LTM policies on real requests; traffic.decide and its table are in test_traffic.py."""

from __future__ import annotations

import threading

import pytest

from mocks.bigip.traffic import Request, decide
from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net, forward, host, rule, until


@pytest.fixture
def net(make_net) -> Net:
    """Pods one, two and other, each with a pool of its name."""
    net = make_net()
    for number, name in enumerate(("one", "two", "other"), 1):
        net.pod(f"10.1.0.{number}", name=name, namespace=name)
        net.pool(name, f"10.1.0.{number}:8080")
    return net


def on_virtual(net: Net, *rules: dict, strategy: str = "first-match", **fields) -> str:
    return net.virtual("v", policies=[net.policy("pol", *rules, strategy=strategy)], **fields)


def again(net: Net) -> dict[str, list[str]]:
    """Profiles that make a virtual server balance every request."""
    return {"rules": [net.rule("again", "when HTTP_REQUEST { LB::detach }")]}


def path(value: str, operator: str = "startsWith") -> dict:
    return {"httpUri": True, "path": True, operator: True, "values": [value]}


def test_forward_by_host_and_the_pool_of_the_virtual_server(net: Net):
    vs = on_virtual(net, forward("/P/one", **host("a.example")), pool="/P/other")
    assert [net.ask(vs, host=name).pod for name in ("a.example", "A.EXAMPLE:80", "b")] == [
        "one", "one", "other",
    ]  # fmt: skip
    assert net.plane.log[0].rule == "/P/pol r0"


def test_first_match_goes_by_ordinal(net: Net):
    late, early = forward("/P/one"), forward("/P/two")
    vs = on_virtual(net, {**late, "ordinal": 9}, {**early, "ordinal": 2})
    assert net.ask(vs).pod == "two"


def test_best_match(net: Net):
    both = {**forward("/P/two"), "conditions": [{"name": "0", **host("a")}, {"name": "1", **path("/x")}]}
    vs = on_virtual(net, forward("/P/one", **host("a")), both, strategy="best-match")
    assert [net.ask(vs, target, host="a").pod for target in ("/x", "/y")] == ["two", "one"]


@pytest.mark.parametrize("pool", [{}, {"pool": "/P/none"}], ids=["no pool", "a pool without members"])
def test_nobody_to_ask(net: Net, pool):
    net.pool("none")
    vs = net.virtual("v", **pool)
    assert net.ask(vs).ended == RESET
    assert net.last().outcome in ("reset: no pool", "reset: no member available")
    profiles = ["/Common/tcp", "/Common/http", net.client_ssl("front")]
    assert net.ask(net.virtual("w", profiles=profiles, **pool), sni="a.example").ended == RESET


def test_reset(net: Net):
    vs = on_virtual(net, rule({"forward": True, "reset": True}, **host("a")), pool="/P/one")
    assert (net.ask(vs, host="a").ended, net.ask(vs, host="b").pod) == (RESET, "one")


@pytest.mark.parametrize(
    ("action", "status", "location"),
    [
        ({"location": "https://b.example/x"}, 302, "https://b.example/x"),
        ({"location": "tcl:https://[HTTP::host][HTTP::uri]"}, 302, "https://a.example/p?q=1"),
        ({"location": "https://b/", "code": 301}, 301, "https://b/"),
        (
            {"location": "tcl:https://[string map {a z} [HTTP::host]]/[string length [HTTP::path]]"},
            302,
            "https://z.exzmple/2",
        ),
        (
            {"location": "tcl:https://[getfield [HTTP::host] \":\" 1]:8443[HTTP::uri]"},
            302,
            "https://a.example:8443/p?q=1",
        ),
    ],
)
def test_redirect(net: Net, action, status, location):
    vs = on_virtual(net, rule({"httpReply": True, "redirect": True, **action}))
    with net.connect(vs) as client:
        for _ in range(2):
            answer = client.ask("/p?q=1")
            assert (answer.status, answer.header("Location")) == (status, location)
        assert (answer.version, answer.header("Server")) == ("HTTP/1.0", "BigIP")
    assert net.last().outcome == "redirected"
    assert net.errors() == []


@pytest.mark.parametrize("target", ["/", "/?", "/?q", "/p?", "/p??", "/p?q=1&", "/a%3F"])
def test_a_redirect_keeps_the_target(net: Net, target):
    """A question mark with nothing behind it too; both ways of evaluating a location, and the plain judge."""
    locations = ("tcl:https://[HTTP::host][HTTP::uri]", "tcl:https://[string map {} [HTTP::host]][HTTP::uri]")
    rules = [rule({"httpReply": True, "redirect": True, "location": location}, **host(name))
             for name, location in zip(("a", "b"), locations, strict=True)]
    vs = on_virtual(net, *rules)
    for name in ("a", "b"):
        assert net.ask(vs, target, host=name).header("Location") == f"https://{name}{target}"
    path, mark, query = target.partition("?")
    said = decide(net.store, vs, Request("a", path, query=query if mark else None))
    assert said.location == f"https://a{target}"


@pytest.mark.parametrize(
    ("action", "target"),
    [({"path": "/n"}, "/n?"), ({"queryString": "q"}, "/?q"), ({"queryString": ""}, "/")],
)
def test_rewriting_keeps_the_question_mark(net: Net, action, target):
    """Unless the query itself is rewritten."""
    vs = on_virtual(net, rule({"httpUri": True, "replace": True, **action}), pool="/P/one")
    assert net.ask(vs, "/?").seen["target"] == target


def test_a_redirect_skips_the_body(net: Net):
    vs = on_virtual(net, rule({"httpReply": True, "redirect": True, "location": "https://b/"}))
    with net.connect(vs) as client:
        assert client.ask(method="POST", body=b"GET /smuggled HTTP/1.1\r\n\r\n").status == 302
        assert client.ask(method="POST", body=b"x" * 200_000).status == 302
    assert len(net.plane.log) == 2


@pytest.mark.parametrize(
    ("action", "target", "headers"),
    [
        pytest.param(
            {"httpHeader": True, "insert": True, "tmName": "X-A", "value": "1"},
            "/p?q", [["Host", "a"], ["X-A", "0"], ["X-A", "1"]], id="insert",
        ),
        pytest.param(
            {"httpHeader": True, "replace": True, "tmName": "x-a", "value": "tcl:[HTTP::path]"},
            "/p?q", [["Host", "a"], ["X-A", "/p"]], id="replace",
        ),
        pytest.param(
            {"httpHeader": True, "remove": True, "tmName": "X-A"}, "/p?q", [["Host", "a"]], id="remove"
        ),
        pytest.param(
            {"httpHost": True, "replace": True, "value": "inner"},
            "/p?q", [["Host", "inner"], ["X-A", "0"]], id="host",
        ),
        pytest.param(
            {"httpUri": True, "replace": True, "path": "/new"},
            "/new?q", [["Host", "a"], ["X-A", "0"]], id="path",
        ),
        pytest.param(
            {"httpUri": True, "replace": True, "value": "/x?y"},
            "/x?y", [["Host", "a"], ["X-A", "0"]], id="whole URI",
        ),
    ],
)  # fmt: skip
def test_changes_of_the_request(net: Net, action, target, headers):
    vs = on_virtual(net, rule(action, {"forward": True, "select": True, "pool": "/P/one"}))
    seen = net.ask(vs, "/p?q", host="a", headers="X-A: 0\r\n").seen
    assert (seen["target"], seen["headers"]) == (target, headers)


def test_changes_of_the_response(net: Net):
    action = {"httpHeader": True, "insert": True, "response": True, "tmName": "X-Served", "value": "yes"}
    vs = on_virtual(net, rule(action, {"forward": True, "select": True, "pool": "/P/one"}))
    assert net.ask(vs).header("X-Served") == "yes"


def test_server_ssl_off_by_a_policy(net: Net):
    action = {"serverSsl": True, "disable": True}
    profiles = ["/Common/tcp", "/Common/http", "/Common/serverssl"]
    plain = rule(action, {"forward": True, "select": True, "pool": "/P/one"}, **host("plain"))
    vs = on_virtual(net, plain, profiles=profiles, pool="/P/two")
    assert (net.ask(vs, host="plain").pod, net.ask(vs, host="tls").ended) == ("one", RESET)


def test_log(net: Net):
    action = {"log": True, "write": True, "message": "tcl:host [HTTP::host]"}
    net.ask(on_virtual(net, rule(action), pool="/P/one"))
    assert net.store.irule_log == ["host a.example"]


UNKNOWN = [
    pytest.param(rule({"asm": True, "disable": True}), "action of /P/pol r0", id="action"),
    pytest.param(
        rule({"forward": True, "select": True, "node": "10.1.0.1"}), "forward without pool", id="forward"
    ),
    pytest.param(
        forward("/P/one", httpCookie=True, tmName="x", values=["1"]), "operand httpCookie all", id="operand"
    ),
    pytest.param(
        rule({"forward": True, "select": True, "pool": "/P/one", "clientAccepted": True}),
        "event of an action", id="event of an action",
    ),
    pytest.param(
        forward("/P/one", httpHeader=True, tmName="X", response=True, values=["1"]),
        "event of a condition on httpHeader", id="event of a condition",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("unknown", "message"), UNKNOWN)
def test_what_is_not_known_is_loud(net: Net, unknown, message):
    net.put("ltm/policy", "pol", strategy="first-match", legacy=True, rules=[{"name": "r0", **unknown}])
    vs = net.virtual("v", policies=["/P/pol"])
    assert net.ask(vs).ended == RESET
    assert message in net.errors()[0]


def test_the_absolute_form_goes_by_its_path(net: Net):
    vs = on_virtual(net, forward("/P/one", **path("/x")), pool="/P/other")
    with net.connect(vs) as client:
        client.send(b"GET http://b.example/x/y HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.answer().pod == "one"


def test_the_last_of_two_hosts_counts(net: Net):
    vs = on_virtual(net, forward("/P/one", **host("b")), pool="/P/other")
    with net.connect(vs) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert client.answer().pod == "one"


@pytest.mark.parametrize("target", ["/x%2fy", "/x//y", "/x/../y", "/%78"])
def test_paths_are_compared_as_they_are(net: Net, target):
    vs = on_virtual(net, forward("/P/one", **path(target, "equals")), pool="/P/other")
    assert [net.ask(vs, path).pod for path in (target, "/x", "/y")] == ["one", "other", "other"]


# -- changes while connections are open ------------------------------------------------------------


def test_a_changed_policy_counts_for_the_next_request(net: Net):
    vs = on_virtual(net, forward("/P/one"), **again(net))
    with net.connect(vs) as client:
        assert client.ask().pod == "one"
        net.change("PATCH", "ltm/policy/~P~pol/rules/r0/actions/0", {"pool": "/P/two"})
        assert client.ask().pod == "two"
        net.change("DELETE", "ltm/virtual/~P~v/policies/~P~pol")
        assert client.ask().ended == RESET


def test_a_published_draft_counts_for_the_next_request(net: Net):
    body = {"name": "/P/Drafts/p", "strategy": "first-match", "rules": [{"name": "r", **forward("/P/one")}]}
    net.big.put_object("ltm/policy", body)
    publish = {"command": "publish", "name": "/P/Drafts/p"}
    net.change("POST", "ltm/policy", publish)
    vs = net.virtual("v", policies=["/P/p"], **again(net))
    with net.connect(vs) as client:
        assert client.ask().pod == "one"
        net.change("PATCH", "ltm/policy/~P~p", {"createDraft": True})
        net.change("PATCH", "ltm/policy/~P~Drafts~p/rules/r/actions/0", {"pool": "/P/two"})
        assert client.ask().pod == "one"
        net.change("POST", "ltm/policy", publish)
        assert client.ask().pod == "two"


ONE_CONNECT = {"profiles": ["/Common/tcp", "/Common/http", "/Common/oneconnect"]}


@pytest.mark.parametrize(("quirks", "how", "pods", "connections"), [
    pytest.param((), {}, "one one one one", [1, 1, 1, 1], id="the first server stays"),
    pytest.param(("pool-switches-server",), {}, "one one two one", [1, 1, 1, 2], id="quirk"),
    pytest.param((), ONE_CONNECT, "one one two one", [1, 1, 1, 1], id="OneConnect"),
])  # fmt: skip
def test_another_pool_on_one_connection(make_net, quirks, how, pods, connections):
    """DevCentral 276984: connections are balanced, not requests, except with OneConnect."""
    net = pair(make_net, quirks)
    vs = on_virtual(net, forward("/P/one", **host("a")), forward("/P/two", **host("b")), **how)
    with net.connect(vs) as client:
        seen = [client.ask(host=name).seen for name in ("a", "a", "b", "a")]
        assert [request["pod"] for request in seen] == pods.split()
        assert [request["connection"] for request in seen] == connections
        until(lambda: net.plane.counters()["server connections"] == (2 if how else 1))


@pytest.mark.parametrize("quirks", [(), ("detach-forgets-pool",)])
@pytest.mark.parametrize(("text", "second"), [
    pytest.param("LB::detach", "two", id="detach"),
    pytest.param("LB::detach; pool /P/other", "other", id="detach, then a pool"),
    pytest.param("pool /P/other", "one", id="a pool alone"),
    pytest.param("node 10.1.0.3 8080", "one", id="a node alone"),
])  # fmt: skip
def test_detach(make_net, quirks, text, second):
    """clouddocs, LB::detach: the server side is given up, and the request is balanced."""
    net = pair(make_net, quirks)
    net.pod("10.1.0.3", name="other")
    net.pool("other", "10.1.0.3:8080")
    text = f"when HTTP_REQUEST {{ if {{ [HTTP::host] eq {{b}} }} {{ {text} }} }}"
    vs = on_virtual(net, forward("/P/one", **host("a")), forward("/P/two", **host("b")), pool="/P/one",
                    rules=[net.rule("r", text)])
    if quirks and text.endswith("{ LB::detach } }"):
        second = "one"
    with net.connect(vs) as client:
        assert [client.ask(host=name).pod for name in ("a", "b", "b")] == ["one", second, second]


def pair(make_net, quirks=()) -> Net:
    """Pods one and two, each with a pool of its name."""
    net = make_net(quirks=set(quirks))
    for number, name in enumerate(("one", "two"), 1):
        net.pod(f"10.1.0.{number}", name=name)
        net.pool(name, f"10.1.0.{number}:8080")
    return net


def test_a_pool_that_loses_its_member_keeps_connections(net: Net):
    vs = on_virtual(net, forward("/P/one"))
    with net.connect(vs) as client:
        client.ask()
        net.change("PATCH", "ltm/pool/~P~one", {"members": ["10.1.0.2:8080"]})
        assert client.ask().pod == "one"
    assert net.ask(vs).pod == "two"


@pytest.mark.parametrize("quirks", [(), ("policy-pool-stays",)])
def test_quirk_policy_pool_stays(make_net, quirks):
    net = make_net(quirks=quirks)
    net.pod("10.1.0.1", name="one")
    vs = on_virtual(net, forward(net.pool("one", "10.1.0.1:8080"), **host("a")), **again(net))
    with net.connect(vs) as client:
        client.ask(host="a")
        assert client.ask(host="b").status == (200 if quirks else 0)


def test_no_request_sees_half_of_a_write(net: Net):
    """Host and pool of a Rule change together, again and again: no request gets the other's pod."""
    vs = on_virtual(net, forward("/P/one", **host("x")), forward("/P/two", **host("y")), **again(net))
    stop = threading.Event()
    policy = "ltm/policy/~P~pol"

    def swap() -> None:
        names = ("x", "y")
        while not stop.is_set():
            names = names[::-1]
            pools = {"x": "/P/one", "y": "/P/two"}
            rules = [
                {"name": f"r{at}", "ordinal": at, **forward(pools[name], **host(name))}
                for at, name in enumerate(names)
            ]
            net.change("PATCH", policy, {"rules": rules})

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        with net.connect(vs) as client:
            for _ in range(60):
                assert (client.ask(host="x").pod, client.ask(host="y").pod) == ("one", "two")
    finally:
        stop.set()
        thread.join()


def test_decide_and_traffic_agree(net: Net):
    """One evaluation: what decide says is where a request goes."""
    rules = [
        forward("/P/one", **host("a", "b")),
        forward("/P/two", **path("/t")),
        rule({"httpReply": True, "redirect": True, "location": "https://x/"}, **host("r")),
    ]
    vs = on_virtual(net, *rules, pool="/P/other")
    for name in ("a", "b", "r", "c"):
        for target in ("/", "/t"):
            said, answer = decide(net.store, vs, Request(name, target)), net.ask(vs, target, host=name)
            assert said.kind == ("redirect" if answer.status == 302 else "pool")
            assert said.pool == (None if answer.status == 302 else f"/P/{answer.pod}")


def test_five_thousand_rules_are_found_by_host(net: Net):
    """Candidates of a request are the Rules of its Host and those without one."""
    rules = [forward("/P/one", **host(f"h{number}.example")) for number in range(500)]
    vs = on_virtual(net, *rules, forward("/P/other", **path("/any")))
    assert net.ask(vs, host="H77.example").pod == "one"
    compiled = net.store.kept["policies"]["/P/pol"]
    candidates = list(compiled.candidates(net.store, Request("h77.example")))
    assert [candidate.name for candidate in candidates] == ["r77", "r500"]
    net.change("PATCH", "ltm/policy/~P~pol/rules/r3/actions/0", {"pool": "/P/two"})
    assert net.ask(vs, host="h3.example").pod == "two"
    again = net.store.kept["policies"]["/P/pol"]
    kept = [name for name, kept in again.rules.items() if kept is compiled.rules[name]]
    assert len(kept) == 500
