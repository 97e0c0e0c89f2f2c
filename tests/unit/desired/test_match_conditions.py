"""Which requests a Route path is for, and which of two paths is the wider one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired import match_conditions

PATHS = st.lists(st.sampled_from(["a", "b", ""]), max_size=4).map(
    lambda parts: f"/{'/'.join(parts)}" if parts else "")


def is_for(path: str, request: str) -> bool:
    """True if a Route's path covers a request's path, as docs/routes.md defines it."""
    return path in ("", "/") or request == path or request.startswith(path if path[-1] == "/" else f"{path}/")


@pytest.mark.parametrize(("path", "other", "covers"), [
    ("", "", True), ("/", "", True), ("", "/", True), ("", "/a", True), ("/a", "", False), ("/a", "/", False),
    ("/a", "/a", True), ("/a", "/a/", True), ("/a", "/a/b", True), ("/a", "/ab", False), ("/a/", "/a", False),
    ("/a/", "/a/", True), ("/a/", "/a/b", True), ("/a/b", "/a", False),
])
def test_covers(path, other, covers):
    assert match_conditions.covers(path, other) is covers


@settings(max_examples=300)
@given(PATHS, PATHS, PATHS)
def test_what_covers_a_path_has_all_its_requests(path, other, request_):
    if match_conditions.covers(path, other) and is_for(other, request_ or "/"):
        assert is_for(path, request_ or "/")
