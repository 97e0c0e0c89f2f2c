"""Faults a test injects: what goes wrong, how often, for which requests.

Two sorts. A request fault meets the next requests that match. A stream fault meets every running watch that
matches, at once; if none runs it waits for the next one (``drop-watch`` does not wait).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from . import errors
from .errors import ApiError

CODES: Mapping[str, tuple[int, str, str]] = {
    "400": (400, "BadRequest", "the server rejected our request for an unknown reason"),
    "401": (401, "Unauthorized", "Unauthorized"),
    "403": (403, "Forbidden", 'forbidden: User "injected" cannot do this: by the fake API server'),
    "404": (404, "NotFound", "the server could not find the requested resource"),
    "409": (409, "Conflict", f'Operation cannot be fulfilled on the object: {errors.STALE}'),
    "410": (410, "Expired", "too old resource version: 1 (2)"),
    "422": (422, "Invalid", "the object is invalid: injected by the fake API server"),
    "429": (429, "TooManyRequests", "Too many requests, please try again later."),
    "500": (500, "InternalError", "Internal error occurred: injected by the fake API server"),
    "503": (503, "ServiceUnavailable", "the server is currently unable to handle the request"),
    "504": (504, "Timeout", "the server was unable to return a response in the time allotted"),
}  # fmt: skip

PassOn = Callable[[str, list[bytes]], tuple[float, list[bytes]]]

PAUSES = ("delay", "hold")
"""Faults after which a request goes its way."""

EMPTY = "empty"
"""A list is answered without objects, by an API server that has lost its own for a moment."""

UNREADABLE: Mapping[str, bytes] = {
    "deep-json": b'{"items":' + 50_000 * b"[" + 50_000 * b"]" + b"}",
    "truncated-json": b'{"kind":"Status","apiVersion":"v1","meta',
    "html": b"<html><body>Please log in.</body></html>",
}
"""Bodies of replies with 200 that nobody can read: lists deeper than a parser's stack, JSON that is cut off,
a page of a proxy."""

REQUEST_FAULTS = frozenset({*CODES, "drop", EMPTY, *UNREADABLE, *PAUSES})
STREAM_FAULTS = frozenset({"drop-watch", "silent-drop", "error-event", "truncated"})


@dataclass(slots=True)
class Fault:
    """One injected fault.

    Options by kind: a code takes ``reason``, ``message``, ``retry_after`` (s) and ``text`` (a text body in
    place of a Status); ``error-event`` takes ``code``, ``reason``, ``message``; ``delay`` takes ``seconds``;
    ``hold`` lasts until `FakeKube.release` is called;
    ``drop`` takes ``applied`` (the request takes effect, only its answer is lost); ``drop-watch`` takes
    ``abrupt`` (the connection is cut in place of a clean end).
    """

    kind: str
    times: int | None = 1
    """Requests it meets; None: every one until faults are cleared."""
    method: str | None = None
    """HTTP method in capitals (``GET``) or API verb in small letters (``list``)."""
    path: str | None = None
    """Part of the URL path."""
    options: dict = field(default_factory=dict)

    def __post_init__(self):
        if self.kind not in REQUEST_FAULTS | STREAM_FAULTS:
            raise ValueError(
                f"unknown fault {self.kind!r}: {', '.join(sorted(REQUEST_FAULTS | STREAM_FAULTS))}"
            )

    def meets(self, method: str, verb: str, path: str) -> bool:
        return self.method in (None, method, verb) and (self.path is None or self.path in path)

    def error(self) -> ApiError:
        """The refusal a code stands for; for ``error-event`` the Status in the stream."""
        code = str(self.options.get("code", 500)) if self.kind == "error-event" else self.kind
        number, reason, message = CODES[code]
        headers, details = {}, {}
        if number == 429 or "retry_after" in self.options:
            seconds = self.options.get("retry_after", 1)
            headers, details = {"Retry-After": str(seconds)}, {"retryAfterSeconds": seconds}
        return ApiError(
            number,
            self.options.get("reason", reason),
            self.options.get("message", message),
            details=details,
            headers=headers,
        )


class Faults:
    """Faults that wait for a request."""

    def __init__(self):
        self._waiting: list[Fault] = []
        self.draw: Callable[[str, str, str], Fault | None] = lambda method, verb, path: None
        """Asked for the fault of a request that none was asked for."""
        self.pass_on: PassOn = lambda path, lines: (0.0, lines)
        """Given the path and the next events of a watch, as lines: returns how many seconds they are held
        back, and the events that are sent."""

    def add(self, fault: Fault) -> None:
        self._waiting.append(fault)

    def clear(self) -> None:
        self._waiting.clear()

    def for_request(
        self, method: str, verb: str, path: str, *, continued: bool, met: Sequence[Fault] = ()
    ) -> Fault | None:
        """The next fault for a request.

        Args: continued: a list with a continue token; met: pauses of this request so far, each of which
        happens to it once.
        """
        return self._take(
            lambda fault: (
                fault.kind in REQUEST_FAULTS
                and not any(fault is other for other in met)
                and (fault.kind != "410" or verb == "watch" or continued)
                and (fault.kind != EMPTY or verb == "list")
                and fault.meets(method, verb, path)
            )
        ) or (None if met else self.draw(method, verb, path))

    def for_watch(self, method: str, path: str) -> Fault | None:
        """The next stream fault for a watch that starts."""
        return self._take(lambda fault: fault.kind in STREAM_FAULTS and fault.meets(method, "watch", path))

    def _take(self, wanted) -> Fault | None:
        for fault in self._waiting:
            if wanted(fault):
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self._waiting.remove(fault)
                return fault
        return None


def error_line(error: ApiError) -> bytes:
    """ERROR line of a watch stream."""
    return json.dumps({"type": "ERROR", "object": error.status()}, separators=(",", ":")).encode() + b"\n"
