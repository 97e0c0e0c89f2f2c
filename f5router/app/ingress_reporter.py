"""Statuses and Events of Ingresses and IngressRoutes, reported to the cluster after each pass.

status.loadBalancer.ingress shows where a served Ingress is reached: this router's canonical name, or the
addresses of its virtual servers. An Ingress has one controller, so the whole field is written.
"""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from f5router.admission import condition, host_claims
from f5router.admission.admission import Rejection
from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.status.object_status import ObjectStatusWriter
from f5router.kube.watch.sources import INGRESS_ROUTES
from f5router.model.cluster import Key, Route
from f5router.model.device_facts import DeviceFacts
from f5router.model.findings import CAUSES_OF_EMPTY_POOLS, CLAIMED, INVALID_INGRESS_ROUTE
from f5router.model.json_types import JSON
from f5router.model.texts import SECRET_NOT_READ, WARNING, WARNINGS, Problem, printable
from f5router.reconcile.report import Report
from f5router.sources.contour_entries import KIND
from f5router.sources.delegation_graph import INVALID, VALID, GraphStatus, StatusCounts
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.settings import INGRESS

log = logging.getLogger(__name__)

MOST = 10
"""Problems of one object with an Event each; further ones are counted."""

NOT_SERVED, NOTICED = "not served as asked for", "served, with a warning"


@dataclass(slots=True)
class Reported:
    """Record of the reports about one object, so that none is repeated."""

    uid: str = ""
    problems: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    """By topic."""
    lost: Rejection | None = None
    """As a loser of its Host."""
    hosts: set[str] = field(default_factory=set)
    """Hosts that Events name which it holds, and others claim."""

    def is_empty(self) -> bool:
        """True if nothing was reported."""
        return not (self.problems or self.lost or self.hosts)


