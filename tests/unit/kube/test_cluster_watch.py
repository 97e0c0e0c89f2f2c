"""watch.py and reflector.py against the fake API server, over HTTPS."""

import queue
import threading
import time
from dataclasses import replace

import pytest

from f5router.kube.api import decode
from f5router.kube.api.connection import connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import KubeSettings, WatchSettings
from f5router.kube.watch.reflector import decode_object
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import ClusterNetwork, Delta, HostSubnet, Key
from f5router.model.selection import Selection
from mocks.kube import FakeKube
from tests.unit.kube import objects
from tests.unit.kube.conftest import LIMIT_S, Follower, lists, watches, watching

A = Key("shop", "a")


def test_first_lists(kube, follow):
    """The first drain holds everything of all kinds."""
    kube.apply([objects.route("a"), objects.route("b"), objects.service(), objects.node(),
                objects.endpoint_slice("web-1", "10.1.0.1")])
    follower = follow(nodes=True)
    assert follower.cluster.wait_synced(LIMIT_S)
    follower.drain()
    assert follower.names() == {"a", "b"}
    assert follower.names("services") == {"web"}
    assert follower.state["slices"][Key("shop", "web-1")].addresses == {"10.1.0.1"}
    assert follower.state["nodes"][Key("", "node-1")].internal_ips == ("192.0.2.1",)
    assert follower.cluster.drain() == Delta()
    assert follower.cluster.problems() == ()


def test_nothing_before_every_list(kube, follow):
    """A partial view would delete what is not in it yet."""
    kube.apply(objects.route("a"))
    kube.forbid("services")
    follower = follow()
    assert kube.wait_for(lambda: watching(kube))
    assert not follower.cluster.synced()
    assert not follower.cluster.drain()
    assert not follower.cluster.wait_synced(0)
    kube.allow("services")
    follower.until(lambda: follower.names() == {"a"})


def test_nodes_are_not_asked_for_without_need(kube, follow):
    """The router's role may have no right on them."""
    assert follow().cluster.wait_synced(LIMIT_S)
    assert lists(kube, "nodes") == []


def test_pages(kube, follow):
    kube.apply([objects.route(f"r{number}") for number in range(5)])
    follower = follow(page_size=2)
    follower.until(lambda: len(follower.names()) == 5)
    assert ["continue" in entry.query for entry in lists(kube)] == [False, True, True]


def test_page_expired(kube, follow):
    """410 between pages starts the list again."""
    kube.apply([objects.route(f"r{number}") for number in range(5)])
    kube.inject("410", method="list", path="routes")
    follower = follow(page_size=2)
    follower.until(lambda: len(follower.names()) == 5)
    assert [entry.status for entry in lists(kube)] == [200, 410, 200, 200, 200]


def test_changes(kube, follow):
    """Added, modified, deleted."""
    follower = follow()
    assert follower.cluster.wait_synced(LIMIT_S)
    kube.apply(objects.route("a"))
    follower.until(lambda: follower.names() == {"a"})
    kube.apply(objects.route("a", host="new.example.com"))
    follower.until(lambda: follower.state["routes"][A].host == "new.example.com")
    kube.delete("Route", "shop", "a")
    follower.until(lambda: not follower.names())
    assert follower.cluster.route(A) is None


def test_status_is_no_change(kube, follow):
    """The router's own writes must not wake it, but the writer needs the newest version."""
    kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    before = follower.cluster.route(A).resource_version
    kube.apply(objects.route("a", ingress=[{"routerName": "x"}]))
    follower.until(lambda: follower.cluster.route(A).status_ingress == ({"routerName": "x"},))
    assert follower.cluster.route(A).resource_version != before
    assert follower.drained == [("routes", A)]


