"""Objects of the Gateway API that admission of the cluster has not refused: bounds, and wrong types."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.kube.api import decode_gateway
from f5router.model.gateway import HTTPMatch
from tests import gateways
from tests.examples import examples
from tests.rows import rows

ROUTE = gateways.http_route("r", gateways.rule(
    gateways.backend("v1"), paths=("/a",), filters=(gateways.headers(remove=["a"]),)), hostnames=("A.test",))
GATEWAY = gateways.gateway("web", gateways.listener(secret="tls", hostname="a.test"))


def test_a_route_has_the_defaults_of_the_specification():
    route = decode_gateway.http_route({"metadata": {"namespace": "a", "name": "b"}, "spec": {"rules": [{
        "backendRefs": [{"name": "v1", "port": 80}]}], "parentRefs": [{"name": "web"}]}})
    (rule,) = route.rules
    assert (rule.matches, rule.backends[0].weight, rule.backends[0].ref[:2]) == (
        (HTTPMatch(),), 1, ("", "Service"))
    assert route.parents[0].written == (("name", "web"),)
    assert decode_gateway.http_route(ROUTE).hostnames == ("a.test",)


@rows(("path", "value", "problem"), [
    (("rules",), {}, "spec.rules has a wrong type"),
    (("rules",), [{}] * 17, "spec.rules: 17 entries, at most 16 are possible"),
    (("rules", 0, "backendRefs", 0, "port"), "80", "spec.rules[0].backendRefs[0].port has a wrong type"),
    (("rules", 0, "backendRefs", 0, "weight"), -1, "spec.rules[0].backendRefs[0].weight has a wrong type"),
    (("rules", 0, "matches", 0, "path"), [], "spec.rules[0].matches[0].path has a wrong type"),
    (("rules", 0, "filters"), ["x"], "spec.rules[0].filters[0] has a wrong type"),
    (("hostnames",), [1], "spec.hostnames has a wrong type"),
])
def test_a_field_that_is_wrong_is_named_and_the_parents_are_kept(path, value, problem):
    obj = copy.deepcopy(ROUTE)
    at = obj["spec"]
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    route = decode_gateway.http_route(obj)
    assert (route.problem, route.rules, len(route.parents)) == (problem, (), 1)


JUNK = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
                        st.sampled_from(["name", "matches", "path", "tls", "kinds", "port", "from", "to"]),
                        inner, max_size=3), max_leaves=8)


@settings(max_examples=examples(300))
@given(st.sampled_from([ROUTE, GATEWAY]), st.data())
def test_nothing_in_a_spec_raises(obj, data):
    """Wherever something else stands."""
    changed = copy.deepcopy(obj)
    at = changed["spec"]
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at))) if isinstance(at, list) else []
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if data.draw(st.booleans()):
            at[key] = data.draw(JUNK)
            break
        at = at[key]
    read = decode_gateway.http_route if obj is ROUTE else decode_gateway.gateway
    assert isinstance(read(changed).problem, str)
    decode_gateway.reference_grant(changed)
