"""Keeps which pods of each Service the ways of the BIG-IP do not reach."""

from collections.abc import Iterable, Mapping

from f5router.desired.cluster_state import ClusterState
from f5router.model.cluster import Key
from f5router.network.static_routes import PodLocator


class PodPlaces:
    """Not thread-safe, except `count`."""

    def __init__(self, cluster: ClusterState):
        self._cluster, self._locator = cluster, PodLocator()
        self._problems: dict[Key, tuple[str, ...]] = {}
        """By Service, where there are any."""
        self.count = 0
        """Number of pods that are not reached; one that several Services have counts for each."""

    def set_locator(self, locator: PodLocator) -> set[Key]:
        """Replace the ways to pods; returns the Services whose problems differ."""
        if locator == self._locator:
            return set()
        self._locator = locator
        return self.update([*self._cluster.slices, *self._problems])

    def update(self, services: Iterable[Key]) -> set[Key]:
        """Re-check the pods of Services; returns the Services whose problems differ."""
        if not self._locator.spans and not self._problems:
            return set()
        return {service for service in dict.fromkeys(services) if self._update(service)}

    def _update(self, service: Key) -> bool:
        old = self._problems.pop(service, ())
        places = {place for each in self._cluster.slices.get(service, {}).values() for place in each.places}
        new = tuple(sorted(filter(None, (self._locator.problem(*place) for place in places))))
        if new:
            self._problems[service] = new
        self.count += len(new) - len(old)
        return new != old

    def problems(self, service: Key) -> tuple[str, ...]:
        """Return why pods of a Service are not reached."""
        return self._problems.get(service, ())

    def all_problems(self) -> Mapping[Key, tuple[str, ...]]:
        """Return the problems by Service."""
        return self._problems