def test_back_to_the_old_value_is_no_change(kube, follow):
    kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    kube.apply(objects.route("a", host="new.example.com"))
    kube.apply(objects.route("a"))
    version = kube.get("Route", "shop", "a")["metadata"]["resourceVersion"]
    end = time.monotonic() + LIMIT_S
    while follower.cluster.route(A).resource_version != version:
        assert time.monotonic() < end
    assert follower.cluster.drain() == Delta()


@pytest.mark.parametrize("fault", [
    pytest.param(("drop-watch", {}), id="ended"),
    pytest.param(("drop-watch", {"abrupt": True}), id="cut"),
    pytest.param(("truncated", {}), id="in the middle of a line"),
])
def test_watch_goes_on(kube, follow, fault):
    """After a broken watch the next one starts where it ended, without a list."""
    follower = follow()
    assert follower.cluster.wait_synced(LIMIT_S)
    assert kube.wait_for(lambda: watching(kube))
    kind, options = fault
    assert kube.inject(kind, path="routes", **options) == 1
    kube.apply(objects.route("a"))
    assert kube.wait_for(lambda: len(watches(kube)) == 2)
    kube.apply(objects.route("b"))
    follower.until(lambda: follower.names() == {"a", "b"})
    assert len(lists(kube)) == 1


def test_bookmarks_count(kube, follow):
    """A quiet kind keeps up with the cluster, so that its history is not lost."""
    follower = follow(watch_s=(1, 1))
    assert kube.wait_for(lambda: watching(kube) and watching(kube, "services"))
    newest = kube.apply(objects.service())["metadata"]["resourceVersion"]
    follower.until(lambda: follower.names("services"))
    kube.compact()
    assert kube.wait_for(lambda: len(watches(kube)) == 2)
    assert int(watches(kube)[1].query["resourceVersion"]) >= int(newest)
    assert len(lists(kube)) == 1


@pytest.mark.parametrize("fault", [
    pytest.param(("410", {"method": "watch"}), id="410 on the next watch"),
    pytest.param(("400", {"method": "watch"}), id="400 on the next watch"),
    pytest.param(("error-event", {"code": 410}), id="410 in the stream"),
    pytest.param(("error-event", {"code": 500}), id="another error in the stream"),
])
def test_list_again(kube, follow, fault):
    """Deletions that no watch told of are found by the next list."""
    kube.apply([objects.route("a"), objects.route("b")])
    follower = follow()
    follower.until(lambda: follower.names() == {"a", "b"})
    assert kube.wait_for(lambda: watching(kube))
    kind, options = fault
    kube.inject(kind, path="routes", **options)
    kube.inject("drop-watch", path="routes")
    assert kube.wait_for(lambda: len(lists(kube)) == 2)
    kube.delete("Route", "shop", "a")
    follower.until(lambda: follower.names() == {"b"})


def test_missed_deletion(kube, follow):
    """The server was away, with its history; what is known stays until it is back."""
    kube.apply([objects.route("a"), objects.route("b")])
    follower = follow()
    follower.until(lambda: follower.names() == {"a", "b"})
    kube.stop()
    kube.delete("Route", "shop", "a")
    kube.compact()
    assert follower.cluster.route(A)
    assert follower.cluster.drain() == Delta()
    kube.start()
    follower.until(lambda: follower.names() == {"b"})
    assert follower.cluster.synced()


def test_silent_watch(kube, follow):
    """A connection that a firewall forgot never ends by itself."""
    kube.inject("silent-drop", path="routes")
    follower = follow(watch_s=(1, 1), grace_s=0.2)
    assert kube.wait_for(lambda: watching(kube))
    kube.apply(objects.route("a"))
    follower.until(lambda: follower.names() == {"a"})


def test_version_of_another_history(kube, follow):
    """A cluster that was restored answers a version of its future with a time-out: list again."""
    kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    assert kube.wait_for(lambda: watching(kube))  # else there is nothing to drop
    kube.inject("504", times=3, method="watch", path="routes")
    kube.inject("drop-watch", path="routes")
    assert kube.wait_for(lambda: len(lists(kube)) == 2)
    assert kube.wait_for(lambda: watching(kube))


