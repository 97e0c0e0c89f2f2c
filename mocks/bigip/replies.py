"""Bodies and headers of replies, among them the HTML pages of Apache and Jetty (bigip-behaviour.md A2.2)."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from mocks.bigip import versions
from mocks.bigip.refusals import Refusal
from mocks.bigip.versions import Version

JSON_TYPE = "application/json;charset=utf-8"
_COMMON = {
    "X-Frame-Options": "SAMEORIGIN",
    "Strict-Transport-Security": "max-age=16070400; includeSubDomains",
    "Pragma": "no-cache",
    "Cache-Control": "no-store, no-cache, must-revalidate",
    "Expires": "-1",
    "X-Content-Type-Options": "nosniff",
    "X-XSS-Protection": "1; mode=block",
}
_JETTY = {**_COMMON, "Server": "Jetty(9.2.22.v20170606)", "Allow": ""}
_APACHE = {
    "Server": "Apache",
    "Strict-Transport-Security": _COMMON["Strict-Transport-Security"],
    "X-Frame-Options": "SAMEORIGIN",
}
_HTML = "text/html; charset=iso-8859-1"

UNAUTHORIZED = """<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">
<html><head>
<title>401 Unauthorized</title>
</head><body>
<h1>Unauthorized</h1>
<p>This server could not verify that you
are authorized to access the document
requested.  Either you supplied the wrong
credentials (e.g., bad password), or your
browser doesn't understand how to supply
the credentials required.</p>
</body></html>
"""
NOT_FOUND = """<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">
<html><head>
<title>404 Not Found</title>
</head><body>
<h1>Not Found</h1>
<p>The requested URL %s was not found on this server.</p>
</body></html>
"""
RESTARTING = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"
  "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="en">
    <head>
        <title>BIG-IP\u00ae - Configuration Utility restarting...</title>
        <link rel="stylesheet" type="text/css" href="/xui/common/css/tomcat_unavailable.css">
    </head>
    <body></body>
</html>
"""
TIMED_OUT = """<html>
<head>
<meta http-equiv="Content-Type" content="text/html;charset=utf-8"/>
<title>Error 500 AsyncContext timeout</title>
</head>
<body><h2>HTTP ERROR 500 AsyncContext timeout</h2>
<table>
<tr><th>URI:</th><td>%s</td></tr>
<tr><th>STATUS:</th><td>500</td></tr>
<tr><th>MESSAGE:</th><td>AsyncContext timeout</td></tr>
<tr><th>SERVLET:</th><td>com.f5.rest.app.RestServerServlet-7f13d6e</td></tr>
</table>
<hr><a href="https://eclipse.org/jetty">Powered by Jetty:// 9.4.49.v20220914</a><hr/>
</body>
</html>
"""

_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, check_circular=False)
_operations = itertools.count(1_000_000)


@dataclass(frozen=True)
class Reply:
    """body: bytes as they go over the wire."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    reason: str | None = None


def success(content: Any = None, *, headers: dict[str, str] | None = None) -> Reply:
    """200 with JSON; without content an empty body, still called JSON (bigip-behaviour.md A2.1)."""
    body = b"" if content is None else encode(content)
    return Reply(200, body, {**_JETTY, "Content-Type": JSON_TYPE, **(headers or {})})


def encode(content: Any) -> bytes:
    return _ENCODER.encode(content).encode()


def html(
    status: int, text: str, *, reason: str | None = None, headers: dict[str, str] | None = None
) -> Reply:
    return Reply(
        status, text.encode("iso-8859-1"), {**_APACHE, "Content-Type": _HTML, **(headers or {})}, reason
    )


def unauthorized() -> Reply:
    return html(
        401,
        UNAUTHORIZED,
        reason="F5 Authorization Required",
        headers={"WWW-Authenticate": 'Basic realm="Enterprise Manager"'},
    )


def restarting() -> Reply:
    return html(503, RESTARTING, reason="Service Temporarily Unavailable")


def timed_out(path: str) -> Reply:
    return Reply(500, (TIMED_OUT % path).encode(), {**_COMMON, "Content-Type": "text/html;charset=utf-8"})


def refused(refusal: Refusal, *, version: Version, sender: str) -> Reply:
    """The reply to a refused request, in the form of the layer that refuses."""
    if refusal.layer == "html":
        return unauthorized() if refusal.status == 401 else html(refusal.status, refusal.message)
    body: dict[str, Any] = {"code": refusal.status, "message": refusal.message}
    reason = None
    if refusal.layer == "java":
        body["referer"] = sender
        body["restOperationId"] = next(_operations)
        if version < (13, 1):
            body["errorStack"] = []
        body["kind"] = ":resterrorresponse"
        reason = "F5 Authorization Required" if refusal.status == 401 else None
    else:
        body["errorStack"] = []
        if version >= versions.API_ERROR:
            body["apiError"] = refusal.api_error
    return Reply(refusal.status, encode(body), {**_JETTY, "Content-Type": JSON_TYPE}, reason)
