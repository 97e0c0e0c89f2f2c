"""Reviews of rights, and whole collections, page by page and one object at a time."""

import logging
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from f5router.kube.api.connection import PLAIN, Connection, value
from f5router.kube.api.documents import Document
from f5router.kube.settings import PAGE_SIZE
from f5router.model.errors import KubeError

log = logging.getLogger(__name__)

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def may(connection: Connection, verb: str, resource: str, *, group: str = "", subresource: str = "",
        namespace: str = "", name: str = "") -> bool | None:
    """Return True if the right is granted; None if the API server does not say.

    The review is a POST, and nothing is stored. Source: Kubernetes, Authorization, Checking API access.

    Args: namespace, name: "" for all.
    """
    attributes = {"namespace": namespace, "verb": verb, "resource": resource}
    attributes |= {name: value for name, value in (("group", group), ("subresource", subresource),
                                                     ("name", name)) if value}
    try:
        review = connection.request("POST", REVIEWS, body={
            "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes}})
    except KubeError as exc:  # the right to request a review may be missing, too
        log.debug("right not known", extra={"verb": verb, "resource": resource, "namespace": namespace,
                                            "error": str(exc)})
        return None
    status = review.get("status") if isinstance(review, Mapping) else None
    return status.get("allowed") is True if isinstance(status, Mapping) else None


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
