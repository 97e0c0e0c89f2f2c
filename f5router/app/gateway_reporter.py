"""Statuses and Events of GatewayClasses, Gateways and HTTPRoutes, reported to the cluster after each pass."""

import time
from collections.abc import Callable

from f5router.admission.condition import Verdict
from f5router.app.reports import ADMISSION, NOTICES, ObjectEvents, Reports
from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.status.object_status import ObjectStatusWriter
from f5router.kube.watch.sources import GATEWAYS
from f5router.model.cluster import Key, Route
from f5router.model.gateway import GATEWAY, HTTP_ROUTE
from f5router.model.texts import Problem, rfc3339
from f5router.reconcile.report import Report
from f5router.sources.gateway import reports
from f5router.sources.gateway.gateways import Gateways
from f5router.sources.gateway.listeners import HTTPS
from f5router.sources.gateway.statuses import Status
from f5router.sources.settings import ROUTE


class GatewayStatuses:
    """The writers of statuses, one for each kind."""

    def __init__(self, classes: ObjectStatusWriter, gateways: ObjectStatusWriter,
                 http_routes: ObjectStatusWriter):
        self.classes, self.gateways, self.http_routes = classes, gateways, http_routes
        self._all = (classes, gateways, http_routes)

    def flush(self, timeout_s: float, *, unless_forbidden: bool = False) -> bool:
        """Wait until nothing is left to write; False if that takes longer. See StatusWriter.flush."""
        end = time.monotonic() + timeout_s
        return all(writer.flush(max(0.0, end - time.monotonic()), unless_forbidden=unless_forbidden)
                   for writer in self._all)

    def stop(self) -> None:
        """End the threads; queued statuses are dropped."""
        for writer in self._all:
            writer.stop()


class GatewayReporter:
    """Reports results of passes. The thread that makes the passes uses it; other threads write."""

    def __init__(self, source: Gateways, cluster: ClusterWatcher, engine: Engine, device: Device,
                 statuses: GatewayStatuses, events: EventWriter, reported: Reports, *,
                 wall: Callable[[], float] = time.time):
        """Args: wall: seconds since the epoch."""
        self._source, self._cluster, self._engine, self._device = source, cluster, engine, device
        self.statuses, self._reports, self._wall = statuses, reported, wall
        self._events = ObjectEvents(events, reported)
        self._verdicts: dict[Key, Verdict] = {}
        """By virtual Route."""
        self._servers: tuple[bool, bool] = (True, True)
        """If the virtual servers were missing at the last report."""

    def passed(self, report: Report) -> None:
        """Report the result of a pass."""
        changed = self._source.take_changed()
        for route in report.removed.values():
            if self._verdicts.pop(route.key, None) is not None:
                changed |= _objects_of(route)
                self._reports.forget(ROUTE, route.key)
        for key in report.verdicts.keys() | report.warnings.keys():
            changed |= self._judged(key, report)
        servers = (self.lacks(""), self.lacks(HTTPS))
        if report.full or servers != self._servers:
            self._servers = servers
            changed |= {*self._source.evaluated, *self._source.http_routes,
                        *(Key("", name) for name in self._source.classes)}
        changed |= {key for gateway in changed & self._source.evaluated.keys()
                    for key in self._source.evaluated[gateway].attached}
        for key in sorted(changed):
            self._report(key)

    def follow(self) -> None:
        """Drop changes while another replica leads: a full report has every object."""
        self._source.take_changed()

    # --- reports.Programming -------------------------------------------------------------

    def lacks(self, protocol: str) -> bool:
        """See reports.Programming."""
        facts = self._device.facts
        return (facts.https if protocol == HTTPS else facts.http) is None

    def is_served(self, route: Key) -> bool | None:
        """See reports.Programming."""
        verdict = self._verdicts.get(route)
        return verdict.admitted if verdict else None

    def refusal(self, route: Key) -> Problem | None:
        """See reports.Programming."""
        verdict = self._verdicts.get(route)
        return Problem(verdict.reason, verdict.message) if verdict and verdict.admitted is False else None

    # --- reports -------------------------------------------------------------------------

    def _judged(self, key: Key, report: Report) -> set[Key]:
        """Record what a pass shows of a virtual Route; returns the objects that this concerns."""
        route = self._engine.route(key)
        if route is None or route.origin is None or route.origin.kind not in (GATEWAY, HTTP_ROUTE):
            return set()
        if (verdict := report.verdicts.get(key)) is not None:
            self._verdicts[key] = verdict
            refused = verdict.admitted is False and bool(verdict.message)
            self._reports.put(ROUTE, key, ADMISSION,
                              (Problem(verdict.reason, verdict.message),) if refused else ())
        if key in report.warnings:
            self._reports.put(ROUTE, key, NOTICES, report.warnings[key])
        return _objects_of(route)

    def _report(self, key: Key) -> None:
        """Request the statuses of the objects of a key, and write Events for new reasons."""
        now = rfc3339(self._wall())
        if not key.namespace:
            if (own := self._source.classes.get(key.name)) is not None:
                _submit(self.statuses.classes, key, own.uid, reports.class_status(own), now)
            return
        if (evaluated := self._source.evaluated.get(key)) is not None:
            gateway = evaluated.gateway
            status = reports.gateway_status(evaluated, self._source.settings.served.addresses, self)
            _submit(self.statuses.gateways, key, gateway.uid, status, now)
            self._warn(GATEWAY, key, gateway.uid, gateway.resource_version, [
                name for name, route in evaluated.routes.items()
                if route.origin and route.origin.kind == GATEWAY])
        else:
            self.statuses.gateways.discard(key)
            self._events.forget(GATEWAY, key)
        self._report_route(key, now)

    def _report_route(self, key: Key, now: str) -> None:
        route = self._source.http_routes.get(key)
        if route is None:
            self.statuses.http_routes.discard(key)
            self._events.forget(HTTP_ROUTE, key)
            return
        attachments = [(self._source.evaluated[gateway], each)
                       for gateway, each in self._source.attachments(key)]
        status = reports.route_status(route, attachments, self._source.settings.controller, self)
        if status.differs_from(self._known(key)):
            _submit(self.statuses.http_routes, key, route.uid, status, now)
        self._warn(HTTP_ROUTE, key, route.uid, route.resource_version,
                   sorted(self._source.routes_of(key)))

    def _known(self, key: Key) -> dict[str, object]:
        known = self._cluster.known_status("http_routes", key)
        return dict(known.status) if known else {}

    def _warn(self, kind: str, key: Key, uid: str, version: str, routes: list[Key]) -> None:
        texts = [text for route in routes for topic in (ADMISSION, NOTICES)
                 for text in self._reports.problems(ROUTE, route, topic)]
        self._events.report(Involved(GATEWAYS.api_version, kind, key, uid, version), texts)


def _submit(writer: ObjectStatusWriter, key: Key, uid: str, status: Status, now: str) -> None:
    writer.submit(key, uid, lambda known: status.merged(known, now))


def _objects_of(route: Route) -> set[Key]:
    """Return the objects that a virtual Route stands for: HTTPRoute and Gateway."""
    origin = route.origin
    return {origin.key, *((origin.claimant,) if origin.claimant else ())} if origin else set()
