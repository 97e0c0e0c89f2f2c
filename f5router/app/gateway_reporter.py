"""Statuses and Events of GatewayClasses, Gateways and routes, reported to the cluster after each pass."""

import time
from collections.abc import Callable, Collection, Mapping

from f5router.admission.condition import Verdict
from f5router.app.gateway_servers import GatewayServers
from f5router.app.reports import ADMISSION, NOTICES, ObjectEvents, Reports
from f5router.desired.engine import Engine
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.status.object_status import ObjectStatusWriter
from f5router.kube.watch.sources import BACKEND_POLICIES, GATEWAY_ROUTES, GATEWAYS, Source
from f5router.model.cluster import Key, Route, Subject
from f5router.model.gateway import GATEWAY, ROUTE_KINDS
from f5router.model.limits import Steps, finish
from f5router.model.texts import Problem, rfc3339
from f5router.reconcile.report import Report
from f5router.sources.gateway import features, reports, verdicts
from f5router.sources.gateway.gateways import Gateways
from f5router.sources.gateway.statuses import GatewayStatus, PolicyStatus, RouteParents, Status
from f5router.sources.gateway.verdicts import ObjectCounts
from f5router.sources.settings import ROUTE, origins


class GatewayStatuses:
    """The writers of statuses, one for each kind."""

    def __init__(self, classes: ObjectStatusWriter, gateways: ObjectStatusWriter,
                 policies: ObjectStatusWriter, routes: Mapping[str, ObjectStatusWriter]):
        """Args: routes: by kind."""
        self.classes, self.gateways, self.policies, self.routes = classes, gateways, policies, routes
        self._all = (classes, gateways, policies, *routes.values())

    def flush(self, timeout_s: float, *, unless_forbidden: bool = False) -> bool:
        """Wait until nothing is left to write; False if that takes longer. See StatusWriter.flush."""
        end = time.monotonic() + timeout_s
        return all(writer.flush(max(0.0, end - time.monotonic()), unless_forbidden=unless_forbidden)
                   for writer in self._all)

    def stop(self) -> None:
        """End the threads; queued statuses are dropped."""
        for writer in self._all:
            writer.stop()


ROUTES_OF_A_STEP = 100
"""Most virtual Routes of an object that are looked at before the loop takes its messages."""


