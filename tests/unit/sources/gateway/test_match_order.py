"""Matches of a host and path by method, headers and query parameters: which comes first."""

from f5router.model import request_match
from f5router.model.request_match import MOST_OWN_TIES, MOST_TIES
from tests.gateways import EVERYWHERE, backend, gateway, grant, http_route, listener, rule
from tests.unit.sources.gateway.site import GatewaySite


def match(method: str = "", headers: str = "", query: str = "") -> dict:
    """A match. Args: headers, query: such as "a=1 b=2"."""
    obj: dict = {"method": method} if method else {}
    for field, pairs in (("headers", headers), ("queryParams", query)):
        if pairs:
            obj[field] = [dict(zip(("name", "value"), pair.split("="), strict=True))
                          for pair in pairs.split()]
    return obj


def served(site: GatewaySite) -> dict[str, str]:
    """Services by what their requests must have, in the order of the Rules."""
    routes = sorted((each for each in site.routes.values() if each.service and not each.option_refusal),
                    key=lambda each: request_match.slot(each.match))
    return {" ".join([each.match.method, *map("=".join, (*each.match.headers, *each.match.query))]).strip():
            each.service for each in routes}


def test_method_then_headers_then_parameters():
    wanted = [match("GET"), match(headers="a=1 b=2"), match(headers="A=1", query="q=1"), match(headers="a=1"),
              match(query="q=1 r=2"), match(query="q=1"), {}]
    site = GatewaySite(gateway("web"), http_route(
        "r", *(rule(backend("v1"), matches=[each]) for each in reversed(wanted))))
    assert list(served(site)) == ["GET", "a=1 b=2", "a=1 q=1", "a=1", "q=1 r=2", "q=1", ""]


def test_of_equal_rank_the_older_one_comes_first():
    old, young = (rule(backend(name), matches=[match(headers=text)])
                  for name, text in (("v1", "a=1"), ("v2", "b=1")))
    site = GatewaySite(gateway("web"), http_route("young", young, created="2026-01-03T00:00:00Z"),
                       http_route("old", old, created="2026-01-02T00:00:00Z"))
    assert list(served(site).items()) == [("a=1", "v1"), ("b=1", "v2")]
    site.put(http_route("old", old, created="2026-01-04T00:00:00Z"))
    assert list(served(site).items()) == [("b=1", "v2"), ("a=1", "v1")]
    site.put(gone=(("HTTPRoute", "young"),))
    assert list(served(site).items()) == [("a=1", "v1")]


def test_the_same_match_is_that_of_the_older_one():
    site = GatewaySite(
        gateway("web"), *(http_route(name, rule(backend(name), matches=[match(headers=text)]),
                                     created=f"2026-01-0{number}T00:00:00Z")
                          for number, (name, text) in enumerate((("v1", "A=1"), ("v2", "a=1")), 1)))
    assert served(site) == {"a=1": "v1"}


def test_in_one_httproute_the_first_rule_comes_first():
    site = GatewaySite(gateway("web"), http_route(
        "r", rule(backend("v2"), matches=[match(headers="b=1"), match(headers="c=1")]),
        rule(backend("v1"), matches=[match(headers="a=1")])))
    assert list(served(site).items()) == [("b=1", "v2"), ("c=1", "v2"), ("a=1", "v1")]


def test_values_of_one_header_need_no_order_and_have_no_bound():
    site = GatewaySite(gateway("web"), *(http_route(f"r{number}", rule(
        backend("v1"), matches=[match(headers=f"user={number}")])) for number in range(3 * MOST_TIES)))
    assert len(served(site)) == 3 * MOST_TIES
    assert {each.match.ties for each in site.routes.values()} == {0}


def many(namespace: str, count: int, **more) -> list[dict]:
    """HTTPRoutes that look at different headers."""
    return [http_route(f"r{number:02}", rule(backend("v1", namespace="infra"), matches=[
        match(headers=f"{namespace}{number}=1")]), namespace=namespace,
        parents=({"namespace": "infra", "name": "web"},), **more) for number in range(count)]


def refused(site: GatewaySite) -> list[str]:
    """Namespaces of the HTTPRoutes with a Route that is refused."""
    return sorted(each.origin.key.namespace for each in site.routes.values() if each.option_refusal)


OPEN = gateway("web", listener(namespaces=EVERYWHERE))
PERMITS = tuple(grant(name, "infra", ("HTTPRoute", name), ("", "Service", "")) for name in "abc")


def test_one_that_needs_more_places_than_there_are_is_refused_by_itself():
    """A namespace has its share, and all together have as many as there are."""
    routes = many("a", MOST_OWN_TIES + 3)
    site = GatewaySite(OPEN, *PERMITS, *routes)
    assert (len(served(site)), refused(site)) == (MOST_OWN_TIES, ["a"] * 3)
    site.put(*(replaced(each) for each in routes[:1]))
    assert (len(served(site)), refused(site)) == (MOST_OWN_TIES, ["a"] * 2)
    whole = GatewaySite(OPEN, *PERMITS, *(each for name in "abc" for each in many(name, MOST_OWN_TIES)))
    assert (len(served(whole)), refused(whole)) == (MOST_TIES, ["c"] * MOST_OWN_TIES)


def replaced(route: dict) -> dict:
    """The HTTPRoute on another Gateway."""
    return route | {"spec": route["spec"] | {"parentRefs": [{"name": "other"}]}}


def test_a_namespace_leaves_places_for_others():
    """Older ones, and more than there are places."""
    site = GatewaySite(OPEN, *PERMITS, *many("a", 2 * MOST_TIES, created="2026-01-01T00:00:00Z"),
                       *many("b", MOST_OWN_TIES, created="2026-01-02T00:00:00Z"))
    assert set(refused(site)) == {"a"}
    assert len(served(site)) == 2 * MOST_OWN_TIES
