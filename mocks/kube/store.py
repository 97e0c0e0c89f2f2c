"""Objects of the fake cluster, with the history that watches and paged lists read.

Every change gets the next resourceVersion, one counter for all kinds as in etcd. Objects are kept as JSON
bytes written once; nobody changes them. History remembers each change with the object before and after it,
so a list can be answered as it was at an older resourceVersion and a watch can start there.
"""

import json
import threading
from bisect import insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from .kinds import Kind, each_value

Key = tuple[str, str]
"""(namespace, name); the namespace is empty for a cluster-scoped kind."""


_encoder = json.JSONEncoder(separators=(",", ":"))


def dumps(value: object) -> bytes:
    """Compact JSON."""
    return _encoder.encode(value).encode()


class Record:
    """One object as it was at one resourceVersion. Immutable: ``data`` is read, never changed."""

    __slots__ = ("_fields", "_raw", "body", "data", "key", "kind", "revision")

    def __init__(self, kind: Kind, data: Mapping, revision: int, raw: Mapping[str, bytes] | None = None):
        """raw: see Store.raw."""
        metadata = dict(data["metadata"], resourceVersion=str(revision))
        rest = {name: value for name, value in data.items() if name not in ("apiVersion", "kind", "metadata")}
        self.kind = kind
        self.revision = revision
        self.key: Key = (metadata.get("namespace", ""), metadata["name"])
        self.data = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, **rest}
        self.body = dumps({"metadata": metadata, **rest})
        self._raw = raw or {}
        for text, value in self._raw.items():
            self.body = self.body.replace(dumps(text), value)
        self._fields: dict[str, str] | None = None

    @property
    def json(self) -> bytes:
        """The whole object."""
        return b'{"kind":"%b","apiVersion":"%b",%b' % (
            self.kind.kind.encode(), self.kind.api_version.encode(), self.body[1:],
        )  # fmt: skip

    @property
    def item(self) -> bytes:
        """The object as an item of a list: built-in kinds come without apiVersion and kind."""
        return self.json if self.kind.custom else self.body

    @property
    def labels(self) -> Mapping[str, str]:
        labels = self.data["metadata"].get("labels")
        return {k: v for k, v in labels.items() if isinstance(v, str)} if isinstance(labels, dict) else {}

    @property
    def fields(self) -> Mapping[str, str]:
        """Values of the kind's field selectors."""
        if self._fields is None:
            self._fields = dict(each_value(self.kind, self.data))
        return self._fields

    def copy(self) -> dict:
        """A dict the caller may change."""
        return json.loads(dumps(self.data) if self._raw else self.json)

    def at(self, revision: int) -> "Record":
        """The same object under another resourceVersion, as a DELETED event shows it."""
        return Record(self.kind, self.data, revision, self._raw)


@dataclass(slots=True, eq=False)
class Change:
    """One entry of the history."""

    revision: int
    kind: Kind
    key: Key
    before: Record | None
    after: Record | None
    gone: Record | None = None
    """The deleted object, or the one that left a selection, under this change's resourceVersion."""
    lines: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Watch lines already written, by (event type, view): all watchers of the change share them."""

    def departed(self) -> Record:
        """``before`` under this change's resourceVersion."""
        if self.gone is None:
            self.gone = self.before.at(self.revision)
        return self.gone


class Subscription:
    """Changes of one kind that a watch has not sent yet."""

    def __init__(self, kind: Kind, wake: Callable[[], None]):
        self.kind = kind
        self.pending: deque[object] = deque()
        """Changes, oldest first; the watch may put faults between them."""
        self.wake = wake


class Store:
    """All objects. Hold ``lock`` over every read or write that must be one atomic step."""

    def __init__(self, history: int, network_api: str = "group"):
        """Args: network_api: see kinds.NETWORK_APIS."""
        self.network_api = network_api
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        """Notified on each change, logged request, opened or ended watch."""
        self.revision = 1
        self.compacted = 1
        """Changes up to this revision are forgotten."""
        self.raw: dict[str, bytes] = {}
        """Text sent in place of these strings, wherever an object holds one: JSON that no Python value
        stands for, as a client may have stored it in a field that the server keeps without knowing it."""
        self._limit = history
        self._history: deque[Change] = deque()
        self._objects: dict[Kind, dict[Key, Record]] = {}
        self._order: dict[Kind, list[Key]] = {}
        self._subscriptions: dict[Kind, set[Subscription]] = {}

    def get(self, kind: Kind, namespace: str, name: str) -> Record | None:
        return self._objects.get(kind, {}).get((namespace, name))

    def records(self, kind: Kind, revision: int | None = None) -> Iterator[Record]:
        """Objects of a kind, by (namespace, name), now or as they were at an older revision."""
        objects, order = self._objects.get(kind, {}), self._order.get(kind, [])
        if revision is not None and revision < self.revision:
            objects = dict(objects)
            for change in self._after(revision, newest_first=True):
                if change.kind is kind:
                    if change.before is None:
                        objects.pop(change.key, None)
                    else:
                        objects[change.key] = change.before
            order = sorted(objects)
        return (objects[key] for key in order)

    def within(self, namespace: str) -> list[Record]:
        """Objects of all kinds in one namespace."""
        return [
            record
            for objects in self._objects.values()
            for record in objects.values()
            if record.key[0] == namespace
        ]

    def put(self, kind: Kind, data: Mapping) -> Record:
        """Create or replace. Returns the record under its new resourceVersion."""
        self.revision += 1
        record = Record(kind, data, self.revision, self.raw)
        objects = self._objects.setdefault(kind, {})
        before = objects.get(record.key)
        if before is None:
            insort(self._order.setdefault(kind, []), record.key)
        objects[record.key] = record
        self._publish(Change(self.revision, kind, record.key, before, record))
        return record

    def remove(self, record: Record) -> Record:
        """Delete. Returns the last state, under the deletion's resourceVersion."""
        self.revision += 1
        del self._objects[record.kind][record.key]
        self._order[record.kind].remove(record.key)
        change = Change(self.revision, record.kind, record.key, record, None)
        self._publish(change)
        return change.departed()

    def forget(self) -> None:
        """Forget the history: a watch from an older resourceVersion is too old."""
        self._history.clear()
        self.compacted = self.revision

    def subscribe(self, kind: Kind, since: int, wake: Callable[[], None]) -> Subscription:
        """Changes of a kind after revision ``since``; ``wake`` is called on each new one, in any thread."""
        subscription = Subscription(kind, wake)
        subscription.pending.extend(c for c in self._after(since) if c.kind is kind)
        self._subscriptions.setdefault(kind, set()).add(subscription)
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        self._subscriptions[subscription.kind].discard(subscription)

    def _after(self, revision: int, *, newest_first: bool = False) -> list[Change]:
        changes = []
        for change in reversed(self._history):
            if change.revision <= revision:
                break
            changes.append(change)
        return changes if newest_first else changes[::-1]

    def _publish(self, change: Change) -> None:
        self._history.append(change)
        while len(self._history) > self._limit:
            self.compacted = self._history.popleft().revision
        for subscription in self._subscriptions.get(change.kind, ()):
            subscription.pending.append(change)
            subscription.wake()
        self.changed.notify_all()
