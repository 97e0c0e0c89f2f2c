"""Watches all Secrets of namespaces where the router has that right, so that a changed one is read at once.

This is for speed alone: the right is looked up, never required. The watch transfers metadata, not the content
of Secrets, and only their names and resourceVersions are kept.
"""

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from f5router.kube.api import fields, requests
from f5router.kube.api.connection import Connection
from f5router.kube.settings import WatchTiming
from f5router.kube.watch.reflector import Listener, Reflector
from f5router.kube.watch.sources import Source
from f5router.model.cluster import Key

log = logging.getLogger(__name__)

MOST = 16
"""Namespaces watched at most; each takes a thread and a connection."""

REVIEW_S = 300.0
"""Interval between two reviews of the right in a namespace."""

REVIEW_PAUSE_S = 0.1
"""Shortest time between two reviews."""


@dataclass(frozen=True, slots=True)
class SecretVersion:
    """The version of a Secret, without its content."""

    key: Key
    resource_version: str


SOURCE = Source(
    "secrets", "/api/v1", "secrets", metadata_only=True,
    decode=lambda obj: (SecretVersion(fields.key(obj), fields.resource_version(obj)),))


class SecretVersions:
    """Takes the place of the Store of a Reflector, and reports which Secrets changed."""

    def __init__(self, on_change: Callable[[Key], None]):
        self._on_change = on_change
        self._known: dict[Key, tuple[SecretVersion, ...]] | None = None

    def replace(self, field: str, objects: Mapping[Key, tuple[SecretVersion, ...]]) -> bool:
        """See Store.replace. The first list reports no change: Secrets are read without it."""
        known, self._known = self._known, dict(objects)
        if known is not None:
            for key in known.keys() | objects.keys():
                if known.get(key) != objects.get(key):
                    self._on_change(key)
        return False

    def missing(self, field: str, objects: Mapping[Key, tuple[SecretVersion, ...]]) -> tuple[int, int]:
        """See Store.missing: a list loses nothing, as the Secrets themselves are read."""
        return 0, 0

    def put(self, field: str, key: Key, values: tuple[SecretVersion, ...]) -> bool:
        """See Store.put."""
        known = {} if self._known is None else self._known
        if values:
            known[key] = values
        else:
            known.pop(key, None)
        self._on_change(key)
        return False


class NamespaceWatches:
    """Watches the namespaces in which the router may list and watch all Secrets."""

    def __init__(self, connection: Connection, *, timing: WatchTiming, clock: Callable[[], float],
                 on_change: Callable[[Key], None], on_watch: Callable[[str, bool], None]):
        """Arguments:
        on_change: called when a Secret of a watched namespace changed, from the threads of the watches.
        on_watch: called when the watch of a namespace runs, or no longer does.
        """
        self._connection, self._timing, self._clock = connection, timing, clock
        self._on_change, self._on_watch = on_change, on_watch
        self._namespaces: tuple[str, ...] = ()
        self._review_at: dict[str, float] = {}
        self.closed: set[str] = set()
        """Namespaces in which the last review showed no right on all Secrets."""
        self._watches: dict[str, tuple[Reflector, threading.Thread]] = {}
        self._refused: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="secret-namespaces", daemon=True)

    def follow(self, namespaces: Iterable[str]) -> None:
        """Watch these as far as possible, the first ones first; called by the thread of SecretWatch."""
        self._namespaces = tuple(namespaces)
        self._wake.set()
        if not self._thread.ident and self._namespaces:
            self._thread.start()

    def stop(self) -> None:
        """End all watches soon."""
        self._stopped.set()
        self._wake.set()

    def join(self, end: float) -> None:
        """Wait for the threads until a time of time.monotonic()."""
        threads = [self._thread, *(thread for _, thread in list(self._watches.values()))]
        for thread in threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            namespaces = self._namespaces
            self._drop(namespaces)
            self._review(namespaces)
            self._wake.wait(self._pause_s(namespaces))
        for reflector, _ in self._watches.values():
            reflector.stop()

    def _drop(self, namespaces: tuple[str, ...]) -> None:
        """End the watches that were refused, or are no longer needed."""
        refused = {self._refused.get_nowait() for _ in range(self._refused.qsize())}
        for namespace in (self._watches.keys() & refused) | (self._watches.keys() - set(namespaces)):
            reflector, _ = self._watches.pop(namespace)
            reflector.stop()
            self._on_watch(namespace, False)
        for namespace in self._review_at.keys() - set(namespaces):
            del self._review_at[namespace]
            self.closed.discard(namespace)

    def _review(self, namespaces: tuple[str, ...]) -> None:
        """Review the right where that is due, and watch where it is granted."""
        for namespace in namespaces:
            if len(self._watches) >= MOST or self._namespaces != namespaces or self._stopped.is_set():
                return
            if namespace in self._watches or self._clock() < self._review_at.get(namespace, 0.0):
                continue
            self._review_at[namespace] = self._clock() + REVIEW_S * random.uniform(0.8, 1.0)
            may = [requests.may(self._connection, verb, "secrets", namespace=namespace)
                   for verb in ("list", "watch")]
            (self.closed.add if may[0] is False else self.closed.discard)(namespace)
            if all(may):
                self._start(namespace)
            self._stopped.wait(REVIEW_PAUSE_S)

    def _pause_s(self, namespaces: tuple[str, ...]) -> float:
        """Return the seconds until a review is due."""
        due = [self._review_at.get(name, 0.0) for name in namespaces if name not in self._watches]
        full = len(self._watches) >= MOST
        return REVIEW_S if full or not due else max(REVIEW_PAUSE_S, min(due) - self._clock())

    def _start(self, namespace: str) -> None:
        reflector = Reflector(
            self._connection, SOURCE, SecretVersions(self._on_change), namespace=namespace, selectors={},
            timing=self._timing, clock=self._clock, sleep=self._stopped.wait,
            listener=Listener(on_problem=partial(self._problem, namespace)))
        thread = threading.Thread(target=reflector.run, name=f"watch-secrets-{namespace}", daemon=True)
        self._watches[namespace] = reflector, thread
        thread.start()

    def _problem(self, namespace: str, text: str) -> None:
        """Record why a namespace cannot be watched; "" when it is."""
        if text:
            self._refused.put(namespace)
            self._wake.set()
        else:
            self._on_watch(namespace, True)
