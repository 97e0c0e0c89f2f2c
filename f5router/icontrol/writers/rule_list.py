"""Rules of a draft in bulk: requests with the list of all its Rules, where many of them change.

A list takes the place of all Rules (bigip-behaviour.md B4), so it holds those that stay as well. It is used
only if the draft has exactly the Rules that are known. The result of lists is read before the draft is
published: F5's SDK shows that a PUT removes Rules which are not in the list (f5-common-python,
test_policy.py, test_policy_update_race), and no source describes PATCH.

A list that is refused is halved until the bad Rules are among a few, which are written alone. How much the
device takes at once is not documented either: a list may be some times as long as one that it took quickly.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from f5router.icontrol.codec import policy_codec
from f5router.icontrol.rest.wire import encode_body, encode_list
from f5router.model import names
from f5router.model.json_types import JSON
from f5router.model.ltm import Foreign, Policy, Rule
from f5router.plan.change import Change

LEAST = 8
"""Fewer Changes are written one by one; less than half of that when a bad Rule is looked for."""

SHARE = 50
"""A list has at most this number of Rules for each one that changes; publishing writes all of them anyway."""

FIRST = 1000
"""Most Rules of the first list: nothing is known yet of the time that the device takes."""

GROWTH = 4
"""A list may have this many times as many Rules as one that the device took."""

LIST_S = 15.0
"""Seconds that a list may take; the device stops waiting after 60 (bigip-behaviour.md A6)."""

Bodies = dict[str, bytes]
"""Rules of a policy by name, without default_noop, as they are sent: each is encoded once for all lists, and
takes a fraction of the memory of its members."""


def encoded(rules: Iterable[Rule]) -> Bodies | None:
    """Encode Rules; None if one has a form that is never written, so that it cannot be sent back."""
    bodies: Bodies = {}
    for rule in rules:
        if isinstance(rule.conditions, Foreign) or isinstance(rule.action, Foreign):
            return None
        try:
            bodies[rule.name] = encode_body(policy_codec.encode_rule(rule))
        except ValueError:  # text that is no valid Unicode
            return None
    return bodies


@dataclass
class KnownRules:
    """A published policy and its Rules."""

    policy: Policy
    bodies: Bodies


class Pace:
    """How long lists may be, by what the device took before."""

    def __init__(self) -> None:
        self.most = FIRST
        """Rules that a list may have."""
        self.lost: set[str] = set()
        """Policies whose last list had no usable reply: their next Changes are written one by one."""

    def took(self, rules: int, seconds: float) -> None:
        """Record how long the device took for a list."""
        bearable = int(rules * LIST_S / max(seconds, 0.001))
        if seconds > LIST_S / GROWTH:
            self.most = bearable
        else:
            self.most = max(self.most, min(rules * GROWTH, bearable))

    def lose(self, policy: str, rules: int) -> None:
        """Record a list without a usable reply; the cause may be its length, or one of its Rules."""
        self.most = min(self.most, rules // 2)
        self.lost.add(policy)


class RuleList:
    """All Rules of one draft, and how many of the waiting Changes the next list brings."""

    def __init__(self, known: KnownRules, pace: Pace, changes: int):
        """Args: changes: number of Changes to be written."""
        self.bodies = dict(known.bodies)
        """Rules that are in the draft by now."""
        self.sent: list[Change[Rule]] = []
        """Changes that the device took in lists."""
        self._next = self.bodies
        """Rules that are in the draft once it has taken the last list."""
        self._noop = encode_body(policy_codec.encode_noop(known.policy))
        self._pace = pace
        self._suspects = 0
        """Number of next Changes of which the device refuses some."""
        self._found = False
        """True if one of the suspects was refused alone."""
        self._wasted, self._saved = 0, changes.bit_length()
        """Number of requests that lists cost in vain, and of those that they may cost."""
        self._given_up = False

    @property
    def length(self) -> int:
        """Number of Rules in a list, default_noop included."""
        return len(self.bodies) + 1

    def is_worthwhile(self, changes: int) -> bool:
        """True if a number of Changes should go in lists."""
        return changes >= LEAST and self.length <= changes * SHARE

    def is_complete(self, shown: Iterable[JSON]) -> bool:
        """True if these are the Rules that are known, no more and no less."""
        return {str(item.get("name")) for item in shown} == {*self.bodies, names.NOOP_RULE}

    def next(self, waiting: int) -> int:
        """Return how many of the waiting Changes the next list brings; 0 if the next Change goes alone."""
        if self._given_up or self._wasted > self._saved:
            return 0
        least, most = (LEAST // 2, self._suspects // 2) if self._suspects else (LEAST, waiting)
        count = min(waiting, most, self._pace.most - self.length)
        return count if count >= least else 0

    def body(self, changes: Sequence[Change[Rule]]) -> bytes:
        """Encode the list that brings some Changes. Raises: ValueError: one cannot be encoded."""
        self._next = _applied(self.bodies, changes)
        return encode_list("rules", [*self._next.values(), self._noop])

    def took(self, changes: Sequence[Change[Rule]], seconds: float) -> None:
        """Record that the device accepted the last list, with its Changes."""
        self.bodies = self._next
        self.sent += changes
        self._saved += len(changes) - 1
        self._suspects = max(self._suspects - len(changes), 0)
        self._pace.took(self.length, seconds)

    def refused(self, count: int) -> None:
        """Record that the device refused a list with a number of Changes."""
        self._wasted += 1
        self._suspects, self._found = count, False

    def wrote_alone(self, change: Change[Rule], error: Exception | None) -> None:
        """Record the outcome of a Change that was written alone."""
        if error is None:
            _apply(self.bodies, change)
        self._found = self._found or error is not None
        if self._suspects:
            self._suspects -= 1
            # Alone all were accepted: what the device minds is the list, its length for instance.
            self._given_up = self._suspects == 0 and not self._found


def missing(changes: Iterable[Change[Rule]], shown: Iterable[JSON]) -> list[Change[Rule]]:
    """Return the Changes that a draft does not show: a Rule is not in its place, or was not deleted."""
    ordinals = {str(item.get("name")): item.get("ordinal") for item in shown}
    return [change for change in changes
            if (change.obj.name in ordinals if change.new is None
                else ordinals.get(change.obj.name) != change.new.ordinal)]


def _applied(bodies: Bodies, changes: Iterable[Change[Rule]]) -> Bodies:
    applied = dict(bodies)
    for change in changes:
        _apply(applied, change)
    return applied


def _apply(bodies: Bodies, change: Change[Rule]) -> None:
    if change.new is None:
        bodies.pop(change.obj.name, None)
    else:
        bodies[change.obj.name] = encode_body(policy_codec.encode_rule(change.new))
