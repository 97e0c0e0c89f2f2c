"""The status page and its JSON API: docs/status-page.md.

    GET /                                the page
    GET /plain                           the list of Routes without scripts
    GET /api/v1/routes                   Routes, filtered and in pages
    GET /api/v1/routes/NAMESPACE/NAME    a Route from its host to the pods, on one of its front ends
    GET /api/v1/nodes                    Nodes and how the BIG-IP reaches them, in pages
    GET /api/v1/changes                  the last changes
    GET /api/v1/device                   router and BIG-IP
    GET /api/v1/events                   server-sent events

Everything is read only. A client gets one page at a time, so that an answer has a bound whatever the cluster
has.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any, Protocol
from urllib.parse import unquote

from f5router.model.cluster import Key
from f5router.model.errors import Unanswered
from f5router.model.texts import rfc3339
from f5router.monitoring import plain_page, selection
from f5router.monitoring.connections import Listeners
from f5router.monitoring.http_server import Response
from f5router.monitoring.selection import BadQuery, Query
from f5router.views import chain
from f5router.views.nodes import DeviceView, NodeView
from f5router.views.records import ChangeView
from f5router.views.route_view import RoutePage, RouteState, RouteSummary, Status, Summaries

SECURITY = (
    ("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
     "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Frame-Options", "DENY"),
)
"""Headers of its every answer: nothing is loaded from elsewhere, no script or style stands in the page."""

FILES = {
    "index.html": "text/html; charset=utf-8", "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml",
}


FRONT_END = "front_end"
"""Parameter of a Route: on which front end; "" for the default one. Without it, the first that serves it."""


class ViewSource(Protocol):
    """Source of the answers; any thread may ask. Each raises Unanswered."""

    @property
    def revision(self) -> int: ...

    def summaries(self) -> Summaries: ...

    def route(self, key: Key, front_end: str | None) -> RoutePage | None: ...

    def nodes(self) -> Sequence[NodeView]: ...

    def changes(self) -> Sequence[ChangeView]: ...

    def device(self) -> DeviceView: ...


class StatusAPI:
    """Answers requests for the page and for its API."""

    def __init__(self, source: ViewSource, listeners: Listeners):
        self._source, self._listeners = source, listeners

    def serves(self, path: Sequence[str]) -> bool:
        """True for the paths of the page and its API."""
        return not path or (len(path) == 1 and path[0] in (*FILES, plain_page.NAME)) or (
            list(path[:2]) == ["api", "v1"])

    def answer(self, path: Sequence[str], query: Query) -> Response:
        """Return the reply to a path that is served."""
        match path:
            case []:
                return _file("index.html")
            case [plain_page.NAME]:
                return self._plain(query)
            case [name]:
                return _file(name)
            case ["api", "v1", "events"]:
                return Response(
                    200, b"", "text/event-stream; charset=utf-8", SECURITY, self._listeners.stream)
        try:
            body = self._body([unquote(name) for name in path[2:]], query)
        except BadQuery as exc:
            return _json(400, {"error": str(exc)})
        except Unanswered as exc:
            return _json(503, {"error": str(exc)}, ("Retry-After", "5"))
        return _json(404, {"error": "there is no such object"}) if body is None else _json(200, body)

    def _plain(self, query: Query) -> Response:
        """Return the page without scripts, or why there is none as a text."""
        try:
            listed = selection.choose(self._source.summaries().routes, query)
        except BadQuery as exc:
            return Response(400, f"{exc}\n".encode(), headers=SECURITY)
        except Unanswered as exc:
            return Response(503, f"{exc}\n".encode(), headers=(*SECURITY, ("Retry-After", "5")))
        return Response(200, plain_page.page(listed, query), FILES["index.html"], SECURITY)

    def _body(self, path: Sequence[str], query: Query) -> object:
        """Return the body of a reply; None if there is nothing. Raises: BadQuery, Unanswered."""
        match path:
            case ["routes"]:
                return self._routes(query)
            case ["routes", namespace, name]:
                given = selection.text(query, FRONT_END) if FRONT_END in query else None
                page = self._source.route(Key(namespace, name), given)
                return None if page is None else _page(page)
            case ["nodes"]:
                return self._nodes(query)
            case ["changes"]:
                return {"items": [_change(change) for change in self._source.changes()]}
            case ["device"]:
                return self._device()
        return None

    def _routes(self, query: Query) -> object:
        summaries = self._source.summaries()
        listed = selection.choose(summaries.routes, query)
        return {
            "total": listed.total, "page": listed.page, "per_page": listed.per_page,
            "counts": {each.value: listed.statuses[each] for each in Status},
            "states": {each.value: listed.states[each] for each in RouteState},
            "summary": listed.summary, "warned": listed.warned, "revision": self._source.revision,
            "is_current": summaries.is_current,
            "items": [_row(route) for route in listed.items],
        }

    def _nodes(self, query: Query) -> object:
        listed = selection.choose_nodes(self._source.nodes(), query)
        return {"total": listed.total, "page": listed.page, "per_page": listed.per_page,
                "items": [plain(node) for node in listed.items]}

    def _device(self) -> object:
        device = self._source.device()
        return {**_object(device), "last_reading": rfc3339(device.last_reading),
                "last_save": rfc3339(device.last_save),
                "queues": dict(device.queues), "requests": dict(device.requests)}


# --- bodies ------------------------------------------------------------------------------


def _row(route: RouteSummary) -> dict[str, object]:
    """Return the line of a Route in a list."""
    return {
        "namespace": route.key.namespace, "id": route.key.name, "front_end": route.key.front_end,
        "source_namespace": route.source_namespace,
        "kind": route.kind, "name": route.name,
        "host": route.host, "path": route.path, "termination": route.termination,
        "status": route.status.value, "state": route.state.value, "reason": route.reason,
        "since": route.since, "services": list(route.services),
        "members": route.members, "warnings": route.warnings,
        "problem": plain(route.problem), "is_served": route.state in (RouteState.SERVED, RouteState.WARNED),
        "certificate_expires": route.certificate_expires,
        "certificate_days_left": route.certificate_days_left,
    }


def _page(page: RoutePage) -> dict[str, object]:
    """Return all that there is to know about a Route."""
    route = page.route
    return {**_object(route), "is_served": route.is_served, "state": route.state.value,
            "to_do": chain.to_do(route), "events": plain(page.events)}


def _change(change: ChangeView) -> dict[str, object]:
    return {**_object(change), "at": rfc3339(change.at)}


def plain(value: object) -> object:
    """Return a view as JSON has it: dataclasses and named tuples as objects, tuples as lists."""
    if isinstance(value, str | int | float | None):
        return value
    if dataclasses.is_dataclass(value):
        return _object(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    assert isinstance(value, Iterable), f"{type(value).__name__} has no form in JSON"
    return [plain(each) for each in value]


def _object(value: Any) -> dict[str, object]:
    return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}


def _json(status: int, body: object, *headers: tuple[str, str]) -> Response:
    r"""Return a reply in ASCII: what a browser may take for markup is written as \u003c."""
    text = json.dumps(body, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Response(status, text.encode(), "application/json", (*SECURITY, *headers))


def _file(name: str) -> Response:
    body = (resources.files("f5router.monitoring") / "page" / name).read_bytes()
    return Response(200, body, FILES[name], SECURITY)