def test_resync(kube, follow):
    """A list is due although the watch could go on."""
    now = [0.0]
    follower = follow(resync_s=100, clock=lambda: now[0])
    assert follower.cluster.wait_synced(LIMIT_S)
    assert kube.wait_for(lambda: watching(kube))
    assert watches(kube)[0].query["timeoutSeconds"] == "100"
    now[0] = 100.0
    kube.inject("drop-watch", path="routes")
    assert kube.wait_for(lambda: len(lists(kube)) == 2)


@pytest.mark.parametrize(("resource", "words"), [
    pytest.param("routes", ['cannot list resource "routes"', "oc adm policy add-cluster-role-to-user "
                            "system:router -z router -n default"], id="routes"),
    pytest.param("services", ["system:router -z router -n default"], id="services"),
    pytest.param("endpointslices", ["oc apply -f docs/deploy/10-account.yaml and "], id="slices"),
])
def test_forbidden(kube, follow, resource, words):
    """One message that says what to do; all is well as soon as the right is there."""
    kube.forbid(resource)
    follower = follow()
    end = time.monotonic() + LIMIT_S
    while not follower.cluster.problems():
        assert time.monotonic() < end
    (problem,) = follower.cluster.problems()
    assert all(word in problem for word in words)
    assert not follower.cluster.synced()
    kube.allow(resource)
    assert follower.cluster.wait_synced(LIMIT_S)
    assert kube.wait_for(lambda: watching(kube, resource))
    while follower.cluster.problems():
        assert time.monotonic() < end


def test_waiting_ends_when_a_kind_is_refused(kube, follow):
    """Also when another one is still on its way; not for a kind that is not waited for."""
    kube.forbid("services")
    kube.inject("delay", method="list", path="endpointslices", seconds=60)
    follower = follow()
    assert not follower.cluster.wait_synced(60, refused_s=0.1)
    listed, refused = follower.cluster.missing()
    assert listed == "endpointslices are not listed yet"
    assert "cannot list" in refused
    kube.allow("services")
    assert kube.wait_for(lambda: watching(kube, "services"))
    assert not follower.cluster.wait_synced(0.3, refused_s=0.1)
    assert follower.cluster.missing() == (listed,)


def test_waiting_is_not_ended_by_nodes(kube, follow):
    kube.forbid("nodes")
    kube.inject("delay", method="list", path="routes", seconds=0.5)
    assert follow(nodes=True).cluster.wait_synced(LIMIT_S, refused_s=0.1)


def test_waiting_ends_when_told_to(kube, follow):
    kube.forbid("routes")
    stop = threading.Event()
    stop.set()
    assert not follow().cluster.wait_synced(60, stop=stop)


def test_forbidden_nodes(kube, follow):
    """Routes are served without Nodes; these follow when the right is granted."""
    kube.apply([objects.node(), objects.route("a")])
    kube.forbid("nodes")
    follower = follow(nodes=True)
    follower.until(lambda: follower.names() == {"a"})
    (problem,) = follower.cluster.problems()
    assert "system:sdn-reader system:serviceaccount:default:router" in problem
    assert follower.cluster.missing() == ()
    kube.allow("nodes")
    follower.until(lambda: follower.names("nodes") == {"node-1"})


def test_watch_forbidden(kube, follow):
    """With a right to list only, changes still come, by lists."""
    kube.forbid("routes", ["watch"])
    follower = follow()
    assert follower.cluster.wait_synced(LIMIT_S)
    kube.apply(objects.route("a"))
    follower.until(lambda: follower.names() == {"a"})
    assert "cannot watch" in follower.cluster.problems()[0]


