"""iRules in the real Tcl engine: events in their order, commands on requests and pools, changes."""

from __future__ import annotations

import pytest

from tests.builders import identity
from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net, forward, host, rule, until
from tests.mocks.bigip.dataplane.irules.conftest import logged, with_rule

EVENTS = (
    "CLIENT_ACCEPTED", "CLIENTSSL_CLIENTHELLO", "CLIENTSSL_HANDSHAKE", "HTTP_REQUEST", "LB_SELECTED",
    "LB_FAILED", "SERVER_CONNECTED", "HTTP_RESPONSE", "CLIENT_CLOSED",
)  # fmt: skip


def test_order_of_events(net: Net):
    text = "".join(f"when {event} {{ log local0. {event} }}\n" for event in EVENTS)
    vs = with_rule(net, text, tls=True)
    with net.connect(vs, sni="a") as client:
        client.ask()
        client.ask()
    until(lambda: logged(net)[-1:] == ["CLIENT_CLOSED"])
    assert logged(net) == [
        "CLIENT_ACCEPTED", "CLIENTSSL_CLIENTHELLO", "CLIENTSSL_HANDSHAKE",
        "HTTP_REQUEST", "LB_SELECTED", "SERVER_CONNECTED", "HTTP_RESPONSE",
        "HTTP_REQUEST", "HTTP_RESPONSE", "CLIENT_CLOSED",
    ]  # fmt: skip


def test_rules_run_in_their_order_and_share_variables(net: Net):
    first = "when HTTP_REQUEST priority 600 { append seen b; HTTP::header insert X-Seen $seen }"
    second = "when CLIENT_ACCEPTED { set seen {} }\nwhen HTTP_REQUEST { append seen a }"
    vs = with_rule(net, first, second)
    with net.connect(vs) as client:
        values = [dict(client.ask().seen["headers"])["X-Seen"] for _ in range(2)]
    assert values == ["ab", "abab"]


VALUES = [
    ("HTTP::host", "a.example:81"),
    ("HTTP::uri", "/p/q?x=1&y"),
    ("HTTP::path", "/p/q"),
    ("HTTP::query", "x=1&y"),
    ("HTTP::method", "PUT"),
    ("HTTP::version", "1.1"),
    ("HTTP::header X-Two", "2"),
    ("HTTP::header value x-two", "2"),
    ("HTTP::header values X-Two", "{1} {2}"),
    ("HTTP::header count X-Two", "2"),
    ("HTTP::header exists X-No", "0"),
    ("HTTP::header X-No", ""),
    ("HTTP::header at 0", "Host"),
    ("HTTP::cookie b", "c=d"),
    ("HTTP::cookie exists z", "0"),
    ("HTTP::has_responded", "0"),
    ("IP::client_addr", "127.0.0.3"),
    ("IP::local_addr", "10.9.0."),
    ("TCP::local_port", "80"),
    ("virtual name", "/P/v"),
    ("virtual", "/P/v"),
    ("LB::server pool", "/P/one"),
    ("LB::server priority", "0"),
    ("active_members /P/one", "1"),
    ("active_members /P/none", "0"),
    ("getfield [HTTP::host] : 2", "81"),
]


@pytest.mark.parametrize(("command", "value"), VALUES, ids=[command for command, _ in VALUES])
def test_what_a_request_tells(net: Net, command, value):
    vs = with_rule(net, f"when HTTP_REQUEST {{ HTTP::header insert X-Got <[{command}]> }}")
    headers = "X-Two: 1\r\nX-Two: 2\r\nCookie: a=1; b=c=d\r\n"
    with net.connect(vs, source="127.0.0.3") as client:
        seen = client.ask("/p/q?x=1&y", host="a.example:81", method="PUT", headers=headers).seen
    got = dict(seen["headers"])["X-Got"]
    assert got.startswith(f"<{value}") if value.endswith((".", "/P/v")) else got == f"<{value}>"


