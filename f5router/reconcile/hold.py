"""Reasons for which a Change that is due is held, and until when."""

import math
from dataclasses import dataclass
from enum import Enum


class Wait(Enum):
    """Reasons for which a Change is not made now."""

    UNCONFIRMED = "a second list of the cluster must confirm that the pool loses all members"
    WRITTEN_BESIDE = "the members of the pool are written beside the Plan"


@dataclass(frozen=True, slots=True)
class Hold:
    """A Change that must wait."""

    reason: Wait
    until: float = math.inf
    """Monotonic seconds; infinite if an event ends it, not the time."""
