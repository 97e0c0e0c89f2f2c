"""A reading of the device, and how many objects are expected in it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from f5router.icontrol.rest.wire import item_path
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import BigIPState, CertFile, ClientSSL, KeyFile, Object, Policy, Pool, Rule, ServerSSL
from f5router.model.objects import Ref, changed, with_ref_of


@dataclass(frozen=True, slots=True)
class Observation:
    """Objects and facts as they were read."""

    objects: dict[Ref, Object] = field(default_factory=dict)
    """Our objects, and other people's Rules in our policies."""
    facts: DeviceFacts = field(default_factory=DeviceFacts)
    legacy: frozenset[str] = frozenset()
    """Our policies that are edited in place on 12.1 and newer."""
    drafts: tuple[str, ...] = ()
    """Drafts of our policies, left by an interrupted run."""
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Full path of the LTM node, by the address of a member of our pools."""
    stands_alone: bool = False
    """True if the device trusts no other, so that none can take over from it."""
    generations: Mapping[Ref, int] = field(default_factory=dict)
    """Generations of our REST objects, and of the virtual servers, as they were with what was read."""


LARGE = 2000
"""A collection with more of our objects is read in pages."""

_RULES = "/rules"

_WHOLE = (Pool, CertFile, KeyFile, ServerSSL)
"""Types whose equal objects take each other's place, also in what `==` does not compare."""


@dataclass(frozen=True, slots=True)
class Expected:
    """Made before a reading by the thread that owns the objects; then any thread may use it."""

    desired: BigIPState = field(default_factory=dict)
    """The objects as they are wanted; they may change meanwhile."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Number of our objects by collection."""

    def is_large(self, collection: str) -> bool:
        """True for the path of a collection that is read in pages."""
        return self.counts.get(collection, 0) > LARGE

    def policies(self) -> list[str]:
        """Return the paths of the collections of Rules that are expected."""
        return [path for path in self.counts if path.endswith(_RULES)]

    def shared(self, ref: Ref, obj: Object) -> Object:
        """Return an object as read, sharing every equal value with the desired object."""
        known = self.desired.get(ref)
        if known is None or known != obj:
            return obj
        if isinstance(known, Rule) and isinstance(obj, Rule):
            return changed(known, ordinal=obj.ordinal, extra_dependencies=obj.extra_dependencies,
                           hosts=known.hosts if known.hosts == obj.hosts else obj.hosts)
        same = isinstance(known, ClientSSL) and isinstance(obj, ClientSSL) and (
            known.own_parent == obj.own_parent)
        return known if same or isinstance(known, _WHOLE) else with_ref_of(known, obj)


NOTHING = Expected()


def rules_path(policy: str) -> str:
    """Return the path of a policy's Rules below /mgmt/tm."""
    return item_path(Policy.KIND, policy, "rules")


def expect(desired: BigIPState, observed: BigIPState) -> Expected:
    """Return the objects and the numbers of objects to expect on a device."""
    counts = Counter[str]()
    for state in (desired, observed):
        kinds = Counter(ref.kind for ref in state)
        rules = Counter(obj.policy for obj in state.values() if isinstance(obj, Rule))
        counts |= kinds + Counter({rules_path(policy): number for policy, number in rules.items()})
    return Expected(desired, counts)
