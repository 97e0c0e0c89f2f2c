"""Conversion of LTM policies and their Rules to and from iControl REST JSON.

A Rule of a form that the router never writes becomes Foreign, which differs from every desired one.
Source: bigip-behaviour.md B4.
"""

import json
from collections.abc import Collection, Mapping
from typing import Any, TypeGuard

from f5router.icontrol.codec.ltm_codec import ODD, items, located, path_of
from f5router.model import hostnames, names, request_match
from f5router.model.json_types import JSON
from f5router.model.ltm import CheckedRedirect, Condition, Foreign, Forward, Policy, Redirect, Rule

_OPERANDS = {
    "httpHost": ("host",),
    "httpUri": ("path", "pathSegment", "queryParameter"),
    "httpHeader": ("all",),
    "httpMethod": ("all",),
}
_NAMED = ("httpHeader", "queryParameter")
"""Operands and selectors of which a condition names one."""
_WITH_SLOTS = names.VIRTUAL.keys() - {"Ingress", "IngressRoute"}
"""Kinds of objects whose Rules have slots in their bands."""
_OPERATORS = ("equals", "startsWith", "endsWith")
_VARIABLES = (names.POOL_VARIABLE, names.INSECURE_VARIABLE, names.HTTP_VARIABLE, names.STAY_VARIABLE,
              names.WILDCARD_VARIABLE, names.REDIRECT_VARIABLE, names.UNMATCHED_VARIABLE)
Action = Forward | Redirect | CheckedRedirect | Foreign
DEFAULT_STATUS = 302
"""Status of a redirect whose `code` is 0, or not there."""
_UNMATCHED = Foreign("")
"""The action of default_noop."""
# Names, and properties that are returned with every condition or action (bigip-behaviour.md B4).
_CONDITION_NOISE = frozenset({
    "kind", "name", "fullPath", "generation", "selfLink", "external", "present", "remote", "index",
    "request", "values", "caseInsensitive", "caseSensitive",
})
_ACTION_NOISE = frozenset({
    "kind", "name", "fullPath", "generation", "selfLink", "code", "expirySecs", "length", "offset",
    "port", "status", "timeout", "vlanId", "request", "poolReference",
})


def encode_policy(policy: Policy) -> dict[str, Any]:
    """Encode the body of a POST, with default_noop, without which the policy cannot be attached."""
    return {**located(policy.path), **policy_changes(policy), "rules": [encode_noop(policy)]}


def policy_changes(policy: Policy) -> dict[str, Any]:
    """Encode the body of a PATCH."""
    return {
        "controls": sorted(policy.controls),
        "requires": sorted(policy.requires),
        "strategy": f"/Common/{policy.strategy}",
    }


def encode_noop(policy: Policy) -> dict[str, Any]:
    """Encode the last Rule: no conditions, and at most the action that records that no other Rule matched."""
    actions = [_set_variable(0, names.UNMATCHED_VARIABLE, "1")] if policy.sets_pool_variable else []
    noop = {"name": names.NOOP_RULE, "ordinal": names.LAST_ORDINAL}
    return {**noop, "actions": actions} if actions else noop


def noop_changes(policy: Policy) -> dict[str, Any]:
    """Encode the body of a PATCH of the last Rule; both lists replace the old ones."""
    rule = {"conditions": [], "actions": [], **encode_noop(policy)}
    return {key: value for key, value in rule.items() if key != "name"}


def decode_policy(obj: JSON, rules: list[Rule] | None = None) -> tuple[Policy, list[Rule]]:
    """Decode a policy with its Rules; other people's Rules too, for their ordinals.

    Args: rules: its Rules, if they were read by themselves.
    """
    path = path_of(obj)
    if rules is None:
        rules = [decode_rule(path, item) for item in items(obj, "rules")]
    noops = [rule for rule in rules if rule.name == names.NOOP_RULE]
    policy = Policy(
        path, str(obj.get("strategy", "")).rsplit("/", 1)[-1],
        frozenset(obj.get("controls", ())), frozenset(obj.get("requires", ())),
        noop=bool(noops) and not noops[0].conditions and noops[0].ordinal == names.LAST_ORDINAL,
        sets_pool_variable=bool(noops) and noops[0].action == _UNMATCHED,
    )
    return policy, [rule for rule in rules if rule.name != names.NOOP_RULE]


