"""iRules in the real Tcl engine: events in their order, commands, errors, what they may not do."""

from __future__ import annotations

import pytest

from tests.builders import identity
from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net, forward, host, rule, until
from tests.unit.desired.irules.hello import hello

EVENTS = (
    "CLIENT_ACCEPTED", "CLIENTSSL_CLIENTHELLO", "CLIENTSSL_HANDSHAKE", "HTTP_REQUEST", "LB_SELECTED",
    "LB_FAILED", "SERVER_CONNECTED", "HTTP_RESPONSE", "CLIENT_CLOSED",
)  # fmt: skip


@pytest.fixture(scope="module")
def shared():
    net = Net()
    for number, name in enumerate(("one", "two"), 1):
        net.pod(f"10.1.0.{number}", name=name)
        net.pool(name, f"10.1.0.{number}:8080")
    net.pool("none")
    pair = identity("pod.example")
    net.pod("10.1.0.9", 443, name="tls", tls=(pair.certificate.encode(), pair.key.encode()))
    net.pool("tls", "10.1.0.9:443")
    net.front = net.client_ssl("front")
    yield net
    net.close()


@pytest.fixture
def net(shared: Net):
    shared.big.errors.clear()
    shared.store.irule_log.clear()
    yield shared
    assert shared.errors() == []
    shared.quiet()


def with_rule(net: Net, *texts: str, tls: bool = False, more: tuple[str, ...] = (), **fields) -> str:
    """A virtual server with these iRules, pool one unless told otherwise."""
    number = net.store.next_number("test rule")
    rules = [net.rule(f"r{number}-{at}", text) for at, text in enumerate(texts)]
    profiles = ["/Common/tcp", "/Common/http", *([net.front] if tls else []), *more]
    fields = {"pool": "/P/one", "profiles": profiles, **fields}
    return net.virtual(f"v{number}", rules=rules, **fields)


def logged(net: Net) -> list[str]:
    return [line.removeprefix("local0.info ") for line in net.store.irule_log]


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


# -- errors ----------------------------------------------------------------------------------------

