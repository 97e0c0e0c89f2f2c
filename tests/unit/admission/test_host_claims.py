"""Holders of hosts, with the source of each row. Upstream is openshift/router, host_admitter_test.go.

Its fuzz tests list for each Route the older ones that keep it out; the chain that follows there, UniqueHost,
keeps out a second Route of the same spec.host and path. Judged from scratch, a Route is admitted when none
of these is admitted itself. Hosts have ".zone" behind them here: ours need a domain.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.admission import admission, host_claims
from f5router.admission.admission import CLAIMED, INVALID_HOST, NOT_ADMITTED, AdmissionPolicy
from f5router.model.hostnames import Naming
from tests import strategies
from tests.builders import route

WILD = AdmissionPolicy(wildcards=True)
FREE = AdmissionPolicy(wildcards=True, ownership=False)

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


VALID = [
    ("1/1", "net", "", False, 0, ""),
    ("2/2", "com", "", False, 1, ""),
    ("3/3", "domain1.com", "", False, 2, ""),
    ("4/4", "domain2.com", "", False, 3, ""),
    ("5/5", "foo.domain1.com", "", False, 4, ""),
    ("6/6", "bar.domain1.com", "", False, 5, ""),
    ("7/7", "sub.foo.domain1.com", "", True, 6, ""),
    ("8/8", "sub.bar.domain1.com", "", True, 7, ""),
    ("8/9", "sub.bar.domain1.com", "/p1", True, 8, ""),
    ("8/10", "sub.bar.domain1.com", "/p2", True, 9, ""),
    ("8/11", "sub.bar.domain1.com", "/p1/p2/p3", True, 10, ""),
    ("9/12", "sub.bar.domain2.com", "", False, 11, ""),
    ("9/13", "sub.bar.domain2.com", "/p1", False, 12, ""),
    ("9/14", "sub.bar.domain2.com", "/p2", False, 13, ""),
]
DOMAINS = [
    ("1/first", "owner.namespace.test", "", True, 100, ""),
    ("2/diffnamespace", "www.namespace.test", "", False, 202, "1/first"),
    ("2/diffnamespacewildcard", "www.namespace.test", "", True, 202, "1/first"),
    ("3/diffns2", "www.namespace.test", "", False, 202, "1/first"),
    ("3/host2diffns2", "api.namespace.test", "", False, 203, "1/first"),
    ("3/host2diffns3", "api.namespace.test", "", True, 203, "1/first"),
    ("1/ownernshost", "api.namespace.test", "", False, 204, ""),
    ("1/ownernswildcardhost", "wild.namespace.test", "", True, 204, "1/first"),
    ("4/tldhost", "ns1.org", "", False, 0, ""),
    ("6/tldhostwildcard", "wild.play", "", True, 0, ""),
    ("7/yatldhost2", "vinyl.play", "", False, 1, "6/tldhostwildcard"),
    ("8/anothertldhostwildcard", "oscarwilde.com", "", True, 0, ""),
    ("7/yatldhostwildcard", "test.me", "", True, 0, ""),
    ("9/level2sub", "test.co.us", "", False, 0, ""),
    ("9/level2sub2", "unit.co.us", "", False, 0, ""),
    ("9/level2sub3", "qe.co.us", "", True, 0, ""),
    ("1/wildcard-owner", "wildcard.namespace.test", "", True, 200, "1/first"),
]


def built(row):
    name, host, path, wildcard, age, _ = row
    namespace, number = name.split("/")
    plain = route(number, namespace=namespace, host=f"{host}.zone", path=path, wildcard=wildcard, age=age)
    return replace(plain, uid=f"{age:04}_{namespace:>4}_{number:>4}")


def expected(rows) -> dict[str, bool]:
    """Return for each Route True if upstream's lists admit it."""
    admitted: dict[str, bool] = {}
    for row in sorted(rows, key=lambda row: built(row).age):
        name, host, path, _, _, against = row
        taken = [
            r[0] for r in rows if admitted.get(r[0]) and (r[0] in against.split() or r[1:3] == (host, path))
        ]
        admitted[name] = not taken
    return admitted


def judged(routes, policy: AdmissionPolicy):
    """Rejection or None by name; every subdomain by itself."""
    spaces: dict = {}
    for claimant in routes:
        checked = admission.check(claimant, policy)
        spaces.setdefault(checked.subdomain, []).append(checked)
    rejections = {}
    for checked in spaces.values():
        rejections |= host_claims.resolve(checked, ownership=policy.ownership).verdicts
    return {str(key): rejection for key, rejection in rejections.items()}


def verdicts(routes, policy: AdmissionPolicy):
    """Reason by name, "" for admitted."""
    return {name: r.reason if r else "" for name, r in judged(routes, policy).items()}


