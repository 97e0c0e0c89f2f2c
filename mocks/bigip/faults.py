"""Faults that a test or the command line asks for: lost replies, restarts, expired tokens, refusals.

| kind | what happens | options |
|---|---|---|
| drop-reply | performed, connection closed without a reply | |
| drop-request | connection closed, not performed | |
| delay | performed after a while | seconds |
| hold | performed when `FakeBigIP.release` is called | |
| late | connection closed without a reply, performed after that many further requests (1) | requests |
| command-fails | a command of util is not performed: 200 with its words, as `rm` has them | |
| 401 | sporadic 401 of restjavad (bigip-behaviour.md A4) | |
| token-expired | 401 `X-F5-Auth-Token has expired.` | |
| 503-html | Apache's restart page (bigip-behaviour.md A2.2) | |
| 503-async | `There is an active asynchronous task executing.` (bigip-behaviour.md A6) | |
| 500-mcpd | `The connection to mcpd has been lost, try again.` | |
| 404-not-registered | restjavad starting (bigip-behaviour.md A6) | |
| 404-bogus | 01020036 for an object that may exist (bigip-behaviour.md A2.3) | |
| html-200 | 200 with an HTML page | |
| html-404 | Apache's page for a path that it does not know | |
| redirect | 302 to the login page of the Configuration utility | |
| api-server | the Status of a Kubernetes API server, which answers in its place | status |
| deep-json | performed; 200 with lists in lists, deeper than a parser's stack | |
| truncated-json | performed, the body cut in the middle | |
| 404-done | performed, 404 all the same | |
| timeout-html | performed, HTML 500 `AsyncContext timeout` (bigip-behaviour.md A6) | |
| refuse | a refusal of icrd | status, message, code |

The sections are those of bigip-behaviour.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mocks.bigip import names, refusals, replies
from mocks.bigip.refusals import BUSY, MCPD_LOST, Refusal
from mocks.bigip.replies import Reply
from mocks.bigip.requests import Request

KINDS = (
    "drop-reply",
    "drop-request",
    "delay",
    "hold",
    "late",
    "command-fails",
    "401",
    "token-expired",
    "503-html",
    "503-async",
    "500-mcpd",
    "404-not-registered",
    "404-bogus",
    "html-200",
    "html-404",
    "redirect",
    "api-server",
    "deep-json",
    "truncated-json",
    "404-done",
    "timeout-html",
    "refuse",
)
_OPTIONS = {"delay": {"seconds"}, "late": {"requests"}, "refuse": {"status", "message", "code"},
            "api-server": {"status"}}


SILENT = ("drop-reply", "drop-request", "late")
"""Faults after which the connection is closed without a reply."""


@dataclass
class Fault:
    """times: how often it still happens; None: always. path, body: searched in the path, in the body."""

    kind: str
    times: int | None = 1
    method: str | None = None
    path: re.Pattern[str] | None = None
    body: re.Pattern[bytes] | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def fits(self, request: Request) -> bool:
        if self.method is not None and self.method != request.method:
            return False
        return (self.path is None or bool(self.path.search(request.path))) and (
            self.body is None or bool(self.body.search(request.raw)))


class Faults:
    """Faults in the order in which they were asked for; the first that fits a request happens."""

    def __init__(self) -> None:
        self._waiting: list[Fault] = []
        self.draw: Callable[[Request], Fault | None] = lambda request: None
        """Asked for the fault of a request that none was asked for."""

    def add(
        self,
        kind: str,
        *,
        times: int | None = 1,
        method: str | None = None,
        path: str | None = None,
        body: str | None = None,
        **options: Any,
    ) -> None:
        """Raises: ValueError: unknown kind or option."""
        unknown = set(options) - _OPTIONS.get(kind, set())
        if kind not in KINDS or unknown:
            raise ValueError(f"no such fault: {kind} {sorted(unknown)}")
        self._waiting.append(Fault(
            kind, times, method.upper() if method else None, re.compile(path) if path else None,
            re.compile(body.encode()) if body else None, options))

    def clear(self) -> None:
        self._waiting.clear()

    @property
    def waiting(self) -> int:
        """Number of faults that have not all happened yet."""
        return len(self._waiting)

    def take(self, request: Request) -> Fault | None:
        for fault in self._waiting:
            if fault.fits(request):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self._waiting.remove(fault)
                return fault
        return self.draw(request)


def parse(text: str) -> dict[str, Any]:
    """`NAME[:COUNT][:METHOD:PATH-REGEX]` of the command line as arguments of `Faults.add`.

    A delay is of one second. Raises: ValueError: unknown name, or count no number.
    """
    kind, _, rest = text.partition(":")
    fields: dict[str, Any] = {"kind": kind}
    if kind not in KINDS:
        raise ValueError(f"no such fault: {kind}")
    count, _, tail = rest.partition(":")
    if count.isdigit():
        fields["times"] = int(count)
        rest = tail
    if rest:
        method, colon, path = rest.partition(":")
        if not colon:
            raise ValueError(f"expected METHOD:PATH-REGEX: {rest}")
        fields["method"] = None if method in ("", "*") else method
        fields["path"] = path or None
    if kind == "delay":
        fields["seconds"] = 1.0
    return fields


def instead(fault: Fault, request: Request) -> Reply | Refusal | None:
    """Return what a fault answers instead of performing; None: the request is performed."""
    path = request.path
    shown = path.replace("~", "?")
    answers: dict[str, Callable[[], Reply | Refusal]] = {
        "401": lambda: refusals.java(
            401,
            "Authorization failed: no user authentication header or token detected. "
            f"Uri:http://localhost:8100{path} Referrer:{request.sender} "
            f"Sender:{request.sender}",
        ),
        "token-expired": lambda: refusals.java(401, "X-F5-Auth-Token has expired."),
        "503-html": replies.restarting,
        "503-async": lambda: Refusal(503, "There is an active asynchronous task executing.", BUSY),
        "500-mcpd": lambda: Refusal(500, "The connection to mcpd has been lost, try again.", MCPD_LOST),
        "404-not-registered": lambda: refusals.java(
            404,
            f"URI path {shown} not registered.  Please verify URI is supported and wait for "
            "/available suffix to be responsive.",
        ),
        "404-bogus": lambda: refusals.not_found("object", names.decode_segment(path.split("/")[-1])),
        "html-200": lambda: replies.html(200, "<html><body>BIG-IP&reg;- Redirect</body></html>"),
        "html-404": lambda: replies.html(404, replies.NOT_FOUND % path),
        "redirect": lambda: replies.html(302, "", headers={"Location": "/tmui/login.jsp"}),
        "api-server": lambda: _status(request, int(fault.options.get("status", 403))),
        "refuse": lambda: _refusal(fault.options),
        "command-fails": lambda: _failed_command(request),
    }
    make = answers.get(fault.kind)
    return make() if make else None


def _failed_command(request: Request) -> Reply:
    """The reply of a util command whose program failed: 200 all the same (bigip-behaviour.md A7)."""
    name, body = request.path.rsplit("/", 1)[-1], request.body()
    words = f"/bin/{name.removeprefix('unix-')}: {body.get('utilCmdArgs', '')}: Operation not permitted\n"
    return replies.success({"kind": f"tm:util:{name}:runstate", **body, "commandResult": words})


def _status(request: Request, status: int) -> Reply:
    """The reply of a Kubernetes API server to somebody it does not know, with 403 or 401.

    Source: kubernetes/apiserver, pkg/endpoints/handlers/responsewriters: ErrorNegotiated, Forbidden.
    """
    anonymous = f'forbidden: User "system:anonymous" cannot {request.method.lower()} path "{request.path}"'
    reason, message = ("Forbidden", anonymous) if status == 403 else ("Unauthorized", "Unauthorized")
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
            "reason": reason, "details": {}, "code": status}
    return Reply(status, json.dumps(body).encode(), {"Content-Type": "application/json"})


def _refusal(options: dict[str, Any]) -> Refusal:
    message = options.get("message", "refused")
    code = options.get("code")
    return Refusal(int(options.get("status", 400)), f"{code}:3: {message}" if code else message)


def spoiled(fault: Fault, request: Request, reply: Reply) -> Reply:
    """The reply to a performed request after the fault."""
    if fault.kind == "timeout-html":
        return replies.timed_out(request.path)
    if fault.kind == "truncated-json":
        return Reply(reply.status, reply.body[: len(reply.body) // 2], reply.headers, reply.reason)
    if fault.kind == "deep-json":
        depth = 50_000
        return Reply(200, b'{"items":' + b"[" * depth + b"]" * depth + b"}", reply.headers, reply.reason)
    return reply
