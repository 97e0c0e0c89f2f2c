"""The annotation `health` of Container Ingress Services, its parsing, and checks with thresholds.

The request goes to the pods of the Route alone. It may only read, and has no character with a meaning in a
configuration of the BIG-IP. Any other request is refused: without it the check would be another one.
An entry without `path`, as in the NextGen mode of CIS, is for the Route whatever its path.
Sources: clouddocs, Container Ingress Services, Route annotations (its examples have `HTTP GET /` as request);
F5Networks/k8s-bigip-ctlr, docs/config_examples/next-gen-routes/routes (entries without `path`);
tmsh reference, ltm monitor http; K2167 (requests of monitors: \\r\\n for ends of lines); RFC 9110 5.1, 9.2.1.
"""

import json
import re
from typing import Any

from f5router.model.hostnames import quote
from f5router.model.route_options import MAX_CHECK_S, MAX_TIMEOUT_S, HealthCheck

MOST_TEXT, MOST_ENTRIES, MOST_SEND, MOST_RECV = 16_384, 20, 1024, 128
"""Characters of the annotation, its entries, and characters of `send` and of `recv`."""

EXPECTED = f"a JSON list of at most {MOST_ENTRIES} objects, of at most {MOST_TEXT} characters"

MOST_COUNT = 100
"""Largest threshold."""

INTERVAL_S, TIMEOUT_S = 5, 16
"""Those of the BIG-IP's monitors, where an entry has none."""
SEND = "GET /"
"""Likewise."""
END = "\\r\\n"
"""End of a line, as the BIG-IP writes it."""

_PATH = re.compile(r"/[A-Za-z0-9/._~%?&=+,:;@!*'()-]*")
_REQUEST = re.compile(rf"(?:HTTP )?(GET|HEAD|OPTIONS) ({_PATH.pattern})( HTTP/1\.[01])?")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}: ?[A-Za-z0-9 !#%&'()*+,./:;<=>?@^_`|~-]*")

_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}")

_LITERAL = r"[A-Za-z0-9 _.,:;/=<>!@#%&~'-]|\\[./()-]"
_CLASS = r"\[[A-Za-z0-9]+(?:-[A-Za-z0-9])?\]"
_GROUP = rf"\((?:{_LITERAL})+(?:\|(?:{_LITERAL})+){{0,7}}\)"
_RECV = re.compile(rf"\^?(?:{_LITERAL}|{_CLASS}|{_GROUP})+")
_GROUPS = 2
"""Groups of a regular expression: with at most eight words each, 64 ways to read an answer from a place."""


class InvalidCheck(ValueError):
    """An entry that cannot be honoured; its text is the reason."""


def parse(text: str) -> tuple[HealthCheck, ...]:
    """Parse the annotation. Raises: InvalidCheck: an entry is not valid; ValueError: it is no such list."""
    if len(text) > MOST_TEXT:
        raise ValueError(text)
    try:
        entries = json.loads(text)
    except RecursionError:
        raise ValueError(text) from None
    if not isinstance(entries, list) or not 1 <= len(entries) <= MOST_ENTRIES:
        raise ValueError(text)
    if not all(isinstance(entry, dict) for entry in entries):
        raise ValueError(text)
    return tuple(_check(entry) for entry in entries)


