"""The iRules of one connection: events to the Tcl engine, TMM's commands back to the connection."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping

from mocks.bigip import names
from mocks.bigip.dataplane import (
    commands_balancing,
    commands_connection,
    commands_http,
    commands_table,
    commands_timers,
)
from mocks.bigip.dataplane.connection import NONE, Connection
from mocks.bigip.tmm import RuleError, Unsupported
from mocks.bigip.tmm.commands import store_command

COMMANDS = {**commands_connection.COMMANDS, **commands_http.COMMANDS, **commands_balancing.COMMANDS,
            **commands_table.COMMANDS, **commands_timers.COMMANDS}
"""Name -> function of (rules, arguments) -> result."""
_TIMERS = itertools.count(1)


class Rules:
    """Raises: RuleError: a text that the device would not have accepted."""

    def __init__(self, flow: Connection) -> None:
        self.flow, self.state = flow, flow.state
        self._connection = flow.shared.engine.interpreter().connection(
            flow.virtual.rules, self._call, partition=names.partition_of(flow.virtual.path)
        )
        flow.shared.engine.connections += 1
        self._timers: dict[str, asyncio.TimerHandle] = {}
        """Scripts of `after` that wait, by their ID."""

    def fire(self, event: str, variables: Mapping[str, str] = NONE) -> None:
        """Run the handlers of an event; no write to the device comes between. Raises: RuleError.

        Args: variables: what a policy sets before.
        """
        if not self._connection.has(event):
            return
        for name, value in variables.items():
            self._connection.set(name, value)
        self._as_event(event, lambda: self._connection.fire(event))

    def _as_event(self, event: str, run: Callable[[], None]) -> None:
        before, self.state.event, self.state.side = self.state.event, event, ""
        try:
            with self.flow.shared.store.lock:
                run()
        finally:
            self.state.event = before

    def later(self, milliseconds: float, script: str) -> str:
        """Run a script after a time, in this event; the end of the connection cancels it (bigip-behaviour.md
        B11). Returns: its ID."""
        timer = f"after#{next(_TIMERS)}"
        shared, rule, event = self.flow.shared, self._connection.rule, self.state.event
        self._timers[timer] = shared.thread.loop.call_later(
            milliseconds / 1000 / shared.clock.speed, self._run_later, timer, rule, event, script)
        return timer

    def forget(self, timer: str) -> None:
        """Never run a script that waits; one that has run is no error."""
        if (handle := self._timers.pop(timer, None)) is not None:
            handle.cancel()

    def _run_later(self, timer: str, rule: str, event: str, script: str) -> None:
        del self._timers[timer]
        try:
            self._as_event(event, lambda: self._connection.evaluate(rule, event, script))
        except (RuleError, Unsupported) as wrong:
            self.flow.shared.errors.append(wrong)
            self.state.ended = str(wrong)
        if self.state.ended not in ("", "TCP::close"):  # the latter has sent FIN
            self.flow.expire(f"after: {self.state.ended}")

    @property
    def folder(self) -> str:
        """Folder of the rule that runs."""
        return names.folder_of(self._connection.rule)

    def _call(self, name: str, arguments: list[bytes]) -> bytes:
        """Raises: TclError: the command fails. Unsupported: the fake does not know it."""
        command = COMMANDS.get(name)
        if command is None:
            return store_command(self.flow.shared.store, self.folder, name, arguments)
        outcome = command(self, arguments)
        return outcome if isinstance(outcome, bytes) else str(outcome).encode("latin-1", "replace")

    def close(self) -> None:
        for timer in tuple(self._timers):
            self.forget(timer)
        self.flow.shared.engine.connections -= 1
        self._connection.close()


class Expression(Rules):
    """A value of a policy that begins with `tcl:`, as the text of a string in HTTP_REQUEST."""

    def __init__(self, flow: Connection, text: str) -> None:
        self.flow, self.state = flow, flow.state
        rule = ("/Common/policy", f'when HTTP_REQUEST {{ set value "{text}" }}')
        self._connection = flow.shared.engine.interpreter().connection([rule], self._call)
        flow.shared.engine.connections += 1
        self._timers = {}

    def value(self) -> str:
        """Raises: RuleError."""
        try:
            self.fire("HTTP_REQUEST")
            return self._connection.variables()["value"].decode("latin-1")
        finally:
            self.close()
