"""TMM commands on HTTP messages. Source: tmsh reference, ltm rule command HTTP."""

from __future__ import annotations

from mocks.bigip.dataplane import http
from mocks.bigip.dataplane.commands_connection import CONTEXT, Result, number, text
from mocks.bigip.dataplane.connection import Script
from mocks.bigip.dataplane.http import Head
from mocks.bigip.dataplane.state import Response
from mocks.bigip.quirks import Quirk
from mocks.bigip.tmm import TclError, Unsupported

_REQUEST = frozenset((
    "HTTP_REQUEST", "LB_SELECTED", "LB_FAILED", "SERVER_CONNECTED", "HTTP_REQUEST_SEND",
    "HTTP_REQUEST_RELEASE", "HTTP_RESPONSE", "HTTP_RESPONSE_RELEASE",
))
_RESPONSE = frozenset(("HTTP_RESPONSE", "HTTP_RESPONSE_RELEASE"))


def _request(rules: Script) -> Head:
    """Raises: TclError: no request here, as in a TLS event (bigip-behaviour.md B5)."""
    if rules.state.request is None or rules.state.event not in _REQUEST:
        raise TclError(CONTEXT)
    return rules.state.request


def _message(rules: Script) -> Head:
    """The response in its events, else the request."""
    request = _request(rules)
    return rules.state.answer if rules.state.event in _RESPONSE else request


def host(rules: Script, args: list[bytes]) -> Result:
    head = _request(rules)
    if args:
        head.replace(b"Host", args[-1])
        return ""
    return head.get(b"Host") or b""


def uri(rules: Script, args: list[bytes]) -> Result:
    head = _request(rules)
    if args:
        head.target = args[-1]
        return ""
    return head.target


def path(rules: Script, args: list[bytes]) -> Result:
    head = _request(rules)
    if args:
        head.target = args[-1] + head.query_mark + head.query
        return ""
    return head.path


def query(rules: Script, args: list[bytes]) -> Result:
    head = _request(rules)
    if args:
        head.target = head.path + (b"?" + args[-1] if args[-1] else b"")
        return ""
    return head.query


def method(rules: Script, args: list[bytes]) -> Result:
    head = _request(rules)
    if args:
        head.method = args[-1]
        return ""
    return head.method


def version(rules: Script, args: list[bytes]) -> Result:
    return _message(rules).version


def status(rules: Script, args: list[bytes]) -> Result:
    if rules.state.event not in _RESPONSE:
        raise TclError(CONTEXT)
    return rules.state.answer.status


def header(rules: Script, args: list[bytes]) -> Result:
    """`HTTP::header NAME` and its verbs; of several headers with a name the last counts."""
    head = _message(rules)
    verb, rest = text(args[0]) if args else "", args[1:]
    if verb in ("insert", "replace", "remove"):
        return _change(rules, head, verb, rest)
    match (verb, len(rest)):
        case ("value", 1):
            return head.get(rest[0]) or b""
        case ("values", 1):
            return b" ".join(b"{%b}" % value for value in head.all(rest[0]))
        case ("exists", 1):
            return int(head.get(rest[0]) is not None)
        case ("count", 0):
            return len(head.headers)
        case ("count", 1):
            return len(head.all(rest[0]))
        case ("names", 0):
            return b" ".join(b"{%b}" % name for name, _ in head.headers)
        case ("at", 1):
            return head.headers[number(rest[0])][0]
        case (_, 0):
            return head.get(args[0]) or b""
        case _:
            raise Unsupported(f"HTTP::header {' '.join(map(text, args))}")


def _change(rules: Script, head: Head, verb: str, rest: list[bytes]) -> Result:
    rest = [word for word in rest if word != b"lws"]
    if verb == "insert" and len(rest) >= 2 and len(rest) % 2 == 0:
        head.headers += list(zip(rest[::2], rest[1::2], strict=True))
    elif verb == "replace" and 1 <= len(rest) <= 2:
        head.replace(rest[0], rest[1] if len(rest) == 2 else b"")
    elif verb == "remove" and len(rest) == 1:
        head.remove(rest[0], every=not rules.flow.shared.store.has(Quirk.HEADER_REMOVE_LAST))
    else:
        raise Unsupported(f"HTTP::header {verb} with {len(rest)} words")
    return ""


