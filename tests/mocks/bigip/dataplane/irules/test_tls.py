"""iRules on TLS of both sides, and on handshakes that they pass through."""

from __future__ import annotations

import pytest

from tests.builders import identity
from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net, forward, host
from tests.mocks.bigip.dataplane.irules.conftest import logged, with_rule
from tests.unit.desired.irules.hello import hello


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
