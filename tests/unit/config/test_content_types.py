"""Types of ROUTER_COMPRESSION_MIME."""

import pytest

from f5router.config import option
from tests.unit.config.loading import config, problems

ON = {"ROUTER_ENABLE_COMPRESSION": "true"}


@pytest.mark.parametrize(("text", "types"), [
    ("text/html text/css", ("text/html", "text/css")), ("  text/html\t", ("text/html",)),
    ("application/vnd.api+json", ("application/vnd.api+json",)), ("image", ("image",)),
    ("text/* application/*", ("text/", "application/")),
    ("'text/html; charset=utf-8' a/b", ("text/html; charset=utf-8", "a/b")),
    ('"text/plain;format=flowed"', ("text/plain;format=flowed",)),
])
def test_types(text, types):
    assert option.content_types(text) == types


@pytest.mark.parametrize("text", [
    "*", "*/*", "text/(html|css)", "text/[a]", 'text/html "', "text/html; charset=\"utf-8\"x\\", "/a", "ä/b",
    "a{b", "'a\nb'", "a^b", "a|b", "text/**",
])
def test_bad_types(text):
    with pytest.raises(ValueError, match=r"content type|quotation|escaped"):
        option.content_types(text)


def test_settings():
    assert config().edge.compressed_types == ()
    unused = config({"ROUTER_COMPRESSION_MIME": "a/b"})
    assert unused.edge.compressed_types == ()
    assert "--compression-mime / ROUTER_COMPRESSION_MIME: not used" in "".join(unused.warnings)
    assert config(ON).edge.compressed_types == ("text/html", "text/plain", "text/css")
    assert config({**ON, "ROUTER_COMPRESSION_MIME": "a/b c/d"}).edge.compressed_types == ("a/b", "c/d")


def test_a_bad_type_ends_the_start():
    (problem,) = problems({**ON, "ROUTER_COMPRESSION_MIME": "text/html (a)"})
    assert problem.startswith("--compression-mime / ROUTER_COMPRESSION_MIME: '(a)' is not a content type")
