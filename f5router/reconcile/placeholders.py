"""Rules that lead nowhere, in place of Rules that wait for a Secret.

While a Route waits, its requests must not come to a less specific Route of its Host that did not have them
before. They would when the Host becomes another namespace's: the Rules of the one before go at once, and what
needs no Secret is there at once. Nor must they come to another namespace's wildcard above the Host, had that
them before or not. A team that adds a path keeps what serves its requests until then.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from f5router.desired.engine import Engine
from f5router.model import hostnames, names, sni_records
from f5router.model.front_end_names import base_name, beside, front_end_of
from f5router.model.ltm import BigIPState, Foreign, Forward, Object, Record, Rule, record_ref
from f5router.model.objects import Ref
from f5router.plan import rule_order
from f5router.plan.change import CREATE, Plan, of_kind
from f5router.reconcile.host_owners import HostOwners
from f5router.reconcile.successors import rule_paths

ByPath = Mapping[str, list[Rule]]


def with_placeholders(plan: Plan, held: frozenset[Ref], engine: Engine, observed: BigIPState,
                      nowhere: Forward) -> Plan:
    """Return the Changes of a Plan that are not held, and a placeholder for each new Rule that needs one.

    Args:
        held: objects that wait.
        nowhere: the action of placeholders.
    """
    possible = tuple(change for change in plan if change.ref not in held)
    waiting = [change for change in of_kind(plan, Rule) if change.ref in held and change.verb == CREATE]
    if not waiting:
        return possible
    places = _Places(engine, observed, possible)
    placeholders = {change.ref: replace(change, new=_placeholder(change.obj, observed, nowhere))
                    for change in waiting if places.would_change_hands(change.obj)}
    if not placeholders:
        return possible
    return tuple(placeholders.get(change.ref, change) for change in plan
                 if change.ref not in held or change.ref in placeholders)


def is_placeholder(obj: Object) -> bool:
    """True for a Rule that leads nowhere."""
    return (isinstance(obj, Rule) and isinstance(obj.action, Forward)
            and obj.action.pool.endswith(f"/{names.NOWHERE_POOL}"))


def _placeholder(rule: Rule, observed: BigIPState, nowhere: Forward) -> Rule:
    present = frozenset(ref for ref in rule.extra_dependencies if ref in observed)
    return replace(rule, action=nowhere, extra_dependencies=present, protection=frozenset())


class _Places:
    """Knows the Rules of each Host, before and after the Changes that do not wait.

    Every question costs about the same, however many paths a Host has: teams choose their number.
    """

    def __init__(self, engine: Engine, observed: BigIPState, possible: Plan):
        self._engine, self._observed = engine, observed
        self._written = {change.ref: change.new for change in of_kind(possible, Rule)
                         if change.new is not None}
        self._remaining = functools.cache(self._find_remaining)
        self._foreign = functools.cache(self._find_foreign)

    def would_change_hands(self, rule: Rule) -> bool:
        """True if requests of a Rule that waits would come to a Rule which does not have them now.

        Likewise if that one leads to the pods of another namespace, for a wildcard above.
        """
        nearest = min(self._less_specific(rule), key=lambda other: other.rank, default=None)
        if nearest is None:
            return False
        if rule.hosts.isdisjoint(nearest.hosts) and not is_placeholder(nearest) and (
                names.rule_namespace(rule.name) != names.rule_namespace(nearest.name)):
            return True
        before = self._observed.get(nearest.ref)
        if not isinstance(before, Rule) or before.conditions != nearest.conditions:
            return True
        return self._is_passed_through(rule) or any(
            other.rank < nearest.rank
            for place in rule_order.places(rule.policy, rule.hosts)
            for other in _covering(self._foreign().get(place, {}), rule))

    def _less_specific(self, rule: Rule) -> Iterator[Rule]:
        """Yield the Rules that would get the requests of a Rule, of its Hosts and of the wildcards above."""
        for host in rule.hosts:
            nearest = hostnames.wildcard(host)
            for each in dict.fromkeys((host, *hostnames.wildcards(host))):
                yield from (other for other in _covering(self._remaining(rule.policy, each), rule)
                            if each in (host, nearest) or not other.suffix)

    def _find_remaining(self, policy: str, host: str) -> ByPath:
        """Return the Rules that Routes of a Host want, and have or get now."""
        refs = {ref for uses in self._engine.host_routes(host, front_end_of(policy)).values() for ref in uses}
        rules = (self._written.get(ref) or self._observed.get(ref) for ref in refs)
        return _by_path(rule for rule in rules if isinstance(rule, Rule) and rule.policy == policy)

    def _find_foreign(self) -> Mapping[rule_order.Place, ByPath]:
        """Return the Rules that go because their Host is another namespace's, by what they cover."""
        owners = HostOwners(self._engine)
        by_place: dict[rule_order.Place, list[Rule]] = {}
        for ref, obj in self._observed.items():
            if (isinstance(obj, Rule) and ref not in self._engine.objects and not is_placeholder(obj)
                    and owners.serves_foreign_namespace(obj)):
                for place in rule_order.covered(obj):
                    by_place.setdefault(place, []).append(obj)
        return {place: _by_path(rules) for place, rules in by_place.items()}

    def _is_passed_through(self, rule: Rule) -> bool:
        """True if TLS of the Rule's Host does not end on the BIG-IP now, so that no Rule gets a request."""
        if base_name(rule.policy) != names.SECURE_POLICY:
            return False
        group = beside(rule.policy, names.PASSTHROUGH_GROUP)
        for host in rule.hosts:
            records = (self._observed.get(record_ref(group, each)) for each in sni_records.deciding(host))
            record = next(filter(None, records), None)
            if isinstance(record, Record) and record.data != names.EXCLUSION:
                return True
        return False


def _by_path(rules: Iterable[Rule]) -> ByPath:
    by_path: dict[str, list[Rule]] = {}
    for rule in rules:
        for path in rule_paths(rule) or ("",):
            by_path.setdefault(path, []).append(rule)
    return by_path


def _covering(by_path: ByPath, rule: Rule) -> Iterator[Rule]:
    """Yield the Rules whose path covers a Rule's path."""
    path = min(rule_paths(rule), key=len, default="")
    for length in range(len(path) + 1):
        yield from (other for other in by_path.get(path[:length], ()) if _covers(other, path))


def _covers(rule: Rule, path: str) -> bool:
    """True if a Rule whose path begins this one matches every request below it."""
    if isinstance(rule.conditions, Foreign):
        return True
    conditions = {condition.selector: condition for condition in rule.conditions}
    if not conditions.keys() <= {"host", "path", "pathSegment"}:
        return False  # it matches some of them alone
    if "path" not in conditions:
        return True
    texts = conditions["path"].values  # several in a Rule that somebody has edited
    if conditions["path"].operator == "equals":
        return path in texts
    by_segment = "pathSegment" in conditions
    return any(f"{path}/".startswith(f"{text.rstrip('/')}/") if by_segment or text.endswith("/")
               else path.startswith(text) for text in texts)
