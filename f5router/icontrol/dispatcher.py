"""Requests in threads: each ends with a message to the loop, which never waits for one."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto
from typing import Any


class Lane(Enum):
    """Purpose of a request: each lane has its own share of the requests in flight."""

    ROLLOUT = auto()
    """Changes of a Plan."""
    MEMBERS = auto()
    """Members of one pool, beside any Plan."""
    OTHER = auto()
    """Readings, and what follows writes."""


class Job:
    """Work for a thread, and what the loop does when it has ended."""

    __slots__ = ("_dispatcher", "_then", "error", "lane", "result", "work")

    def __init__(self, dispatcher: "Dispatcher", work: Callable[[], Any], then: Callable[["Job"], None],
                 lane: Lane):
        """Args: then: called by the loop with the ended Job."""
        self._dispatcher, self.work, self._then, self.lane = dispatcher, work, then, lane
        self.result: Any = None
        self.error: Exception | None = None
        """Exception that the work raised; None if it raised none."""

    def end(self) -> None:
        """Let the loop do what follows; in its thread."""
        self._dispatcher.ended(self)
        self._then(self)


class Dispatcher:
    """Threads for the requests to one BIG-IP. The loop's thread calls its methods."""

    def __init__(self, max_in_flight: int):
        # One more for members of a pool, one for a reading; the transport bounds what is sent at once.
        self._executor = ThreadPoolExecutor(max_in_flight + 2, thread_name_prefix="bigip")
        self._limit = max_in_flight
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
        self._executor.submit(self._run, job)
        return job

    def ended(self, job: Job) -> None:
        """Record that the loop has taken the message of a Job."""
        self._in_flight[job.lane] -= 1

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
        return not self._in_flight[Lane.ROLLOUT] and not self._in_flight[Lane.MEMBERS]

    def _run(self, job: Job) -> None:
        try:
            job.result = job.work()
        except Exception as exc:
            job.error = exc
        self.deliver(job.end)
