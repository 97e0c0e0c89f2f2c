"""Order among the matches of a host and path that have the same rank.

The oldest HTTPRoute comes first, and of one HTTPRoute its first rule. Only matches of different subjects need
an order: of two with the same one no request has both. Source: kubernetes-sigs/gateway-api v1.4.1,
apis/v1/httproute_types.go, HTTPRouteRule.Matches.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from f5router.model.request_match import MOST_OWN_TIES, MOST_TIES

if TYPE_CHECKING:
    from f5router.sources.gateway.translation import RoutePlace

Age = tuple[str, str, str]
"""See HTTPRoute.age."""
Subject = tuple[bool, tuple[str, ...], tuple[str, ...]]
"""See RequestMatch.subject."""
Order = tuple[Age, int, Subject]
"""Age of an HTTPRoute, the number of a rule, and the subject of a match: the smaller comes first."""

Group = tuple[tuple[object, ...], int]
"""Listener, host and path, and a rank."""


class Ranks:
    """The places of equal rank, and how many come before each. Not thread-safe."""

    def __init__(self) -> None:
        self._places: dict[Group, dict[RoutePlace, Order]] = defaultdict(dict)
        self._ties: dict[RoutePlace, int] = {}
        """Places that others come before."""

    def put(self, orders: Mapping["RoutePlace", Order | None]) -> set["RoutePlace"]:
        """Place, move or remove what is served; returns the places whose ties differ.

        Args: orders: by place; None for one that is not served any more.
        """
        touched: dict[Group, list[RoutePlace]] = defaultdict(list)
        for place, order in orders.items():
            if place.match.is_narrow:
                group: Group = place[:-1], place.match.rank
                touched[group].append(place)
                if order is None:
                    self._places[group].pop(place, None)
                else:
                    self._places[group][place] = order
        changed: set[RoutePlace] = set()
        for group, those in touched.items():
            changed |= self._settle(group, those)
        return changed

    def ties(self, place: "RoutePlace") -> int:
        """Return how many come before a place."""
        return self._ties.get(place, 0)

    def _settle(self, group: Group, touched: Iterable["RoutePlace"]) -> set["RoutePlace"]:
        places = self._places[group]
        if not places:
            del self._places[group]
        ties = dict.fromkeys(touched, 0) | _count(places)
        changed = {place for place, count in ties.items() if self._ties.get(place, 0) != count}
        for place in changed:
            self._ties.pop(place, None)
            if ties[place]:
                self._ties[place] = ties[place]
        return changed


def _count(places: Mapping["RoutePlace", Order]) -> dict["RoutePlace", int]:
    """Return the ties of places: one more than the most of those before it with another subject.

    A namespace has only so many different ones: its further places are refused, and count for none behind
    them, so that it leaves room for those of others.
    """
    if len({place.match.subject for place in places}) < 2:
        return dict.fromkeys(places, 0)
    counts: dict[RoutePlace, int] = {}
    own: dict[str, set[int]] = defaultdict(set)
    """Ties that places of each namespace have."""
    most: tuple[Subject | None, int] = None, -1
    other = -1
    """The most, the subject that has it, and the most of all other subjects."""
    for place in sorted(places, key=places.__getitem__):
        subject = place.match.subject
        count = min((other if subject == most[0] else most[1]) + 1, MOST_TIES)
        had = own[places[place][0][1]]
        if count not in had and len(had) >= MOST_OWN_TIES:
            counts[place] = MOST_TIES
            continue
        had.add(count)
        counts[place] = count
        if subject == most[0]:
            most = subject, max(most[1], count)
        elif count > most[1]:
            most, other = (subject, count), most[1]
        else:
            other = max(other, count)
    return counts
