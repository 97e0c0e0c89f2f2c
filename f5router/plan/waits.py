"""Objects that a Change waits for although it does not refer to them.

It waits while their writes are under way or in doubt, but not once they were refused: the order of stages
alone does not keep it back then, as a write that hangs holds up nothing but what needs its object.
"""

from f5router.model.ltm import Attachment, BigIPState, Object, Record, Rule
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange, Stage, asks_clients, checks_clients

_ORDERED = (Stage.CHECKED, Stage.PASSTHROUGH_IRULE, Stage.POLICY_STRATEGY)


def may_wait(change: AnyChange) -> bool:
    """True for a Change that may wait for objects of others."""
    return change.stage in _ORDERED or asks_clients(change.obj)


def awaits(change: AnyChange, ref: Ref, desired: BigIPState, observed: BigIPState) -> bool:
    """True if a Change waits while another object is under way.

    - Clients are checked when they have been asked for their certificates, and as long as they are: without
      that, the check would refuse them all.
    - A policy changes its strategy when its Rules are in place under either.
    - The original router's iRule is replaced when what gives pods their TLS is in place; what needs ours
      comes later.
    """
    wanted, there = desired.get(ref), observed.get(ref)
    match change.stage:
        case Stage.CHECKED:
            return asks_clients(wanted)
        case Stage.POLICY_STRATEGY:
            rule = wanted or there
            return isinstance(rule, Rule) and rule.policy == change.ref.path
        case Stage.PASSTHROUGH_IRULE:
            return isinstance(wanted, Record | Attachment) and not _needs(wanted, change.ref, desired)
    return wanted is None and checks_clients(there)


def _needs(obj: Object, ref: Ref, desired: BigIPState) -> bool:
    """True if an object refers to another one, or to what does so."""
    seen, stack = set[Ref](), list(obj.dependencies)
    while stack:
        needed = stack.pop()
        if needed == ref:
            return True
        if needed not in seen and needed in desired:
            seen.add(needed)
            stack.extend(desired[needed].dependencies)
    return False
