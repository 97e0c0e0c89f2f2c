"""GET of one object and of a collection, with pages that stay on the snapshot of the first."""

import base64
import binascii
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from . import errors
from .calls import Call
from .kinds import kind_named
from .selectors import Selection, selection
from .store import Key, Record, Store

_INCONSISTENT = -1
"""Revision in a token that goes on after its snapshot is lost: the page is of now."""


@dataclass(frozen=True, slots=True)
class Page:
    """Part of a collection, as it was at ``revision``."""

    records: list[Record]
    revision: int
    continue_token: str = ""
    remaining: int | None = None
    """Objects after this page; unknown (None) with selectors, as in a real API server."""


def get(store: Store, call: Call) -> Record:
    """Raises: ApiError: 404."""
    record = store.get(call.kind, call.namespace, call.name)
    if record is None:
        raise errors.not_found(call.kind, call.name)
    return record


def list_page(store: Store, call: Call) -> Page:
    """Raises: ApiError: 400 malformed, 410 snapshot forgotten, 504 resourceVersion not reached."""
    chosen = selection(call.kind, call.namespace, "", call.query)
    limit = parse_number(call.query.get("limit"), "limit")
    token = call.query.get("continue", "")
    if token:
        if call.query.get("resourceVersion") not in (None, "", "0"):
            raise errors.bad_request("specifying resource version is not allowed when using continue")
        revision, start = _read_token(token)
        if revision == _INCONSISTENT:
            revision = store.revision
        elif revision < store.compacted:
            raise errors.continue_expired(_token(_INCONSISTENT, start))
    else:
        revision, start = _revision(store, call, limit), None
        if call.query.get("resourceVersion") == "0":
            limit = 0  # served from the watch cache, which does not page
    return _page(store, call, chosen, revision, start, limit)


def projects(store: Store, call: Call, visible: Callable[[str], bool]) -> Page:
    """Namespaces as Projects, without pages. Raises: ApiError: 400 malformed."""
    chosen = selection(call.kind, "", call.name, call.query)
    namespaces = store.records(kind_named("Namespace"))
    listed = (Record(call.kind, namespace.data, namespace.revision) for namespace in namespaces)
    taken = [record for record in listed if chosen.takes(record) and visible(record.key[1])]
    return Page(taken, store.revision)


def _page(store: Store, call: Call, chosen: Selection, revision: int, start: Key | None, limit: int) -> Page:
    listed = (
        record
        for record in store.records(call.kind, revision)
        if (start is None or record.key > start) and chosen.takes(record)
    )
    if not limit:
        return Page(list(listed), revision)
    records = list(islice(listed, limit))
    rest = sum(1 for _ in listed)
    if not rest:
        return Page(records, revision)
    return Page(records, revision, _token(revision, records[-1].key), None if chosen.selective else rest)


def _revision(store: Store, call: Call, limit: int) -> int:
    """Revision a list without a continue token is answered at."""
    asked = parse_revision(call.query.get("resourceVersion"))
    match = call.query.get("resourceVersionMatch", "")
    if match and asked is None:
        raise errors.bad_request("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if match not in ("", "Exact", "NotOlderThan"):
        raise errors.bad_request(f'resourceVersionMatch: Unsupported value: "{match}"')
    if not asked:
        if match == "Exact":
            raise errors.bad_request('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')
        return store.revision
    if asked > store.revision:
        raise errors.too_large(asked, store.revision)
    if match == "Exact" or (limit and not match):
        if asked < store.compacted:
            raise errors.gone("The resourceVersion for the provided list is too old.")
        return asked
    return store.revision


def parse_revision(text: str | None) -> int | None:
    """resourceVersion of a query; None if absent or empty.

    Raises: ApiError: 400.
    """
    return parse_number(text, "resourceVersion") if text else None


def parse_number(text: str | None, name: str) -> int:
    """A number of the query, 0 if absent. Raises: ApiError: 400."""
    if not text:
        return 0
    if not text.isdecimal():
        raise errors.bad_request(f'{name}: Invalid value: "{text}": strconv.ParseUint: invalid syntax')
    return int(text)


def _token(revision: int, start: Key) -> str:
    content = {"v": "meta.k8s.io/v1", "rv": revision, "start": list(start)}
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, Key]:
    try:
        content = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        namespace, name = content["start"]
        return int(content["rv"]), (namespace, name)
    except (binascii.Error, ValueError, KeyError, TypeError) as exc:
        raise errors.bad_request(f"continue key is not valid: {exc}") from exc
