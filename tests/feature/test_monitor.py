"""Health and metrics of a whole router, over HTTP."""

import base64
import threading

import pytest
import requests
from prometheus_client.parser import text_string_to_metric_families

from f5router.app import launch, status_source
from f5router.model.errors import ConfigError
from f5router.monitoring.http_server import Server
from tests import manifests, pump
from tests.waiting import DEADLINE_S, until

STEP_S = 0.02
LATER = 30
"""Routes that come during the first load."""


class Served:
    """A router with its HTTP server; passes are made by hand, or by the loop in a thread."""

    def __init__(self, lab, stack, **flags):
        self.config = lab.config(listen_addr="127.0.0.1:0", **flags)
        self.router = launch.build_controller(self.config, stack, timing=lab.timing)
        self.stop = threading.Event()
        self.server: Server = stack.enter_context(status_source.serve(self.config, self.router, self.stop))

    def get(self, path: str, **options) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            return session.get(f"http://{self.server.where}{path}", timeout=DEADLINE_S, **options)

    def missing(self) -> set[str]:
        """Names of the checks of /readyz that fail."""
        lines = self.get("/readyz?verbose").text.splitlines()
        return {line[3:].split(" ")[0] for line in lines if line.startswith("[-]")}

    def samples(self) -> dict[tuple[str, ...], float]:
        """All samples by name and values of the labels."""
        families = text_string_to_metric_families(self.get("/metrics").text)
        return {(sample.name, *sample.labels.values()): sample.value
                for family in families for sample in family.samples}

    def metric(self, name: str, **labels: str) -> float:
        families = text_string_to_metric_families(self.get("/metrics").text)
        (value,) = (sample.value for family in families for sample in family.samples
                    if sample.name == name and sample.labels == labels)
        return value


@pytest.fixture
def serve(lab):
    return lambda **flags: Served(lab, lab.stack, **flags)


def test_ready_step_by_step(lab, serve):
    """Lists, device, first load, in this order; the BIG-IP goes away and comes back."""
    lab.apply(manifests.route("a"))
    lab.kube.forbid("endpointslices")
    served = serve(retry_s=0)
    assert lab.kube.wait_for(lambda: len(lab.kube.watches) == 2)
    until(lambda: "forbidden" in served.get("/readyz").text)
    assert served.missing() == {"cluster-listed", "bigip-reached", "has-synced"}
    assert "endpointslices" in served.get("/readyz").text
    assert served.get("/healthz").text == "ok"
    lab.kube.allow("endpointslices")
    until(lambda: served.missing() == {"bigip-reached", "has-synced"})
    lab.bigip.inject("503-html", times=None)
    pump.attempt(served.router)
    assert served.missing() == {"bigip-reached", "has-synced"}
    assert "503" in served.get("/readyz").text
    assert served.metric("f5router_routes", verdict="pending") == 1
    assert served.metric("f5router_bigip_reached") == 0
    lab.bigip.clear_faults()
    pump.attempt(served.router)
    assert (served.missing(), served.get("/readyz").text) == (set(), "ok")
    assert served.metric("f5router_routes", verdict="admitted") == 1
    assert served.metric("f5router_routes", verdict="pending") == 0
    assert served.metric("f5router_reconcile_passes_total") == 2
    assert served.metric("f5router_reconcile_failures_total") == 1
    served.stop.set()
    assert served.missing() == {"process-running"}


def test_a_source_that_is_forbidden(lab, serve):
    """The router is ready, as all other objects are served, and the text has the reason."""
    lab.kube.forbid("ingresses")
    served = serve(sources="routes,ingress")
    assert served.router.cluster.wait_synced(DEADLINE_S)
    pump.attempt(served.router)
    assert served.get("/readyz").text == "ok"
    lines = served.get("/readyz?verbose").text.splitlines()
    (line,) = [line for line in lines if line.startswith("[!]cluster-listed warning: ")]
    assert "ingresses" in line
    assert "forbidden" in line
    lab.kube.allow("ingresses")
    until(lambda: "[+]cluster-listed ok" in served.get("/readyz?verbose").text.splitlines())


def load_a_part(lab, router) -> None:
    """Three Routes come, and something of them is written; then more come."""
    lab.apply(*(manifests.route(name, host=f"{name}.example.com", service=name) for name in "abc"))
    lab.converge_events(router, seen=("shop", "c"))
    pump.take_events(router)
    pump.write_a_part(router)
    lab.apply(*(manifests.route(f"more-{number}", host=f"more-{number}.example.com")
                for number in range(LATER)))
    lab.converge_events(router, seen=("shop", f"more-{LATER - 1}"))
    pump.take_events(router)


