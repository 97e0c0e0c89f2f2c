"""Metrics that are read when Prometheus asks: from the parts that count, in the thread that serves the page.

So a change of the cluster costs nothing for them, and they are right at any moment of a pass.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from f5router.admission.admission import EvaluatedRoute
from f5router.icontrol.rest.request_times import BUCKETS_S, Durations
from f5router.kube.api.counts import FAILURES, LISTS, WATCHES
from f5router.model import names
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import Key
from f5router.model.objects import Ref
from f5router.monitoring.statistics import Statistics
from f5router.reconcile import change_times
from f5router.reconcile.change_times import ChangeTimes, Seconds
from f5router.reconcile.drift_counts import DriftCounts
from f5router.sources.delegation_graph import BY_HOST, ROOT, TOTAL, StatusCounts
from f5router.views.incidents import certificate_ends

_INGRESS_ROUTES = {
    TOTAL: "IngressRoutes with a status.", ROOT: "IngressRoutes that are roots.",
    "valid": "Valid IngressRoutes.", "invalid": "Invalid IngressRoutes.",
    "orphaned": "IngressRoutes that no root reaches.",
}
"""Contour's metrics, and what they count."""

EXPIRED, LATER = "expired", "later"
EXPIRES = {"within_7_days": timedelta(days=7), "within_30_days": timedelta(days=30)}
"""Times until certificates expire, shortest first."""
MOST_NAMED = 100
"""Routes that have a series for their certificate."""

WATCHES_OF = {
    LISTS: ("f5router_kube_lists", "Complete lists of a resource from the Kubernetes API."),
    WATCHES: ("f5router_kube_watches", "Watches of a resource that the Kubernetes API accepted."),
    FAILURES: ("f5router_kube_watch_failures", "Failed lists and watches of a resource."),
}


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
    kept: Callable[[], int] = lambda: 0
    """Pools that keep members which the settings would remove."""
    astray: Callable[[], int] = lambda: 0
    """Pods that the ways of the BIG-IP do not reach."""
    unreadable: Callable[[], Mapping[str, int]] = dict
    """By resource: 1 for a kind that cannot be read; for Secrets, how many cannot."""
    ingress_routes: StatusCounts | None = None
    """Counts of IngressRoutes; None if they are not served."""
    gateways: Callable[[], Mapping[tuple[str, str], int]] | None = None
    """Numbers of Gateways and their routes by kind and state; None if they are not served."""
    reached: Callable[[], bool] = lambda: False
    """True if the BIG-IP answered, and no pass has ended early since."""
    findings: Callable[[], Mapping[str, int]] = dict
    """Findings about the installation by code, of all codes."""
    servers: Callable[[], Mapping[str, bool]] = dict
    """By path, True for a virtual server that is there and enabled."""
    front_ends: Callable[[], Mapping[str, str]] = dict
    """Name of the front end by path of its virtual server; "" for the default one."""
    silent: Callable[[], bool] = lambda: False
    """True if the BIG-IP takes requests and does not answer."""
    saved: Callable[[], bool | None] = lambda: None
    """True if the last save of the BIG-IP's configuration succeeded; None before the first."""
    units: Callable[[], Mapping[str, bool | None]] = dict
    """By unit of a pair, True if it is active; None while its state is not known."""
    request_times: Callable[[], Sequence[Mapping[tuple[str, str], Durations]]] = tuple
    """Durations of requests to each unit of the BIG-IP, by method and collection."""
    status_rate: Callable[[], float] = float
    """Current limit of status writes per second."""
    leader: Callable[[], tuple[bool, int] | None] = lambda: None
    """True if this replica leads, and how often that has changed; None without leader election."""
    objects: Callable[[], Mapping[Ref, object]] = dict
    """Objects of the router that are on the BIG-IP."""
    refused: Callable[[], int] = int
    """Objects that the BIG-IP refuses now."""
    writes_refused: Callable[[], Mapping[str, int]] = dict
    """Refused writes since the start, by kind of object."""
    routes: Callable[[], Mapping[Key, EvaluatedRoute]] = dict
    """Routes of the cluster."""
    default_certificate: Callable[[], TLSKeyPair | None] = lambda: None
    """Certificate for clients that name no Host of a Route; None for that of the virtual server."""
    statistics: Callable[[], Statistics | None] = lambda: None
    """Statistics of the BIG-IP."""
    readings: Callable[[], Mapping[str, int]] = dict
    """Readings of the statistics by their result."""
    times: ChangeTimes | None = None
    """Times from events to writes."""
    drift: DriftCounts | None = None
    """Drift that was found and fixed."""
    watches: Callable[[], Mapping[tuple[str, str], int]] = dict
    """Lists, watches and failures of either by what it was and resource."""


