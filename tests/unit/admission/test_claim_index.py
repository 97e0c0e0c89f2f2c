"""ClaimIndex keeps what judging from scratch finds, and looks only at what an event may have changed.

Upstream is openshift/router, hostindex_test.go and activation_test.go, whose events these are; the result
is that of judging what is there in the end, which upstream's index does not always reach.
"""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.admission import admission, claim_index, host_claims
from f5router.admission.admission import AdmissionPolicy
from f5router.model import findings
from f5router.model.cluster import Key
from tests import builders, strategies
from tests.builders import route
from tests.examples import examples
from tests.rows import rows

WILD = AdmissionPolicy(wildcards=True)
FREE = AdmissionPolicy(wildcards=True, ownership=False)
DENYING = AdmissionPolicy(wildcards=True, denied=frozenset({"a.x.y"}))


def numbered(name: str, uid: int, host: str = "test.com", path: str = "", namespace: str = "test"):
    """As upstream's newRoute: the uid tells the age, too."""
    return replace(route(name, namespace=namespace, host=host, path=path, age=uid), uid=f"{uid:03}")


ONE, TWO, THREE = numbered("1", 1), numbered("2", 11), numbered("3", 111)
TEST_2, TEST_3A = TWO, numbered("3", 12, path="/a")
OTHER_1, OTHER_2 = numbered("1", 1, namespace="other"), numbered("2", 11, namespace="other")


def gone(evaluated):
    return evaluated.key, None


EVENTS = [
    # source, ownership, Routes that come (a key and None: goes), uids of those admitted in the end
    ("Test_hostIndex: add", True, [ONE], {"001"}),
    ("Test_hostIndex: add - stable", True, [ONE, ONE], {"001"}),
    ("Test_hostIndex: add - UID change", True, [ONE, numbered("1", 2)], {"002"}),
    ("Test_hostIndex: add - UID change in reverse order", True, [numbered("1", 2), ONE], {"001"}),
    ("Test_hostIndex: add - skip displacement", True, [ONE, TWO], {"001"}),
    ("Test_hostIndex: add - displace", True, [TWO, ONE], {"001"}),
    ("Test_hostIndex: coexist", True, [ONE, numbered("2", 11, host="test2.com")], {"001", "011"}),
    ("Test_hostIndex: update - inactive", True, [numbered("2", 11), ONE, gone(TWO)], {"001"}),
    (
        "Test_hostIndex: update - displace when hostname changes",
        True,
        [numbered("1", 11), numbered("2", 1, host="test2.com"), numbered("2", 1)],
        {"001"},
    ),
    ("Test_hostIndex: remove - does not exist", True, [gone(ONE)], set()),
    ("Test_hostIndex: remove - become active", True, [ONE, TWO, gone(ONE)], {"011"}),
    ("Test_hostIndex: remove - multiple inactive", True, [THREE, TWO, ONE, gone(ONE)], {"011"}),
    (
        "Test_hostIndex: remove - multiple inactive - all",
        True,
        [THREE, TWO, ONE, gone(ONE), gone(TWO)],
        {"111"},
    ),
    ("Test_hostIndex: remove - does not become active", True, [ONE, TWO, gone(TWO)], {"001"}),
    ("TestOldestFirst: displacement", False, [TEST_2, ONE], {"001"}),
    ("TestOldestFirst: exclude identical route", False, [ONE, TEST_2], {"001"}),
    ("TestOldestFirst: add newer path based route", False, [ONE, TEST_3A], {"001", "012"}),
    ("TestOldestFirst: add older path based route", False, [TEST_3A, ONE], {"001", "012"}),
    (
        "TestOldestFirst: add an older route in a different namespace",
        False,
        [TEST_2, TEST_3A, OTHER_1],
        {"001", "012"},
    ),
    ("TestOldestFirst: add two routes at once", False, [OTHER_2, ONE, TEST_3A], {"001", "012"}),
    (
        "TestOldestFirst: two out-of-order routes, here with the correct result",
        False,
        [OTHER_2, TEST_3A, ONE],
        {"001", "012"},
    ),
    ("TestSameNamespace: add newer path based route", True, [ONE, TEST_3A], {"001", "012"}),
    ("TestSameNamespace: add older path based route", True, [TEST_3A, ONE], {"001", "012"}),
    (
        "TestSameNamespace: add an older route in a different namespace",
        True,
        [TEST_2, TEST_3A, OTHER_1],
        {"001"},
    ),
    ("TestSameNamespace: add two routes at once", True, [OTHER_2, ONE, TEST_3A], {"001", "012"}),
    (
        "TestSameNamespace: two out-of-order routes, here with the correct result",
        True,
        [OTHER_2, TEST_3A, ONE],
        {"001", "012"},
    ),
    (
        "parity 3.3: upstream does not examine waiting Routes when an add moves the ownership",
        True,
        [OTHER_2, TEST_3A, numbered("4", 13, path="/b"), ONE],
        {"001", "012", "013"},
    ),
    (
        "parity 3.3: nor when a change of path frees one",
        True,
        [ONE, TWO, numbered("1", 1, path="/moved")],
        {"001", "011"},
    ),
    ("openshift/router #9: path A, B, A", True, [ONE, numbered("1", 1, path="/b"), ONE, TWO], {"001"}),
    (
        "parity 3.2, OCPBUGS-49738: the old host is free when the owner moves",
        True,
        [numbered("1", 1, namespace="other"), TWO, numbered("1", 1, host="moved.com", namespace="other")],
        {"001", "011"},
    ),
    (
        "parity 9, trap 10: a modified Route that loses is not served in its old form",
        True,
        [ONE, numbered("2", 11, host="other.com"), TWO],
        {"001"},
    ),
]


