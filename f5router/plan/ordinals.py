"""Ordinals of new and moved Rules. Adding a Route never rewrites the Rule of another."""

from dataclasses import replace

from f5router.model import priority
from f5router.model.ltm import BigIPState, Rule
from f5router.plan.change import AnyChange


def with_ordinals(changes: list[AnyChange], observed: BigIPState) -> list[AnyChange]:
    """Give every new or moved Rule an unused ordinal of its band; other Rules keep theirs."""
    if not any(isinstance(change.new, Rule) for change in changes):
        return changes
    used: dict[str, set[int]] = {}
    for obj in observed.values():
        if isinstance(obj, Rule):
            used.setdefault(obj.policy, set()).add(obj.ordinal)
    return [_with_ordinal(change, used) for change in changes]


def _with_ordinal(change: AnyChange, used_by_policy: dict[str, set[int]]) -> AnyChange:
    rule = change.new
    if not isinstance(rule, Rule):
        return change
    if isinstance(change.old, Rule) and change.old.priority_band == rule.priority_band:
        return replace(change, new=replace(rule, ordinal=change.old.ordinal))
    used = used_by_policy.setdefault(rule.policy, set())
    band = priority.band_ordinals(rule.priority_band)
    first = band.index(priority.first_ordinal(rule.priority_band, rule.name))
    candidates = (band[(first + n) % len(band)] for n in range(len(band)))
    ordinal = next((candidate for candidate in candidates if candidate not in used), band[first])
    used.add(ordinal)
    return replace(change, new=replace(rule, ordinal=ordinal))
