"""HTTP between the clients and the BIG-IP: settings for all Routes, IDs of requests, options of a Route.

The ID of a request is a header that pods get, in one of HAProxy's formats. Sources: openshift/router,
haproxy-config.template (both settings stand in HAProxy's configuration as they are);
openshift/cluster-ingress-operator, deployment.go (the format in quotes, and the default); openshift/api,
operator/v1, IngressControllerHTTPUniqueIdHeaderPolicy (pattern and 1,024 characters); HAProxy, configuration
manual, "Quoting and escaping" and "Custom log format".

Options of a Route that act on its requests and responses are the data of a record. Rules name the record, not
the Route: Routes with equal options share one. A text of a tenant is written in hexadecimal digits, so that
nothing in it has a meaning to tmsh or Tcl.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

from f5router.model import header_actions, objects
from f5router.model.hostnames import quote
from f5router.model.route_options import PathRewrite, RouteOptions


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """Answer of the BIG-IP where no pod can answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    """Names of letters, digits, `-` and `_`; values in printable ASCII."""
    body: bytes


@dataclass(frozen=True, slots=True)
class HTTPEdge:
    """Treatment of HTTP on both virtual servers."""

    compressed_types: tuple[str, ...] = ()
    """Beginnings of the content types of responses that are compressed; none: nothing is."""
    unavailable: ErrorPage | None = None
    """Page in the place of the built-in one."""
    not_found: ErrorPage | None = None
    """Page for requests that no Route matches; None: the same as for all others."""
    hsts: str = ""
    """Strict-Transport-Security of responses over TLS that have none; "" for none."""


DEFAULT_ID_FORMAT = r"%{+X}o\ %ci:%cp_%fi:%fp_%Ts_%rt:%pid"
MOST_FORMAT = 1024
"""Characters."""
MOST_ID = 127
"""Bytes of an ID; what is longer is cut. Source: HAProxy, UNIQUEID_LEN, less the end of the text."""

ID_ADDRESSES, ID_NUMBERS, ID_TEXTS = ("ci", "fi"), ("cp", "fp", "Ts", "rt", "pid"), ("H",)
_VARIABLE = re.compile(r"%(?:\{(?P<flags>[-+][QXE](?:,[-+][QXE])*)\})?(?P<name>[A-Za-z0-9]+)")
_TEXT = re.compile(r"(?:%%|[^%])+")
_ESCAPED = {"": "\\ #\"'", '"': "\\ #\"'$"}
"""Characters that a backslash may precede, outside of quotes and within."""


@dataclass(frozen=True, slots=True)
class UniqueID:
    """The header that holds a request's ID."""

    name: str
    pieces: tuple[str, ...]
    """Pieces of its value, as parse_format returns them."""


def parse_id_header(text: str) -> str:
    """Parse ROUTER_UNIQUE_ID_HEADER_NAME. Raises: ValueError: a reason."""
    header_actions.check_name(text)
    if text.lower() in ("host", "lws") or not text[0].isalnum():
        # "HTTP::header insert" takes lws for an option.
        raise ValueError(f"{quote(text)} cannot be the header with the ID of a request")
    return text


def parse_id_format(text: str) -> tuple[str, ...]:
    """Parse ROUTER_UNIQUE_ID_FORMAT: an argument of HAProxy's configuration that is a format of its log.

    Returns: the pieces of the value: t_ with a text in hexadecimal digits, or the name of a variable, with _x
        for hexadecimal digits or _q for quotes around it.
    Raises: ValueError: a reason.
    """
    if len(text) > MOST_FORMAT:
        raise ValueError(f"{len(text)} characters; there may be {MOST_FORMAT}")
    pieces = _pieces(_unquote(text))
    if not pieces:
        raise ValueError("has neither a text nor a variable")
    return pieces


def _unquote(text: str) -> str:
    """Return the text of an argument without its quotes and backslashes."""
    plain, within, at = "", "", 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "\\" and within != "'":
            if at == len(text) or text[at] not in _ESCAPED[within]:
                raise ValueError("a backslash must stand before a blank or one of \\ # \" '")
            plain += text[at]
            at += 1
        elif char in ("'", '"') and within in ("", char):
            within = "" if within else char
        elif char == "$" and within == '"':
            raise ValueError("$ stands for a variable of the environment, which is not supported: write \\$")
        elif not within and char in " \t#":
            raise ValueError(f"{quote(char)} must stand in quotes, or have a backslash before it")
        else:
            plain += char
    if within:
        raise ValueError(f"a {within} is missing at the end")
    if re.search(r"[^ -~]", plain):
        raise ValueError(f"{quote(plain)} is not printable ASCII")
    return plain


