"""openshift_request_irule, wildcards: one label before the domain that the policy named."""

import pytest

from f5router import irules, names
from tests.unit.irules.tmm import Connection, Tmm

RULE = irules.request_irule("/Common", page=True)
RESET = irules.request_irule("/Common", page=False)
SUFFIX = ".apps.example.com"


def requests(tmm: Tmm, *hosts: tuple[str, str], rules=(RULE,), **how) -> Connection:
    """Requests of one connection: Host header, domain of the rule that matched, "" for no wildcard."""
    return tmm.run(rules, groups={}, requests=[
        (host, {names.POOL_VARIABLE: "/Common/p", **({names.WILDCARD_VARIABLE: suffix} if suffix else {})})
        for host, suffix in hosts], **how)


def refusals(connection: Connection) -> list[str]:
    """What became of the refused requests of a connection: the page, or a reset."""
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


def test_leaves_nothing_behind(tmm):
    connection = requests(tmm, ("a.apps.example.com", SUFFIX))
    assert names.WILDCARD_VARIABLE not in connection.variables
    assert all(name.startswith("f5r_") for name in connection.variables)


def test_the_variable_is_the_one_that_rules_set():
    assert f"${names.WILDCARD_VARIABLE}" in RULE
