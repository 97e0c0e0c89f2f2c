"""Queue of certificate checks: made in the loop's thread for a moment, then in one beside it.

Python runs one thread at a time, and the cryptography library keeps the others waiting while it verifies a
signature. So checks are made in turns of TURN_S, and the thread beside the loop pauses after each for as long
as it took: any other thread gets half of the time, and waits for a step at most.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from f5router.admission import certificates
from f5router.admission.certificates import Certificates, Texts
from f5router.model.cluster import Key
from f5router.model.limits import Steps

TURN_S = 0.001
"""How long one namespace's checks are made before another's; the last step may take longer."""

START_S, AT_ONCE_S = 1.0, 0.02
"""How long the loop checks by itself: when it takes its first changes, and each time it takes some later.
That is enough for usual certificates of 4,000 Routes, and of 80."""

NEWS_S = 0.5
"""Period at which verdicts are announced while more are to come: a pass for each would delay the others."""


@dataclass(slots=True, eq=False)
class _CheckJob:
    route: Key
    texts: Texts
    steps: Steps[Certificates]
    owners: tuple[str, str]
    """Namespaces of the Route and of the object that claims its Host: either brings certificates."""


class CheckQueue:
    """Checks of certificates, by owners in turn; verdicts are kept until the texts change.

    The loop's thread calls everything; a second one works inside `beside`. Without it `work` checks all.
    """

    def __init__(self, *, at_once_s: float = math.inf, clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], object] = time.sleep):
        """Args: at_once_s: how long `work` may check."""
        self._allowed_s, self._clock, self._sleep = at_once_s, clock, sleep
        self._changed = threading.Condition()
        self._verdicts: dict[Key, tuple[Texts, Certificates]] = {}
        self._jobs: dict[Key, _CheckJob] = {}
        """Checks that are wanted; other verdicts are obsolete."""
        self._waiting: dict[tuple[str, str], OrderedDict[Key, _CheckJob]] = {}
        """Checks that nobody works on, by owners in the order of their turns."""
        self._finished: set[Key] = set()
        self._asked = self._news = self._stopped = False
        self._announced_at, self._later_s = -math.inf, at_once_s

    @property
    def news(self) -> bool:
        """True if `work` should be called for verdicts that came beside the loop."""
        return self._news

    def ask(self, route: Key, texts: Texts, *, claimant: str = "") -> Certificates | None:
        """Return the verdict on the certificates of a Route; None while it is not known.

        Args: claimant: namespace that claims its Host, where that is another one.
        """
        if not texts:
            self.forget(route)
            return Certificates()
        with self._changed:
            known, job = self._verdicts.get(route), self._jobs.get(route)
            if known is not None and known[0] == texts:
                self._drop(route)
                return known[1]
            if job is None or job.texts != texts:
                self._drop(route)
                job = _CheckJob(route, texts, certificates.check_in_steps(texts),
                                (route.namespace, claimant or route.namespace))
                self._jobs[route] = self._waiting.setdefault(job.owners, OrderedDict())[route] = job
                self._asked = True
        return None

    def pending(self) -> int:
        """Return the number of checks that are not finished."""
        return len(self._jobs)

    def forget(self, route: Key) -> None:
        """Drop a Route that is gone."""
        with self._changed:
            self._verdicts.pop(route, None)
            self._drop(route)

    def work(self) -> set[Key]:
        """Check for as long as the loop may; returns Routes with verdicts since the last call."""
        end = self._clock() + self._allowed_s if self._asked else -math.inf
        while self._clock() < end and self.turn():
            pass
        with self._changed:
            if self._asked:
                self._allowed_s = min(self._allowed_s, self._later_s)
            self._asked = self._news = False
            finished, self._finished = self._finished, set()
            self._changed.notify_all()
        return finished

    @contextmanager
    def beside(self, notify: Callable[[], None], *, start_s: float = START_S,
               later_s: float = AT_ONCE_S) -> Iterator[None]:
        """Run a second thread inside a `with`.

        Args:
            notify: called from it when there is news.
            start_s: how long the first call of `work` may check; later_s: each later one.
        """
        before = self._allowed_s, self._later_s
        self._stopped, self._allowed_s, self._later_s = False, start_s, later_s
        thread = threading.Thread(target=self._run, args=(notify,), daemon=True, name="certificates")
        thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._stopped = True
                self._allowed_s, self._later_s = before
                self._changed.notify_all()
            thread.join()

    def _run(self, notify: Callable[[], None]) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or (
                    not self._asked and (self._waiting or (self._finished and not self._news))))
                if self._stopped:
                    return
            begin = self._clock()
            self.turn()
            if self._has_news():
                notify()
            self._sleep(self._clock() - begin)

    def _has_news(self) -> bool:
        with self._changed:
            now = self._clock()
            if self._news or not self._finished or (self._waiting and now < self._announced_at + NEWS_S):
                return False
            self._news, self._announced_at = True, now
        return True

    def turn(self) -> bool:
        """Check for TURN_S, for the owners whose turn it is; False if nothing waits."""
        if (job := self._next()) is None:
            return False
        end, verdict = self._clock() + TURN_S, None
        try:
            next(job.steps)
            while self._clock() < end:
                next(job.steps)
        except StopIteration as done:
            verdict = done.value
        with self._changed:
            if self._jobs.get(job.route) is not job:
                return True
            if verdict is None:
                jobs = self._waiting.setdefault(job.owners, OrderedDict())
                jobs[job.route] = job
                jobs.move_to_end(job.route, last=False)
            else:
                del self._jobs[job.route]
                self._verdicts[job.route] = (job.texts, verdict)
                self._finished.add(job.route)
        return True

    def _next(self) -> _CheckJob | None:
        with self._changed:
            if not self._waiting:
                return None
            owners = next(iter(self._waiting))
            jobs = self._waiting.pop(owners)
            _, job = jobs.popitem(last=False)
            if jobs:
                self._waiting[owners] = jobs
            return job

    def _drop(self, route: Key) -> None:
        job = self._jobs.pop(route, None)
        if job is not None and (jobs := self._waiting.get(job.owners)) is not None:
            jobs.pop(route, None)
            if not jobs:
                del self._waiting[job.owners]
