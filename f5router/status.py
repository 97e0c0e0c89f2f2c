"""What the router says of a Route in its status.

A Route has one entry per router name in status.ingress; the entries of other routers are theirs.
Source: haproxy-parity.md 3.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from f5router.cluster import Route

ADMITTED = "Admitted"
"""Type of the condition that this router writes; conditions of other types are kept."""

CANONICAL = "routerCanonicalHostname"
"""Field of an entry; left out when empty."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the router serves a Route, and why not."""

    admitted: bool
    reason: str = ""
    """CamelCase word for programs; "" when there is none."""
    message: str = ""
    """Sentence for people."""


def entries(route: Route, verdict: Verdict, *, host: str, router_name: str,
            canonical_hostname: str, now: str) -> list[dict] | None:
    """The new status.ingress of a Route.

    Args:
        host: the Host under which the Route is served, or would be.
        canonical_hostname: "" leaves routerCanonicalHostname out.
        now: RFC 3339 in UTC with whole seconds; the time of the condition if that changes.
    Returns:
        Every entry: others as they are and in order, ours in the place of our first one or at the
        end, further ones of our name left out. None when only a time would change.
    """
    ours = [entry for entry in route.status_ingress if entry.get("routerName") == router_name]
    old = ours[0] if ours else {}
    # Fields that we do not know may be defaults of the server: without them every pass would write.
    new = {field: value for field, value in old.items() if field != CANONICAL} | {
        "host": host,
        "routerName": router_name,
        "wildcardPolicy": route.wildcard_policy,
        "conditions": _conditions(old.get("conditions"), verdict, now),
    }
    if canonical_hostname:
        new[CANONICAL] = canonical_hostname
    if len(ours) == 1 and old == new:
        return None
    return _replaced(route.status_ingress, router_name, new)


def _replaced(existing: tuple[Mapping, ...], router_name: str, new: dict) -> list[dict]:
    result, placed = [], False
    for entry in existing:
        if entry.get("routerName") != router_name:
            result.append(entry)
        elif not placed:
            result.append(new)
            placed = True
    return result if placed else [*result, new]


def _conditions(existing: object, verdict: Verdict, now: str) -> list[dict]:
    """The conditions of our entry: Admitted replaced in place, or in front; others kept."""
    known = [item for item in existing if isinstance(item, Mapping)] if isinstance(existing, list) else []
    new = _admitted(verdict, now)
    result, placed = [], False
    for condition in known:
        if condition.get("type") != ADMITTED:
            result.append(condition)
        elif not placed:
            result.append(condition if _says_the_same(condition, new) else new)
            placed = True
    return result if placed else [new, *result]


def _admitted(verdict: Verdict, now: str) -> dict:
    condition = {"type": ADMITTED, "status": "True" if verdict.admitted else "False"}
    if verdict.reason:
        condition["reason"] = verdict.reason
    if verdict.message:
        condition["message"] = verdict.message
    return condition | {"lastTransitionTime": now}


def _says_the_same(one: Mapping, other: Mapping) -> bool:
    # A condition stored with an empty reason says the same as one without.
    return all((one.get(field) or "") == (other.get(field) or "")
               for field in ("status", "reason", "message"))
