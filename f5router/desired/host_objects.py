"""Objects, pools and verdicts of the Routes of one Host."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from f5router.admission.admission import Rejection
from f5router.desired.contributions import is_same
from f5router.desired.pools import PoolKey, PoolSettings
from f5router.model.cluster import Key
from f5router.model.ltm import Attachment, CertFile, ClientSSL, KeyFile, Object, Record, Rule, ServerSSL
from f5router.model.objects import Ref
from f5router.model.small import compact
from f5router.model.texts import Problem

_ALIKE = (Rule, Record, ClientSSL, ServerSSL, CertFile, KeyFile, Attachment)
"""Types of which an object of a Host may stand for an equal one that was built before."""


@dataclass(frozen=True, slots=True)
class HostObjects:
    """Everything that the Routes of one Host ask for."""

    objects: Mapping[Ref, Object] = field(default_factory=dict)
    pools: Mapping[PoolKey, PoolSettings] = field(default_factory=dict)
    uses: Mapping[Key, frozenset[Ref]] = field(default_factory=dict)
    """By admitted Route: the objects through which requests come to it."""
    rejections: Mapping[Key, Rejection] = field(default_factory=dict)
    faults: Mapping[Key, Rejection] = field(default_factory=dict)
    """By admitted Route: why this router cannot serve it, or not all of it."""
    warnings: Mapping[Key, tuple[Problem, ...]] = field(default_factory=dict)
    pool_of: Mapping[Key, PoolKey] = field(default_factory=dict)
    """By Route that is served."""
    undetermined: frozenset[Ref] = frozenset()
    """Objects whose desired state depends on a Secret that is not read, or on certificates that are not
    checked yet."""
    closing: Mapping[Key, frozenset[Ref]] = field(default_factory=dict)
    """By rejected Route: the objects that keep its requests from others."""

    def sharing(self, before: "HostObjects") -> "HostObjects":
        """Return equal objects, reusing unchanged ones from before, so that one copy stays in memory."""
        if not before.objects:
            return self
        return HostObjects(
            compact(dict(_kept(before.objects.get(ref), obj) for ref, obj in self.objects.items())),
            before.pools if before.pools == self.pools else self.pools,
            before.uses if before.uses == self.uses else self.uses,
            self.rejections, self.faults, self.warnings,
            before.pool_of if before.pool_of == self.pool_of else self.pool_of,
            self.undetermined, self.closing)


def _kept(old: Object | None, new: Object) -> tuple[Ref, Object]:
    """Return the older of two equal objects, else the new one, with its Ref."""
    if isinstance(old, _ALIKE) and is_same(old, new) and (
            getattr(old, "replaces", "") == getattr(new, "replaces", "")):
        return old.ref, old
    return new.ref, new
