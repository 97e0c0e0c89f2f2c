"""The thread of an election: sends what the Elector asks for, and knows if this router may write.

The LeaseLock of the kubernetes package (kubernetes.leaderelection) is not used: its deadlines follow the wall
clock, a request may hang past them, leadership ends when its loop notices, and it never releases a Lease.
"""

import logging
import math
import socket
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace

from f5router.kube.api.connection import Connection, connect
from f5router.kube.lease.elector import Elector, Read, Write, decode, encode, micro_time
from f5router.kube.settings import ElectionTiming, KubeSettings, LeaseSettings
from f5router.logs.log_output import PersistentLog
from f5router.model.errors import KubeConflict, KubeError, KubeForbidden, KubeNotFound

log = logging.getLogger(__name__)

LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"


def identity() -> str:
    """Return a name that no other process has, not even a restarted container of the same pod."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


def running_clock() -> float:
    """Return monotonic seconds that keep counting while the machine sleeps, unlike time.monotonic."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def lease_connection(settings: KubeSettings, timing: ElectionTiming) -> Connection:
    """Return a connection of its own, on which a request ends in time for a second attempt."""
    limit_s = timing.renew_deadline_s / 2
    return connect(replace(settings, read_timeout_s=min(limit_s, settings.read_timeout_s),
                           connect_timeout_s=min(limit_s, settings.connect_timeout_s)))


class Campaign:
    """A candidate in a thread of its own. Thread-safe."""

    def __init__(self, connection: Connection, settings: LeaseSettings, *, name: str = "",
                 clock: Callable[[], float] = running_clock, wall: Callable[[], float] = time.time):
        """Args:
        name: identity; a new one if none is given.
        """
        self._connection, self._settings = connection, settings
        self.on_change: Callable[[], None] = lambda: None
        """Called from the thread when leadership begins or ends."""
        self._clock, self._wall = clock, wall
        self._elector = Elector(name or identity(), settings.timing)
        self._path = LEASES.format(settings.namespace)
        self._changed = threading.Condition()
        self._stopped = False
        self._led, self._holder = False, ""
        self._log = PersistentLog("leader election")
        self._refusal: tuple[type[Read | Write], str] | None = None
        """Request that was refused for want of a right, and why, until it is granted."""
        self._thread = threading.Thread(target=self._work, daemon=True, name="leader-election")
        self.transitions = 0
        """Number of times that this router became or ceased to be the leader."""

    @property
    def identity(self) -> str:
        """Name of this candidate in the Lease."""
        return self._elector.identity

    @property
    def holder(self) -> str:
        """Identity of the leader, as the Lease was seen last; "" if nobody leads, or that is not known."""
        return self._elector.holder

    @property
    def version(self) -> str:
        """Version of the Lease as it was seen last: a leader that is alive changes it."""
        return self._elector.version

    def left_s(self) -> float:
        """Return for how long this router may write; 0 or less if it is not the leader."""
        return self._elector.leads_until - self._clock()

    def leads(self) -> bool:
        """True if this router is the leader."""
        return self.left_s() > 0

    def state(self) -> str:
        """Return a few words about the election, for an operator."""
        if self.leads():
            return "leader"
        holder = self.holder
        return f"follower of {holder}" if holder not in ("", self.identity) else "follower, without a leader"

    def refusal(self) -> str:
        """Return why this router may not read or write the Lease, so that it never writes; "" if it may."""
        return "" if (refusal := self._refusal) is None else refusal[1]

    def start(self) -> None:
        """Begin to follow the Lease; it is not taken before `stand`."""
        self._thread.start()

    def stand(self) -> None:
        """Become a candidate: nothing of an earlier term is in flight."""
        with self._changed:
            self._elector.stand()
            self._changed.notify_all()

    def stop(self) -> None:
        """End the campaign. The caller has ended all writes: a Lease that is held is released."""
        with self._changed:
            if self._stopped:
                return
            self._stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join(self._settings.timing.renew_deadline_s)
        with self._changed:
            request = self._elector.release(self._clock(), micro_time(self._wall()))
        if request is not None and not self._thread.is_alive():
            try:
                self._send(request)
                log.info("lease released", extra={"lease": self._settings.name})
            except KubeError as exc:
                log.warning("lease not released", extra={"error": str(exc)})
        self._connection.close()

    def _work(self) -> None:
        while (request := self._next()) is not None:
            sent_at = self._clock()
            try:
                self._take(request, self._send(request), sent_at)
            except KubeError as exc:
                self._take_error(request, exc)
            except Exception:  # the thread must outlive a bug
                log.exception("leader election failed")
                with self._changed:
                    self._elector.failed()
            self._report()

    def _next(self) -> Read | Write | None:
        """Wait for the next request that is due; None at the end."""
        while True:
            with self._changed:
                if self._stopped:
                    return None
                now = self._clock()
                if (request := self._elector.request(now, micro_time(self._wall()))) is not None:
                    return request
                if self._led == self._elector.leads(now):
                    ends_at = self._elector.leads_until if self._led else math.inf
                    self._changed.wait(max(0.0, min(self._elector.due_at(), ends_at) - now))
            self._report()

    def _send(self, request: Read | Write) -> object:
        path = f"{self._path}/{self._settings.name}"
        if isinstance(request, Read):
            return self._connection.request("GET", path)
        body = encode(request.record, self._settings.name, self._settings.namespace, request.replaced)
        if request.replaced.version:
            return self._connection.request("PUT", path, body=body)
        return self._connection.request("POST", self._path, body=body)

    def _take(self, request: Read | Write, reply: object, sent_at: float) -> None:
        lease = decode(reply)
        with self._changed:
            now = self._clock()
            if not lease.version or not lease.uid:
                self._elector.failed()
            elif isinstance(request, Write) and request.replaced.uid in ("", lease.uid):
                self._elector.confirmed(lease, sent_at=sent_at, now=now)
            else:
                self._elector.received(lease, now)
        if self._refusal is not None and (isinstance(request, Write) or self._refusal[0] is Read):
            self._refusal = None
        self._log.update(filter(None, [self.refusal()]), ())

    def _take_error(self, request: Read | Write, exc: KubeError) -> None:
        absent = isinstance(exc, KubeNotFound)
        if isinstance(exc, KubeForbidden):
            self._refusal = type(request), str(exc)
        with self._changed:
            if absent:
                self._elector.missing()
            elif isinstance(exc, KubeConflict):
                self._elector.conflicted(self._clock())
            else:
                self._elector.failed()
        creating = isinstance(request, Write) and not request.replaced.version
        expected = isinstance(exc, KubeConflict) or (absent and not creating)
        self._log.update(filter(None, [self.refusal(), "" if expected else str(exc)]), ())

    def _report(self) -> None:
        """Log and report that leadership has begun or ended, or that another router leads."""
        leads, holder = self.leads(), self.holder
        if leads != self._led:
            self._led, self.transitions = leads, self.transitions + 1
            log.info("leading" if leads else "no longer leading", extra={
                "lease": f"{self._settings.namespace}/{self._settings.name}", "identity": self.identity})
            self.on_change()
        elif holder and holder not in (self._holder, self.identity):
            log.info("following", extra={"leader": holder})
        self._holder = holder
