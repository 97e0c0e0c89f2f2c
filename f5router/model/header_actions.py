"""Actions on headers of requests and responses: what may be asked for, and its form in a record.

The form is words with a dot between them: "set", "add" and "delete" with the header's name, behind the first
two the pieces of its value. Every text is in hexadecimal digits, so that nothing in it has a meaning to tmsh
or Tcl.
Sources: openshift/library-go, pkg/route/validation/validation.go (names, values, lengths); openshift/router,
pkg/cmd/infra/router/template.go (ROUTER_HTTP_REQUEST_HEADERS); HAProxy, configuration manual, "Custom log
format" (flags) and req.hdr.
"""

import re
from collections.abc import Callable, Collection, Iterable
from urllib.parse import unquote_to_bytes

from f5router.model.hostnames import quote

REQUEST, RESPONSE = "req", "res"
"""Which headers a dynamic value may read: those of what it is set in."""
HSTS = "strict-transport-security"
MOST_ACTIONS = 20
MOST_NAME, MOST_VALUE = 255, 16384
"""Characters of a name, bytes of a value."""
MOST_TOGETHER = 4000
"""Bytes of all names and values of a Route, or of a setting of the router. A record of a data-group holds
65,520 bytes, a text of an iRule likewise, and headers of more than 32,768 bytes are refused by HTTP
profiles. Sources: bigip-behaviour.md B10; clouddocs, ltm profile http."""
SET, DELETE = "Set", "Delete"

_NAME = re.compile(r"[-!#$%&'*+.0-9A-Z^_`a-z|~]+")
_FORBIDDEN = frozenset({HSTS, "proxy", "cookie", "set-cookie"})
"""Names that OpenShift refuses: the first two and cookies have options of their own."""
_FRAMING = frozenset({
    "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade",
})
"""Headers that say where a message ends, or what becomes of its connection, which others may share."""
_PIECE = re.compile(
    r"%%|%(?:\{(?P<flags>[-+]?[QXE](?:,[-+]?[QXE])*)\})?"
    r"\[(?:(?P<fetch>req|res)\.hdr\((?P<header>[0-9A-Za-z-]+)\)|ssl_c_der)(?P<converters>(?:,(?:lower|base64))*)\]"
    r"|(?P<text>[^%\x00-\x1f\x7f]+)")


def encode_set(name: str, value: str, *, side: str, permitted: Collection[str] = ()) -> str:
    """Encode the action that sets a header.

    Args: side: REQUEST or RESPONSE; permitted: as of check_name. Raises: ValueError: a reason.
    """
    check_name(name, permitted)
    size = len(value.encode(errors="surrogatepass"))
    if not 0 < size <= MOST_VALUE:
        raise ValueError(f"the value of {quote(name)} has {size} bytes but must have 1 to {MOST_VALUE}")
    return ".".join(["set", name.encode().hex(), *_pieces(name, value, side)])


def encode_add(name: str, value: str, *, side: str, permitted: Collection[str] = ()) -> str:
    """Encode the action that adds a header to those of its name. Args, raises: as of encode_set."""
    if name.lower() == "lws":
        raise ValueError(f"{quote(name)} cannot be added")  # "HTTP::header insert" takes it for an option
    encoded = encode_set(name, value, side=side, permitted=permitted)
    return f"add{encoded.removeprefix('set')}"


def encode_delete(name: str, *, permitted: Collection[str] = ()) -> str:
    """Encode the action that deletes a header. Args, raises: as of encode_set."""
    check_name(name, permitted)
    return f"delete.{name.encode().hex()}"


def check_name(name: str, permitted: Collection[str] = ()) -> None:
    """Refuse invalid headers, and headers that the router or the BIG-IP manages.

    Args: permitted: names in lower case that OpenShift refuses, and others do not. Raises: ValueError.
    """
    if len(name) > MOST_NAME or _NAME.fullmatch(name) is None:
        raise ValueError(f"{quote(name)} is not the name of a header")
    if name.lower() in _FORBIDDEN and name.lower() not in permitted:
        raise ValueError(f"{name} may not be changed by an action")
    if name.lower() in _FRAMING:
        raise ValueError(f"{name} belongs to the connection, which the BIG-IP manages")


