"""Requests that a Route gets by more than host and path, and the slots of their Rules in a band of ordinals.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go, HTTPRouteRule.Matches: behind host and
path come a match of the method, the number of headers, the number of query parameters, and the age of the
HTTPRoute.
"""

from typing import NamedTuple

MOST_HEADERS, MOST_PARAMETERS = 16, 4
"""Headers and query parameters of one match."""
MOST_TIES = 16
"""Matches of one rank that may come before another one of it; see RequestMatch.ties."""
MOST_OWN_TIES = 8
"""Places among these that the HTTPRoutes of one namespace may have."""


class RequestMatch(NamedTuple):
    """Requirements on a request besides its host and its path."""

    method: str = ""
    """"" for any."""
    headers: tuple[tuple[str, str], ...] = ()
    """Names in lower case, and values; sorted."""
    query: tuple[tuple[str, str], ...] = ()
    """Names and values of parameters; sorted."""
    ties: int = 0
    """How many of the same rank, host and path come before it, each of which a request may match too;
    MOST_TIES and more if it cannot be served."""

    @property
    def is_narrow(self) -> bool:
        """True if not every request for its path matches."""
        return bool(self.method or self.headers or self.query)

    @property
    def rank(self) -> int:
        """Order among the matches of a host and path: the smaller comes first."""
        return ((not self.method) * (MOST_HEADERS + 1) + MOST_HEADERS - len(self.headers)) * (
            MOST_PARAMETERS + 1) + MOST_PARAMETERS - len(self.query)

    @property
    def subject(self) -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
        """Names that it looks at: no request has two different matches with one subject."""
        headers, query = (tuple(name for name, _ in pairs) for pairs in (self.headers, self.query))
        return bool(self.method), headers, query


ANY_REQUEST = RequestMatch()
"""All requests for a path."""
NO_REQUEST = RequestMatch("?")
"""No request: of a virtual Route that shows the certificate of its host, and serves nothing."""

_OF_RANK = MOST_TIES + 1
PLAIN_SLOT = ANY_REQUEST.rank * _OF_RANK + 1
"""The slot of Rules for all requests of a path. Those before are of matches."""


def slot(match: RequestMatch | None) -> int:
    """Return the slot of a Route's Rules in their band; 0 for all of it, where paths have no matches."""
    if match is None:
        return 0
    return match.rank * _OF_RANK + min(match.ties, MOST_TIES) + 1 if match.is_narrow else PLAIN_SLOT


def slot_ordinals(band: range, number: int) -> range:
    """Return the ordinals of a slot in a band: half of it is that of PLAIN_SLOT."""
    if not number:
        return band
    half = len(band) // 2
    width = half // (PLAIN_SLOT - 1)
    return band[half:] if number == PLAIN_SLOT else band[(number - 1) * width:number * width]


def slot_of(band: range, ordinal: int) -> int:
    """Return the slot that an ordinal of a band belongs to."""
    at, half = ordinal - band.start, len(band) // 2
    return PLAIN_SLOT if at >= half else min(at // (half // (PLAIN_SLOT - 1)) + 1, PLAIN_SLOT)
