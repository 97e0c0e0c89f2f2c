"""Hostnames of listeners and routes, and the order of routes."""

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.sources.gateway import hosts
from tests.examples import examples
from tests.gateways import backend, gateway, http_route, listener, rule
from tests.rows import rows
from tests.unit.sources.gateway.site import GatewaySite

LABELS = st.sampled_from(["a", "b", "test"])
HOSTS = st.one_of(st.just(""), st.builds(
    lambda wildcard, labels: ("*." if wildcard else "") + ".".join(labels),
    st.booleans(), st.lists(LABELS, min_size=1, max_size=3)))


@rows(("first", "second", "shared"), [
    ("", "", ""), ("", "a.test", "a.test"), ("a.test", "", "a.test"), ("a.test", "a.test", "a.test"),
    ("a.test", "b.test", None), ("*.test", "a.test", "a.test"), ("*.test", "a.b.test", "a.b.test"),
    ("*.test", "test", None), ("*.test", "atest", None), ("*.test", "*.a.test", "*.a.test"),
    ("*.a.test", "*.b.test", None), ("", "*.test", "*.test"),
])
def test_intersection(first, second, shared):
    assert hosts.intersect(first, second) == hosts.intersect(second, first) == shared


@settings(max_examples=examples(300))
@given(HOSTS, HOSTS)
def test_what_two_have_in_common_is_matched_by_both(first, second):
    shared = hosts.intersect(first, second)
    assert shared == hosts.intersect(second, first)
    if shared is not None:
        assert hosts.matches(first, shared)
        assert hosts.matches(second, shared)
        assert shared in (first, second)


@rows(("host", "wanted"), [
    ("x.a.test", ["x.a.test", "*.a.test", "*.test", ""]),
    ("test", ["test", ""]),
    ("", [""]),
])
def test_the_most_specific_hostname_comes_first(host, wanted):
    """HTTPRouteRule.Matches: the longest that is no wildcard, then the longest."""
    assert list(hosts.patterns(host)) == wanted
    assert all(hosts.matches(pattern, host) for pattern in wanted)


@settings(max_examples=examples(60), deadline=None)
@given(st.permutations(range(5)), st.lists(st.sampled_from(["/", "/a", "/a/b"]), min_size=5, max_size=5),
       st.lists(st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"]), min_size=5, max_size=5))
def test_the_oldest_route_has_a_path_in_any_order_of_events(order, paths, created):
    names = [f"r{number}" for number in range(5)]
    routes = [http_route(name, rule(backend(name), paths=(path,)), created=at, hostnames=("a.test",))
              for name, path, at in zip(names, paths, created, strict=True)]
    site = GatewaySite(gateway("web", listener()), services=tuple(names))
    for number in order:
        site.put(routes[number])
    for path in set(paths):
        oldest = min((at, name) for name, each, at in zip(names, paths, created, strict=True) if each == path)
        assert site.served()["a.test", 80, "segments", path.rstrip("/")] == (oldest[1], "")


def test_the_most_specific_listener_has_the_requests_of_its_host():
    """Listener isolation: routes of the others do not answer there."""
    site = GatewaySite(
        gateway("web", listener("any"), listener("own", hostname="a.test")),
        http_route("r", rule(backend("v1")), parents=({"group": "gateway.networking.k8s.io",
                                                       "kind": "Gateway", "name": "web",
                                                       "sectionName": "any"},),
                   hostnames=("a.test", "b.test")))
    served = site.served()
    assert served["a.test", 80, "segments", ""] == ("", "answer.404.1000000")
    assert served["b.test", 80, "segments", ""] == ("v1", "")
