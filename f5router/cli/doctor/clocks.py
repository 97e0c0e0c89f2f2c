"""Comparison of clocks. No I/O.

A certificate that is valid by one clock is not by another, and logs cannot be read side by side.
"""

from f5router.cli.doctor.report import Check, Fix, ok, warning

MOST_S = 30.0
"""Largest difference that is well."""

_QUARTER_S = 900.0
"""Zones differ by a multiple of this."""


def compare(area: str, whose: str, time: float, begin: float, end: float, fix: Fix) -> Check:
    """Compare a clock, read between two times of this machine, with the clock of this machine."""
    ahead_s = max(time - end, 0.0) or min(time + 1 - begin, 0.0)  # the other clock has whole seconds
    if abs(ahead_s) <= MOST_S:
        return ok(area, "clock", f"within {MOST_S:.0f} s of this machine's")
    where = "ahead of" if ahead_s > 0 else "behind"
    quarters = round(ahead_s / _QUARTER_S)
    zone = (", or it shows the time of another zone"
            if quarters and abs(ahead_s - quarters * _QUARTER_S) <= MOST_S else "")
    return warning(area, "clock", f"{whose} is {abs(ahead_s):.0f} s {where} this machine{zone}", fix)
