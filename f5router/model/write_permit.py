"""The permission to write: a router with replicas has a share of time only, and a standby gets no write."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from f5router.model.errors import BigIPError, NotLeader

WHY_NOT = "this router is not the leader"


@dataclass(frozen=True, slots=True)
class WritePermit:
    """Permission to begin a write, asked for just before each one is sent."""

    left_s: Callable[[], float]
    """Returns for how long writes may begin; 0 or less if none may."""
    delivery_s: float = math.inf
    """Time after which a write that did not reach the other side must not reach it any more."""
    refusal: Callable[[str, str], BigIPError] = lambda method, path: NotLeader(method, path, WHY_NOT)
    """Returns the error of a write to the BIG-IP that may not begin. Args: method and path."""

    cleanup: "WritePermit | None" = None
    """Permission to remove uploaded files, which hold private keys; None for this one."""

    @property
    def for_cleanup(self) -> "WritePermit":
        """Permission to remove uploaded files."""
        return self.cleanup or self

    def is_given(self) -> bool:
        """True if a write may begin now."""
        return self.left_s() > 0


ALWAYS = WritePermit(lambda: math.inf)
"""That of a router without replicas, on one BIG-IP."""
