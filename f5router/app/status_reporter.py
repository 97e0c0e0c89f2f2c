"""Statuses and Events of Routes, reported to the cluster after each pass."""

import time
from collections.abc import Callable, Iterable

from f5router.admission import condition
from f5router.admission.claim_log import ClaimLog
from f5router.admission.condition import Verdict
from f5router.app.gateway_reporter import GatewayReporter
from f5router.app.ingress_reporter import IngressReporter, IngressRouteReporter
from f5router.app.reports import ADMISSION, NOTICES, Reports, log_problem
from f5router.app.shared_connections import SharedConnections
from f5router.desired.engine import Engine
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.status.front_end_statuses import FrontEndStatuses
from f5router.kube.watch.sources import GATEWAYS, INGRESS_ROUTES, Source
from f5router.logs.log_output import PersistentLog
from f5router.model import hostnames, names
from f5router.model.cluster import Key, Route
from f5router.model.gateway import GATEWAY
from f5router.model.texts import Problem
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report
from f5router.sources.settings import INGRESS, ROUTE, origins

CONTESTED = "HostContested"
"""Reason of the winner's Event."""

MOST_HOSTS = 10
"""Hosts of an object that Events name; further ones are counted."""
MOST_TEXT = 900
"""Characters of these names: an Event is cut at 1,024."""

_Object = tuple[str, Key]
"""Kind and key of an object that claims Hosts."""


class ClaimReporter:
    """Reports claims to Hosts that others hold: a line in the log for the loser, an Event for the winner.

    Losers have a status or an Event of their own. A winner has an Event if an Ingress or IngressRoute is one
    of the two; between Routes it has none, as with openshift/router. The Event names the winner's Hosts, not
    the losers, whose tenants may be others. A tenant can make any number of losers: each Host is named once,
    and an object with MOST_HOSTS named Hosts gets no further Event.
    """

    def __init__(self, engine: Engine, events: EventWriter, reports: Reports,
                 ingress_source: Callable[[], Source], clock: Callable[[], float]):
        """Args: ingress_source: returns the API that serves Ingresses."""
        self._engine, self._events, self._ingress_source = engine, events, ingress_source
        self._log, self._reports = ClaimLog(clock), reports
        self._news: dict[_Object, dict[str, Route]] = {}
        """Hosts that no Event names yet, with a Route that holds them, by winner."""

    def evaluated(self, key: Key) -> None:
        """Report a Route that has lost its Host, once; `write` has the winner's Event written."""
        route, rejection = self._engine.route(key), self._engine.rejection(key)
        known = self._reports.find(ROUTE, key)
        if route is None or rejection is None or rejection.holder is None:
            if known is not None:
                known.lost = None
                self._reports.settle(ROUTE, key)
            return
        if known is not None and known.lost == rejection:
            return
        self._reports.of(ROUTE, key).lost = rejection
        self._log.lost(route, rejection)
        if (holder := self._engine.route(rejection.holder)) is not None:
            self._note(holder, route)

    def removed(self, routes: Iterable[Route]) -> None:
        """Forget Routes that left: what comes in their place is news."""
        for route in routes:
            self._reports.forget(ROUTE, route.key)
            winner = _claimant(route)
            if (known := self._reports.find(*winner)) is not None:
                known.hosts.discard(_host(route))
                self._reports.settle(*winner)

    def write(self) -> None:
        """Write Events for the Hosts that were lost since the last call, one for each winner."""
        news, self._news = self._news, {}
        for winner, hosts in news.items():
            named = self._reports.of(*winner).hosts
            shown = _shown(hosts, MOST_HOSTS - len(named))
            named.update(shown)
            self._warn(next(iter(hosts.values())), _text(shown, len(hosts) - len(shown)))

    def _note(self, holder: Route, loser: Route) -> None:
        winner, host = _claimant(holder), _host(holder)
        known = self._reports.find(*winner)
        if known is not None and (host in known.hosts or len(known.hosts) >= MOST_HOSTS):
            return
        if winner != _claimant(loser) and not winner[0] == _claimant(loser)[0] == ROUTE:
            self._news.setdefault(winner, {})[host] = holder

    def forget(self) -> None:
        """Forget what no Event names yet."""
        self._news.clear()

    def _warn(self, holder: Route, text: str) -> None:
        kind, key = _claimant(holder)
        if kind == ROUTE:
            self._events.warn(holder, CONTESTED, text)
            return
        source = self._ingress_source() if kind == INGRESS else INGRESS_ROUTES
        if kind in origins(GATEWAY):  # a Gateway claims the Hosts of its routes
            kind, source = GATEWAY, GATEWAYS
        self._events.warn_about(Involved(source.api_version, kind, key, holder.uid), CONTESTED, text)


def _claimant(route: Route) -> _Object:
    """Return kind and key of the object that claims the Host."""
    return route.subject.kind, route.claimant


def _host(route: Route) -> str:
    return hostnames.wildcard(route.host) if route.wildcard_policy == "Subdomain" else route.host


def _shown(hosts: Iterable[str], most: int) -> list[str]:
    """Return the Hosts that an Event names, in order; the first in any case. Args: most: at least 1."""
    shown, length = list[str](), 0
    for host in sorted(hosts)[:most]:
        length += len(host) + len(", ")
        if shown and length > MOST_TEXT:
            break
        shown.append(host)
    return shown


def _text(shown: list[str], more: int) -> str:
    """Return the message of an Event. Args: shown: Hosts; more: number of others."""
    if len(shown) + more == 1:
        return f"another object claims {shown[0]}, too; this one is older and holds it"
    *first, last = (*shown, f"{more} more") if more else shown
    return f"other objects claim {', '.join(first)} and {last}, too; this one is older and holds them"


