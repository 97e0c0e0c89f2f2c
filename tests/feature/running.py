"""A router that runs in a thread of its own."""

import threading
import time

from tests.waiting import DEADLINE_S


class Running:
    """A router in a thread of its own."""

    def __init__(self, lab, **flags):
        self.lab = lab
        self._stop = threading.Event()
        self._written = threading.Condition()
        lab.bigip.on_write = self.wake
        self.router = lab.router(**flags)
        self.thread = threading.Thread(target=self.router.run, args=(self._stop,))
        self.thread.start()

    def wake(self, _request=None) -> None:
        """Let `wait` look at its condition."""
        with self._written:
            self._written.notify_all()

    def wait(self, condition) -> None:
        """Wait until something holds; looks after every write and now and then."""
        deadline = time.monotonic() + DEADLINE_S
        with self._written:
            while not condition():
                assert time.monotonic() < deadline, "not in time"
                self._written.wait(0.05)

    def later(self) -> None:
        """Let the router's time run ahead, until every back-off of an object has ended."""
        self.lab.later()
        self.router.inbox.wake()

    def begin_stop(self) -> None:
        self._stop.set()

    def stop(self) -> None:
        self.begin_stop()
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive()
        self.lab.bigip.on_write = None