def test_routes_not_served(tmp_path):
    """A cluster that is no OpenShift: the message says so, also when RBAC answers first."""
    with FakeKube(openshift=False) as kube:
        kube.write_kubeconfig(tmp_path / "config")
        follower = Follower(connect(KubeSettings(kubeconfig=str(tmp_path / "config"))))
        end = time.monotonic() + LIMIT_S
        while not follower.cluster.problems():
            assert time.monotonic() < end
        assert "does not serve routes of route.openshift.io/v1" in follower.cluster.problems()[0]
        assert not follower.cluster.synced()
        follower.cluster.stop()


@pytest.mark.parametrize("hidden", [
    pytest.param(False, id="not served"),
    pytest.param(True, id="not served, and no right on it"),
])
def test_endpoints_instead_of_slices(tmp_path, hidden):
    """OpenShift 3 has no EndpointSlices; to an account without rights it says 403, not 404."""
    with FakeKube(slices=False) as kube:
        if hidden:
            kube.inject("403", times=None, path="/endpointslices")
        kube.write_kubeconfig(tmp_path / "config")
        kube.apply(objects.endpoints("web", (8080, ["10.1.0.1"]), (9090, ["10.1.0.2"])))
        follower = Follower(connect(KubeSettings(kubeconfig=str(tmp_path / "config"))))
        follower.until(lambda: follower.names("slices") == {"web/0", "web/1"})
        kube.apply(objects.endpoints("web", (8080, ["10.1.0.3"])))
        follower.until(lambda: follower.names("slices") == {"web/0"})
        kube.delete("Endpoints", "shop", "web")
        follower.until(lambda: not follower.names("slices"))
        follower.cluster.stop()


def test_endpoints_on_request(kube, follow):
    kube.apply([objects.endpoints("web", (8080, ["10.1.0.1"])), objects.endpoint_slice("web-1", "10.1.0.1")])
    follower = follow(use_endpoints=True)
    follower.until(lambda: follower.names("slices") == {"web/0"})
    assert lists(kube, "endpointslices") == []


def test_one_namespace(kube, follow):
    kube.apply([objects.route("a"), objects.route("b", namespace="other"), objects.node()])
    follower = follow(selection=Selection("shop"), nodes=True)
    follower.until(lambda: follower.names() == {"a"})
    assert lists(kube)[0].path == "/apis/route.openshift.io/v1/namespaces/shop/routes"
    assert lists(kube, "nodes")[0].path == "/api/v1/nodes"


def test_namespace_of_the_settings(kube, kubeconfig):
    kube.apply([objects.route("a"), objects.route("b", namespace="other")])
    follower = Follower(connect(KubeSettings(kubeconfig=kubeconfig, namespace="other")))
    follower.until(lambda: follower.names() == {"b"})
    follower.cluster.stop()


def test_object_without_a_meaning(kube, follow):
    """It counts as absent, in a list and in a watch, and the others go on."""
    kube.apply([objects.route("bad", tls="edge"), objects.route("a")])
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    kube.apply(objects.route("a", tls="edge"))
    follower.until(lambda: not follower.names())
    kube.apply(objects.route("bad", tls={"termination": "edge"}))
    follower.until(lambda: follower.names() == {"bad"})


def test_backoff(kubeconfig, kube):
    """An API server that is away is not asked in a loop, and gets what it asks for."""
    slept, enough = [], threading.Event()

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 8:
            enough.set()

    kube.inject("503", times=None, path="routes")
    connection = connect(KubeSettings(kubeconfig=kubeconfig))
    cluster = ClusterWatcher(connection, WatchSettings(), on_change=lambda: None, sleep=sleep)
    cluster.start()
    assert enough.wait(LIMIT_S)
    cluster.stop()
    limits = [0.5, 1, 2, 4, 8, 16, 32, 60]
    assert all(limit / 2 <= seconds <= limit for seconds, limit in zip(slept[:8], limits, strict=True))


