"""Events just before or just after a BIG-IP carries out a write."""

from collections.abc import Callable

from mocks.bigip.requests import Request
from mocks.bigip.server import Outcome


class AmidWrites:
    """Counts writes, of all units; the threads of the fakes ask it."""

    def __init__(self) -> None:
        self._left = 0
        self._act: Callable[[], None] | None = None
        self._is_before = False

    def at(self, count: int, act: Callable[[], None], *, is_before: bool) -> None:
        """Let something happen at one of the next writes. Args: count: 1 for the next one."""
        self._left, self._act, self._is_before = count, act, is_before

    def clear(self) -> None:
        """Let nothing happen any more."""
        self._act = None

    def intercept(self, request: Request, perform: Callable[[], Outcome]) -> Outcome:
        """Carry out a request, with what happens at it."""
        act = self._take() if request.method != "GET" else None
        if act is not None and self._is_before:
            act()
        outcome = perform()
        if act is not None and not self._is_before:
            act()
        return outcome

    def _take(self) -> Callable[[], None] | None:
        if self._act is None:
            return None
        self._left -= 1
        if self._left > 0:
            return None
        act, self._act = self._act, None
        return act