def cookie(rules: Script, args: list[bytes]) -> Result:
    """Find a cookie: of several with its name the first, in Cookie or, in a response, Set-Cookie."""
    head = _message(rules)
    match [text(arg) for arg in args]:
        case [name] | ["value", name]:
            return head.cookie(name) or ""
        case ["exists", name]:
            return int(head.cookie(name) is not None)
        case ["remove", name]:
            head.remove_cookie(name, every=not rules.flow.shared.store.has(Quirk.COOKIE_REMOVE_FIRST))
            return ""
        case words:
            raise Unsupported(f"HTTP::cookie {' '.join(words)}")


def respond(rules: Script, args: list[bytes]) -> Result:
    """`respond STATUS ?-version V? ?content BODY? ?noserver? ?NAME VALUE ...?`"""
    _not_answered(rules)
    code, rest = number(args[0]) if args else 0, list(args[1:])
    form, body, server = "1.0", b"", True
    while rest:
        if rest[0] == b"-version" and len(rest) > 1:
            form, rest = text(rest[1]).removeprefix("HTTP/"), rest[2:]
            form = rules.state.request.version if form == "auto" else form
        elif rest[0] == b"content" and len(rest) > 1:
            body, rest = rest[1], rest[2:]
        elif rest[0] == b"noserver":
            server, rest = False, rest[1:]
        else:
            break
    if len(rest) % 2:
        raise TclError("HTTP::respond: a header without a value")
    headers = list(zip(rest[::2], rest[1::2], strict=True))
    given = {name.lower() for name, _ in headers}
    if server and b"server" not in given:
        headers.append((b"Server", b"BigIP"))
    if b"connection" not in given:
        headers.append((b"Connection", b"Keep-Alive"))
    elif any(name.lower() == b"connection" and value.lower() == b"close" for name, value in headers):
        rules.state.close = True
    headers = [pair for pair in headers if pair[0].lower() != b"content-length"]
    rules.state.response = Response(*http.reply(code, headers, body, version=form))
    return ""


def redirect(rules: Script, args: list[bytes]) -> Result:
    """Always 302 (bigip-behaviour.md B11)."""
    _not_answered(rules)
    rules.state.response = Response.redirect(text(args[0]), 302)
    return ""


def _not_answered(rules: Script) -> None:
    _request(rules)
    if rules.state.response is not None:
        raise TclError("Operation not supported. Multiple redirect/respond invocations not allowed")


def has_responded(rules: Script, args: list[bytes]) -> Result:
    _request(rules)
    return int(rules.state.response is not None)


def close(rules: Script, args: list[bytes]) -> Result:
    _request(rules)
    rules.state.close = True
    return ""


def disable(rules: Script, args: list[bytes]) -> Result:
    """Before the first request: the connection is carried as plain bytes."""
    if rules.flow.virtual.http is None:
        raise TclError(CONTEXT)
    if rules.state.request is not None:
        raise Unsupported("HTTP::disable behind the beginning of a request")
    rules.state.http_off = True
    return ""


def enable(rules: Script, args: list[bytes]) -> Result:
    rules.state.http_off = False
    return ""


COMMANDS = {
    "HTTP::host": host,
    "HTTP::uri": uri,
    "HTTP::path": path,
    "HTTP::query": query,
    "HTTP::method": method,
    "HTTP::version": version,
    "HTTP::status": status,
    "HTTP::header": header,
    "HTTP::cookie": cookie,
    "HTTP::respond": respond,
    "HTTP::redirect": redirect,
    "HTTP::has_responded": has_responded,
    "HTTP::close": close,
    "HTTP::disable": disable,
    "HTTP::enable": enable,
}
