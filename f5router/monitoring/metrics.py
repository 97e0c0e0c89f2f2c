"""Metrics for Prometheus, in a registry of their own.

Counts of the parts are read when the metrics are asked for (`collectors`). The thread of the passes records
the rest: what became of each write, each pass and each Route, at the cost of what a pass touched.
"""

import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from prometheus_client import Counter as Total
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from f5router import __version__
from f5router.admission.condition import Verdict
from f5router.model.cluster import Key
from f5router.model.findings import DEVICE_REJECTED
from f5router.monitoring.collectors import IngressRouteCounts, ReadCounts, Sources
from f5router.monitoring.traffic_counts import TrafficCounts
from f5router.plan.change import AnyChange
from f5router.reconcile.report import Report

ADMITTED, REJECTED, REFUSED, PENDING = "admitted", "rejected", "device_rejected", "pending"
VERDICTS = (ADMITTED, REJECTED, REFUSED, PENDING)

SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Buckets: from one write to the first load of a large cluster."""


class _Counted(Collector):
    """Collector of what `Metrics` counts itself. The thread of the passes counts, any may collect."""

    def __init__(self, sources: Sources):
        self._sources = sources
        self.verdicts: dict[Key, tuple[str, str]] = {}
        """By Route that has one: verdict and reason."""
        self.routes = Counter[tuple[str, str]]()
        """By verdict and front end; likewise `reasons`."""
        self.reasons = Counter[tuple[str, str]]()
        self.written = Counter[tuple[str, str]]()
        """Confirmed writes by kind and verb."""
        self._kinds: set[str] = set()
        """Kinds that had objects once."""
        self.passes, self.pass_s, self.has_failed = 0, 0.0, False

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        yield from self._of_routes()
        yield from self._of_objects()
        yield SummaryMetricFamily(
            "template_router_reload_seconds", "Duration of passes, under the name of OpenShift's router.",
            count_value=self.passes, sum_value=self.pass_s)
        yield GaugeMetricFamily(
            "template_router_reload_failure", "1 if the last pass was cut short, 0 if not, under the name "
            "of OpenShift's router.", value=self.has_failed)

    def _of_routes(self) -> Iterator[Metric]:
        """Routes without a verdict are those that no pass has come to: they count from the first list on."""
        several = sorted({"", *self._sources.front_ends().values()})
        more = ("front_end",) if len(several) > 1 else ()
        served = self._sources.routes()
        known = Counter(key.front_end for key in [*served]) if more else {"": len(served)}
        counts, reasons_of = self.routes.copy(), self.reasons.copy()
        routes = GaugeMetricFamily("f5router_routes", "Routes, by verdict.", labels=["verdict", *more])
        for front_end in several:
            of_one = {verdict: counts[verdict, front_end] for verdict in VERDICTS}
            of_one[PENDING] = max(0, known[front_end] - sum(of_one.values()))
            for verdict, count in of_one.items():
                routes.add_metric([verdict, front_end][:1 + len(more)], count)
        yield routes
        reasons = GaugeMetricFamily(
            "f5router_route_rejections", "Routes that are not admitted, by the reason in the status.",
            labels=["reason", *more])
        for (reason, front_end), count in sorted(reasons_of.items()):
            if front_end in several:
                reasons.add_metric([reason, front_end][:1 + len(more)], count)
        yield reasons

    def _of_objects(self) -> Iterator[Metric]:
        counts = Counter(ref.kind for ref in dict(self._sources.objects()))
        self._kinds |= counts.keys()
        objects = GaugeMetricFamily(
            "f5router_objects", "Objects of the router on the BIG-IP.", labels=["kind"])
        for kind in sorted(self._kinds):
            objects.add_metric([kind], counts[kind])
        yield objects
        writes = CounterMetricFamily(
            "f5router_writes", "Object writes that the BIG-IP confirmed.", labels=["kind", "verb"])
        for key, count in sorted(self.written.copy().items()):
            writes.add_metric(key, count)
        yield writes
        refused = CounterMetricFamily(
            "f5router_writes_refused", "Object writes that the BIG-IP refused.", labels=["kind"])
        for kind, count in sorted(dict(self._sources.writes_refused()).items()):
            refused.add_metric([kind], count)
        yield refused


class Metrics:
    """Registry of all metrics. Only the thread that makes the passes uses anything but `page`."""

    def __init__(self, sources: Sources, *, most_pools: int = 0, most_members: int = 0,
                 wall: Callable[[], float] = time.time):
        """Args:
        most_pools: number of pools up to which each has series of its own.
        most_members: number of pool members that have series at most.
        wall: seconds since the epoch.
        """
        self._wall = wall
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(ReadCounts(sources))
        self._counted = _Counted(sources)
        registry.register(self._counted)
        registry.register(TrafficCounts(
            sources.statistics, sources.readings, most_pools, most_members, sources.front_ends))
        if sources.ingress_routes is not None:
            registry.register(IngressRouteCounts(sources.ingress_routes))
        self._passes = Total("f5router_reconcile_passes", "Passes begun.", registry=registry)
        self._failures = Total(
            "f5router_reconcile_failures", "Passes that were cut short; refused writes of single objects "
            "are not counted.", registry=registry)
        self._seconds = Histogram(
            "f5router_reconcile_seconds", "Duration of passes.", buckets=SECONDS, registry=registry)
        self._success = Gauge(
            "f5router_last_success_timestamp_seconds", "End of the last pass that was not cut short; 0 if "
            "there was none.", registry=registry)
        Gauge("f5router_build_info", "Always 1.", ["version", "python"], registry=registry).labels(
            __version__, platform.python_version()).set(1)

    def page(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics in the form that an Accept header asks for, and its content type."""
        try:
            encode, content_type = choose_encoder(" ".join(accept.split()))  # the type repeats a part of it
        except (TypeError, ValueError):  # a version that is no number
            encode, content_type = choose_encoder("")
        return encode(self.registry), content_type

    def timed(self, seconds: float, *, success: bool) -> None:
        """Record the end of a pass."""
        self._passes.inc()
        self._seconds.observe(seconds)
        counted = self._counted
        counted.passes, counted.pass_s = counted.passes + 1, counted.pass_s + seconds
        counted.has_failed = not success
        if success:
            self._success.set(self._wall())
        else:
            self._failures.inc()

    def wrote(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        self._counted.written[change.ref.kind, change.verb] += 1

    def record(self, report: Report, routes: Mapping[Key, object]) -> None:
        """Record the result of a pass. Args: routes: all of the cluster, read through if some have gone."""
        for key in report.warnings:  # every Route that was looked at
            verdict = report.verdicts.get(key)
            self._set_verdict(key, classify(verdict), verdict.reason if verdict else "")
        for key in report.removed:
            self._set_verdict(key, PENDING)
        self._forget(routes)

    def rejected(self) -> int:
        """Return the number of Routes that are not admitted."""
        return sum(count for (verdict, _), count in self._counted.routes.items()
                   if verdict in (REJECTED, REFUSED))

    def cut_short(self, routes: Mapping[Key, object]) -> None:
        """Record a pass that ended early."""
        self._forget(routes)

    def _forget(self, routes: Mapping[Key, object]) -> None:
        """Forget the verdicts of Routes that are gone."""
        if len(self._counted.verdicts) > len(routes):
            for key in self._counted.verdicts.keys() - routes.keys():
                self._set_verdict(key, PENDING)

    def _set_verdict(self, key: Key, verdict: str, reason: str = "") -> None:
        """Count a Route by its verdict; a pending Route has none."""
        counted, front_end = self._counted, key.front_end
        if (old := counted.verdicts.pop(key, None)) is not None:
            counted.routes[old[0], front_end] -= 1
            if old[0] != ADMITTED:
                counted.reasons[old[1], front_end] -= 1
        if verdict != PENDING:
            counted.verdicts[key] = verdict, reason
            counted.routes[verdict, front_end] += 1
            if verdict != ADMITTED:
                counted.reasons[reason, front_end] += 1


def classify(verdict: Verdict | None) -> str:
    """Return the class of a verdict, of VERDICTS; without a verdict the Route is pending."""
    if verdict is None or verdict.admitted is None:
        return PENDING
    if verdict.admitted:
        return ADMITTED
    return REFUSED if verdict.reason == DEVICE_REJECTED else REJECTED