def _pieces(name: str, value: str, side: str) -> Iterable[str]:
    """Yield the pieces of a value: t_TEXT, h_HEADER or d_, and behind these their converters.

    The flags Q and X have no effect on headers. Source: HAProxy, lf_encode_chunk, which writes what has
    LOG_OPT_HTTP.
    """
    at, texts = 0, ""
    while at < len(value):
        match = _PIECE.match(value, at)
        if match is None:
            raise ValueError(f"the value of {quote(name)} is {quote(value)} but must be text without control "
                             "characters, with %% for a percent sign, or "
                             f"%[{side}.hdr(NAME)], %[ssl_c_der] with the converters lower and base64")
        at = match.end()
        if match[0] == "%%" or match["text"]:
            texts += match["text"] or "%"
            continue
        if texts:
            yield f"t_{texts.encode(errors='surrogatepass').hex()}"
            texts = ""
        yield _dynamic(name, match, side)
    if texts:
        yield f"t_{texts.encode(errors='surrogatepass').hex()}"


def _dynamic(name: str, match: re.Match[str], side: str) -> str:
    converters = [word for word in match["converters"].split(",") if word]
    if match["fetch"] not in (None, side):
        raise ValueError(f"the value of {quote(name)} reads {match['fetch']}.hdr but must read {side}.hdr")
    if match["fetch"] is None and converters[:1] != ["base64"]:
        raise ValueError(f"the value of {quote(name)} has ssl_c_der without base64, which is no text")
    if any(flag in ("E", "+E") for flag in (match["flags"] or "").split(",")):
        raise ValueError(f"the value of {quote(name)} has the flag E, which this router does not support")
    return "_".join([f"h_{match['header'].encode().hex()}" if match["header"] else "d_", *converters])


def bounded(actions: Iterable[tuple[str, str]], room: int, refuse: Callable[[str], None]) -> tuple[str, ...]:
    """Return the actions that fit into so many bytes, in their order.

    Args:
        actions: name and form of each.
        refuse: called with the reason for each that does not fit.
    """
    kept = []
    for name, text in actions:
        if len(text) // 2 > room:
            refuse(f"{quote(name)}: all names and values together have more than {MOST_TOGETHER} bytes")
            continue
        room -= len(text) // 2
        kept.append(text)
    return tuple(kept)


def parse_request_setting(text: str) -> tuple[str, ...]:
    """Parse ROUTER_HTTP_REQUEST_HEADERS. Raises: ValueError: a reason."""
    return _parse_setting(text, REQUEST)


def parse_response_setting(text: str) -> tuple[str, ...]:
    """Parse ROUTER_HTTP_RESPONSE_HEADERS. Raises: ValueError: a reason."""
    return _parse_setting(text, RESPONSE)


def _parse_setting(text: str, side: str) -> tuple[str, ...]:
    """Parse NAME:VALUE:Set and NAME:Delete with commas between them, each part percent-encoded."""
    actions = []
    for item in text.split(","):
        try:
            match [_unquote(word) for word in item.split(":")]:
                case [name, value, "Set"]:
                    if side == REQUEST and name.lower() == "host":
                        raise ValueError("Host decides which Route takes a request")
                    actions.append((name, encode_set(name, value, side=side)))
                case [name, "Delete"]:
                    actions.append((name, encode_delete(name)))
                case _:
                    raise ValueError("must be NAME:VALUE:Set or NAME:Delete")
        except ValueError as exc:
            raise ValueError(f"{quote(item)}: {exc}") from None
    if len(actions) > MOST_ACTIONS:
        raise ValueError(f"{len(actions)} actions; there may be {MOST_ACTIONS}")

    def refuse(reason: str) -> None:
        raise ValueError(reason)
    return bounded(actions, MOST_TOGETHER, refuse)


def _unquote(word: str) -> str:
    """Decode a word as Go's url.QueryUnescape does. Raises: ValueError."""
    if re.search("%(?![0-9A-Fa-f]{2})", word):
        raise ValueError(f"{quote(word)} is not percent-encoded")
    return unquote_to_bytes(word.replace("+", " ")).decode()