class Reports:
    """Records of what was reported, by kind and key of the object. Not thread-safe."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, Key], Reported] = {}

    def find(self, kind: str, key: Key) -> Reported | None:
        """Return the record of an object, None without one; `settle` follows a change of it."""
        return self._objects.get((kind, key))

    def of(self, kind: str, key: Key) -> Reported:
        """Return the record of an object, new if there is none."""
        return self._objects.setdefault((kind, key), Reported())

    def settle(self, kind: str, key: Key) -> None:
        """Drop an object without reports."""
        if (known := self.find(kind, key)) is not None and known.is_empty():
            self.forget(kind, key)

    def news(self, kind: str, key: Key, problems: tuple[Problem, ...], *, topic: str = "",
             uid: str = "") -> list[Problem]:
        """Record the problems of an object; returns the problems that are new since the last call.

        Args: uid: another one means another object of the same name.
        """
        if not problems and self.find(kind, key) is None:
            return []
        known = self.of(kind, key)
        if uid != known.uid:
            known.uid, known.problems = uid, {}
        before = known.problems.pop(topic, ())
        if problems:
            known.problems[topic] = problems
        self.settle(kind, key)
        return [problem for problem in problems if problem not in before]

    def forget(self, kind: str, key: Key) -> None:
        """Drop an object that is gone."""
        self._objects.pop((kind, key), None)

    def clear(self) -> None:
        """Drop all objects."""
        self._objects.clear()


class ObjectEvents:
    """Writes Events about objects with unserved parts; if an object has many, only the first."""

    def __init__(self, events: EventWriter, *, hint: str = ""):
        """Args: hint: where all problems of an object are shown."""
        self._events, self._hint, self.reported = events, hint, Reports()

    def report(self, about: Involved, problems: Iterable[Problem]) -> None:
        """Write Events for those problems of an object that it did not have at the last call."""
        shown = tuple(dict.fromkeys(problems))
        if (more := len(shown) - MOST) > 0:
            shown = (*shown[:MOST], Problem(WARNING, f"there are {more} more problems{self._hint}"))
        for problem in self.reported.news(about.kind, about.key, shown, uid=about.uid):
            log_problem({about.kind.lower(): str(about.key)}, problem)
            self._events.warn_about(about, problem.reason, problem.message)


def log_problem(subject: Mapping[str, str], problem: Problem) -> None:
    """Log a problem of an object. Args: subject: field of the log line that names it."""
    log.warning(NOTICED if problem.reason in WARNINGS else NOT_SERVED,
                extra={**subject, "reason": problem.reason, "text": problem.message})


def load_balancer_entries(hostname: str, facts: DeviceFacts) -> list[JSON]:
    """Return status.loadBalancer.ingress of a served Ingress. Args: hostname: see IngressReporter."""
    if hostname:
        return [{"hostname": hostname}]
    addresses = [virtual.address for virtual in (facts.http, facts.https) if virtual is not None]
    return [{"ip": address} for address in dict.fromkeys(filter(None, addresses))]


def load_balancer_status(entries: Iterable[JSON]) -> JSON:
    """Return the status of an Ingress with these entries."""
    return {"loadBalancer": {"ingress": list(entries)}}


class _Share(NamedTuple):
    """Share of a virtual Route, or of the Ingress itself, in what is reported about the Ingress."""

    admitted: bool | None = None
    """None while it is not evaluated: a report need not have all Routes of an Ingress."""
    texts: tuple[Problem, ...] = ()


class IngressReporter:
    """Reports results of passes. The thread that makes the passes uses it; other threads write."""

    def __init__(self, cluster: ClusterWatcher, engine: Engine, device: Device,
                 statuses: ObjectStatusWriter, events: EventWriter, *, hostname: str = ""):
        """Args: hostname: the router's canonical name; "" for the addresses of the virtual servers."""
        self._cluster, self._engine, self._device, self._hostname = cluster, engine, device, hostname
        self.statuses, self._events = statuses, ObjectEvents(events)
        self._shares: dict[Key, dict[Key | None, _Share]] = {}
        """By Ingress and by virtual Route; that of the Ingress itself under None."""
        self._unreported: dict[Key, None] = {}
        """Ingresses that changed while another replica led."""

    def passed(self, report: Report) -> None:
        """Report the result of a pass."""
        touched: dict[Key, None] = {}
        for key, removed in report.removed.items():
            if removed.origin is not None and removed.origin.kind == INGRESS:
                ingress = removed.origin.key
                touched[ingress] = None
                self._put(ingress, key, _Share())
        for key, verdict in report.verdicts.items():
            route = self._route(key)
            if route is None or route.origin is None or verdict == condition.PENDING:
                continue
            ingress = route.origin.key
            touched[ingress] = None
            refusal = () if verdict.admitted or verdict.message == host_claims.REFUSAL else (
                Problem(verdict.reason, verdict.message),)
            warnings = report.warnings.get(key, ())
            self._put(ingress, key, _Share(bool(verdict.admitted), (*refusal, *warnings)))
        for key in report.warnings.keys() - report.verdicts.keys():  # it waits, such as for a Secret
            if (route := self._route(key)) is not None and route.origin is not None:
                touched[ingress := route.origin.key] = None
                known = self._shares.get(ingress, {}).get(key, _Share())
                self._put(ingress, key, known._replace(texts=report.warnings[key]))
        if (source := self._cluster.objects(INGRESS)) is not None:
            changed, self._unreported = {**self._unreported, **dict.fromkeys(source.take_changed())}, {}
            for ingress in changed:
                touched[ingress] = None
                self._put(ingress, None, _Share(texts=source.condition(ingress)))
        for ingress in touched:
            self._report(ingress)
            self._submit(ingress)

    def follow(self) -> None:
        """Collect changes while another replica leads; deleted Ingresses are forgotten."""
        if (source := self._cluster.objects(INGRESS)) is not None:
            for key in source.take_changed():
                self._unreported.pop(key, None)
                if self._cluster.ingress(key) is not None:
                    self._unreported[key] = None

    def forget(self) -> None:
        """Forget all reports; a report of all Routes follows."""
        self._shares.clear()
        self._events.reported.clear()

    def _route(self, key: Key) -> Route | None:
        route = self._engine.route(key)
        return route if route is not None and route.origin and route.origin.kind == INGRESS else None

    def _put(self, ingress: Key, key: Key | None, share: _Share) -> None:
        shares = self._shares.setdefault(ingress, {})
        shares[key] = share
        if share == _Share():
            del shares[key]
        if not shares:
            del self._shares[ingress]

    def _report(self, key: Key) -> None:
        """Write Events for new texts of an Ingress, those about the Ingress itself first."""
        current, shares = self._cluster.ingress(key), self._shares.get(key, {})
        if current is None:
            self._events.reported.forget(INGRESS, key)
            return
        ordered = [shares.get(None, _Share()), *(shares[each] for each in sorted(filter(None, shares)))]
        self._events.report(
            Involved(self._cluster.ingress_source().api_version, INGRESS, key, current.uid,
                     current.resource_version), (text for share in ordered for text in share.texts))

    def _submit(self, key: Key) -> None:
        """Request the status of an Ingress; entries of another controller are left to that."""
        ingress = self._cluster.ingress(key)
        entries = self._entries()
        if ingress is None or not entries:
            self.statuses.discard(key)
        elif any(share.admitted for share in self._shares.get(key, {}).values()):
            self.statuses.submit(key, ingress.uid, load_balancer_status(entries))
        elif list(ingress.load_balancer) == entries and self._is_unserved(key):
            self.statuses.submit(key, ingress.uid, load_balancer_status(()))

    def _is_unserved(self, key: Key) -> bool:
        """True if each Route of an Ingress is evaluated, and not served."""
        source, shares = self._cluster.objects(INGRESS), self._shares.get(key, {})
        unserved = {route for route, share in shares.items() if share.admitted is False}
        return source is not None and unserved.issuperset(source.routes_of(key))

    def _entries(self) -> list[JSON]:
        """Return status.loadBalancer.ingress of a served Ingress."""
        return load_balancer_entries(self._hostname, self._device.facts)


