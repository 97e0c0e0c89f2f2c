"""The limit on lists of clients in a namespace, in tables; test_engine.py has the property."""

from dataclasses import replace

import pytest

from f5router.admission.list_limit import ListLimit
from f5router.model.route_options import RouteOptions
from tests.builders import route


def listed(name: str, *sources: str, **fields):
    return replace(route(name, host=f"{name}.example.com", **fields), options=RouteOptions(sources=sources))


def refused(limit: ListLimit, *routes) -> list[str]:
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
    limit = ListLimit(3)
    for item in routes:
        limit.update({item.key: item})
    assert refused(limit, *routes) == names


def test_changes_of_routes_return_what_they_decide():
    limit = ListLimit(3)
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
