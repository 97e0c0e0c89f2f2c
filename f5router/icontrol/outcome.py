"""Result of carrying out a Plan."""

from dataclasses import dataclass, field

from f5router.model.errors import BigIPError, InUse
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange


@dataclass(slots=True)
class Outcome:
    """Result of the Changes of a Plan."""

    done: list[AnyChange] = field(default_factory=list)
    failed: dict[Ref, BigIPError] = field(default_factory=dict)
    """Objects that were refused, or not confirmed, with the device's words; a dependent object has the error
    of its dependency."""
    deferred_deletes: list[AnyChange] = field(default_factory=list)
    """Deletes that wait: the object is in use, or serves a Route whose new objects were refused."""
    in_use: dict[Ref, InUse] = field(default_factory=dict)
    """Those of `deferred_deletes` that the device refused, with its words."""

    def add(self, later: "Outcome") -> None:
        """Add what has become of later Changes."""
        self.done += later.done
        self.failed |= later.failed
        self.deferred_deletes += later.deferred_deletes
        self.in_use |= later.in_use