@pytest.mark.parametrize(
    ("command", "target", "headers"),
    [
        ("HTTP::uri /n?m", "/n?m", {"Host": "a"}),
        ("HTTP::path /n", "/n?q", {"Host": "a"}),
        ("HTTP::query z", "/p?z", {"Host": "a"}),
        ("HTTP::query {}", "/p", {"Host": "a"}),
        ("set uri [HTTP::uri]; HTTP::uri /n?; HTTP::path /m; HTTP::uri [HTTP::uri]", "/m?", {"Host": "a"}),
        ("HTTP::host b", "/p?q", {"Host": "b"}),
        ("HTTP::header insert A 1 B 2", "/p?q", {"Host": "a", "A": "1", "B": "2"}),
        ("HTTP::header replace Host c", "/p?q", {"Host": "c"}),
        ("HTTP::header remove host", "/p?q", {}),
    ],
)
def test_changes_of_a_request(net: Net, command, target, headers):
    vs = with_rule(net, f"when HTTP_REQUEST {{ {command} }}")
    seen = net.ask(vs, "/p?q", host="a").seen
    assert (seen["target"], dict(seen["headers"])) == (target, headers)


@pytest.mark.parametrize(
    ("command", "status", "headers", "body"),
    [
        ("HTTP::respond 503 content {no luck} Retry-After 3", 503, {"Retry-After": "3", "Server": "BigIP"},
         "no luck"),
        ("HTTP::respond 200 -version 1.1 noserver", 200, {"Content-Length": "0", "Connection": "Keep-Alive"},
         ""),
        ("HTTP::respond 301 Location https://x/ Server mine", 301,
         {"Location": "https://x/", "Server": "mine"}, ""),
        ("HTTP::redirect https://x/[HTTP::host]", 302, {"Location": "https://x/a.example"}, ""),
    ],
)  # fmt: skip
def test_answers_of_an_irule(net: Net, command, status, headers, body):
    vs = with_rule(net, f"when HTTP_REQUEST {{ {command} }}")
    with net.connect(vs) as client:
        for _ in range(2):
            answer = client.ask(method="POST", body=b"ignored")
            assert (answer.status, answer.body.decode()) == (status, body)
            assert headers.items() <= dict(answer.headers).items()
    assert net.last().status == status


def test_an_answer_to_a_request_that_waits_to_send_its_body(net: Net):
    """The client may or may not send the body now: nobody knows what its next bytes are."""
    vs = with_rule(net, "when HTTP_REQUEST { HTTP::respond 417 }")
    with net.connect(vs) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n")
        assert client.answer().status == 417
        assert client.rest() == (b"", "end")


def test_an_answer_that_closes(net: Net):
    vs = with_rule(net, "when HTTP_REQUEST { HTTP::respond 503 content x Connection close }")
    with net.connect(vs) as client:
        assert client.ask().status == 503
        assert client.rest() == (b"", "end")


POOL_TWO = 'when HTTP_REQUEST { if { [HTTP::path] eq "/2" } { pool two } }'
AGAIN = "when HTTP_REQUEST { LB::detach }"
"""Balances every request."""


def test_pool_stays_for_the_connection(net: Net):
    """iRules 101 #05: the pool that was selected becomes the connection's default."""
    vs = with_rule(net, AGAIN, POOL_TWO)
    with net.connect(vs) as client:
        assert [client.ask(target).pod for target in ("/1", "/2", "/1")] == ["one", "two", "two"]
    assert net.ask(vs, "/1").pod == "one"


def test_pool_beats_the_policy_of_its_request(net: Net):
    """bigip-behaviour.md B11; at the next request the policy selects again."""
    vs = with_rule(net, AGAIN, POOL_TWO, policies=[net.policy("p1", forward("/P/one"))])
    with net.connect(vs) as client:
        assert [client.ask(target).pod for target in ("/1", "/2", "/1")] == ["one", "two", "one"]


def test_pool_of_client_accepted_is_a_default(net: Net):
    policy = net.policy("p2", forward("/P/one", **host("a")))
    vs = with_rule(net, AGAIN, "when CLIENT_ACCEPTED { pool two }", policies=[policy], pool="/P/none")
    with net.connect(vs) as client:
        assert [client.ask(host=name).pod for name in ("a", "b")] == ["one", "two"]


def test_pool_with_a_member(net: Net):
    net.pool("both", "10.1.0.1:8080", "10.1.0.2:8080")
    vs = with_rule(net, "when HTTP_REQUEST { pool both member 10.1.0.2 8080 }")
    assert [net.ask(vs).pod for _ in range(3)] == ["two"] * 3


