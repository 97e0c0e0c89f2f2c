"""The permission to write, of which a router with replicas has a share of time only."""

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WritePermit:
    """Permission to begin a write, asked for just before each one is sent."""

    left_s: Callable[[], float]
    """Returns for how long writes may begin; 0 or less if none may."""
    delivery_s: float = math.inf
    """Time after which a write that did not reach the other side must not reach it any more."""

    def is_given(self) -> bool:
        """True if a write may begin now."""
        return self.left_s() > 0


ALWAYS = WritePermit(lambda: math.inf)
"""That of a router without replicas."""

WHY_NOT = "this router is not the leader"
