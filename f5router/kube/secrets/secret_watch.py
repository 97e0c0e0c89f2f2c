"""Reads the Secrets that Routes name, within limits, in turn, with a few threads.

A team grants the right to read single Secrets, by name, in the namespace of the Route; a watch for each would
cost a thread and a connection. So each is listed alone, periodically, by a field selector: RBAC allows `list`
with resourceNames if the selector names the object, and the API server serves such a list like a `get`.
Sources: Kubernetes, "Using RBAC authorization", referring to resources; k8s.io/apiserver, RequestInfoFactory
and list_work_estimator.go; openshift/router, pkg/router/controller/route_secret_manager.go.
"""

import logging
import queue
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from functools import partial

from f5router.kube.api.connection import Connection
from f5router.kube.secrets.read_kinds import SOURCES
from f5router.kube.secrets.secret_namespaces import NamespaceWatches
from f5router.kube.secrets.secret_schedule import ReadSchedule, SecretState
from f5router.kube.settings import SecretLimits, SecretPace, WatchTiming
from f5router.kube.watch.reflector import decode_object
from f5router.kube.watch.store import Store
from f5router.model.cluster import Key, Route, Secret, is_object_name
from f5router.model.errors import KubeError, KubeUnauthorized, KubeUnreachable
from f5router.model.secret_keys import described, referent
from f5router.model.texts import SECRET_NOT_READ


class NamedSecrets:
    """The Secrets that Routes name, kept up to date by changes of Routes."""

    def __init__(self) -> None:
        self.ages: dict[Key, tuple[str, str]] = {}
        """Age of the oldest Route that names a Secret, by Secret."""
        self.external: set[Key] = set()
        """Secrets that Routes name in spec.tls.externalCertificate, and nothing else names."""
        self._external: dict[Key, Key] = {}
        """The Secret in spec.tls.externalCertificate, by Route."""
        self._named: dict[Key, tuple[Key, ...]] = {}
        """The Secrets by Route."""
        self._routes: dict[Key, dict[Key, tuple[str, str]]] = {}
        """The Routes that name a Secret, with their age, by Secret."""

    def update(self, routes: Mapping[Key, Route | None]) -> tuple[set[Key], bool]:
        """Apply changes of Routes; return the Secrets that these name, and True if `ages` changed."""
        named = {key: (secrets, route.age) for key, route in routes.items()
                 if route is not None and (secrets := _named(route))}
        edited = {secret for secrets, _ in named.values() for secret in secrets}
        affected = set(edited)
        for key in routes:
            for secret in self._named.pop(key, ()):
                affected.add(secret)
                self._routes[secret].pop(key, None)
            self._external.pop(key, None)
            if (route := routes[key]) is not None and (external := _external(route)) is not None:
                self._external[key] = external
        for key, (secrets, age) in named.items():
            self._named[key] = secrets
            for secret in secrets:
                self._routes.setdefault(secret, {})[key] = age
        changed = [self._update_age(secret) for secret in affected]
        for secret in affected:
            users = self._routes.get(secret, {})
            alone = bool(users) and all(self._external.get(user) == secret for user in users)
            (self.external.add if alone else self.external.discard)(secret)
        return edited, any(changed)

    def _update_age(self, secret: Key) -> bool:
        before = self.ages.get(secret)
        if not self._routes[secret]:
            del self._routes[secret], self.ages[secret]
            return True
        self.ages[secret] = min(self._routes[secret].values())
        return self.ages[secret] != before


def _named(route: Route) -> tuple[Key, ...]:
    """Return the Secrets that a Route names, without names that no Secret can have."""
    return tuple(key for key in route.secrets if is_object_name(referent(key)[1]))


def _external(route: Route) -> Key | None:
    """Return the Secret that an OpenShift Route names; None without one, or for a virtual Route."""
    return route.secret if route.origin is None and route.tls_secret is None else None


