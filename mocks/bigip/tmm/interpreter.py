"""iRules of connections, run by one tclsh or in this process: engine.tcl has the messages."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence

from mocks.bigip.tmm import library
from mocks.bigip.tmm import rules as texts
from mocks.bigip.tmm.library import Library
from mocks.bigip.tmm.process import Died, Process
from mocks.bigip.tmm.rules import RuleError, TclError, Unsupported

Commands = Callable[[str, list[bytes]], bytes]
"""(name of a TMM command such as "TCP::payload", its arguments) -> its result.

Raises: TclError: an error in the rule. Unsupported: also ends the event. It must not call `fire`.
"""

Rules = tuple[tuple[str, str], ...]
"""(full path, text) of rules, in the order on the virtual server."""


class _Set:
    """The handlers of a list of rules; a number in the process."""

    def __init__(self, number: int, rules: Rules) -> None:
        self.number = str(number)
        self.message: list[str] = ["rules", self.number]
        self.handlers: dict[str, list[tuple[int, int, str]]] = {}
        """By event: (priority, number of the handler, rule), in the order in which they run."""
        count = itertools.count()
        for path, text in rules:
            handlers, procedures = texts.parse(text)
            for handler in handlers:
                self.handlers.setdefault(handler.event, []).append((handler.priority, next(count), path))
                self.message += ["when", path, handler.event, "", handler.body]
            for handler in procedures:
                next(count)
                self.message += ["proc", path, handler.name, handler.arguments, handler.body]
        for ordered in self.handlers.values():
            ordered.sort()


class Interpreter:
    """One Tcl for all connections of a data plane. Thread-safe, if it is a tclsh: one event runs at a time.

    A process that dies takes its connections with it: what they fire next is a RuleError; new connections
    get a new process. `deaths` tells how each one ended.

    Args: limit_s: seconds that one handler may run, without the time that TMM commands take in Python.
    limit_commands: Tcl commands that it may execute; None: any number. patience_s: after so many seconds
    without a word the process is ended, for one command of Tcl cannot be interrupted. inside: run rules in
    this process, where Tcl's shared library is there: cheaper, but nothing is between them and it, and all
    calls, `close` with them, come from one thread.
    """

    def __init__(
        self, *, limit_s: float = 10.0, limit_commands: int | None = None, patience_s: float = 120.0,
        inside: bool = False,
    ) -> None:
        self.limit_s, self.limit_commands, self.patience_s = limit_s, limit_commands, patience_s
        self.deaths: list[str] = []
        self._lock, self._owner = threading.Lock(), 0
        self._numbers = itertools.count(1)
        self._library = library.available() if inside else None
        self._process: Process | Library | None = None if self._library else Process()
        self._sets: dict[Rules, _Set] = {}
        self._known: set[str] = set()
        self._closed = False

    def __enter__(self) -> Interpreter:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def connection(
        self,
        rules: Iterable[tuple[str, str]],
        commands: Commands,
        *,
        partition: str = "Common",
        override: Sequence[str] = (),
    ) -> Connection:
        """A new client connection to a virtual server with these rules; runs their RULE_INIT.

        `static::` variables are the connection's own, unlike TMM's.

        Args: rules: (full path, text), in the order on the virtual server. partition: of a rule that is
        given without a folder. override: commands of Tcl's own that `commands` stands in for.
        Raises: RuleError: a text that the device would not have accepted, or RULE_INIT failed.
        """
        paths = tuple((p if p.startswith("/") else f"/{partition}/{p}", text) for p, text in rules)
        with self._held():
            set_ = self._sets.get(paths)
            if set_ is None:
                set_ = self._sets[paths] = self._parsed(paths)
            connection = Connection(self, next(self._numbers), set_, commands, tuple(override))
        if connection.has("RULE_INIT"):
            connection.fire("RULE_INIT")
        return connection

    def close(self) -> None:
        """End the process; connections are lost."""
        with self._held():
            self._closed = True
            if self._process:
                self._process.close()
                self._process = None

    @property
    def pid(self) -> int | None:
        """Process number of the tclsh; None when there is none."""
        return self._process.pid if self._process else None

    def _parsed(self, rules: Rules) -> _Set:
        for path, text in rules:
            try:
                texts.parse(text)
            except texts.tcl.SyntaxRefusal as wrong:
                raise RuleError(path, "", f"not a rule: {wrong}") from None
        return _Set(next(self._numbers), rules)

    # -- for Connection ----------------------------------------------------------------------------

    def _held(self) -> _Held:
        return _Held(self)

    def _running(self) -> Process | Library:
        if self._closed:
            raise RuntimeError("the interpreter is closed")
        if self._process is not None and (died := self._process.death()):
            self._lost(died)
        if self._process is None:
            self._process, self._known = Library(self._library) if self._library else Process(), set()
        return self._process

    def _lost(self, died: Died) -> None:
        self.deaths.append(str(died))
        if self._process:
            self._process.close()
            self._process = None

    def _opened(self, connection: Connection) -> Process | Library:
        """The process, which knows the connection now. Raises: Died."""
        process = connection._process
        if process is None:
            process = connection._process = self._running()
            if connection._set.number not in self._known:
                process.send(*connection._set.message)
                self._known.add(connection._set.number)
            process.send("open", connection._number, connection._set.number, " ".join(connection._override))
        elif process is not self._process:
            raise Died("it was restarted since the connection began")
        return process


class _Held:
    """The lock of an interpreter; notices a command that calls back."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def __enter__(self) -> None:
        if self._interpreter._owner == threading.get_ident():
            raise RuntimeError("a TMM command must not use the interpreter that called it")
        self._interpreter._lock.acquire()
        self._interpreter._owner = threading.get_ident()

    def __exit__(self, *exc_info: object) -> None:
        self._interpreter._owner = 0
        self._interpreter._lock.release()


