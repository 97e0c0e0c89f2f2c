"""The status page and its JSON API: docs/status-page.md.

    GET /                                the page
    GET /api/v1/routes                   Routes, filtered and in pages
    GET /api/v1/routes/NAMESPACE/NAME    a Route from its host to the pods
    GET /api/v1/nodes                    Nodes and how the BIG-IP reaches them, in pages
    GET /api/v1/changes                  the last changes
    GET /api/v1/device                   router and BIG-IP
    GET /api/v1/events                   server-sent events

Everything is read only. A client gets one page at a time, so that an answer has a bound whatever the cluster
has.
"""

import dataclasses
import datetime
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib import resources
from typing import Any, Protocol
from urllib.parse import unquote

from f5router.model import findings
from f5router.model.cluster import Key
from f5router.model.errors import Unanswered
from f5router.monitoring.connections import Listeners
from f5router.monitoring.http_server import Response
from f5router.views import chain
from f5router.views.nodes import DeviceView, NodeView
from f5router.views.records import ChangeView
from f5router.views.route_view import RouteSummary, RouteView, Status

MOST_PER_PAGE, PER_PAGE = 200, 50
LONGEST_SEARCH = 253

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

Query = Mapping[str, list[str]]


class ViewSource(Protocol):
    """Source of the answers; any thread may ask. Each raises Unanswered."""

    @property
    def revision(self) -> int: ...

    def summaries(self) -> Sequence[RouteSummary]: ...

    def routes(self, keys: Collection[Key]) -> Sequence[RouteView]: ...

    def route(self, key: Key) -> RouteView | None: ...

    def nodes(self) -> Sequence[NodeView]: ...

    def changes(self) -> Sequence[ChangeView]: ...

    def device(self) -> DeviceView: ...


class BadQuery(ValueError):
    """A parameter has no valid value; its text is the reason."""


class StatusAPI:
    """Answers requests for the page and for its API."""

    def __init__(self, source: ViewSource, listeners: Listeners):
        self._source, self._listeners = source, listeners

    def serves(self, path: Sequence[str]) -> bool:
        """True for the paths of the page and its API."""
        return not path or (len(path) == 1 and path[0] in FILES) or list(path[:2]) == ["api", "v1"]

    def answer(self, path: Sequence[str], query: Query) -> Response:
        """Return the reply to a path that is served."""
        match path:
            case []:
                return _file("index.html")
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

    def _body(self, path: Sequence[str], query: Query) -> object:
        """Return the body of a reply; None if there is nothing. Raises: BadQuery, Unanswered."""
        match path:
            case ["routes"]:
                return self._routes(query)
            case ["routes", namespace, name]:
                route = self._source.route(Key(namespace, name))
                return None if route is None else {
                    **_object(route), "is_served": route.is_served, "to_do": chain.to_do(route)}
            case ["nodes"]:
                return self._nodes(query)
            case ["changes"]:
                return {"items": [_change(change) for change in self._source.changes()]}
            case ["device"]:
                return self._device()
        return None

    def _routes(self, query: Query) -> object:
        search, namespace = _text(query, "search").lower(), _text(query, "namespace")
        status = _text(query, "status")
        if status and status not in list(Status):
            raise BadQuery(f"status must be one of {', '.join(Status)}")
        only_warned = _text(query, "warned")
        if only_warned not in ("", "true"):
            raise BadQuery("warned must be true, or left out")
        number, size = _pages(query)
        matching = [route for route in self._source.summaries()
                    if (not namespace or route.key.namespace == namespace) and search in route.text]
        counts = Counter(route.status for route in matching)
        chosen = [route for route in matching if (not status or route.status == status)
                  and (route.is_warned or not only_warned)]
        page = _page(chosen, number, size)
        views = {(view.namespace, view.id): view
                 for view in self._source.routes([route.key for route in page])}
        return {
            "total": len(chosen), "page": number, "per_page": size,
            "counts": {each.value: counts[each] for each in Status},
            "warned": sum(route.is_warned for route in matching), "revision": self._source.revision,
            "items": [_row(views[route.key]) for route in page if route.key in views],
        }

    def _nodes(self, query: Query) -> object:
        search = _text(query, "search").lower()
        number, size = _pages(query)
        chosen = [node for node in self._source.nodes()
                  if search in node.name.lower() or any(search in address for address in node.addresses)]
        return {"total": len(chosen), "page": number, "per_page": size,
                "items": [plain(node) for node in _page(chosen, number, size)]}

    def _device(self) -> object:
        device = self._source.device()
        return {**_object(device), "last_reading": _time(device.last_reading),
                "queues": dict(device.queues), "requests": dict(device.requests)}


# --- parameters --------------------------------------------------------------------------


def _text(query: Query, name: str) -> str:
    """Return a parameter, "" without one. Raises: BadQuery: it is too long."""
    value = query.get(name, [""])[-1].strip()
    if len(value) > LONGEST_SEARCH:
        raise BadQuery(f"{name} must have at most {LONGEST_SEARCH} characters")
    return value


def _number(query: Query, name: str, default: int, most: int) -> int:
    """Return a parameter from 1 to `most`. Raises: BadQuery."""
    text = _text(query, name)
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and 1 <= int(text) <= most):
        raise BadQuery(f"{name} must be a whole number from 1 to {most}")
    return int(text)


def _pages(query: Query) -> tuple[int, int]:
    """Return number and size of the page. Raises: BadQuery."""
    return _number(query, "page", 1, 10**8), _number(query, "per_page", PER_PAGE, MOST_PER_PAGE)


def _page(items: list[Any], number: int, size: int) -> list[Any]:
    return items[(number - 1) * size:number * size]


# --- bodies ------------------------------------------------------------------------------


def _row(view: RouteView) -> dict[str, object]:
    """Return the line of a Route in a list."""
    certificate, members = view.certificate, view.pool.members if view.pool else ()
    return {
        "namespace": view.namespace, "id": view.id, "kind": view.kind, "name": view.name,
        "host": view.host, "path": view.path, "termination": view.termination,
        "status": view.status.value, "reason": view.reason, "since": view.since,
        "services": [service.name for service in view.services],
        "members": len(members), "warnings": len(view.warnings),
        "problem": plain(findings.worst(view.problems)), "is_served": view.is_served,
        "certificate_expires": certificate.not_after if certificate else "",
        "certificate_days_left": certificate.days_left if certificate else None,
    }


def _change(change: ChangeView) -> dict[str, object]:
    return {**_object(change), "at": _time(change.at)}


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


def _time(seconds: float | None) -> str:
    """Return RFC 3339 in UTC; "" for None."""
    if seconds is None:
        return ""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _json(status: int, body: object, *headers: tuple[str, str]) -> Response:
    r"""Return a reply in ASCII: what a browser may take for markup is written as \u003c."""
    text = json.dumps(body, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Response(status, text.encode(), "application/json", (*SECURITY, *headers))


def _file(name: str) -> Response:
    body = (resources.files("f5router.monitoring") / "page" / name).read_bytes()
    return Response(200, body, FILES[name], SECURITY)
