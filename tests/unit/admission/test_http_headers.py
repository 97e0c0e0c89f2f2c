"""spec.httpHeaders: the actions that are valid, and a sentence for each that is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission.route_options import NO_ACTIONS, HeaderActions, parse_headers
from f5router.model.header_actions import MOST_TOGETHER, REQUEST, RESPONSE, encode_delete, encode_set
from tests.rows import rows

JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.sampled_from(["Set", "Delete", "X-A"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["actions", "request", "response", "name", "action", "type", "set", "value"]), inner),
    max_leaves=30)


def to_set(name: object, value: object) -> dict:
    return {"name": name, "action": {"type": "Set", "set": {"value": value}}}


def to_delete(name: object) -> dict:
    return {"name": name, "action": {"type": "Delete"}}


def headers(request: object = None, response: object = None) -> dict:
    return {"actions": {"request": request, "response": response}}


@pytest.mark.parametrize("termination", ["", "edge", "reencrypt"])
def test_actions(termination):
    """Their order stays."""
    asked = headers([to_set("X-B", "1"), to_delete("X-A")],
                    [to_delete("Server"), to_set("a", "%[res.hdr(b)]")])
    assert parse_headers(asked, termination) == (HeaderActions(
        (encode_set("X-B", "1", side=REQUEST), encode_delete("X-A")),
        (encode_delete("Server"), encode_set("a", "%[res.hdr(b)]", side=RESPONSE))), ())


def test_passthrough():
    actions, problems = parse_headers(headers([to_delete("a")]), "passthrough")
    assert actions == NO_ACTIONS
    assert "no effect on a Route with termination 'passthrough'" in problems[0]


@pytest.mark.parametrize("asked", [
    None, "x", [], {}, {"actions": None}, {"actions": []}, headers(), headers([], []), headers("x", 5)])
def test_nothing_is_asked_for(asked):
    assert parse_headers(asked, "edge") == (NO_ACTIONS, ())


@rows("bad", [
    None, "x", {}, {"name": "a"}, {"name": 5, "action": {"type": "Delete"}},
    *({"name": "a", "action": action} for action in (
        "Delete", {"type": "Replace"}, {"type": "Set"}, {"type": "Set", "set": None},
        {"type": "Set", "set": {}}, {"type": "Delete", "set": {"value": "x"}})),
    to_set("a", 5), to_set("a", ""), to_set("a b", "x"), to_delete("Cookie"), to_set("a", "%[src]"),
    to_set("a", "x\r\ny"), to_set("a", "x" * 100_000), to_set("b" * 100_000, "x"), to_delete("good"),
])
def test_a_bad_action_has_no_effect_alone(bad):
    """Others of the Route count."""
    actions, problems = parse_headers(headers([to_delete("good"), bad], [bad, to_set("Server", "x")]), "edge")
    assert actions.request == (encode_delete("good"),)
    assert actions.response[-1:] == (encode_set("Server", "x", side=RESPONSE),)
    repeated = bad == to_delete("good")
    assert len(problems) == 1 + (not repeated)
    assert problems[0].startswith("spec.httpHeaders.actions.request[1]: ")
    assert all(problem.isprintable() and len(problem) < 1000 for problem in problems)


def test_too_many():
    actions, problems = parse_headers(headers([to_delete(f"a{number}") for number in range(100_000)]), "edge")
    assert len(actions.request) == 20
    assert "more than 20 actions" in problems[0]


def test_too_long_together():
    """Requests come first, and a short action fits behind a long one that does not."""
    asked = headers([to_set("a", "x" * (MOST_TOGETHER // 2))], [to_set("b", "x" * (MOST_TOGETHER // 2)),
                                                               to_set("c", "x")])
    actions, problems = parse_headers(asked, "edge")
    assert len(actions.request) == 1
    assert actions.response == (encode_set("c", "x", side=RESPONSE),)
    assert problems == (
        "spec.httpHeaders.actions.response: 'b': all names and values together have more than "
        f"{MOST_TOGETHER} bytes; this action has no effect",)


def test_many_bad_ones_are_few_sentences():
    bad = [to_set("a b", "x")] * 20
    _, problems = parse_headers(headers(bad, bad), "edge")
    assert len(problems) == 6
    assert problems[-1] == "spec.httpHeaders: 35 more have no effect"


@given(JSON, st.sampled_from(["", "edge", "passthrough", "x"]))
def test_any_value_gives_actions_or_sentences(asked, termination):
    actions, problems = parse_headers(asked, termination)
    assert all(problem.isprintable() for problem in problems)
    assert len(actions.request) <= 20
    assert len(actions.response) <= 20
