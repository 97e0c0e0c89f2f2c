"""The row of an object that is not at rest: its state, and the reason for which it waits."""

from dataclasses import dataclass
from enum import Enum

from f5router.model.errors import BigIPError, Conflict, InUse, NotFound, Refused, Unconfirmed
from f5router.model.limits import Backoff
from f5router.model.objects import Ref

RETRY_FIRST_S, RETRY_MOST_S = 5.0, 300.0
BACKOFF = Backoff(RETRY_FIRST_S, RETRY_MOST_S)


class RowState(Enum):
    """State of a row, with the event that ends it."""

    DUE = "its turn"
    SENT = "the reply of the BIG-IP"
    REFUSED = "the end of its back-off"
    BLOCKED = "an object that it needs"
    HELD = "the end of the reason for which it is held"


class HoldReason(Enum):
    """Reasons for which a Change is not made now."""

    SECRET = "a Secret that decides about it is not read yet"
    SOURCE = "it may serve objects that could not be listed"
    SUCCESSOR = "it serves until the new objects of its Route are in place"
    DRAINING = "it serves connections whose TLS the BIG-IP has ended already"
    NEEDED = "an object that stays needs it"
    MASS_DELETE = "a second list of the cluster must confirm so many deletes"
    EMPTIED = "a second list of the cluster must confirm that the pool loses all members"
    WAY = "a second list of the cluster must confirm that the Node is gone"


FOR_SERVING = (HoldReason.SUCCESSOR, HoldReason.DRAINING, HoldReason.NEEDED)
"""Reasons of deletes that are tried again when a refusal ends, and after a while."""
UNREAD = (HoldReason.SECRET, HoldReason.SOURCE)
"""Reasons that each Plan examines again."""
LISTED = (HoldReason.MASS_DELETE, HoldReason.EMPTIED, HoldReason.WAY)
"""Reasons that a second list of the cluster ends. They have nothing to do with what is on the device."""


@dataclass(slots=True)
class ObjectRow:
    """The fate of an object that is not at rest."""

    state: RowState = RowState.DUE
    again: bool = False
    """SENT, and an event has touched the object since."""
    error: BigIPError | None = None
    """Why its last write was not done, or that of the object that it needs; None if that is over."""
    doubt: int | None = None
    """Number of readings that had begun when its last write may have been applied; None if that is known."""
    attempts: int = 0
    """Attempts that failed in a row."""
    until: float = 0.0
    """Monotonic seconds of the next attempt, while REFUSED, or of the next look, while HELD."""
    hold: HoldReason | None = None
    """Why its Change is not made. Members of a pool whose delete is held are written all the same."""
    is_asked: bool = False
    """Its delete was held back when the second list was asked for: this confirms no other one."""
    is_confirmed: bool = False
    """A second list has confirmed its delete."""
    on: Ref | None = None
    """The object that it waits for, while BLOCKED."""
    sent_at: float = 0.0
    """Monotonic seconds when its request began, while SENT."""
    since: float | None = None
    """When the oldest event came that is not written yet; None if no event is the reason."""

    @property
    def is_in_use(self) -> bool:
        """True if the BIG-IP refused to delete it, as it uses it."""
        return isinstance(self.error, InUse)

    @property
    def blocked(self) -> bool:
        """True if it was not sent, because an object that it needs was refused, or gets no reply."""
        return self.on is not None and self.error is not None

    @property
    def needs_reading(self) -> bool:
        """True if another attempt is of use only if something else is there than the router knows.

        The last one may have been carried out, late too. Somebody else may have made the object, or deleted
        it. Or nothing was sent, as something is missing.
        """
        return isinstance(self.error, Conflict | NotFound | Unconfirmed) or (
            isinstance(self.error, Refused) and not self.error.status)