_OF_ROUTES = CAUSES_OF_EMPTY_POOLS | {SECRET_NOT_READ}
"""Reasons of warnings about Routes that are not among those of their source."""


class IngressRouteReporter:
    """Reports results of passes. The thread that makes the passes uses it; another one writes."""

    def __init__(self, source: IngressRoutes, engine: Engine, statuses: ObjectStatusWriter,
                 events: EventWriter, *, selects: Callable[[str], bool] = lambda namespace: True,
                 wall: Callable[[], float] = time.time):
        """Args: selects: True for a namespace that this router serves; wall: seconds since the epoch."""
        self._source, self._engine, self._selects = source, engine, selects
        self.statuses = statuses
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
            rejection = self._engine.rejection(key)
            text = verdict.message if rejection is None else _addition(verdict.message, rejection.message)
            if verdict.admitted is False and text:
                self._refused[key] = Problem(verdict.reason, text)
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
        """Drop changes while another replica leads: a full report has every object."""
        self._source.take_changed()

    def forget(self) -> None:
        """Forget all reports; a full report follows."""
        self._refused.clear()
        self._events.reported.clear()

    def _report(self, key: Key) -> None:
        """Request the status of an IngressRoute, and write Events for new reasons."""
        status, obj = self._evaluated(key), self._source.objects.get(key)
        if status is None or obj is None or not self._is_selected(key):
            self._events.reported.forget(KIND, key)
            self.counts.put(key, None)
            self.statuses.discard(key)
            return
        self.counts.put(key, status, is_root=obj.virtual_host is not None)
        self.statuses.submit(key, obj.uid, {"currentStatus": status.current,
                                          "description": printable(status.description)})
        about = Involved(INGRESS_ROUTES.api_version, KIND, key, obj.uid, obj.resource_version)
        self._events.report(about, self._problems(key, status))

    def _is_selected(self, key: Key) -> bool:
        """True if the namespace of an object, or of a root that reaches it, is selected.

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

    def _problems(self, key: Key, status: GraphStatus) -> Iterable[Problem]:
        """Return the subjects of Events: why it is invalid, what the BIG-IP refused, warnings."""
        if status.current == INVALID:
            yield Problem(INVALID_INGRESS_ROUTE, status.description)
        refused = (route for route in sorted(self._source.routes_of(key)) if route in self._refused)
        if (first := next(refused, None)) is not None:
            yield self._refused[first]
        for route in sorted(self._source.routes_of(key)):
            yield from (each for each in self._engine.warnings(route) if each.reason in _OF_ROUTES)
        for text in self._source.warnings(key):
            yield Problem(WARNING, text)


def _addition(text: str, rejection: str) -> str:
    """Return what the text of a verdict adds to that of a rejection, which an IngressRoute has already."""
    return text.removeprefix(f"{rejection}; ") if text.startswith(f"{rejection}; ") else ""


def _objects_of(route: Route) -> Iterable[Key]:
    """Return the IngressRoutes that a Route stands for: the owner of the entry, and the root."""
    origin = route.origin
    if origin is None or origin.kind != KIND:
        return ()
    return {origin.key, origin.claimant or origin.key}
