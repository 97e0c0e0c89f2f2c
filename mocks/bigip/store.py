"""The objects of the device, their reverse references, and the files on its disk.

Items are never changed in place: a write puts a new one. So the undo of a refused request, the commit
of a transaction and the saved configuration cost as much as what was written, not as what is there.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from mocks.bigip import names
from mocks.bigip.quirks import Quirk
from mocks.bigip.unit import Unit
from mocks.bigip.versions import Version

Key = tuple[str, ...]
"""Full path of an object; for an item of a sub-collection the names below it follow."""
Ref = tuple[str, str]
"""(group, full path) of something that is referred to; a group is a word such as "pool" or "profile"."""
User = tuple[str, Key]
"""(kind, key) of an item that refers to something."""


@dataclass(frozen=True, slots=True)
class Item:
    """An object or an item of a sub-collection. `fields` and `hidden` must not be changed."""

    kind: str
    key: Key
    fields: dict[str, Any]
    """Properties as they are stored, not as they are read: see the kind's `read`."""
    generation: int
    hidden: dict[str, Any] = field(default_factory=dict)
    """Values that no reply shows: contents of files, time of the last change."""

    @property
    def path(self) -> str:
        """Full path of the object, of the parent object for an item of a sub-collection."""
        return self.key[0]

    @property
    def name(self) -> str:
        return self.key[-1]


@dataclass(frozen=True, slots=True)
class DiskFile:
    """A file on the device's disk. mode: permission bits."""

    data: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True)
class Licence:
    """The content of sys/license."""

    dates: Mapping[str, str] = field(default_factory=lambda: {
        "licensedOnDate": "2026/01/10", "licensedVersion": "14.1.2", "platformId": "Z100",
        "serviceCheckDate": "2026/01/10"})
    """A permanent one has no `licenseEndDate`."""
    features: tuple[str, ...] = ("LTM, VE", "SDN Services, VE", "SSL, VE")


@dataclass(slots=True)
class Tally:
    """Counters of traffic behind `/stats`: of a virtual server, a pool or a member, since it was made.

    The loop of the data plane counts; a request reads, perhaps in the middle of a packet.
    """

    current: int = 0
    maximum: int = 0
    total: int = 0
    bytes_in: int = 0
    """Towards the pod."""
    bytes_out: int = 0
    requests: int = 0
    """HTTP requests."""
    waiting: int = 0
    """Connections in the queue of a pool, or of a member."""
    responses: Counter[int] = field(default_factory=Counter)
    """HTTP responses of members by the first digit of their status."""
    connect_failures: int = 0
    """Connections to members that could not be opened."""

    def opened(self) -> None:
        self.current += 1
        self.total += 1
        self.maximum = max(self.maximum, self.current)

    def closed(self) -> None:
        self.current -= 1

    def carried(self, bytes_in: int, bytes_out: int) -> None:
        self.bytes_in += bytes_in
        self.bytes_out += bytes_out


class Kind(Protocol):
    """The part of a kind that a store needs for its books; kinds.py has all of it."""

    subs: tuple[str, ...]
    counts_in_folder: bool

    def references(self, item: Item) -> Iterable[Ref]:
        """Return the references of an item."""

    def uniques(self, item: Item) -> Iterable[Ref]:
        """Return the values that no other item of the kind may have."""


