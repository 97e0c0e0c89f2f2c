"""How long to wait before a request is tried again."""

import random


def delay_s(failures: int, *, first_s: float, limit_s: float, retry_after_s: float | None = None) -> float:
    """Seconds to wait after a number of failures in a row, 1 or more.

    Doubles from first_s up to limit_s, less a random part up to a half, so that the clients of a
    server that comes back do not return together. Never shorter than the server asked for.
    """
    doubled: float = min(limit_s, first_s * 2 ** min(failures - 1, 30))
    return max(doubled * random.uniform(0.5, 1.0), retry_after_s or 0.0)
