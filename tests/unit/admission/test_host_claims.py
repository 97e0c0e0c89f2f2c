"""Holders of hosts, with the source of each row. Upstream is openshift/router, host_admitter_test.go."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.admission import admission, host_claims
from f5router.admission.admission import AdmissionPolicy
from f5router.model import findings
from f5router.model.findings import CLAIMED, INVALID_HOST, NOT_ADMITTED
from tests import strategies
from tests.builders import route
from tests.examples import examples
from tests.rows import rows

WILD = AdmissionPolicy(wildcards=True)
FREE = AdmissionPolicy(wildcards=True, ownership=False)


MINE, THEIRS = {"namespace": "ns1"}, {"namespace": "ns2", "age": 1}
OWN = {"namespace": "ns1", "age": 1}
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
        {A: findings.INVALID, B: CLAIMED},
    ),
    ("issue: * as a host", [route("a", host="*", wildcard=True, **MINE)], WILD, {A: INVALID_HOST}),
    (
        "upstream GetDomainForHost: no domain",
        [route("a", host="org", wildcard=True, **MINE)],
        WILD,
        {A: INVALID_HOST},
    ),
    (
        "names.priority_band: 20 labels",
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


@rows(("source", "routes", "policy", "reasons"), ROWS, ids=[row[0] for row in ROWS])
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
        (True, [route("a", host="a.d.e", wildcard=True, **MINE)], ("ns1", "Route")),
        (False, [route("a", host="a.d.e", wildcard=True, **MINE)], ("", "")),
        (True, [route("a", host="a.d.e", **MINE)], ("", "")),
        (True, [route("a", host="a.d.e", **MINE), route("b", host="b.d.e", wildcard=True, **THEIRS)],
         ("", "")),
        (True, [route("a", host="a.d.e", wildcard=True, kind="edge", certificate="x", **MINE)],
         ("ns1", "Route")),
    ],
    ids=["held", "without ownership", "no wildcard", "lost", "invalid by itself"],
)
def test_the_owner_of_a_subdomain(ownership, routes, owner):
    assert host_claims.resolve([admission.check(r, WILD) for r in routes], ownership=ownership).owner == owner


@settings(max_examples=examples(200), deadline=None)
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
            assert len({c.route.claim_namespace for c in held}) == 1
        for host in {c.host for c in held}:
            assert len({c.route.path for c in held if c.host == host}) == sum(c.host == host for c in held)
