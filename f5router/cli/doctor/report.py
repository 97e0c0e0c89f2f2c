"""Results of checks, and how they are shown: for people, and as JSON for programs."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.text import Text

from f5router.model import clock_offset
from f5router.model.findings import CLOCK_DIFFERS, page_of
from f5router.model.texts import hanging, printable

OK, WARNING, FAILURE, SKIPPED = STATES = ("ok", "warning", "failure", "skipped")

_STYLES = {OK: "green", WARNING: "yellow", FAILURE: "bold red", SKIPPED: "dim"}
_PLURALS = {WARNING: "warnings", FAILURE: "failures"}


@dataclass(frozen=True, slots=True)
class Fix:
    """Remedy for a fault: a step, a command, or both."""

    step: str = ""
    """In words."""
    command: str = ""
    """For a shell: here, or on the BIG-IP if it begins with "tmsh"."""

    def __post_init__(self) -> None:
        if not (self.step or self.command):
            raise ValueError("neither a step nor a command")

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.step, self.command)))


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check."""

    area: str
    """Where it was made: "settings", "cluster", or a BIG-IP by its name."""
    check: str
    state: str
    """One of STATES; SKIPPED if a failure before it makes it impossible."""
    message: str
    fix: Fix | None = None
    """None only if it is well, or was not checked."""
    code: str = ""
    """That of the finding, a key of findings.CATALOGUE; "" if it is well, or has none."""


def ok(area: str, check: str, message: str) -> Check:
    return Check(area, check, OK, message)


def warning(area: str, check: str, message: str, fix: Fix, code: str = "") -> Check:
    return Check(area, check, WARNING, message, fix, code)


def failure(area: str, check: str, message: str, fix: Fix, code: str = "") -> Check:
    return Check(area, check, FAILURE, message, fix, code)


def skipped(area: str, checks: Iterable[str], why: str) -> Check:
    """Return the result of checks that a failure prevents."""
    return Check(area, "not checked", SKIPPED, f"{', '.join(checks)}: {why}")


def exit_status(checks: Iterable[Check], *, settings: bool = True) -> int:
    """Return 1 if a check failed, 2 if the settings did, else 0. Args: settings: False for wrong ones."""
    if not settings:
        return 2
    return 1 if any(check.state == FAILURE for check in checks) else 0


def as_json(checks: Sequence[Check]) -> str:
    """Render `checks`, each an object with the fields of Check, and `summary`, the number of each state."""
    counts = Counter(check.state for check in checks)
    document: dict[str, Any] = {
        "checks": [{**asdict(check), "fix": str(check.fix or "")} for check in checks],
        "summary": {state: counts[state] for state in STATES}}
    return json.dumps(document, indent=2)


def as_text(checks: Sequence[Check], width: int) -> Text:
    """Render each check below its area, and a summary.

    A remedy for several checks in a row stands once, below the last of them.

    Args: width: of a line, in characters; commands are whole, so that they can be copied.
    """
    text, column = Text(), max((len(check.check) for check in checks), default=0)
    indent = 2 + len(SKIPPED) + 2 + column + 2
    area = None
    for check, after in zip(checks, (*checks[1:], None), strict=True):
        if check.area != area:
            text.append(f"{'' if area is None else chr(10)}{printable(check.area)}\n", "bold")
            area = check.area
        text.append(f"  {check.state:<{len(SKIPPED)}}", _STYLES[check.state])
        text.append(f"  {check.check:<{column}}  {hanging(check.message, indent, width)}\n")
        if check.fix and (after is None or (after.area, after.fix) != (check.area, check.fix)):
            _append_fix(text, check.fix, width)
            if check.code:
                text.append(f"  {'see':<{len(SKIPPED)}}  ", "cyan").append(f"{page_of(check.code)}\n")
    return text.append(f"\n{summary(checks)}")


def _append_fix(text: Text, fix: Fix, width: int) -> None:
    """Append lines below a check, behind the word "fix"."""
    indent = 2 + len(SKIPPED) + 2
    lines = [hanging(f"{fix.step}{':' if fix.command else ''}", indent, width)] if fix.step else []
    lines += [printable(fix.command)] if fix.command else []
    text.append(f"  {'fix':<{len(SKIPPED)}}  ", "cyan")
    text.append(f"\n{' ' * indent}".join(lines) + "\n")


def summary(checks: Iterable[Check]) -> str:
    """Return a line such as "12 ok, 1 warning, 2 failures"."""
    counts = Counter(check.state for check in checks)
    return ", ".join(f"{counts[state]} {_PLURALS.get(state, state) if counts[state] != 1 else state}"
                     for state in STATES if counts[state] or state != SKIPPED)


def compare_clocks(area: str, whose: str, time: float, begin: float, end: float, fix: Fix) -> Check:
    """Compare a clock, read between two times of this machine, with the clock of this machine."""
    ahead_s = clock_offset.offset_s(time, begin, end)
    if abs(ahead_s) <= clock_offset.MOST_S:
        return ok(area, "clock", f"within {clock_offset.MOST_S:.0f} s of this machine's")
    return warning(area, "clock", f"{whose} {clock_offset.describe(ahead_s, 'this machine')}", fix,
                   CLOCK_DIFFERS)