@pytest.mark.parametrize("words", ["10.1.0.2 8080", "10.1.0.2:8080"])
def test_node(net: Net, words):
    text = f"when HTTP_REQUEST {{ if {{ [HTTP::path] eq {{/node}} }} {{ node {words} }} }}"
    vs = with_rule(net, AGAIN, text)
    with net.connect(vs) as client:
        assert [client.ask(target).pod for target in ("/", "/node", "/")] == ["one", "two", "one"]
    assert [(entry.pool, entry.member) for entry in list(net.plane.log)[-2:]] == [
        ("", "10.1.0.2:8080"), ("/P/one", "10.1.0.1:8080"),
    ]  # fmt: skip


def test_the_path_of_an_absolute_form(net: Net):
    vs = with_rule(net, "when HTTP_REQUEST { HTTP::header insert X-Got [HTTP::path]:[HTTP::uri] }")
    with net.connect(vs) as client:
        client.send(b"GET http://b.example/x?y HTTP/1.1\r\nHost: a\r\n\r\n")
        assert dict(client.answer().seen["headers"])["X-Got"] == "/x:http://b.example/x?y"


PAGE = """
when HTTP_REQUEST {
    if { ![HTTP::has_responded] && [LB::server pool] eq "" } { HTTP::respond 503 content "no route" }
}
when LB_FAILED {
    HTTP::respond 503 content "no pod" Connection close
}
"""


@pytest.mark.parametrize(
    ("name", "status", "body"),
    [
        pytest.param("served", 200, None, id="served"),
        pytest.param("unknown", 503, b"no route", id="no rule, no pool"),
        pytest.param("empty", 503, b"no pod", id="pool without members"),
        pytest.param("gone", 503, b"no pod", id="member refuses"),
        pytest.param("moved", 302, b"", id="redirected by the policy"),
    ],
)
def test_a_page_instead_of_a_reset(net: Net, name, status, body):
    number = net.store.next_number("test page")
    net.pool(f"gone{number}", "10.1.0.77:8080")
    policy = net.policy(
        f"page{number}",
        forward("/P/one", **host("served")),
        forward("/P/none", **host("empty")),
        forward(f"/P/gone{number}", **host("gone")),
        rule({"httpReply": True, "redirect": True, "location": "https://x/"}, **host("moved")),
    )
    vs = with_rule(net, PAGE, policies=[policy], pool=None)
    answer = net.ask(vs, host=name)
    assert (answer.status, body is None or answer.body == body) == (status, True)


def test_a_page_while_the_client_still_sends(net: Net):
    """The page arrives although most of the body was not read."""
    vs = with_rule(net, PAGE, pool="/P/none")
    with net.connect(vs) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n" + b"x" * 400_000)
        answer = client.answer()
        assert (answer.status, answer.body) == (503, b"no pod")
        client.send(b"x" * 500_000)
        assert client.rest() == (b"", "end")


def test_a_page_for_one_request_of_many(net: Net):
    policy = net.policy("page", forward("/P/one", **host("a")))
    vs = with_rule(net, PAGE, policies=[policy], pool=None)
    with net.connect(vs) as client:
        assert [client.ask(host=name).status for name in ("a", "b", "a")] == [200, 503, 200]


def test_without_a_rule_for_it_lb_failed_resets(net: Net):
    vs = with_rule(net, "when LB_FAILED { log local0. failed }", pool="/P/none")
    assert net.ask(vs).ended == RESET
    assert logged(net) == ["failed"]


def test_reselect(net: Net):
    text = """when CLIENT_ACCEPTED { set tries 0 }
    when LB_FAILED { if { [incr tries] < 3 } { LB::reselect pool two } }"""
    vs = with_rule(net, text, pool="/P/none")
    assert net.ask(vs).pod == "two"


def test_reselect_without_end(net: Net):
    vs = with_rule(net, "when LB_FAILED { LB::reselect }", pool="/P/none")
    assert net.ask(vs).ended == RESET
    assert net.last().outcome == "reset: LB::reselect without end"


@pytest.mark.parametrize("command", ["reject", "drop", "discard"])
@pytest.mark.parametrize("event", ["CLIENT_ACCEPTED", "HTTP_REQUEST", "LB_SELECTED", "SERVER_CONNECTED"])
def test_rejections(net: Net, command, event):
    vs = with_rule(net, f"when {event} {{ {command} }}")
    assert net.ask(vs).ended == RESET