def compare(rows, policy: AdmissionPolicy) -> None:
    """Compare with upstream's verdicts; a holder is admitted, older than the loser, and another Route."""
    rejections, admitted = judged(map(built, rows), policy), expected(rows)
    assert {name: not rejection for name, rejection in rejections.items()} == admitted
    age = {row[0]: built(row).age for row in rows}
    for name, rejection in rejections.items():
        if rejection:
            assert rejection.reason == CLAIMED
            assert admitted[str(rejection.holder)]
            assert age[str(rejection.holder)] < age[name]
            assert str(rejection.holder) not in rejection.message


TABLES = {
    "TestInvalidRouteAdmissionFuzzing": (OWNED, WILD),
    "TestDisableOwnershipChecksFuzzing": (SHARED, FREE),
    "TestValidRouteAdmissionFuzzing": (VALID, WILD),
    "TestWildcardSubDomainOwnership": (DOMAINS, WILD),
}


@pytest.mark.parametrize(
    ("rows", "policy", "number"),
    [(rows, policy, number) for rows, policy in TABLES.values() for number in range(len(rows))],
    ids=[f"{source} {row[0]}" for source, (rows, _) in TABLES.items() for row in rows],
)
def test_upstream(rows, policy, number):
    """Each Route with those that keep it out, and with all of them."""
    row = rows[number]
    compare([row], policy)
    for other in row[5].split():
        compare([row, next(r for r in rows if r[0] == other)], policy)
    compare(rows[: number + 1], policy)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([(OWNED, WILD), (SHARED, FREE), (VALID, WILD)]), st.data())
def test_upstream_whatever_is_there(table, data):
    rows, policy = table
    some = data.draw(st.lists(st.sampled_from(rows), unique_by=lambda row: row[0], max_size=25))
    compare(some, policy)


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
        "seed 000: check disabled, the whole example",
        [
            route("r1", host="www.abc.xyz", **MINE),
            route("foo", host="foo.abc.xyz", namespace="ns4", age=1),
            route("r2", host="www.abc.xyz", path="/p1/p2", namespace="ns2", age=2),
            route("wild", host="wildthing.abc.xyz", wildcard=True, namespace="ns3", age=3),
            route("bar", host="bar.abc.xyz", namespace="ns5", age=4),
            route("rx", host="www.abc.xyz", path="/p1/p2", namespace="ns2", age=5),
            route("rx", host="www.abc.xyz", path="/p1/p2", namespace="ns6", age=5),
        ],
        FREE,
        {"1/r1": "", "4/foo": "", "2/r2": "", "3/wild": "", "5/bar": "", "2/rx": CLAIMED, "6/rx": CLAIMED},
    ),
    (
        "seed 000: the same with the check",
        [
            route("r1", host="www.abc.xyz", **MINE),
            route("foo", host="foo.abc.xyz", namespace="ns4", age=1),
            route("r2", host="www.abc.xyz", path="/p1/p2", namespace="ns2", age=2),
            route("wild", host="wildthing.abc.xyz", wildcard=True, namespace="ns3", age=3),
            route("wild", host="wildthing.abc.xyz", wildcard=True, namespace="ns1", age=3),
            route("bar", host="bar.abc.xyz", namespace="ns5", age=4),
        ],
        WILD,
        {"1/r1": "", "4/foo": "", "2/r2": CLAIMED, "3/wild": CLAIMED, "1/wild": CLAIMED, "5/bar": ""},
    ),
    (
        "parity 3.2: without a wildcard, hosts of one domain belong to whom they belong",
        [route("a", host="a.apps.xyz", **MINE), route("b", host="b.apps.xyz", **THEIRS)],
        WILD,
        {A: "", B: ""},
    ),
    (
        "seed 000: wildcards off",
        [route("a", host="wildcard.example.com", wildcard=True, **MINE)],
        AdmissionPolicy(),
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
        AdmissionPolicy(),
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
        "priority.priority_band: 20 labels",
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
        "parity 3.1: HostAdmitter comes first, so a denied host is told that, claimed or not",
        [route("a", host="w.abc.xyz", **MINE), route("b", host="w.abc.xyz", **THEIRS)],
        replace(WILD, denied=frozenset({"abc.xyz"})),
        {A: NOT_ADMITTED, B: NOT_ADMITTED},
    ),
    (
        "parity 3.1: a policy that nobody knows is told before the claim",
        [
            route("a", host="w.abc.xyz", **MINE),
            replace(route("b", host="w.abc.xyz", **THEIRS), wildcard_policy="All"),
        ],
        WILD,
        {A: "", B: NOT_ADMITTED},
    ),
    (
        "openshift/router #59: re-encrypt excludes a younger passthrough",
        [
            route("a", host="w.abc.xyz", kind="reencrypt", path="/foo", **MINE),
            route("b", host="w.abc.xyz", kind="passthrough", namespace="ns1", age=1),
        ],
        WILD,
        {A: "", "1/b": CLAIMED},
    ),
    (
        "openshift/router #57: passthrough excludes younger paths with TLS, not those without",
        [
            route("a", host="w.abc.xyz", kind="passthrough", **MINE),
            route("b", host="w.abc.xyz", kind="reencrypt", path="/foo", namespace="ns1", age=1),
            route("c", host="w.abc.xyz", path="/bar", namespace="ns1", age=2),
        ],
        WILD,
        {A: "", "1/b": CLAIMED, "1/c": ""},
    ),
    (
        "openshift/router #57: also without ownership",
        [
            route("a", host="w.abc.xyz", kind="passthrough", **MINE),
            route("b", host="w.abc.xyz", kind="edge", path="/foo", **THEIRS),
        ],
        FREE,
        {A: "", B: CLAIMED},
    ),
    (
        "parity 3.3: a Route that lost claims nothing, so the next one of its path may have it",
        [
            route("a", host="w.abc.xyz", kind="passthrough", **MINE),
            route("b", host="w.abc.xyz", kind="edge", path="/x", namespace="ns1", age=1),
            route("c", host="w.abc.xyz", path="/x", namespace="ns1", age=2),
        ],
        WILD,
        {A: "", "1/b": CLAIMED, "1/c": ""},
    ),
    (
        "parity 3.3: an older Route of another namespace that lost does not own the host",
        [
            route("w", host="x.abc.xyz", wildcard=True, **MINE),
            route("b", host="w.abc.xyz", namespace="ns2", age=1),
            route("c", host="w.abc.xyz", namespace="ns1", age=2),
        ],
        WILD,
        {"1/w": "", B: CLAIMED, "1/c": ""},
    ),
    (
        "parity 3.2: a denied wildcard claims nothing",
        [route("a", host="wild.abc.xyz", wildcard=True, **MINE), route("b", host="www.abc.xyz", **THEIRS)],
        replace(WILD, denied=frozenset({"wild.abc.xyz"})),
        {A: NOT_ADMITTED, B: ""},
    ),
]


