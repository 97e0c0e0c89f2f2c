"""A request as the handlers see it, and as the log keeps it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from mocks.bigip import refusals
from mocks.bigip.users import User


@dataclass
class Request:
    """path: as sent, percent-encoded, without query and trailing slash. raw: body as sent."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes = b""
    sender: str = "127.0.0.1"
    user: User | None = None
    _decoded: Any = None

    def json(self) -> Any:
        """The body. Raises: Refusal: 415 for another content type, 400 for no JSON
        (bigip-behaviour.md A2.3)."""
        kind = self.headers.get("Content-Type", "application/json")
        if not kind.startswith("application/json"):
            raise refusals.rest(
                "Found invalid content-type. The content-type must be application/json. "
                f"The received content-type is {kind}",
                status=415,
            )
        if not self.raw:
            return {}
        try:
            return self.decoded()
        except ValueError:
            raise refusals.rest("Found invalid JSON body in the request.") from None

    def decoded(self) -> Any:
        """The body of whatever type, decoded once. Raises: ValueError: no JSON."""
        if self._decoded is None:
            self._decoded = json.loads(self.raw)
        return self._decoded

    def body(self) -> dict[str, Any]:
        """The body as an object. Raises: Refusal: not JSON, or no object."""
        body = self.json()
        if not isinstance(body, dict):
            raise refusals.rest("Found invalid JSON body in the request.")
        return body


@dataclass(frozen=True)
class LoggedRequest:
    """A request and the status it got.

    Attributes: path: percent-encoded as sent, without query. query: decoded. body: decoded JSON, None without
    body, bytes when it was no JSON. status: HTTP status, 0 when the connection was closed without a reply.
    """

    method: str
    path: str
    query: dict[str, str]
    body: Any
    status: int

    @property
    def changes(self) -> bool:
        """True if it asks for a change of configuration or disk, uploads too; not log-in, save, unix-ls."""
        if self.method == "GET" or self.path.startswith(("/mgmt/shared/authn", "/mgmt/shared/authz")):
            return False
        return not self.path.rstrip("/").endswith(("/tm/sys/config", "/tm/util/unix-ls"))


def logged(request: Request, status: int) -> LoggedRequest:
    try:
        body = request.decoded() if request.raw else None
    except ValueError:
        body = request.raw
    return LoggedRequest(request.method, request.path, request.query, body, status)


def split_target(target: str) -> tuple[str, dict[str, str]]:
    """(path without trailing slash, decoded query) of a request line."""
    path, _, query = target.partition("?")
    return path.rstrip("/") or "/", dict(parse_qsl(query, keep_blank_values=True)) if query else {}
