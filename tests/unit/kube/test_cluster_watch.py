"""First lists of the ClusterWatcher, what it lacks, and its end, against the fake API server over HTTPS."""

import threading
from dataclasses import replace

import pytest

from f5router.kube.api import decode
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import WatchSettings
from f5router.model.cluster import Key
from f5router.model.delta import Delta
from tests.unit.kube import objects
from tests.unit.kube.conftest import lists, watching
from tests.waiting import DEADLINE_S, until

A = Key("shop", "a")


def test_first_lists(kube, follow):
    """The first drain holds everything of all kinds."""
    kube.apply([objects.route("a"), objects.route("b"), objects.service(), objects.node(),
                objects.endpoint_slice("web-1", "10.1.0.1")])
    follower = follow(nodes=True)
    assert follower.cluster.wait_synced(DEADLINE_S)
    follower.drain()
    assert follower.names() == {"a", "b"}
    assert follower.names("services") == {"web"}
    assert follower.state["slices"][Key("shop", "web-1")].addresses == {"10.1.0.1"}
    assert follower.state["nodes"][Key("", "node-1")].internal_ips == ("192.0.2.1",)
    assert follower.cluster.drain().whole() == Delta()
    assert follower.cluster.problems() == ()


def test_nothing_before_every_list(kube, follow):
    """A partial view would delete what is not in it yet."""
    kube.apply(objects.route("a"))
    kube.forbid("services")
    follower = follow()
    assert kube.wait_for(lambda: watching(kube))
    assert not follower.cluster.synced()
    assert not follower.cluster.drain().whole()
    assert not follower.cluster.wait_synced(0)
    kube.allow("services")
    follower.until(lambda: follower.names() == {"a"})


def test_nodes_are_not_asked_for_without_need(kube, follow):
    """The router's role may have no right on them."""
    assert follow().cluster.wait_synced(DEADLINE_S)
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
    until(follower.cluster.problems)
    (problem,) = follower.cluster.problems()
    assert all(word in problem for word in words)
    assert not follower.cluster.synced()
    kube.allow(resource)
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert kube.wait_for(lambda: watching(kube, resource))
    until(lambda: not follower.cluster.problems())


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
    assert follow(nodes=True).cluster.wait_synced(DEADLINE_S, refused_s=0.1)


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
    assert follower.cluster.wait_synced(DEADLINE_S)
    kube.apply(objects.route("a"))
    follower.until(lambda: follower.names() == {"a"})
    assert "cannot watch" in follower.cluster.problems()[0]


@pytest.mark.parametrize("busy", [
    pytest.param(False, id="idle watches"), pytest.param(True, id="an answer that does not come")])
def test_stop_is_prompt(kube, follow, busy):
    if busy:
        kube.inject("delay", method="list", path="routes", seconds=3600)
        kube.inject("delay", path="discovery", seconds=3600)
    before = set(threading.enumerate())
    follower = follow()
    assert kube.wait_for(lambda: watching(kube, "services"))
    if not busy:
        assert kube.wait_for(lambda: watching(kube) and watching(kube, "endpointslices"))
    stopping = threading.Thread(target=follower.cluster.stop)
    stopping.start()
    stopping.join(DEADLINE_S)
    assert not stopping.is_alive()
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
    assert cluster.wait_synced(DEADLINE_S)
    kube.apply(objects.route("a"))
    until(lambda: cluster.route(A) is not None and len(calls) >= 2)
    cluster.stop()
    assert {record.message for record in caplog.records} == {"listener failed"}


def test_observe(kube, follow):
    """A newer reading of a known Route is taken over; older and unknown ones are not."""
    old = kube.apply(objects.route("a"))
    follower = follow()
    follower.until(lambda: follower.names() == {"a"})
    new = decode.route(old | {"spec": old["spec"] | {"host": "new.example.com"}})
    follower.cluster.observe(new)  # of the same version
    assert not follower.cluster.drain().whole()
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


@pytest.mark.parametrize(("resource", "options"), [
    ("nodes", {"nodes": True}), ("endpointslices", {"nodeport": True})])
def test_an_empty_list_is_told(kube, follow, resource, options):
    """Unused objects are known from then on, although no object came."""
    kube.forbid(resource)
    follower = follow(**options)
    assert follower.cluster.wait_synced(DEADLINE_S)
    follower.changed.clear()
    kube.allow(resource)
    listed = False
    while not listed:  # other kinds may report their lists late
        assert follower.changed.wait(DEADLINE_S)
        follower.changed.clear()
        delta = follower.cluster.drain().whole()
        listed = delta.nodes_listed if resource == "nodes" else delta.slices_listed
