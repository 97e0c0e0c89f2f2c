"""Changes that the watches report, and how watches go on after a fault."""

import threading

import pytest

from f5router.kube.api.connection import connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import KubeSettings, WatchSettings
from f5router.model.cluster import Key
from f5router.model.delta import Delta
from tests.unit.kube import objects
from tests.unit.kube.conftest import ROUTES_ALONE, Follower, lists, watches, watching
from tests.waiting import DEADLINE_S, until

A = Key("shop", "a")


def test_changes(kube, follow):
    """Added, modified, deleted."""
    follower = follow()
    assert follower.cluster.wait_synced(DEADLINE_S)
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
    until(lambda: follower.cluster.route(A).resource_version == version)
    assert follower.cluster.drain().whole() == Delta()


@pytest.mark.parametrize("fault", [
    pytest.param(("drop-watch", {}), id="ended"),
    pytest.param(("drop-watch", {"abrupt": True}), id="cut"),
    pytest.param(("truncated", {}), id="in the middle of a line"),
])
def test_watch_goes_on(kube, follow, fault):
    """After a broken watch the next one starts where it ended, without a list."""
    follower = follow()
    assert follower.cluster.wait_synced(DEADLINE_S)
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
    assert follower.cluster.drain().whole() == Delta()
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
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert kube.wait_for(lambda: watching(kube))
    assert watches(kube)[0].query["timeoutSeconds"] == "100"
    now[0] = 100.0
    kube.inject("drop-watch", path="routes")
    assert kube.wait_for(lambda: len(lists(kube)) == 2)


def test_backoff(kubeconfig, kube):
    """An API server that is away is not asked in a loop, and gets what it asks for."""
    slept, enough = [], threading.Event()

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 8:
            enough.set()

    kube.inject("503", times=None, path="routes")
    connection = connect(KubeSettings(kubeconfig=kubeconfig))
    cluster = ClusterWatcher(
        connection, WatchSettings(sources=ROUTES_ALONE), on_change=lambda: None, sleep=sleep)
    cluster.start()
    assert enough.wait(DEADLINE_S)
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
    cluster = ClusterWatcher(
        connection, WatchSettings(sources=ROUTES_ALONE), on_change=lambda: None, sleep=sleep)
    cluster.start()
    assert once.wait(DEADLINE_S)
    assert cluster.wait_synced(DEADLINE_S)
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
    assert follower.cluster.wait_synced(DEADLINE_S)
    until(lambda: [kube.inject("drop-watch", path="routes"), stopped.is_set()][1])
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
