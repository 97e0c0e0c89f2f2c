"""Values of the metrics."""

import datetime
from collections import Counter
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from f5router.admission.admission import EvaluatedRoute
from f5router.admission.condition import Verdict
from f5router.icontrol.rest.request_times import NO_REPLY, RequestTimes
from f5router.kube.api.counts import FAILURES, LISTS, WATCHES, WatchCounts
from f5router.model.client_tls import TLSKeyPair, Validity
from f5router.model.cluster import Key
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.monitoring import metrics
from f5router.monitoring.collectors import Sources
from f5router.monitoring.metrics import Metrics
from f5router.plan.change import CREATE, DELETE, Change
from f5router.reconcile.change_times import ChangeTimes
from f5router.reconcile.drift_counts import DriftCounts
from f5router.reconcile.report import Report
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from f5router.sources.delegation_graph import GraphStatus, StatusCounts
from tests import builders

A, B, C, D = (Key("shop", name) for name in "abcd")
ADMITTED, REJECTED = Verdict(True), Verdict(False, "RouteNotAdmitted", "no")
REFUSED = Verdict(False, "DeviceRejected", "no")
POOL = Pool("/Common/a")
ROUTE = EvaluatedRoute(builders.route("a"))


@pytest.fixture
def requests() -> dict[str, int]:
    return {"GET": 2, "login": 1}


@pytest.fixture
def cluster() -> dict[Key, EvaluatedRoute]:
    """The Routes of the cluster."""
    return {}


@pytest.fixture
def observed() -> dict[Ref, object]:
    """The objects of the BIG-IP."""
    return {}


@pytest.fixture
def refused() -> Counter[str]:
    return Counter()


@pytest.fixture
def counters(requests, cluster, observed, refused) -> Metrics:
    writes = {"written": 3, "conflict": 0}
    sources = Sources(lambda: requests, {"status": lambda: 7}, lambda: writes, lambda: 2,
                      status_rate=lambda: 20.5, routes=lambda: cluster, objects=lambda: observed,
                      writes_refused=lambda: refused)
    return Metrics(sources, wall=lambda: 1234.0)


def values(counters: Metrics, family: str) -> dict[tuple[str, ...], float]:
    """Samples of a family by their labels' values, as a scraper reads them."""
    body, _ = counters.page("text/plain")
    return {tuple(sample.labels.values()): sample.value
            for sampled in text_string_to_metric_families(body.decode()) if sampled.name == family
            for sample in sampled.samples if not sample.name.endswith(("_created", "_bucket"))}


def report(verdicts: dict, *, full: bool = False) -> Report:
    """A pass that looked at these Routes; None: no verdict yet."""
    known = {key: verdict for key, verdict in verdicts.items() if verdict}
    return Report(full, known, dict.fromkeys(verdicts, ()))


def routes(counters: Metrics) -> dict[str, float]:
    return {verdict: count for (verdict,), count in values(counters, "f5router_routes").items() if count}


def test_requests_of_both_units():
    """Their numbers are added: buckets are cumulative, and a status has its count."""
    units = [RequestTimes(), RequestTimes()]
    units[0].record("GET", "/mgmt/tm/ltm/pool", 200, 0.02)
    units[1].record("GET", "/mgmt/tm/ltm/pool", 503, 0.3)
    units[1].record("PATCH", "/mgmt/tm/ltm/pool/~Common~x", NO_REPLY, 99.0)
    counters = Metrics(Sources(dict, {}, request_times=lambda: [unit.durations() for unit in units]))
    assert values(counters, "f5router_bigip_replies") == {
        ("ltm/pool", "GET", "200"): 1, ("ltm/pool", "GET", "503"): 1, ("ltm/pool", "PATCH", "0"): 1}
    body, _ = counters.page("text/plain")
    lines = [line for line in body.decode().splitlines() if line.startswith("f5router_bigip_request_seconds")]
    shown = {line.rpartition(" ")[0].removeprefix("f5router_bigip_request_seconds"): line.rpartition(" ")[2]
             for line in lines}
    assert shown['_bucket{collection="ltm/pool",le="0.01",method="GET"}'] == "0.0"
    assert shown['_bucket{collection="ltm/pool",le="0.025",method="GET"}'] == "1.0"
    assert shown['_bucket{collection="ltm/pool",le="+Inf",method="GET"}'] == "2.0"
    assert shown['_count{collection="ltm/pool",method="GET"}'] == "2.0"
    assert float(shown['_sum{collection="ltm/pool",method="GET"}']) == pytest.approx(0.32)


def test_before_the_first_pass(counters):
    """Every verdict is there, so that alerts have something to look at; build and requests are known."""
    assert values(counters, "f5router_routes") == {(verdict,): 0 for verdict in metrics.VERDICTS}
    assert values(counters, "template_router_reload_failure") == {(): 0}
    assert list(values(counters, "f5router_build_info").values()) == [1]
    assert values(counters, "f5router_bigip_requests") == {("GET",): 2, ("login",): 1}
    assert values(counters, "f5router_queue_length") == {("status",): 7}
    assert values(counters, "f5router_status_writes") == {("written",): 3, ("conflict",): 0}
    assert values(counters, "f5router_status_contended") == {(): 2}
    assert values(counters, "f5router_status_rate") == {(): 20.5}
    assert values(counters, "f5router_last_success_timestamp_seconds") == {(): 0}


