"""Weights of the Services behind a Route, and the ratios of pool members that express them.

Source: openshift/router, pkg/router/template/router.go: calculateServiceWeights, getServiceUnits.
"""

import math
from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from typing import TypeVar

from f5router.model.cluster import Route

Backing = TypeVar("Backing", bound=Hashable)
"""Whatever stands for a Service."""

MAX_WEIGHT = 256
DEFAULT_WEIGHT = 1
"""Weight of a Service that names none; the API server fills in 100, so only raw objects get this."""

MAX_RATIO = 100
"""The range that every source gives at least: f5-ansible's bigip_pool_member and AS3 take 1 to 100."""


def effective(weight: int | None) -> int:
    """Clamp the weight of a Route's backend to 0..256; an absent one is DEFAULT_WEIGHT."""
    return DEFAULT_WEIGHT if weight is None else max(0, min(weight, MAX_WEIGHT))


def of(route: Route, weight: int | None) -> int:
    """Return the weight of one of a Route's backends; those of other objects have no upper limit."""
    return effective(weight) if route.origin is None or weight is None else max(0, weight)


def ratios(weights: Mapping[Backing, int], endpoints: Mapping[Backing, int]) -> dict[Backing, int]:
    """Compute the ratio of each endpoint of each Service.

    A Service's share of the requests is its weight, divided evenly among its endpoints. Ratios are
    reduced by their common divisor, so that most weights are met exactly; larger ones are scaled down to
    MAX_RATIO, and a positive one is never below 1.

    Args:
        weights: effective weight by Service.
        endpoints: number of usable endpoints by Service; those without any are left out.

    Returns: ratio by Service; 0: new sessions go elsewhere, and all are 0 where no weight is positive.
    """
    shares = {name: Fraction(weights[name], count) for name, count in endpoints.items() if count}
    positive = [share for share in shares.values() if share]
    if not positive:
        return dict.fromkeys(shares, 0)
    common = math.lcm(*(share.denominator for share in positive))
    whole = {name: int(share * common) for name, share in shares.items()}
    divisor, most = math.gcd(*whole.values()), max(whole.values())
    if most // divisor > MAX_RATIO:
        return {name: max(1, round(Fraction(value * MAX_RATIO, most))) if value else 0
                for name, value in whole.items()}
    return {name: value // divisor for name, value in whole.items()}


def warnings(route: Route) -> Iterator[str]:
    """Yield which weights of a Route are out of range, and what counts instead."""
    if not route.alternates and (route.weight is None or route.weight == effective(route.weight)):
        return
    if route.origin is not None:
        return
    fields = [("spec.to.weight", route.weight)]
    fields += [(f"spec.alternateBackends[{number}].weight", backend.weight)
               for number, backend in enumerate(route.alternates)]
    for name, weight in fields:
        if weight is not None and weight != effective(weight):
            yield (f"{name}: {weight} is not in the range 0 to {MAX_WEIGHT}; "
                   f"{effective(weight)} counts instead")
