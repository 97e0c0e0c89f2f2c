"""Runs a command that prints nothing for long, and shows that it goes on.

    python3 tools/long_step.py 'installing the libraries' pip install ...

A bar on a terminal, elsewhere a line every five seconds. make uses it before any library is there.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TextIO

PERIOD_S = 5.0
"""Time between two lines."""
REDRAW_S = 0.25
WIDTH, PART = 20, 5
"""Columns of the bar, and of the part that moves through it: how much is left to do is not known."""
CLEAR = "\r\x1b[K"


def run(text: str, command: Sequence[str], output: TextIO, *, period_s: float = PERIOD_S,
        redraw_s: float = REDRAW_S) -> int:
    """Run a command; returns its exit status, 128 and the number of a signal that ended it."""
    draws = output.isatty() and os.environ.get("TERM", "").lower() not in ("", "dumb", "unknown")
    begin, steps = time.monotonic(), 0
    if not draws:
        print(f"  {text}", file=output, flush=True)
    with subprocess.Popen(command) as process:
        while (status := _wait(process, redraw_s if draws else period_s)) is None:
            steps += 1
            took = f"{time.monotonic() - begin:.0f} s"
            if draws:
                line = f"  {_bar(steps)} {took} {text}"
                output.write(CLEAR + line[:shutil.get_terminal_size().columns - 1])
                output.flush()
            else:
                print(f"  {text}, {took}", file=output, flush=True)
    if draws:
        print(f"{CLEAR}  {text}", file=output, flush=True)
    return status if status >= 0 else 128 - status


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def _bar(steps: int) -> str:
    at = steps % (WIDTH - PART + 1)
    return f"[{' ' * at}{'=' * PART}{' ' * (WIDTH - PART - at)}]"


if __name__ == "__main__":
    try:
        sys.exit(run(sys.argv[1], sys.argv[2:], sys.stderr))
    except KeyboardInterrupt:  # the command got the same signal
        print(file=sys.stderr)
        sys.exit(130)