def excess(ages: Mapping[Key, tuple[str, str]], limits: SecretLimits) -> dict[Key, str]:
    """Return the Secrets that exceed the limits, each with the reason.

    Within a namespace the Secrets of the oldest Routes come first; beyond the total, the namespaces that
    name the most Secrets lose the last of theirs, so that no namespace loses any to a larger one.

    Args: ages: age of the oldest Route that names a Secret, by Secret.
    """
    by_namespace: dict[str, list[Key]] = defaultdict(list)
    for key in ages:
        by_namespace[key.namespace].append(key)
    refused: dict[Key, str] = {}
    if any(len(keys) > limits.per_namespace for keys in by_namespace.values()):
        for namespace, keys in by_namespace.items():
            keys.sort(key=lambda key: (ages[key], key))
            refused |= dict.fromkeys(keys[limits.per_namespace:], _too_many(namespace, limits))
            del keys[limits.per_namespace:]
    if sum(map(len, by_namespace.values())) > limits.total:
        ranked = [(rank, ages[key], key) for keys in by_namespace.values()
                  for rank, key in enumerate(sorted(keys, key=lambda key: (ages[key], key)))]
        refused |= {key: _full(key.namespace, limits) for _, _, key in sorted(ranked)[limits.total:]}
    return refused


def _too_many(namespace: str, limits: SecretLimits) -> str:
    return (f"namespace {namespace} names more than {limits.per_namespace} Secrets; the router reads those "
            "of the oldest Routes. Name fewer, or ask the administrator of the router to raise "
            "--max-secrets-per-namespace")


def _full(namespace: str, limits: SecretLimits) -> str:
    return (f"all namespaces name more than {limits.total} Secrets; the router reads an equal "
            f"share for each namespace, and {namespace} names more than its share. Name fewer, or ask the "
            "administrator of the router to raise --max-secrets")


log = logging.getLogger(__name__)

SHORTEST_WAIT_S = 0.001

FIRST_LOGGED = 3
"""Secrets that are logged one by one when they cannot be read; a lost right concerns all at once."""

NOTIFY_S = 0.02
"""Shortest time between two calls of on_change: after a start thousands of Secrets are read."""