def test_http_response(net: Net):
    text = """when HTTP_RESPONSE {
        HTTP::header insert X-Status [HTTP::status]
        HTTP::header replace Content-Type text/x
        HTTP::header insert X-From [IP::server_addr]:[TCP::server_port]
    }"""
    answer = net.ask(with_rule(net, text), "/?status=404")
    assert answer.header("X-Status") == "404"
    assert (answer.header("Content-Type"), answer.header("X-From")) == ("text/x", "10.1.0.1:8080")


def test_a_response_is_replaced(net: Net):
    text = "when HTTP_RESPONSE { if { [HTTP::status] == 404 } { HTTP::redirect https://x/ } }"
    assert net.ask(with_rule(net, text), "/?status=404").status == 302


def test_a_redirect_of_the_policy_and_http_request(make_net):
    """The event runs, and sees that the request was answered; a quirk leaves it out."""
    for quirks, seen in ((), ["1"]), (("reply-skips-http-request",), []):
        net = make_net(quirks=quirks)
        text = net.rule("r", "when HTTP_REQUEST { log local0. [HTTP::has_responded] }")
        policy = net.policy("p", rule({"httpReply": True, "redirect": True, "location": "https://x/"}))
        vs = net.virtual("v", rules=[text], policies=[policy])
        assert net.ask(vs).status == 302
        assert logged(net) == seen



# -- changes ---------------------------------------------------------------------------------------


def test_a_changed_rule_counts_for_new_connections(net: Net):
    vs = with_rule(net, "when HTTP_REQUEST { HTTP::respond 501 }")
    with net.connect(vs) as client:
        assert client.ask().status == 501
        path = net.big.get(f"ltm/virtual/{vs.replace('/', '~')}")["rules"][0]
        body = {"apiAnonymous": "when HTTP_REQUEST { HTTP::respond 502 }"}
        net.change("PATCH", f"ltm/rule/{path.replace('/', '~')}", body)
        assert client.ask().status == 501
    assert net.ask(vs).status == 502


@pytest.mark.parametrize("quirks", [(), ("server-ssl-live",)])
def test_a_server_ssl_profile_counts_for_new_connections(make_net, quirks):
    """Or for all new connections towards a server: a rule has to be right either way."""
    net = make_net(quirks=quirks)
    pair = identity("pod.example")
    net.pod("10.1.0.1", name="one")
    net.pod("10.1.0.9", 443, name="tls", tls=(pair.certificate.encode(), pair.key.encode()))
    net.pool("one", "10.1.0.1:8080")
    net.pool("tls", "10.1.0.9:443")
    policy = net.policy("p", forward("/P/one", **host("a")), forward("/P/tls", **host("b")))
    vs = with_rule(net, "when HTTP_REQUEST { LB::detach }", policies=[policy])
    with net.connect(vs) as client:
        assert client.ask(host="a").status == 200
        net.change("POST", f"ltm/virtual/{vs.replace('/', '~')}/profiles",
                   {"name": "/Common/serverssl", "context": "serverside"})
        assert (client.ask(host="b").status == 200) == bool(quirks)
    assert net.ask(vs, host="b").status == 200


def test_a_data_group_counts_at_once(net: Net):
    records = [{"name": "a", "data": "1"}]
    net.put("ltm/data-group/internal", "g", type="string", records=records)
    text = "when HTTP_REQUEST { HTTP::header insert X-Got <[class match -value [HTTP::host] equals /P/g]> }"
    with net.connect(with_rule(net, text)) as client:
        got = [dict(client.ask(host="a").seen["headers"])["X-Got"]]
        net.change("PATCH", "ltm/data-group/internal/~P~g", {"records": [{"name": "a", "data": "2"}]})
        got.append(dict(client.ask(host="a").seen["headers"])["X-Got"])
    assert got == ["<1>", "<2>"]


def test_tcl_connections_are_closed(net: Net):
    vs = with_rule(net, "when CLIENT_ACCEPTED { set big [string repeat x 100000] }")
    for _ in range(20):
        net.ask(vs)
    net.quiet()
    assert net.plane.counters()["rules"] == 0
