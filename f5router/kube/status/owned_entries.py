"""Entries of a router name in status.ingress, wherever they are: found in all Routes, and removed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from f5router.kube.api import decode
from f5router.kube.api.collection import PAGE_SIZE, Collection
from f5router.kube.api.connection import Connection
from f5router.kube.api.documents import Document, Unreadable
from f5router.kube.status.status_request import RouteStatus
from f5router.kube.watch.reflector import unreadable
from f5router.kube.watch.sources import Source
from f5router.model.cluster import Key
from f5router.model.errors import KubeUnreachable, ResourceExpired
from f5router.model.json_types import JSON
from f5router.status import condition

TRIES = 3
"""Of a list whose pages are too old before it is complete."""


@dataclass(frozen=True, slots=True)
class OwnedEntry:
    """A Route with an entry of the router name."""

    key: Key
    uid: str
    entry: JSON
    """The first one."""


def find(connection: Connection, source: Source, router_name: str, *, namespace: str | None = None,
         selectors: Mapping[str, str] | None = None, page_size: int = PAGE_SIZE) -> list[OwnedEntry]:
    """Every Route with an entry of a router name, read page by page; only what is found is kept.

    Args: source: where Routes are served. selectors: labelSelector and fieldSelector of the request.
    Raises: KubeError.
    """
    for attempt in range(TRIES):
        routes = Collection(connection, source.path(namespace), selectors or {}, page_size=page_size)
        try:
            return [found for document in routes.documents()
                    if (found := _found(source, document, router_name))]
        except ResourceExpired:
            if attempt == TRIES - 1:
                raise
    return []


def remove(routes: RouteStatus, found: OwnedEntry, router_name: str, *,
           unchanged: bool = True) -> dict[str, Any] | None:
    """Remove the entries of a router name from a Route; returns it as it is then.

    None if there is nothing to remove: the Route is gone or another one, or has no such entry.
    Args: unchanged: also not if the entry no longer says what `found` says: somebody else keeps it.
    Raises: KubeError: KubeConflict: it was changed meanwhile; to be tried again.
    """
    def renewed(obj: JSON) -> list[JSON] | None:
        entry = condition.own(decode.ingress(obj), router_name)
        if decode.uid(obj) != found.uid or entry is None:
            return None
        if unchanged and not condition.same(entry, found.entry):
            return None
        return condition.without(decode.ingress(obj), router_name)

    obj = routes.read(found.key)
    left = None if obj is None else renewed(obj)
    return None if left is None else routes.write(found.key, decode.resource_version(obj), left, renewed)


def _found(source: Source, document: Document, router_name: str) -> OwnedEntry | None:
    """The Route of a list, if it has an entry of the router name. Raises: KubeUnreachable: it is no JSON."""
    try:
        obj = document.load()
        key = decode.key(obj)
    except Unreadable as exc:
        unreadable(source, document.members("metadata"), exc)
        return None
    except decode.DecodeError:
        return None
    except ValueError as exc:
        raise KubeUnreachable(f"{source.resource}: the reply is not JSON") from exc
    entry = condition.own(decode.ingress(obj), router_name)
    return None if entry is None else OwnedEntry(key, decode.uid(obj), entry)
