"""openshift_headers_irule: the path of a request, as its Route wants it."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired import irules
from f5router.model import http_edge, names, route_options
from f5router.model.route_options import FORWARDED_NEVER, PathRewrite, RouteOptions
from tests.examples import examples
from tests.unit.desired.irules.tmm import Tmm

FOLDER = "/Common"
RULE = irules.headers_irule(FOLDER, forwarded=FORWARDED_NEVER)
GROUP = f"{FOLDER}/{names.HTTP_GROUP}"


def rewritten(tmm: Tmm, rewrite: PathRewrite, path: str, uri: str, faults: tuple[str, ...] = ()) -> str:
    """Return what becomes of a target. Args: path: of the Route."""
    data = http_edge.encode_options(RouteOptions(rewrite=rewrite), secure=False, forwarded=FORWARDED_NEVER,
                                    path=path)
    connection = tmm.run([RULE], groups={GROUP: {"x": data}}, uri=uri, faults=faults,
                         requests=[("h", {names.HTTP_VARIABLE: "x"})])
    actions = [action[1] for action in connection.actions if action[0] == "HTTP::uri"]
    return actions[-1] if actions else uri


def expected(rewrite: PathRewrite, path: str, uri: str) -> str:
    """The definition: origin, path and query of a target; the path of the Route is replaced."""
    origin, whole, query = re.fullmatch(
        r"([A-Za-z][A-Za-z0-9+.-]*://[^/?]*)?([^?]*)(\?.*)?", uri, re.DOTALL).groups(default="")
    if not whole.startswith("/") or not whole.startswith(path):
        return uri
    rest = whole.removeprefix(path) if rewrite.keeps_rest else ""
    return origin + rewrite.target + (rest.removeprefix("/") if rewrite.drops_slash else rest) + query


@pytest.mark.parametrize(("target", "path", "uri", "want"), [
    ("/", "", "/", "/"), ("/", "", "/a", "/a"), ("/", "", "//a", "//a"), ("/", "/", "/a", "/a"),
    ("/", "/a", "/a", "/"), ("/", "/a", "/a/", "/"), ("/", "/a", "/a/b", "/b"), ("/", "/a", "/a//b", "//b"),
    ("/", "/a/", "/a/b", "/b"), ("/", "/a/", "/a//b", "/b"), ("/", "/a", "/a?x=/a", "/?x=/a"),
    ("/new", "", "/", "/new/"), ("/new", "", "/a?b", "/new/a?b"), ("/new", "/", "/a", "/newa"),
    ("/new", "/a", "/a", "/new"), ("/new", "/a", "/a/b?c?d", "/new/b?c?d"), ("/n/", "/a", "/a/b", "/n//b"),
    ("/n/", "/a/", "/a/b", "/n/b"), ("/new", "/a", "/a/a/a", "/new/a/a"), ("/new", "/a", "/a?", "/new?"),
    ("/new", "/a", "/a/%2f%41", "/new/%2f%41"), ("/new", "/a.b", "/a.b/c", "/new/c"),
    ("/new", "/a.b", "/axb/c", "/axb/c"), ("/new", "/a", "/A/b", "/A/b"),
    ("/new#x", "/a", "/a/b?c", "/new?c"), ("/n?q=", "/a", "/a/b?c", "/n?q=/b?c"),
    ("/new", "/a", "http://h/a/b?c", "http://h/new/b?c"), ("/", "/a", "https://h:1/a", "https://h:1/"),
    ("/new", "", "http://h", "http://h"), ("/new", "", "*", "*"),
    ("/new", "", "http://h?a=/b", "http://h?a=/b"),
    ("/$x[exit]", "/a", "/a/$y[exit]{}\\;\"", "/$x[exit]/$y[exit]{}\\;\""),
    ("/&\\", "/a", "/a/b", "/&/b"), ("/new", "/[a-z]*", "/[a-z]*/b", "/new/b"),
])
def test_targets(tmm, target, path, uri, want):
    rewrite = route_options.parse_rewrite(target)
    assert rewritten(tmm, rewrite, path, uri) == want == expected(rewrite, path, uri)


PIECES = st.text(st.sampled_from("/ab?%$[]{}\\;\"#. *"), max_size=8)
PATHS = PIECES.map(lambda text: f"/{text.replace('?', '').replace('#', '')}") | st.just("")


@settings(max_examples=examples(300), deadline=None)
@given(st.builds(PathRewrite, st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=9).map(
    lambda text: f"/{text}"), st.booleans(), st.booleans()), PATHS, PIECES, st.booleans())
def test_any_target(tmm, rewrite, path, rest, below):
    uri = f"{path}{rest}" if below else f"/{rest}"
    assert rewritten(tmm, rewrite, path, uri) == expected(rewrite, path, uri)


def test_other_requests_are_left_alone(tmm):
    """Requests without a record, also behind one that had it."""
    data = http_edge.encode_options(RouteOptions(rewrite=route_options.parse_rewrite("/n")), secure=False,
                                    forwarded=FORWARDED_NEVER)
    connection = tmm.run([RULE], groups={GROUP: {"x": data, "y": "hsts.00"}}, requests=[
        ("h", {names.HTTP_VARIABLE: "x"}), ("h", {}), ("h", {names.HTTP_VARIABLE: "y"}),
        ("h", {names.HTTP_VARIABLE: "gone"})])
    assert [action for action in connection.actions if action[0] == "HTTP::uri"] == [("HTTP::uri", "/n/")]


def test_a_request_that_was_answered(tmm):
    """The command fails, and nothing else happens."""
    rewrite = route_options.parse_rewrite("/n")
    rewritten(tmm, rewrite, "", "/", faults=("HTTP::uri /n/",))