class SecretWatch:
    """Keeps the Secrets that Routes name up to date in a Store.

    One thread owns the schedule and the states; it runs the calls of a queue. follow(), the readers, which
    send the requests, and the watches of namespaces only put calls there.
    """

    def __init__(self, connection: Connection, store: Store, on_change: Callable[[], None], *,
                 limits: SecretLimits, pace: SecretPace, timing: WatchTiming, clock: Callable[[], float]):
        """Arguments:
        on_change: called when a value in the store changed, without locks.
        timing: of the watches of whole namespaces.
        """
        self._connection, self._store, self._on_change = connection, store, on_change
        self._clock, self._outages = clock, connection.outages
        self._timeout_s, self._patience_s = pace.timeout_s, pace.patience_s
        self._namespaces = NamespaceWatches(
            connection, timing=timing, clock=clock, on_change=self.changed, on_watch=self.watched)
        self._named, self._limits = NamedSecrets(), limits
        self._secrets: frozenset[Key] = frozenset()
        self._looks = 0
        self._incomplete: list[Key] = []
        """Secrets that complete() still has to check."""
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._jobs: queue.SimpleQueue[Key | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="secrets", daemon=True)
        self._readers: list[threading.Thread] = []
        # The following belongs to the thread alone.
        self._schedule = ReadSchedule(replace(pace, burst=limits.total), clock)
        self._states: dict[Key, SecretState] = {}
        self._refused: Mapping[Key, str] = {}
        self._unreadable: dict[Key, str] = {}
        self._unreadable_lock = threading.Lock()
        self._reading = 0
        self._changed, self._notify_at = False, 0.0

    def start(self) -> None:
        """Start the thread; readers start when there is a Secret to read."""
        self._thread.start()

    def stop(self) -> None:
        """End the threads soon; no further change is stored."""
        self._stopped.set()
        self._calls.put(lambda: None)
        self._namespaces.stop()

    def join(self, end: float) -> None:
        """Wait for the threads until a time of time.monotonic(); a request in flight may outlive it."""
        for thread in (self._thread, *self._readers):
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        self._namespaces.join(end)

    def follow(self, routes: Mapping[Key, Route | None]) -> None:
        """Apply changes of Routes. Not for several threads at once."""
        edited, changed = self._named.update(routes)
        if changed:
            refused = excess(self._named.ages, self._limits)
            self._secrets = frozenset(self._named.ages.keys() - refused.keys())
            self._incomplete = list(self._secrets)
            self._calls.put(partial(self._replace, self._secrets, refused))
        if edited:
            self._calls.put(partial(self._hasten, edited))

    def changed(self, key: Key) -> None:
        """Read a Secret soon that has changed, unless no Route names it. For any thread."""
        if key in self._secrets:
            self._calls.put(partial(self._schedule.hasten, key))

    def look(self) -> None:
        """Read one of the Secrets soon, each in its turn: a right to it may be gone. For any thread."""
        if self._stopped.is_set() or not self._secrets:
            return
        self._looks += 1
        keys = sorted(self._secrets)
        self._calls.put(partial(self._schedule.hasten, keys[self._looks % len(keys)]))

    def watched(self, namespace: str, runs: bool) -> None:
        """Record whether changed() is called for the Secrets of a namespace from now on. For any thread."""
        self._calls.put(partial(self._schedule.watch if runs else self._schedule.unwatch, namespace))

    def counts(self) -> Mapping[str, int]:
        """Return the number of Secrets that are read, by namespace."""
        return Counter(key.namespace for key in self._secrets)

    def not_loaded(self) -> tuple[str, ...]:
        """Return a message for each Secret that is not read yet."""
        unknown = sorted(key for key in self._secrets if not self._known(key))
        return tuple(f"{described(key)} is not read yet" for key in unknown)

    def unreadable(self) -> Mapping[Key, str]:
        """Return the Secrets that cannot be read now, each with the reason. For any thread."""
        with self._unreadable_lock:
            return dict(self._unreadable)

    def unreadable_text(self) -> str:
        """Return one line for all Secrets that cannot be read; "" for none."""
        if not (unread := self.unreadable()):
            return ""
        first = min(unread)
        return (f"{SECRET_NOT_READ}: {len(unread)} of the Secrets that Routes name cannot be read; what was "
                f"made of them stays, the first is {first}: {unread[first]}")

    def complete(self) -> bool:
        """True if each Secret was known once. Not for several threads at once, nor together with follow()."""
        while self._incomplete and self._known(self._incomplete[-1]):
            self._incomplete.pop()
        return not self._incomplete

    def _known(self, key: Key) -> bool:
        secret = self._store.get("secrets", key)
        return isinstance(secret, Secret) and (not secret.not_loaded or secret.forbidden)

    def _run(self) -> None:
        while not self._stopped.is_set():
            for call in self._next_calls():
                self._guard(call)
            self._guard(self._submit_due)
            if self._changed and self._clock() >= self._notify_at:
                self._changed, self._notify_at = False, self._clock() + NOTIFY_S
                self._guard(self._on_change)
        for _ in self._readers:
            self._jobs.put(None)

    def _guard(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception:  # a bug in the handling of one Secret must not end the reading of all
            log.exception("Secret failed")

    def _submit_due(self) -> None:
        while not self._stopped.is_set() and (key := self._schedule.take()) is not None:
            self._submit(key)

    def _next_calls(self) -> list[Callable[[], None]]:
        """Wait for a call and return all queued ones; none if a Secret is due before."""
        waits = [] if (due_s := self._schedule.wait_s()) is None else [due_s]
        if self._changed:
            waits.append(self._notify_at - self._clock())
        try:
            first = self._calls.get(timeout=max(min(waits), SHORTEST_WAIT_S) if waits else None)
        except queue.Empty:
            return []
        return [first, *(self._calls.get_nowait() for _ in range(self._calls.qsize()))]

    def _replace(self, keys: Set[Key], refused: Mapping[Key, str]) -> None:
        """Read these Secrets and no others. Args: refused: others that Routes name, with the reason."""
        for key in (self._states.keys() | self._refused.keys()) - keys:
            self._states.pop(key, None)
            self._note(key, "")
            self._outages.answered(_user(key))
            self._schedule.discard(key)
            if key not in refused:
                self._put(key, None)
        for key, problem in refused.items():
            self._put(key, Secret(key, problem=problem))
        for key in sorted(keys - self._states.keys()):
            self._states[key] = SecretState(key, patience_s=self._patience_s)
            self._schedule.add(key)
            if key in self._refused:
                self._put(key, None)
        if refused and not self._refused:
            log.warning("Routes name too many Secrets", extra={
                "unread": len(refused), "first": str(min(refused))})
        self._refused = refused
        namespaces = Counter(key.namespace for key in self._states if referent(key)[0] == "Secret")
        self._namespaces.follow(sorted(namespaces, key=lambda namespace: (-namespaces[namespace], namespace)))

    def _hasten(self, keys: Set[Key]) -> None:
        for key in keys:
            self._schedule.hasten(key)

    def _submit(self, key: Key) -> None:
        """Pass a Secret to a reader."""
        self._reading += 1
        if self._reading > len(self._readers):
            number = len(self._readers) + 1
            thread = threading.Thread(target=self._run_reader, name=f"secret-reader-{number}", daemon=True)
            self._readers.append(thread)
            thread.start()
        self._jobs.put(key)

    def _run_reader(self) -> None:
        while (key := self._jobs.get()) is not None:
            try:
                call = partial(self._answered, key, self._read(key))
            except KubeError as exc:
                call = partial(self._failed, key, exc)
            except Exception as exc:  # a bug: the Secret is tried again
                log.exception("Secret failed", extra={"secret": str(key)})
                call = partial(self._failed, key, KubeError(type(exc).__name__))
            self._calls.put(call)

    def _read(self, key: Key) -> Secret | None:
        """Read a Secret by a list that can contain no other; None if it does not exist. Raises: KubeError."""
        kind, called = referent(key)
        path = (source := SOURCES[kind]).path(key.namespace)
        reply = self._connection.request(
            "GET", path, query={"fieldSelector": f"metadata.name={called}"}, timeout_s=self._timeout_s)
        items = reply.get("items") if isinstance(reply, Mapping) else None
        if not isinstance(items, list | None) or not isinstance(reply, Mapping):
            raise KubeUnreachable(f"GET {path}: the reply is no list")
        for item in items or ():
            name, values = decode_object(source, item)
            if name == Key(key.namespace, called):
                return next((secret for secret in values if isinstance(secret, Secret)), None)
        return None

    def _answered(self, key: Key, secret: Secret | None) -> None:
        self._reading -= 1
        self._schedule.answered(key, useful=secret is not None)
        self._outages.answered(_user(key))
        if (state := self._states.get(key)) is not None:
            self._put(key, state.answered(
                secret, granted_alone=key.namespace in self._namespaces.closed))
            self._note(key, "")

    def _failed(self, key: Key, exc: KubeError) -> None:
        self._reading -= 1
        if isinstance(exc, KubeUnreachable | KubeUnauthorized):
            self._schedule.failed(key, retry_after_s=exc.retry_after_s)
        else:  # an error of this Secret alone, such as a missing right
            self._schedule.answered(key, useful=False)
        state = self._states.get(key)
        away = isinstance(exc, KubeUnreachable)
        if isinstance(exc, KubeUnreachable) and state is not None:
            self._outages.failed(_user(key), exc)
        else:
            self._outages.answered(_user(key))
        known = None if state is None else state.failed(
            exc, self._clock(), external=key in self._named.external)
        if state is not None:
            self._note(key, state.problem, level=logging.DEBUG if away else logging.WARNING)
        if known is not None and self._put(key, known):
            log.log(logging.DEBUG if away else logging.WARNING, "Secret not readable",
                    extra={"secret": str(key), "error": str(exc)})

    def _note(self, key: Key, problem: str, *, level: int = logging.INFO) -> None:
        """Keep why a Secret cannot be read; "" if it can. Args: level: of the message about it."""
        before = self._unreadable.get(key, "")
        if problem == before:
            return
        with self._unreadable_lock:
            if problem:
                self._unreadable[key] = problem
            else:
                del self._unreadable[key]
        if problem and not before and len(self._unreadable) <= FIRST_LOGGED:
            log.log(level, "Secret not readable, keeping its last known content",
                    extra={"secret": str(key), "error": problem})

    def _put(self, key: Key, secret: Secret | None) -> bool:
        changed = not self._stopped.is_set() and self._store.put(
            "secrets", key, () if secret is None else (secret,))
        self._changed |= changed
        return changed


def _user(key: Key) -> str:
    """Return the name of a Secret as a user of the API server: one alone may hang."""
    return f"secrets {key}"
