"""Liveness and readiness of the router, as lists of named checks.

Alive: the control loop makes progress. Ready: it has all of the cluster, reaches the BIG-IP, which is the
active unit, and everything was loaded once or, while another replica leads, read once. Paths and names are
those of OpenShift's router where it has such a check (openshift/router, pkg/router/metrics/health.go):
`controller`, `has-synced`, `process-running`.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from f5router.model.findings import named
from f5router.model.texts import printable
from f5router.views.incidents import of_error

EXCERPT = 256
"""Characters of a reason that are shown."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check."""

    name: str
    problem: str = ""
    """Why it fails; "" when it does not."""
    note: str = ""
    """Remark for the operator although it passes."""
    warns: bool = False
    """True if the remark is about trouble: the router is ready, but not all is well."""


class Heartbeat:
    """Detector of a control loop that has stalled, or whose thread has ended. Thread-safe."""

    def __init__(self, *, limit_s: float, progress: Callable[[], object] = lambda: None,
                 clock: Callable[[], float] = time.monotonic):
        """Arguments:
        limit_s: longest time between two beats, or two steps of progress within a long round.
        progress: any value that differs after each step, such as the number of requests sent; read
            when a check runs.
        """
        self._limit_s, self._progress, self._clock = limit_s, progress, clock
        self._lock = threading.Lock()
        self._at = clock()
        self._seen = progress()
        self._thread: threading.Thread | None = None

    def beat(self) -> None:
        """Record that the loop, in the calling thread, begins a round."""
        with self._lock:
            self._at = self._clock()
            self._thread = threading.current_thread()

    def problem(self) -> str:
        """Return the problem with the loop; "" for none. The time before the first beat counts too."""
        now, seen = self._clock(), self._progress()
        with self._lock:
            if self._thread is not None and not self._thread.is_alive():
                return "the control loop has ended"
            if seen != self._seen:
                self._seen, self._at = seen, now
            silent_s = now - self._at
        if silent_s <= self._limit_s:
            return ""
        return (f"the control loop has stalled: no progress for {silent_s:.0f} s, "
                f"the limit is {self._limit_s:.0f} s")


class Health:
    """State behind /healthz and /readyz. Thread-safe: one thread sets each field."""

    def __init__(self, heartbeat: Heartbeat, *, missing: Callable[[], Sequence[str]],
                 degraded: Callable[[], Sequence[str]] = lambda: (),
                 standby: Callable[[], str] = lambda: "", held: Callable[[], str] = lambda: "",
                 sync: Callable[[], str] = lambda: "", slow: Callable[[], Sequence[str]] = lambda: (),
                 election: Callable[[], str] = lambda: "", refusal: Callable[[], str] = lambda: "",
                 others: Callable[[], str] = lambda: "",
                 troubles: Callable[[], Mapping[str, str]] = dict,
                 stopping: Callable[[], bool] = lambda: False):
        """Arguments:
        missing: kinds whose lists are not complete, with the reason; () for none.
        degraded: kinds that cannot be read although the router is ready, with the reason.
        standby: why nothing is written to the BIG-IP although it answers, "" if it may be.
        held: what is held back although the router is ready, "" if nothing is.
        sync: state of config sync to the other units; "" without a device group.
        slow: requests that the device answers so late that it may soon give up on them.
        election: the part of this router among its replicas, "" without leader election.
        refusal: why it can never lead, "" if it can.
        others: that another router writes to the same partition, "" if none does.
        troubles: what is wrong on the BIG-IP by the name of its check, "" for nothing.
        stopping: True while the router ends.
        """
        self.heartbeat = heartbeat
        self._missing, self._degraded = missing, degraded
        self._standby, self._held, self._election, self._refusal = standby, held, election, refusal
        self._sync, self._slow = sync, slow
        self._others, self._troubles, self.stopping = others, troubles, stopping
        self._unreached = "not reached yet"
        self.error: Exception | None = None
        """Error that cut the last pass short; None if the device has answered since."""
        self.is_loaded = False
        self.loading: Callable[[], str] = lambda: ""
        """Returns how far the first load is; "" before it begins."""
        self.follows = False
        """True while another replica leads."""
        self.warmed_up = False
        """True once a follower has read the device, and could take over."""

    def reached(self) -> None:
        """Record that the device answered a reading or a write."""
        self._unreached, self.error = "", None

    def loaded(self) -> None:
        """Record that the first load is complete."""
        self.is_loaded = True

    def is_reached(self) -> bool:
        """True if the device answered, and no pass has ended early since."""
        return not self._unreached

    def failed(self, error: Exception) -> None:
        """Record a pass that was cut short."""
        known = of_error(error)
        self._unreached, self.error = named([known]) if known else str(error) or type(error).__name__, error

    def live(self) -> list[CheckResult]:
        """Return the checks of /healthz."""
        return [CheckResult("controller", self.heartbeat.problem())]

    def ready(self) -> list[CheckResult]:
        """Return the checks of /readyz."""
        election = self._election()
        unread = "the BIG-IP has not been read" if self.follows and not self.warmed_up else ""
        unloaded = "" if self.is_loaded or self.follows else ": ".join(filter(None, (
            "the first load is not complete", self.loading())))
        return [
            CheckResult("process-running", "the router is stopping" if self.stopping() else ""),
            _check("cluster-listed", "; ".join(self._missing()), "; ".join(self._degraded())),
            _check("bigip-reached", self._unreached, "; ".join(self._slow())),
            CheckResult("bigip-active", excerpt(self._standby())),
            CheckResult("has-synced", unread or unloaded),
            *((CheckResult("leader-election", excerpt(self._refusal()), excerpt(election)),)
              if election else ()),
            *((CheckResult("config-sync", note=excerpt(sync)),) if (sync := self._sync()) else ()),
            *(_check(name, "", trouble) for name, trouble in self._troubles().items()),
            *(_check(name, "", trouble) for name, trouble in (
                ("deletes", self._held()), ("partition", self._others())) if trouble),
        ]


def _check(name: str, problem: str, trouble: str) -> CheckResult:
    """Return a check that fails for a problem, and passes with a warning for trouble."""
    return CheckResult(name, excerpt(problem), excerpt(trouble), warns=bool(trouble))


def excerpt(text: str) -> str:
    """Shorten a text to one line of at most EXCERPT characters."""
    return printable(" ".join(text.split()))[:EXCERPT]


def report(name: str, checks: Sequence[CheckResult], *, verbose: bool) -> tuple[bool, str]:
    """Return whether all checks pass, and the body of the reply.

    Source: k8s.io/apiserver/pkg/server/healthz, which OpenShift's router uses; unlike there the reason
    is shown.
    """
    good = not any(check.problem for check in checks)
    if good and not verbose:
        return True, "ok"
    return good, "\n".join([*map(_line, checks), f"{name} check {'passed' if good else 'failed'}", ""])


def _line(check: CheckResult) -> str:
    if check.problem:
        return f"[-]{check.name} failed: {check.problem}"
    if check.warns:
        return f"[!]{check.name} warning: {check.note}"
    return f"[+]{check.name} ok{f': {check.note}' if check.note else ''}"
