"""Writing of Changes, in the thread of a request: those of one group together, any other object by itself."""

import time
from collections.abc import Callable, MutableMapping
from typing import Any, NamedTuple

from f5router.icontrol.rest.readiness import Blame
from f5router.icontrol.writers.writer import Results, Writer
from f5router.model.errors import BigIPError
from f5router.plan.change import AnyChange
from f5router.plan.rule_order import UncertainWrites


class Sent(NamedTuple):
    """A Change that was sent."""

    change: AnyChange
    error: Exception | None
    """Why it was not done; None if it was."""
    seconds: float
    """Duration of the requests that wrote it, and those of its group that were written together with it."""


class Sender:
    """Gives Changes to the writer of their kind."""

    def __init__(self, blame: Blame, checkpoint: Callable[[], None]):
        """Args: checkpoint: called before each write; what it raises ends the writing."""
        self._blame, self._checkpoint = blame, checkpoint
        self.writers: MutableMapping[str, Writer[Any]] = {}
        """Writer of each kind."""
        self.uncertain = UncertainWrites()
        """Rules and records that others must not overtake in the Plan under way."""

    def register(self, *writers: Writer[Any]) -> None:
        """Add writers, each for its kinds."""
        self.writers.update((kind, writer) for writer in writers for kind in writer.kinds)

    def group(self, change: AnyChange) -> str:
        """Return the object whose parts are written together with this one; "" if it is written alone."""
        return self.writers[change.ref.kind].group(change.obj)

    def write(self, changes: list[AnyChange]) -> list[Sent]:
        """Write Changes of one group, or a single one.

        Returns: what became of each; one that is missing was not sent: the series was to end early, or the
            device itself is in trouble.
        Raises: BigIPError: nothing was done.
        """
        begin = time.perf_counter()
        results = self._write_group(changes) if self.group(changes[0]) else [
            (changes[0], self._attempt_single(changes[0], []))]
        seconds = time.perf_counter() - begin
        return [Sent(change, error, seconds) for change, error in results]

    def _write_group(self, changes: list[AnyChange]) -> Results:
        """Write Changes of one group. An error of the request blames an object only if it is the only one."""
        self._checkpoint()
        if len(changes) > 1:
            return self.writers[changes[0].ref.kind].write(changes)
        results: Results = []
        error = self._attempt_single(changes[0], results)
        return [(changes[0], error)] if results or error is not None else []

    def _attempt_single(self, change: AnyChange, results: Results) -> Exception | None:
        def write() -> None:
            self._checkpoint()
            results.extend(self.writers[change.ref.kind].write([change]))
            for _, error in results:
                if error is not None:
                    raise error

        return self._blame.attempt(change.ref, write)

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
