"""Statuses and Events of IngressRoutes, reported to the cluster after each pass."""

import time
from collections.abc import Callable, Iterable

from f5router.admission.admission import CLAIMED, Rejection
from f5router.app.object_events import ObjectEvents
from f5router.desired.engine import Engine
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.status.object_status import ObjectStatusWriter
from f5router.kube.watch.sources import INGRESS_ROUTES
from f5router.model.cluster import Key, Route
from f5router.model.texts import SECRET_NOT_READ, WARNING, Problem, printable
from f5router.reconcile.report import Report
from f5router.sources import host_holding
from f5router.sources.contour_routes import KIND
from f5router.sources.ingress_routes import INVALID, REASON, VALID, GraphStatus, IngressRoutes
from f5router.sources.status_counts import StatusCounts


class IngressRouteReporter:
    """Reports results of passes. The thread that makes the passes uses it; another one writes."""

    def __init__(self, source: IngressRoutes, engine: Engine, writer: ObjectStatusWriter, events: EventWriter,
                 *, selects: Callable[[str], bool] = lambda namespace: True,
                 wall: Callable[[], float] = time.time):
        """Args: selects: True for a namespace that this router serves; wall: seconds since the epoch."""
        self._source, self._engine, self._selects = source, engine, selects
        self.writer = writer
        self._events = ObjectEvents(events, hint="; f5router explain shows them")
        self.counts, self._wall = StatusCounts(), wall
        self._refused: dict[Key, Problem] = {}
        """Why an admitted Route is not served, by virtual Route: settings, or what the BIG-IP refuses."""

    def passed(self, report: Report) -> None:
        """Report the result of a pass."""
        changed = self._source.take_changed()
        if report.full:
            changed |= self._source.objects.keys()
        for key, removed in report.removed.items():
            self._refused.pop(key, None)
            changed.update(_objects_of(removed))
        for key, verdict in report.verdicts.items():
            route = self._engine.route(key)
            if route is None or not (objects := _objects_of(route)):
                continue
            changed.update(objects)
            if verdict.admitted is False and self._engine.rejection(key) is None:
                self._refused[key] = Problem(verdict.reason, verdict.message)
            else:
                self._refused.pop(key, None)
        for key in report.warnings:
            if (route := self._engine.route(key)) is not None:
                changed.update(_objects_of(route))
        for key in sorted(changed):
            self._report(key)
        if changed:
            self.counts.publish(self._wall())

    def follow(self) -> None:
        """Drop what changed while another replica leads: a full report has every object."""
        self._source.take_changed()

    def forget(self) -> None:
        """Forget what was reported; a full report follows."""
        self._refused.clear()
        self._events.clear()

    def _report(self, key: Key) -> None:
        """Request the status of an IngressRoute, and write Events for new reasons."""
        status, obj = self._evaluated(key), self._source.objects.get(key)
        if status is None or obj is None or not self._is_selected(key):
            self._events.forget(key)
            self.counts.put(key, None)
            self.writer.discard(key)
            return
        self.counts.put(key, status, is_root=obj.virtual_host is not None)
        self.writer.submit(key, obj.uid, {"currentStatus": status.current,
                                          "description": printable(status.description)})
        about = Involved(INGRESS_ROUTES.api_version, KIND, key, obj.uid, obj.resource_version)
        self._events.report(about, self._problems(key, status))

    def _is_selected(self, key: Key) -> bool:
        """True if the namespace of an object is selected, or that of a root that reaches it.

        Other routers report the objects that they select.
        """
        roots = self._source.roots(key)
        return any(self._selects(root.namespace) for root in roots or (key,))

    def _evaluated(self, key: Key) -> GraphStatus | None:
        """Return the status, with the reason why admission rejects a Route of a valid object.

        Anybody's root may delegate to a vertex. The oldest one counts, of those that get their Host.
        """
        status = self._source.status(key)
        if status is None or status.current != VALID:
            return status
        owned, is_root, lost = self._source.routes_of(key), key in self._source.graphs, None
        for root in [key] if is_root else self._source.roots(key):
            routes = sorted(self._source.graphs[root].routes.keys() & set(owned))
            first = next(filter(None, (self._rejection(key, route) for route in routes)), None)
            if first is not None and first.reason == CLAIMED and not is_root:
                lost = lost or first
            elif first is not None:
                text = first.claimant_message if is_root and first.claimant_message else first.message
                return status._replace(current=INVALID, description=text)
            elif routes:
                return status
        return status._replace(current=INVALID, description=lost.message) if lost else status

    def _rejection(self, key: Key, route: Key) -> Rejection | None:
        """Return what an IngressRoute has to do with the rejection of a Route; None for nothing.

        A root is not to blame for an error of a vertex. Source: projectcontour/contour v1.5.1,
        internal/dag/builder.go: processIngressRoutes, where each object has a status of its own.
        """
        rejection = self._engine.rejection(route)
        if rejection is None or rejection.message == host_holding.REFUSAL:
            return None
        return None if rejection.of_owner and key != self._owner(route) else rejection

    def _owner(self, route: Key) -> Key | None:
        known = self._engine.route(route)
        return known.origin.key if known and known.origin else None

    def _problems(self, key: Key, status: GraphStatus) -> Iterable[Problem]:
        """Return what Events are about: why it is invalid, what the BIG-IP refused, warnings."""
        if status.current == INVALID:
            yield Problem(REASON, status.description)
        refused = (route for route in sorted(self._source.routes_of(key)) if route in self._refused)
        if (first := next(refused, None)) is not None:
            yield self._refused[first]
        for route in sorted(self._source.routes_of(key)):
            yield from (each for each in self._engine.warnings(route) if each.reason == SECRET_NOT_READ)
        for text in self._source.warnings(key):
            yield Problem(WARNING, text)


def _objects_of(route: Route) -> Iterable[Key]:
    """Return the IngressRoutes that a Route stands for: the owner of the entry, and the root."""
    origin = route.origin
    if origin is None or origin.kind != KIND:
        return ()
    return {origin.key, origin.claimant or origin.key}