def front_end_labels(front_ends: Mapping[str, str]) -> tuple[tuple[str, ...], Callable[[str], Sequence[str]]]:
    """Return the label of front ends, and its value for a virtual server; nothing where there is one alone.

    So the series of an installation with one front end stay as they are. Those of the default one do so in
    any case: a label without a value counts as none (prometheus.io, "Data model").
    """
    if not any(front_ends.values()):
        return (), lambda path: ()
    return ("front_end",), lambda path: (front_ends.get(path, ""),)


class IngressRouteCounts(Collector):
    """Collector of Contour's metrics of IngressRoutes, without the metrics of its cache and build.

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


class ReadCounts(Collector):
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
            "f5router_queue_length", "Items that wait in a queue of the router.",
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
            "f5router_status_rate", "Current limit of status writes per second.",
            value=self._sources.status_rate())
        held, ever = self._sources.held()
        yield GaugeMetricFamily(
            "f5router_deletes_held_back", "Deletes that wait for a second list of the cluster, because they "
            "would remove more than half of the serving objects.", value=held)
        yield CounterMetricFamily(
            "f5router_mass_deletes_held_back", "Deletes held back since the start.", value=ever)
        yield GaugeMetricFamily(
            "f5router_pools_kept", "Pools that keep members which the settings would remove.",
            value=self._sources.kept())
        yield GaugeMetricFamily(
            "f5router_pods_not_reached", "Pods of Services outside of every Node's network, or on another "
            "Node than their static route or subnet names.", value=self._sources.astray())
        unreadable = GaugeMetricFamily(
            "f5router_unreadable", "1 for each kind of the cluster that cannot be read; for Secrets, their "
            "number.", labels=["kind"])
        for kind, count in self._sources.unreadable().items():
            unreadable.add_metric([kind], count)
        yield unreadable
        if self._sources.gateways is not None:
            objects = GaugeMetricFamily(
                "f5router_gateway_objects", "Gateways of this router and their routes by kind and state: ok, "
                "degraded, pending or refused.", labels=["kind", "state"])
            for labels, count in self._sources.gateways().items():
                objects.add_metric([*labels], count)
            yield objects
        yield from _state_of_cluster(self._sources)
        yield _state(
            "f5router_bigip_reached",
            "1 if the BIG-IP answered and no pass has been cut short since, 0 if not.",
            self._sources.reached())
        if (leader := self._sources.leader()) is not None:
            yield _state("f5router_leader", "1 if this replica leads and writes, 0 if it follows.", leader[0])
            yield CounterMetricFamily(
                "f5router_leader_transitions", "How often this replica became or stopped being the leader.",
                value=leader[1])
        yield _state(
            "f5router_bigip_active", "1 if the BIG-IP is the active unit, 0 if nothing is written to it; "
            "absent if its state is unknown.", self._sources.active())
        yield from _state_of_bigip(self._sources)
        units = GaugeMetricFamily(
            "f5router_bigip_unit_active", "1 if this unit of a pair is active, 0 if not; absent while it "
            "does not answer, and with one address.", labels=["unit"])
        for name, is_active in self._sources.units().items():
            if is_active is not None:
                units.add_metric([name], is_active)
        yield units
        yield _state(
            "f5router_bigip_config_in_sync", "1 if the other units of the BIG-IP's device group had its "
            "configuration at the last check, 0 if not; absent without a group.",
            self._sources.in_sync())


def _state_of_bigip(sources: Sources) -> Iterator[Metric]:
    """Build the metrics of what looks at the BIG-IP and saves have found."""
    counts = GaugeMetricFamily(
        "f5router_findings", "Findings about the installation as a whole, by code.",
        labels=["code"])
    for code, count in sorted(sources.findings().items()):
        counts.add_metric([code], count)
    yield counts
    names_of, of = front_end_labels(sources.front_ends())
    servers = GaugeMetricFamily(
        "f5router_virtual_server_up", "1 if the virtual server is there and enabled, 0 if not; absent before "
        "the first look.", labels=["virtual_server", *names_of])
    for path, is_up in sorted(sources.servers().items()):
        servers.add_metric([path, *of(path)], is_up)
    yield servers
    yield _state("f5router_bigip_silent", "1 while the BIG-IP takes requests and does not answer, 0 if not.",
                 sources.silent())
    yield _state("f5router_bigip_config_saved", "1 if the last save of the BIG-IP's configuration succeeded, "
                 "0 if not; absent before the first.", sources.saved())


def _state_of_cluster(sources: Sources) -> Iterator[Metric]:
    """Build the metrics of what is served, what waits, and what was put right."""
    routes = sources.routes()
    yield GaugeMetricFamily(
        "f5router_route_namespaces", "Namespaces that have Routes.",
        value=len({key.namespace for key in [*routes]}))
    yield from _certificates([*routes.items()], sources.default_certificate())
    yield GaugeMetricFamily(
        "f5router_refused_objects", "Objects whose last write the BIG-IP refused.", value=sources.refused())
    if sources.times is not None:
        yield GaugeMetricFamily(
            "f5router_oldest_change_age_seconds", "Age of the oldest change of the cluster that is not yet "
            "on the BIG-IP; 0 if there is none.", value=sources.times.oldest_s())
        yield _change_times(sources.times.seconds)
    if sources.drift is not None:
        for name, text, counts in (
                ("f5router_drift_found", "Objects found changed by others.", sources.drift.detected),
                ("f5router_drift_fixed", "Objects found changed by others that the router has fixed.",
                 sources.drift.fixed)):
            drift = CounterMetricFamily(name, text, labels=["kind"])
            for kind, count in sorted(counts.copy().items()):
                drift.add_metric([kind], count)
            yield drift
        yield GaugeMetricFamily(
            "f5router_partition_contended", "1 while another router writes to the same partition.",
            value=bool(sources.drift.others.problem))
    watches = sources.watches()
    for what, (name, text) in WATCHES_OF.items():
        family = CounterMetricFamily(name, text, labels=["resource"])
        for (kind, resource), count in sorted(watches.items()):
            if kind == what:
                family.add_metric([resource], count)
        yield family


def _change_times(seconds: Mapping[str, Seconds]) -> Metric:
    family = HistogramMetricFamily(
        "f5router_change_seconds", "Time from a change of the cluster to the confirmed write of an object.",
        labels=["kind"])
    bounds = [*map(str, change_times.BUCKETS_S), "+Inf"]
    for kind, each in sorted(dict(seconds).items()):
        counts = itertools.accumulate(each.buckets.copy())
        family.add_metric([kind], list(zip(bounds, counts, strict=True)), each.sum_s)
    return family


def _certificates(routes: Sequence[tuple[Key, EvaluatedRoute]],
                  default: TLSKeyPair | None) -> Iterator[Metric]:
    """Build the metrics of certificates: how many end when, the first end that is to come, and whose."""
    now = datetime.now(UTC)
    by_end = certificate_ends(routes)
    ends = [end for end, _ in by_end]
    family = GaugeMetricFamily(
        "f5router_certificates", "Certificates of Routes, by the time until they expire.", labels=["expires"])
    left = Counter(_expires(end - now) for end in ends)
    for name in (EXPIRED, *EXPIRES, LATER):
        family.add_metric([name], left[name])
    yield family
    first = GaugeMetricFamily(
        "f5router_certificate_expiry_timestamp_seconds", "When the next certificate expires, in seconds "
        "since the epoch: a Route's, or the default certificate. Absent without a certificate.",
        labels=["certificate"])
    if to_come := [end for end in ends if end > now]:
        first.add_metric(["route"], min(to_come).timestamp())
    if default is not None and default.validity is not None:
        first.add_metric(["default"], default.validity.end.timestamp())
    yield first
    named = GaugeMetricFamily(
        "f5router_route_certificate_expiry_timestamp_seconds", "When the certificate of a Route expires, in "
        f"seconds since the epoch: of up to {MOST_NAMED} that expire within 30 days, and as many that have.",
        labels=["route"])
    expired = [each for each in by_end if each[0] <= now][-MOST_NAMED:]
    soon = [each for each in by_end if now < each[0] <= now + max(EXPIRES.values())][:MOST_NAMED]
    for end, key in (*expired, *soon):
        named.add_metric([names.label(key)], end.timestamp())
    yield named


def _expires(left: timedelta) -> str:
    """Return the name of a time until a certificate expires."""
    if left <= timedelta():
        return EXPIRED
    return next((name for name, limit in EXPIRES.items() if left <= limit), LATER)


def _request_times(units: Sequence[Mapping[tuple[str, str], Durations]]) -> Iterator[Metric]:
    """Build the metrics of requests by collection, the units of a pair together."""
    seconds = HistogramMetricFamily(
        "f5router_bigip_request_seconds", "Durations of requests to the BIG-IP, without queueing.",
        labels=["method", "collection"])
    replies = CounterMetricFamily(
        "f5router_bigip_replies", "Replies of the BIG-IP by HTTP status; 0 for a request without a reply.",
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


