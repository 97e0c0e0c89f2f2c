"""Which requests a Route path is for, which of two paths is the wider one, and which comes first."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from f5router.desired import rules
from f5router.model import names
from f5router.model.cluster import PathMatch
from tests.builders import route
from tests.examples import examples

SEGMENTS, TEXT, EXACT = PathMatch.SEGMENTS, PathMatch.TEXT, PathMatch.EXACT
KINDS = st.sampled_from(PathMatch)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "%61", ""]), max_size=4).map(
    lambda parts: f"/{'/'.join(parts)}" if parts else "")


def is_for(path: str, request: str, kind: PathMatch = SEGMENTS) -> bool:
    """True if a Route's path covers a request's path, as docs/routes.md defines it."""
    path = path or "/"
    if kind is EXACT:
        return request == path
    if kind is TEXT:
        return request.startswith(path)
    return request == path or request.startswith(path if path[-1] == "/" else f"{path}/")


def applies(path: str, request: str, kind: PathMatch) -> bool:
    """True if the conditions of a path hold for a request, as a device compares."""
    tests = {"equals": lambda text, value: text == value, "startsWith": str.startswith}

    def holds(condition):
        text = request
        if condition.selector == "pathSegment":
            segments = request.split("/")
            text = segments[condition.index] if condition.index < len(segments) else ""
        return any(tests[condition.operator](text, value) for value in condition.values)

    return any(all(map(holds, conditions)) for conditions in rules.match_path(path, kind))


def of(path, kind=SEGMENTS):
    return replace(route("a", path=path), path_match=kind)


@pytest.mark.parametrize(("path", "other", "covers"), [
    ("", "", True), ("/", "", True), ("", "/", True), ("", "/a", True), ("/a", "", False), ("/a", "/", False),
    ("/a", "/a", True), ("/a", "/a/", True), ("/a", "/a/b", True), ("/a", "/ab", False), ("/a/", "/a", False),
    ("/a/", "/a/", True), ("/a/", "/a/b", True), ("/a/b", "/a", False),
])
def test_covers(path, other, covers):
    assert rules.covers(of(path), of(other)) is covers


@settings(max_examples=examples(300))
@given(PATHS, PATHS, PATHS, KINDS, KINDS)
@example("/a", "/a", "/ab", SEGMENTS, TEXT)
@example("/a/", "/a/", "/a/b", SEGMENTS, TEXT)
def test_a_path_covers_all_requests_of_another_one_or_none(path, other, request_, kind, other_kind):
    request_ = request_ or "/"
    wide, narrow = of(path, kind), of(other, other_kind)
    if rules.covers(wide, narrow):
        assert is_for(path, request_, kind) or not is_for(other, request_, other_kind)
    elif not rules.covers(narrow, wide):
        assert not (is_for(path, request_, kind) and is_for(other, request_, other_kind))


@settings(max_examples=examples(300))
@given(PATHS, PATHS, KINDS)
@example("/a", "/a/b", EXACT)
@example("/a", "/ab", TEXT)
def test_conditions_match_what_a_path_is_for(path, request_, kind):
    request_ = request_ or "/"
    assert applies(path, request_, kind) == is_for(path, request_, kind)


ALL_PATHS = ["", "/", "//", "/a", "/a/", "/ab", "/a/b", *(f"/{'x' * length}" for length in (1997, 1998))]


@pytest.mark.parametrize("labels", [0, 1])
def test_the_most_specific_path_comes_first_and_none_share_a_band(labels):
    """The exact path is the first of all that match a request, then the longest text."""
    rules = [(path, kind) for path in ALL_PATHS for kind in PathMatch]
    for request_ in (*ALL_PATHS[1:], "/a/b/c", f"{ALL_PATHS[-1]}y"):
        matching = [(path, kind) for path, kind in rules if is_for(path, request_, kind)]
        for pair in itertools.combinations(matching, 2):
            first, second = sorted(pair, key=lambda rule: (rule[1] is not EXACT, -len(rule[0])))
            bands = [names.priority_band(path, labels=labels, exact=kind is EXACT)
                     for path, kind in (first, second)]
            exact = first[1] is second[1] is EXACT
            assert bands[0] < bands[1] or exact or (first[0] == second[0] and first[1] is not EXACT)
