"""Who holds a host, with the source of each row. Upstream is openshift/router, host_admitter_test.go.

Its fuzz tests list for each Route the older ones that keep it out; the chain that follows there, UniqueHost,
keeps out a second Route of the same spec.host and path. Judged from scratch, a Route is admitted when none
of these is admitted itself. Hosts have ".zone" behind them here: ours need a domain.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router import admission, claims, contests
from f5router.admission import CLAIMED, INVALID_HOST, NOT_ADMITTED, Settings
from f5router.cluster import Key
from tests import strategies
from tests.builders import route

WILD = Settings(wildcards=True)
FREE = Settings(wildcards=True, ownership=False)

# namespace/name, host, path, wildcard, second of its creation, the older ones that keep it out
OWNED = [
    ("1/1", "net", "", False, 0, ""),
    ("1/2", "net", "", True, 1, ""),
    ("1/3", "www.same.net", "", False, 2, ""),
    ("1/4", "www.same.net", "", True, 3, ""),
    ("1/5", "foo.same.net", "", True, 4, "1/4"),
    ("2/1", "com", "", False, 10, "1/2"),
    ("2/2", "com", "", True, 11, "1/1 1/2"),
    ("2/3", "www.same.com", "", False, 12, ""),
    ("2/4", "www.same.com", "", True, 13, ""),
    ("2/5", "www.same.com", "/abc", True, 13, ""),
    ("2/6", "foo.same.com", "", True, 14, "2/4"),
    ("2/7", "foo.same.com", "/abc", True, 14, "2/5"),
    ("3/1", "net", "", False, 20, "1/1 1/2 2/2"),
    ("3/2", "net", "", True, 21, "1/1 1/2 2/1 2/2"),
    ("3/3", "net", "/p1", True, 22, "1/1 1/2 2/1 2/2"),
    ("3/4", "com", "", False, 23, "1/2 2/1 2/2"),
    ("3/5", "com", "", True, 24, "1/1 1/2 2/1 2/2 3/2"),
    ("3/6", "com", "/p1/p2", True, 25, "1/1 1/2 2/1 2/2"),
    ("4/1", "domain1.com", "", False, 30, ""),
    ("5/1", "domain1.com", "", False, 31, "4/1"),
    ("4/2", "domain1.com", "", False, 32, "4/1 5/1"),
    ("5/2", "domain1.com", "", False, 33, "4/1 5/1 4/2"),
    ("6/1", "foo.domain1.com", "", True, 40, ""),
    ("7/1", "bar.domain1.com", "", True, 50, "6/1"),
    ("7/2", "bar.domain1.com", "", False, 51, "6/1"),
    ("7/3", "bar.domain1.com", "/foo", False, 51, "6/1"),
    ("8/1", "baz.domain1.com", "", True, 60, "6/1 7/1 7/2 7/3"),
    ("8/2", "baz.domain1.com", "", False, 61, "6/1 7/1"),
    ("9/1", "foo.domain2.com", "", False, 40, ""),
    ("10/1", "bar.domain2.com", "", True, 50, "9/1"),
    ("10/2", "bar.domain2.com", "", False, 51, ""),
    ("10/3", "foo.domain2.com", "", False, 52, "9/1"),
    ("10/4", "foo.domain2.com", "/p1", False, 53, "9/1"),
    ("10/5", "foo.domain2.com", "/p2", False, 54, "9/1"),
    ("10/6", "foo.domain2.com", "/p1/p2/other", False, 55, "9/1"),
    ("10/7", "foo.domain2.com", "/someother", False, 56, "9/1"),
    ("11/1", "baz.domain2.com", "", True, 60, "9/1 10/1 10/2 10/3 10/4 10/5 10/6 10/7"),
    ("11/2", "baz.domain2.com", "", False, 61, "10/1"),
    ("12/1", "foo.domain3.com", "", False, 70, ""),
    ("12/2", "bar.domain3.com", "/abc", False, 71, ""),
    ("13/1", "foo.domain3.com", "", True, 80, "12/1 12/2"),
    ("13/2", "bar.domain3.com", "", False, 81, "12/2"),
    ("13/3", "bar.domain3.com", "/abc", False, 82, "12/2"),
    ("13/4", "bar.domain3.com", "/def", False, 83, "12/2"),
    ("13/5", "wild.domain3.com", "/aces", True, 84, "12/1 12/2"),
    ("13/6", "wild.domain3.com", "", True, 85, "12/1 12/2 13/1"),
    ("14/1", "foo.domain3.com", "", False, 90, "12/1 13/1 13/5 13/6"),
    ("14/2", "bar.domain3.com", "", False, 91, "12/2 13/1 13/2 13/3 13/4 13/5 13/6"),
    ("15/1", "foo.domain4.com", "", False, 100, ""),
    ("15/2", "foo.domain4.com", "/abc", False, 101, ""),
    ("15/3", "foo.domain4.com", "", False, 102, "15/1"),
    ("15/4", "foo.domain4.com", "/abc", False, 103, "15/2"),
    ("15/5", "www.domain4.com", "", True, 104, ""),
    ("15/6", "www.domain4.com", "/abc", True, 105, ""),
    ("15/7", "www.domain4.com", "", True, 106, "15/5"),
    ("15/8", "www.domain4.com", "/abc", True, 107, "15/6"),
    ("15/9", "www.domain4.com", "/def", True, 108, ""),
    ("15/10", "www.domain4.com", "/def", True, 109, "15/9"),
]
SHARED = [
    ("1/1", "org", "", True, 0, ""),
    ("1/2", "org", "/p1", False, 1, ""),
    ("1/3", "www.w3.org", "", False, 2, ""),
    ("1/4", "www.w3.org", "/p1", True, 3, ""),
    ("1/5", "info", "", False, 4, ""),
    ("2/1", "info", "/p1", False, 10, ""),
    ("2/2", "www.server.info", "", False, 11, ""),
    ("2/3", "www.server.info", "/p1", False, 12, ""),
    ("2/4", "wild.server.info", "", True, 13, ""),
    ("2/5", "wilder.server.info", "/p1", True, 14, ""),
    ("2/6", "org", "/other", False, 15, ""),
    ("3/1", "org", "", True, 20, "1/1"),
    ("3/2", "org", "/p1", False, 21, "1/2"),
    ("3/3", "org", "", True, 22, "1/1 3/1"),
    ("3/4", "info", "", True, 23, "1/1 1/5 3/1 3/3"),
    ("4/1", "www.server.info", "", False, 24, "2/2"),
    ("4/2", "www.server.info", "/p1", False, 25, "2/3"),
    ("4/3", "wild.server.info", "", True, 26, "2/4"),
    ("4/4", "wild.server.info", "", True, 27, "2/4 4/3"),
    ("4/5", "wilder.server.info", "/p1", True, 28, "2/5"),
    ("5/1", "org", "/abc", True, 30, ""),
    ("5/2", "www.server.info", "/xyz", False, 31, ""),
    ("5/3", "www.server.info", "/abc/xyz", True, 32, ""),
    ("6/1", "somedomain.org", "", False, 40, ""),
    ("7/1", "somedomain.org", "", False, 41, "6/1"),
    ("6/2", "somedomain.org", "", False, 42, "6/1 7/1"),
    ("7/2", "somedomain.org", "", False, 43, "6/1 7/1 6/2"),
    ("8/1", "foo.somedomain.org", "", True, 50, ""),
    ("8/2", "foo.somedomain.org", "/path1", True, 51, ""),
    ("9/1", "foo.somedomain.org", "", True, 52, "8/1"),
    ("9/2", "foo.somedomain.org", "/path1", True, 53, "8/2"),
    ("9/3", "bar.somedomain.org", "", False, 54, ""),
    ("10/1", "baz.somedomain.org", "", True, 55, "8/1 9/1"),
    ("10/2", "foo.somedomain.org", "", True, 56, "8/1 9/1 10/1"),
    ("10/3", "bar.somedomain.org", "", False, 57, "9/3"),
    ("10/4", "bar.somedomain.org", "/path2", False, 58, ""),
]


def built(row):
    name, host, path, wildcard, age, _ = row
    namespace, number = name.split("/")
    made = route(
        f"r{number}", namespace=f"ns{namespace}", host=f"{host}.zone", path=path, wildcard=wildcard, age=age
    )
    return replace(made, uid=f"{age:04}_{namespace:>4}_{number:>4}")


def expected(rows) -> dict[str, bool]:
    """Whether a Route is admitted, by the lists of upstream."""
    admitted: dict[str, bool] = {}
    for row in sorted(rows, key=lambda row: built(row).age):
        name, host, path, _, _, against = row
        taken = [
            r[0] for r in rows if admitted.get(r[0]) and (r[0] in against.split() or r[1:3] == (host, path))
        ]
        admitted[name] = not taken
    return admitted


def verdicts(routes, found: Settings):
    """Reason by name, "" for admitted; every subdomain by itself."""
    spaces: dict = {}
    for one in routes:
        checked = admission.check(one, found)
        spaces.setdefault(checked.subdomain, []).append(checked)
    judged = {}
    for checked in spaces.values():
        judged |= claims.judge(checked, ownership=found.ownership).verdicts
    return {
        f"{key.namespace}/{key.name}".replace("ns", "").replace("r", ""): r.reason if r else ""
        for key, r in judged.items()
    }


def compare(rows, found: Settings) -> None:
    reasons = verdicts(map(built, rows), found)
    assert {name: not reason for name, reason in reasons.items()} == expected(rows)
    assert set(reasons.values()) <= {"", CLAIMED}


@pytest.mark.parametrize(
    ("rows", "found", "number"),
    [*((OWNED, WILD, n) for n in range(len(OWNED))), *((SHARED, FREE, n) for n in range(len(SHARED)))],
    ids=[f"TestInvalidRouteAdmissionFuzzing {row[0]}" for row in OWNED]
    + [f"TestDisableOwnershipChecksFuzzing {row[0]}" for row in SHARED],
)
def test_upstream(rows, found, number):
    """Each Route with those that keep it out, and with all of them."""
    row = rows[number]
    compare([row], found)
    for other in row[5].split():
        compare([row, next(r for r in rows if r[0] == other)], found)
    compare(rows[: number + 1], found)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([(OWNED, WILD), (SHARED, FREE)]), st.data())
def test_upstream_whatever_is_there(table, data):
    rows, found = table
    some = data.draw(st.lists(st.sampled_from(rows), unique_by=lambda row: row[0], max_size=25))
    compare(some, found)


def two(*routes, found=WILD):
    return verdicts(routes, found)


MINE, THEIRS = {"namespace": "ns1"}, {"namespace": "ns2", "age": 1}
A, B = "1/a", "2/b"
ROWS = [
    # source, Routes, settings, reasons
    (
        "seed 001: the owner of a host owns its subdomain",
        [route("a", host="www.abc.xyz", **MINE), route("b", host="wild.abc.xyz", wildcard=True, **THEIRS)],
        WILD,
        {A: "", B: CLAIMED},
    ),
    (
        "seed 001: another path of the host",
        [route("a", host="www.abc.xyz", **MINE), route("b", host="www.abc.xyz", path="/p1/p2", **THEIRS)],
        WILD,
        {A: "", B: CLAIMED},
    ),
    (
        "seed 001: the owner of a subdomain owns its hosts",
        [route("a", host="wild.abc.xyz", wildcard=True, **MINE), route("b", host="z.abc.xyz", **THEIRS)],
        WILD,
        {A: "", B: CLAIMED},
    ),
    (
        "seed 001: check disabled, another path",
        [route("a", host="www.abc.xyz", **MINE), route("b", host="www.abc.xyz", path="/p1/p2", **THEIRS)],
        FREE,
        {A: "", B: ""},
    ),
    (
        "seed 001: check disabled, a wildcard",
        [
            route("a", host="www.abc.xyz", **MINE),
            route("b", host="wildthing.abc.xyz", wildcard=True, **THEIRS),
        ],
        FREE,
        {A: "", B: ""},
    ),
    (
        "seed 001: check disabled, the same host and path",
        [
            route("a", host="www.abc.xyz", path="/p1/p2", **MINE),
            route("b", host="www.abc.xyz", path="/p1/p2", **THEIRS),
        ],
        FREE,
        {A: "", B: CLAIMED},
    ),
    (
        "seed 000: wildcards off",
        [route("a", host="wildcard.example.com", wildcard=True, **MINE)],
        Settings(),
        {A: NOT_ADMITTED},
    ),
    (
        "seed 000: wildcards on",
        [route("a", host="wildcard.example.com", wildcard=True, **MINE)],
        WILD,
        {A: ""},
    ),
    (
        "TestWildcardSubDomainOwnership: an older host bounces a wildcard",
        [
            route("b", host="api.namespace.test", namespace="ns2"),
            route("a", host="owner.namespace.test", wildcard=True, namespace="ns1", age=1),
        ],
        WILD,
        {A: CLAIMED, B: ""},
    ),
    (
        "TestWildcardSubDomainOwnership: deeper names are another subdomain",
        [route("a", host="wild.abc.xyz", wildcard=True, **MINE), route("b", host="a.z.abc.xyz", **THEIRS)],
        WILD,
        {A: "", B: ""},
    ),
    (
        "TestWildcardSubDomainOwnership: the domain itself is another subdomain",
        [route("a", host="wild.abc.xyz", wildcard=True, **MINE), route("b", host="abc.xyz", **THEIRS)],
        WILD,
        {A: "", B: ""},
    ),
    (
        "parity 3.2: a wildcard and a host of one namespace",
        [
            route("a", host="wild.abc.xyz", wildcard=True, **MINE),
            route("b", host="www.abc.xyz", namespace="ns1", age=1),
        ],
        WILD,
        {A: "", "1/b": ""},
    ),
    (
        "parity 3.2: without the flag a wildcard keeps nobody out",
        [route("a", host="wild.abc.xyz", wildcard=True, **MINE), route("b", host="www.abc.xyz", **THEIRS)],
        Settings(),
        {A: NOT_ADMITTED, B: ""},
    ),
    (
        "parity 3.2: equal age, smaller uid",
        [
            replace(route("b", host="w.abc.xyz", namespace="ns2"), uid="1"),
            replace(route("a", host="w.abc.xyz", wildcard=True, namespace="ns1"), uid="2"),
        ],
        WILD,
        {A: CLAIMED, B: ""},
    ),
    (
        "parity 3.3: passthrough beside TLS of a wildcard",
        [
            route("a", host="a.abc.xyz", wildcard=True, kind="passthrough", **MINE),
            route("b", host="b.abc.xyz", wildcard=True, kind="edge", path="/x", namespace="ns1", age=1),
        ],
        WILD,
        {A: "", "1/b": CLAIMED},
    ),
    (
        "parity 3.3: passthrough wildcard, plain path",
        [
            route("a", host="a.abc.xyz", wildcard=True, kind="passthrough", **MINE),
            route("b", host="a.abc.xyz", wildcard=True, path="/x", namespace="ns1", age=1),
        ],
        WILD,
        {A: "", "1/b": ""},
    ),
    (
        "issue: exact host before wildcard, also of passthrough",
        [
            route("a", host="a.abc.xyz", wildcard=True, kind="passthrough", **MINE),
            route("b", host="b.abc.xyz", kind="edge", namespace="ns1", age=1),
        ],
        WILD,
        {A: "", "1/b": ""},
    ),
    (
        "docs/routes.md: an invalid wildcard keeps its claim",
        [
            route("a", host="a.abc.xyz", wildcard=True, kind="edge", certificate="x", **MINE),
            route("b", host="b.abc.xyz", **THEIRS),
        ],
        WILD,
        {A: admission.INVALID, B: CLAIMED},
    ),
    ("issue: * as a host", [route("a", host="*", wildcard=True, **MINE)], WILD, {A: INVALID_HOST}),
    (
        "upstream GetDomainForHost: no domain",
        [route("a", host="org", wildcard=True, **MINE)],
        WILD,
        {A: INVALID_HOST},
    ),
    (
        "names.band: 20 labels",
        [
            route("a", host=".".join("a" * 21), wildcard=True, **MINE),
            route("b", host=".".join("b" * 22), wildcard=True, **THEIRS),
        ],
        WILD,
        {A: "", B: INVALID_HOST},
    ),
    (
        "issue: names that differ only in case",
        [route("a", host="Wild.abc.xyz", wildcard=True, **MINE), route("b", host="wild.abc.xyz", **THEIRS)],
        WILD,
        {A: INVALID_HOST, B: ""},
    ),
    (
        "parity 3.2: a denied wildcard claims nothing",
        [route("a", host="wild.abc.xyz", wildcard=True, **MINE), route("b", host="www.abc.xyz", **THEIRS)],
        replace(WILD, denied=frozenset({"wild.abc.xyz"})),
        {A: NOT_ADMITTED, B: ""},
    ),
]


@pytest.mark.parametrize(("source", "routes", "found", "reasons"), ROWS, ids=[row[0] for row in ROWS])
def test_rules(source, routes, found, reasons):
    names = {f"{r.key.namespace[2:]}/{r.key.name}" for r in routes}
    judged: dict = {}
    for one in routes:
        checked = admission.check(one, found)
        judged.setdefault(checked.subdomain, []).append(checked)
    got = {}
    for checked in judged.values():
        got |= claims.judge(checked, ownership=found.ownership).verdicts
    assert {f"{key.namespace[2:]}/{key.name}": r.reason if r else "" for key, r in got.items()} == reasons
    assert names == reasons.keys()


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        (
            [route("a", host="w.d.e", **MINE), route("b", host="x.d.e", wildcard=True, **THEIRS)],
            "spec.host: a route in another namespace holds a host of *.d.e and is older than b",
        ),
        (
            [route("a", host="w.d.e", wildcard=True, **MINE), route("b", host="x.d.e", **THEIRS)],
            "spec.host: a route in another namespace holds *.d.e and is older than b",
        ),
        (
            [route("a", host="w.d.e", **MINE), route("b", host="w.d.e", path="/x", **THEIRS)],
            "spec.host: a route in another namespace holds w.d.e and is older than b",
        ),
        (
            [
                route("a", host="w.d.e", wildcard=True, **MINE),
                route("b", host="x.d.e", wildcard=True, namespace="ns1", age=1),
            ],
            "spec.host: route a already exposes *.d.e and is older",
        ),
    ],
)
def test_messages(routes, words):
    """They name no other tenant, and none of its Routes."""
    judged = claims.judge([admission.check(r, WILD) for r in routes], ownership=True).verdicts
    assert judged[routes[1].key].message == words


STEPS = st.lists(st.tuples(strategies.routes(), st.booleans(), st.booleans()), max_size=25)
"""Routes, whether they are there, and whether what changed is looked at now."""


@settings(max_examples=300, deadline=None)
@given(STEPS, st.sampled_from([WILD, FREE, Settings(), Settings(ownership=False)]), st.randoms())
def test_the_order_of_events_does_not_matter(steps, found, random):
    """After every event, whatever came before: the verdicts of judging what is there from scratch."""
    kept, there, seen = contests.Contests(ownership=found.ownership), {}, {}
    for one, present, now in steps:
        there.pop(one.key, None)
        if present:
            there[one.key] = one
        kept.put(one.key, admission.check(one, found) if present else None)
        if not now:
            continue
        for host, routes, contest in kept.take():
            assert contest.verdicts.keys() == routes.keys()
            seen[host] = contest
        shuffled = list(there.values())
        random.shuffle(shuffled)
        spaces: dict = {}
        for other in shuffled:
            checked = admission.check(other, found)
            spaces.setdefault(checked.subdomain, []).append(checked)
        whole = {space: claims.judge(checked, ownership=found.ownership) for space, checked in spaces.items()}
        for space, checked in spaces.items():
            for other in checked:
                assert seen[other.host].verdicts[other.route.key] == whole[space].verdicts[other.route.key]
                assert seen[other.host].passthrough == whole[space].passthrough
        assert {key for contest in seen.values() for key in contest.verdicts} == there.keys()


@settings(max_examples=200, deadline=None)
@given(st.lists(strategies.routes(), max_size=10, unique_by=lambda r: r.key))
def test_nobody_gets_a_host_of_another(routes):
    """With ownership, what is admitted in a subdomain with a wildcard is of one namespace."""
    spaces: dict = {}
    for one in routes:
        checked = admission.check(one, WILD)
        spaces.setdefault(checked.subdomain, []).append(checked)
    for checked in spaces.values():
        judged = claims.judge(checked, ownership=True).verdicts
        held = [c for c in checked if judged[c.route.key] is None]
        if any(c.wildcard for c in held):
            assert len({c.route.key.namespace for c in held}) == 1
        for host in {c.host for c in held}:
            assert len({c.route.path for c in held if c.host == host}) == sum(c.host == host for c in held)


def test_an_event_costs_its_host_or_its_subdomain():
    """The Routes that are judged; without a wildcard not even those of the subdomain."""
    kept = contests.Contests(ownership=True)
    many = [
        route(f"{host}{n}", host=f"h{n}.{host}", path=path)
        for n in range(50)
        for host in ("a.test", "b.test")
        for path in ("",)
    ]
    many += [route(f"p{n}", host="h1.a.test", path=f"/{n}") for n in range(3)]
    for one in many:
        kept.put(one.key, admission.check(one, WILD))
    assert len({host for host, _, _ in kept.take()}) == 100
    assert kept.judged == 103

    def event(one, present=True) -> tuple[int, set[str]]:
        before = kept.judged
        kept.put(one.key, admission.check(one, WILD) if present else None)
        hosts = {host for host, _, _ in kept.take()}
        return kept.judged - before, hosts

    assert event(replace(many[0], service="api")) == (1, {"h0.a.test"})
    assert event(route("p9", host="h1.a.test", path="/9")) == (5, {"h1.a.test"})
    wild = route("wild", host="x.a.test", wildcard=True, age=1)
    assert event(wild) == (55, {"*.a.test"})
    assert event(replace(many[0], service="web")) == (55, {"h0.a.test"})
    assert event(replace(many[1], service="api")) == (1, {"h0.b.test"})
    foreign = route("f", namespace="bank", host="y.a.test", age=2)
    assert event(foreign) == (56, {"y.a.test"})
    assert event(wild, present=False) == (55, {"*.a.test", "y.a.test"})
    assert event(replace(many[0], service="api")) == (1, {"h0.a.test"})
    assert Key("bank", "f") in kept.routes()