@rows("at_once", [False, True], ids=["one by one", "at once"])
@rows(
    ("source", "ownership", "events", "admitted"), EVENTS, ids=[event[0] for event in EVENTS]
)
def test_events(source, ownership, events, admitted, at_once):
    kept, verdicts = claim_index.ClaimIndex(ownership=ownership), {}
    for number, event in enumerate(events, 1):
        key, route = event if isinstance(event, tuple) else (event.key, event)
        kept.put(key, admission.check(route, AdmissionPolicy()) if route else None)
        if not at_once or number == len(events):
            verdicts |= {site.host: claims.verdicts for site, _, claims in kept.take()}
    holders = {key for claims in verdicts.values() for key, rejection in claims.items() if rejection is None}
    assert {kept.routes()[key].route.uid for key in holders} == admitted


STEPS = st.lists(
    st.tuples(strategies.contenders(), *[st.sampled_from([True, True, False])] * 2),
    max_size=40,
)
"""Routes, whether they are there, and whether what changed is looked at now."""


@settings(max_examples=examples(300), deadline=None)
@given(STEPS, st.sampled_from([WILD, FREE, DENYING, AdmissionPolicy(), AdmissionPolicy(ownership=False)]),
       st.randoms())
def test_the_order_of_events_does_not_matter(steps, policy, random):
    """After every event, whatever came before: the verdicts of judging what is there from scratch."""
    kept, there, seen = claim_index.ClaimIndex(ownership=policy.ownership), {}, {}
    for claimant, present, now in steps:
        there.pop(claimant.key, None)
        if present:
            there[claimant.key] = claimant
        kept.put(claimant.key, admission.check(claimant, policy) if present else None)
        if not now:
            continue
        for (_, host), routes, claims in kept.take():
            assert claims.verdicts.keys() == routes.keys()
            seen[host] = claims
        shuffled = list(there.values())
        random.shuffle(shuffled)
        spaces: dict = {}
        for other in shuffled:
            checked = admission.check(other, policy)
            spaces.setdefault(checked.subdomain, []).append(checked)
        whole = {space: host_claims.resolve(checked, ownership=policy.ownership)
                 for space, checked in spaces.items()}
        for space, checked in spaces.items():
            for other in checked:
                assert seen[other.host].verdicts[other.route.key] == whole[space].verdicts[other.route.key]
                assert seen[other.host].passthrough == whole[space].passthrough
        assert {key for claims in seen.values() for key in claims.verdicts} == there.keys()
    for key in there:
        kept.put(key, None)
    list(kept.take())
    assert not any(value for name, value in vars(kept).items() if name not in ("_ownership", "resolved"))


