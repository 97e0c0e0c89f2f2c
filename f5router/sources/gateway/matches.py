"""Matches of HTTPRoutes: which requests one stands for, and why one cannot be served.

Sources: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go: HTTPRouteMatch, HTTPHeaderMatch
(names in any case), HTTPQueryParamMatch (names and values as they are), HTTPMethod; RFC 9110, 5.1 and 5.5.
"""

import re

from f5router.model.cluster import PathMatch
from f5router.model.gateway import HTTPMatch, ValueMatch
from f5router.model.hostnames import quote
from f5router.model.request_match import MOST_PARAMETERS, RequestMatch

MOST_TEXT = 4096
"""Characters of all names and values in a match: each Host of an HTTPRoute has them."""
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH")
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_EVALUATED = "tcl:"
"""A BIG-IP evaluates texts of actions that begin with it; no source tells about those of conditions."""
_PLAIN = re.compile(r"[A-Za-z0-9._~-]+")


def path_of(match: HTTPMatch) -> tuple[PathMatch, str]:
    """Return a path as Routes have it. A slash at the end of a prefix does not count."""
    if match.path_type == "Exact":
        return PathMatch.EXACT, match.path
    return PathMatch.SEGMENTS, match.path.rstrip("/")


def request_of(match: HTTPMatch) -> RequestMatch:
    """Return what a request must have besides host and path."""
    return RequestMatch(match.method, _pairs(match.headers, lower=True), _pairs(match.query, lower=False))


def unsupported(match: HTTPMatch) -> str:
    """Return why a match cannot be served, beginning with its field; "" if it can."""
    if match.path_type not in ("Exact", "PathPrefix"):
        return f"path.type: {quote(match.path_type)} is not supported"
    if match.method and match.method not in _METHODS:
        return f"method: {quote(match.method)} is not supported"
    if len(match.query) > MOST_PARAMETERS:
        return f"queryParams: {len(match.query)} entries, at most {MOST_PARAMETERS} are supported"
    named = (("headers", match.headers), ("queryParams", match.query))
    problems = (f"{field}[{number}].{problem}" for field, entries in named
                for number, each in enumerate(entries) if (problem := _problem(field, each)))
    if problem := next(problems, ""):
        return problem
    texts = sum(len(each.name) + len(each.value) for _, entries in named for each in entries)
    return f"headers: all names and values have more than {MOST_TEXT} characters" if texts > MOST_TEXT else ""


def _problem(field: str, entry: ValueMatch) -> str:
    """Return why a header or a parameter cannot be compared; "" if it can."""
    if entry.type != "Exact":
        return f"type: {quote(entry.type)} is not supported"
    if field == "queryParams":  # which escapes the BIG-IP decodes before it compares is not documented
        odd = next(((name, text) for name, text in (("name", entry.name), ("value", entry.value))
                    if not _PLAIN.fullmatch(text)), None)
        return f"{odd[0]}: {quote(odd[1])} has other characters than letters, digits and -._~" if odd else ""
    if not _NAME.fullmatch(entry.name):
        return f"name: {quote(entry.name)} is no name of a header"
    value = entry.value
    if not value or value != value.strip() or not (value.isascii() and value.isprintable()):
        return f"value: {quote(value)} is no value that a header can have"
    if value.lower().startswith(_EVALUATED):
        return f"value: {quote(value)} begins with {_EVALUATED!r}, after which a BIG-IP may evaluate Tcl"
    return ""


def _pairs(entries: tuple[ValueMatch, ...], *, lower: bool) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((each.name.lower() if lower else each.name, each.value) for each in entries))
