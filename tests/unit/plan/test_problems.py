"""Each cause once, with what it concerns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model.cluster import Key
from f5router.model.objects import Ref
from f5router.plan.changes import NAMED_MOST, GroupedProblem, grouped

A, B, C = (Ref("ltm/rule", f"/Common/{name}") for name in "abc")
R, S = Key("shop", "r"), Key("shop", "s")
MANY = tuple(Key("shop", f"r{n}") for n in range(9))


@pytest.mark.parametrize(("problem", "expected"), [
    pytest.param(GroupedProblem("no"), "no", id="no object"),
    pytest.param(GroupedProblem("no", (A,)), "ltm/rule /Common/a: no", id="no Route"),
    pytest.param(GroupedProblem("no", (A, B)), "ltm/rule /Common/a and 1 other object: no", id="two objects"),
    pytest.param(GroupedProblem("no", (A, B, C)), "ltm/rule /Common/a and 2 other objects: no",
                 id="three objects"),
    pytest.param(GroupedProblem("no", (), (R,)), "Route shop/r: no", id="one Route"),
    pytest.param(GroupedProblem("no", (A,), (R, S)), "2 Routes (shop/r, shop/s): ltm/rule /Common/a: no",
                 id="two Routes"),
    pytest.param(GroupedProblem("no", (), MANY), "9 Routes (shop/r0, shop/r1, shop/r2 and 6 more): no",
                 id="many Routes"),
])
def test_sentence(problem, expected):
    assert str(problem) == expected


def test_a_sentence_is_bounded():
    """Whoever makes 10,000 Routes fills no log line with them."""
    text, more = (
        str(GroupedProblem("no", (), tuple(Key("shop", "r") for _ in range(n)))) for n in (100, 10000))
    assert len(more) <= len(text) + 4
    assert text.count("shop/r") == NAMED_MOST


@pytest.mark.parametrize(("refused", "unserved", "blocked", "expected"), [
    pytest.param({}, {}, (), [], id="nothing"),
    pytest.param({A: "no", B: "no"}, {}, (), [GroupedProblem("no", (A, B))], id="one cause of two objects"),
    pytest.param({A: "no", B: "no"}, {}, (B,), [GroupedProblem("no", (A,))], id="what needs it is not named"),
    pytest.param({B: "no"}, {}, (B,), [GroupedProblem("no", (B,))], id="only what needs it is left"),
    pytest.param({A: "no", B: "never"}, {S: "no", R: "no"}, (),
                 [GroupedProblem("no", (A,), (R, S)), GroupedProblem("never", (B,))], id="Routes first"),
    pytest.param({}, {S: "x", R: "y"}, (), [GroupedProblem("y", (), (R,)), GroupedProblem("x", (), (S,))],
                 id="by the first Route"),
])
def test_grouped(refused, unserved, blocked, expected):
    assert grouped(refused, unserved, blocked) == expected


TEXTS = st.sampled_from(["no", "never", "not deleted: no"])


@given(st.dictionaries(st.sampled_from((A, B, C)), TEXTS),
       st.dictionaries(st.sampled_from((*MANY, R)), TEXTS), st.sets(st.sampled_from((A, B, C))))
def test_each_cause_once(refused, unserved, blocked):
    """Nothing is left out: each Route is in the GroupedProblem of its cause, which names an object."""
    by_text = {problem.text: problem for problem in grouped(refused, unserved, blocked)}
    assert len(by_text) == len(grouped(refused, unserved, blocked))
    assert by_text.keys() == {*refused.values(), *unserved.values()}
    assert {key: text for text, problem in by_text.items() for key in problem.routes} == unserved
    for text, problem in by_text.items():
        objects = {ref for ref, cause in refused.items() if cause == text}
        assert set(problem.objects) == (objects - blocked or objects)
