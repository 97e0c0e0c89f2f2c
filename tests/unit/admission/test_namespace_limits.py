"""Limits on what the Routes of a namespace have together, in tables; test_engine.py has the property."""

from dataclasses import replace

import pytest

from f5router.admission.admission import AdmissionPolicy
from f5router.admission.namespace_limits import NamespaceLimits
from f5router.model.route_options import RouteOptions
from tests.builders import route


def listed(name: str, *sources: str, **fields):
    return replace(route(name, host=f"{name}.example.com", **fields), options=RouteOptions(sources=sources))


def refused(limit: NamespaceLimits, *routes) -> list[str]:
    return [item.key.name for item in routes if limit.refusal(item.key)]


@pytest.mark.parametrize(("routes", "names"), [
    pytest.param([listed("a", "1", "2"), listed("b", "3", age=1)], [], id="as many as possible"),
    pytest.param([listed("a", "1", "2", age=1), listed("b", "3", "4")], ["a"], id="the oldest first"),
    pytest.param([listed("a", "1", "2"), listed("b", "1", "2"), listed("c", "3", age=1)], [],
                 id="equal lists count once"),
    pytest.param([listed("a", "1", "2"), listed("b", "3", "4", age=1), listed("c", "5", age=2)], ["b"],
                 id="a shorter one fits"),
    pytest.param([listed("a", "1", "2"), listed("b", "3", "4", namespace="other")], [], id="namespaces"),
    pytest.param([listed("a", "1", "2", "3", "4"), route("b")], ["a"], id="too long by itself"),
])
def test_which_routes_exceed_the_limit(routes, names):
    limit = NamespaceLimits(AdmissionPolicy(listed_clients=3))
    for item in routes:
        limit.update({item.key: item})
    assert refused(limit, *routes) == names


def test_changes_of_routes_return_what_they_decide():
    limit = NamespaceLimits(AdmissionPolicy(listed_clients=3))
    old, middle, young = listed("a", "1", "2"), listed("b", "3", "4", age=1), listed("c", "5", "6", age=2)
    assert limit.update({item.key: item for item in (old, middle, young)}) == {
        item.key: item for item in (middle, young)}
    assert "namespace shop list more than 3 clients" in limit.refusal(young.key)
    assert limit.update({old.key: replace(old, host="other.example.com")}) == {}, "another field"
    assert limit.update({old.key: None}) == {middle.key: middle}
    assert refused(limit, old, middle, young) == ["c"]
    shorter = listed("b", "3", age=1)
    assert limit.update({middle.key: shorter}) == {young.key: young}
    assert refused(limit, shorter, young) == []
    assert limit.update({young.key: route("c")}) == {}


def with_actions(name: str, *values: str, **fields):
    actions = tuple(f"set.{'61' * 5}.t_{value.encode().hex()}" for value in values)
    return replace(route(name, host=f"{name}.example.com", **fields),
                   options=RouteOptions(request_actions=actions))


def test_options_for_requests_and_responses():
    """Their records count by characters; equal ones are one record."""
    size = len("request.set.6161616161.t_78797a")
    limit = NamespaceLimits(AdmissionPolicy(http_options=2 * size))
    old, equal, other, young = (with_actions(name, value, age=age) for name, value, age in (
        ("a", "xyz", 0), ("b", "xyz", 1), ("c", "abc", 2), ("d", "def", 3)))
    everything = (old, equal, other, young, with_actions("e", "ghi", namespace="other"), route("f"))
    limit.update({item.key: item for item in everything})
    assert refused(limit, *everything) == ["d"]
    assert f"namespace shop take more than {2 * size} characters" in limit.refusal(young.key)
    assert limit.update({other.key: None}) == {young.key: young}
    assert refused(limit, *everything) == []
