"""Claims to all hosts below a domain, at any depth, beside those of other namespaces."""

import time
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.admission import admission
from f5router.admission.admission import AdmissionPolicy
from f5router.admission.claim_index import ClaimIndex
from f5router.model import hostnames
from f5router.model.cluster import Key
from tests.builders import route, virtual
from tests.examples import examples
from tests.rows import rows

POLICY = AdmissionPolicy(wildcards=False)


def deep(name: str, host: str, **more):
    """The Route of a Gateway for a wildcard; no setting needs to allow wildcards."""
    of = virtual(route(name, host=host, **more), "Gateway")
    return replace(of, wildcard_policy=hostnames.ANY_DEPTH)


def every(name: str, **more):
    """The Route of a Gateway for all hosts that nobody claims."""
    return replace(virtual(route(name, host="*", **more), "Gateway"), default_backend=True)


class Claims:
    """A ClaimIndex with its last results."""

    def __init__(self, *routes, ownership: bool = True):
        self._index = ClaimIndex(ownership=ownership)
        self.verdicts: dict[Key, bool] = {}
        self.around: dict[str, frozenset[str]] = {}
        self.passed: dict[str, tuple[bool, bool]] = {}
        self.put(*routes)

    def put(self, *routes, gone: tuple[Key, ...] = ()) -> "Claims":
        """Apply at once; returns itself."""
        for key in gone:
            self._index.put(key, None)
            self.verdicts.pop(key, None)
        for each in routes:
            self._index.put(each.key, admission.check(each, POLICY))
        for site, members, result in self._index.take():
            self.verdicts.update((key, result.verdicts[key] is None) for key in members)
            self.around.pop(site.host, None)
            self.passed.pop(site.host, None)
            if members:
                self.around[site.host] = result.around
                self.passed[site.host] = result.passes_below, result.is_passed_around
        return self

    def held(self, *routes) -> list[bool]:
        return [self.verdicts[each.key] for each in routes]


WILD = deep("web", "*.example.com", namespace="infra", age=5)


@rows(("host", "more", "first", "second"), [
    ("a.example.com", {"namespace": "infra", "age": 9}, True, True),
    ("a.example.com", {"namespace": "shop", "age": 9}, True, False),
    ("x.a.example.com", {"namespace": "infra", "age": 9}, True, True),
    ("x.a.example.com", {"namespace": "shop", "age": 9}, True, False),
    ("y.x.a.example.com", {"namespace": "shop", "age": 9}, True, False),
    ("a.example.com", {"namespace": "shop", "age": 1}, False, True),
    ("x.a.example.com", {"namespace": "shop", "age": 1}, True, True),
    ("example.com", {"namespace": "shop", "age": 9}, True, True),
    ("an-example.com", {"namespace": "shop", "age": 9}, True, True),
])
def test_who_holds_what(host, more, first, second):
    other = route("r", host=host, **more)
    for order in ((WILD, other), (other, WILD)):
        claims = Claims()
        for each in order:
            claims.put(each)
        assert claims.held(WILD, other) == [first, second]


def test_a_namespace_that_has_the_host_already_may_have_more_routes_of_it():
    old, young = (route(name, host="x.a.example.com", path=path, namespace="shop", age=age)
                  for name, path, age in (("old", "/a", 1), ("young", "", 9)))
    assert Claims(old, WILD, young).held(old, WILD, young) == [True, True, True]
    assert Claims(WILD, young).held(WILD, young) == [True, False]


def test_one_that_goes_gives_back_what_is_below():
    other = route("r", host="x.a.example.com", namespace="shop", age=9)
    claims = Claims(WILD, other)
    assert claims.around["x.a.example.com"] == {"infra"}
    claims.put(gone=(WILD.key,))
    assert (claims.held(other), claims.around["x.a.example.com"]) == ([True], frozenset())


def test_one_below_another_one():
    """The older one holds all below it; what is below a loser is held by nobody else for that."""
    below = deep("b", "*.a.example.com", namespace="shop", age=6)
    host = route("r", host="x.y.a.example.com", namespace="bank", age=9)
    claims = Claims(below, host)
    assert claims.held(below, host) == [True, False]
    claims.put(WILD)
    assert claims.held(WILD, below, host) == [True, False, False]
    claims.put(gone=(WILD.key,))
    assert claims.held(below, host) == [True, False]


@rows(("wildcard", "passed"), [
    (deep("w", "*.example.com", kind="passthrough", namespace="infra"),
     {"example.com": False, "a.example.com": True, "b.a.example.com": True, "*.a.example.com": True,
      "x": False}),
    (every("w", kind="passthrough", namespace="infra"),
     {"example.com": True, "b.a.example.com": True, "*.example.com": True, "x": True}),
    (deep("w", "*.example.com", kind="edge", namespace="infra"), {"b.a.example.com": False}),
])
def test_what_a_wildcard_passes_through(wildcard, passed):
    """Whoever comes first; once it goes, nothing."""
    hosts = [deep(host, host, namespace="infra", age=9) if host[0] == "*" else
             route(host, host=host, namespace="infra", age=9) for host in passed]
    for order in ((wildcard, *hosts), (*hosts, wildcard)):
        claims = Claims()
        for each in order:
            claims.put(each)
        of_domain = {host: any(claims.passed[host]) for host in passed}
        assert of_domain == passed
        claims.put(gone=(wildcard.key,))
        assert not any(any(claims.passed[host]) for host in passed)


def test_without_ownership_each_route_has_its_host():
    other = route("r", host="x.a.example.com", namespace="shop", age=9)
    claims = Claims(WILD, other, ownership=False)
    assert (claims.held(WILD, other), claims.around["x.a.example.com"]) == ([True, True], frozenset())


LABELS = st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map(".".join)


@st.composite
def _claim(draw, number):
    host, namespace = draw(LABELS), draw(st.sampled_from(["n1", "n2"]))
    more = {"namespace": namespace, "age": draw(st.integers(0, 4))}
    more["kind"] = draw(st.sampled_from(["", "passthrough", "edge"]))
    match draw(st.integers(0, 4)):
        case 0:
            return every(f"r{number}", **more)
        case 1 | 2:
            return deep(f"r{number}", f"*.{host}", **more)
        case _:
            return route(f"r{number}", host=draw(st.sampled_from([f"h.{host}", host])), **more)


@settings(max_examples=examples(200))
@given(st.data())
def test_the_order_of_events_does_not_matter(data):
    claims, present = Claims(), {}
    for _ in range(data.draw(st.integers(1, 8))):
        number = data.draw(st.integers(0, 4))
        if number in present and data.draw(st.booleans()):
            claims.put(gone=(present.pop(number).key,))
            continue
        gone = (present[number].key,) if number in present else ()
        present[number] = data.draw(_claim(number))
        claims.put(present[number], gone=gone)
    fresh = Claims(*present.values())
    assert (claims.verdicts, claims.around, claims.passed) == (fresh.verdicts, fresh.around, fresh.passed)


def test_thousands_of_wildcards():
    """Each costs what is below it, not what there is on the front end."""
    routes = [deep(f"r{number}", f"*.team{number}.example.com", namespace=f"team{number}")
              for number in range(3000)]
    begin = time.process_time()
    assert all(Claims(*routes).held(*routes))
    assert time.process_time() - begin < 2.0
