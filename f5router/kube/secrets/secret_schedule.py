"""Schedule of the readings of Secrets, and the state of each."""

import heapq
import itertools
import random
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from f5router.kube.api.work_queue import Bucket, FairQueue
from f5router.kube.settings import SecretPace
from f5router.model.cluster import Key, Secret
from f5router.model.errors import KubeError, KubeForbidden, KubeUnauthorized
from f5router.model.hostnames import quote
from f5router.model.limits import Backoff
from f5router.model.secret_keys import referent

BREAK_AFTER = 16
"""Failed reads in a row, in several namespaces, after which the API server itself counts as failing."""


@dataclass(slots=True)
class _Entry:
    """The schedule of one Secret."""

    read_at: float | None = None
    """Start of the last read, monotonic seconds; None before the first."""
    due_at: float = 0.0
    ticket: int = 0
    """Number of the current timer; older ones are void."""
    queue: FairQueue[Key] | None = None
    """The queue in which it waits for a reader."""
    refreshed: bool = False
    """True once it was read a second time."""
    hastened: bool = False
    """True if it is to be read once more after the read in flight."""
    slow: bool = False
    absences: int = 0
    """Reads in a row that found no Secret, or no right to read it."""
    failures: int = 0
    """Reads in a row without an answer."""


@dataclass(slots=True)
class _Breaker:
    """Limits reads to a probe now and then while the API server itself fails."""

    probe: Backoff
    failures: int = 0
    namespaces: set[str] = field(default_factory=set)
    open_at: float = 0.0

    def reset(self) -> None:
        self.failures, self.open_at = 0, 0.0
        self.namespaces.clear()

    def fail(self, namespace: str, now: float, *, total: int) -> None:
        """Record a failed read. Args: total: namespaces with Secrets to read."""
        self.failures += 1
        self.namespaces.add(namespace)
        self.wait(now, total=total)

    def wait(self, now: float, *, total: int) -> None:
        if self.failures >= BREAK_AFTER and len(self.namespaces) >= min(2, total):
            self.open_at = now + self.probe.jittered_s(self.failures - BREAK_AFTER + 1)


