"""Life of an object in the fake cluster: what the server fills in, keeps and counts on each write.

Both the HTTP verbs and the Python interface write through here; only HTTP requests are validated first.
"""

import json
import random
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from .kinds import Kind, kind_named, kind_of
from .store import Record, Store, dumps

Clock = Callable[[], datetime]

SERVER_FIELDS = ("uid", "creationTimestamp", "generation", "selfLink", "deletionTimestamp",
                 "deletionGracePeriodSeconds", "managedFields")  # fmt: skip
"""Metadata that a client's write does not change."""

_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def utc_now() -> datetime:
    return datetime.now(UTC)


class InvalidObject(ValueError):
    """An object given to the Python interface that the fake cannot store."""


class Objects:
    """Writes to the store. Callers hold ``store.lock``."""

    def __init__(self, store: Store, clock: Clock = utc_now):
        self.store = store
        self._clock = clock

    def create(self, kind: Kind, data: Mapping, *, dry_run: bool = False) -> Record:
        """Store a new object with the metadata a server gives it. ``data`` has a name and namespace."""
        metadata = {k: v for k, v in data["metadata"].items() if k not in SERVER_FIELDS}
        return self._put(kind, dict(data, metadata=metadata | self._identity(kind, {})), dry_run)

    def replace(self, current: Record, data: Mapping, *, dry_run: bool = False) -> Record:
        """Store the next state of an object; nothing happens if it equals the current one."""
        kept = {k: v for k, v in current.data["metadata"].items() if k in SERVER_FIELDS}
        given = {k: v for k, v in data["metadata"].items() if k not in SERVER_FIELDS}
        given["resourceVersion"] = current.data["metadata"]["resourceVersion"]
        data = dict(data, apiVersion=current.kind.api_version, kind=current.kind.kind, metadata=given | kept)
        if data == current.data:
            return current
        self._count(current, data)
        if kept.get("deletionTimestamp") and not given.get("finalizers"):
            return current if dry_run else self.store.remove(current)
        return self._put(current.kind, data, dry_run)

    def delete(self, record: Record, *, dry_run: bool = False) -> Record | None:
        """Delete, or mark as deleted while it has finalizers. Returns the marked object, else None."""
        metadata = record.data["metadata"]
        if metadata.get("finalizers"):
            if metadata.get("deletionTimestamp"):
                return record
            marked = dict(metadata, deletionTimestamp=self._now(), deletionGracePeriodSeconds=0)
            if "generation" in metadata:  # markAsDeleting of k8s.io/apiserver pkg/registry/generic/registry
                marked["generation"] = metadata["generation"] + 1
            return self._put(record.kind, dict(record.data, metadata=marked), dry_run)
        if not dry_run:
            self.purge(record)
        return None

    def purge(self, record: Record) -> None:
        """Delete at once, finalizers or not."""
        self.store.remove(self._empty(record) if record.kind.kind == "Namespace" else record)

    def check(self, obj: Mapping) -> None:
        """Raises what ``seed`` would."""
        self._read(obj)

    def seed(self, obj: Mapping) -> Record:
        """Create or replace an object as given, unvalidated and without defaults, as etcd may hold it.

        uid, creationTimestamp and status that it does not give are kept from the object it replaces, else
        filled in. The namespace is created if it does not exist.

        Raises: UnknownKind, InvalidObject: not JSON, or no name.
        """
        kind, data = self._read(obj)
        data = kind.kept(data)
        if kind.kind == "Namespace":
            data = filled_namespace(data)
        metadata = data["metadata"]
        if kind.namespaced:
            self._ensure_namespace(metadata.setdefault("namespace", "default"))
        else:
            metadata.pop("namespace", None)
        current = self.store.get(kind, metadata.get("namespace", ""), metadata["name"])
        if current:
            kept = {k: v for k, v in current.data["metadata"].items() if k in SERVER_FIELDS}
            if kind.status and "status" in current.data:
                data.setdefault("status", current.data["status"])
            data["metadata"] = kept | metadata
            if "generation" not in metadata:
                self._count(current, data)
        else:
            data["metadata"] = self._identity(kind, metadata) | metadata
        return self.store.put(kind, data)

    def generated_name(self, prefix: str) -> str:
        return prefix[:58] + "".join(random.choices(_SUFFIX_LETTERS, k=5))

    def _read(self, obj: Mapping) -> tuple[Kind, dict]:
        try:
            data = json.loads(dumps(obj))
        except (TypeError, ValueError) as exc:
            raise InvalidObject(f"not JSON: {exc}") from exc
        kind = kind_of(data)
        if not kind.stored:
            raise InvalidObject(f"a {kind.kind} is never stored")
        metadata = data.get("metadata")
        if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
            raise InvalidObject(f"{kind.kind} without metadata.name")
        return kind, data

    def _put(self, kind: Kind, data: Mapping, dry_run: bool) -> Record:
        if dry_run:
            return Record(kind, data, self.store.revision)
        return self.store.put(kind, data)

    def _identity(self, kind: Kind, given: Mapping) -> dict:
        """Metadata of a new object."""
        identity = {"uid": str(uuid.uuid4()), "creationTimestamp": self._now()}
        if kind.generation:
            identity["generation"] = 1
        return identity | {k: v for k, v in given.items() if k in identity}

    def _count(self, current: Record, data: dict) -> None:
        """Raise metadata.generation if a change counts."""
        if not current.kind.generation:
            return
        ignored = {"metadata"} | ({"status"} if current.kind.status else set())
        names = (data.keys() | current.data.keys()) - ignored
        if any(data.get(name) != current.data.get(name) for name in names) or any(
            data["metadata"].get(name) != current.data["metadata"].get(name) for name in current.kind.counted
        ):
            data["metadata"]["generation"] = current.data["metadata"].get("generation", 0) + 1

    def _ensure_namespace(self, name: str) -> None:
        if self.store.get(kind_named("Namespace"), "", name) is None:
            self.seed({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def _empty(self, namespace: Record) -> Record:
        """Terminate a namespace: mark it, delete what it holds."""
        marked = dict(namespace.data["metadata"], deletionTimestamp=self._now())
        before = namespace.data.get("status")  # tests may have put anything there
        status = dict(before if isinstance(before, dict) else {}, phase="Terminating")
        namespace = self.store.put(namespace.kind, dict(namespace.data, metadata=marked, status=status))
        for record in self.store.within(namespace.key[1]):
            self.store.remove(record)
        return namespace

    def _now(self) -> str:
        return self._clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def filled_namespace(data: Mapping) -> dict:
    """A Namespace with what every server fills in."""
    name = data["metadata"]["name"]
    given = data["metadata"].get("labels")
    labels = {"kubernetes.io/metadata.name": name} | (given if isinstance(given, dict) else {})
    filled = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    return filled | data | {"metadata": dict(data["metadata"], labels=labels)}