def test_retry_after(kubeconfig, kube):
    slept, once = [], threading.Event()

    def sleep(seconds):
        slept.append(seconds)
        once.set()

    kube.inject("429", method="list", path="routes", retry_after=7)
    connection = connect(KubeSettings(kubeconfig=kubeconfig))
    cluster = ClusterWatcher(connection, WatchSettings(), on_change=lambda: None, sleep=sleep)
    cluster.start()
    assert once.wait(LIMIT_S)
    assert cluster.wait_synced(LIMIT_S)
    cluster.stop()
    assert slept[0] == 7


def test_quick_ends_are_failures(kube, follow):
    """A server that ends each watch at once is not asked in a loop."""
    slept = []
    stopped = threading.Event()

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            stopped.set()

    kube.inject("drop-watch", times=None, path="routes")
    follower = follow(sleep=sleep)
    assert follower.cluster.wait_synced(LIMIT_S)
    end = time.monotonic() + LIMIT_S
    while not stopped.is_set():
        assert time.monotonic() < end
        kube.inject("drop-watch", path="routes")
    assert len(slept) >= 3


def test_server_away_at_the_start(kubeconfig, kube):
    """No problem to tell of: it is waited for."""
    kube.apply(objects.route("a"))
    kube.stop()
    follower = Follower(connect(KubeSettings(kubeconfig=kubeconfig, connect_timeout_s=1)))
    assert not follower.cluster.wait_synced(0.1)
    assert follower.cluster.problems() == ()
    kube.start()
    follower.until(lambda: follower.names() == {"a"})
    follower.cluster.stop()


@pytest.mark.parametrize("busy", [
    pytest.param(False, id="idle watches"), pytest.param(True, id="an answer that does not come")])
def test_stop_is_prompt(kube, follow, busy):
    if busy:
        kube.inject("delay", method="list", path="routes", seconds=5)
        kube.inject("delay", path="discovery", seconds=5)
    before = set(threading.enumerate())
    follower = follow()
    assert kube.wait_for(lambda: watching(kube, "services"))
    if not busy:
        assert kube.wait_for(lambda: watching(kube) and watching(kube, "endpointslices"))
    started = time.monotonic()
    follower.cluster.stop()
    assert time.monotonic() - started < 1
    if not busy:
        assert not any(thread.name.startswith("watch-") for thread in set(threading.enumerate()) - before)


def test_listener_may_fail(connection, kube, caplog):
    """A bug of the listener costs no updates."""
    calls = []

    def listener():
        calls.append(1)
        raise RuntimeError("a bug")

    cluster = ClusterWatcher(connection, WatchSettings(), on_change=listener)
    cluster.start()
    assert cluster.wait_synced(LIMIT_S)
    kube.apply(objects.route("a"))
    end = time.monotonic() + LIMIT_S
    while cluster.route(A) is None or len(calls) < 2:
        assert time.monotonic() < end
    cluster.stop()
    assert {record.message for record in caplog.records} == {"listener failed"}


def test_observe(kube, follow):
    """A newer reading of a known Route is taken over; older and unknown ones are not."""
    old = kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    new = decode.route(old | {"spec": old["spec"] | {"host": "new.example.com"}})
    follower.cluster.observe(new)  # of the same version
    assert not follower.cluster.drain()
    follower.cluster.observe(replace(new, resource_version=str(int(new.resource_version) + 1000)))
    follower.until(lambda: follower.state["routes"][A].host == "new.example.com")
    kube.apply(objects.route("a", host="late.example.com"))  # an event from before
    kube.apply(objects.service("marker"))
    follower.until(lambda: follower.names("services") == {"marker"})
    assert follower.cluster.route(A).host == "new.example.com"
    kube.delete("Route", "shop", "a")
    follower.until(lambda: not follower.names())
    follower.cluster.observe(new)
    assert follower.cluster.route(A) is None