def test_a_device_that_answers_is_reached(lab, serve):
    """Before the first pass is through, which may take minutes."""
    served = serve()
    missing = []
    served.router.on_change = lambda change: missing.append(served.missing())
    load_a_part(lab, served.router)
    assert {frozenset(causes) for causes in missing} == {frozenset({"has-synced"})}
    assert served.metric("f5router_bigip_reached") == 1


@pytest.mark.bare
def test_a_last_write_without_a_reply_for_long_ends_the_first_load(lab, serve):
    """As where a BIG-IP needs seconds to publish thousands of rules. Nothing else happens after it."""
    served = serve()
    router, reconciler = served.router, served.router.reconciler
    lab.apply(manifests.route("a"))
    lab.bigip.inject("hold", method="POST", path="/rules$")
    until(lambda: router.turn(STEP_S) or (
        reconciler.has_read and reconciler.table.sent and reconciler.rollouts.current is None))
    assert served.missing() == {"has-synced"}
    lab.bigip.release()
    until(lambda: router.turn(STEP_S) or not served.missing())


@pytest.mark.bare
def test_a_part_of_the_first_load_is_not_all_of_it(lab, serve):
    """All that was to be written at first must have been tried; what comes later does not prolong it."""
    served = serve()
    router, reconciler = served.router, served.router.reconciler
    load_a_part(lab, router)
    assert served.missing() == {"has-synced"}
    parts = 0
    while not reconciler.loaded:
        assert served.missing() == {"has-synced"}
        assert_metrics_of_the_load(lab, served)
        pump.write_a_part(router)
        parts += 1
    assert parts > 0
    assert_metrics_of_the_load(lab, served)
    assert pump.next_retry(reconciler) is not None  # of the later ones some wait
    while pump.next_retry(reconciler) is not None:
        pump.attempt(router)
    assert served.missing() == set()
    assert_metrics_of_the_load(lab, served)
    shown = served.samples()
    assert shown["f5router_routes", "admitted"] == LATER + 3
    assert shown["f5router_queue_length", "objects"] == shown["f5router_queue_length", "members"] == 0
    assert shown["f5router_oldest_change_age_seconds",] == 0
    assert shown["f5router_change_seconds_count", "ltm/pool"] == shown["f5router_objects", "ltm/pool"]


def assert_metrics_of_the_load(lab, served) -> None:
    """They are those of the cluster and of the device at this moment."""
    shown = served.samples()
    verdicts = sum(count for key, count in shown.items() if key[0] == "f5router_routes")
    assert verdicts == LATER + 3
    assert shown["f5router_route_namespaces",] == 1
    pools = [path for path in [item.path for item in lab.bigip.items("ltm/pool")] if "/openshift_" in path]
    assert shown.get(("f5router_objects", "ltm/pool"), 0) == len(pools)
    queued = shown["f5router_queue_length", "objects"] + shown["f5router_queue_length", "members"]
    assert (shown["f5router_oldest_change_age_seconds",] > 0) == (queued > 0)


def test_statistics_of_the_device(lab, serve):
    """Read after the first page that asks, of our pools alone; they are no sign of life of the loop."""
    lab.apply(manifests.route("a"))
    lab.change("POST", "ltm/pool", {"name": "theirs", "partition": "Common"})
    served = serve()
    assert served.router.cluster.wait_synced(DEADLINE_S)
    pump.attempt(served.router)
    lab.bigip.inject("hold", path="/stats")
    assert served.router.monitor.metrics.page("")[0].count(b"f5router_pool_current_connections{") == 0
    until(lambda: lab.bigip.held)
    lab.bigip.release()
    until(lambda: ("f5router_statistics_timestamp_seconds", lab.bigip.address) in served.samples())
    shown = served.samples()
    pools = [path for path in lab.paths("ltm/pool") if "/openshift_" in path]
    families = {key[0]: {labels[1:] for labels in shown if labels[0] == key[0]} for key in shown}
    assert sorted(pool for _, pool, _ in families["f5router_pool_connections_total"]) == sorted(pools)
    servers = {server for _, server in families["f5router_virtual_server_requests_total"]}
    assert servers == {"/Common/ose-vserver", "/Common/https-ose-vserver"}
    assert shown["f5router_bigip_requests_total", "statistics"] == 5  # all pools; each server, its profiles


