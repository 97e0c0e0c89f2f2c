"""Decides when changed endpoints are programmed: the first change at once, those that follow it together."""

from collections.abc import Callable, Iterable

from f5router.app.debounce import EventSignal
from f5router.model.cluster import Key


class EndpointPace:
    """Leading edge for each Service: one that was quiet for the hold-off waits for nothing.

    Further changes of a Service are collected until the hold-off is over, so a rolling update is at most one
    write of a pool in a hold-off. Endpoints of a Service that has changed itself, such as its ports, wait for
    the hold-off from the first event on: the two changes belong together.
    """

    def __init__(self, signal: EventSignal, *, hold_off_s: float, clock: Callable[[], float]):
        self._signal, self._hold_off_s, self._clock = signal, hold_off_s, clock
        self._held: dict[Key, float] = {}
        """By Service whose endpoints were programmed: when it may be its turn again, soonest first."""

    def begin(self) -> bool:
        """Begin a drain.

        Returns: True if it takes the endpoints of Services that have changed themselves, too.
        """
        now, first = self._clock(), self._signal.unseen()
        self._expire(now)
        if late := first is not None and now >= first + self._hold_off_s:
            self._signal.look()
        return late

    def is_held(self, service: Key) -> bool:
        """True for a Service that was programmed less than a hold-off ago."""
        return service in self._held

    def record(self, services: Iterable[Key]) -> None:
        """Note Services whose endpoints are programmed now."""
        now = self._clock()
        self._expire(now)  # a follower begins no drain
        until = now + self._hold_off_s
        for service in services:
            self._held.pop(service, None)
            self._held[service] = until

    def due_at(self, *, pending: bool) -> float | None:
        """Return when the next drain is due, if no event comes before. Args: pending: endpoints are left."""
        first = self._signal.unseen()
        times = [] if first is None else [first + self._hold_off_s]
        if pending and self._held:
            times.append(next(iter(self._held.values())))
        return min(times, default=None)

    def _expire(self, now: float) -> None:
        while self._held and (soonest := next(iter(self._held.items())))[1] <= now:
            del self._held[soonest[0]]