def of_thresholds(route_path: str, path: str, *, host: str, interval_s: int, timeout_s: int,
                  unhealthy: int, healthy: int, kind: str = "http") -> HealthCheck:
    """Return the check of an object that counts answers: only one with status 200 is a good one.

    A monitor counts seconds: a pod is down after so many checks without a good answer, and up once as many
    good answers have come as are asked for. Sources: clouddocs, tmsh reference, ltm monitor http (time-out
    longer than the interval, time-until-up); projectcontour/contour v0.15.3, docs/ingressroute.md.

    Args:
        route_path: path of the Route for which it is.
        path: what the request asks for.
        host: value of the Host header.
        timeout_s: how long to wait for an answer.
        unhealthy: number of failed checks after which a pod is down; healthy: of good answers.
        kind: http or https.

    Raises: InvalidCheck
    """
    for name, value in (("unhealthyThresholdCount", unhealthy), ("healthyThresholdCount", healthy)):
        if not 1 <= value <= MOST_COUNT:
            raise InvalidCheck(f"{name} must be a whole number, 1 to {MOST_COUNT}")
    for name, value in (("intervalSeconds", interval_s), ("timeoutSeconds", timeout_s)):
        if not 1 <= value <= MAX_CHECK_S:
            raise InvalidCheck(f"{name} must be a whole number, 1 to {MAX_CHECK_S}")
    down_s = max(interval_s * unhealthy + 1, interval_s * (unhealthy - 1) + timeout_s)
    if down_s > MAX_TIMEOUT_S:
        raise InvalidCheck(f"intervalSeconds and unhealthyThresholdCount make a time of {down_s} s until a "
                           f"pod is down, at most {MAX_TIMEOUT_S} s are possible")
    if not _HOST.fullmatch(host):
        raise InvalidCheck(f"host is {quote(host)} but must be a name, an address or one of both with a port")
    if not _PATH.fullmatch(path):
        raise InvalidCheck(f"path is {quote(path)} but must begin with / and may have letters, digits and "
                           "some punctuation")
    send = _request(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close")
    return HealthCheck(route_path or "/", kind, interval_s, down_s, send, r"^HTTP/1\.[01] 200",
                       interval_s * (healthy - 1))


def _check(entry: dict[str, Any]) -> HealthCheck:
    host, slash, path = ("", "/", "") if entry.get("path") is None else _text(entry, "path").partition("/")
    if not slash:
        raise InvalidCheck(f"path is {quote(host)} but must be HOST/PATH")
    kind = _text(entry, "type") or "http"
    if kind not in ("http", "https", "tcp"):
        raise InvalidCheck(f"type is {quote(kind)} but must be http, https or tcp")
    interval_s = _seconds(entry, "interval", INTERVAL_S, MAX_CHECK_S)
    timeout_s = _seconds(entry, "timeout", max(TIMEOUT_S, 3 * interval_s + 1), MAX_TIMEOUT_S)
    if timeout_s <= interval_s:
        raise InvalidCheck("timeout must be longer than interval")
    for name in ("sslProfile", "targetPort"):
        if entry.get(name):
            raise InvalidCheck(f"{name} is not supported")
    send, recv = _text(entry, "send"), _text(entry, "recv")
    if kind != "tcp":
        return HealthCheck(f"/{path}", kind, interval_s, timeout_s, _request(send or SEND), _pattern(recv))
    if send or recv:
        raise InvalidCheck("send and recv are not supported with type tcp")
    return HealthCheck(f"/{path}", kind, interval_s, timeout_s)


def _text(entry: dict[str, Any], name: str) -> str:
    value = entry.get(name) or ""
    if not isinstance(value, str):
        raise InvalidCheck(f"{name} must be a string")
    return value


def _seconds(entry: dict[str, Any], name: str, default: int, most: int) -> int:
    value = entry.get(name, default)
    if type(value) is not int or not 1 <= value <= most:
        raise InvalidCheck(f"{name} must be a whole number, 1 to {most}")
    return value


def _request(text: str) -> str:
    """Return a request in the form of the BIG-IP, with an empty line at its end.

    The BIG-IP may append one, which a server ignores (RFC 9112 2.2).
    """
    if len(text) > MOST_SEND:
        raise InvalidCheck(f"send has {len(text)} characters, at most {MOST_SEND} are possible")
    lines = re.split(r"\r\n|\n|\\r\\n|\\n", text)
    while len(lines) > 1 and not lines[-1]:
        lines.pop()
    request = _REQUEST.fullmatch(lines[0])
    if request is None:
        raise InvalidCheck(f"send begins with {quote(lines[0])} but must be a GET, HEAD or OPTIONS request")
    for line in lines[1:]:
        if not _HEADER.fullmatch(line):
            raise InvalidCheck(f"send has {quote(line)}, which is not supported as a header")
    if len(lines) > 1 and not request[3]:
        raise InvalidCheck("send has headers, which need HTTP/1.0 or HTTP/1.1 behind the path")
    first = f"{request[1]} {request[2]}{request[3] or ''}"
    return "".join(f"{line}{END}" for line in (first, *lines[1:], ""))


def _is_simple(text: str) -> bool:
    if _RECV.fullmatch(text) is None or len(re.findall(r"(?<!\\)\(", text)) > _GROUPS:
        return False
    try:
        re.compile(text)
    except re.error:
        return False  # such as [9-0]
    return True


def _pattern(text: str) -> str:
    """Return a regular expression that a BIG-IP matches in a time that its length limits.

    One process checks the pods of all Routes. A quantifier, a reference or many groups can make a pattern
    that takes it minutes, in which pods of others would be counted as down.
    """
    if len(text) > MOST_RECV:
        raise InvalidCheck(f"recv has {len(text)} characters, at most {MOST_RECV} are possible")
    if text and not _is_simple(text):
        raise InvalidCheck(
            f"recv is {quote(text)}, but may have letters, digits, punctuation, '.', classes such as [0-9] "
            f"and at most {_GROUPS} groups such as (200|301); *, +, ?, {{}} and $ are not supported")
    return text
