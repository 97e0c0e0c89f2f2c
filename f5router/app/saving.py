"""Saving the device's configuration to disk beside the loop: it takes a busy device many seconds."""

import threading
from collections.abc import Callable


class Saver:
    """Runs one save at a time in a thread of its own. The loop begins saves and asks for their results.

    Thread-safe with one thread that calls its methods.
    """

    def __init__(self, save: Callable[[], None], *, ended: Callable[[], None], clock: Callable[[], float]):
        """Args:
        save: one save; what it raises is its result.
        ended: called from the thread of a save when its result is there.
        """
        self._save, self._ended, self._clock = save, ended, clock
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._ended_at = float("-inf")

    def begin(self) -> None:
        """Start a save. Raises: RuntimeError: the result of the one before was not taken yet."""
        if self._thread is not None:
            raise RuntimeError("a save is under way")
        self._error = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="save")
        self._thread.start()

    @property
    def under_way(self) -> bool:
        """True from the beginning of a save until its result was taken."""
        return self._thread is not None

    def disturbs(self, within_s: float) -> bool:
        """True during a save and this long after it: the device may refuse requests as busy."""
        return self._thread is not None or self._clock() - self._ended_at < within_s

    def wait(self, timeout_s: float | None) -> bool:
        """Wait for the end of a save; False if it takes longer."""
        if self._thread is not None:
            self._thread.join(timeout_s)
            return not self._thread.is_alive()
        return True

    def take_result(self) -> tuple[bool, Exception | None]:
        """True if a save has ended since the last call, and the error it ended with."""
        if self._thread is None or self._thread.is_alive():
            return False, None
        self._thread, self._ended_at = None, self._clock()
        return True, self._error

    def _run(self) -> None:
        try:
            self._save()
        except Exception as exc:
            self._error = exc
        self._ended()
