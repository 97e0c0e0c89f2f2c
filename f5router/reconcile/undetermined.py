"""Objects whose desired state depends on a Secret that is not read yet."""

from collections.abc import Collection
from dataclasses import dataclass

from f5router.model import ownership
from f5router.model.ltm import BigIPState
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, Plan


@dataclass(frozen=True, slots=True)
class Undetermined:
    """Objects that a Plan must leave alone, because it is not known yet whether, or how, they are wanted."""

    present: frozenset[Ref] = frozenset()
    """Objects on the device."""
    absent: frozenset[Ref] = frozenset()
    """Objects that are neither wanted so far, nor on the device for this owner: what needs them waits."""

    @classmethod
    def of(cls, refs: Collection[Ref], desired: BigIPState, observed: BigIPState,
           foreign: Collection[Ref] = (), waiting: frozenset[Ref] = frozenset()) -> "Undetermined":
        """Sort objects by where they are.

        Args:
            foreign: objects that serve another namespace, and are deleted.
            waiting: objects that are wanted, but not written yet.
        """
        # A difference with a view of `desired` would visit all of it, at every event.
        present = frozenset(ref for ref in refs if ref in observed).difference(foreign)
        absent = (ref for ref in refs if ref not in desired and ref not in present)
        return cls(present, waiting.union(absent))

    def split(self, plan: Plan, observed: BigIPState) -> tuple[Plan, frozenset[Ref]]:
        """Return the Changes that may be made, and the objects of all others.

        The others include deletes of what an undetermined object needs.
        """
        if not self.present and not self.absent:
            return plan, frozenset()
        waits = set(self.absent)
        for change in plan:
            if change.verb != DELETE and not waits.isdisjoint(change.obj.dependencies):
                waits.add(change.ref)
        stays, needs = set(self.present), {*self.present, *(waits - self.absent)}
        while needs:
            needs = (ownership.stays_with(needs, observed) & observed.keys()) - stays
            stays |= needs
        untouched = {True: stays, False: waits | self.present}
        held = frozenset(change.ref for change in plan if change.ref in untouched[change.verb == DELETE])
        return tuple(change for change in plan if change.ref not in held), held
