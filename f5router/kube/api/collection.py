"""Reads all objects of a collection, page by page, one object at a time."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from f5router.kube.api.connection import PLAIN, Connection, value
from f5router.kube.api.documents import Document
from f5router.kube.timing import PAGE_SIZE


class Collection:
    """One reading of a collection."""

    def __init__(self, connection: Connection, path: str, query: Mapping[str, str], *,
                 page_size: int = PAGE_SIZE, stopped: threading.Event | None = None, accept: str = PLAIN):
        """Arguments:
        stopped: ends the reading after a page; the objects read are not to be used then.
        accept: see Connection.request.
        """
        self._connection, self._path = connection, path
        self._query = {**query, "limit": str(page_size)}
        self._stopped, self._accept = stopped or threading.Event(), accept
        self.version = ""
        """resourceVersion of the list, once all documents are read."""

    def documents(self) -> Iterator[Document]:
        """Yield the objects. Raises: KubeError: KubeUnreachable: a reply is no list."""
        while True:
            page = self._connection.page(self._path, self._query, self._accept)
            yield from page.documents()
            if not page.token or self._stopped.is_set():
                self.version = page.version
                return
            self._query["continue"] = page.token

    def values(self) -> Iterator[Any]:
        """Yield the objects as JSON values. Raises: KubeError; KubeInvalid: an object cannot be read."""
        for document in self.documents():
            yield value(document, f"GET {self._path}")
