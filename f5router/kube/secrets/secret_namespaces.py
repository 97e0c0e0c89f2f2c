"""Watches of whole namespaces, where the router has that right: a Secret that changes there is read at once.

They are for speed alone. The right is asked for, never required; the watch carries metadata, not what Secrets
hold, and of these only name and resourceVersion are kept.
"""

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from f5router.kube.api import fields, review
from f5router.kube.api.connection import Connection
from f5router.kube.watch.reflector import Reflector, Timing
from f5router.kube.watch.sources import Source
from f5router.model.cluster import Key

log = logging.getLogger(__name__)

MOST = 16
"""Namespaces that are watched; each takes a thread and a connection."""

ASK_S = 300.0
"""From one question for the right in a namespace to the next."""

ASK_PAUSE_S = 0.1
"""Shortest time between two questions."""


@dataclass(frozen=True, slots=True)
class Version:
    """What is kept of a Secret."""

    key: Key
    resource_version: str


SOURCE = Source("secrets", "/api/v1", "secrets",
                lambda obj: (Version(fields.key(obj), fields.resource_version(obj)),), metadata_only=True)


class Changes:
    """Stands in for the Store of a Reflector: passes on which Secrets changed."""

    def __init__(self, on_change: Callable[[Key], None]):
        self._on_change = on_change
        self._known: dict[Key, tuple[Version, ...]] | None = None

    def replace(self, field: str, objects: Mapping[Key, tuple[Version, ...]]) -> bool:
        """As Store.replace. The first list tells nothing: Secrets are read without it."""
        known, self._known = self._known, dict(objects)
        if known is not None:
            for key in known.keys() | objects.keys():
                if known.get(key) != objects.get(key):
                    self._on_change(key)
        return False

    def missing(self, field: str, objects: Mapping[Key, tuple[Version, ...]]) -> tuple[int, int]:
        """As Store.missing: nothing is lost with a list, the Secrets are read."""
        return 0, 0

    def put(self, field: str, key: Key, values: tuple[Version, ...]) -> bool:
        """As Store.put."""
        known = {} if self._known is None else self._known
        if values:
            known[key] = values
        else:
            known.pop(key, None)
        self._on_change(key)
        return False


class NamespaceWatches:
    """Watches the namespaces in which the router may list and watch all Secrets."""

    def __init__(self, connection: Connection, *, timing: Timing, clock: Callable[[], float],
                 on_change: Callable[[Key], None], on_watch: Callable[[str, bool], None]):
        """Arguments:
        on_change: a Secret of a watched namespace changed; called from the threads of the watches.
        on_watch: the watch of a namespace runs, or does not run any more.
        """
        self._connection, self._timing, self._clock = connection, timing, clock
        self._on_change, self._on_watch = on_change, on_watch
        self._wanted: tuple[str, ...] = ()
        self._ask_at: dict[str, float] = {}
        self._watches: dict[str, tuple[Reflector, threading.Thread]] = {}
        self._refused: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="secret-namespaces", daemon=True)

    def want(self, namespaces: Iterable[str]) -> None:
        """Watch these, as far as possible, the first ones first. For the thread of SecretWatch."""
        self._wanted = tuple(namespaces)
        self._wake.set()
        if not self._thread.ident and self._wanted:
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
            wanted = self._wanted
            self._drop(wanted)
            self._ask(wanted)
            self._wake.wait(self._pause_s(wanted))
        for reflector, _ in self._watches.values():
            reflector.stop()

    def _drop(self, wanted: tuple[str, ...]) -> None:
        """End the watches that were refused, or are of no use any more."""
        refused = {self._refused.get_nowait() for _ in range(self._refused.qsize())}
        for namespace in (self._watches.keys() & refused) | (self._watches.keys() - set(wanted)):
            reflector, _ = self._watches.pop(namespace)
            reflector.stop()
            self._on_watch(namespace, False)
        self._ask_at = {namespace: at for namespace, at in self._ask_at.items() if namespace in set(wanted)}

    def _ask(self, wanted: tuple[str, ...]) -> None:
        """Ask for the right where that is due, and watch where it is granted."""
        for namespace in wanted:
            if len(self._watches) >= MOST or self._wanted != wanted or self._stopped.is_set():
                return
            if namespace in self._watches or self._clock() < self._ask_at.get(namespace, 0.0):
                continue
            self._ask_at[namespace] = self._clock() + ASK_S * random.uniform(0.8, 1.0)
            if all(review.may(self._connection, verb, "secrets", namespace=namespace)
                   for verb in ("list", "watch")):
                self._start(namespace)
            self._stopped.wait(ASK_PAUSE_S)

    def _pause_s(self, wanted: tuple[str, ...]) -> float:
        """Seconds until a question is due."""
        due = [self._ask_at.get(namespace, 0.0) for namespace in wanted if namespace not in self._watches]
        full = len(self._watches) >= MOST
        return ASK_S if full or not due else max(ASK_PAUSE_S, min(due) - self._clock())

    def _start(self, namespace: str) -> None:
        reflector = Reflector(
            self._connection, SOURCE, Changes(self._on_change), namespace=namespace, selectors={},
            timing=self._timing, clock=self._clock, sleep=self._stopped.wait, on_list=lambda: None,
            on_change=lambda: None, on_problem=partial(self._problem, namespace))
        thread = threading.Thread(target=reflector.run, name=f"watch-secrets-{namespace}", daemon=True)
        self._watches[namespace] = reflector, thread
        thread.start()

    def _problem(self, namespace: str, text: str) -> None:
        """Args: text: why the namespace cannot be watched; "" when it is."""
        if text:
            self._refused.put(namespace)
            self._wake.set()
        else:
            self._on_watch(namespace, True)
