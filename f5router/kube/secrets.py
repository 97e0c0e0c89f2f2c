"""The Secrets that Routes name in spec.tls.externalCertificate: each listed and watched by itself.

The right to read is granted for single Secrets, by name, in the namespace of the Route. Source:
haproxy-parity.md 2.2; openshift/router, route_secret_manager.go.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping

from f5router.cluster import Key, Route, Secret
from f5router.errors import KubeError, KubeForbidden, KubeRefused, KubeUnauthorized
from f5router.kube import decode
from f5router.kube.reflector import Reflector, Source
from f5router.kube.store import Store, Value

log = logging.getLogger(__name__)

PATIENCE_S = 60.0
"""How long an API server may refuse a Secret that was read, or fail over one that was not: one that restarts
does both for a moment."""

INTERNAL_ERROR = 500
"""Status for a Secret that cannot be decrypted: of one object, while others are read. Source: kubernetes
issue 66844."""

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_ACCOUNT = re.compile(r'User "system:serviceaccount:([^:"]+):([^:"]+)"')


SOURCE = Source("secrets", "/api/v1", "secrets", lambda obj: (decode.secret(obj),))


def selectors(key: Key) -> dict[str, str]:
    """What chooses one Secret: the right to list and watch that one is enough."""
    return {"fieldSelector": f"metadata.name={key.name}"}


def wanted(route: Route | None) -> Key | None:
    """The Secret that is to be read for a Route; None also for a name that none can have."""
    key = route.secret if route else None
    return key if key and _NAME.fullmatch(key.name) else None


class Secrets:
    """Watches what is wanted; holds back Routes whose Secret has not been read yet.

    Until then nobody knows what such a Route needs: served without its certificate, or taken away, it would
    be wrong. `passed` is called by one thread.
    """

    def __init__(self, start: Callable[[Key, "One"], Reflector], store: Store, on_change: Callable[[], None],
                 clock: Callable[[], float]):
        """Args: start: a running Reflector of one Secret, which tells what it reads to a One."""
        self._start, self._store, self._on_change, self._clock = start, store, on_change, clock
        self._watched: dict[Key, One] = {}
        self._reflectors: dict[Key, Reflector] = {}
        self._told: dict[Key, Key] = {}
        """Secret of each Route that was passed on."""
        self._held: dict[Key, Route] = {}
        self._lock = threading.Lock()

    def expect(self, routes: Iterable[Route]) -> None:
        """Begin to read the Secrets of Routes."""
        self._want({key for route in routes if (key := wanted(route))})

    def known(self) -> frozenset[Key]:
        """Secrets of which is known what they hold, or that they cannot be read."""
        with self._lock:
            return frozenset(key for key, one in self._watched.items() if one.known)

    def ready(self, routes: Iterable[Route]) -> bool:
        """Whether the Secrets of all Routes are known."""
        known = self.known()
        return all(key in known for route in routes if (key := wanted(route)))

    def unread(self) -> tuple[str, ...]:
        """What is waited for, in words."""
        with self._lock:
            unknown = [key for key, one in self._watched.items() if not one.known]
        return tuple(f"Secret {key} is not read yet" for key in unknown)

    def passed(self, routes: Mapping[Key, Route | None], known: frozenset[Key]) -> dict[Key, Route | None]:
        """Changes of Routes that may be told now; others wait for their Secret.

        Args: known: as `known` said before the changes were drained, so that the Secret is among them.
        """
        changes = {**self._held, **routes}
        needs = {key: secret for key, route in changes.items() if (secret := wanted(route))}
        waiting = {key: secret for key, secret in needs.items() if secret not in known}
        self._held = {key: changes[key] for key in waiting}
        for key in changes.keys() - waiting.keys():
            self._told.pop(key, None)
        self._told.update((key, needs[key]) for key in needs.keys() - waiting.keys())
        if changes:
            self._want({*self._told.values(), *waiting.values()}, only=True)
        return {key: route for key, route in changes.items() if key not in waiting}

    def stop(self) -> None:
        """End all watches."""
        self._want(set(), only=True)

    def _want(self, keys: set[Key], *, only: bool = False) -> None:
        with self._lock:
            leaving = self._watched.keys() - keys if only else set()
            ended = [(self._watched.pop(key), self._reflectors.pop(key, None)) for key in leaving]
            new = {key: One(key, self._store, self._on_change, self._clock)
                   for key in keys - self._watched.keys()}
            self._watched.update(new)
        for one, reflector in ended:
            one.end()
            if reflector is not None:
                reflector.stop()
        started = {key: self._start(key, one) for key, one in new.items()}
        with self._lock:
            self._reflectors.update(started)


class One:
    """What the watch of one Secret says, for the shared Store; stands in for the Store of its Reflector.

    Nothing is told before the watch was accepted: with the right to list alone, each attempt would show the
    Secret for a moment.
    """

    def __init__(self, key: Key, store: Store, on_change: Callable[[], None], clock: Callable[[], float]):
        self.key, self._store, self._on_change, self._clock = key, store, on_change, clock
        self._lock = threading.Lock()
        self._values: tuple[Value, ...] = ()
        self._readable = self._ended = False
        self._failing_at: float | None = None
        """Since when the API server fails over this Secret, or refuses it."""
        self.known = False

    def replace(self, field: str, objects: Mapping[Key, tuple[Value, ...]]) -> bool:
        """As Store.replace."""
        return self._take(objects.get(self.key, ()))

    def put(self, field: str, obj: Key, values: tuple[Value, ...]) -> bool:
        """As Store.put."""
        return obj == self.key and self._take(values)

    def accepted(self) -> None:
        """The watch runs: what was listed counts."""
        with self._lock:
            self._failing_at = None
            self._readable = True
            changed = self._settle(self._values)
        if changed:
            self._on_change()

    def failed(self, exc: KubeError) -> None:
        """A list or watch failed: a problem of the Secret, if it is not one of all that is read."""
        forbidden = isinstance(exc, KubeForbidden) and not isinstance(exc, KubeUnauthorized)
        broken = isinstance(exc, KubeRefused) or getattr(exc, "status", 0) == INTERNAL_ERROR
        with self._lock:
            if not (forbidden or (broken and not self._readable)):
                return
            if self._failing_at is None:
                self._failing_at = self._clock()
            at_once = forbidden and not self._readable
            if not at_once and self._clock() - self._failing_at < PATIENCE_S:
                return
            self._readable = False
            text = f"Secret {self.key.name} cannot be read: {exc}"
            problem = _refusal(self.key, str(exc)) if forbidden else text
            changed = self._settle((Secret(self.key, problem=problem),))
        if changed:
            log.warning("Secret cannot be read", extra={"secret": str(self.key), "error": str(exc)})
            self._on_change()

    def end(self) -> None:
        """Nobody wants it any more."""
        with self._lock:
            self._tell(())
            self._ended = True

    def _settle(self, values: tuple[Value, ...]) -> bool:
        """Tell what is known now; returns whether that is news."""
        changed = self._tell(values) or not self.known
        self.known = True
        return changed

    def _take(self, values: tuple[Value, ...]) -> bool:
        with self._lock:
            self._values = values
            return self._readable and self._tell(values)

    def _tell(self, values: tuple[Value, ...]) -> bool:
        return not self._ended and self._store.put("secrets", self.key, values)


def _refusal(key: Key, text: str) -> str:
    """What an application team can do about it; text: the API server's refusal."""
    found = _ACCOUNT.search(text)
    account = ":".join(found.groups()) if found else "<namespace>:<service account>"
    role = f"read-{key.name}"
    return (
        f"the router may not get, list and watch Secret {key.name}; "
        f"oc create role {role} --verb=get,list,watch --resource=secrets --resource-name={key.name} "
        f"-n {key.namespace} and oc create rolebinding {role} --role={role} --serviceaccount={account} "
        f"-n {key.namespace}"
    )
