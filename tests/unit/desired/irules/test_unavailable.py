"""openshift_unavailable_irule: a page with 503 where load balancing fails."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from f5router.desired import irules
from mocks.bigip import rulecheck
from tests.unit.desired.irules import hello as h
from tests.unit.desired.irules.tmm import Action, Connection, Tmm

FOLDER = "/OpenShift/zone1"
RULE = irules.unavailable_irule(FOLDER)
OURS, FOREIGN, ADDRESS = f"{FOLDER}/openshift_ns_web", "/Common/admins", "10.1.1.1"

PAGE = ("HTTP::respond", "503", "-version", "auto", "content")
"""How the answer begins."""


def failing(tmm: Tmm, *failures: tuple[str, str], before: str = "", after: str = "", **how) -> Connection:
    """Requests whose load balancing fails, with other iRules before and behind ours."""
    rules = [text for text in (before, RULE, after) if text]
    return tmm.run(rules, failures=failures, groups=how.pop("groups", {}), **how)


def answered(connection: Connection) -> list[bool]:
    """Return for each answer True if it is ours."""
    return [action[:5] == PAGE for action in connection.actions if action[0] == "HTTP::respond"]


@pytest.mark.parametrize(("pool", "address", "want"), [
    pytest.param("", "", True, id="no pool"),
    pytest.param("", "0.0.0.0", True, id="no pool, address of nobody"),
    pytest.param("", "::", True, id="no pool, IPv6 address of nobody"),
    pytest.param("", "any6", True, id="no pool, any"),
    pytest.param(OURS, "", True, id="no member"),
    pytest.param(OURS, ADDRESS, True, id="member that refuses"),
    pytest.param("openshift_ns_web", "", True, id="bare name"),
    pytest.param("", ADDRESS, False, id="node of somebody else"),
    pytest.param("", "2001:db8::1", False, id="node with IPv6"),
    pytest.param(FOREIGN, "", False, id="default pool of the virtual server"),
    pytest.param(FOREIGN, ADDRESS, False, id="its member that refuses"),
    pytest.param("admins", "", False, id="the same as a bare name"),
    pytest.param(f"{FOLDER}/web", "", False, id="pool of somebody else in our folder"),
    pytest.param("/Common/openshift_ns_web", "", False, id="pool of another router"),
    pytest.param("/Common" + OURS, "", False, id="our path below another folder"),
])
def test_pools(tmm, pool, address, want):
    """Only what went to a pool of ours, or nowhere."""
    connection = failing(tmm, (pool, address))
    assert answered(connection) == [True] * want
    assert len(connection.actions) == want
    assert all(name.startswith("f5r_") for name in connection.variables)


@pytest.mark.parametrize("earlier", [OURS, FOREIGN])
def test_the_address_of_an_earlier_request(tmm, earlier):
    """A request without a pool may still tell the member that one before went to."""
    known = {"pools": (earlier,), "address": ADDRESS}
    assert answered(failing(tmm, ("", ADDRESS), **known)) == [True]
    assert answered(failing(tmm, ("", "10.1.1.2"), **known)) == []
    assert answered(failing(tmm, (FOREIGN, ADDRESS), **known)) == []


def response(tmm: Tmm) -> Action:
    (action,) = failing(tmm, ("", "")).actions
    return action


def test_headers(tmm):
    """Not for caches, and the connection ends: a body of the request may still be on its way."""
    words = response(tmm)
    assert words[:5] == PAGE
    assert words[6] == "noserver"
    assert dict(zip(words[7::2], words[8::2], strict=True)) == {
        "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Connection": "close",
    }


class _Page(HTMLParser):
    """Elements that are open, and every text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert not {"src", "href"} & dict(attrs).keys(), "nothing is loaded from elsewhere"
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def test_page(tmm):
    """Small, well-formed, and says what it is about."""
    content = response(tmm)[5]
    page = _Page()
    page.feed(content)
    page.close()
    assert page.open == []
    assert "Application not available" in page.texts
    assert content.startswith("<!DOCTYPE html>")
    assert len(content) < 1000


def test_every_failure_of_a_connection(tmm):
    """Should a device keep the connection: each request is judged by itself."""
    connection = failing(tmm, (OURS, ""), (FOREIGN, ""), ("", ""), ("", ADDRESS), (OURS, ADDRESS))
    assert answered(connection) == [True] * 3


def test_passthrough_is_a_reset(tmm):
    """There is no HTTP to answer in."""
    passthrough = irules.passthrough_irule(FOLDER)
    groups = {f"{FOLDER}/ssl_passthrough_servername_dg": {"pass.example.com": OURS}}

    def client(name: str) -> list[bool]:
        return answered(failing(tmm, (OURS, ""), before=passthrough, groups=groups, segments=[h.hello(name)]))

    assert client("pass.example.com") == []
    assert client("else.example.com") == [True]


@pytest.mark.parametrize("place", ["before", "after"])
def test_another_irule_answers(tmm, place):
    """At any priority, wherever it is on the virtual server: it comes first, ours adds nothing."""
    for priority in ("", "priority 1", "priority 999"):
        other = f"when LB_FAILED {priority} {{ HTTP::respond 200 content sorry }}"
        connection = failing(tmm, (OURS, ""), (OURS, ""), **{place: other})
        assert answered(connection) == [False, False]


def test_another_irule_reselects(tmm):
    """It says so, for this request only."""
    other = """when LB_FAILED {
        if { [LB::server addr] eq "" } { LB::reselect pool p; set f5router_answered 1 }
    }"""
    connection = failing(tmm, (OURS, ""), (OURS, ADDRESS), (OURS, ""), before=other)
    assert connection.effects[0] == ("LB::reselect", "pool", "p")
    assert answered(connection) == [True]
    assert "f5router_answered" not in connection.variables


def test_documented_irule(tmm):
    """The example for administrators compiles, runs before ours and keeps it away."""
    page = (Path(__file__).parents[4] / "docs" / "traffic.md").read_text()
    (example,) = re.findall(r"```tcl\n(.*?)```", page, re.DOTALL)
    rulecheck.check(example)
    other = example.replace("[active_members /Common/sorry]", "1")
    assert failing(tmm, (OURS, ""), after=other).actions == (("LB::reselect", "pool", "/Common/sorry"),)


def test_another_irule_chooses_a_pool(tmm):
    """LB::server then names a pool that is not ours."""
    assert answered(failing(tmm, (FOREIGN, ""), before="when LB_FAILED { LB::reselect }")) == []


@pytest.mark.parametrize(("fault", "answers"), [
    ("HTTP::respond", 0),
    ("LB::server", 2),
    ("LB::server addr", 2),
    pytest.param("LB::server pool", 1, id="rather a reset than a page for a node of somebody else"),
])
def test_what_a_device_may_refuse(tmm, fault, answers):
    """No error: where nothing can be answered it stays at the reset."""
    connection = failing(tmm, (OURS, ADDRESS), ("", ""), faults=[fault])
    assert not connection.logs
    assert answered(connection) == [True] * answers


def test_costs_nothing_where_nothing_fails(tmm):
    """No event of a request that is served."""
    assert failing(tmm, pools=[OURS]).actions == ()
