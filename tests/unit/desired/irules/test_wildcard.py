"""openshift_request_irule, wildcards: one label before the domain that the policy named."""

import pytest

from f5router.desired import irules
from f5router.model import names
from tests.unit.desired.irules.tmm import Connection, Tmm

RULE = irules.request_irule("/Common", page=True)
RESET = irules.request_irule("/Common", page=False)
SUFFIX = ".apps.example.com"


def requests(tmm: Tmm, *hosts: tuple[str, str], rules=(RULE,), **how) -> Connection:
    """Requests of one connection: Host header, domain of the rule that matched, "" for no wildcard."""
    return tmm.run(rules, groups={}, requests=[
        (host, {names.POOL_VARIABLE: "/Common/p", **({names.WILDCARD_VARIABLE: suffix} if suffix else {})})
        for host, suffix in hosts], **how)


def refusals(connection: Connection) -> list[str]:
    """Return the results of a connection's refused requests: the page, or a reset."""
    return [" ".join(effect[:2]) for effect in connection.effects]


@pytest.mark.parametrize(("source", "host", "served"), [
    ("upstream GenerateRouteRegexp: one label", "a.apps.example.com", True),
    ("parity 5.1: any case", "A.Apps.EXAMPLE.com", True),
    ("parity 5.1: port", "a.apps.example.com:8443", True),
    ("parity 5.1: trailing dot", "a.apps.example.com.", True),
    ("parity 5.1: trailing dot and port", "a.apps.example.com.:80", True),
    ("upstream GenerateRouteRegexp: no dot in the label", "a.b.apps.example.com", False),
    ("upstream GenerateRouteRegexp: no dot in the label", "a.b.c.apps.example.com:80", False),
    ("a label that ends like the domain", "a.com.apps.example.com", False),
    ("no name has an empty label: RFC 1034 3.1", ".apps.example.com", False),
    ("no name has an empty label: RFC 1034 3.1", "a..apps.example.com", False),
    ("RFC 952 has no underscore, DNS has", "a_b.apps.example.com", True),
    ("RFC 3986 3.2.3: a port may be empty", "a.apps.example.com:", True),
])
def test_one_label(tmm, source, host, served):
    assert refusals(requests(tmm, (host, SUFFIX))) == ([] if served else ["HTTP::respond 503"])
    assert refusals(requests(tmm, (host, SUFFIX), rules=[RESET])) == ([] if served else ["reject"])


def test_the_page_is_that_of_the_other_irule(tmm):
    page = irules.unavailable_irule("/Common").partition("HTTP::respond")[2].partition("close")[0]
    assert page in RULE


def test_where_the_page_cannot_be_sent(tmm):
    """Another iRule has answered already, say: rather a reset than a request that reaches the pods."""
    connection = requests(tmm, ("a.b.apps.example.com", SUFFIX), faults=["HTTP::respond"])
    assert connection.actions[-1] == ("reject",)


def test_other_rules_are_left_alone(tmm):
    """A request that no wildcard matched is none of its business, whatever came before it."""
    deep, good = "a.b.apps.example.com", ("a.apps.example.com", SUFFIX)
    assert requests(tmm, (deep, "")).effects == ()
    assert requests(tmm, good, (deep, ""), good).effects == ()
    assert refusals(requests(tmm, good, (deep, SUFFIX))) == ["HTTP::respond 503"]


def redirected(tmm: Tmm, host: str, rules=(RULE,), **how) -> list[str]:
    """Return the result of a request that a Rule asks to redirect."""
    asks = {names.WILDCARD_VARIABLE: SUFFIX, names.REDIRECT_VARIABLE: "1"}
    return refusals(tmm.run(rules, groups={}, requests=[(host, asks)], **how))


@pytest.mark.parametrize("host", ["a.apps.example.com", "A.Apps.EXAMPLE.com.", "a.apps.example.com:8080"])
@pytest.mark.parametrize("uri", ["/", "//evil.com", "/%0d%0aX:%201", "/a?b=c#d", "/[exit]$x{\"\\;"])
def test_a_redirect(tmm, host, uri):
    """To the name without case, dot and port; the path as it is."""
    assert redirected(tmm, host, uri=uri) == [f"HTTP::redirect https://a.apps.example.com{uri}"]


@pytest.mark.parametrize("uri", [
    "", "*", "@evil.com/", "evil.com", ".evil.com", ":1@evil.com", "?x", "http://evil.com/", "/a\rX: 1",
    "/a\n", "/a\r\nX: 1", "/\x00", "/\x7f", "/\x80", "/\xe5", "/a b", "/\t",
])
def test_a_target_that_is_no_path_is_not_redirected(tmm, uri):
    """It would go on with the name, or end the header."""
    assert redirected(tmm, "a.apps.example.com", uri=uri) == ["HTTP::respond 503"]
    assert redirected(tmm, "a.apps.example.com", rules=[RESET], uri=uri) == ["reject"]


@pytest.mark.parametrize("label", [
    "evil.com/", "evil.com?", "evil.com#", "evil.com\\", "user@", "evil.com:80", "evil.com:80/", "[::1]",
    "a b", "a\t", "a\r\nX: 1", "a\n", "\n", "a\x00", "\x7f", "\xe5", "%61", "", "a.b", "*", "$x", "[exit]",
    "{",
])
@pytest.mark.parametrize("end", ["", ":80", "."])
def test_a_name_with_other_characters(tmm, label, end):
    """Neither redirected to, nor of the pods."""
    host = f"{label}{SUFFIX}{end}"
    assert redirected(tmm, host) == ["HTTP::respond 503"]
    assert refusals(requests(tmm, (host, SUFFIX))) == ["HTTP::respond 503"]


@pytest.mark.parametrize("end", [
    ":x", ":80@evil.com", ":80/", "..", "/", "?", "#", "\\", "\n", ".\n", ":80\n",
])
def test_what_stands_behind_the_domain(tmm, end):
    assert redirected(tmm, f"a{SUFFIX}{end}") == ["HTTP::respond 503"]


def test_a_redirect_that_cannot_be_sent(tmm):
    """Another iRule has answered already, say."""
    assert redirected(tmm, "a.apps.example.com", faults=["HTTP::redirect"])[-1] == "reject"


def test_a_redirect_concerns_one_request(tmm):
    """The next one of the connection is served by its own Rule, on the connection to the pod of before."""
    asks = {names.WILDCARD_VARIABLE: SUFFIX, names.REDIRECT_VARIABLE: "1"}
    serves = {names.POOL_VARIABLE: "/Common/p"}
    connection = tmm.run([RULE], groups={}, requests=[
        ("h", serves), ("a.apps.example.com", asks), ("h", serves), ("a.apps.example.com", asks)])
    assert refusals(connection) == ["HTTP::redirect https://a.apps.example.com/"] * 2
    assert names.REDIRECT_VARIABLE not in connection.variables


def test_leaves_nothing_behind(tmm):
    connection = requests(tmm, ("a.apps.example.com", SUFFIX))
    assert names.WILDCARD_VARIABLE not in connection.variables
    assert all(name.startswith(("f5r_", "f5router_cookie", "f5router_r")) for name in connection.variables)


def test_the_variable_is_the_one_that_rules_set():
    assert f"${names.WILDCARD_VARIABLE}" in RULE
    assert f"[info exists {names.REDIRECT_VARIABLE}]" in RULE
