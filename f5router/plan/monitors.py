"""Writes of pools whose monitor is not on the device.

The members of a pool follow its pods whatever becomes of the monitor: they must not wait for it.
"""

from dataclasses import replace

from f5router.model.ltm import BigIPState, Pool


def without_missing(pool: Pool, old: Pool | None, observed: BigIPState) -> Pool:
    """Return a pool as it can be written now: a missing monitor leaves it the one that it has.

    Args: old: the pool as it is on the device; None if it is not there.
    """
    if all(need in observed for need in pool.dependencies):
        return pool
    return replace(pool, monitor=old.monitor if old is not None else "")