def test_a_request_near_the_time_limit(lab, serve, caplog):
    """It is logged once, and stands in the checks, while the router is ready."""
    served = serve()
    assert served.router.cluster.wait_synced(DEADLINE_S)
    served.router.reconciler.device.client.slow_requests.record("GET", "/mgmt/tm/ltm/policy", 45.0)
    for _ in range(2):
        pump.attempt(served.router)
        served.router.reconciler.must_read("of the test")
    (record,) = [each for each in caplog.records if each.message.startswith("requests near the time limit")]
    assert record.problem.startswith("GET /mgmt/tm/ltm/policy takes over 40 s")
    assert f"[!]bigip-reached warning: {record.problem}" in served.get("/readyz?verbose").text.splitlines()


def test_a_kind_that_no_answer_came_for(lab, serve):
    """The API server is busy with one kind, and its name is shown."""
    lab.kube.inject("503", times=None, path="endpointslices")
    served = serve()
    until(lambda: len(served.router.cluster.missing()) == 1)
    assert "[-]cluster-listed failed: endpointslices are not listed yet\n" in served.get("/readyz").text


def test_metrics_follow_the_routes(lab, serve):
    """Incremental passes count like full ones."""
    lab.apply(manifests.route("a"), manifests.route("late", created="2027-01-01T00:00:00Z"))
    served = serve(f5_statistics_interval="0")
    lab.settle(served.router)
    assert served.metric("f5router_routes", verdict="admitted") == 1
    assert served.metric("f5router_routes", verdict="rejected") == 2  # with the marker, in capitals
    assert served.metric("f5router_objects", kind="ltm/pool") == len(lab.paths("ltm/pool"))
    sent = served.metric("f5router_bigip_requests_total", method="GET")
    assert sent == sum(entry.method == "GET" for entry in lab.bigip.log)
    lab.kube.delete("Route", "shop", "a")
    lab.settle(served.router)
    assert served.metric("f5router_routes", verdict="admitted") == 1  # late has the host now
    assert served.metric("f5router_routes", verdict="rejected") == 1
    lab.kube.delete("Route", "shop", "late")
    lab.settle(served.router)
    assert served.metric("f5router_objects", kind="ltm/pool") == len(lab.paths("ltm/pool"))
    assert served.metric("f5router_queue_length", queue="status") == 0


def test_the_loop_beats_and_its_end_is_noticed(lab, serve):
    """A loop that died of a bug leaves the process unhealthy, not silent."""
    served = serve()
    beats = threading.Event()
    heart = served.router.monitor.health.heartbeat
    served.router.monitor.heartbeat = lambda: (heart.beat(), beats.set())
    thread = threading.Thread(target=served.router.run, args=(served.stop,), daemon=True)
    thread.start()
    assert beats.wait(DEADLINE_S)
    assert served.get("/healthz").text == "ok"
    served.stop.set()
    thread.join(DEADLINE_S)
    assert served.get("/healthz").text == (
        "[-]controller failed: the control loop has ended\nhealthz check failed\n")


def test_the_login_of_the_settings(lab, serve):
    """By basic authentication; probes need none."""
    served = serve(stats_user="prometheus", stats_password="gauge-word")
    assert served.get("/metrics").status_code == 401
    assert served.get("/metrics", auth=("prometheus", "gauge-word")).status_code == 200
    assert served.get("/healthz").status_code == 200
    assert base64.b64encode(b"prometheus:gauge-word").decode() in served.config.secrets


def test_run_does_not_start_where_it_cannot_listen(lab, serve):
    """And writes nothing."""
    lab.apply(manifests.route("a"))
    taken = serve()
    config = lab.config(listen_addr=taken.server.where)
    with pytest.raises(ConfigError, match="Address already in use"):
        launch.run(config, once=False, stop=threading.Event())
    assert lab.writes() == []


def test_a_single_pass_does_not_listen(lab, serve):
    """Beside a router that runs."""
    taken = serve()
    config = lab.config(listen_addr=taken.server.where)
    assert launch.run(config, once=True, stop=threading.Event()) == 0


def test_none_switches_it_off(lab, serve):
    stop = threading.Event()
    stop.set()
    assert launch.run(lab.config(listen_addr="none"), once=False, stop=stop) == 0