class GatewayReporter:
    """Reports results of passes. The thread that makes the passes uses it; other threads write.

    A change of a Gateway may concern all HTTPRoutes that name it, so each object is reported in a step of the
    loop's background work.
    """

    def __init__(self, source: Gateways, cluster: ClusterWatcher, engine: Engine, servers: GatewayServers,
                 statuses: GatewayStatuses, events: EventWriter, reported: Reports, *,
                 later: Callable[[Steps[None]], None], wall: Callable[[], float] = time.time):
        """Args: later: takes work that is done in steps; wall: seconds since the epoch."""
        self._source, self._cluster, self._engine, self._servers = source, cluster, engine, servers
        self.lacks, self.server_refusal, self.addresses = (
            servers.lacks, servers.refusal, servers.addresses)
        """See reports.Programming."""
        self.statuses, self._reports, self._wall = statuses, reported, wall
        self._events = ObjectEvents(events, reported)
        self._verdicts: dict[Key, Verdict] = {}
        """By virtual Route."""
        self._refused: dict[Key, dict[Subject, set[Key]]] = {}
        """By Gateway, then by route: virtual Routes that are not served."""
        self._states: dict[Key, object] = {}
        """State of the virtual servers of each Gateway at the last report."""
        self.counts = ObjectCounts((GATEWAY, *ROUTE_KINDS))
        self._later = later
        self._due: dict[Key, None] = {}
        """Objects to report, in their order."""
        self._is_under_way = False
        """True from the first step of reports to the last one."""

    def passed(self, report: Report) -> None:
        """Report the result of a pass."""
        changed = self._source.take_changed()
        for route in report.removed.values():
            if self._verdicts.pop(route.key, None) is not None:
                self._note_refusal(route, is_refused=False)
                changed |= _objects_of(route)
                self._reports.forget(ROUTE, route.key)
        for key in report.verdicts.keys() | report.warnings.keys():
            changed |= self._judged(key, report)
        before, self._states = self._states, {
            key: self._servers.state(each) for key, each in self._source.evaluated.items()}
        changed |= {key for key, state in self._states.items() if before.get(key) != state}
        if report.full:
            changed |= {*self._source.evaluated, *(subject.key for subject in self._source.routes),
                        *self._source.policies,
                        *(Key("", name) for name in self._source.classes)}
        self._due |= dict.fromkeys(sorted(changed))
        if self._due and not self._is_under_way:
            self._is_under_way = True
            self._later(self._report_due())

    def finish(self) -> None:
        """Report at once all that is due."""
        finish(self._report_due())

    def follow(self) -> None:
        """Drop changes while another replica leads: a full report has every object."""
        self._source.take_changed()
        self._due.clear()
        self.counts.clear()

    # --- reports.Programming -------------------------------------------------------------

    def is_served(self, route: Key) -> bool | None:
        """See reports.Programming."""
        verdict = self._verdicts.get(route)
        return verdict.admitted if verdict else None

    def refusal(self, route: Key) -> Problem | None:
        """See reports.Programming."""
        verdict = self._verdicts.get(route)
        return Problem(verdict.reason, verdict.message) if verdict and verdict.admitted is False else None

    def refused_on(self, gateway: Key) -> Collection[Subject]:
        """See reports.Programming."""
        return self._refused.get(gateway, {}).keys()

    # --- reports -------------------------------------------------------------------------

    def _judged(self, key: Key, report: Report) -> set[Key]:
        """Record what a pass shows of a virtual Route; returns the objects that this concerns."""
        route = self._engine.route(key)
        if route is None or route.origin is None or route.origin.kind not in origins(GATEWAY):
            return set()
        if (verdict := report.verdicts.get(key)) is not None:
            self._verdicts[key] = verdict
            self._note_refusal(route, is_refused=verdict.admitted is False)
            refused = verdict.admitted is False and bool(verdict.message)
            self._reports.put(ROUTE, key, ADMISSION,
                              (Problem(verdict.reason, verdict.message),) if refused else ())
        if key in report.warnings:
            self._reports.put(ROUTE, key, NOTICES, report.warnings[key])
        return _objects_of(route)

    def _note_refusal(self, route: Route, *, is_refused: bool) -> None:
        """Record that a virtual Route of a route is refused, or not."""
        if (origin := route.origin) is None or origin.claimant is None:
            return
        routes = self._refused.setdefault(origin.claimant, {})
        names = routes.setdefault(route.subject, set())
        (names.add if is_refused else names.discard)(route.key)
        if not names:
            del routes[route.subject]
        if not routes:
            del self._refused[origin.claimant]

    def _report_due(self) -> Steps[None]:
        try:
            while self._due:
                key = next(iter(self._due))
                del self._due[key]
                yield from self._report(key)
                yield
        finally:
            self._is_under_way = False

    def _report(self, key: Key) -> Steps[None]:
        """Request the statuses of the objects of a key, and write Events for new reasons."""
        now = rfc3339(self._wall())
        if not key.namespace:
            if (own := self._source.classes.get(key.name)) is not None:
                _submit(self.statuses.classes, key, own.uid,
                        reports.class_status(own, self._features()), now)
            return
        if (evaluated := self._source.evaluated.get(key)) is not None:
            gateway = evaluated.gateway
            status = reports.gateway_status(evaluated, self)
            _submit(self.statuses.gateways, key, gateway.uid, status, now)
            about = Involved(self._cluster.source_of(GATEWAYS).api_version, GATEWAY, key, gateway.uid,
                             gateway.resource_version)
            yield from self._warn(about, status, list(evaluated.virtual.closing()))
        else:
            self.statuses.gateways.discard(key)
            self._forget(GATEWAY, key)
        self._report_policy(key, now)
        for kind in ROUTE_KINDS:
            yield from self._report_route(Subject(kind, key), now)

    def _features(self) -> tuple[str, ...]:
        """Return the features that the status of a GatewayClass has.

        Source: kubernetes-sigs/gateway-api, since v1.4 in the standard channel, as is BackendTLSPolicy v1;
        before that they were texts, or objects, or not there.
        """
        has_field = self._cluster.version_of(BACKEND_POLICIES) == "v1"
        return features.served(self._source.settings) if has_field else ()

    def _report_policy(self, key: Key, now: str) -> None:
        if key not in self._source.policies:
            self.statuses.policies.discard(key)
            return
        policy = self._source.policies[key]
        status = PolicyStatus(policy.generation, self._source.settings.controller,
                              tuple(self._source.ancestors(policy)), self._source.policies.conditions(policy))
        if status.differs_from(self._known(BACKEND_POLICIES, key)):
            _submit(self.statuses.policies, key, policy.uid, status, now)

    def _report_route(self, subject: Subject, now: str) -> Steps[None]:
        (kind, key), route = subject, self._source.routes.get(subject)
        if route is None:
            self.statuses.routes[kind].discard(key)
            self._forget(kind, key)
            return
        attachments = [(self._source.evaluated[gateway], each)
                       for gateway, each in self._source.attachments(subject)]
        status = reports.route_status(route, attachments, self._source.settings.controller, self)
        if status.differs_from(self._known(GATEWAY_ROUTES[kind], key)):
            _submit(self.statuses.routes[kind], key, route.uid, status, now)
        served = self._cluster.source_of(GATEWAY_ROUTES[kind])
        about = Involved(served.api_version, kind, key, route.uid, route.resource_version)
        yield from self._warn(about, status, sorted(self._source.routes_of(key, kind)))

    def _forget(self, kind: str, key: Key) -> None:
        self._events.forget(kind, key)
        self.counts.put(Subject(kind, key), None)

    def _known(self, kind: Source, key: Key) -> dict[str, object]:
        known = self._cluster.known_status(kind.field, key)
        return dict(known.status) if known else {}

    def _warn(self, about: Involved, status: GatewayStatus | RouteParents, routes: list[Key]) -> Steps[None]:
        """Count an object, and write Events about it. Args: routes: its virtual Routes."""
        self.counts.put(Subject(about.kind, about.key), verdicts.state(status))
        texts = list(verdicts.problems(status))
        for start in range(0, len(routes), ROUTES_OF_A_STEP):
            some = routes[start:start + ROUTES_OF_A_STEP]
            texts += [text for route in some for topic in (ADMISSION, NOTICES)
                      for text in self._reports.problems(ROUTE, route, topic)]
            yield
        self._events.report(about, texts)


def _submit(writer: ObjectStatusWriter, key: Key, uid: str, status: Status, now: str) -> None:
    writer.submit(key, uid, lambda known: status.merged(known, now))


def _objects_of(route: Route) -> set[Key]:
    """Return the objects that a virtual Route stands for: HTTPRoute and Gateway."""
    origin = route.origin
    return {origin.key, *((origin.claimant,) if origin.claimant else ())} if origin else set()
