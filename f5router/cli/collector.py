"""Settings of Python's garbage collector for a process whose objects live long and have no cycles."""

import gc

THRESHOLDS = 50_000, 20, 20
"""New objects after which it looks at them, and how many such looks there are between those at older ones.

With 700, 10 and 10, as Python has it, it looks at objects that stay again and again while a cluster is taken
in: that was 40 % of the CPU. The 50,000 objects take a few MiB.
"""


def relieve() -> None:
    """Leave all objects so far alone, and look at others more rarely."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
