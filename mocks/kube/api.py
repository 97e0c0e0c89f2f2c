"""The API without its transport: from a request to a reply or a watch, one atomic step each."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from . import reading, writing
from .access import Access
from .calls import Call
from .discovery import PROTOBUF_SCHEMA, document
from .errors import ApiError, PathNotFound, details_of, not_found
from .kinds import PROJECT_GROUP, Kind
from .objects import Objects, utc_now
from .rbac import User
from .reading import Page, projects
from .store import Store, dumps
from .views import View, view_of
from .watching import Watch

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer."""

    code: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


def failure(error: ApiError) -> Reply:
    """The answer to a refused request."""
    if isinstance(error, PathNotFound):
        return Reply(404, error.message.encode() + b"\n", TEXT)
    return Reply(error.code, error.json(), headers=error.headers)


class Api:
    """Answers requests from the store."""

    def __init__(self, store: Store, objects: Objects, access: Access, kinds: Sequence[Kind]):
        self.kinds = kinds
        self._store = store
        self._objects = objects
        self._access = access

    def discover(self, path: str, accept: str) -> Reply | None:
        """Answer to a request on no resource; None if the path is none of these."""
        if path in ("/healthz", "/readyz", "/livez"):
            return Reply(200, b"ok", TEXT)
        if path == "/openapi/v2" and "protobuf" in accept:
            # An empty message is an empty schema: kubectl then leaves validation to the server.
            return Reply(200, b"", PROTOBUF_SCHEMA)
        body = document(self.kinds, path)
        return None if body is None else Reply(200, dumps(body))

    def answer(self, user: User, call: Call, loop: asyncio.AbstractEventLoop) -> Reply | Watch:
        """Raises: ApiError."""
        with self._store.lock:
            self._access.authorize(user, call)
            if not call.kind.stored:
                return Reply(201, dumps(self._access.review(user, call.kind.kind, writing.body_of(call))))
            view = view_of(call, utc_now)
            if call.kind.group == PROJECT_GROUP:
                return self._projects(user, call, view)
            if call.verb == "watch":
                return Watch(self._store, call, view, loop)
            return getattr(self, f"_{call.verb}")(call, view)

    def _projects(self, user: User, call: Call, view: View) -> Reply:
        """Namespaces that the user may get; one that he may not is a secret."""
        page = projects(self._store, call, lambda name: self._access.sees(user, name))
        if call.verb == "list":
            return Reply(200, view.encode_list(page))
        if not page.records:
            raise not_found(call.kind, call.name)
        return Reply(200, view.encode(page.records[0]))

    def _get(self, call: Call, view: View) -> Reply:
        return Reply(200, view.encode(reading.get(self._store, call)))

    def _list(self, call: Call, view: View) -> Reply:
        return Reply(200, view.encode_list(reading.list_page(self._store, call)))

    def empty(self, call: Call) -> Reply:
        """The answer to a list of a server without objects."""
        with self._store.lock:
            return Reply(200, view_of(call, utc_now).encode_list(Page([], self._store.revision)))

    def _create(self, call: Call, view: View) -> Reply:
        return Reply(201, view.encode(writing.create(self._store, self._objects, call)))

    def _update(self, call: Call, view: View) -> Reply:
        record, new = writing.update(self._store, self._objects, call)
        return Reply(201 if new else 200, view.encode(record))

    def _patch(self, call: Call, view: View) -> Reply:
        record, new = writing.patch(self._store, self._objects, call)
        return Reply(201 if new else 200, view.encode(record))

    def _delete(self, call: Call, view: View) -> Reply:
        record, kept = writing.delete(self._store, self._objects, call)
        if kept:
            return Reply(200, view.encode(kept))
        details = details_of(call.kind, call.name, uid=record.data["metadata"]["uid"])
        done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return Reply(200, dumps(done))

    def _deletecollection(self, call: Call, view: View) -> Reply:
        records = writing.delete_collection(self._store, self._objects, call)
        return Reply(200, view.encode_list(Page(records, self._store.revision)))
