"""Result of one reading of the device, from which the writers take what they need to know."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import Object
from f5router.model.objects import Ref


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
