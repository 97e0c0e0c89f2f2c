"""Values of the metrics."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from f5router.icontrol.outcome import Outcome
from f5router.icontrol.rest.request_times import NO_REPLY, RequestTimes
from f5router.model.cluster import Key
from f5router.model.ltm import Pool
from f5router.monitoring import metrics
from f5router.monitoring.metrics import Metrics, Sources
from f5router.plan.change import CREATE, DELETE, UPDATE, Change
from f5router.reconcile.report import Report
from f5router.sources.ingress_routes import GraphStatus
from f5router.sources.status_counts import StatusCounts
from f5router.status.condition import Verdict

A, B, C, D = (Key("shop", name) for name in "abcd")
ADMITTED, REJECTED = Verdict(True), Verdict(False, "RouteNotAdmitted", "no")
REFUSED = Verdict(False, "DeviceRejected", "no")
POOL = Pool("/Common/a")


@pytest.fixture
def requests() -> dict[str, int]:
    return {"GET": 2, "login": 1}


@pytest.fixture
def counters(requests) -> Metrics:
    writes = {"written": 3, "conflict": 0}
    sources = Sources(lambda: requests, {"status": lambda: 7}, lambda: writes, lambda: 2,
                      status_rate=lambda: 20.5)
    return Metrics(sources, wall=lambda: 1234.0)


def values(counters: Metrics, family: str) -> dict[tuple[str, ...], float]:
    """Samples of a family by their labels' values, as a scraper reads them."""
    body, _ = counters.page("text/plain")
    return {tuple(sample.labels.values()): sample.value
            for sampled in text_string_to_metric_families(body.decode()) if sampled.name == family
            for sample in sampled.samples if not sample.name.endswith(("_created", "_bucket"))}


def report(verdicts: dict, *, done: list[Change] = (), full: bool = False) -> Report:
    """A pass that looked at these Routes; None: no verdict yet."""
    known = {key: verdict for key, verdict in verdicts.items() if verdict}
    return Report(Outcome(done=list(done)), full, known, dict.fromkeys(verdicts, ()))


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


def test_routes_by_verdict(counters):
    """Counted by the Routes that a pass looked at; a Route is counted once, and not after it is gone."""
    counters.record(report({A: ADMITTED, B: REJECTED, C: REFUSED, D: None}, full=True), [A, B, C, D], {})
    assert routes(counters) == {"admitted": 1, "rejected": 1, "device_rejected": 1, "pending": 1}
    counters.record(report({D: ADMITTED}), [A, B, C, D], {})
    assert routes(counters) == {"admitted": 2, "rejected": 1, "device_rejected": 1}
    counters.record(report({}), {A: 0, D: 0}, {})
    assert routes(counters) == {"admitted": 2}


def test_routes_that_nobody_could_judge_are_pending(counters):
    """The device is away: new Routes wait, others keep their verdict."""
    counters.record(report({A: ADMITTED, B: ADMITTED}, full=True), {A: 0, B: 0}, {})
    counters.cut_short({A: 0, C: 0})
    assert routes(counters) == {"admitted": 1, "pending": 1}


def test_objects_by_kind(counters):
    """Read through after a full pass, counted by the writes of others; a kind without objects is 0."""
    counters.record(report({}, full=True), {}, {POOL.ref: POOL})
    assert values(counters, "f5router_objects") == {("ltm/pool",): 1}
    more = Pool("/Common/b")
    counters.record(report({}, done=[Change(CREATE, None, more), Change(UPDATE, POOL, POOL)]), {}, {})
    assert values(counters, "f5router_objects") == {("ltm/pool",): 2}
    counters.record(report({}, done=[Change(DELETE, more, None)]), {}, {})
    assert values(counters, "f5router_objects") == {("ltm/pool",): 1}
    counters.record(report({}, full=True), {}, {})
    assert values(counters, "f5router_objects") == {("ltm/pool",): 0}


def test_passes(counters):
    counters.timed(0.2, success=True)
    counters.timed(3.0, success=False)
    assert values(counters, "f5router_reconcile_passes") == {(): 2}
    assert values(counters, "f5router_reconcile_failures") == {(): 1}
    body = counters.page("")[0].decode()
    assert 'f5router_reconcile_seconds_bucket{le="0.25"} 1.0' in body
    assert "f5router_reconcile_seconds_sum 3.2" in body
    assert values(counters, "f5router_last_success_timestamp_seconds") == {(): 1234.0}


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