GHOST = {"apiVersion": "network.openshift.io/v1", "kind": "HostSubnet", "metadata": {"name": "f5"},
         "host": "f5", "hostIP": "192.0.2.9", "subnet": "10.131.0.0/23"}
NETWORK = {"apiVersion": "network.openshift.io/v1", "kind": "ClusterNetwork", "metadata": {"name": "default"},
           "network": "10.128.0.0/14"}


def test_network_of_the_cluster(kube, follow):
    """HostSubnets are watched, the ClusterNetwork is read by name: no role allows to list it."""
    kube.apply([GHOST, NETWORK, objects.node()])
    kube.forbid("clusternetworks", ["list", "watch"])
    follower = follow(nodes=True, sdn=True)
    assert follower.cluster.wait_synced(LIMIT_S)
    delta = follower.cluster.drain()
    assert delta.host_subnets == {Key("", "f5"): HostSubnet(Key("", "f5"), "192.0.2.9", "10.131.0.0/23")}
    assert delta.cluster_networks == {
        Key("", "default"): ClusterNetwork(Key("", "default"), ("10.128.0.0/14",))}
    assert delta.nodes_listed
    assert lists(kube, "clusternetworks") == []
    kube.delete("HostSubnet", "", "f5")
    end = time.monotonic() + LIMIT_S
    while not (delta := follower.cluster.drain()):
        assert time.monotonic() < end
    assert delta.host_subnets == {Key("", "f5"): None}


def test_another_vxlan_port(kube, follow):
    """The ClusterNetwork is read every minute, not only when everything is listed again."""
    kube.apply(NETWORK)
    slept, go_on = queue.Queue(), threading.Event()

    def sleep(seconds):
        slept.put(seconds)
        go_on.wait(LIMIT_S)
        go_on.clear()

    follower = follow(nodes=True, sdn=True, sleep=sleep)
    assert follower.cluster.wait_synced(LIMIT_S)
    follower.cluster.drain()
    assert slept.get(timeout=LIMIT_S) == 60.0
    kube.apply(NETWORK | {"vxlanPort": 4800})
    go_on.set()
    end = time.monotonic() + LIMIT_S
    while not (delta := follower.cluster.drain()):
        assert time.monotonic() < end
    assert delta.cluster_networks[Key("", "default")].vxlan_port == 4800


@pytest.mark.parametrize("resource", ["hostsubnets", "clusternetworks"])
def test_network_that_may_not_be_read(kube, follow, resource):
    """It is optional: no problem, and nothing waits for it."""
    kube.apply([GHOST, NETWORK])
    kube.forbid(resource)
    follower = follow(nodes=True, sdn=True)
    assert follower.cluster.wait_synced(LIMIT_S)
    assert follower.cluster.problems() == ()
    assert follower.cluster.missing() == ()
    assert follower.cluster.nodes_problem() == ""


def test_nodes_are_complete_when_they_are_listed(kube, follow):
    """Before, nobody may be taken for gone."""
    kube.apply(objects.node())
    kube.forbid("nodes")
    follower = follow(nodes=True)
    assert follower.cluster.wait_synced(LIMIT_S)
    assert not follower.cluster.drain().nodes_listed
    assert "system:sdn-reader" in follower.cluster.nodes_problem()
    kube.allow("nodes")
    end = time.monotonic() + LIMIT_S
    known = {}
    while not (delta := follower.cluster.drain()).nodes_listed:
        known |= delta.nodes
        assert time.monotonic() < end
    # Told with the Nodes or after them, never before.
    assert {key.name for key in known | delta.nodes} == {"node-1"}


@pytest.mark.parametrize(("resource", "options"), [
    ("nodes", {"nodes": True}), ("endpointslices", {"nodeport": True})])
def test_an_empty_list_is_told(kube, follow, resource, options):
    """What nobody uses any more can be told from then on, although no object came."""
    kube.forbid(resource)
    follower = follow(**options)
    assert follower.cluster.wait_synced(LIMIT_S)
    follower.changed.clear()
    kube.allow(resource)
    assert follower.changed.wait(LIMIT_S)
    delta = follower.cluster.drain()
    assert delta.nodes_listed if resource == "nodes" else delta.slices_listed


