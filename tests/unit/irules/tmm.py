"""Runs iRules, unchanged, in a tclsh with stub TMM commands: see tmm.tcl."""

import shutil
import subprocess
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_REPLY_S = 20

Action = tuple[str, ...]
"""A TMM command and its arguments; ("raised", ...) in front if the stub failed it."""


class TclError(Exception):
    """An event ended in a Tcl error, which resets a connection, or did not end."""


@dataclass(frozen=True)
class Connection:
    """What iRules did to one connection."""

    actions: tuple[Action, ...]
    """In order, without reads (TCP::payload, class, LB::server, virtual)."""
    forwarded: bytes
    """Released to the upper layers."""
    held: bytes
    """Collected and not released."""
    variables: frozenset[str]
    """Names set by the iRules."""

    @property
    def effects(self) -> tuple[Action, ...]:
        """All but collecting and logging."""
        return tuple(action for action in self.actions if action[0] not in ("TCP::collect", "log"))

    @property
    def logs(self) -> tuple[Action, ...]:
        return tuple(action for action in self.actions if action[0] == "log")


class Tmm:
    """One tclsh for many connections."""

    def __init__(self) -> None:
        tclsh = shutil.which("tclsh")
        if tclsh is None:
            raise RuntimeError("no tclsh: install Tcl 8.6 (Debian package tcl); iRules are tested in it")
        self._process = subprocess.Popen(
            [tclsh, str(Path(__file__).with_name("tmm.tcl"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="ascii",
        )
        if not self._reply("").startswith("ready 8."):
            raise RuntimeError("tmm.tcl did not start")

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait(_REPLY_S)
        self._process.stdout.close()

    def run(
        self,
        rules: Iterable[str],
        *,
        segments: Iterable[bytes] = (),
        groups: Mapping[str, Mapping[str, str]],
        pools: Iterable[str] = (),
        virtual: str = "/Common/vs",
        faults: Iterable[str] = (),
        mode: str = "stream",
    ) -> Connection:
        """One client connection: segments from the client, then a server connection for each pool.

        Args: groups: records of each data-group by full path. faults: commands, with or without
            their arguments, that raise. mode: see tmm.tcl.
        Raises: TclError.
        """
        steps = ["accept {}", *(f"data {_braced(segment.hex())}" for segment in segments)]
        steps += [f"connected {_hex(pool)}" for pool in pools]
        line = " ".join(map(_braced, [
            " ".join(map(_hex, rules)),
            " ".join(f"{_hex(group)} {_braced(_words(records))}" for group, records in groups.items()),
            virtual.encode().hex(),
            " ".join(map(_hex, faults)),
            mode,
            " ".join(steps),
        ]))
        status, message, actions, forwarded, held, variables = self._reply(line + "\n").split("\t")
        if status != "ok":
            raise TclError(_text(message))
        return Connection(
            actions=tuple(tuple(map(_text, action.split(","))) for action in actions.split(";") if action),
            forwarded=bytes.fromhex(forwarded),
            held=bytes.fromhex(held),
            variables=frozenset(map(_text, variables.split(","))) - {""},
        )

    def _reply(self, line: str) -> str:
        # A rule that never returns must fail its test, not hang the run.
        watchdog = threading.Timer(_REPLY_S, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
            reply = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not reply:
            raise RuntimeError("tclsh died or gave no answer")
        return reply.rstrip("\n")


def _hex(text: str) -> str:
    return _braced(text.encode().hex())


def _words(records: Mapping[str, str]) -> str:
    return " ".join(_hex(word) for record in records.items() for word in record)


def _text(word: str) -> str:
    return bytes.fromhex(word).decode()


def _braced(text: str) -> str:
    return "{" + text + "}"
