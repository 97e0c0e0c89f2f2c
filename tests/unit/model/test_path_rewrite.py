"""rewrite-target: what quotes, `#`, `%` and backslashes mean in a value."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import route_options
from f5router.model.route_options import PathRewrite
from tests.differential.haproxy_config import sanitized


@pytest.mark.parametrize(("text", "target"), [
    ("/", "/"), ("/foo", "/foo"), ("/foo/", "/foo/"), ("//", "//"), ("/a?b=c", "/a?b=c"),
    ("/a.b(c)", "/a.b(c)"), ("/$x[exit]{};", "/$x[exit]{};"),
    ("/%20", "/%20"), ("/%%20", "/%20"), ("/%%%20", "/%%%20"), ("/%%%%", "/%%"),
    ('/"foo"', "/foo"), ("/'foo'", "/foo"), (r"/\"foo\"", '/"foo"'), (r"/\'foo", "/'foo"), (r"/a\b", "/ab"),
    (r"/a\#b", "/a#b"), ("/a\\", "/a"), ("/&<>", "/&<>"),
])
def test_targets(text, target):
    assert route_options.parse_rewrite(text) == PathRewrite(target, keeps_rest=True, drops_slash=text == "/")


@pytest.mark.parametrize(("text", "target"), [
    ("/foo#bar", "/foo"), ("/#", "/"), ("/foo#", "/foo"), ("/a#b#c", "/a"), (r"/a\#b#c", "/a#b"),
    ('/"a#b"', "/a"),
])
def test_a_comment_takes_the_rest_away(text, target):
    assert route_options.parse_rewrite(text) == PathRewrite(target, keeps_rest=False, drops_slash=False)


@pytest.mark.parametrize("text", [
    "", "foo", " /", '"/"', "'/foo'", "#", "http://a/", "/a b", "/a\n", "/a\tb", "/\x00", "/ä", "/\x7f",
    r"/a\\b", r"/\\1", r"/a\\", "/" + "x" * 1000, "/" + "x" * 100_000, r"\/",
])
def test_what_is_no_target(text):
    with pytest.raises(ValueError, match=r"^") as caught:
        route_options.parse_rewrite(text)
    assert caught.value.args == (text,)


@given(st.text(st.sampled_from("/ab#%\"'\\ 1"), max_size=12).map(lambda text: f"/{text}"))
def test_every_target_is_that_of_haproxys_router(text):
    """Where ours is accepted, HAProxy gets the same between its single quotes."""
    try:
        rewrite = route_options.parse_rewrite(text)
    except ValueError:
        return
    written = sanitized(text)
    assert written.endswith(r"\1") == rewrite.keeps_rest
    literal = written.removesuffix(r"\1") if rewrite.keeps_rest else written
    assert literal.replace(r"'\''", "'").replace("%%", "%") == rewrite.target


@pytest.mark.parametrize(("text", "slash"), [("/", True), ("/new", False), ("/a/b%20c", False)])
def test_urls_of_container_ingress_services(text, slash):
    assert route_options.parse_url_rewrite(text) == PathRewrite(
        text, keeps_rest=True, drops_slash=slash, needs_path=True)


@pytest.mark.parametrize("text", [
    "", "x", "host/x", "http://host/x", "/x y", "/{", "/$x", "/[x]", "/\\1", "/#", "/x?y", "/" + "x" * 1000])
def test_urls_that_are_not_supported(text):
    message = re.escape(text) + "$"
    with pytest.raises(ValueError, match=message):
        route_options.parse_url_rewrite(text)
    with pytest.raises(ValueError, match=message):
        route_options.parse_app_root(text)


@pytest.mark.parametrize("text", ["/", "//", "//other.example.com", "///"])
def test_roots_that_lead_nowhere(text):
    """To themselves, or to another host."""
    with pytest.raises(ValueError, match=re.escape(text)):
        route_options.parse_app_root(text)
