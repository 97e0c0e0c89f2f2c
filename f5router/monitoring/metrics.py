"""Metrics for Prometheus, in a registry of their own.

Counts of other threads are read when the metrics are asked for (`Sources`); the thread of the passes sets the
rest after each pass (`Metrics.record`), from what the pass touched.
"""

import itertools
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from f5router import __version__
from f5router.icontrol.rest.request_times import BUCKETS_S, Durations
from f5router.model.cluster import Key
from f5router.model.ltm import Object
from f5router.model.objects import Ref
from f5router.reconcile.report import Report
from f5router.reconcile.verdicts import DEVICE_REJECTED
from f5router.sources.status_counts import BY_HOST, ROOT, TOTAL, StatusCounts
from f5router.status.condition import Verdict

ADMITTED, REJECTED, REFUSED, PENDING = "admitted", "rejected", "device_rejected", "pending"
VERDICTS = (ADMITTED, REJECTED, REFUSED, PENDING)

_INGRESS_ROUTES = {
    TOTAL: "IngressRoutes with a status.", ROOT: "IngressRoutes that are roots.",
    "valid": "Valid IngressRoutes.", "invalid": "Invalid IngressRoutes.",
    "orphaned": "IngressRoutes that no root reaches.",
}
"""Contour's metrics, and what they count."""

SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Buckets: from one write to the first load of a large cluster."""


@dataclass(frozen=True, slots=True)
class Sources:
    """Values that are read when the metrics are asked for, from any thread."""

    requests: Callable[[], Mapping[str, int]]
    """Requests sent to the BIG-IP, by method."""
    queues: Mapping[str, Callable[[], int]]
    """Length of each queue, by name."""
    status_writes: Callable[[], Mapping[str, int]] = dict
    """Attempts to write a status, by what became of them."""
    contended: Callable[[], int] = int
    """Routes whose status another router of the same name keeps changing."""
    active: Callable[[], bool | None] = lambda: None
    """True if the BIG-IP is the active unit; None while its failover state is not known."""
    in_sync: Callable[[], bool | None] = lambda: None
    """True if the other units of its device group have its configuration; None without a group."""
    held: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Deletes that are held back, and how many ever were."""
    ingress_routes: StatusCounts | None = None
    """Counts of IngressRoutes; None if they are not served."""
    reached: Callable[[], bool] = lambda: False
    """True if the BIG-IP answered, and no pass has ended early since."""
    units: Callable[[], Mapping[str, bool | None]] = dict
    """By unit of a pair, True if it is active; None while its state is not known."""
    request_times: Callable[[], Sequence[Mapping[tuple[str, str], Durations]]] = tuple
    """Durations of requests to each unit of the BIG-IP, by method and collection."""
    status_rate: Callable[[], float] = float
    """Status writes per second that the router allows itself now."""
    leader: Callable[[], tuple[bool, int] | None] = lambda: None
    """True if this replica leads, and how often that has changed; None without leader election."""


class _IngressRoutes(Collector):
    """Collector of Contour's metrics of IngressRoutes, without those of its cache and its build.

    Source: projectcontour/contour v0.15.3, docs/prometheus.md.
    """

    def __init__(self, counts: StatusCounts):
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        counts = sorted(self._counts.counts.items())
        for metric, text in _INGRESS_ROUTES.items():
            labels = ["namespace", "vhost"] if metric in BY_HOST else ["namespace"]
            name = "contour_ingressroute_total" if metric == TOTAL else f"contour_ingressroute_{metric}_total"
            gauge = GaugeMetricFamily(name, text, labels=labels)
            for sample, count in counts:
                if sample.metric == metric:
                    gauge.add_metric([sample.namespace, sample.vhost][:len(labels)], count)
            yield gauge
        yield GaugeMetricFamily(
            "contour_ingressroute_dagrebuild_timestamp", "When the graph of an IngressRoute changed last, in "
            "seconds since the epoch.", value=self._counts.rebuilt_at)


class _Read(Collector):
    """Collector of the metrics behind Sources."""

    def __init__(self, sources: Sources):
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily(
            "f5router_bigip_requests", "Requests sent to the BIG-IP.", labels=["method"])
        for method, count in sorted(self._sources.requests().items()):
            requests.add_metric([method], count)
        yield requests
        yield from _request_times(self._sources.request_times())
        queues = GaugeMetricFamily(
            "f5router_queue_length", "What waits to be written to the cluster, or to be handled.",
            labels=["queue"])
        for name, length in self._sources.queues.items():
            queues.add_metric([name], length())
        yield queues
        writes = CounterMetricFamily(
            "f5router_status_writes", "Attempts to write the status of a Route.", labels=["result"])
        for result, count in self._sources.status_writes().items():
            writes.add_metric([result], count)
        yield writes
        yield GaugeMetricFamily(
            "f5router_status_contended", "Routes whose status another router of this name keeps changing.",
            value=self._sources.contended())
        yield GaugeMetricFamily(
            "f5router_status_rate", "Status writes per second that the router allows itself now.",
            value=self._sources.status_rate())
        held, ever = self._sources.held()
        yield GaugeMetricFamily(
            "f5router_deletes_held_back", "Deletes that wait for a second list of the cluster, because they "
            "would take away more than half of what serves requests.", value=held)
        yield CounterMetricFamily(
            "f5router_mass_deletes_held_back", "Deletes that were held back since the start.", value=ever)
        yield _state(
            "f5router_bigip_reached", "1 if the BIG-IP answered and no pass has ended early since, 0 if not.",
            self._sources.reached())
        if (leader := self._sources.leader()) is not None:
            yield _state("f5router_leader", "1 if this replica leads and writes, 0 if it follows.", leader[0])
            yield CounterMetricFamily(
                "f5router_leader_transitions", "How often this replica has begun or ceased to lead.",
                value=leader[1])
        yield _state(
            "f5router_bigip_active", "1 if the BIG-IP is the active unit, 0 if nothing is written to it; "
            "absent if it does not tell.", self._sources.active())
        units = GaugeMetricFamily(
            "f5router_bigip_unit_active", "1 if this unit of a pair is active, 0 if not; absent while it "
            "does not answer, and with one address.", labels=["unit"])
        for name, is_active in self._sources.units().items():
            if is_active is not None:
                units.add_metric([name], is_active)
        yield units
        yield _state(
            "f5router_bigip_config_in_sync", "1 if the other units of the BIG-IP's device group had its "
            "configuration when it was last asked, 0 if not; absent without a group.",
            self._sources.in_sync())