@pytest.mark.parametrize(("source", "routes", "policy", "reasons"), ROWS, ids=[row[0] for row in ROWS])
def test_rules(source, routes, policy, reasons):
    names = {f"{r.key.namespace[2:]}/{r.key.name}" for r in routes}
    judged: dict = {}
    for claimant in routes:
        checked = admission.check(claimant, policy)
        judged.setdefault(checked.subdomain, []).append(checked)
    got = {}
    for checked in judged.values():
        got |= host_claims.resolve(checked, ownership=policy.ownership).verdicts
    assert {f"{key.namespace[2:]}/{key.name}": r.reason if r else "" for key, r in got.items()} == reasons
    assert names == reasons.keys()


HELD = "spec.host: a route in another namespace holds {} and is older than b"
OWN = {"namespace": "ns1", "age": 1}
MESSAGES = [
    # source, Routes of which the last one lost, ownership, what it is told
    (
        "upstream, HostAdmitter: an older host in the domain of a wildcard",
        [route("a", host="w.d.e", **MINE), route("b", host="x.d.e", wildcard=True, **THEIRS)],
        True,
        HELD.format("a host of *.d.e"),
    ),
    (
        "upstream, HostAdmitter: a host in the domain of an older wildcard",
        [route("a", host="w.d.e", wildcard=True, **MINE), route("b", host="x.d.e", **THEIRS)],
        True,
        HELD.format("*.d.e"),
    ),
    (
        "upstream, UniqueHost: the host of another namespace",
        [route("a", host="w.d.e", **MINE), route("b", host="w.d.e", path="/x", **THEIRS)],
        True,
        HELD.format("w.d.e"),
    ),
    (
        "upstream, UniqueHost: without ownership, another namespace's host and path",
        [route("secret", host="w.d.e", **MINE), route("b", host="w.d.e", **THEIRS)],
        False,
        HELD.format("w.d.e"),
    ),
    (
        "upstream, HostAdmitter: without ownership, another namespace's wildcard",
        [
            route("secret", host="w.d.e", wildcard=True, **MINE),
            route("b", host="x.d.e", wildcard=True, **THEIRS),
        ],
        False,
        HELD.format("*.d.e"),
    ),
    (
        "upstream, UniqueHost: the own namespace's host and path",
        [route("a", host="w.d.e", **MINE), route("b", host="w.d.e", **OWN)],
        True,
        "spec.host: route a already exposes w.d.e and is older",
    ),
    (
        "upstream, HostAdmitter: the own namespace's wildcard",
        [route("a", host="w.d.e", wildcard=True, **MINE), route("b", host="x.d.e", wildcard=True, **OWN)],
        True,
        "spec.host: route a already exposes *.d.e and is older",
    ),
    (
        "openshift/router #508: the Route in conflict, not any of the host",
        [
            route("a", host="w.d.e", path="/a", **MINE),
            route("c", host="w.d.e", path="/c", **MINE),
            route("b", host="w.d.e", path="/c", **OWN),
        ],
        True,
        "spec.host: route c already exposes w.d.e and is older",
    ),
    (
        "openshift/router #59: the oldest of several in conflict",
        [
            route("a", host="w.d.e", kind="edge", path="/a", **MINE),
            route("c", host="w.d.e", kind="edge", path="/c", **MINE),
            route("b", host="w.d.e", kind="passthrough", **OWN),
        ],
        True,
        "spec.host: route a already exposes w.d.e and is older",
    ),
]


