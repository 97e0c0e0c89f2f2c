"""An object that requests need, as it is wanted and as it is on the device."""

from enum import StrEnum
from typing import NamedTuple

from f5router.model.ltm import Object
from f5router.model.objects import Ref


class State(StrEnum):
    """State of an object on the device."""

    IN_PLACE = "in place"
    MISSING = "missing"
    DIFFERS = "differs"
    """It is there, but not as it is wanted."""
    REFUSED = "refused"
    """The device refused its last write, or that of an object that it needs."""


class NeededObject(NamedTuple):
    """An object that requests need."""

    ref: Ref
    desired: Object | None
    """None for an object of the administrator's."""
    observed: Object | None
    """None if it is not on the device."""
    refusal: str = ""
    """Why the device refused its last write; "" if it did not."""

    @property
    def state(self) -> State:
        """State of the object on the device."""
        if self.refusal:
            return State.REFUSED
        if self.observed is None:
            return State.MISSING
        return State.IN_PLACE if self.observed == self.desired else State.DIFFERS