ERRORS = [
    pytest.param("set x $y", 'can\'t read "y": no such variable', id="variable"),
    pytest.param("HTTP::respond 503; HTTP::respond 503", "Multiple redirect/respond", id="two answers"),
    pytest.param("TCP::collect", "Can't execute in the current context", id="context"),
    pytest.param("pool nowhere", "no such pool: nowhere", id="pool"),
    pytest.param("persist ssl", "the fake does not know persist ssl", id="form of a command"),
    pytest.param("while 1 { incr i }", "too many", id="runs away"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_an_error_resets_and_is_recorded(net: Net, text, message):
    if message == "too many":
        net.plane.interpreter().limit_s = 0.2
        message = "r"
    vs = with_rule(net, f"when HTTP_REQUEST {{ {text} }}", more=())
    answer = net.ask(vs)
    net.plane.interpreter().limit_s = 2.0
    assert answer.ended == RESET
    (error,) = net.errors()
    assert message in error
    assert "<HTTP_REQUEST>" in error
    net.quiet()


@pytest.mark.parametrize("event", ["CLIENT_ACCEPTED", "LB_SELECTED", "SERVER_CONNECTED", "HTTP_RESPONSE"])
def test_an_error_in_any_event(net: Net, event):
    vs = with_rule(net, f"when {event} {{ error oops }}")
    assert net.ask(vs).ended == RESET
    assert len(net.errors()) == 1


def test_an_error_that_the_rule_catches(net: Net):
    text = "when HTTP_REQUEST { catch { pool nowhere } why; HTTP::header insert X-Why $why }"
    assert dict(net.ask(with_rule(net, text)).seen["headers"])["X-Why"] == "no such pool: nowhere"


# -- TCP::collect ----------------------------------------------------------------------------------


def test_collected_bytes_are_seen_and_passed_on(net: Net):
    text = """when CLIENT_ACCEPTED { TCP::collect }
    when CLIENT_DATA { log local0. [TCP::payload 3]:[TCP::payload length]; TCP::release }"""
    vs = with_rule(net, text)
    assert net.ask(vs).status == 200
    assert logged(net)[0].startswith("GET:")


def test_collect_with_a_length(net: Net):
    text = """when CLIENT_ACCEPTED { TCP::collect 10 }
    when CLIENT_DATA { log local0. [expr {[TCP::payload length] >= 10}]; TCP::release }"""
    with net.connect(with_rule(net, text)) as client:
        for piece in (b"GET /", b" HT", b"TP/1.1\r\n", b"Host: a\r\n\r\n"):
            client.send(piece)
        assert client.answer().status == 200
    assert logged(net) == ["1"]


@pytest.mark.parametrize("quirks", [(), ("collect-again",)])
def test_collect_again(make_net, quirks):
    """Without another TCP::collect CLIENT_DATA comes for each packet (bigip-behaviour.md B5), or once."""
    net = make_net(quirks=quirks)
    net.pod("10.1.0.1")
    text = """when CLIENT_ACCEPTED { TCP::collect }
    when CLIENT_DATA { log local0. data; if { [TCP::payload length] > 8 } { TCP::release } }"""
    vs = net.virtual("v", pool=net.pool("p", "10.1.0.1:8080"), rules=[net.rule("r", text)])
    with net.connect(vs) as client:
        client.send(b"GET /")
        until(lambda: logged(net) == ["data"])
        client.send(b" HTTP/1.1\r\nHost: a\r\n\r\n")
        if quirks:
            client.sock.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.more()
        else:
            assert client.answer().status == 200


def test_a_payload_may_be_replaced(net: Net):
    text = """when CLIENT_ACCEPTED { TCP::collect 5 }
    when CLIENT_DATA { TCP::payload replace 0 4 POST; TCP::release }"""
    with net.connect(with_rule(net, text)) as client:
        client.send(b"FROB / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        assert client.answer().seen["method"] == "POST"


# -- TLS -------------------------------------------------------------------------------------------


def test_server_name_in_the_handshake_events(net: Net):
    text = """when CLIENTSSL_CLIENTHELLO {
        if { [SSL::extensions exists -type 0] } {
            binary scan [SSL::extensions -type 0] @9a* name
            log local0. $name
        }
    }
    when CLIENTSSL_HANDSHAKE { log local0. [SSL::sni name]:[SSL::cipher version] }"""
    with net.connect(with_rule(net, text, tls=True), sni="a.example") as client:
        client.ask()
    assert logged(net) == ["a.example", "a.example:TLSv1.2"]


def test_tls_switched_off_at_the_hello(net: Net):
    text = "when CLIENTSSL_CLIENTHELLO { SSL::disable; HTTP::disable; pool tls }"
    with net.connect(with_rule(net, text, tls=True), sni="x.example") as client:
        assert client.certificate == "pod.example"
        assert client.ask().pod == "tls"


def test_http_in_a_tls_event_is_an_error(net: Net):
    vs = with_rule(net, "when CLIENTSSL_HANDSHAKE { HTTP::host }", tls=True)
    with net.connect(vs, sni="a") as client:
        assert client.ask().ended == RESET
    assert "Can't execute in the current context" in net.errors()[0]


@pytest.mark.parametrize(("text", "shown"), [
    ("when CLIENT_ACCEPTED { IP::idle_timeout 7; log local0. [IP::idle_timeout] }", ["7"]),
    ("when SERVER_CONNECTED { log local0. [clientside] }", ["0"]),
    ("when HTTP_REQUEST { log local0. [clientside] }", ["1"]),
    ("when HTTP_REQUEST_SEND { log local0. [serverside]; log local0. [HTTP::uri] }", ["1", "/"]),
    ("""when HTTP_REQUEST_SEND {
        IP::idle_timeout 8
        log local0. [clientside { IP::idle_timeout }]
        clientside { IP::idle_timeout 9 }
        log local0. [IP::idle_timeout]
    }
    when HTTP_RESPONSE { log local0. [clientside { IP::idle_timeout }]; log local0. [IP::idle_timeout] }""",
     ["300", "8", "9", "8"]),
    ("""when HTTP_REQUEST_SEND { catch { clientside { IP::idle_timeout soon } } why; log local0. $why }""",
     ['expected integer but got "soon"']),
])
def test_idle_timeouts_of_both_sides(net: Net, text, shown):
    assert net.ask(with_rule(net, text)).status == 200
    assert logged(net) == shown
    assert net.errors() == []


@pytest.mark.parametrize("side", ["clientside", "serverside"])
def test_the_shorter_idle_timeout_ends_both_sides(net: Net, side):
    vs = with_rule(net, f"when HTTP_REQUEST_SEND {{ {side} {{ IP::idle_timeout 1 }} }}")
    assert net.ask(vs, "/?delay=3600").ended == RESET
    assert net.last().outcome == "reset: idle time-out"


def test_passthrough_by_an_irule(net: Net):
    text = """when CLIENT_ACCEPTED { TCP::collect }
    when CLIENT_DATA { pool tls; SSL::disable; HTTP::disable; TCP::release }"""
    vs = with_rule(net, text, tls=True)
    with net.connect(vs, sni="x.example") as client:
        assert client.certificate == "pod.example"
        assert client.ask().seen["tls"]["sni"] == "x.example"
    assert (net.last().pool, net.last().client_ssl, net.last().outcome) == ("/P/tls", None, "tunnelled")


BRACES_ON_THEIR_OWN_LINES = """
when CLIENT_ACCEPTED
{
  TCP::collect
}

when CLIENT_DATA
{
  binary scan [TCP::payload] @43c session
  set at [expr {44 + $session}]
  binary scan [TCP::payload] @${at}S suites
  set at [expr {$at + 2 + $suites}]
  binary scan [TCP::payload] @${at}c methods
  set at [expr {$at + 1 + $methods}]
  binary scan [TCP::payload] @${at}S rest
  binary scan [TCP::payload] @[expr {$at + 2}]a* extensions
  for { set start 0 }
      { $rest - $start == abs($rest - $start) }
      { incr start 4 } {
    binary scan $extensions @${start}SS kind length
    if { $kind == 0 }
    {
      binary scan $extensions @[expr {$start + 7}]S size
      binary scan $extensions @[expr {$start + 9}]A${size} name
    }
    incr start $length
  }
  if { [info exists name] } {
    if { [class match $name equals names] } {
      pool [class match -value $name equals names]
      SSL::disable
      HTTP::disable
    }
    elseif { $name equals "b.example" } {
      pool two
    }
  }

  TCP::release
}
"""
"""Laid out as the iRule of the router of OpenShift 3 (openshift/origin, pkg/router/f5/f5.go): the words of
`for` on lines of their own, `elseif` on a new line."""


def test_braces_on_lines_of_their_own(net: Net):
    net.put("ltm/data-group/internal", "names", type="string", records=[{"name": "x.example", "data": "tls"}])
    vs = with_rule(net, BRACES_ON_THEIR_OWN_LINES, tls=True)
    with net.connect(vs, sni="x.example") as client:
        assert client.certificate == "pod.example"
        assert client.ask().seen["tls"]["sni"] == "x.example"
    assert net.last().pool == "/P/tls"
    assert net.ask(vs, sni="b.example").pod == "two"
    assert net.ask(vs, sni="c.example").pod == "one"


def test_a_client_that_stops_in_a_collected_hello(make_net):
    net = make_net(speed=1500.0)
    text = "when CLIENT_ACCEPTED { TCP::collect }\nwhen CLIENT_DATA { TCP::collect }"
    vs = net.virtual("v", rules=[net.rule("r", text)])
    with net.connect(vs) as client:
        client.send(hello("a.example")[:30])
        assert client.rest() == (b"", RESET)
    net.quiet()


SERVER_SSL = ("/Common/serverssl",)


@pytest.mark.parametrize(
    ("text", "pool", "tls"),
    [
        pytest.param("", "tls", "/Common/serverssl", id="the virtual server's profile"),
        pytest.param("when SERVER_CONNECTED { SSL::disable }", "one", None, id="disabled"),
        pytest.param("when SERVER_CONNECTED { SSL::disable serverside }", "one", None, id="with its side"),
        pytest.param("when SERVER_CONNECTED { SSL::profile /P/other }", "tls", "/P/other", id="another"),
        pytest.param("when SERVER_CONNECTED { SSL::profile other }", "tls", "/P/other", id="by bare name"),
        pytest.param(
            "when SERVER_CONNECTED { SSL::disable; SSL::enable }", "tls", "/Common/serverssl", id="enabled"
        ),
        pytest.param(
            'when SERVER_CONNECTED { if { [LB::server pool] eq "/P/one" } { SSL::disable } }',
            "one", None, id="by pool",
        ),
    ],
)  # fmt: skip
def test_tls_towards_members(net: Net, text, pool, tls):
    if not net.store.get("ltm/profile/server-ssl", "/P/other"):
        net.put("ltm/profile/server-ssl", "other", serverName="inner")
    texts = (text,) if text else ("when HTTP_REQUEST { }",)
    vs = with_rule(net, *texts, pool=f"/P/{pool}", more=SERVER_SSL)
    seen = net.ask(vs).seen
    assert (net.last().server_ssl, bool(seen["tls"])) == (tls, tls is not None)


def test_ssl_disable_fails_where_there_is_no_profile(net: Net):
    text = "when SERVER_CONNECTED { SSL::disable serverside }"
    assert net.ask(with_rule(net, text, tls=True), sni="a").ended == RESET
    assert "Can't execute in the current context" in net.errors()[0]


def test_an_absent_profile_is_an_error(net: Net):
    vs = with_rule(net, "when SERVER_CONNECTED { SSL::profile /P/absent }", pool="/P/tls", more=SERVER_SSL)
    assert net.ask(vs).ended == RESET
    assert 'profile "/P/absent" not found' in net.errors()[0]


@pytest.mark.parametrize("quirks", [(), ("server-ssl-afresh",)])
def test_disabled_tls_stays_for_the_connection(make_net, quirks):
    """Or not: a rule has to be right either way."""
    net = make_net(quirks={*quirks, "pool-switches-server"})
    pair = identity("pod.example")
    net.pod("10.1.0.1", name="one")
    net.pod("10.1.0.9", 443, name="tls", tls=(pair.certificate.encode(), pair.key.encode()))
    net.pool("one", "10.1.0.1:8080")
    net.pool("tls", "10.1.0.9:443")
    text = 'when SERVER_CONNECTED { if { [LB::server pool] eq "/P/one" } { SSL::disable } }'
    policy = net.policy("p", forward("/P/one", **host("a")), forward("/P/tls", **host("b")))
    profiles = ["/Common/tcp", "/Common/http", "/Common/serverssl"]
    vs = net.virtual("v", policies=[policy], rules=[net.rule("r", text)], profiles=profiles)
    with net.connect(vs) as client:
        assert client.ask(host="a").status == 200
        assert client.ask(host="b").status == (200 if quirks else 0)


@pytest.mark.parametrize("quirks", [(), ("server-ssl-afresh",)])
@pytest.mark.parametrize("event", ["CLIENT_DATA", "CLIENTSSL_CLIENTHELLO", "LB_SELECTED"])
def test_tls_disabled_before_the_first_server_connection(make_net, quirks, event):
    """Passthrough on a virtual server with a server-ssl profile for others."""
    net = make_net(quirks=set(quirks))
    pair = identity("pod.example")
    net.pod("10.1.0.9", 443, name="tls", tls=(pair.certificate.encode(), pair.key.encode()))
    net.pool("tls", "10.1.0.9:443")
    release = "; TCP::release" if event == "CLIENT_DATA" else ""
    early = event if event != "LB_SELECTED" else "CLIENTSSL_CLIENTHELLO"
    text = f"""when CLIENT_ACCEPTED {{ {"TCP::collect" if release else ""} }}
    when {early} {{ pool tls; SSL::disable; HTTP::disable{release} }}"""
    if early == event:
        text = text.replace("SSL::disable;", "SSL::disable; SSL::disable serverside;")
    else:
        text += "\nwhen LB_SELECTED { SSL::disable serverside }"
    profiles = ["/Common/tcp", "/Common/http", net.client_ssl("front"), "/Common/serverssl"]
    vs = net.virtual("v", rules=[net.rule("r", text)], profiles=profiles)
    with net.connect(vs, sni="x.example") as client:
        assert client.certificate == "pod.example"
        assert client.ask().seen["tls"]["sni"] == "x.example"
    assert net.last().server_ssl is None


def test_bare_names(make_net):
    net = make_net(quirks={"bare-names"})
    net.pod("10.1.0.1")
    text = "when SERVER_CONNECTED { log local0. [LB::server pool]:[virtual name] }"
    net.ask(net.virtual("v", pool=net.pool("p", "10.1.0.1:8080"), rules=[net.rule("r", text)]))
    assert logged(net) == ["p:v"]


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
