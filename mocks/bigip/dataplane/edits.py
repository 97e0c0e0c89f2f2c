"""Changes of requests and responses: by policies, by the http profile, by persistence."""

from __future__ import annotations

from typing import Any

from mocks.bigip import traffic
from mocks.bigip.dataplane import config, persistence
from mocks.bigip.dataplane.connection import Connection
from mocks.bigip.dataplane.http import Head
from mocks.bigip.dataplane.rules import Expression
from mocks.bigip.dataplane.servers import Server
from mocks.bigip.matching import Request, Unsupported
from mocks.bigip.quirks import Quirk

_UNKNOWN = {"redirectRewrite": "none", "proxyType": "reverse", "fallbackHost": "none"}
"""Properties of an http profile that the data plane knows by their default only."""


def check_profile(fields: dict[str, Any]) -> None:
    """Raises: Unsupported: the http profile asks for something that is not carried out."""
    for name, default in _UNKNOWN.items():
        if fields.get(name, default) not in (default, "", None):
            raise Unsupported(f"{name} of an http profile: {fields[name]}")
    if fields.get("encryptCookies"):
        raise Unsupported("encryptCookies of an http profile")


def request_of(head: Head, *, sni: str | None, tls: bool) -> Request:
    """A request as policies see it: path and query of an absolute-form target (bigip-behaviour.md B4)."""
    path = head.path.decode("latin-1")
    query = head.query.decode("latin-1") if head.query_mark else None
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    host = (head.get(b"Host") or b"").decode("latin-1")
    return Request(host, path, sni, tls, query, head.method.decode(), headers)


def expanded(text: str, request: Request, flow: Connection) -> str:
    """A value that may begin with `tcl:`; what `traffic.expand` does not know goes to the Tcl engine."""
    try:
        return traffic.expand(text, request)
    except Unsupported:
        return Expression(flow, text.removeprefix("tcl:")).value()


# -- policies --------------------------------------------------------------------------------------


def apply_all(head: Head, actions: list[dict[str, Any]], request: Request, flow: Connection) -> None:
    """Actions of policies on the request. Raises: Unsupported, RuleError."""
    for action in actions:
        if "response" not in action:
            _apply(head, action, request, flow)


def _apply(head: Head, action: dict[str, Any], request: Request, flow: Connection) -> None:
    value = expanded(str(action.get("value", "")), request, flow).encode("latin-1")
    if "httpHeader" in action:
        name = str(action.get("tmName", "")).encode("latin-1")
        if "insert" in action:
            head.headers.append((name, value))
        elif "remove" in action:
            head.remove(name)
        else:
            head.replace(name, value)
    elif "httpHost" in action:
        head.replace(b"Host", value)
    else:
        _rewrite(head, action, request, flow)


def _rewrite(head: Head, action: dict[str, Any], request: Request, flow: Connection) -> None:
    """httpUri replace: the whole, the path or the query."""
    path, mark, query = head.target.partition(b"?")
    if "value" in action:
        head.target = expanded(str(action["value"]), request, flow).encode("latin-1")
        return
    if isinstance(action.get("path"), str):
        path = expanded(action["path"], request, flow).encode("latin-1")
    if isinstance(action.get("queryString"), str):
        query = expanded(action["queryString"], request, flow).encode("latin-1")
        mark = b"?" if query else b""
    head.target = path + mark + query


# -- profiles --------------------------------------------------------------------------------------


def towards_server(head: Head, flow: Connection) -> None:
    """Do what the http profile does to a request (bigip-behaviour.md B8)."""
    fields = flow.virtual.http
    if fields.get("headerErase", "none") not in ("none", "", None):
        head.remove(str(fields["headerErase"]).encode("latin-1"))
    if fields.get("headerInsert", "none") not in ("none", "", None):
        name, _, value = str(fields["headerInsert"]).partition(":")
        head.headers.append((name.encode("latin-1"), value.strip().encode("latin-1")))
    if fields.get("insertXforwardedFor") == "enabled":
        # a further header (bigip-behaviour.md B12.14: or appended to one that is there)
        head.headers.append((b"X-Forwarded-For", flow.client[0].encode()))


def note_cookie(flow: Connection, server: Server) -> None:
    """Remember the session cookie of a request, before iRules of the server side change it."""
    with flow.shared.store.lock:
        persist = persistence.in_force(flow.shared.store, flow.virtual, flow.state)
    flow.state.cookie_sent = None
    if persist and persist[0] == "cookie":
        name = persistence.cookie_name(server.member.pool, str(persist[1].get("cookieName", "none")))
        flow.state.cookie_sent = flow.state.request.cookie(name)


def towards_client(head: Head, flow: Connection) -> None:
    """Policies' actions on responses and HSTS."""
    request = request_of(flow.state.request, sni=flow.sni, tls=flow.tls is not None)
    for action in flow.state.effect.edits:
        if "response" in action:
            _apply(head, action, request, flow)
    hsts = flow.virtual.http.get("hsts") or {}
    if hsts.get("mode") == "enabled" and flow.tls is not None:
        value = f"max-age={hsts['maximumAge']}"
        value += "; includeSubDomains" if hsts.get("includeSubdomains") == "enabled" else ""
        value += "; preload" if hsts.get("preload") == "enabled" else ""
        head.replace(b"Strict-Transport-Security", value.encode())


def insert_cookie(head: Head, flow: Connection, server: Server) -> None:
    """The cookie of persistence, if it is in force."""
    with flow.shared.store.lock:
        persist = persistence.in_force(flow.shared.store, flow.virtual, flow.state)
    if persist and persist[0] == "cookie":
        _insert_cookie(head, flow, server, persist[1])


def _insert_cookie(head: Head, flow: Connection, server: Server, fields: dict[str, Any]) -> None:
    """Sent when the client did not bring it, or with alwaysSend."""
    member = server.member
    name = persistence.cookie_name(member.pool, str(fields.get("cookieName", "none")))
    again = flow.shared.store.has(Quirk.COOKIE_READ_AGAIN)
    sent = flow.state.request.cookie(name) if again else flow.state.cookie_sent
    if sent == persistence.cookie_value(member) and (
        fields.get("alwaysSend") != "enabled"
    ):
        return
    text = persistence.set_cookie(
        name,
        member,
        tls=flow.tls is not None,
        expiry_s=int(config.seconds(fields.get("expiration"))),
        attributes=fields,
    )
    head.headers.append((b"Set-Cookie", text.encode()))