def test_an_event_costs_its_host():
    """The Routes that are judged: not those of the subdomain, unless its wildcard goes to another."""
    kept = claim_index.ClaimIndex(ownership=True)
    many = [route(f"{space}{n}", host=f"h{n}.{space}.test") for n in range(50) for space in ("a", "b")]
    many += [route(f"p{n}", host="h1.a.test", path=f"/{n}") for n in range(3)]
    for claimant in many:
        kept.put(claimant.key, admission.check(claimant, WILD))
    assert len({site.host for site, _, _ in kept.take()}) == 100
    assert kept.resolved == 103

    def event(route, present=True) -> tuple[int, set[str]]:
        before = kept.resolved
        kept.put(route.key, admission.check(route, WILD) if present else None)
        hosts = {site.host for site, _, _ in kept.take()}
        return kept.resolved - before, hosts

    assert event(replace(many[0], service="api")) == (1, {"h0.a.test"})
    assert event(route("p9", host="h1.a.test", path="/9")) == (5, {"h1.a.test"})
    wild = route("wild", host="x.a.test", wildcard=True, age=1)
    assert event(wild) == (2 + 55, {"*.a.test"}), "it, with the oldest host; then all, since it is held"
    assert event(replace(many[20], service="web")) == (3, {"h10.a.test"})
    assert event(replace(many[1], service="api")) == (1, {"h0.b.test"})
    foreign = route("f", namespace="bank", host="y.a.test", age=2)
    assert event(foreign) == (3, {"y.a.test"})
    assert event(replace(foreign, host="z.a.test")) == (3, {"y.a.test", "z.a.test"})
    assert event(wild, present=False) == (0 + 55, {"*.a.test", "x.a.test", "z.a.test"})
    assert event(replace(many[0], service="api")) == (1, {"h0.a.test"})
    assert Key("bank", "f") in kept.routes()


@pytest.mark.parametrize(
    ("policy", "routes"),
    [
        (WILD, [("p", "shop", "a.x.y", 1), ("w", "bank", "*", 2), ("q", "bank", "c.x.y", 3)]),
        (DENYING, [("p", "bank", "a.x.y", 1), ("q", "shop", "b.x.y", 2), ("r", "bank", "c.x.y", 3)]),
        (WILD, [("p", "bank", "a.x.y", 1), ("q", "shop", "b.x.y", 2), ("r", "zoo", "c.x.y", 3)]),
        (WILD, [("q", "shop", "a.x.y", 1), ("p", "bank", "a.x.y", 2), ("r", "bank", "b.x.y", 3)]),
        (WILD, [("p", "bank", "a.x.y", 1), ("q", "bank", "a.x.y", 8), ("r", "bank", "b.x.y", 6)]),
        (WILD, [("q", "bank", "a.x.y", 8), ("p", "bank", "a.x.y", 1), ("r", "bank", "b.x.y", 6)]),
        (WILD, [("p", "shop", "a.x.y", 1), ("q", "bank", "b.x.y", 2), ("r", "zoo", "c.x.y", 8)]),
    ],
    ids=["no wildcard", "no denied host", "the oldest", "its host's", "first", "last", "of others"],
)
def test_who_keeps_a_wildcard_out(policy, routes):
    """One of the older hosts of other namespaces is looked at: when the wildcard is made anew, and later."""
    kept, verdicts = claim_index.ClaimIndex(ownership=True), {}

    def put(name, namespace, host, age) -> int:
        wildcard = host == "*"
        new = route(
            name, namespace=namespace, host="w.x.y" if wildcard else host, age=age, wildcard=wildcard
        )
        before = kept.resolved
        kept.put(new.key, admission.check(new, policy))
        for *_, claims in kept.take():
            verdicts.update(claims.verdicts)
        return kept.resolved - before

    put("wild", "shop", "*", 0)
    for number in range(30):
        put(f"r{number}", "shop", f"h{number}.x.y", 9)
    for arguments in routes:
        put(*arguments)
    assert verdicts[Key("shop", "wild")] is None
    put("wild", "shop", "*", 5)
    assert verdicts[Key("shop", "wild")].reason == findings.CLAIMED
    for number in range(3):
        assert put("busy", "shop", "h1.x.y", 10 + number) < 10
        assert verdicts[Key("shop", "wild")].reason == findings.CLAIMED


