"""The commands table and clock.

Source: clouddocs, table; tmsh reference, ltm rule command table, which has the grammar; DevCentral, "The
table Command". On a device `table` suspends the iRule; here no other event comes in between.
"""

from __future__ import annotations

from collections.abc import Iterable

from mocks.bigip import language
from mocks.bigip.dataplane.connection import Script
from mocks.bigip.dataplane.session_table import DEFAULT_TIMEOUT_S, Entry, Seconds, SessionTable
from mocks.bigip.quirks import Quirk
from mocks.bigip.tmm import TclError, Unsupported
from mocks.bigip.tmm.commands import tcl_list

Result = bytes | str | int
_UNSIGNED = 2**64


class _Words:
    """The words behind a subcommand, taken apart."""

    def __init__(self, verb: str, words: list[bytes]) -> None:
        self.options: set[str] = set()
        self.subtable: bytes | None = None
        self.rest = list(words)
        while self.rest and self.rest[0].startswith(b"-"):
            option = self.rest.pop(0).decode("latin-1")
            if option == "--":
                break
            if option == "-subtable" and self.rest:
                self.subtable = self.rest.pop(0)
            elif option in language.TABLE[verb]:
                self.options.add(option)
            else:
                raise TclError(f'bad option "{option}"')

    def need(self, least: int, most: int) -> None:
        """Raises: TclError: another number of arguments."""
        if not least <= len(self.rest) <= most:
            raise TclError("wrong # args")

    @property
    def touch(self) -> bool:
        return "-notouch" not in self.options


def table(rules: Script, args: list[bytes]) -> Result:
    shared = rules.flow.shared
    if shared.store.has(Quirk.TABLE_FAILS):
        raise TclError("session table")
    return execute(shared.table, args)


def execute(sessions: SessionTable, args: list[bytes]) -> Result:
    """Run the command. Raises: TclError."""
    verb = args[0].decode("latin-1") if args else ""
    if verb not in language.TABLE:
        raise TclError(f'bad option "{verb}"')
    words = _Words(verb, args[1:])
    if verb in ("set", "add", "replace"):
        return _write(sessions, verb, words)
    if verb in ("timeout", "lifetime"):
        return _times(sessions, verb, words)
    return _COMMANDS[verb](sessions, words)


def _write(sessions: SessionTable, verb: str, words: _Words) -> Result:
    """Returns the value that is there then; "" where nothing was to be replaced."""
    words.need(2, 4)
    key, value, *times = words.rest
    timeout_s = _seconds(times[0]) if times else DEFAULT_TIMEOUT_S
    lifetime_s = _seconds(times[1]) if len(times) > 1 else None
    entry = sessions.find(words.subtable, key, touch=words.touch)
    if entry is None and (verb == "replace" or "-mustexist" in words.options):
        return ""
    if entry is not None and (verb == "add" or "-excl" in words.options):
        return entry.value
    return sessions.put(words.subtable, key, value, timeout_s, lifetime_s).value


def _lookup(sessions: SessionTable, words: _Words) -> Result:
    words.need(1, 1)
    entry = sessions.find(words.subtable, words.rest[0], touch=words.touch)
    return entry.value if entry else ""


def _incr(sessions: SessionTable, words: _Words) -> Result:
    """Numbers are unsigned, of 64 bits (clouddocs, table)."""
    words.need(1, 2)
    entry = _changed(sessions, words, b"0")
    if entry is None:
        return ""
    step = _number(words.rest[1]) if len(words.rest) > 1 else 1
    entry.value = str((_number(entry.value) + step) % _UNSIGNED).encode()
    return entry.value


def _append(sessions: SessionTable, words: _Words) -> Result:
    words.need(2, 2)
    entry = _changed(sessions, words, b"")
    if entry is None:
        return ""
    entry.value += words.rest[1]
    return entry.value


def _changed(sessions: SessionTable, words: _Words, first: bytes) -> Entry | None:
    """Return the entry to change, a new one if need be; None with -mustexist."""
    key = words.rest[0]
    entry = sessions.find(words.subtable, key, touch=words.touch)
    if entry is None and "-mustexist" not in words.options:
        entry = sessions.put(words.subtable, key, first)
    return entry


def _delete(sessions: SessionTable, words: _Words) -> Result:
    if "-all" in words.options:
        words.need(0, 0)
        if words.subtable is None:
            raise TclError("-all needs a subtable")
        sessions.clear(words.subtable)
        return ""
    words.need(1, 1)
    sessions.delete(words.subtable, words.rest[0])
    return ""


def _times(sessions: SessionTable, verb: str, words: _Words) -> Result:
    """The timeout or lifetime of an entry, -1 without one; or another for it."""
    remaining = "-remaining" in words.options
    words.need(1, 1 if remaining else 2)
    entry = sessions.find(words.subtable, words.rest[0], touch=False)
    if entry is None:
        return -1
    if len(words.rest) > 1:
        if verb == "lifetime":
            sessions.restart(entry, _seconds(words.rest[1]))
        else:
            entry.timeout_s = _seconds(words.rest[1])
            sessions.find(words.subtable, words.rest[0])
    if remaining:
        return _shown(sessions.remaining(entry, lifetime=verb == "lifetime"))
    return _shown(entry.lifetime_s if verb == "lifetime" else entry.timeout_s)


def _keys(sessions: SessionTable, words: _Words) -> Result:
    """Source: DevCentral, Subtables: the keys are touched unless -notouch is given; -count counts only."""
    words.need(0, 0)
    if words.subtable is None:
        raise TclError("table keys needs a subtable")
    keys = sessions.keys(words.subtable)
    if "-count" in words.options:
        return len(keys)
    for key in keys if words.touch else ():
        sessions.find(words.subtable, key)
    return _list(keys)


_COMMANDS = {"lookup": _lookup, "incr": _incr, "append": _append, "delete": _delete, "keys": _keys}


def _list(words: Iterable[bytes]) -> bytes:
    return tcl_list(word.decode("latin-1") for word in words).encode("latin-1")


def _seconds(word: bytes) -> Seconds:
    if word in (b"indefinite", b"indef"):
        return None
    seconds = _number(word)
    if seconds <= 0:
        raise TclError(f'expected a positive number of seconds but got "{seconds}"')
    return seconds


def _shown(seconds: Seconds) -> str:
    return "indefinite" if seconds is None else str(seconds)


def _number(word: bytes) -> int:
    try:
        return int(word)
    except ValueError:
        raise TclError(f'expected integer but got "{word.decode("latin-1")}"') from None


def clock(rules: Script, args: list[bytes]) -> Result:
    """Seconds by the device's clock, on which the entries of the table expire."""
    if args != [b"seconds"]:
        raise Unsupported(f"clock {' '.join(arg.decode('latin-1') for arg in args)}")
    return int(rules.flow.shared.clock.time_of_day())


COMMANDS = {"table": table, "clock": clock}
