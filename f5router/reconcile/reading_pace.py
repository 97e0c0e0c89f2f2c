"""Keeps the readings that look for drift to a small part of the processor, however much there is to read."""

import logging
import math

log = logging.getLogger(__name__)

READINGS, HINTS = 0.007, 0.003
"""Parts of one core for readings of everything, and for those of names and generations: 1 % together."""
NOTABLE = 1.25
"""Factor between two intervals that is worth a line in the log."""


class ReadingPace:
    """Interval of readings of one sort. One thread calls its methods."""

    def __init__(self, what: str, interval_s: float, share: float = math.inf):
        """Args: interval_s: the shortest. share: part of one core that they may take; it makes them rarer."""
        self._what, self._shortest_s, self._share = what, interval_s, share
        self.interval_s = self._logged_s = interval_s
        """Seconds from one to the next."""
        self.cpu_s = 0.0
        """Cost of the last one."""

    def record(self, cpu_s: float) -> None:
        """Record the cost of the last reading."""
        self.cpu_s = cpu_s
        self.interval_s = max(self._shortest_s, cpu_s / self._share)
        if max(self.interval_s, self._logged_s) > NOTABLE * min(self.interval_s, self._logged_s):
            self._logged_s = self.interval_s
            log.info("drift check interval adjusted to its CPU cost", extra={
                "reading": self._what, "interval_s": round(self.interval_s), "cpu_s": round(cpu_s, 2)})
