"""Rules of policies in words."""

from f5router.model.ltm import CheckedRedirect, Condition, Foreign, Forward, Redirect, Rule

_OPERATORS = {"equals": "is", "startsWith": "begins with", "endsWith": "ends with"}


def conditions(rule: Rule) -> str:
    """Return the conditions of a Rule in words."""
    if isinstance(rule.conditions, Foreign):
        return rule.conditions.text
    return ", ".join(sorted(map(_condition, rule.conditions)))


def _condition(condition: Condition) -> str:
    """Return a condition in words; a host without its forms with a port or a final dot."""
    what = f"path segment {condition.index}" if condition.index else condition.selector
    is_host = condition.selector == "host"
    values = " or ".join(sorted({_bare(value) if is_host else value for value in condition.values}))
    return f"{what} {_OPERATORS.get(condition.operator, condition.operator)} {values}"


def _bare(host: str) -> str:
    return host.partition(":")[0].removesuffix(".")


def action(rule: Rule) -> str:
    """Return the action of a Rule in words."""
    match rule.action:
        case Forward(pool=pool):
            return f"pool {pool}"
        case Redirect(status=status):
            return f"redirect {status} to https"
        case CheckedRedirect():
            return "redirect 302 to https"
    return rule.action.text