def test_sources_are_read_when_asked(counters, requests):
    requests["GET"] = 5
    assert values(counters, "f5router_bigip_requests")["GET",] == 5


def test_ingress_routes():
    """Source: projectcontour/contour v0.15.3, docs/prometheus.md."""
    counts = StatusCounts()
    counts.put(A, GraphStatus("valid", "", "a.b"), is_root=True)
    counts.put(B, GraphStatus("orphaned", ""))
    counts.publish(9.0)
    page = Metrics(Sources(dict, {}, ingress_routes=counts))
    name = "contour_ingressroute"
    assert values(page, f"{name}_total") == {("shop",): 2.0}
    assert values(page, f"{name}_root_total") == values(page, f"{name}_orphaned_total") == {("shop",): 1.0}
    assert values(page, f"{name}_valid_total") == {("shop", "a.b"): 1.0}
    assert values(page, f"{name}_invalid_total") == {}
    assert values(page, f"{name}_dagrebuild_timestamp") == {(): 9.0}
    counts.put(A, None)
    counts.publish(10.0)
    assert values(page, f"{name}_root_total") == {}


def test_routes_by_verdict(counters, cluster):
    """Counted by the Routes that a pass looked at; a Route is counted once, and not after it is gone."""
    cluster |= dict.fromkeys((A, B, C, D), ROUTE)
    counters.record(report({A: ADMITTED, B: REJECTED, C: REFUSED, D: None}, full=True), cluster)
    assert routes(counters) == {"admitted": 1, "rejected": 1, "device_rejected": 1, "pending": 1}
    assert values(counters, "f5router_route_rejections") == {("DeviceRejected",): 1, ("RouteNotAdmitted",): 1}
    counters.record(report({D: ADMITTED}), cluster)
    assert routes(counters) == {"admitted": 2, "rejected": 1, "device_rejected": 1}
    del cluster[B]
    counters.record(replace(report({}), removed={B: ROUTE.route}), cluster)
    assert routes(counters) == {"admitted": 2, "device_rejected": 1}
    del cluster[C]
    counters.record(report({}), cluster)  # nobody reported that it has gone
    assert routes(counters) == {"admitted": 2}
    assert values(counters, "f5router_route_rejections") == {("DeviceRejected",): 0, ("RouteNotAdmitted",): 0}


def test_routes_that_no_pass_has_come_to_are_pending(counters, cluster):
    """While the first load is under way, and while the device is away; others keep their verdict."""
    cluster |= dict.fromkeys((A, B, C), ROUTE)
    assert routes(counters) == {"pending": 3}
    counters.record(report({A: ADMITTED, B: ADMITTED}), cluster)
    assert routes(counters) == {"admitted": 2, "pending": 1}
    del cluster[B]
    cluster[D] = ROUTE
    counters.cut_short(cluster)
    assert routes(counters) == {"admitted": 2, "pending": 1}  # B, until a report has it
    counters.record(replace(report({D: ADMITTED}), removed={B: ROUTE.route}), cluster)
    assert routes(counters) == {"admitted": 2, "pending": 1}


def test_namespaces_of_routes(counters, cluster):
    cluster |= dict.fromkeys((A, B, Key("blog", "a")), ROUTE)
    assert values(counters, "f5router_route_namespaces") == {(): 2}


def test_objects_by_kind(counters, observed):
    """At any moment of a pass; a kind that has no objects any more is 0."""
    observed |= {POOL.ref: POOL, Pool("/Common/b").ref: POOL}
    assert values(counters, "f5router_objects") == {("ltm/pool",): 2}
    observed.clear()
    assert values(counters, "f5router_objects") == {("ltm/pool",): 0}


def test_writes(counters, refused):
    counters.wrote(Change(CREATE, None, POOL))
    counters.wrote(Change(DELETE, POOL, None))
    counters.wrote(Change(CREATE, None, POOL))
    refused["ltm/pool"] += 1
    assert values(counters, "f5router_writes") == {
        ("ltm/pool", "create"): 2, ("ltm/pool", "delete"): 1}
    assert values(counters, "f5router_writes_refused") == {("ltm/pool",): 1}


@pytest.mark.parametrize(("days", "expires"), [
    (-1, "expired"), (1, "within_7_days"), (8, "within_30_days"), (31, "later")])