def test_without_ownership_a_wildcard_costs_its_own():
    """It takes nothing from other hosts."""
    kept = claim_index.ClaimIndex(ownership=False)
    wild = route("w", namespace="bank", host="h7.a.test", path="/w", wildcard=True)
    for claimant in (route(f"r{number}", host=f"h{number}.a.test") for number in range(50)):
        kept.put(claimant.key, admission.check(claimant, FREE))
    list(kept.take())
    kept.resolved = 0
    kept.put(wild.key, admission.check(wild, FREE))
    assert {site.host for site, _, _ in kept.take()} == {"*.a.test"}
    assert kept.resolved == 2


def test_a_wildcard_that_is_not_allowed_costs_its_own():
    kept = claim_index.ClaimIndex(ownership=True)
    many = [route(f"r{number}", host=f"h{number}.a.test", namespace=f"ns{number}") for number in range(50)]
    wild = route("wild", host="h7.a.test", wildcard=True, age=1)
    for claimant in (*many, wild):
        kept.put(claimant.key, admission.check(claimant, AdmissionPolicy()))
    list(kept.take())
    kept.resolved = 0
    kept.put(many[3].key, admission.check(replace(many[3], service="api"), AdmissionPolicy()))
    assert {site.host for site, _, _ in kept.take()} == {"h3.a.test"}
    assert kept.resolved == 2


def test_a_wildcard_that_is_not_held_costs_nothing_more():
    """Anybody may write one into a domain of thousands."""
    kept = claim_index.ClaimIndex(ownership=True)
    many = [route(f"r{n}", host=f"h{n}.a.test", namespace=f"ns{n % 5}", age=n) for n in range(500)]
    wild = route("wild", host="x.a.test", wildcard=True, age=600)
    for claimant in (*many, wild):
        kept.put(claimant.key, admission.check(claimant, WILD))
    list(kept.take())
    for claimant in (replace(held, service="a") for held in (many[70], wild, many[0])):
        before = kept.resolved
        kept.put(claimant.key, admission.check(claimant, WILD))
        assert len(list(kept.take())) <= 2
        assert kept.resolved - before <= 4, "its host, the wildcard and two that keep it out"


def test_the_wildcard_passes_to_another_kind():
    """The message to a loser names the kind of the object that holds the wildcard now, of the same tenant."""
    kept = claim_index.ClaimIndex(ownership=True)
    wild = route("wild", namespace="bank", host="w.x.y", wildcard=True, age=2)
    older = builders.virtual(route("older", namespace="bank", host="w.x.y", wildcard=True, age=1),
                             "IngressRoute", root=Key("bank", "root"))
    others = [route("r", namespace=space, host=f"{space}.x.y", age=3) for space in ("shop", "zoo")]
    loser = route("loser", namespace="shop", host="a.x.y", age=4)
    for contender in (wild, *others, loser):
        kept.put(contender.key, admission.check(contender, WILD))
    list(kept.take())
    kept.put(older.key, admission.check(older, WILD))
    messages = [claims.verdicts[loser.key].message for site, _, claims in kept.take()
                if site.host == loser.host]
    assert messages == ["spec.host: an ingressroute in another namespace holds *.x.y and is older than loser"]
