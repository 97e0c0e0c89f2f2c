"""Precedence of Rules: priority bands, and the ordinals in a policy that belong to each band."""

from f5router.model import hostnames
from f5router.model.names import digest

MAX_PATH = 2000
"""Longest Route path that has a priority band of its own; an exact one is shorter."""

BAND_WIDTH = 1 << 18
"""Ordinals in a band of Routes with exact hosts."""

WILDCARD_WIDTH = 1 << 15
"""Ordinals in a band of wildcard Routes; there are 20 times as many bands. All stay below 2 ** 31."""

_WILDCARDS = MAX_PATH + 2
"""The first band of wildcard Routes, and the number of bands before."""

LAST_ORDINAL = 2**31 - 1
"""Ordinal of default_noop, which comes after every other Rule."""


def priority_band(path: str, *, labels: int = 0, exact: bool = False) -> int:
    """Return the band of a Route: exact hosts first, then longer domains, then longer paths.

    Two Routes that can both match one request differ in it. An exact path has the band of those that are
    one character longer, which never match its only request. A condition on the end of a name matches at
    any depth, so the wildcard of a subdomain comes before that of the domain above. Source:
    openshift/router, pkg/router/template/util/util.go: SortMapPaths.

    Args:
        exact: True if the path stands for itself alone; it is shorter than MAX_PATH then.
        labels: number of labels in a wildcard's domain, at most hostnames.MOST_LABELS; 0 for an exact host.
    """
    length = len(path or "/") + 1 if exact else len(path)
    shorter = MAX_PATH - min(length, MAX_PATH)
    if not labels:
        return 1 + shorter
    return _WILDCARDS + (hostnames.MOST_LABELS - labels) * (MAX_PATH + 1) + shorter


def band_ordinals(band: int) -> range:
    """Return the ordinals of a band."""
    if band < _WILDCARDS:
        start, width = band * BAND_WIDTH, BAND_WIDTH
    else:
        start, width = _WILDCARDS * BAND_WIDTH + (band - _WILDCARDS) * WILDCARD_WIDTH, WILDCARD_WIDTH
    return range(start, start + width)


def band_of(ordinal: int) -> int:
    """Return the band that an ordinal belongs to."""
    above = ordinal - _WILDCARDS * BAND_WIDTH
    return ordinal // BAND_WIDTH if above < 0 else _WILDCARDS + above // WILDCARD_WIDTH


def first_ordinal(band: int, name: str) -> int:
    """Return where the search for a free ordinal starts; spread by name, so that few Rules collide."""
    ordinals = band_ordinals(band)
    return ordinals[int(digest(name), 16) % len(ordinals)]