# --- Nodes as pool members ---------------------------------------------------------------


def test_nodes_are_needed_as_members(kube, follow):
    """Without them every pool would be emptied."""
    kube.apply([objects.route("a"), objects.node()])
    kube.forbid("nodes")
    follower = follow(nodeport=True)
    follower.until(follower.cluster.problems)
    assert not follower.cluster.synced()
    assert any("nodes" in text for text in follower.cluster.missing())
    kube.allow("nodes")
    follower.until(lambda: follower.names("nodes") == {"node-1"} and follower.names() == {"a"})


@pytest.mark.parametrize("slices", [True, False])
def test_nodes_of_endpoints(slices, tmp_path):
    """Of endpoints only their Nodes are kept; without EndpointSlices those of Endpoints."""
    with FakeKube(slices=slices, bookmark_s=0.2) as kube:
        kube.write_kubeconfig(tmp_path / "config")
        new, old = objects.endpoint_slice("web-1", "10.1.0.1"), objects.endpoints("web", (80, ["10.1.0.1"]))
        for where in (new["endpoints"][0], old["subsets"][0]["addresses"][0]):
            where["nodeName"] = "n1"
        kube.apply(new if slices else old)
        follower = Follower(connect(KubeSettings(kubeconfig=str(tmp_path / "config"))), nodeport=True)
        follower.until(lambda: follower.state["slices"])
        (endpoint_slice,) = follower.state["slices"].values()
        assert (endpoint_slice.addresses, endpoint_slice.nodes) == (frozenset(), {"n1"})
        follower.cluster.stop()


def test_endpoints_are_dispensable_with_nodes_as_members(kube, follow):
    """Forbidden, they are not waited for; when the right is granted, they follow."""
    kube.apply([objects.route("a"), objects.endpoint_slice("web-1", "10.1.0.1")])
    kube.forbid("endpointslices")
    follower = follow(nodeport=True)
    assert follower.cluster.wait_synced(LIMIT_S)
    assert not follower.cluster.drain().slices_listed
    assert follower.cluster.missing() == ()
    kube.allow("endpointslices")
    end = time.monotonic() + LIMIT_S
    known = {}
    while not (delta := follower.cluster.drain()).slices_listed:
        known |= delta.slices
        assert time.monotonic() < end
    assert {key.name for key in known | delta.slices} == {"web-1"}


def test_slices_are_listed(kube, follow):
    """Where pods are members they always are, at the first drain."""
    follower = follow()
    assert follower.cluster.wait_synced(LIMIT_S)
    assert follower.cluster.drain().slices_listed


def test_node_selector(kube, follow):
    """The API server selects; a Node that gets the label joins, one that loses it is gone."""
    def labelled(name: str, **labels: str) -> dict:
        return objects.node(name) | {"metadata": {"name": name, "labels": labels}}

    kube.apply([labelled("n1", tier="edge"), labelled("n2"), labelled("n3", tier="edge")])
    follower = follow(nodeport=True, node_selector="tier in (edge)")
    follower.until(lambda: follower.names("nodes") == {"n1", "n3"})
    assert kube.wait_for(lambda: watching(kube, "nodes"))
    kube.apply([labelled("n2", tier="edge"), labelled("n3")])
    follower.until(lambda: follower.names("nodes") == {"n1", "n2"})
    asked = {entry.query.get("labelSelector") for entry in (*lists(kube, "nodes"), *watches(kube, "nodes"))}
    assert asked == {"tier in (edge)"}
    assert {entry.query.get("labelSelector") for entry in lists(kube, "services")} == {None}