def test_certificates(cluster, days, expires):
    """By the time that is left; the next to expire is not one that has."""
    now = datetime.datetime.now(datetime.UTC)
    ends = [now - datetime.timedelta(days=400), now + datetime.timedelta(days=days)]
    pairs = [TLSKeyPair("", "", "", "", Validity((), now, end)) for end in ends]
    cluster |= {A: replace(ROUTE, key_pair=pairs[0]), B: replace(ROUTE, key_pair=pairs[1]), C: ROUTE}
    counters = Metrics(Sources(dict, {}, routes=lambda: cluster, default_certificate=lambda: pairs[1]))
    counts = Counter({"expired": 1})
    counts[expires] += 1
    assert {label: count for (label,), count in values(counters, "f5router_certificates").items()
            if count} == counts
    shown = values(counters, "f5router_certificate_expiry_timestamp_seconds")
    assert shown.pop(("default",)) == pytest.approx(ends[1].timestamp())
    assert list(shown.values()) == ([] if days < 0 else [pytest.approx(ends[1].timestamp())])
    named = values(counters, "f5router_route_certificate_expiry_timestamp_seconds")
    assert named.keys() == {(str(A),), *([(str(B),)] if days < 30 else [])}


def test_changes_that_wait():
    """The age of the oldest, and how long others took; a change that is 0 s old is not none."""
    now = [100.0]
    table = Table(lambda: ({POOL.ref: POOL}, {}), Timers(), lambda: now[0])
    times = ChangeTimes(table, lambda: now[0])
    counters = Metrics(Sources(dict, {}, times=times))
    assert values(counters, "f5router_oldest_change_age_seconds") == {(): 0}
    table.touch([POOL.ref], since=90.0)
    now[0] = 102.0
    assert values(counters, "f5router_oldest_change_age_seconds") == {(): 12}
    times.written(POOL.ref)
    body = counters.page("")[0].decode()
    assert 'f5router_change_seconds_bucket{kind="ltm/pool",le="10.0"} 0.0' in body
    assert 'f5router_change_seconds_bucket{kind="ltm/pool",le="30.0"} 1.0' in body
    assert 'f5router_change_seconds_sum{kind="ltm/pool"} 12.0' in body
    assert values(counters, "f5router_oldest_change_age_seconds") == {(): 0}


def test_drift():
    """Found is everything that somebody changed, fixed what the router had to write again."""
    drift = DriftCounts()
    counters = Metrics(Sources(dict, {}, drift=drift))
    drift.find(POOL.ref, is_wrong=True)
    drift.find(Ref("ltm/rule", "/Common/b"), is_wrong=False)
    for _ in range(2):
        drift.written(POOL.ref)
    drift.written(Ref("ltm/rule", "/Common/b"))
    assert values(counters, "f5router_drift_found") == {("ltm/pool",): 1, ("ltm/rule",): 1}
    assert values(counters, "f5router_drift_fixed") == {("ltm/pool",): 1}
    assert values(counters, "f5router_partition_contended") == {(): 0}
    for _ in range(3):
        drift.find(POOL.ref, is_wrong=True)
    assert values(counters, "f5router_partition_contended") == {(): 1}


def test_watches():
    watches = WatchCounts()
    for what in (LISTS, WATCHES, WATCHES, FAILURES):
        watches.add(what, "routes")
    counters = Metrics(Sources(dict, {}, watches=watches.counts))
    assert [values(counters, f"f5router_kube_{name}") for name in ("lists", "watches", "watch_failures")] == [
        {("routes",): 1}, {("routes",): 2}, {("routes",): 1}]


def test_passes(counters):
    counters.timed(0.2, success=True)
    counters.timed(3.0, success=False)
    assert values(counters, "f5router_reconcile_passes") == {(): 2}
    assert values(counters, "f5router_reconcile_failures") == {(): 1}
    body = counters.page("")[0].decode()
    assert 'f5router_reconcile_seconds_bucket{le="0.25"} 1.0' in body
    assert "f5router_reconcile_seconds_sum 3.2" in body
    assert values(counters, "f5router_last_success_timestamp_seconds") == {(): 1234.0}
    assert values(counters, "template_router_reload_failure") == {(): 1}
    assert "template_router_reload_seconds_count 2.0" in body
    assert "template_router_reload_seconds_sum 3.2" in body
    counters.timed(0.2, success=True)
    assert values(counters, "template_router_reload_failure") == {(): 0}


def test_the_form_follows_the_accept_header(counters):
    assert counters.page("application/openmetrics-text; version=1.0.0")[1].startswith(
        "application/openmetrics-text")
    assert counters.page("text/plain")[1].startswith("text/plain")


def test_two_routers_in_a_process_do_not_share(requests):
    first, other = (Metrics(Sources(lambda: requests, {})) for _ in range(2))
    first.timed(1.0, success=True)
    assert values(other, "f5router_reconcile_passes") == {(): 0}


@pytest.mark.parametrize("accept", [
    "application/openmetrics-text; version=x", "text/plain;version=1!2", "text/plain; version=\r\n 1.0.0",
    "application/openmetrics-text; version=" + "9" * 5000,
])
def test_an_odd_accept_header_gets_the_plain_form(accept):
    """A page in any case, and a content type of one line."""
    body, content_type = Metrics(Sources(dict, {})).page(accept)
    assert b"f5router_build_info" in body
    assert "\n" not in content_type