def encode_rule(rule: Rule) -> dict[str, Any]:
    """Encode the body of a POST: conditions and action in one write."""
    return {"name": rule.name, **rule_changes(rule)}


def rule_changes(rule: Rule) -> dict[str, Any]:
    """Encode the body of a PATCH; both lists replace the old ones."""
    if isinstance(rule.conditions, Foreign) or isinstance(rule.action, Foreign):
        raise TypeError(f"{rule.ref}: a form that is never written")
    conditions = sorted(rule.conditions, key=lambda c: (c.operand, c.selector, c.operator, c.name))
    actions = [{"name": str(n), **action} for n, action in enumerate(_action(rule.action))]
    actions += [_set_variable(n, *pair) for n, pair in enumerate(_variables(rule).items(), len(actions))]
    return {
        "ordinal": rule.ordinal,
        "conditions": [{"name": str(n), **_condition(c)} for n, c in enumerate(conditions)],
        "actions": actions,
    }


def decode_rule(policy: str, obj: JSON) -> Rule:
    """Decode a Rule; a Rule of unknown form becomes Foreign."""
    try:
        return _decode_rule(policy, obj)
    except ODD:
        name = str(obj.get("name", "")) if isinstance(obj, Mapping) else ""
        odd = Foreign(_text(obj))
        return Rule(policy, name, names.band_of(0), odd, odd, 0)


def _decode_rule(policy: str, obj: JSON) -> Rule:
    conditions = [_decode_condition(item) for item in items(obj, "conditions")]
    foreign = next((c for c in conditions if isinstance(c, Foreign)), None)
    ordinal = int(obj.get("ordinal", 0))
    actions = [(item, _decode_set_variable(item)) for item in items(obj, "actions")]
    variables = dict(pair for _, pair in actions if pair)
    action = _decode_action([item for item, pair in actions if not pair], variables)
    return Rule(
        policy, str(obj["name"]), names.band_of(ordinal),
        foreign or frozenset(c for c in conditions if isinstance(c, Condition)),
        action, ordinal, hosts=_hosts(conditions), suffix=variables.get(names.WILDCARD_VARIABLE, ""),
        slot=_slot(str(obj["name"]), ordinal),
    )


def _slot(name: str, ordinal: int) -> int:
    if names.route_kind(name) not in _WITH_SLOTS:
        return 0
    return request_match.slot_of(names.band_ordinals(names.band_of(ordinal)), ordinal)


def _condition(condition: Condition) -> dict[str, Any]:
    body = {
        condition.operand: True, condition.selector: True, condition.operator: True, "request": True,
        "caseSensitive" if condition.case_sensitive else "caseInsensitive": True,
        "values": sorted(condition.values),
    }
    if condition.name:
        body["tmName"] = condition.name
    return {**body, "index": condition.index} if condition.index else body


def _decode_condition(item: JSON) -> Condition | Foreign:
    others = item.keys() - _CONDITION_NOISE
    flags = {name for name in others if item[name] is True}
    operand = next((name for name in _OPERANDS if name in flags), "")
    selector = next((name for name in _OPERANDS.get(operand, ()) if name in flags), "")
    operator = next((name for name in _OPERATORS if name in flags), "")
    words = {operand, selector, operator}
    if operand in _NAMED or selector in _NAMED:
        words.add("tmName")
    if "" in words or others != words or item.get("request") is not True:
        return Foreign(_text(item))
    return Condition(
        operand, selector, operator, frozenset(item.get("values", ())), int(item.get("index", 0)),
        case_sensitive=item.get("caseSensitive") is True, name=str(item.get("tmName", "")),
    )


