"""Statuses and Events of Routes, reported to the cluster after each pass."""

import logging
import time
from collections.abc import Callable

from f5router.app.claim_reporter import ClaimReporter
from f5router.app.ingress_reporter import IngressReporter
from f5router.app.ingress_route_reporter import IngressRouteReporter
from f5router.app.object_events import NOT_SERVED, NOTICED
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.events import EventWriter
from f5router.kube.status.status_writer import StatusWriter
from f5router.logs.log_output import PersistentLog
from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.texts import WARNINGS, Problem
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report
from f5router.status import condition
from f5router.status.condition import Verdict

log = logging.getLogger(__name__)

ADMITTED, WARNING = KINDS = "Admitted", "Warning"
"""Kinds of reports of a Route; each is repeated only when it changes."""


class StatusReporter:
    """Reports results of passes. The thread that makes the passes uses it; other threads write."""

    def __init__(self, cluster: ClusterWatcher, reconciler: Reconciler, statuses: StatusWriter,
                 events: EventWriter, *, clean: bool, ingresses: IngressReporter | None = None,
                 ingress_routes: IngressRouteReporter | None = None,
                 clock: Callable[[], float] = time.monotonic):
        """Arguments:
        clean: remove the entry of a Route that leaves: it may still exist.
        ingresses, ingress_routes: None if there are none to report.
        """
        self._ingresses = ingresses
        self._cluster, self._engine, self._reconciler = cluster, reconciler.engine, reconciler
        self.statuses, self.events = statuses, events
        self._ingress_routes = ingress_routes
        self._clean = clean
        self._claims = ClaimReporter(reconciler.engine, events, lambda: cluster.ingress_source(), clock)
        self._reported: dict[tuple[Key, str], tuple[Problem, ...]] = {}
        self._network = PersistentLog("way to the pods")
        self._virtual_servers = PersistentLog("virtual servers")
        self._selection = PersistentLog("selection of Routes")
        self._slow_requests = PersistentLog("requests near the time limit of the BIG-IP")

    def passed(self, report: Report) -> None:
        """Report the result of a pass."""
        network = self._reconciler.verdicts.network_findings()
        self._network.update(network.problems, network.warnings)
        self._virtual_servers.update((), self._reconciler.verdicts.virtual_server_findings().warnings)
        self._selection.update((), self._cluster.warnings())
        self._slow_requests.update((), self._reconciler.device.client.slow_requests.warnings())
        self._claims.removed(report.removed.values())
        for key, removed in report.removed.items():
            if removed.origin is None:
                self.statuses.route_removed(removed, remove=self._clean)
            for kind in KINDS:
                self._reported.pop((key, kind), None)
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
            self._report(key, ADMITTED, refusal)
        for key, warnings in report.warnings.items():
            self._report(key, WARNING, warnings)
        self._claims.write()
        if self._ingresses is not None:
            self._ingresses.passed(report)
        if self._ingress_routes is not None:
            self._ingress_routes.passed(report)

    def follow(self) -> None:
        """Take what changed while another replica leads and reports; only what still exists is kept."""
        if self._ingresses is not None:
            self._ingresses.follow()
        if self._ingress_routes is not None:
            self._ingress_routes.follow()

    def forget(self) -> None:
        """Forget what was reported: another replica leads, and this one may not see objects go."""
        self._reported.clear()
        self._claims.forget()
        if self._ingresses is not None:
            self._ingresses.forget()
        if self._ingress_routes is not None:
            self._ingress_routes.forget()

    def flush(self, timeout_s: float) -> bool:
        """Wait until every status is written; False if that takes longer."""
        written = self.statuses.flush(timeout_s)
        return written and (self._ingress_routes is None or self._ingress_routes.writer.flush(timeout_s))

    def flush_all(self, timeout_s: float, *, events_s: float) -> str:
        """Wait for statuses and Events; returns why not every status could be written, "" if all were."""
        written = self.statuses.flush(timeout_s, unless_forbidden=True)
        if self._ingresses is not None:
            self._ingresses.statuses.flush(timeout_s, unless_forbidden=True)
        refusal = "" if written else self.statuses.refusal()
        what = "Route"
        if written and self._ingress_routes is not None:
            writer, what = self._ingress_routes.writer, "IngressRoute"
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
        if self._ingresses is not None:
            self._ingresses.statuses.stop()
        if self._ingress_routes is not None:
            self._ingress_routes.writer.stop()

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
                self._report(key, ADMITTED, reasons, log_it=rejection is not None)
        self._claims.write()

    def _report(self, key: Key, kind: str, reasons: tuple[Problem, ...], *, log_it: bool = True) -> None:
        """Report reasons and texts, in the log and as Events: once, until they change.

        Args: log_it: False if the log has the reason already, once for all Routes.
        """
        if self._reported.get((key, kind), ()) == reasons:
            return
        self._reported[(key, kind)] = reasons
        route = self._engine.route(key)
        if route is None or route.origin is not None:
            return
        for reason, text in reasons:
            if log_it:
                log.warning(NOTICED if reason in WARNINGS else NOT_SERVED,
                            extra={"route": names.label(key), "reason": reason, "text": text})
            self.events.warn(route, reason, text)
