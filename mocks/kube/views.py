"""How objects are written into a reply: as they are, or as the Table that kubectl prints."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from .calls import Call
from .kinds import Kind
from .reading import Page
from .store import Record, dumps
from .tables import columns, row

METADATA_OF = {"list": "PartialObjectMetadataList"}
"""Name of the form with metadata alone, where it is not PartialObjectMetadata."""
TABLE_VERSIONS = {"v1": "meta.k8s.io/v1", "v1beta1": "meta.k8s.io/v1beta1"}


@dataclass(frozen=True, slots=True)
class View:
    """Plain objects."""

    kind: Kind
    key: str = ""
    """Tells views apart whose watch lines differ."""

    def encode(self, record: Record) -> bytes:
        return record.json

    def encode_list(self, page: Page) -> bytes:
        head = {
            "kind": f"{self.kind.kind}List",
            "apiVersion": self.kind.api_version,
            "metadata": list_metadata(page),
        }
        return b'%b,"items":[%b]}' % (dumps(head)[:-1], b",".join(record.item for record in page.records))


@dataclass(frozen=True, slots=True)
class MetadataView(View):
    """Metadata alone: PartialObjectMetadata, and lists of it."""

    api_version: str = "meta.k8s.io/v1"

    def encode(self, record: Record) -> bytes:
        return dumps(self._head(record))

    def encode_list(self, page: Page) -> bytes:
        return dumps({"kind": "PartialObjectMetadataList", "apiVersion": self.api_version,
                      "metadata": list_metadata(page),
                      "items": [self._head(record) for record in page.records]})

    def _head(self, record: Record) -> dict:
        return {"kind": "PartialObjectMetadata", "apiVersion": self.api_version,
                "metadata": record.data["metadata"]}


@dataclass(frozen=True, slots=True)
class TableView(View):
    """A meta.k8s.io Table."""

    api_version: str = "meta.k8s.io/v1"
    include: str = "Metadata"
    """Part of a row beside its cells: Metadata, Object or None."""
    now: Callable[[], datetime] = datetime.now

    def encode(self, record: Record) -> bytes:
        return dumps(self._table([record], {"resourceVersion": record.data["metadata"]["resourceVersion"]}))

    def encode_list(self, page: Page) -> bytes:
        return dumps(self._table(page.records, list_metadata(page)))

    def _table(self, records: Sequence[Record], metadata: dict) -> dict:
        now = self.now()
        return {
            "kind": "Table",
            "apiVersion": self.api_version,
            "metadata": metadata,
            "columnDefinitions": columns(self.kind),
            "rows": [self._row(record, now) for record in records],
        }

    def _row(self, record: Record, now: datetime) -> dict:
        cells = {"cells": row(self.kind, record.data, now)}
        if self.include == "Object":
            return cells | {"object": record.data}
        if self.include == "None":
            return cells
        head = {"kind": "PartialObjectMetadata", "apiVersion": self.api_version}
        return cells | {"object": head | {"metadata": record.data["metadata"]}}


def list_metadata(page: Page) -> dict:
    metadata = {"resourceVersion": str(page.revision)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    return metadata


def view_of(call: Call, now: Callable[[], datetime]) -> View:
    """The first form in the Accept header that the server can write; plain JSON if there is none.

    Source: content negotiation of k8s.io/apiserver/pkg/endpoints/handlers/negotiation.
    """
    for form in call.accept.split(","):
        media, *parameters = (parameter.strip() for parameter in form.split(";"))
        options = dict(parameter.partition("=")[::2] for parameter in parameters)
        if media not in ("application/json", "*/*", "application/*"):
            continue
        if "as" not in options:
            break
        version = TABLE_VERSIONS.get(options.get("v", ""))
        if options["as"] == "Table" and version:
            include = call.query.get("includeObject") or "Metadata"
            return TableView(call.kind, f"{version} {include}", version, include, now)
        if options["as"] == METADATA_OF.get(call.verb, "PartialObjectMetadata") and version:
            return MetadataView(call.kind, f"{version} metadata", version)
    return View(call.kind)
