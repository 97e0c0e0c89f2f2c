"""Sending of the Changes of one stage: groups one after another, independent objects in parallel."""

import time
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

from f5router.icontrol.calls import Calls
from f5router.icontrol.rest.blame import Blame, blames_object
from f5router.icontrol.writers.writer import Results, Writer
from f5router.model.errors import BigIPError, InUse
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, AnyChange
from f5router.plan.leaving import UncertainWrites

T = TypeVar("T")

Newest = Callable[[AnyChange], AnyChange | None]
"""Returns the current Change of a pool just before it is sent, None if nothing is left to do."""


class Sent(NamedTuple):
    """A Change that was sent."""

    change: AnyChange
    error: Exception | None
    """Why it was not done; None if it was."""
    seconds: float
    """Duration of the requests that wrote it, and those of its group that were written together with it."""


class Sender:
    """Gives Changes to the writer of their kind. Not thread-safe; it sends requests in threads of its own."""

    def __init__(self, calls: Calls, blame: Blame, checkpoint: Callable[[], None]):
        """Args: checkpoint: called before each write; what it raises ends the writing."""
        self.calls, self._blame, self._checkpoint = calls, blame, checkpoint
        self.writers: MutableMapping[str, Writer[Any]] = {}
        """Writer of each kind."""
        self.uncertain = UncertainWrites()
        """Rules and records of this Plan that others must not overtake."""
        self._in_flight: set[Ref] = set()

    def register(self, *writers: Writer[Any]) -> None:
        """Add writers, each for its kinds."""
        self.writers.update((kind, writer) for writer in writers for kind in writer.kinds)

    def send(self, changes: list[AnyChange], newest: Newest, not_sent: list[AnyChange]) -> Iterator[Sent]:
        """Send Changes of one stage; yields what became of each.

        Args: not_sent: extended with the Changes that were not sent.
        """
        sent: set[Ref] = set()
        try:
            if changes:
                grouped = self._group(changes[0])
                yield from self._grouped(changes, sent) if grouped else self._parallel(changes, newest, sent)
        finally:
            not_sent += [change for change in changes if change.ref not in sent]

    def _group(self, change: AnyChange) -> str:
        return self.writers[change.ref.kind].group(change.obj)

    # --- groups --------------------------------------------------------------------------

    def _grouped(self, changes: list[AnyChange], sent: set[Ref]) -> Iterator[Sent]:
        by_group = groupby(sorted(changes, key=self._group), key=self._group)  # stable: the order of the Plan
        for _, group in by_group:
            self._checkpoint()
            if self.calls.interrupted:
                return
            results, seconds = self.calls.run(partial(_timed, partial(self._write_together, list(group))))
            for change, error in results:
                sent.add(change.ref)
                yield Sent(change, error, seconds)

    def _write_together(self, changes: list[AnyChange]) -> Results:
        """Write Changes of one group. An error of the request blames an object only if it is the only one."""
        if len(changes) > 1:
            return self.writers[changes[0].ref.kind].write(changes)
        results: Results = []
        change = changes[0]
        error = self._blame.attempt(change.ref, partial(self._write_single, change, results))
        return [(change, error)] if results or error is not None else []

    def _write_single(self, change: AnyChange, results: Results) -> None:
        """Write one Change. Raises: the error because of which it was not done."""
        results += self.writers[change.ref.kind].write([change])
        for _, error in results:
            if error is not None:
                raise error

    def attempt_in_order(self, change: AnyChange, write: Callable[[], object]) -> Exception | None:
        """Write an object of a group, unless it would overtake one that is uncertain.

        Returns: the error because of which it was not done.
        """
        error = self.obstacle(change) or self._blame.attempt(change.ref, write)
        self.uncertain.note(change, error)
        return error

    def obstacle(self, change: AnyChange) -> BigIPError | None:
        """Return the error of an uncertain object that a Change would overtake; None if there is none."""
        error = self.uncertain.obstacle(change)
        self.uncertain.note(change, error)
        return error

    # --- independent objects -------------------------------------------------------------

    def _parallel(self, changes: list[AnyChange], newest: Newest, sent: set[Ref]) -> Iterator[Sent]:
        def ready(change: AnyChange) -> AnyChange | None:
            sent.add(change.ref)
            if change.ref in self._in_flight:
                in_flight.append(change)
                return None
            current = newest(change) if change.ref.kind == Pool.KIND else change
            if current is not None:
                begun.add(current.ref)
                self._in_flight.add(current.ref)
            return current

        begun: set[Ref] = set()
        in_flight: list[AnyChange] = []
        try:
            for result in self.calls.each(self.write_alone, changes, ready):
                self._in_flight.discard(result.change.ref)
                if result.error is not None and not blames_object(result.error):
                    self.calls.interrupted = True
                yield result
        finally:
            self._in_flight -= begun
        for change in in_flight:
            if change.verb == DELETE:
                yield Sent(change, InUse(text="its members are being written"), 0.0)

    def write_alone(self, change: AnyChange) -> Sent:
        """Write an object that is in no group."""
        def write() -> None:
            self._checkpoint()
            self._write_single(change, [])

        error, seconds = _timed(partial(self._blame.attempt, change.ref, write))
        return Sent(change, error, seconds)

    # --- urgent updates ------------------------------------------------------------------

    def begin_updates(self, changes: Iterable[AnyChange]) -> None:
        """Start to write urgent Changes beside the requests in flight."""
        for change in changes:
            self._in_flight.add(change.ref)
            self.calls.begin_urgent(self.write_alone, change)

    def ended_updates(self) -> list[Sent]:
        """Return the Changes of `begin_updates` that ended."""
        results: list[Sent] = self.calls.urgent_results()
        self._in_flight.difference_update(result.change.ref for result in results)
        return results

    def is_in_flight(self, ref: Ref) -> bool:
        """True while a request for an object is in flight."""
        return ref in self._in_flight


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a call, and how long it took in seconds."""
    begin = time.perf_counter()
    return call(), time.perf_counter() - begin