def _pieces(text: str) -> tuple[str, ...]:
    """Parse a format. Leading blanks are ignored, and several blanks count as one."""
    pieces: list[str] = []
    shared: set[str] = set()
    at, blank = 0, True
    while at < len(text):
        if match := _TEXT.match(text, at):
            words = re.sub(" +", " ", match[0].replace("%%", "%"))
            words = words.lstrip(" ") if blank else words
            pieces += [f"t_{words.encode().hex()}"] if words else []
            blank = words.endswith(" ") if words else blank
        elif not (match := _VARIABLE.match(text, at)):
            raise ValueError(f"{quote(text[at:])}: only variables are supported, and %% for a percent sign")
        elif match["name"] == "o":
            shared = _flags(shared, match["flags"])
        else:
            pieces.append(_variable(match["name"], _flags(shared, match["flags"])))
            blank = False
        at = match.end()
    return tuple(pieces)


def _flags(shared: set[str], changes: str | None) -> set[str]:
    flags = set(shared)
    for change in (changes or "").split(","):
        (flags.add if change.startswith("+") else flags.discard)(change[1:])
    return flags


def _variable(name: str, flags: set[str]) -> str:
    """Return the piece of a variable. E changes nothing: no value has a character that it escapes."""
    if name not in (*ID_ADDRESSES, *ID_NUMBERS, *ID_TEXTS):
        raise ValueError(f"%{name} is not supported; these are: "
                         + ", ".join(f"%{word}" for word in (*ID_ADDRESSES, *ID_NUMBERS, *ID_TEXTS)))
    if "X" in flags and name not in ID_TEXTS:
        return f"{name}_x"
    return f"{name}_q" if "Q" in flags and name not in ID_NUMBERS else name


def encode_options(options: RouteOptions, *, secure: bool, forwarded: str, path: str = "") -> str:
    """Return the data of a record in names.HTTP_GROUP; "" if a Route needs none.

    A slash stands between options, a dot between the words of one.
    Args:
        secure: True for requests over TLS.
        forwarded: the router's own policy for forwarded headers.
        path: spec.path.
    """
    parts = []
    if options.forwarded not in ("", forwarded):
        parts.append(f"forwarded.{options.forwarded}")
    parts += [f"request.{action}" for action in options.request_actions]
    parts += [f"response.{action}" for action in options.response_actions]
    if secure and options.hsts:
        parts.append(f"hsts.{options.hsts.encode().hex()}")
    if (rewrite := options.rewrite) and (path or not rewrite.needs_path):
        parts.append(".".join(["rewrite", *_rewrite_words(path, rewrite)]))
    if options.reply:
        parts.append(options.reply)
    return "/".join(parts)


def _rewrite_words(path: str, rewrite: PathRewrite) -> list[str]:
    return [path.encode().hex(), rewrite.target.encode().hex(), *(["rest"] if rewrite.keeps_rest else []),
            *(["slash"] if rewrite.drops_slash else [])]


def options_record_name(data: str) -> str:
    """Return the name of the record with these data."""
    return objects.digest(data, 32)


SHARE = 1_000_000
"""All requests, as a share in a reply."""


def encode_answer(status: int, share: float = 1.0) -> str:
    """Return the reply that is an answer of the BIG-IP to a share of the requests, of 0 to 1."""
    return f"answer.{status}.{max(1, round(share * SHARE))}"


def encode_redirect(status: int, scheme: str, host: str, port: int,
                    rewrite: tuple[str, PathRewrite] | None = None) -> str:
    """Return the reply that is a redirect with path and query of the request.

    Args:
        host: "" for that of the request.
        port: 0 for the usual one of the scheme.
        rewrite: the path of the Route, and what stands in its place; None for the path as it is.
    """
    authority = f"{host}:{port}" if port and host else host
    suffix = f":{port}" if port and not host else ""
    return ".".join(("redirect", str(status), scheme, authority.encode().hex(), suffix.encode().hex(),
                     *(_rewrite_words(*rewrite) if rewrite else ())))


class DeviceAnswer(NamedTuple):
    """An answer of the BIG-IP in the place of pods."""

    status: int
    share: float
    """The part of the requests that get it, of 0 to 1."""
    target: str = ""
    """The address that a redirect names, in words without its path; "" for no redirect."""

    @property
    def text(self) -> str:
        """Return the answer in words."""
        return f"{self.status}, to {self.target}" if self.target else str(self.status)


def reply_of(data: str) -> DeviceAnswer | None:
    """Return the reply in the data of a record, or in RouteOptions.reply; None without one."""
    kind, *words = data.rpartition("/")[2].split(".")
    if kind == "answer":
        return DeviceAnswer(int(words[0]), int(words[1]) / SHARE)
    if kind == "redirect":
        authority, suffix = (bytes.fromhex(word).decode(errors="replace") for word in words[2:4])
        same = f"{words[1]} on the same host{suffix.replace(':', ', port ')}"
        return DeviceAnswer(int(words[0]), 1.0, f"{words[1]}://{authority}" if authority else same)
    return None
