"""Header actions of a Route (spec.httpHeaders): those that are valid, and a sentence for each that is not.

OpenShift's API server refuses such a Route; a cluster without that validation serves it without the action.
Source: openshift/library-go, pkg/route/validation/validation.go.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

from f5router.model import header_actions
from f5router.model.header_actions import DELETE, MOST_ACTIONS, MOST_TOGETHER, REQUEST, RESPONSE, SET
from f5router.model.hostnames import quote

FIELD = "spec.httpHeaders"
MOST_LISTED = 5
"""Sentences about one Route's actions."""


class HeaderActions(NamedTuple):
    """The actions of a Route, each in the form of a record."""

    request: tuple[str, ...] = ()
    response: tuple[str, ...] = ()


NONE = HeaderActions()


def parse(headers: object, termination: str) -> tuple[HeaderActions, tuple[str, ...]]:
    """Read spec.httpHeaders.

    Args: termination: of spec.tls; "" without TLS.
    Returns: the actions, and a sentence for each that has no effect.
    """
    actions = headers.get("actions") if isinstance(headers, Mapping) else None
    lists = {name: items for name in ("request", "response")
             if isinstance(actions, Mapping) and isinstance(items := actions.get(name), list) and items}
    if not lists:
        return NONE, ()
    if termination == "passthrough":
        return NONE, (f"{FIELD} has no effect on a Route with termination 'passthrough'",)
    problems: list[str] = []
    request = _parse_list("request", lists.get("request", ()), REQUEST, MOST_TOGETHER, problems)
    room = MOST_TOGETHER - sum(len(text) // 2 for text in request)
    response = _parse_list("response", lists.get("response", ()), RESPONSE, room, problems)
    more = len(problems) - MOST_LISTED
    texts = problems[:MOST_LISTED] + ([f"{FIELD}: {more} more have no effect"] if more > 0 else [])
    return HeaderActions(request, response), tuple(texts)


def _parse_list(
    name: str, items: Iterable[object], side: str, room: int, problems: list[str],
) -> tuple[str, ...]:
    """Return the valid actions of one list. Args: room: bytes that they may have together."""
    place = f"{FIELD}.actions.{name}"
    actions: dict[str, str] = {}
    for number, item in enumerate(islice(items, MOST_ACTIONS + 1)):
        if number == MOST_ACTIONS:
            problems.append(f"{place}: there are more than {MOST_ACTIONS} actions; the first ones count")
            break
        try:
            header, text = _parse_action(item, side)
            if header in actions:
                raise ValueError(f"{quote(header)} stands there twice")
            actions[header] = text
        except ValueError as exc:
            problems.append(f"{place}[{number}]: {exc}; this action has no effect")

    def refuse(reason: str) -> None:
        problems.append(f"{place}: {reason}; this action has no effect")
    return header_actions.bounded(actions.items(), room, refuse)


def _parse_action(item: object, side: str) -> tuple[str, str]:
    """Return the name of a header and the form of the action on it. Raises: ValueError: a reason."""
    name = item.get("name") if isinstance(item, Mapping) else None
    action = item.get("action") if isinstance(item, Mapping) else None
    if not isinstance(name, str) or not isinstance(action, Mapping):
        raise ValueError("an action has a name and an action")
    to_set = action.get("set")
    if action.get("type") == DELETE and to_set is None:
        return name, header_actions.encode_delete(name)
    value = to_set.get("value") if isinstance(to_set, Mapping) else None
    if action.get("type") != SET or not isinstance(value, str):
        raise ValueError(f"the action on {quote(name)} must be of type Set with a value, or of type Delete")
    return name, header_actions.encode_set(name, value, side=side)
