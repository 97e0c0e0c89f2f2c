"""Requests, by the Rules and records that are on the device."""

from dataclasses import replace

import pytest

from f5router.desired import rules
from f5router.model import http_edge, names
from f5router.model.cluster import PathMatch
from f5router.model.device_facts import DeviceFacts, VirtualFacts
from f5router.model.ltm import (
    Attachment,
    CheckedRedirect,
    Foreign,
    Forward,
    Policy,
    Pool,
    PoolMember,
    Record,
    Redirect,
    Rule,
    rule_ref,
)
from f5router.model.request_match import RequestMatch
from f5router.views import requests
from tests.rows import rows

FACTS = DeviceFacts(http=VirtualFacts("/Common/http", port=80), https=VirtualFacts("/Common/https", port=443))
POLICY, SECURE, GROUP = "/Common/plain", "/Common/secure", f"/Common/{names.PASSTHROUGH_GROUP}"


def rule(name: str, host: str, path: str = "", *, ordinal: int = 1, action=None, policy: str = POLICY,
         kind: PathMatch = PathMatch.SEGMENTS, **fields) -> Rule:
    """A Rule with conditions as the router writes them."""
    (conditions,) = rules.match_path(path, kind)
    suffix = host.removeprefix("*") if host.startswith("*") else ""
    return Rule(policy, name, 0, conditions | rules.match_host(host, (80,)),
                action or Forward(f"/Common/{name}"), ordinal, suffix=suffix, **fields)


def pool(name: str, *states: str) -> Pool:
    members = [PoolMember(f"10.1.1.{at}", 8080, state=state) for at, state in enumerate(states, 1)]
    return Pool(f"/Common/{name}", members=frozenset(members))


BOTH = (Attachment("/Common/http", "policies", POLICY, Policy.KIND),
        Attachment("/Common/https", "policies", SECURE, Policy.KIND), Policy(POLICY), Policy(SECURE))
OBJECTS = (
    *BOTH, pool("api", "enabled"), pool("shop", "enabled", "enabled"), pool("wild", "enabled"),
    pool("idle", "disabled"), pool("empty"), pool("tls", "enabled"), pool("through", "enabled"),
    rule("shop", "a.com", ordinal=20), rule("api", "a.com", "/api", ordinal=10),
    rule("wild", "*.w.com", ordinal=30), rule("idle", "idle.com", ordinal=40),
    rule("empty", "empty.com", ordinal=41), rule("gone", "gone.com", ordinal=42),
    rule("moved", "moved.com", ordinal=43, action=Redirect("tcl:https://[getfield]")),
    rule("checked", "*.r.com", ordinal=44, action=CheckedRedirect()),
    rule("odd", "odd.com", ordinal=45, action=Foreign("{}")),
    rule("tls", "a.com", policy=SECURE),
    rule("kept", "t.p.com", policy=SECURE, action=Forward("/Common/tls")),
    Record(GROUP, "p.com", "/Common/through"), Record(GROUP, ".p.com", "/Common/through"),
    Record(GROUP, "t.p.com", names.EXCLUSION),
)


def answer(url: str, objects=OBJECTS, facts: DeviceFacts = FACTS,
           down: requests.Down = requests.NOBODY) -> requests.Answer:
    lookup = requests.Lookup({obj.ref: obj for obj in objects}, facts, "/Common")
    return lookup.answer(requests.parse(url), down)


def test_a_rule_that_leads_nowhere_on_purpose():
    """It keeps a redirect off a Route that is not served over HTTP."""
    nowhere = (pool(names.NOWHERE_POOL), rule("quiet", "a.com", "/quiet", ordinal=5,
                                              action=Forward(f"/Common/{names.NOWHERE_POOL}")))
    result = answer("http://a.com/quiet", (*OBJECTS, *nowhere))
    assert "on purpose: the Route is not served over HTTP" in result.steps[-1]
    assert not result.served


@rows(("url", "name", "served"), [
    ("http://a.com/", "shop", True),
    ("http://A.COM:80/x?q=/api", "shop", True),
    ("http://a.com./x", "shop", True),
    ("http://a.com/api", "api", True),
    ("http://a.com/api/v1", "api", True),
    ("http://a.com/apis", "shop", True),
    ("http://a.com/API", "shop", True),
    ("http://x.w.com/", "wild", True),
    ("http://x.y.w.com/", "", False),
    ("http://w.com/", "", False),
    ("http://idle.com/", "idle", False),
    ("http://empty.com/", "empty", False),
    ("http://gone.com/", "", False),
    ("http://none.com/", "", False),
    ("https://a.com/", "tls", True),
    ("https://p.com/", "through", True),
    ("https://x.p.com/", "through", True),
    ("https://t.p.com/", "tls", True),
    ("https://x.y.p.com/", "", False),
    ("a.com", "tls", True),
])
def test_pools(url, name, served):
    taken = answer(url).pool
    assert (taken.path if taken else "") == (f"/Common/{name}" if name else "")
    assert answer(url).served is served


@rows(("url", "words"), [
    ("http://moved.com/", "the answer is 302, to the same address with https"),
    ("http://x.r.com/", "the answer is 302, to the same address with https"),
    ("http://x.y.r.com/", "x.y.r.com has more than one label before .r.com: the answer is 503"),
    ("http://gone.com/", "pool /Common/gone is not there"),
    ("http://odd.com/", "a form that is not evaluated"),
    ("http://none.com/", "no Route has this host and path"),
    ("http://idle.com/", "0 of 1 members take requests: the answer is 503"),
])
def test_outcomes(url, words):
    assert words in answer(url).steps[-1]