class StatusReporter:
    """Reports results of passes. The thread that makes the passes uses it; other threads write."""

    def __init__(self, cluster: ClusterWatcher, reconciler: Reconciler, statuses: FrontEndStatuses,
                 events: EventWriter, reports: Reports, *, clean: bool,
                 ingresses: IngressReporter | None = None,
                 ingress_routes: IngressRouteReporter | None = None,
                 gateways: GatewayReporter | None = None,
                 clock: Callable[[], float] = time.monotonic):
        """Arguments:
        reports: those of all reporters.
        clean: remove the entry of a Route that leaves: it may still exist.
        ingresses, ingress_routes, gateways: None if there are none to report.
        """
        self._ingresses, self._ingress_routes, self._gateways = ingresses, ingress_routes, gateways
        self._others = [each for each in (ingresses, ingress_routes, gateways) if each is not None]
        self._cluster, self._engine, self._reconciler = cluster, reconciler.engine, reconciler
        self.statuses, self.events, self._reports = statuses, events, reports
        self._clean = clean
        self._claims = ClaimReporter(
            reconciler.engine, events, reports, lambda: cluster.ingress_source(), clock)
        self._network = PersistentLog("way to the pods")
        self._virtual_servers = PersistentLog("virtual servers")
        self._shared = SharedConnections(reconciler, clock)
        self._selection = PersistentLog("selection of Routes")
        self._slow_requests = PersistentLog("requests near the time limit of the BIG-IP")

    def passed(self, report: Report) -> None:
        """Report the result of a pass."""
        network = self._reconciler.verdicts.network_findings()
        self._network.update(network.problems, network.warnings)
        servers = self._reconciler.verdicts.virtual_server_findings().warnings
        self._virtual_servers.update((), (*servers, *self._shared.warnings()))
        self._selection.update((), self._cluster.warnings())
        self._slow_requests.update((), self._reconciler.device.client.slow_requests.warnings())
        self._claims.removed(report.removed.values())
        for removed in report.removed.values():
            if removed.origin is None:
                self.statuses.route_removed(removed, remove=self._clean)
        for key, verdict in report.verdicts.items():
            self._claims.evaluated(key)
            route = self._engine.route(key)
            if route is None or route.origin is not None:  # it has left, or has no status of its own
                continue
            if verdict == condition.PENDING:  # what was known stays
                self.statuses.submit_new(key, route.uid, verdict, route.host)
                continue
            self.statuses.submit(key, route.uid, verdict, route.host)
            refusal = () if verdict.admitted else (Problem(verdict.reason, verdict.message),)
            self._report(key, ADMISSION, refusal)
        for key, warnings in report.warnings.items():
            self._report(key, NOTICES, warnings)
        self._claims.write()
        for other in self._others:
            other.passed(report)

    def follow(self) -> None:
        """Collect changes while another replica leads and reports; deleted objects are forgotten."""
        for other in self._others:
            other.follow()

    def forget(self) -> None:
        """Forget all reports: another replica leads, and this one may miss deletes of objects."""
        self._reports.clear()
        self._claims.forget()

    def flush(self, timeout_s: float) -> bool:
        """Wait until every status is written; False if that takes longer."""
        for other in (self._ingress_routes, self._gateways):
            if other is not None:
                other.finish()
        written = self.statuses.flush(timeout_s)
        return written and all(other.statuses.flush(timeout_s)
                               for other in (self._ingress_routes, self._gateways) if other is not None)

    def flush_all(self, timeout_s: float, *, events_s: float) -> str:
        """Wait for statuses and Events; returns why not every status could be written, "" if all were."""
        written = self.statuses.flush(timeout_s, unless_forbidden=True)
        for other in (self._ingresses, self._gateways):
            if other is not None:
                other.statuses.flush(timeout_s, unless_forbidden=True)
        refusal = "" if written else self.statuses.refusal()
        what = "Route"
        if written and self._ingress_routes is not None:
            writer, what = self._ingress_routes.statuses, "IngressRoute"
            written = writer.flush(timeout_s, unless_forbidden=True)
            refusal = "" if written else writer.refusal()
        self.events.flush(events_s)
        if written:
            return ""
        return f"not every {what} status could be written" + (f": {refusal}" if refusal else "")

    def stop(self) -> None:
        """Write nothing more; a write that is under way ends."""
        self.statuses.stop()
        self.events.stop()
        for other in self._others:
            other.statuses.stop()

    def standing_by(self) -> None:
        """Report a standby unit: the statuses of the active unit's router remain."""
        self.statuses.drop_requests()
        self.failed()

    def failed(self) -> None:
        """Report a failed pass: old statuses stay, Routes without one get the reason."""
        for key, checked in self._engine.routes().items():
            rejection, route = self._engine.rejection(key), checked.route
            verdict = Verdict(False, rejection.reason, rejection.message) if rejection else condition.PENDING
            self._claims.evaluated(key)
            if route.origin is not None:
                continue
            if self.statuses.submit_new(key, route.uid, verdict, route.host):
                reasons = (Problem(verdict.reason, verdict.message),)
                self._report(key, ADMISSION, reasons, log_it=rejection is not None)
        self._claims.write()

    def _report(self, key: Key, topic: str, reasons: tuple[Problem, ...], *, log_it: bool = True) -> None:
        """Report reasons and texts, in the log and as Events: each once, while it lasts.

        Args: log_it: False if the log has the reason already, once for all Routes.
        """
        route = self._engine.route(key)
        if route is None or route.origin is not None:
            return
        for problem in self._reports.news(ROUTE, key, reasons, topic=topic, uid=route.uid):
            if log_it:
                log_problem({"route": names.label(key)}, problem)
            self.events.warn(route, problem.reason, problem.message)