def _action(action: Forward | Redirect | CheckedRedirect) -> list[dict[str, Any]]:
    """Encode the action; none for a CheckedRedirect, which an iRule carries out."""
    if isinstance(action, Forward):
        return [{"forward": True, "select": True, "request": True, "pool": action.pool}]
    if isinstance(action, Redirect):
        code = {"code": action.status} if action.status != DEFAULT_STATUS else {}
        return [{"httpReply": True, "redirect": True, "request": True, "location": action.location, **code}]
    return []


def _variables(rule: Rule) -> dict[str, str]:
    """Return the variables that a Rule sets for an iRule."""
    variables = {names.POOL_VARIABLE: rule.action.pool} if _sets_pool(rule.action) else {}
    if isinstance(rule.action, Forward) and rule.action.insecure:
        variables[names.INSECURE_VARIABLE] = "1"
    if isinstance(rule.action, Forward) and rule.action.http:
        variables[names.HTTP_VARIABLE] = rule.action.http
    if isinstance(rule.action, Forward) and rule.action.unbound:
        variables[names.STAY_VARIABLE] = names.NO_PERSISTENCE
    if isinstance(rule.action, CheckedRedirect):
        variables = {names.REDIRECT_VARIABLE: "1"}
    return {**variables, names.WILDCARD_VARIABLE: rule.suffix} if rule.suffix else variables


def _sets_pool(action: Action) -> TypeGuard[Forward]:
    return isinstance(action, Forward) and action.sets_pool_variable


def _set_variable(number: int, variable: str, value: str) -> dict[str, Any]:
    """Encode an action that sets a variable of iRules to a text. Source: recorded, ltm/policy/16.0.0."""
    return {"name": str(number), "tcl": True, "setVariable": True, "request": True,
            "tmName": variable, "expression": value}


def _decode_set_variable(item: JSON) -> tuple[str, str] | None:
    rest = set(item) - _ACTION_NOISE
    if rest != {"tcl", "setVariable", "tmName", "expression"} or item["tmName"] not in _VARIABLES:
        return None
    return str(item["tmName"]), str(item["expression"])


def _decode_action(actions: list[JSON], variables: Mapping[str, str]) -> Action:
    """Decode the action of a Rule. Args: variables: those that its other actions set."""
    pool, redirect = variables.get(names.POOL_VARIABLE), variables.get(names.REDIRECT_VARIABLE)
    insecure, http = variables.get(names.INSECURE_VARIABLE), variables.get(names.HTTP_VARIABLE)
    stay = variables.get(names.STAY_VARIABLE)
    if len(actions) == 1 and redirect is None and insecure in (None, "1") and (
            stay in (None, names.NO_PERSISTENCE)):
        item = actions[0]
        rest = set(item) - _ACTION_NOISE
        if rest == {"forward", "select", "pool"}:
            return Forward(str(item["pool"]), pool == item["pool"], insecure=insecure is not None,
                           http=http or "", unbound=stay is not None)
        if rest == {"httpReply", "redirect", "location"} and pool is insecure is http is stay is None:
            return Redirect(str(item["location"]), int(item.get("code") or DEFAULT_STATUS))
    if not actions and variables == {names.UNMATCHED_VARIABLE: "1"}:
        return _UNMATCHED
    checked = {names.REDIRECT_VARIABLE, names.WILDCARD_VARIABLE}
    if not actions and redirect == "1" and variables.keys() == checked:
        return CheckedRedirect()
    return Foreign(_text([actions, dict(variables)]))


def _hosts(conditions: Collection[Condition | Foreign]) -> frozenset[str]:
    if not conditions:
        return frozenset({hostnames.ANY})
    return frozenset(
        ("*" if condition.operator == "endsWith" else "") + value.split(":", 1)[0].rstrip(".")
        for condition in conditions
        if isinstance(condition, Condition) and condition.operand == "httpHost"
        for value in condition.values
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