def _request_times(units: Sequence[Mapping[tuple[str, str], Durations]]) -> Iterator[Metric]:
    """Build the metrics of requests by collection, the units of a pair together."""
    seconds = HistogramMetricFamily(
        "f5router_bigip_request_seconds", "Durations of requests to the BIG-IP, without waits for a turn.",
        labels=["method", "collection"])
    replies = CounterMetricFamily(
        "f5router_bigip_replies", "Replies of the BIG-IP by HTTP status; 0 for none.",
        labels=["method", "collection", "status"])
    for key in sorted({key for unit in units for key in unit}):
        each = [unit[key] for unit in units if key in unit]
        counts = [sum(bucket) for bucket in zip(*(unit.buckets for unit in each), strict=True)]
        bounds = [*map(str, BUCKETS_S), "+Inf"]
        seconds.add_metric(key, list(zip(bounds, itertools.accumulate(counts), strict=True)),
                           sum(unit.seconds for unit in each))
        for status, count in sorted(sum((unit.statuses for unit in each), Counter[int]()).items()):
            replies.add_metric([*key, str(status)], count)
    yield seconds
    yield replies


def _state(name: str, text: str, value: bool | None) -> Metric:
    """Build a gauge of 0 or 1, without a sample for None."""
    gauge = GaugeMetricFamily(name, text)
    if value is not None:
        gauge.add_metric([], value)
    return gauge


class Metrics:
    """Registry of all metrics. Only the thread that makes the passes uses anything but `page`."""

    def __init__(self, sources: Sources, *, wall: Callable[[], float] = time.time):
        """wall: seconds since the epoch."""
        self._wall = wall
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(_Read(sources))
        if sources.ingress_routes is not None:
            registry.register(_IngressRoutes(sources.ingress_routes))
        self._passes = Total("f5router_reconcile_passes", "Passes begun.", registry=registry)
        self._failures = Total(
            "f5router_reconcile_failures", "Passes that ended early; what was refused of single objects "
            "is not counted.", registry=registry)
        self._seconds = Histogram(
            "f5router_reconcile_seconds", "Duration of passes.", buckets=SECONDS, registry=registry)
        self._objects_shown = Gauge(
            "f5router_objects", "Objects of the router on the BIG-IP.", ["kind"], registry=registry)
        self._routes_shown = Gauge("f5router_routes", "Routes.", ["verdict"], registry=registry)
        self._success = Gauge(
            "f5router_last_success_timestamp_seconds", "End of the last pass that was not cut short; 0 for "
            "nunit.", registry=registry)
        Gauge("f5router_build_info", "Always 1.", ["version", "python"], registry=registry).labels(
            __version__, platform.python_version()).set(1)
        self._verdicts: dict[Key, str] = {}
        self._routes = Counter(dict.fromkeys(VERDICTS, 0))
        self._objects: Counter[str] = Counter()
        self._show()

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
        if success:
            self._success.set(self._wall())
        else:
            self._failures.inc()

    def record(self, report: Report, routes: Mapping[Key, object], observed: Mapping[Ref, Object]) -> None:
        """Record the result of a pass.

        Args: routes: all of the cluster; observed: all of the device. They are read through after a
            full pass and when Routes have gone: an event costs what it touched.
        """
        if report.full:
            self._objects = Counter(dict.fromkeys(self._objects, 0))
            self._objects.update(ref.kind for ref in observed)
        else:
            for change in report.outcome.done:
                self._objects[change.ref.kind] += (change.new is not None) - (change.old is not None)
        for key in report.warnings:  # every Route that was looked at
            self._set_verdict(key, classify(report.verdicts.get(key)))
        if len(self._verdicts) != len(routes):
            self._forget(routes)
        self._show()

    def cut_short(self, routes: Mapping[Key, object]) -> None:
        """Record a pass that ended early: Routes without a verdict are pending."""
        for key in routes.keys() - self._verdicts.keys():
            self._set_verdict(key, PENDING)
        self._forget(routes)
        self._show()

    def _forget(self, routes: Mapping[Key, object]) -> None:
        for key in self._verdicts.keys() - routes.keys():
            self._routes[self._verdicts.pop(key)] -= 1

    def _set_verdict(self, key: Key, verdict: str) -> None:
        if (old := self._verdicts.get(key)) is not None:
            self._routes[old] -= 1
        self._routes[verdict] += 1
        self._verdicts[key] = verdict

    def _show(self) -> None:
        for verdict, count in self._routes.items():
            self._routes_shown.labels(verdict).set(count)
        for kind, count in self._objects.items():
            self._objects_shown.labels(kind).set(count)


def classify(verdict: Verdict | None) -> str:
    """Return one of VERDICTS; without a verdict the Route is pending."""
    if verdict is None or verdict.admitted is None:
        return PENDING
    if verdict.admitted:
        return ADMITTED
    return REFUSED if verdict.reason == DEVICE_REJECTED else REJECTED
