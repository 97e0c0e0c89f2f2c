"""Statuses and Events of Ingresses and IngressRoutes, reported to the cluster after each pass.

status.loadBalancer.ingress shows where a served Ingress is reached: this router's canonical name, or the
addresses of its virtual servers. An Ingress has one controller, so the whole field is written.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from f5router.admission import condition, host_claims
from f5router.admission.admission import Rejection
from f5router.app.reports import ADMISSION, NOTICES, ObjectEvents, Reports
from f5router.desired.engine import Engine
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.status.object_status import ObjectStatusWriter
from f5router.kube.watch.sources import INGRESS_ROUTES
from f5router.model.cluster import Key, Route
from f5router.model.device_facts import VirtualFacts
from f5router.model.findings import CAUSES_OF_EMPTY_POOLS, CLAIMED, INVALID_INGRESS_ROUTE
from f5router.model.json_types import JSON
from f5router.model.limits import Steps, finish
from f5router.model.texts import SECRET_NOT_READ, WARNING, Problem, printable
from f5router.reconcile.report import Report
from f5router.sources.contour_entries import KIND
from f5router.sources.delegation_graph import INVALID, VALID, GraphStatus, StatusCounts
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.settings import INGRESS, ROUTE


def load_balancer_entries(hostname: str, virtuals: Iterable[VirtualFacts]) -> list[JSON]:
    """Return status.loadBalancer.ingress of an Ingress that one front end serves.

    Args: hostname: its canonical name; "" for the addresses of its virtual servers.
    """
    if hostname:
        return [{"hostname": hostname}]
    return [{"ip": address} for address in dict.fromkeys(each.address for each in virtuals if each.address)]


def load_balancer_status(entries: Iterable[JSON]) -> JSON:
    """Return the status of an Ingress with these entries."""
    return {"loadBalancer": {"ingress": list(entries)}}


class IngressReporter:
    """Reports results of passes. The thread that makes the passes uses it; other threads write.

    The part that a virtual Route has in its Ingress is in the record of that Route.
    """

    def __init__(self, cluster: ClusterWatcher, engine: Engine, statuses: ObjectStatusWriter,
                 events: EventWriter, reports: Reports, *, hostnames: Mapping[str, str]):
        """Args: hostnames: canonical names by front end; "" for the addresses of its virtual servers."""
        self._cluster, self._engine, self.hostnames = cluster, engine, hostnames
        self._withdrawn: frozenset[str] = frozenset()
        """Front ends that are to go: no status shows them any more."""
        self.statuses, self._events, self._reports = statuses, ObjectEvents(events, reports), reports
        self._unreported: dict[Key, None] = {}
        """Ingresses that changed while another replica led."""

    def passed(self, report: Report) -> None:
        """Report the result of a pass."""
        touched = {route.origin.key: None for route in report.removed.values()
                   if route.origin is not None and route.origin.kind == INGRESS}
        for key, verdict in report.verdicts.items():
            if (ingress := self._ingress_of(key)) is not None and verdict != condition.PENDING:
                touched[ingress] = None
                refusal = () if verdict.admitted or verdict.message == host_claims.REFUSAL else (
                    Problem(verdict.reason, verdict.message),)
                self._reports.of(ROUTE, key).is_admitted = bool(verdict.admitted)
                self._put(key, refusal, report.warnings.get(key, ()))
        for key in report.warnings.keys() - report.verdicts.keys():  # it waits, such as for a Secret
            if (ingress := self._ingress_of(key)) is not None:
                touched[ingress] = None
                self._put(key, (), report.warnings[key])
        if (source := self._cluster.objects(INGRESS)) is not None:
            touched |= {**self._unreported, **dict.fromkeys(source.take_changed())}
            self._unreported = {}
        for ingress in touched:
            self._report(ingress)
            self._submit(ingress)

    def withdraw(self, front_ends: Iterable[str]) -> None:
        """Leave the addresses of front ends that are to go out of all statuses."""
        self._withdrawn = frozenset(front_ends)
        served = [key for key in self._engine.routes() if key.front_end in self._withdrawn]
        for ingress in dict.fromkeys(filter(None, map(self._ingress_of, served))):
            self._submit(ingress)

    def follow(self) -> None:
        """Collect changes while another replica leads; deleted Ingresses are forgotten."""
        if (source := self._cluster.objects(INGRESS)) is not None:
            for key in source.take_changed():
                self._unreported.pop(key, None)
                if self._cluster.ingress(key) is not None:
                    self._unreported[key] = None

    def _ingress_of(self, key: Key) -> Key | None:
        """Return the Ingress that a virtual Route was made of; None for any other Route."""
        route = self._engine.route(key)
        return route.origin.key if route and route.origin and route.origin.kind == INGRESS else None

    def _put(self, key: Key, refusal: tuple[Problem, ...], warnings: tuple[Problem, ...]) -> None:
        self._reports.put(ROUTE, key, ADMISSION, refusal)
        self._reports.put(ROUTE, key, NOTICES, warnings)

    def _routes(self, ingress: Key) -> list[Key]:
        source = self._cluster.objects(INGRESS)
        routes = sorted(source.routes_of(ingress)) if source is not None else []
        return [key for route in routes for key in self._engine.on_front_ends(route)]

    def _report(self, key: Key) -> None:
        """Write Events for new texts of an Ingress, those about the Ingress itself first."""
        current, source = self._cluster.ingress(key), self._cluster.objects(INGRESS)
        if current is None or source is None:
            self._events.forget(INGRESS, key)
            return
        texts = [*source.condition(key), *(
            text for route in self._routes(key) for topic in (ADMISSION, NOTICES)
            for text in self._reports.problems(ROUTE, route, topic))]
        self._events.report(
            Involved(self._cluster.ingress_source().api_version, INGRESS, key, current.uid,
                     current.resource_version), texts)

    def _submit(self, key: Key) -> None:
        """Request the status of an Ingress; entries of another controller are left to that."""
        ingress, every = self._cluster.ingress(key), self._entries(self._engine.front_ends)
        admitted = {route: known.is_admitted if (known := self._reports.find(ROUTE, route)) else None
                    for route in self._routes(key)}
        serving = {route.front_end for route, is_admitted in admitted.items() if is_admitted}
        serving -= self._withdrawn
        entries = self._entries(name for name in self._engine.front_ends if name in serving)
        if ingress is None or not every or (serving and not entries):
            self.statuses.discard(key)
        elif entries:
            self.statuses.submit(key, ingress.uid, load_balancer_status(entries))
        elif ingress.load_balancer and all(each in every for each in ingress.load_balancer) and (
                None not in admitted.values()):  # all are judged
            self.statuses.submit(key, ingress.uid, load_balancer_status(()))

    def _entries(self, front_ends: Iterable[str]) -> list[JSON]:
        """Return status.loadBalancer.ingress of an Ingress that these front ends serve."""
        return [entry for name in front_ends for entry in load_balancer_entries(
            self.hostnames.get(name, ""), self._engine.front_ends.virtuals(name))]


_OF_ROUTES = CAUSES_OF_EMPTY_POOLS | {SECRET_NOT_READ}
"""Reasons of warnings about Routes that are not among those of their source."""


ROUTES_OF_A_STEP = 100
"""Most Routes of an IngressRoute that are looked at before the loop takes its messages."""


class IngressRouteReporter:
    """Reports results of passes. The thread that makes the passes uses it; another one writes.

    A vertex may have its routes below each of many roots of others, so each IngressRoute is evaluated in
    steps of the loop's background work. If it changes meanwhile, it is evaluated anew, behind all others.
    """

    def __init__(self, source: IngressRoutes, engine: Engine, statuses: ObjectStatusWriter,
                 events: EventWriter, reports: Reports, *, later: Callable[[Steps[None]], None],
                 selects: Callable[[str], bool] = lambda namespace: True,
                 wall: Callable[[], float] = time.time):
        """Arguments:
        later: takes work that the loop does in steps when nothing else is to be done.
        selects: True for a namespace that this router serves.
        wall: seconds since the epoch.
        """
        self._source, self._engine, self._selects = source, engine, selects
        self.statuses, self._reports, self._later = statuses, reports, later
        self._events = ObjectEvents(events, reports, hint="; f5router explain shows them")
        self.counts, self._wall = StatusCounts(), wall
        self._due: dict[Key, None] = {}
        """IngressRoutes whose status or Events may have changed, in the order in which they are evaluated."""
        self._is_under_way = False
        """True from the first step of an evaluation to its last."""

    def passed(self, report: Report) -> None:
        """Take the result of a pass, and have the IngressRoutes evaluated that it may have changed."""
        changed = self._source.take_changed()
        if report.full:
            changed |= self._source.objects.keys()
        for removed in report.removed.values():
            changed.update(_objects_of(removed))
        for key, verdict in report.verdicts.items():
            route = self._engine.route(key)
            if route is None or not (objects := _objects_of(route)):
                continue
            changed.update(objects)
            rejection = self._engine.rejection(key)
            text = verdict.message if rejection is None else _addition(verdict.message, rejection.message)
            is_refused = verdict.admitted is False and bool(text)
            self._reports.put(ROUTE, key, ADMISSION, (Problem(verdict.reason, text),) if is_refused else ())
        for key in report.warnings:
            if (route := self._engine.route(key)) is not None:
                changed.update(_objects_of(route))
        self._due |= dict.fromkeys(sorted(changed))
        if self._due and not self._is_under_way:
            self._is_under_way = True
            self._later(self._report_due())

    def finish(self) -> None:
        """Evaluate at once all that is due."""
        finish(self._report_due())

    def follow(self) -> None:
        """Drop changes while another replica leads: a full report has every object."""
        self._source.take_changed()
        self._due.clear()

    def _report_due(self) -> Steps[None]:
        try:
            while self._due:
                key = next(iter(self._due))
                del self._due[key]
                for _ in self._report(key):
                    yield
                    if key in self._due:
                        break
                yield
            self.counts.publish(self._wall())
        finally:
            self._is_under_way = False

    def _report(self, key: Key) -> Steps[None]:
        """Request the status of an IngressRoute, and write Events for new reasons."""
        status, obj = (yield from self._evaluated(key)), self._source.objects.get(key)
        if status is None or obj is None or not self._is_selected(key):
            self._events.forget(KIND, key)
            self.counts.put(key, None)
            self.statuses.discard(key)
            return
        problems = yield from self._problems(key, status)
        self.counts.put(key, status, is_root=obj.virtual_host is not None)
        self.statuses.submit(key, obj.uid, {"currentStatus": status.current,
                                          "description": printable(status.description)})
        about = Involved(INGRESS_ROUTES.api_version, KIND, key, obj.uid, obj.resource_version)
        self._events.report(about, problems)

    def _is_selected(self, key: Key) -> bool:
        """True if the namespace of an object, or of a root that reaches it, is selected.

        Other routers report the objects that they select.
        """
        roots, routes = self._source.roots(key), self._source.routes_of(key)
        if routes and not any(map(self._engine.on_front_ends, routes)):
            return False  # it is no front end's
        return any(self._selects(root.namespace) for root in roots or (key,))

    def _evaluated(self, key: Key) -> Steps[GraphStatus | None]:
        """Return the status, with the reason why admission rejects a Route of a valid object.

        Anybody's root may delegate to a vertex. The oldest one counts, of those that get their Host.
        """
        status = self._source.status(key)
        if status is None or status.current != VALID:
            return status
        is_root, lost = key in self._source.graphs, None
        for routes in self._below(key):
            first = yield from self._first_rejection(key, routes)
            if first is not None and first.reason == CLAIMED and not is_root:
                lost = lost or first
            elif first is not None:
                text = first.claimant_message if is_root and first.claimant_message else first.message
                return status._replace(current=INVALID, description=text)
            elif routes:
                return status
        return status._replace(current=INVALID, description=lost.message) if lost else status

    def _first_rejection(self, key: Key, routes: list[Key]) -> Steps[Rejection | None]:
        for start in range(0, len(routes), ROUTES_OF_A_STEP):
            yield
            for route in routes[start:start + ROUTES_OF_A_STEP]:
                if (rejection := self._rejection(key, route)) is not None:
                    return rejection
        return None

    def _below(self, key: Key) -> Iterator[list[Key]]:
        """Yield the Routes of an IngressRoute below each root that reaches it, the oldest root first."""
        owned = self._source.routes_of(key)
        for root in [key] if key in self._source.graphs else self._source.roots(key):
            if (graph := self._source.graphs.get(root)) is not None:
                yield [each for route in sorted(graph.routes.keys() & owned)
                       for each in self._engine.on_front_ends(route)]

    def _rejection(self, key: Key, route: Key) -> Rejection | None:
        """Return how an IngressRoute is involved in the rejection of a Route; None if it is not.

        A root is not to blame for an error of a vertex. Source: projectcontour/contour v1.5.1,
        internal/dag/builder.go: processIngressRoutes, where each object has a status of its own.
        """
        rejection = self._engine.rejection(route)
        if rejection is None or rejection.message == host_claims.REFUSAL:
            return None
        return None if rejection.of_owner and key != self._owner(route) else rejection

    def _owner(self, route: Key) -> Key | None:
        known = self._engine.route(route)
        return known.origin.key if known and known.origin else None

    def _problems(self, key: Key, status: GraphStatus) -> Steps[list[Problem]]:
        """Return the subjects of Events: why it is invalid, what the BIG-IP refused, warnings."""
        refused, warnings = dict[Problem, None](), dict[Problem, None]()
        for routes in self._below(key):
            for start in range(0, len(routes), ROUTES_OF_A_STEP):
                yield
                for route in routes[start:start + ROUTES_OF_A_STEP]:
                    refused |= dict.fromkeys(self._reports.problems(ROUTE, route, ADMISSION))
                    warnings |= dict.fromkeys(
                        each for each in self._engine.warnings(route) if each.reason in _OF_ROUTES)
        invalid = [Problem(INVALID_INGRESS_ROUTE, status.description)] if status.current == INVALID else []
        return [*invalid, *islice(refused, 1), *warnings,
                *(Problem(WARNING, text) for text in self._source.warnings(key))]


def _addition(text: str, rejection: str) -> str:
    """Return what the text of a verdict adds to that of a rejection, which an IngressRoute has already."""
    return text.removeprefix(f"{rejection}; ") if text.startswith(f"{rejection}; ") else ""


def _objects_of(route: Route) -> Iterable[Key]:
    """Return the IngressRoutes that a Route stands for: the owner of the entry, and the root."""
    origin = route.origin
    if origin is None or origin.kind != KIND:
        return ()
    return {origin.key, origin.claimant or origin.key}
