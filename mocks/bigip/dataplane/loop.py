"""An event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")
WAIT_S = 30.0


class LoopThread:
    """Runs coroutines for other threads until `stop`."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        """Run a coroutine and wait for its result. Raises: what it raises, TimeoutError."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(WAIT_S)

    def call(self, function: Callable[[], Result]) -> Result:
        """Call a function in the loop and wait for its result; also from the loop itself."""
        if threading.current_thread() is self._thread:
            return function()

        async def called() -> Result:
            return function()

        return self.run(called())

    def soon(self, function: Callable[..., object], *args: object) -> None:
        """Call a function in the loop, later."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(function, *args)

    def stop(self) -> None:
        """Cancel what runs and end the thread."""
        self.run(_cancel_all())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(WAIT_S)
        self.loop.close()


async def _cancel_all() -> None:
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
