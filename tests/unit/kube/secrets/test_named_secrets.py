"""secret_watch.py: which Secrets Routes name, and how many of them are read."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.kube.secrets.secret_watch import NamedSecrets, excess
from f5router.kube.settings import SecretLimits
from f5router.model.cluster import CA_CRT, Key, PodAuthority
from tests import builders


def route(name="a", secret="tls", **fields):
    return builders.route(name, kind="edge", external_certificate=secret, **fields)


@pytest.mark.parametrize("name", ["a,metadata.name!=b", "A", "x" * 254, "../nodes", ""])
def test_names_that_no_secret_can_have(name):
    named = NamedSecrets()
    assert named.update({Key("shop", "a"): route(secret=name)}) == (set(), False)
    assert not named.ages


def test_routes_come_and_go():
    """A Secret is named as long as a Route names it; its age is that of the oldest."""
    named, old, new = NamedSecrets(), route("old"), route("new", age=9)
    secret = old.secret
    for changes, changed, age in (
        ({new.key: new}, True, new.age), ({old.key: old}, True, old.age), ({old.key: old}, False, old.age),
        ({new.key: None}, False, old.age), ({old.key: None, Key("shop", "unknown"): None}, True, None),
    ):
        edited, told = named.update(changes)
        assert told == changed
        assert edited == {secret for route in changes.values() if route}
        assert named.ages.get(secret) == age


def test_a_route_with_two_secrets():
    """Each is named as long as either field has it."""
    named, pods = NamedSecrets(), Key("shop", "pods")
    both = replace(route(), pod_authority=PodAuthority(pods, CA_CRT, "field"))
    assert named.update({both.key: both}) == ({pods, both.secret}, True)
    same = replace(both, pod_authority=PodAuthority(both.secret, CA_CRT, "field"))
    assert named.update({same.key: same}) == ({same.secret}, True)
    assert set(named.ages) == {same.secret}
    assert named.update({same.key: None}) == (set(), True)
    assert not named.ages


AGES = st.dictionaries(
    st.builds(Key, st.sampled_from("abc"), st.sampled_from([f"s{n}" for n in range(8)])),
    st.tuples(st.sampled_from(["2026", "2027"]), st.sampled_from("xyz")))
LIMITS = st.builds(SecretLimits, st.integers(1, 6), st.integers(1, 12))


@given(AGES, LIMITS)
def test_no_more_than_the_limits(ages, limits):
    """As many as the limits allow, each namespace as many as any that loses some."""
    refused = excess(ages, limits)
    kept = Counter(key.namespace for key in ages.keys() - refused.keys())
    named = Counter(key.namespace for key in ages)
    allowed = {namespace: min(count, limits.per_namespace) for namespace, count in named.items()}
    assert kept.total() == min(limits.total, sum(allowed.values()))
    for loser in (namespace for namespace in named if kept[namespace] < allowed[namespace]):
        assert all(kept[namespace] <= kept[loser] + 1 for namespace in named)
    for key, problem in refused.items():
        assert key.namespace in problem
        assert "--max-secrets" in problem


@given(AGES, LIMITS, AGES)
def test_a_younger_route_takes_nothing_from_an_older_one(ages, limits, more):
    """Within a namespace: whoever is refused is younger than whoever is read."""
    refused = excess(ages | more, limits)
    for key in refused:
        for other in (ages | more).keys() - refused.keys():
            if other.namespace == key.namespace:
                assert ((ages | more)[other], other) < ((ages | more)[key], key)


@given(AGES, LIMITS, AGES)
def test_other_namespaces_cost_no_more_than_the_share(ages, limits, more):
    """A namespace that names no more than an equal share keeps all, whatever the others name."""
    crowd = {Key("crowd", key.name): age for key, age in more.items()}
    share = limits.total // len({key.namespace for key in ages | crowd} or "-")
    for namespace, count in Counter(key.namespace for key in ages).items():
        if count <= min(share, limits.per_namespace):
            assert not any(key.namespace == namespace for key in excess(ages | crowd, limits))
