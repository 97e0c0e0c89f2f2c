"""The iRules of one connection: events to the Tcl engine, TMM's commands back to the connection."""

from __future__ import annotations

from collections.abc import Mapping

from mocks.bigip import names
from mocks.bigip.dataplane import commands_balancing, commands_connection, commands_http, commands_table
from mocks.bigip.dataplane.connection import NONE, Connection
from mocks.bigip.tmm.commands import store_command

COMMANDS = {**commands_connection.COMMANDS, **commands_http.COMMANDS, **commands_balancing.COMMANDS,
            **commands_table.COMMANDS}
"""Name -> function of (rules, arguments) -> result."""


class Rules:
    """Raises: RuleError: a text that the device would not have accepted."""

    def __init__(self, flow: Connection) -> None:
        self.flow, self.state = flow, flow.state
        self._connection = flow.shared.engine.interpreter().connection(
            flow.virtual.rules, self._call, partition=names.partition_of(flow.virtual.path)
        )
        flow.shared.engine.connections += 1

    def fire(self, event: str, variables: Mapping[str, str] = NONE) -> None:
        """Run the handlers of an event; no write to the device comes between. Raises: RuleError.

        Args: variables: what a policy sets before.
        """
        if not self._connection.has(event):
            return
        for name, value in variables.items():
            self._connection.set(name, value)
        before, self.state.event, self.state.side = self.state.event, event, ""
        try:
            with self.flow.shared.store.lock:
                self._connection.fire(event)
        finally:
            self.state.event = before

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
        self.flow.shared.engine.connections -= 1
        self._connection.close()


class Expression(Rules):
    """A value of a policy that begins with `tcl:`, as the text of a string in HTTP_REQUEST."""

    def __init__(self, flow: Connection, text: str) -> None:
        self.flow, self.state = flow, flow.state
        rule = ("/Common/policy", f'when HTTP_REQUEST {{ set value "{text}" }}')
        self._connection = flow.shared.engine.interpreter().connection([rule], self._call)
        flow.shared.engine.connections += 1

    def value(self) -> str:
        """Raises: RuleError."""
        try:
            self.fire("HTTP_REQUEST")
            return self._connection.variables()["value"].decode("latin-1")
        finally:
            self.close()
