"""Settings of garbage collector and heap for a process whose objects live long and have no cycles."""

import atexit
import contextlib
import ctypes
import gc

THRESHOLDS = 50_000, 20, 20
"""New objects after which it looks at them, and how many such looks there are between those at older ones.

With 700, 10 and 10, as Python has it, it looks at objects that stay again and again while a cluster is taken
in: that was 40 % of the CPU. The 50,000 objects take a few MiB.
"""


_ARENA_MAX = -8
"""Parameter of mallopt, as <malloc.h> has it. Source: mallopt(3)."""


def relieve() -> None:
    """Leave all objects so far alone, and look at others more rarely; let all threads share one heap.

    The C library has a heap for each of several threads. Memory that one leaves free there is lost to the
    others: 10 MiB with 6,000 Routes. They do not get in each other's way, as Python runs one at a time.

    At the end of the process nothing is freed object by object, which took 0.7 s of CPU with 10,000 Routes:
    the kernel takes the memory back as a whole.
    """
    with contextlib.suppress(AttributeError, OSError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
