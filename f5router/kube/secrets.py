"""The Secrets that Routes name in spec.tls.externalCertificate: each listed and watched by itself.

The right to read is granted for single Secrets, by name, in the namespace of the Route. Source:
haproxy-parity.md 2.2; openshift/router, route_secret_manager.go.
"""

import logging
import re
import threading
from collections.abc import Callable, Mapping

from f5router.cluster import Key, Route, Secret, is_object_name
from f5router.errors import KubeError, KubeForbidden, KubeGone, KubeUnauthorized
from f5router.hosts import quote
from f5router.kube import decode
from f5router.kube.reflector import Reflector, Source
from f5router.kube.store import Store, Value

log = logging.getLogger(__name__)

PATIENCE_S = 60.0
"""How long an API server may refuse a Secret that was read, or fail over one that was not, before anybody
hears of it: one that restarts does both for a moment."""

_ACCOUNT = re.compile(r'User "system:serviceaccount:([^:"]+):([^:"]+)"')


SOURCE = Source("secrets", "/api/v1", "secrets", lambda obj: (decode.secret(obj),))


def selectors(key: Key) -> dict[str, str]:
    """What chooses one Secret: the right to list and watch that one is enough."""
    return {"fieldSelector": f"metadata.name={key.name}"}


def wanted(route: Route | None) -> Key | None:
    """The Secret that is to be read for a Route; None also for a name that none can have."""
    key = route.secret if route else None
    return key if key and is_object_name(key.name) else None


class Secrets:
    """Watches the Secrets that Routes name, each as long as one does."""

    def __init__(self, start: Callable[[Key, "One"], Reflector], store: Store, on_change: Callable[[], None],
                 clock: Callable[[], float]):
        """Args: start: a running Reflector of one Secret, which tells what it reads to a One."""
        self._start, self._store, self._on_change, self._clock = start, store, on_change, clock
        self._named: dict[Key, Key] = {}
        """By Route."""
        self._watched: dict[Key, One] = {}
        self._reflectors: dict[Key, Reflector] = {}
        self._stopped = False
        self._lock = threading.Lock()

    def follow(self, routes: Mapping[Key, Route | None]) -> None:
        """Take changes of Routes. Not for several threads at once, but beside stop()."""
        before = {key: self._named.pop(key, None) for key in routes}
        after = {key: wanted(route) for key, route in routes.items()}
        self._named.update((key, secret) for key, secret in after.items() if secret)
        if after != before:
            self._watch(set(self._named.values()))

    def unread(self) -> tuple[str, ...]:
        """What is not known yet, in words."""
        with self._lock:
            unknown = [key for key, one in self._watched.items() if not one.known]
        return tuple(f"Secret {key} is not read yet" for key in sorted(unknown))

    def stop(self) -> None:
        """End all watches, those that are just being started too."""
        with self._lock:
            self._stopped = True
        self._watch(set())

    def _watch(self, keys: set[Key]) -> None:
        with self._lock:
            keys = set() if self._stopped else keys
            leaving = self._watched.keys() - keys
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
            if not self._stopped:
                self._reflectors.update(started)
                return
        for reflector in started.values():
            reflector.stop()


class One:
    """What the watch of one Secret says, for the shared Store; stands in for the Store of its Reflector.

    The Store has nothing of a Secret until it is known what it holds, that it is not there, or that it may
    not be read. Nothing is told before the watch was accepted: with the right to list alone, each attempt
    would show the Secret for a moment.
    """

    def __init__(self, key: Key, store: Store, on_change: Callable[[], None], clock: Callable[[], float]):
        self.key, self._store, self._on_change, self._clock = key, store, on_change, clock
        self._lock = threading.Lock()
        self._values: tuple[Value, ...] = ()
        self._readable = self._ended = self._complained = False
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
        """A list or watch failed.

        What was read is used on, unless the right to read it is withdrawn. What never was stays unknown,
        whatever goes wrong with it: only a missing right says that it is not to be used.
        """
        forbidden = isinstance(exc, KubeForbidden) and not isinstance(exc, KubeUnauthorized)
        with self._lock:
            if isinstance(exc, KubeGone) or (self.known and not forbidden):
                return
            if self._failing_at is None:
                self._failing_at = self._clock()
            at_once = forbidden and not self._readable
            if not at_once and self._clock() - self._failing_at < PATIENCE_S:
                return
            if forbidden:
                self._readable = False
                changed = self._settle((Secret(self.key, problem=_refusal(self.key, str(exc))),))
            else:
                text = f"Secret {self.key.name} cannot be read: {exc}"
                changed = not self._complained and self._tell((Secret(self.key, problem=text, unread=True),))
                self._complained = True
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
        missing = Secret(self.key, problem=f"Secret {quote(self.key.name)} not found")
        changed = self._tell(values or (missing,)) or not self.known
        self.known = True
        return changed

    def _take(self, values: tuple[Value, ...]) -> bool:
        with self._lock:
            self._values = values
            return self._readable and self._settle(values)

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
