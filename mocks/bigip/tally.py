"""Counters of traffic behind `/stats`: of a virtual server, a pool or a member, since it was made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Tally:
    """The loop of the data plane counts; a request reads, perhaps in the middle of a packet."""

    current: int = 0
    maximum: int = 0
    total: int = 0
    bytes_in: int = 0
    """Towards the pod."""
    bytes_out: int = 0
    requests: int = 0
    """HTTP requests."""

    def opened(self) -> None:
        self.current += 1
        self.total += 1
        self.maximum = max(self.maximum, self.current)

    def closed(self) -> None:
        self.current -= 1

    def carried(self, bytes_in: int, bytes_out: int) -> None:
        self.bytes_in += bytes_in
        self.bytes_out += bytes_out