HOSTILE = {
    "deep": b"[" * 3000 + b"]" * 3000, "infinite": b"1e999999", "digits": b"1" * 100_000, "nan": b"NaN",
    "surrogate": b'"\\ud800"',
}


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("make", [objects.route, objects.service], ids=["routes", "services"])
def test_what_nobody_can_read_costs_one_object(kube, follow, caplog, make, text):
    """An unknown field, kept by the API server, nested 3,000 deep: it ended watch and lists for good."""
    kind = f"{make.__name__}s"
    kube.spell("@hostile", HOSTILE[text])
    kube.apply([make("bad", unknown="@hostile"), make("good")])
    follower = follow()
    follower.until(lambda: follower.names(kind) == {"good"})
    kube.apply([make("worse", unknown="@hostile"), make("better")])
    follower.until(lambda: follower.names(kind) == {"good", "better"})
    kube.apply(make("good", unknown="@hostile"))
    follower.until(lambda: follower.names(kind) == {"better"})
    kube.apply(make("good"))
    follower.until(lambda: follower.names(kind) == {"good", "better"})
    kube.delete(make("worse")["kind"], "shop", "worse")
    told = [record for record in caplog.records if record.message == "object ignored"]
    assert {record.object for record in told} == {"shop/bad", "shop/worse", "shop/good"}
    assert {record.kind for record in told} == {kind}
    assert not [record for record in caplog.records if record.exc_info]
    assert len(watches(kube, kind)) == 1


def test_names_that_no_object_can_have(kube, follow, caplog):
    """They are left out by name, in a list and in a watch."""
    kube.apply([objects.route(name) for name in ("a\ud800", "B", "b")])
    follower = follow()
    follower.until(lambda: follower.names() == {"b"})
    kube.apply([objects.route("c\n"), objects.route("d")])
    follower.until(lambda: follower.names() == {"b", "d"})
    told = {record.object for record in caplog.records if record.message == "object ignored"}
    assert told == {"without a name", "shop/B", r"'c\n'"}


def annotated(obj: dict, **annotations: str) -> dict:
    return obj | {"metadata": {**obj["metadata"], "annotations": annotations, "labels": annotations}}


TIMEOUT = "haproxy.router.openshift.io/timeout"


def test_annotations_that_nothing_reads_are_no_change(kube, follow):
    """Nobody is woken for them, nor for the value of one whose presence alone is reported."""
    kube.apply([annotated(objects.route("a"), **{TIMEOUT: "5s"}), objects.service("web")])
    follower = follow()
    follower.until(lambda: follower.names() and follower.names("services"))
    kube.apply([annotated(objects.route("a"), note="new", **{TIMEOUT: "6s"}),
                annotated(objects.service("web"), note="new")])
    kube.apply([objects.route("z"), objects.service("z")])
    follower.until(lambda: "z" in follower.names() & follower.names("services"))
    assert follower.drained.count(("routes", Key("shop", "a"))) == 1
    assert follower.drained.count(("services", Key("shop", "web"))) == 1


def test_an_annotation_that_is_read_is_a_change(kube, follow):
    kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names())
    kube.apply(annotated(objects.route("a"), **{TIMEOUT: "5s"}))
    follower.until(lambda: follower.state["routes"][A].unsupported == (TIMEOUT,))
    assert follower.drained.count(("routes", A)) == 2


def test_a_fault_of_a_decoder(kube, caplog):
    """Whatever goes wrong with one object costs this object only."""
    def decode(obj):
        return (1 // obj["spec"]["divisor"],)

    kube.apply([objects.route("a", divisor=0), objects.route("b", divisor=1), objects.route("c")])
    source = replace(ROUTES, decode=decode)
    values = dict(decode_object(source, obj) for obj in kube.list("Route"))
    assert values == {Key("shop", "a"): (), Key("shop", "b"): (1,), Key("shop", "c"): ()}
    assert {record.object for record in caplog.records if record.exc_info} == {"shop/a", "shop/c"}
