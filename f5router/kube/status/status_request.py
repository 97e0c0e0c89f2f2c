"""The status of one Route on the API server: read, and written with the rights that there are."""

import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from f5router.kube.api.connection import Connection
from f5router.kube.watch.sources import Source
from f5router.model.cluster import Key
from f5router.model.errors import KubeForbidden
from f5router.model.json_types import JSON

log = logging.getLogger(__name__)

Ingress = list[JSON]


class RouteStatus:
    """Requests on status.ingress; safe to use from several threads."""

    def __init__(self, connection: Connection, source: Callable[[], Source], *, labels: str = "",
                 fields: str = ""):
        """Arguments:
        source: where Routes are served.
        labels, fields: selectors of the Routes that there are for this one; "" for all.
        """
        self._connection, self._source = connection, source
        self._labels, self._fields = labels, fields
        self._patch_is_forbidden = False

    def read(self, key: Key) -> dict[str, Any] | None:
        """The newest object, None if it is gone or not selected. A list: system:router may not get one.

        Raises: KubeError.
        """
        query = {"fieldSelector": ",".join(filter(None, (f"metadata.name={key.name}", self._fields)))}
        if self._labels:
            query["labelSelector"] = self._labels
        found = self._connection.request("GET", self._source().path(key.namespace), query=query)
        items = found.get("items") if isinstance(found, dict) else None
        newest: dict[str, Any] | None = items[0] if items else None
        return newest

    def write(self, key: Key, version: str, ingress: Ingress,
              renew: Callable[[dict[str, Any]], Ingress | None]) -> dict[str, Any] | None:
        """Replace status.ingress; returns the object as it is then, None if there was no need any more.

        Args:
            version: resourceVersion from which ingress was made: an entry that another router wrote
                since makes a conflict instead of being lost.
            renew: what ingress should be for a newer object, None for no change; asked where only a
                whole object may be written.
        Raises:
            KubeError: KubeConflict: the object is another one meanwhile.
        """
        if not self._patch_is_forbidden:
            body = {"metadata": {"resourceVersion": version}, "status": {"ingress": ingress}}
            try:
                written: dict[str, Any] | None = self._connection.request(
                    "PATCH", self._status_path(key), body=body,
                    content_type="application/merge-patch+json")
                return written
            except KubeForbidden as exc:
                log.info("patch is forbidden, trying update", extra={"error": str(exc)})
                self._patch_is_forbidden = True
        return self._update(key, renew)

    def _update(self, key: Key, renew: Callable[[dict[str, Any]], Ingress | None]) -> dict[str, Any] | None:
        """The object after an update, which OpenShift 3's role system:router allows; None: no need.

        The whole object goes back as it was read, private key included; nothing of it is logged.
        """
        obj = self.read(key)
        if obj is None or (new := renew(obj)) is None:
            return None
        held = status if isinstance(status := obj.get("status"), dict) else {}
        body = {"apiVersion": self._source().api_version, "kind": "Route", **obj,
                "status": {**held, "ingress": new}}
        try:
            whole: dict[str, Any] | None = self._connection.request("PUT", self._status_path(key), body=body)
            return whole
        except KubeForbidden:
            self._patch_is_forbidden = False  # either right may be granted later
            raise

    def _status_path(self, key: Key) -> str:
        return f"{self._source().path(key.namespace)}/{quote(key.name, safe='')}/status"
