"""Decides when changed endpoints are programmed: the first change at once, those that follow it together."""

from collections.abc import Callable, Iterable

from f5router.app.debounce import EventSignal
from f5router.model.cluster import Key


class EndpointPace:
    """Leading edge for each Service: one that was quiet for the hold-off waits for nothing.

    Further changes of a Service are collected until the hold-off is over, so a rolling update is at most one
    write of a pool in a hold-off. Endpoints of a Service that has changed itself, such as its ports, wait for
    the hold-off from the first event on: the two changes belong together. So does a slice that loses its last
    address: its pods may have moved to another slice.
    """

    def __init__(self, signal: EventSignal, *, hold_off_s: float, clock: Callable[[], float]):
        self._signal, self._hold_off_s, self._clock = signal, hold_off_s, clock
        self._held: dict[Key, float] = {}
        """By Service whose endpoints were programmed: when it may be its turn again, soonest first."""
        self._late = False
        """True while the hold-off is over for something that was left because its Service is held."""

    def begin(self) -> bool:
        """Begin a drain; returns True if it takes what waits for the hold-off, too."""
        now, first = self._clock(), self._signal.unseen()
        self._expire(now)
        if first is not None and now >= first + self._hold_off_s:
            self._signal.look()
            self._late = True
        return self._late

    def oldest_at(self) -> float:
        """Return when the oldest event came that the next drain may take, as exactly as a hold-off."""
        first = self._signal.unseen()
        return self._clock() - self._hold_off_s if first is None else first

    def end(self, *, pending: bool) -> None:
        """End a drain. Args: pending: endpoints are left, because their Services are held."""
        self._late = self._late and pending

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
        if not pending:
            return None
        first = self._signal.unseen()
        times = [] if first is None else [first + self._hold_off_s]
        if self._held:
            times.append(next(iter(self._held.values())))
        return min(times, default=None)

    def _expire(self, now: float) -> None:
        while self._held and (soonest := next(iter(self._held.items())))[1] <= now:
            del self._held[soonest[0]]
