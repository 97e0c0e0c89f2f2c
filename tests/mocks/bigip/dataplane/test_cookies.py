"""Cookie persistence that an iRule chooses, and the events in which iRules meet the cookie."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mocks.bigip.quirks import Quirk
from tests.mocks.bigip.dataplane.conftest import Net

MEMBERS = ("10.1.0.1:8080", "10.1.0.2:8080", "10.1.0.3:8080")


@pytest.fixture
def net_of(make_net) -> Callable[..., Net]:
    """Makes a data plane with three pods."""
    def make(*quirks: Quirk) -> Net:
        net = make_net(quirks=quirks)
        for number in (1, 2, 3):
            net.pod(f"10.1.0.{number}")
        return net
    return make


@pytest.fixture
def net(net_of) -> Net:
    return net_of()


def by_rule(net: Net, text: str, **how: object) -> str:
    """A virtual server with an iRule, its path."""
    net.rule("r", text)
    return net.virtual("v", pool=net.pool("p", *MEMBERS), rules=["/P/r"], **how)


def test_cookie_persistence(net: Net):
    """It needs no profile; name and expiration are those of the command."""
    vs = by_rule(net, "when HTTP_REQUEST { persist cookie insert mine 60 }")
    first = net.ask(vs)
    cookie, _, rest = first.header("Set-Cookie").partition(";")
    assert cookie.startswith("mine=")
    assert rest == " max-age=60; path=/; Httponly"
    again = [net.ask(vs, headers=f"Cookie: {cookie}\r\n") for _ in range(4)]
    assert {(answer.pod, answer.header("Set-Cookie")) for answer in again} == {(first.pod, None)}


@pytest.mark.parametrize(("path", "name"), [("/cookie", "mine"), ("/none", None), ("/uie", None)])
def test_the_last_persist_counts(net: Net, path, name):
    """The choice of an earlier request of the connection holds until another choice."""
    vs = by_rule(net, """when HTTP_REQUEST {
        switch [HTTP::path] {
            /cookie { persist cookie insert mine }
            /none { persist none }
            /uie { persist uie key 60 }
        }
    }""")
    with net.connect(vs) as client:
        assert client.ask("/").header("Set-Cookie") is None
        assert client.ask("/cookie").header("Set-Cookie").startswith("mine=")
        assert client.ask("/").header("Set-Cookie").startswith("mine=")
        header = client.ask(path).header("Set-Cookie")
        assert header is None if name is None else header.startswith(f"{name}=")


def test_cookie_persistence_needs_http(net: Net):
    text = "when CLIENT_ACCEPTED { catch { persist cookie insert mine } why; log local0. $why }"
    net.ask(by_rule(net, text, profiles=["/Common/tcp"]))
    assert "HTTP profile" in net.big.store.irule_log[0]


RELEASES = """when HTTP_REQUEST { persist cookie insert mine }
when HTTP_REQUEST_RELEASE { HTTP::cookie remove mine }
when HTTP_RESPONSE { HTTP::header insert X-Early [HTTP::cookie exists mine] }
when HTTP_RESPONSE_RELEASE { HTTP::header insert X-Late [HTTP::cookie exists mine] }"""


@pytest.mark.parametrize(("quirk", "early", "again"), [
    (None, "0", None), (Quirk.COOKIE_IN_HTTP_RESPONSE, "1", None), (Quirk.COOKIE_READ_AGAIN, "0", "mine"),
])
def test_where_an_irule_meets_the_cookie(net_of, quirk, early, again):
    net = net_of(*([quirk] if quirk else []))
    vs = by_rule(net, RELEASES)
    first = net.ask(vs)
    assert (first.header("X-Early"), first.header("X-Late")) == (early, "1")
    cookie = first.header("Set-Cookie").partition(";")[0]
    second = net.ask(vs, headers=f"Cookie: a=1; {cookie}; b=2\r\n")
    assert dict(second.seen["headers"])["Cookie"] == "a=1; b=2"
    assert (second.header("Set-Cookie") or "").partition("=")[0] == (again or "")


@pytest.mark.parametrize(("quirk", "left"), [(None, "b=2"), (Quirk.COOKIE_REMOVE_FIRST, "b=2; mine=2")])
def test_cookies_with_one_name(net_of, quirk, left):
    net = net_of(*([quirk] if quirk else []))
    vs = by_rule(net, "when HTTP_REQUEST_RELEASE { HTTP::cookie remove mine }")
    seen = net.ask(vs, headers="Cookie: mine=1; b=2; mine=2\r\n").seen
    assert dict(seen["headers"])["Cookie"] == left
    assert "Cookie" not in dict(net.ask(vs, headers="Cookie: mine=1\r\n").seen["headers"])


@pytest.mark.parametrize(("quirk", "left"), [(None, []), (Quirk.HEADER_REMOVE_LAST, ["1"])])
def test_headers_with_one_name(net_of, quirk, left):
    net = net_of(*([quirk] if quirk else []))
    vs = by_rule(net, "when HTTP_REQUEST { HTTP::header remove x-mine }")
    seen = net.ask(vs, headers="X-Mine: 1\r\nX-Mine: 2\r\n").seen
    assert [value for name, value in seen["headers"] if name == "X-Mine"] == left
