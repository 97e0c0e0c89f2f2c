"""Results for each Route, by the objects of its Host."""

from collections.abc import Mapping

from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.claim_index import ClaimIndex, Site
from f5router.desired.contributions import HostObjects
from f5router.model.cluster import Key, Route, Secret
from f5router.model.objects import Ref
from f5router.model.texts import Problem

NOTHING = HostObjects()


class RouteResults:
    """Read by everybody; the Engine, which is one, fills it."""

    def __init__(self, claim_index: ClaimIndex):
        self._claim_index = claim_index
        self._host_objects: dict[Site, HostObjects] = {}

    def routes(self) -> Mapping[Key, EvaluatedRoute]:
        """Return every Route of the cluster."""
        return self._claim_index.routes()

    def route(self, key: Key) -> Route | None:
        """Return a Route as it was evaluated."""
        return checked.route if (checked := self._claim_index.routes().get(key)) else None

    def rejection(self, key: Key) -> Rejection | None:
        """Return why a Route is not admitted; None if it is."""
        return self._objects_of(key).rejections.get(key)

    def fault(self, key: Key) -> str:
        """Return why this router cannot serve an admitted Route; "" if it can."""
        return fault.message if (fault := self.fault_status(key)) else ""

    def fault_status(self, key: Key) -> Rejection | None:
        """Return the fault of an admitted Route as its status has it; None if it has none."""
        return self._objects_of(key).faults.get(key)

    def uses(self, key: Key) -> frozenset[Ref]:
        """Return the objects through which requests come to an admitted Route."""
        return self._objects_of(key).uses.get(key, frozenset())

    def closing(self, key: Key) -> frozenset[Ref]:
        """Return the objects that keep the requests of a rejected Route from others."""
        return self._objects_of(key).closing.get(key, frozenset())

    def pending_secret(self, key: Key) -> Secret | None:
        """Return the Secret that an admitted Route waits for."""
        checked = self._claim_index.routes().get(key)
        waits = checked is not None and self.rejection(key) is None
        return checked.pending_secret or checked.pending_authority if checked and waits else None

    def pending(self, key: Key) -> bool:
        """True if no version of a Route was checked yet, so that nobody knows whether it is valid."""
        return (checked := self._claim_index.routes().get(key)) is not None and checked.pending

    def host_routes(self, host: str, front_end: str) -> Mapping[Key, frozenset[Ref]]:
        """Return the admitted Routes of a Host on a front end, each with the objects that it uses."""
        return self._host_objects.get(Site(front_end, host), NOTHING).uses

    def own_warnings(self, key: Key) -> tuple[Problem, ...]:
        """Return the warnings about a Route that are not about its Services."""
        return self._objects_of(key).warnings.get(key, ())

    def _objects_of(self, key: Key) -> HostObjects:
        checked = self.routes().get(key)
        return self._host_objects.get(Site(key.front_end, checked.host), NOTHING) if checked else NOTHING