class ReadSchedule:
    """The schedule of all Secrets: take() returns one to read, answered() or failed() takes it back."""

    def __init__(self, pace: SecretPace, clock: Callable[[], float]):
        self._pace, self._clock = pace, clock
        self._entries: dict[Key, _Entry] = {}
        self._namespaces: Counter[str] = Counter()
        self._timers: list[tuple[float, int, Key]] = []
        self._tickets = itertools.count(1)
        self._first: FairQueue[Key] = FairQueue()
        self._slow: FairQueue[Key] = FairQueue()
        self._again: FairQueue[Key] = FairQueue()
        first = Bucket(pace.burst, pace.first_per_s, clock())
        again = Bucket(pace.again_per_s, pace.again_per_s, clock())
        self._lanes = ((self._first, first), (self._slow, again), (self._again, again))
        self._in_flight: dict[Key, float] = {}
        """When the read began."""
        self._slow_in_flight: set[Key] = set()
        self._breaker = _Breaker(pace.probe)
        self._watched: set[str] = set()

    def add(self, key: Key) -> None:
        """Read a Secret from now on, first as soon as possible."""
        if key not in self._entries:
            entry = self._entries[key] = _Entry()
            self._namespaces[key.namespace] += 1
            if key not in self._in_flight:
                self._enqueue(key, entry)

    def discard(self, key: Key) -> None:
        """Stop reading a Secret."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return
        if entry.queue is not None:
            entry.queue.discard(key)
        self._namespaces[key.namespace] -= 1
        if not self._namespaces[key.namespace]:
            del self._namespaces[key.namespace]

    def hasten(self, key: Key) -> None:
        """Read a Secret soon: it changed, or a Route that names it did."""
        entry = self._entries.get(key)
        if entry is None or entry.queue is not None:
            return
        entry.absences = entry.failures = 0
        if key in self._in_flight:
            entry.hastened = True
        elif entry.due_at > (soonest := self._soonest(entry)):
            self._start_timer(key, entry, soonest)

    def take(self) -> Key | None:
        """Return the Secret to read now; None if none is due."""
        now = self._clock()
        self._enqueue_due(now)
        if len(self._in_flight) >= self._pace.readers or now < self._breaker.open_at:
            return None
        for queue, bucket in self._lanes:
            if bucket.wait_s(now) == 0 and (key := queue.pop(self._allowed(queue))) is not None:
                bucket.take()
                self._begin(key, now)
                return key
        return None

    def answered(self, key: Key, *, useful: bool) -> None:
        """Plan the next read. Args: useful: False if the Secret is missing or forbidden."""
        self._breaker.reset()
        slow = self._end(key)
        if (entry := self._entries.get(key)) is None:
            return
        entry.slow, entry.failures = slow, 0
        entry.absences = 0 if useful else entry.absences + 1
        if useful:
            # Secrets that were read together, as at the start, must not come together again.
            usual_s = self._pace.watched_s if key.namespace in self._watched else self._pace.refresh_s
            delay_s = usual_s * random.uniform(0.9 if entry.refreshed else 0.1, 1.0)
            entry.refreshed = True
        else:
            delay_s = self._pace.absent.jittered_s(entry.absences)
        self._plan(key, entry, delay_s)

    def failed(self, key: Key, *, retry_after_s: float | None = None) -> None:
        """Plan the next read of a Secret for which the API server gave no answer."""
        self._breaker.fail(key.namespace, self._clock(), total=len(self._namespaces))
        slow = self._end(key)
        if (entry := self._entries.get(key)) is None:
            return
        entry.slow = slow
        entry.failures += 1
        self._plan(key, entry, self._pace.failed.jittered_s(entry.failures, retry_after_s))

    def watch(self, namespace: str) -> None:
        """Read the Secrets of a namespace less often: hasten() is called for those that change."""
        self._watched.add(namespace)

    def unwatch(self, namespace: str) -> None:
        """Read them as often as others again, beginning now: changes may have been missed."""
        if namespace in self._watched:
            self._watched.discard(namespace)
            for key in self._entries:
                if key.namespace == namespace:
                    self.hasten(key)

    def wait_s(self) -> float | None:
        """Return the seconds until take() may return a Secret; None if no time alone makes one due."""
        now = self._clock()
        waits = [self._timers[0][0] - now] if self._timers else []
        if len(self._in_flight) < self._pace.readers:
            waits += [max(self._breaker.open_at - now, bucket.wait_s(now)) for queue, bucket in self._lanes
                      if queue.ready(self._allowed(queue))]
        return max(0.0, min(waits)) if waits else None

    def _allowed(self, queue: FairQueue[Key]) -> Callable[[str], bool]:
        """Return a predicate for namespaces that may have another read in flight."""
        if queue is self._slow and len(self._slow_in_flight) >= self._pace.readers_of_slow:
            return lambda namespace: False
        busy = Counter(key.namespace for key in self._in_flight)
        return lambda namespace: busy[namespace] < self._pace.readers_per_namespace

    def _begin(self, key: Key, now: float) -> None:
        entry = self._entries[key]
        entry.queue, entry.read_at, entry.hastened = None, now, False
        self._in_flight[key] = now
        if entry.slow:
            self._slow_in_flight.add(key)
        self._breaker.wait(now, total=len(self._namespaces))

    def _end(self, key: Key) -> bool:
        """End the read of a Secret; return True if it was slow."""
        self._slow_in_flight.discard(key)
        return self._clock() - self._in_flight.pop(key) >= self._pace.timeout_s / 2

    def _plan(self, key: Key, entry: _Entry, delay_s: float) -> None:
        at = self._clock() + delay_s
        self._start_timer(key, entry, min(at, self._soonest(entry)) if entry.hastened else at)

    def _soonest(self, entry: _Entry) -> float:
        now = self._clock()
        return now if entry.read_at is None else max(now, entry.read_at + self._pace.hasten_s)

    def _start_timer(self, key: Key, entry: _Entry, at: float) -> None:
        entry.due_at, entry.ticket = at, next(self._tickets)
        heapq.heappush(self._timers, (at, entry.ticket, key))

    def _enqueue_due(self, now: float) -> None:
        """Queue the Secrets that are due."""
        while self._timers and self._timers[0][0] <= now:
            _, ticket, key = heapq.heappop(self._timers)
            entry = self._entries.get(key)
            if entry is not None and entry.ticket == ticket and key not in self._in_flight:
                self._enqueue(key, entry)

    def _enqueue(self, key: Key, entry: _Entry) -> None:
        usual = self._first if entry.read_at is None else self._again
        entry.queue = self._slow if entry.slow else usual
        entry.queue.push(key)


_ACCOUNT = re.compile(r'User "system:serviceaccount:([^:"]+):([^:"]+)"')


class SecretState:
    """Decides what each reply means for one Secret."""

    def __init__(self, key: Key, *, patience_s: float):
        """Args: patience_s: see SecretPace."""
        self.key, self._patience_s = key, patience_s
        self._kind, self._name = referent(key)
        self._read: Secret | None = None
        """The Secret as it was read last, or that it does not exist."""
        self._granted_alone = False
        self._reported: Secret | None = None
        """The Secret as the last failure has made it known; None until one does."""
        self._failing_at: float | None = None
        """When the API server began to refuse this Secret, or to fail to return it."""
        self.problem = ""
        """Why the newest content is not known; "" if it is."""

    def answered(self, secret: Secret | None, *, granted_alone: bool = False) -> Secret:
        """Record that the Secret was read.

        Args:
            secret: None if it does not exist.
            granted_alone: the right is for this Secret; the router has none on all of the namespace.
        """
        self._failing_at, self._reported, self.problem = None, None, ""
        self._granted_alone = granted_alone
        self._read = secret or Secret(self.key, problem=f"{self._kind} {quote(self._name)} not found")
        return self._read

    def failed(self, exc: KubeError, now: float, *, external: bool = False) -> Secret | None:
        """Record a failed read; return the Secret as it is known now, None if that has not changed.

        A Secret that was read stays in use whatever fails, and one that was never read stays unknown: no
        refusal says that it is gone. The exception is a right on a single Secret that its team takes away
        from the router, as OpenShift's router has it (openshift/router, pkg/router/controller,
        route_secret_manager.go). Whose refusal it is shows in how the Secret was read the last time: a role
        of the router that is lost or edited concerns all Secrets of a namespace, or of all.

        Args: external: only Routes name it, in spec.tls.externalCertificate.
        """
        forbidden = isinstance(exc, KubeForbidden) and not isinstance(exc, KubeUnauthorized)
        if self._failing_at is None:
            self._failing_at = now
        patient = now - self._failing_at < self._patience_s
        if not patient or forbidden:
            self.problem = str(exc)
        text = (_refusal(self.key, str(exc)) if forbidden
                else f"{self._kind} {self._name} cannot be read: {exc}")
        if (read := self._read) is not None:
            if patient or read.problem or (self._reported is not None and self._reported.problem):
                return None
            if forbidden and external and self._granted_alone:
                return self._report(Secret(self.key, problem=text))
            return self._report(replace(read, unread=text)) if forbidden or self._reported is None else None
        if forbidden:
            return self._report(Secret(self.key, problem=text, not_loaded=True, forbidden=True))
        return None if patient or self._reported is not None else self._report(
            Secret(self.key, problem=text, not_loaded=True))

    def _report(self, secret: Secret) -> Secret | None:
        before, self._reported = self._reported, secret
        return None if before == secret else secret


def _refusal(key: Key, text: str) -> str:
    """Explain to an application team how to grant the right. Args: text: the API server's refusal."""
    match = _ACCOUNT.search(text)
    account = ":".join(match.groups()) if match else "<namespace>:<service account>"
    kind, name = referent(key)
    role = f"read-{name}"
    return (
        f"the router may not get, list and watch {kind} {name}; "
        f"oc create role {role} --verb=get,list,watch --resource={kind.lower()}s --resource-name={name} "
        f"-n {key.namespace} and oc create rolebinding {role} --role={role} --serviceaccount={account} "
        f"-n {key.namespace}"
    )