@rows(("url", "down", "served", "words"), [
    ("http://a.com/", {}, True, "2 of 2 members take requests"),
    ("http://a.com/", {"/Common/shop": [("10.1.1.2", 8080)]}, True,
     "1 of 2 members take requests, 1 is down or disabled"),
    ("http://a.com/", {"/Common/shop": [("10.1.1.1", 8080), ("10.1.1.2", 8080)]}, False,
     "0 of 2 members take requests, 2 are down or disabled: the answer is 503"),
    ("http://a.com/", {"/Common/shop": [("10.1.1.1", 80)], "/Common/api": [("10.1.1.1", 8080)]}, True,
     "2 of 2 members take requests"),
    ("http://idle.com/", {"/Common/idle": [("10.1.1.1", 8080)]}, False,
     "0 of 1 members take requests: the"),
    ("https://p.com/", {"/Common/through": [("10.1.1.1", 8080)]}, False, "requests, 1 is down"),
])
def test_members_that_are_down(url, down, served, words):
    result = answer(url, down=down)
    assert (result.served, words in result.steps[-1]) == (served, True)


def test_steps():
    assert answer("https://x.p.com/").steps == (
        "virtual server /Common/https, * port 443",
        f"server name x.p.com: record .p.com of {GROUP} passes TLS through",
        "pool /Common/through, 1 of 1 members take requests")
    assert answer("http://a.com/api").steps[1] == f"policy {POLICY}, rule 1 of 9: api matches"


@rows(("changes", "words"), [
    ({"http": None}, "virtual server for http is not there"),
    ({"http": VirtualFacts("/Common/http", exists=False)}, "virtual server /Common/http is not there"),
])
def test_no_virtual_server(changes, words):
    facts = DeviceFacts(**{"http": FACTS.http, "https": FACTS.https, **changes})
    assert words in answer("http://a.com/", facts=facts).steps[-1]


def test_nothing_is_attached():
    assert "no policy of the router is attached" in answer("http://a.com/", objects=OBJECTS[4:]).steps[-1]


@rows(("reply", "words", "served", "status"), [
    (http_edge.encode_answer(404), "the answer is 404", False, 404),
    (http_edge.encode_redirect(301, "https", "b.com", 0), "the answer is 301, to https://b.com", True, 301),
    (http_edge.encode_answer(500, 0.25), "pool /Common/shop, 2 of 2 members take requests", True, 0)])
def test_answers_in_the_place_of_pods(reply, words, served, status):
    """A record has them, which the Rule names; a share of the requests alone leads to the pool."""
    record = Record(f"/Common/{names.HTTP_GROUP}", "named", reply)
    leads = rule("replies", "r.com", action=Forward("/Common/shop", http="named"), ordinal=46)
    result = answer("http://r.com/", (*OBJECTS, leads, record))
    assert (result.steps[-1], result.served, result.status) == (words, served, status)
    assert ("to 25.0% of the requests" in result.steps[-2]) == (status == 0)
    assert answer("http://r.com/", (*OBJECTS, leads)).steps[-1].startswith("pool /Common/shop")


def test_doubts():
    """A Rule that others changed may come first; so it is with another strategy."""
    foreign = Rule(POLICY, "foreign", 0, Foreign("{}"), Forward("/Common/x"), 1)
    assert "rule foreign" in answer("http://a.com/", objects=(*OBJECTS, foreign)).doubt
    best = Policy(POLICY, "best-match")
    assert "best-match" in answer("http://none.com/", objects=(*OBJECTS, best)).doubt
    assert answer("http://a.com/").doubt == ""


@pytest.mark.parametrize("url", ["ftp://a.com/", "http:///x", "http://", "http://a.com:x/", "http://[::1"])
def test_no_request(url):
    with pytest.raises(ValueError, match=r".+"):
        requests.parse(url)


@rows(("url", "request_parsed"), [
    ("a.com/x", requests.Request("https", "a.com", "/x")),
    ("HTTP://A.com.:8080", requests.Request("http", "a.com", "/", 8080)),
])
def test_parse(url, request_parsed):
    assert requests.parse(url) == request_parsed


def _matched(name: str, match: RequestMatch, ordinal: int) -> Rule:
    plain = rule(name, "m.com", ordinal=ordinal)
    return replace(plain, conditions=plain.conditions | rules.match_request(match))


MATCHED = (*BOTH, _matched("both", RequestMatch("GET", query=(("a", "1"),)), 1),
           _matched("post", RequestMatch("POST"), 2),
           _matched("header", RequestMatch(headers=(("x", "1"),)), 3))


@rows(("url", "has", "matched"), [
    ("http://m.com/?a=1", {}, "both"), ("http://m.com/?a=2", {}, None),
    ("http://m.com/?a=2", {"method": "POST"}, "post"),
    ("http://m.com/", {"headers": (("x", "1"),)}, "header"),
    ("http://m.com/", {"headers": (("x", "2"),)}, None),
])
def test_matches_by_more_than_the_path(url, has, matched):
    parsed = requests.parse(url)
    request = replace(parsed, has=RequestMatch(**{"method": "GET", "query": parsed.has.query, **has}))
    lookup = requests.Lookup({obj.ref: obj for obj in MATCHED}, FACTS, "/Common")
    assert lookup.answer(request).matched == (rule_ref(POLICY, matched) if matched else None)


def test_matches_in_words():
    match = RequestMatch("GET", (("x", "1"),), (("q", "2"),))
    assert requests.conditions(_matched("a", match, 1)) == (
        "header x is 1, host is m.com, method is GET, query parameter q is 2")
