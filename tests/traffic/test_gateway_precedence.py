"""Any HTTPRoutes on a Gateway: each request gets the pod that the specification's precedence says.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go: HTTPRouteSpec.Hostnames and
HTTPRouteRule.Matches. Requests for a host go to HTTPRoutes of its most specific hostname alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from f5router.app.timing import Timing
from tests.examples import examples
from tests.gateways import backend, gateway, gateway_class, http_route, listener, rule
from tests.traffic import clients

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway"}
MOST_ROUTES, MOST_RULES = 3, 3
SERVICES = [f"s{number}" for number in range(MOST_ROUTES * MOST_RULES)]
LISTENERS = [("",), ("*.test", "a.test"), ("*.x.test", "*.test", "")]
HOSTNAMES = [(), (), (), ("a.test",), ("*.test",), ("x.a.test", "*.x.test"), ("*.a.test", "a.test"),
             ("b.x.test",)]
HOSTS = ["a.test", "b.test", "x.a.test", "y.x.a.test", "b.x.test", "test", "other.org"]
PATHS = ["/", "/a", "/a/", "/a/b", "/ab", "/a/b/c"]


@dataclass(frozen=True)
class Match:
    kind: str
    path: str
    method: str
    headers: tuple[tuple[str, str], ...]
    query: tuple[tuple[str, str], ...]

    def json(self) -> dict:
        obj: dict = {"path": {"type": self.kind, "value": self.path}}
        obj |= {"method": self.method} if self.method else {}
        for field, pairs in (("headers", self.headers), ("queryParams", self.query)):
            obj[field] = [{"name": name, "value": value} for name, value in pairs]
        return obj

    def holds(self, asked: "Asked") -> bool:
        prefix = self.path.rstrip("/")
        fits = asked.path == self.path if self.kind == "Exact" else (
            asked.path == prefix or asked.path.startswith(f"{prefix}/"))
        return (fits and self.method in ("", asked.method) and set(self.headers) <= set(asked.headers)
                and set(self.query) <= set(asked.query))


@dataclass(frozen=True)
class Asked:
    host: str
    path: str
    method: str
    headers: tuple[tuple[str, str], ...]
    query: tuple[tuple[str, str], ...]

    def send(self, address) -> clients.Seen:
        query = "&".join(map("=".join, self.query))
        return clients.plain(address, self.host, f"{self.path}?{query}" if query else self.path,
                             method=self.method, headers=[": ".join(pair) for pair in self.headers])


@dataclass(frozen=True)
class Given:
    """An HTTPRoute: hostnames, age, and the matches of each rule."""

    hostnames: tuple[str, ...]
    age: int
    rules: tuple[tuple[Match, ...], ...]

    def json(self, number: int) -> dict:
        return http_route(f"r{number}", *(
            rule(backend(SERVICES[number * MOST_RULES + count]), matches=[match.json() for match in matches])
            for count, matches in enumerate(self.rules)),
            hostnames=self.hostnames, created=f"2026-01-0{self.age + 1}T00:00:00Z")


def _pairs(*pairs: tuple[str, str]) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    """Some of these pairs, each name once."""
    return st.lists(st.sampled_from(pairs), max_size=2, unique_by=lambda pair: pair[0]).map(tuple)


HEADERS, QUERY = _pairs(("x", "1"), ("x", "2"), ("y", "1")), _pairs(("q", "1"), ("r", "1"))
PLACES = st.sampled_from(["/", "/", "/a", "/a/", "/a/b", "/ab"])
MATCHES = st.builds(
    Match, st.sampled_from(["PathPrefix", "PathPrefix", "Exact"]), PLACES,
    st.sampled_from(["", "", "GET", "POST"]), HEADERS, QUERY) | st.builds(
    Match, st.just("PathPrefix"), PLACES, st.just(""), st.sampled_from([(("x", "1"),), (("y", "1"),)]),
    st.just(()))
"""Many are of one rank, and need the order by age."""
RULES = st.lists(st.lists(MATCHES, min_size=1, max_size=2).map(tuple), min_size=1, max_size=MOST_RULES)
ROUTES = st.lists(st.builds(Given, st.sampled_from(HOSTNAMES), st.integers(0, 2), RULES.map(tuple)),
                  min_size=1, max_size=MOST_ROUTES)
SENT = HEADERS | st.sampled_from([(("x", "1"), ("y", "1")), (("x", "2"), ("y", "1"))])
REQUESTS = st.lists(st.builds(Asked, st.sampled_from(HOSTS), st.sampled_from(PATHS),
                              st.sampled_from(["GET", "POST"]), SENT, QUERY), min_size=8, max_size=16)
"""Requests with more headers than matches mostly have, so that several matches fit."""


def covers(pattern: str, name: str) -> bool:
    """True if a hostname stands for a host, or for all that a wildcard does."""
    return pattern in ("", name) or (pattern.startswith("*") and name.lstrip("*").endswith(pattern[1:])
                                     and pattern[1:] != name)


def specificity(name: str) -> tuple[bool, int]:
    return bool(name) and not name.startswith("*"), len(name)


def hostnames(route: Given, of: str) -> Iterator[str]:
    """The hostnames that an HTTPRoute has on a listener."""
    for name in route.hostnames or ("",):
        if covers(of, name):
            yield name
        elif covers(name, of):
            yield of


def service_for(routes: list[Given], listeners: tuple[str, ...], asked: Asked) -> str:
    """The Service of a request, or 404."""
    fitting = [name for name in listeners if covers(name, asked.host)]
    if not fitting:
        return "404"
    of = max(fitting, key=specificity)
    named = [(name, number, route) for number, route in enumerate(routes)
             for name in hostnames(route, of) if covers(name, asked.host)]
    best = max([of, *(name for name, *_ in named)], key=specificity)
    candidates = []
    for name, number, route in named:
        for count, matches in enumerate(route.rules):
            candidates += [((match.kind != "Exact", -len(match.path.rstrip("/")), not match.method,
                        -len(match.headers), -len(match.query), route.age, number, count),
                       SERVICES[number * MOST_RULES + count])
                      for match in matches if name == best and match.holds(asked)]
    return min(candidates)[1] if candidates else "404"


@pytest.fixture(scope="module")
def shared(shared_site_of):
    site = shared_site_of(address="", gateway_api="v1.6")
    site.timing = Timing(drain_s=0.0)  # no request is under way between examples
    for number, name in enumerate(SERVICES, 1):
        site.serve(name, f"10.1.{number}.1", namespace="infra")
    site.apply(gateway_class())
    return site


@settings(max_examples=examples(80), deadline=None)
@given(routes=ROUTES, listeners=st.sampled_from(LISTENERS), requests=REQUESTS)
def test_each_request_gets_the_pod_that_precedence_says(shared, routes, listeners, requests):
    """Also when the HTTPRoutes of another example are there before."""
    for obj in shared.kube.list("HTTPRoute"):
        if int(obj["metadata"]["name"][1:]) >= len(routes):
            shared.kube.delete("HTTPRoute", "infra", obj["metadata"]["name"])
    shared.apply(gateway("web", *(listener(f"l{number}", hostname=name)
                                  for number, name in enumerate(listeners))),
                 *(each.json(number) for number, each in enumerate(routes)))
    assert shared.converge(**FLAGS) == []
    for asked in requests:
        seen, wanted = asked.send(shared.http), service_for(routes, listeners, asked)
        note(str(asked))
        assert seen.pod.get("pod", str(seen.status)).partition("-")[0] == wanted