class Connection:
    """The rules of one client connection, with their variables. Made by `Interpreter.connection`."""

    def __init__(
        self, interpreter: Interpreter, number: int, set_: _Set, commands: Commands, override: Sequence[str]
    ) -> None:
        self._interpreter, self._number, self._set = interpreter, str(number), set_
        self._commands, self._override = commands, override
        self._process: Process | Library | None = None
        self._disabled: set[str] = set()
        self._event = ""
        self.rule = ""
        """Full path of the rule that runs, or ran last."""
        self._broken: BaseException | None = None
        self._closed = False

    def has(self, event: str) -> bool:
        """Return True if any rule handles the event."""
        return event in self._set.handlers

    def fire(self, event: str) -> None:
        """Run the handlers of an event: by priority, then in the order on the virtual server.

        A handler that ends with `return` ends itself only; `event disable` leaves out those that would
        follow, now and at later events, of all rules (tmsh reference, ltm rule command event: "on this
        connection"; that it is for all rules is inferred from its use after `reject`).
        Raises: RuleError: the handlers after the one that failed are left out.
        """
        if self._closed:
            raise RuntimeError("the connection is closed")
        for _, number, rule in self._set.handlers.get(event, ()):
            if {event, "all"} & self._disabled:
                return
            with self._interpreter._held():
                self._run(rule, event, "run", self._number, str(number))

    def evaluate(self, rule: str, event: str, script: str) -> None:
        """Run a script of `after`, in the rule and the event that it comes from. Raises: RuleError."""
        if {event, "all"} & self._disabled:
            return
        with self._interpreter._held():
            self._run(rule, event, "later", self._number, rule, script)

    def set(self, name: str, value: str) -> None:
        """Set a variable, as a policy does before an event. Raises: RuleError."""
        with self._interpreter._held():
            try:
                self._interpreter._opened(self).send("set", self._number, name, value)
            except Died as died:
                raise RuleError("a policy", name, f"the Tcl interpreter died: {died}") from None

    def variables(self) -> dict[str, bytes]:
        """Variables that the rules have set; an array as the list of its names and values."""
        with self._interpreter._held():
            if self._process is None:
                return {}
            process = self._interpreter._opened(self)
            words = process.ask(["variables", self._number], self._interpreter.patience_s)[1:]
        return {name.decode(): value for name, value in zip(words[::2], words[1::2], strict=True)}

    def close(self) -> None:
        """Forget the connection."""
        if self._closed:
            return
        self._closed = True
        with self._interpreter._held():
            if self._process is not None and self._process is self._interpreter._process:
                try:
                    self._process.send("close", self._number)
                except Died as died:
                    self._interpreter._lost(died)

    def _run(self, rule: str, event: str, *message: str) -> None:
        milliseconds = round(self._interpreter.limit_s * 1000)
        self._event, self.rule, self._broken = event, rule, None
        try:
            process = self._interpreter._opened(self)
            words = *message, str(milliseconds), str(self._interpreter.limit_commands or 0)
            word, *rest = process.run(words, self._answer, self._interpreter.patience_s)
        except Died as died:
            if self._process is self._interpreter._process:
                self._interpreter._lost(died)
            raise RuleError(rule, event, f"the Tcl interpreter died: {died}") from None
        if self._broken is not None:
            if isinstance(self._broken, Unsupported):
                raise RuleError(rule, event, f"the fake does not know {self._broken}")
            raise self._broken
        if word == b"failed":
            raise RuleError(rule, event, rest[0].decode(errors="replace"))

    def _answer(self, name: str, arguments: list[bytes]) -> tuple[str, bytes | str]:
        try:
            if name == "event":
                self._switch([argument.decode("latin-1") for argument in arguments])
                return "ok", b""
            return "ok", self._commands(name, arguments)
        except Unsupported as unknown:
            self._broken = unknown
        except TclError as failed:
            return "error", str(failed)
        except Exception as broken:
            # A fault of the fake itself: ends the event, then goes to the caller of `fire`.
            self._broken = broken
        return "stop", b""

    def _switch(self, words: list[str]) -> None:
        """`event ?NAME? enable|disable ?all?`"""
        match words:
            case ["enable" | "disable" as verb]:
                name = self._event
            case ["enable" | "disable" as verb, "all"]:
                name = "all"
            case [name, "enable" | "disable" as verb]:
                pass
            case _:
                raise TclError('wrong # args: should be "event ?name? enable|disable ?all?"')
        if verb == "disable":
            self._disabled.add(name)
        elif name == "all":
            self._disabled.clear()
        else:
            self._disabled.discard(name)