class Store:
    """All state of a device. Hold `lock` around any use from another thread than the server's."""

    def __init__(
        self,
        version: Version,
        quirks: frozenset[Quirk],
        kinds: Mapping[str, Kind],
        clock: Callable[[], float],
    ) -> None:
        self.version = version
        self.quirks = quirks
        self.kinds = kinds
        self.clock = clock
        self.lock = threading.RLock()
        self.disk: dict[str, DiskFile] = {}
        self.pending: list[list] = []
        """Installs that are not visible yet: [reads left, callable that makes them so]."""
        self.ready = True
        """State that sys/ready and sys/mcp-state show; nothing else depends on it."""
        self.licence: Licence | None = Licence()
        """Licence that sys/license shows; nothing else depends on it."""
        self.unit = Unit()
        """Its part in a pair."""
        self.irule_log: list[str] = []
        """Log lines of iRules, oldest first."""
        self.generation = 1
        self.changes = 0
        """Grows with every write, also of what is undone: what is computed from items is kept until then."""
        self.is_down: Callable[[str, str], bool | None] = lambda pool, member: False
        """State of a member by its monitors, None before they know. Replaced by a data plane."""
        self.kept: dict[str, Any] = {}
        """Values that others computed from items, by a name of theirs, to be checked against the items."""
        self.on_commit: list[Callable[[set[tuple[str, Key]]], None]] = []
        """Called with (kind, key) of what was written when the outermost `atomic` ends, under the lock."""
        self.tallies: dict[tuple[str, Key], Tally] = {}
        """Traffic by kind and key, of what has carried any. Counted by a data plane."""
        self.counters: dict[str, int] = {}
        self._tables: dict[str, dict[Key, Item]] = {}
        self._children: dict[tuple[str, Key], dict[str, Item]] = {}
        self._users: dict[Ref, dict[User, None]] = {}
        self._unique: dict[Ref, Key] = {}
        self._in_folder: dict[str, int] = {}
        self._journal: list[tuple[str, Key, Item | None]] | None = None
        self._later: dict[tuple, Callable[[], None]] = {}
        self._released: set[Ref] = set()
        self._saved: dict[str, dict[Key, Item]] = {}

    def tally(self, kind: str, key: Key) -> Tally:
        """The counters of an object."""
        return self.tallies.setdefault((kind, key), Tally())

    # -- reading -----------------------------------------------------------------------------------

    def get(self, kind: str, *key: str) -> Item | None:
        table = self._tables.get(kind)
        return table.get(key) if table else None

    def all(self, kind: str) -> list[Item]:
        """Every item of a kind, in order of creation."""
        return list(self._tables.get(kind, {}).values())

    def count(self, kind: str) -> int:
        return len(self._tables.get(kind, {}))

    def children(self, kind: str, parent: Key) -> dict[str, Item]:
        """Items of a sub-collection by name. The mapping must not be changed."""
        return self._children.get((kind, parent), {})

    def users(self, group: str, path: str) -> list[User]:
        """Return who refers to something, in order of creation."""
        return list(self._users.get((group, path), ()))

    def is_used(self, group: str, path: str) -> bool:
        return bool(self._users.get((group, path)))

    def count_users(self, group: str, path: str) -> int:
        return len(self._users.get((group, path), ()))

    def was_released(self, group: str, path: str) -> bool:
        """Return True if the transaction that is running gave up a reference to it."""
        return (group, path) in self._released

    def holder(self, group: str, value: str) -> Key | None:
        """Key of the item that has a value which only one item may have."""
        return self._unique.get((group, value))

    def in_folder(self, folder: str) -> int:
        """Number of objects and folders that lie directly in a folder."""
        return self._in_folder.get(folder, 0)

    def has(self, quirk: Quirk) -> bool:
        return quirk in self.quirks

    def next_number(self, counter: str, first: int = 1, step: int = 1) -> int:
        """The next number of a named sequence, such as vsIndex."""
        value = self.counters.get(counter, first - step) + step
        self.counters[counter] = value
        return value

    # -- writing -----------------------------------------------------------------------------------

    def put(self, kind: str, key: Key, fields: dict[str, Any], hidden: dict[str, Any] | None = None) -> Item:
        """Create or replace an item. Its own references and unique values are indexed."""
        old = self.get(kind, *key)
        if hidden is None:
            hidden = old.hidden if old else {}
        item = Item(kind, key, fields, self._next_generation(), hidden)
        self._set(kind, key, item, old)
        return item

    def remove(self, kind: str, key: Key) -> None:
        """Remove an item and the items of its sub-collections."""
        for sub in self.kinds[kind].subs:
            for name in list(self.children(sub, key)):
                self.remove(sub, (*key, name))
        self._set(kind, key, None, self.get(kind, *key))

    def touch(self, kind: str, key: Key) -> None:
        """Give an item a new generation: something below it changed."""
        item = self.get(kind, *key)
        if item is not None:
            self.put(kind, key, item.fields)

    def later(self, name: tuple, check: Callable[[], None]) -> None:
        """Run a check when the outermost `atomic` ends, once per name.

        mcpd checks the state at the end of a transaction: a key and its certificate can only be
        replaced together (bigip-behaviour.md A5).
        """
        self._later[name] = check

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """All or nothing: an exception undoes what the block wrote."""
        if self._journal is not None:
            yield
            return
        self._journal, self._later = [], {}
        counters, pending = dict(self.counters), list(self.pending)
        try:
            yield
            self.run_checks()
            if self._journal:
                self.generation += 1
                self._committed({(kind, key) for kind, key, _ in self._journal})
        except BaseException:
            journal, self._journal = self._journal, None
            for kind, key, old in reversed(journal):
                self._set(kind, key, old, self.get(kind, *key))
            self.counters, self.pending = counters, pending
            raise
        finally:
            self._journal, self._later, self._released = None, {}, set()

    def _committed(self, written: set[tuple[str, Key]]) -> None:
        for told in self.on_commit:
            told(written)

    def run_checks(self) -> None:
        """Run what `later` collected. Raises: Refusal."""
        while self._later:
            self._later.pop(next(iter(self._later)))()

    # -- saved configuration -----------------------------------------------------------------------

    def save(self) -> None:
        """Keep the configuration as it is, as `sys/config save` does."""
        self._saved = {kind: dict(table) for kind, table in self._tables.items()}

    def load_saved(self) -> None:
        """Go back to the last saved configuration; all generations become 1 (bigip-behaviour.md A1)."""
        self.replace(item for table in self._saved.values() for item in table.values())
        self.generation = 1

    def replace(self, items: Iterable[Item]) -> None:
        """Have exactly these items, whose generations become 1. They fit together: nothing is checked."""
        wanted, before = list(items), self._tables
        self._tables, self._children, self._users = {}, {}, {}
        self._unique, self._in_folder = {}, {}
        for item in wanted:
            self._set(item.kind, item.key, Item(
                item.kind, item.key, item.fields, min(item.generation, 1), item.hidden), None)
        self._committed({(item.kind, item.key) for item in wanted} | {
            (kind, key) for kind, table in before.items() for key in table})

    def every(self) -> list[Item]:
        """Every item of every kind."""
        return [item for table in self._tables.values() for item in table.values()]

    # -- indexes -----------------------------------------------------------------------------------

    def _next_generation(self) -> int:
        return self.generation + 1 if self._journal is not None else self.generation

    def _set(self, kind: str, key: Key, item: Item | None, old: Item | None) -> None:
        self.changes += 1
        if self._journal is not None:
            self._journal.append((kind, key, old))
        if old is not None:
            self._unindex(old)
        table = self._tables.setdefault(kind, {})
        siblings = self._children.setdefault((kind, key[:-1]), {}) if len(key) > 1 else None
        if item is None:
            table.pop(key, None)
            if siblings is not None:
                siblings.pop(key[-1], None)
            return
        table[key] = item
        if siblings is not None:
            siblings[key[-1]] = item
        self._index(item)

    def _index(self, item: Item) -> None:
        kind = self.kinds[item.kind]
        user = (item.kind, item.key)
        for ref in kind.references(item):
            self._users.setdefault(ref, {})[user] = None
        for unique in kind.uniques(item):
            self._unique[unique] = item.key
        if kind.counts_in_folder and item.path != "/":
            folder = names.folder_of(item.path)
            self._in_folder[folder] = self._in_folder.get(folder, 0) + 1

    def _unindex(self, item: Item) -> None:
        kind = self.kinds[item.kind]
        user = (item.kind, item.key)
        for ref in kind.references(item):
            users = self._users.get(ref)
            if users is not None:
                users.pop(user, None)
                self._released.add(ref)
                if not users:
                    del self._users[ref]
        for unique in kind.uniques(item):
            if self._unique.get(unique) == item.key:
                del self._unique[unique]
        if kind.counts_in_folder and item.path != "/":
            folder = names.folder_of(item.path)
            self._in_folder[folder] -= 1
