"""Ordinals of new and moved Rules. Adding a Route never rewrites the Rule of another."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from f5router.model import names
from f5router.model.ltm import Object, Rule
from f5router.model.objects import changed
from f5router.plan.change import AnyChange


class Ordinals:
    """How many Rules have an ordinal, by policy. Kept beside a state, it spares a look at all its objects."""

    def __init__(self, objects: Iterable[Object] = ()):
        self.counts: dict[str, Counter[int]] = {}
        for obj in objects:
            self.replace(None, obj)

    def replace(self, old: Object | None, new: Object | None) -> None:
        """Apply a change of the state."""
        if isinstance(old, Rule):
            counts = self.counts[old.policy]
            counts[old.ordinal] -= 1
            if not counts[old.ordinal]:
                del counts[old.ordinal]
            if not counts:
                del self.counts[old.policy]
        if isinstance(new, Rule):
            self.counts.setdefault(new.policy, Counter())[new.ordinal] += 1

    def is_used(self, policy: str, ordinal: int) -> bool:
        """True if a Rule of a policy has an ordinal."""
        return ordinal in self.counts.get(policy, ())


def with_ordinals(changes: list[AnyChange], ordinals: Ordinals) -> list[AnyChange]:
    """Assign every new or moved Rule an unused ordinal of its band; other Rules keep theirs."""
    chosen: set[tuple[str, int]] = set()
    return [_with_ordinal(change, ordinals, chosen) for change in changes]


def _with_ordinal(change: AnyChange, ordinals: Ordinals, chosen: set[tuple[str, int]]) -> AnyChange:
    rule = change.new
    if not isinstance(rule, Rule):
        return change
    if isinstance(change.old, Rule) and change.old.priority_band == rule.priority_band:
        return replace(change, new=changed(rule, ordinal=change.old.ordinal))
    band = names.band_ordinals(rule.priority_band)
    first = band.index(names.first_ordinal(rule.priority_band, rule.name))
    candidates = (band[(first + n) % len(band)] for n in range(len(band)))
    ordinal = next((candidate for candidate in candidates
                    if (rule.policy, candidate) not in chosen
                    and not ordinals.is_used(rule.policy, candidate)), band[first])
    chosen.add((rule.policy, ordinal))
    return replace(change, new=changed(rule, ordinal=ordinal))
