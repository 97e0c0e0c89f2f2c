"""Rewriting of the path of requests, as the annotation rewrite-target asks for it.

Sources: openshift/router, haproxy-config.template (http-request replace-path), and
pkg/router/template/util/rewritetarget/rewritetarget.go, for what quotes, `#`, `%` and backslashes mean.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

LONGEST = 1000
"""Characters of a target."""
_LONGEST_TEXT = 4 * LONGEST
"""Likewise, of an annotation: a character of a target may need several there."""
TEXT = ("a path that begins with /, in printable ASCII without blanks, of at most 1000 characters, and with "
        "backslashes only before quotes, # and others that stand for themselves")

URL_PATH = re.compile(rf"/[A-Za-z0-9/._~%&=+,:;@!*-]{{0,{LONGEST - 1}}}")
"""Characters that have no meaning to a BIG-IP, and none in an address beyond its path."""

_PATH = re.compile(rf"/[!-\[\]-~]{{0,{LONGEST - 1}}}")
"""Printable ASCII but the backslash, which HAProxy takes for the beginning of a group's number."""


@dataclass(frozen=True, slots=True)
class PathRewrite:
    """Replacement for the path of a Route at the beginning of a request's path."""

    target: str
    keeps_rest: bool
    """True if what follows the path of the Route goes on behind the target."""
    drops_slash: bool
    """True if a slash at the beginning of that is left out."""
    needs_path: bool = False
    """True if it has an effect on Routes with a path only."""


def parse(text: str) -> PathRewrite:
    """Read a rewrite-target. Raises: ValueError."""
    if not text.startswith("/") or len(text) > _LONGEST_TEXT:
        raise ValueError(text)
    kept, comment = _until_comment(text)
    for mark in "\"'":
        kept = "".join(char for char, escaped in _escaped(kept) if char != mark or escaped)
    kept = re.sub("%+", lambda run: run[0] if len(run[0]) % 2 else run[0][::2], kept)
    target = re.sub(r"\\+", lambda run: run[0][1:] if len(run[0]) == 1 else run[0], kept)
    if _PATH.fullmatch(target) is None:
        raise ValueError(text)
    return PathRewrite(target, keeps_rest=not comment, drops_slash=text == "/")


def parse_url(text: str) -> PathRewrite:
    """Read a rewrite-target-url that is a path. Raises: ValueError.

    The path of the Route becomes this one; a Route without a path is left alone. Source:
    F5Networks/k8s-bigip-ctlr, pkg/resource: ProcessURLRewrite, ParseRewriteAction.
    """
    if _PATH.fullmatch(text) is None or not URL_PATH.fullmatch(text):
        raise ValueError(text)
    return PathRewrite(text, keeps_rest=True, drops_slash=text == "/", needs_path=True)


def parse_app_root(text: str) -> str:
    """Read a rewrite-app-root. Raises: ValueError: no path, or the root itself."""
    if URL_PATH.fullmatch(text) is None or text.strip("/") == "" or text.startswith("//"):
        raise ValueError(text)
    return text


def _until_comment(text: str) -> tuple[str, bool]:
    """Return the text before the first `#` that is not escaped, and True if there is one."""
    for at, (char, escaped) in enumerate(_escaped(text)):
        if char == "#" and not escaped:
            return text[:at], True
    return text, False


def _escaped(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each character, and True behind a backslash that is not escaped itself."""
    escaped = False
    for char in text:
        yield char, escaped
        escaped = char == "\\" and not escaped
