"""Whether the router is alive and ready, as lists of named checks.

Alive: the loop comes round. Ready: it has all of the cluster, reaches the BIG-IP, which is the active
unit, and everything was loaded once. Paths and names are those of OpenShift's router where it has such
a check (openshift/router, pkg/router/metrics/health.go): `controller`, `has-synced`, `process-running`.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from f5router.model.printable import printable

EXCERPT = 256
"""Characters of a reason that are shown."""


@dataclass(frozen=True, slots=True)
class Check:
    """One answer."""

    name: str
    problem: str = ""
    """Why it fails; "" when it does not."""
    note: str = ""
    """What an operator should know although it passes."""


class Heartbeat:
    """PersistentLog a loop that no longer comes round, and one whose thread has ended. Thread-safe."""

    def __init__(self, *, limit_s: float, progress: Callable[[], object] = lambda: None,
                 clock: Callable[[], float] = time.monotonic):
        """Arguments:
        limit_s: longest time between two beats, or two steps of progress within a long round.
        progress: any value that differs after each step, such as the number of requests sent; looked
            at when somebody asks.
        """
        self._limit_s, self._progress, self._clock = limit_s, progress, clock
        self._lock = threading.Lock()
        self._at = clock()
        self._seen = progress()
        self._thread: threading.Thread | None = None

    def beat(self) -> None:
        """The loop, in the calling thread, begins a round."""
        with self._lock:
            self._at = self._clock()
            self._thread = threading.current_thread()

    def problem(self) -> str:
        """What is wrong with the loop; "" if nothing is. Before the first beat the time counts too."""
        with self._lock:
            if self._thread is not None and not self._thread.is_alive():
                return "the loop has ended"
            now, seen = self._clock(), self._progress()
            if seen != self._seen:
                self._seen, self._at = seen, now
            silent_s = now - self._at
        if silent_s <= self._limit_s:
            return ""
        return f"the loop has not come round for {silent_s:.0f} s, at most {self._limit_s:.0f} s are right"


class Health:
    """What /healthz and /readyz say. Thread-safe: each field is set by one thread."""

    def __init__(self, heartbeat: Heartbeat, *, missing: Callable[[], Sequence[str]],
                 standby: Callable[[], str] = lambda: "", held: Callable[[], str] = lambda: "",
                 stopping: Callable[[], bool] = lambda: False):
        """Arguments:
        missing: what is not known of the cluster, () if nothing is.
        standby: why nothing is written to the BIG-IP although it answers, "" if it may be.
        held: what is held back although the router is ready, "" if nothing is.
        stopping: whether the router has been told to end.
        """
        self.heartbeat = heartbeat
        self._missing = missing
        self._standby, self._held = standby, held
        self.stopping = stopping
        self._unreached = "not reached yet"
        self._loaded = False

    def reached(self) -> None:
        """The device answered: a reading, or a write, is through."""
        self._unreached = ""

    def loaded(self) -> None:
        """Everything that the first reading of the device left to do is through."""
        self._loaded = True

    def is_reached(self) -> bool:
        """True if the device answered, and no pass has ended early since."""
        return not self._unreached

    def failed(self, error: Exception) -> None:
        """A pass ended early."""
        self._unreached = str(error) or type(error).__name__

    def live(self) -> list[Check]:
        """Checks of /healthz."""
        return [Check("controller", self.heartbeat.problem())]

    def ready(self) -> list[Check]:
        """Checks of /readyz."""
        held = self._held()
        return [
            Check("process-running", "the router is stopping" if self.stopping() else ""),
            Check("cluster-listed", excerpt("; ".join(self._missing()))),
            Check("bigip-reached", excerpt(self._unreached)),
            Check("bigip-active", excerpt(self._standby())),
            Check("has-synced", "" if self._loaded else "the first load is not complete"),
            *((Check("deletes", note=excerpt(held)),) if held else ()),
        ]


def excerpt(text: str) -> str:
    """One line of at most EXCERPT characters."""
    return printable(" ".join(text.split()))[:EXCERPT]


def report(name: str, checks: Sequence[Check], *, verbose: bool) -> tuple[bool, str]:
    """Whether all checks pass, and the body that says so.

    Source: k8s.io/apiserver/pkg/server/healthz, which OpenShift's router uses; unlike there the reason
    is told.
    """
    good = not any(check.problem for check in checks)
    if good and not verbose:
        return True, "ok"
    lines = [f"[-]{check.name} failed: {check.problem}" if check.problem else
             f"[+]{check.name} ok{f': {check.note}' if check.note else ''}" for check in checks]
    return good, "\n".join([*lines, f"{name} check {'passed' if good else 'failed'}", ""])
