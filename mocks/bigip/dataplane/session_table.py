"""The session table: what iRules remember across connections, shared by all TMMs.

Source: clouddocs, table; tmsh reference, ltm rule command table; DevCentral, "The table Command" (Data
Expiration, Subtables).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

DEFAULT_TIMEOUT_S = 180
Seconds = int | None
"""None: indefinite."""


@dataclass
class Entry:
    value: bytes
    timeout_s: Seconds
    """Since it was touched last."""
    lifetime_s: Seconds
    """Since it was written with a lifetime."""
    touched: float
    begun: float

    def ends(self) -> float:
        """The time at which it is gone."""
        timeout = self.touched + self.timeout_s if self.timeout_s is not None else float("inf")
        lifetime = self.begun + self.lifetime_s if self.lifetime_s is not None else float("inf")
        return min(timeout, lifetime)


class SessionTable:
    """Entries by subtable and key; those outside of subtables have one of None.

    Args: clock: the device's clock, in seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._subtables: dict[bytes | None, dict[bytes, Entry]] = {}

    def find(self, subtable: bytes | None, key: bytes, *, touch: bool = True) -> Entry | None:
        """Return a live entry, and start its timeout anew."""
        entry = self._subtables.get(subtable, {}).get(key)
        if entry is None:
            return None
        now = self._clock()
        if now >= entry.ends():
            self.delete(subtable, key)
            return None
        if touch:
            entry.touched = now
        return entry

    def put(self, subtable: bytes | None, key: bytes, value: bytes, timeout_s: Seconds = DEFAULT_TIMEOUT_S,
            lifetime_s: Seconds = None) -> Entry:
        """Write an entry, whether it is there or not."""
        now = self._clock()
        entry = Entry(value, timeout_s, lifetime_s, now, now)
        self._subtables.setdefault(subtable, {})[key] = entry
        return entry

    def delete(self, subtable: bytes | None, key: bytes) -> None:
        entries = self._subtables.get(subtable, {})
        entries.pop(key, None)
        if not entries:
            self._subtables.pop(subtable, None)

    def clear(self, subtable: bytes) -> None:
        """Delete all entries of a subtable."""
        self._subtables.pop(subtable, None)

    def keys(self, subtable: bytes | None) -> list[bytes]:
        """Return the keys of live entries, none of which is touched."""
        now = self._clock()
        return [key for key, entry in self._subtables.get(subtable, {}).items() if now < entry.ends()]

    def restart(self, entry: Entry, lifetime_s: Seconds) -> None:
        """Give an entry another lifetime, from now on."""
        entry.lifetime_s, entry.begun = lifetime_s, self._clock()

    def remaining(self, entry: Entry, *, lifetime: bool) -> Seconds:
        """Return the seconds that are left of the timeout or of the lifetime."""
        length, start = (entry.lifetime_s, entry.begun) if lifetime else (entry.timeout_s, entry.touched)
        return None if length is None else int(start + length - self._clock())

    def live(self) -> Iterator[tuple[bytes | None, bytes]]:
        """Yield subtable and key of all live entries."""
        for subtable in list(self._subtables):
            for key in self.keys(subtable):
                yield subtable, key
