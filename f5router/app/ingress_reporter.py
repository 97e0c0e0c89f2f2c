"""Statuses and Events of Ingresses, reported to the cluster after each pass.

status.loadBalancer.ingress shows where a served Ingress is reached: this router's canonical name, or the
addresses of its virtual servers. An Ingress has one controller, so the whole field is written.
"""

from collections.abc import Iterable

from f5router.app.object_events import ObjectEvents
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.status.object_status import ObjectStatusWriter
from f5router.model.cluster import Key, Route
from f5router.model.device_facts import DeviceFacts
from f5router.model.json_types import JSON
from f5router.model.texts import Problem
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report
from f5router.sources import host_holding
from f5router.sources.translator import INGRESS
from f5router.status import condition


def load_balancer_entries(hostname: str, facts: DeviceFacts) -> list[JSON]:
    """Return what status.loadBalancer.ingress of a served Ingress is. Args: hostname: see IngressReporter."""
    if hostname:
        return [{"hostname": hostname}]
    addresses = [virtual.address for virtual in (facts.http, facts.https) if virtual is not None]
    return [{"ip": address} for address in dict.fromkeys(filter(None, addresses))]


def load_balancer_status(entries: Iterable[JSON]) -> JSON:
    """Return the status of an Ingress with these entries."""
    return {"loadBalancer": {"ingress": list(entries)}}


class IngressReporter:
    """Reports results of passes. The thread that makes the passes uses it; other threads write."""

    def __init__(self, cluster: ClusterWatcher, reconciler: Reconciler, statuses: ObjectStatusWriter,
                 events: EventWriter, *, hostname: str = ""):
        """Args: hostname: the router's canonical name; "" for the addresses of the virtual servers."""
        self._cluster, self._reconciler, self._hostname = cluster, reconciler, hostname
        self.statuses, self._events = statuses, ObjectEvents(events)
        self._served: dict[Key, set[Key]] = {}
        """Virtual Routes that are served, by Ingress."""
        self._unserved: dict[Key, set[Key]] = {}
        """Those that are evaluated and not served; a report need not have all of an Ingress."""
        self._texts: dict[Key, dict[Key, tuple[Problem, ...]]] = {}
        """By Ingress and by virtual Route; those of the Ingress itself under its own key."""
        self._unreported: dict[Key, None] = {}
        """Ingresses that changed while another replica led."""

    def passed(self, report: Report) -> None:
        """Report the result of a pass."""
        touched: dict[Key, None] = {}
        for key, removed in report.removed.items():
            if removed.origin is not None and removed.origin.kind == INGRESS:
                ingress = removed.origin.key
                touched[ingress] = None
                _change(self._served, ingress, key, present=False)
                _change(self._unserved, ingress, key, present=False)
                self._set_texts(ingress, key, ())
        for key, verdict in report.verdicts.items():
            route = self._route(key)
            if route is None or route.origin is None or verdict == condition.PENDING:
                continue
            ingress = route.origin.key
            touched[ingress] = None
            _change(self._served, ingress, key, present=bool(verdict.admitted))
            _change(self._unserved, ingress, key, present=not verdict.admitted)
            refusal = () if verdict.admitted or verdict.message == host_holding.REFUSAL else (
                Problem(verdict.reason, verdict.message),)
            warnings = report.warnings.get(key, ())
            self._set_texts(ingress, key, (*refusal, *warnings))
        for key in report.warnings.keys() - report.verdicts.keys():  # it waits, such as for a Secret
            if (route := self._route(key)) is not None and route.origin is not None:
                touched[route.origin.key] = None
                self._set_texts(route.origin.key, key, report.warnings[key])
        if (source := self._cluster.objects(INGRESS)) is not None:
            changed, self._unreported = {**self._unreported, **dict.fromkeys(source.take_changed())}, {}
            for ingress in changed:
                touched[ingress] = None
                self._set_texts(ingress, ingress, source.condition(ingress))
        for ingress in touched:
            self._report(ingress)
            self._submit(ingress)

    def follow(self) -> None:
        """Take what changed while another replica leads; Ingresses that are gone are forgotten."""
        if (source := self._cluster.objects(INGRESS)) is not None:
            for key in source.take_changed():
                self._unreported.pop(key, None)
                if self._cluster.ingress(key) is not None:
                    self._unreported[key] = None

    def forget(self) -> None:
        """Forget what was reported; a report of all Routes follows."""
        for known in (self._served, self._unserved, self._texts):
            known.clear()
        self._events.clear()

    def _route(self, key: Key) -> Route | None:
        route = self._reconciler.engine.route(key)
        return route if route is not None and route.origin and route.origin.kind == INGRESS else None

    def _set_texts(self, ingress: Key, key: Key, texts: tuple[Problem, ...]) -> None:
        known = self._texts.setdefault(ingress, {})
        if texts:
            known[key] = texts
        else:
            known.pop(key, None)
            if not known:
                del self._texts[ingress]

    def _report(self, key: Key) -> None:
        """Write Events for new texts of an Ingress, those about the Ingress itself first."""
        current, texts = self._cluster.ingress(key), self._texts.get(key, {})
        if current is None:
            self._events.forget(key)
            return
        ordered = sorted(texts, key=lambda each: (each != key, each))
        self._events.report(
            Involved(self._cluster.ingress_source().api_version, INGRESS, key, current.uid,
                     current.resource_version), (text for each in ordered for text in texts[each]))

    def _submit(self, key: Key) -> None:
        """Request the status of an Ingress; entries of another controller are left to that."""
        ingress = self._cluster.ingress(key)
        entries = self._entries()
        if ingress is None or not entries:
            self.statuses.discard(key)
        elif key in self._served:
            self.statuses.submit(key, ingress.uid, load_balancer_status(entries))
        elif list(ingress.load_balancer) == entries and self._is_unserved(key):
            self.statuses.submit(key, ingress.uid, load_balancer_status(()))

    def _is_unserved(self, key: Key) -> bool:
        """True if each Route of an Ingress is evaluated, and not served."""
        source = self._cluster.objects(INGRESS)
        return source is not None and self._unserved.get(key, set()).issuperset(source.routes_of(key))

    def _entries(self) -> list[JSON]:
        """Return what status.loadBalancer.ingress of a served Ingress is."""
        return load_balancer_entries(self._hostname, self._reconciler.device.facts)


def _change(index: dict[Key, set[Key]], ingress: Key, key: Key, *, present: bool) -> None:
    routes = index.setdefault(ingress, set())
    if present:
        routes.add(key)
    else:
        routes.discard(key)
    if not routes:
        del index[ingress]
