"""Requests in threads: each ends with a message to the loop, which never waits for one."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto
from typing import Any

from f5router.icontrol.rest.slots import Slots

PATIENCE_S = 1.0
"""Time without a reply after which a write hangs; one of several requests, as for a group, if none of them
gets a reply for so long. Everything that does not need the object goes on."""


class Lane(Enum):
    """Purpose of a request: each lane has its own share of the requests in flight."""

    ROLLOUT = auto()
    """Changes of a Plan."""
    MEMBERS = auto()
    """Members of one pool, beside any Plan."""
    OTHER = auto()
    """Looks at states, and what follows writes."""
    BESIDE = auto()
    """Readings, for which nobody waits at the end: each has a thread of its own."""
    HUNG = auto()
    """Writes that have had no reply for long: others have their room."""


class Job:
    """Work for a thread, and what the loop does when it has ended."""

    __slots__ = ("_dispatcher", "_then", "cpu_s", "error", "lane", "requests", "result", "since", "thread",
                 "work")

    def __init__(self, dispatcher: "Dispatcher", work: Callable[[], Any], then: Callable[["Job"], None],
                 lane: Lane):
        """Args: then: called by the loop with the ended Job."""
        self._dispatcher, self.work, self._then, self.lane = dispatcher, work, then, lane
        self.thread: int | None = None
        """Its thread; None until it has one."""
        self.requests, self.since = -1, 0.0
        """How many requests the thread had begun at the last look, and since when."""
        self.result: Any = None
        self.error: Exception | None = None
        """Exception that the work raised; None if it raised none."""
        self.cpu_s = 0.0
        """Seconds of CPU that the work has taken, once it has ended."""

    def end(self) -> None:
        """Let the loop do what follows; in its thread."""
        self._dispatcher.ended(self)
        self._then(self)


class Dispatcher:
    """Threads for the requests to one BIG-IP. The loop's thread calls its methods."""

    def __init__(self, max_in_flight: int, slots: Slots | None = None):
        """Args: slots: those of the requests that the Jobs make; new ones if None is given."""
        # Some for writes that hang, one for members of a pool, one for a reading; the slots bound what is
        # sent at once.
        self._executor = ThreadPoolExecutor(2 * max_in_flight + 2, thread_name_prefix="bigip")
        self._limit, self._slots = max_in_flight, slots or Slots(max_in_flight)
        self._in_flight = Counter[Lane]()
        self.deliver: Callable[[Callable[[], None]], None] = lambda end: None
        """Takes the end of each Job to the loop, which calls it; called from the Job's thread."""

    def close(self) -> None:
        """End the threads."""
        self._executor.shutdown()

    def send(self, work: Callable[[], Any], then: Callable[[Job], None], lane: Lane = Lane.OTHER) -> Job:
        """Start work in a thread. Args: then: called by the loop with the ended Job."""
        job = Job(self, work, then, lane)
        self._in_flight[lane] += 1
        if lane is Lane.BESIDE:
            threading.Thread(target=self._run, args=(job,), daemon=True, name="reading").start()
        else:
            self._executor.submit(self._run, job)
        return job

    def ended(self, job: Job) -> None:
        """Record that the loop has taken the message of a Job."""
        self._in_flight[job.lane] -= 1

    def hangs_at(self, job: Job, now: float) -> float:
        """Return when a Job hangs, unless a request of it gets a reply before. Args: now: monotonic seconds.
        """
        requests = self._slots.begun(job.thread) if job.thread is not None else 0
        if requests != job.requests:
            job.requests, job.since = requests, now
        return job.since + PATIENCE_S

    def set_aside(self, jobs: Iterable[Job], now: float) -> float:
        """Give the room of Jobs that hang to others; returns when the next of them hangs, or infinity."""
        next_at = math.inf
        for job in jobs:
            if (at := self.hangs_at(job, now)) > now:
                next_at = min(next_at, at)
            elif job.lane is not Lane.HUNG and self._in_flight[Lane.HUNG] < self._limit:
                self._set_aside(job)
        return next_at

    def _set_aside(self, job: Job) -> None:
        if job.thread is None:
            return
        self._in_flight[job.lane] -= 1
        job.lane = Lane.HUNG
        self._in_flight[Lane.HUNG] += 1
        self._slots.give_up(job.thread)

    def in_flight(self, lane: Lane) -> int:
        """Return the number of Jobs of a lane that have not ended."""
        return self._in_flight[lane]

    def room(self) -> int:
        """Return how many requests of a Plan may start now: room is left for members of a pool."""
        return max(1, self._limit - 1 - self._in_flight[Lane.MEMBERS]) - self._in_flight[Lane.ROLLOUT]

    def member_room(self) -> int:
        """Return how many writes of members may start now and are sent at once.

        With a limit of one request in flight, such a write waits for it.
        """
        return max(self._limit - self._in_flight[Lane.ROLLOUT], 1) - self._in_flight[Lane.MEMBERS]

    @property
    def is_quiet(self) -> bool:
        """True if no write is in flight."""
        return not any(self._in_flight[lane] for lane in Lane if lane not in (Lane.OTHER, Lane.BESIDE))

    def _run(self, job: Job) -> None:
        job.thread, begin = threading.get_ident(), time.thread_time()
        try:
            job.result = job.work()
        except Exception as exc:
            job.error = exc
        job.cpu_s = time.thread_time() - begin
        self.deliver(job.end)
