"""Objects that a Change waits for although it does not refer to them.

It waits while their writes are under way or in doubt, but not once they were refused: the order of stages
alone does not keep it back then, as a write that hangs holds up nothing but what needs its object.
"""

from collections.abc import Collection
from functools import cached_property
from typing import TypeGuard

from f5router.model import names, tls_names
from f5router.model.front_end_names import base_name, front_end_of
from f5router.model.ltm import Attachment, BigIPState, ClientSSL, ClientSSLParent, Object, Record, Rule
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange, Stage, asks_clients, checks_clients

_ORDERED = (Stage.CHECKED, Stage.PASSTHROUGH_IRULE, Stage.POLICY_STRATEGY)


def may_wait(change: AnyChange) -> bool:
    """True for a Change that may wait for objects of others."""
    return change.stage in _ORDERED or asks_clients(change.obj) or _ends_tls(change.obj)


class Waits:
    """Objects whose writes are under way or in doubt; they may be as many as the Changes, which may wait."""

    def __init__(self, refs: Collection[Ref], desired: BigIPState, observed: BigIPState):
        self._refs, self._desired, self._observed = refs, desired, observed

    def awaited(self, change: AnyChange) -> Ref | None:
        """Return one of them that a Change waits for.

        - Clients are checked when they have been asked for their certificates, and as long as they are:
          without that, the check would refuse them all. Those of other front ends do not matter.
        - The iRule that switches TLS off is attached with the default profile: a BIG-IP refuses it without a
          profile for clients.
        - A policy changes its strategy when its Rules are in place under either.
        - The original router's iRule is replaced when what gives pods their TLS is in place; what needs ours
          comes later.
        """
        obj, desired = change.obj, self._desired
        if checks_clients(obj):
            return next((ref for ref, asking in self._asking if _is_checked(asking, obj)), None)
        if asks_clients(obj):
            return next((ref for ref, check in self._leaving_checks if _is_checked(obj, check)), None)
        if _ends_tls(obj):
            return next((ref for ref, asking in self._asking if _is_default(asking)
                         and _is_checked(asking, obj)), None)
        if change.stage == Stage.POLICY_STRATEGY:
            return next((ref for ref, policy in self._rules if policy == change.ref.path), None)
        if change.stage == Stage.PASSTHROUGH_IRULE:
            return next((ref for ref in self._refs
                         if isinstance(wanted := desired.get(ref), Record | Attachment)
                         and not _needs(wanted, change.ref, desired)), None)
        return None

    @cached_property
    def _asking(self) -> list[tuple[Ref, ClientSSL | ClientSSLParent | Attachment]]:
        return [(ref, obj) for ref in self._refs if asks_clients(obj := self._desired.get(ref))]

    @cached_property
    def _leaving_checks(self) -> list[tuple[Ref, Attachment]]:
        return [(ref, obj) for ref in self._refs
                if ref not in self._desired and checks_clients(obj := self._observed.get(ref))]

    @cached_property
    def _rules(self) -> list[tuple[Ref, str]]:
        """Rules, each with its policy."""
        return [(ref, obj.policy) for ref in self._refs
                if isinstance(obj := self._desired.get(ref) or self._observed.get(ref), Rule)]


def _ends_tls(obj: Object) -> TypeGuard[Attachment]:
    """True for the attachment of the iRule that passes TLS through."""
    return isinstance(obj, Attachment) and base_name(obj.target) == names.PASSTHROUGH_IRULE


def _is_default(asking: ClientSSL | ClientSSLParent | Attachment) -> bool:
    """True for the default profile of a front end, and its attachment."""
    path = asking.target if isinstance(asking, Attachment) else asking.path
    return base_name(path) == tls_names.DEFAULT_CLIENTSSL


def _is_checked(asking: ClientSSL | ClientSSLParent | Attachment, check: Attachment) -> bool:
    """True if clients whom an object may ask for certificates meet this attachment of an iRule.

    Parents without the name of a front end are for several ones.
    """
    if isinstance(asking, Attachment):
        return asking.virtual == check.virtual
    front_end = front_end_of(asking.path)
    return front_end == front_end_of(check.target) or (isinstance(asking, ClientSSLParent) and not front_end)


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
