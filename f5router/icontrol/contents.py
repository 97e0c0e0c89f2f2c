"""Contents of policies and data-groups, among the objects of the device."""

from f5router.model import ownership
from f5router.model.ltm import BigIPState, Policy, Record, Rule
from f5router.model.objects import Ref


def policy(observed: BigIPState, folder: str, path: str) -> tuple[Policy | None, list[Rule] | None]:
    """Return a policy and its Rules; None if some of the Rules are not ours."""
    container = observed.get(Ref(Policy.KIND, path))
    rules = [obj for obj in tuple(observed.values()) if isinstance(obj, Rule) and obj.policy == path]
    ours = all(ownership.owns(folder, rule) for rule in rules)
    return container if isinstance(container, Policy) else None, rules if ours else None


def records(observed: BigIPState, group: str) -> list[Record]:
    """Return the records of a data-group."""
    return [obj for obj in observed.values() if isinstance(obj, Record) and obj.group == group]