@pytest.mark.parametrize(("source", "routes", "ownership", "words"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_messages(source, routes, ownership, words):
    """They name no other tenant, and none of its Routes."""
    judged = host_claims.resolve([admission.check(r, WILD) for r in routes], ownership=ownership).verdicts
    assert judged[routes[-1].key].message == words


PASSTHROUGH = {"wildcard": True, "kind": "passthrough"}


@pytest.mark.parametrize(
    ("routes", "passthrough"),
    [
        ([route("a", host="a.d.e", **PASSTHROUGH, **MINE)], True),
        ([route("a", host="a.d.e", wildcard=True, kind="edge", **MINE)], False),
        ([route("a", host="a.d.e", kind="passthrough", **MINE)], False),
        (
            [
                route("a", host="a.d.e", **PASSTHROUGH, **MINE),
                route("b", host="a.d.e", wildcard=True, path="/x", **OWN),
            ],
            True,
        ),
        ([route("a", host="a.d.e", **MINE), route("b", host="b.d.e", **PASSTHROUGH, **THEIRS)], False),
        ([route("a", host="a.d.e", path="/x", **PASSTHROUGH, **MINE)], False),
    ],
    ids=["passthrough", "edge", "no wildcard", "beside a path", "lost", "invalid"],
)
def test_the_wildcard_is_passthrough(routes, passthrough):
    """Only one that is served: hosts of the subdomain whose TLS ends here then need an exclusion record."""
    assert host_claims.resolve([admission.check(r, WILD) for r in routes],
                               ownership=True).passthrough == passthrough


@pytest.mark.parametrize(
    ("ownership", "routes", "owner"),
    [
        (True, [route("a", host="a.d.e", wildcard=True, **MINE)], "ns1"),
        (False, [route("a", host="a.d.e", wildcard=True, **MINE)], ""),
        (True, [route("a", host="a.d.e", **MINE)], ""),
        (True, [route("a", host="a.d.e", **MINE), route("b", host="b.d.e", wildcard=True, **THEIRS)], ""),
        (True, [route("a", host="a.d.e", wildcard=True, kind="edge", certificate="x", **MINE)], "ns1"),
    ],
    ids=["held", "without ownership", "no wildcard", "lost", "invalid by itself"],
)
def test_the_owner_of_a_subdomain(ownership, routes, owner):
    assert host_claims.resolve([admission.check(r, WILD) for r in routes], ownership=ownership).owner == owner


@settings(max_examples=200, deadline=None)
@given(st.lists(strategies.contenders(), max_size=12, unique_by=lambda r: r.key))
def test_nobody_gets_a_host_of_another(routes):
    """With ownership, what is admitted in a subdomain with a wildcard is of one namespace."""
    spaces: dict = {}
    for claimant in routes:
        checked = admission.check(claimant, WILD)
        spaces.setdefault(checked.subdomain, []).append(checked)
    for checked in spaces.values():
        judged = host_claims.resolve(checked, ownership=True).verdicts
        held = [c for c in checked if judged[c.route.key] is None]
        if any(c.wildcard for c in held):
            assert len({c.route.key.namespace for c in held}) == 1
        for host in {c.host for c in held}:
            assert len({c.route.path for c in held if c.host == host}) == sum(c.host == host for c in held)


def test_the_message_names_what_made_the_host():
    """A field, or the administrator's setting: else a team looks where nothing is to be changed."""
    old = route("old", host="a.x")
    named = replace(route("a", namespace="other", age=1), host="")
    for naming, new, source in (
        (Naming(template="${name}.x"), named, "--hostname-template"),
        (Naming(domain="x"), replace(named, subdomain="a"), "spec.subdomain"),
        (Naming(), replace(named, host="a.x"), "spec.host"),
    ):
        checked = [admission.check(route, AdmissionPolicy(naming=naming)) for route in (old, new)]
        rejection = host_claims.resolve(checked, ownership=True).verdicts[new.key]
        assert rejection.message.startswith(f"{source}: a route in another namespace holds a.x"), rejection
