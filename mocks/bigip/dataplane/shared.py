"""State that all connections of a data plane share."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from mocks.bigip.dataplane.balancing import Balancer
from mocks.bigip.dataplane.contexts import Contexts
from mocks.bigip.dataplane.loop import LoopThread
from mocks.bigip.dataplane.persistence import SourceTable
from mocks.bigip.dataplane.pods import Pods
from mocks.bigip.dataplane.servers import IdleServers
from mocks.bigip.dataplane.session_table import SessionTable
from mocks.bigip.dataplane.state import Served
from mocks.bigip.store import Store
from mocks.bigip.tmm import Interpreter


class Clock:
    """Times of a device.

    Attributes:
        speed: all of the device's time-outs and intervals are divided by it.
        now: loop time in seconds.
        time_of_day: the device's, in seconds, for iRules and the session table; tests may set another.
    """

    def __init__(self, now: Callable[[], float], speed: float) -> None:
        self.now, self.speed = now, speed
        self.time_of_day: Callable[[], float] = self._time_of_day
        self._epoch = time.time() - now()

    def _time_of_day(self) -> float:
        return self._epoch + self.now() * self.speed


class Engine:
    """The Tcl engine, started with the first connection that has iRules."""

    def __init__(self) -> None:
        self.connections = 0
        """Number of connections whose iRules it runs."""
        self._interpreter: Interpreter | None = None

    def interpreter(self) -> Interpreter:
        if self._interpreter is None:
            self._interpreter = Interpreter(inside=True)
        return self._interpreter

    def close(self) -> None:
        if self._interpreter is not None:
            self._interpreter.close()


@dataclass(frozen=True)
class Shared:
    """Parts of a data plane that its connections use.

    Attributes:
        errors: faults, unknown configuration and errors of iRules.
        log: a record of each request.
        sources: clients and the members they stay with.
        table: the session table of iRules.
        idle: connections to pods that wait for another client.
    """

    store: Store
    errors: list[BaseException]
    log: deque[Served]
    thread: LoopThread
    clock: Clock
    pods: Pods
    balancer: Balancer
    contexts: Contexts
    sources: SourceTable
    table: SessionTable
    idle: IdleServers
    engine: Engine
