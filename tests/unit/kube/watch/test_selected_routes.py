"""Which Routes are read: selectors and namespaces, against the fake API server."""

import threading

import pytest

from f5router.kube.api.connection import connect
from f5router.kube.settings import KubeSettings
from f5router.model.cluster import Key
from f5router.model.delta import Delta
from f5router.model.selection import Selection
from mocks.kube import FakeKube
from tests.unit.kube import objects
from tests.unit.kube.conftest import Follower, lists, watches, watching
from tests.waiting import DEADLINE_S, until

FRONT, BACK = {"tier": "front"}, {"tier": "back"}


def namespace(name: str, **labels: str) -> dict:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def labelled(name: str, space: str = "shop", **labels: str) -> dict:
    obj = objects.route(name, namespace=space)
    obj["metadata"]["labels"] = labels
    return obj


WEST = Selection(namespace_labels="zone=west")


@pytest.mark.parametrize(("chosen", "expected"), [
    (Selection(labels="tier in (front,back),!old"), {"a", "b"}),
    (Selection(labels="tier!=front"), {"b", "d"}),
    (Selection(fields="metadata.namespace=shop,spec.host!=d.com"), {"a", "b", "c"}),
    (Selection(fields="metadata.name=a", labels="tier=front"), {"a"}),
    (Selection("shop", labels="tier=front"), {"a", "c"}),
])
def test_selectors_of_routes(kube, follow, chosen, expected):
    """The API server chooses, in list and watch; other kinds are read whole."""
    kube.apply([labelled("a", tier="front"), labelled("b", tier="back"), labelled("c", tier="front", old=""),
                objects.route("d", namespace="bank", host="d.com"), objects.service()])
    follower = follow(selection=chosen)
    follower.until(lambda: follower.names() == expected)
    assert follower.names("services") == {"web"}
    assert kube.wait_for(lambda: watching(kube))
    wanted = {"labelSelector": chosen.labels, "fieldSelector": chosen.fields}
    for entry in (lists(kube)[0], watches(kube)[0]):
        assert {name: entry.query.get(name, "") for name in wanted} == wanted
    assert not wanted.keys() & lists(kube, "services")[0].query.keys()


def test_a_route_enters_and_leaves(kube, follow):
    """By its labels, without another list."""
    kube.apply(labelled("a"))
    follower = follow(selection=Selection(labels="tier=front"))
    assert follower.cluster.wait_synced(DEADLINE_S)
    for labels, expected in ((FRONT, {"a"}), (BACK, set()), (FRONT, {"a"})):
        kube.apply(labelled("a", **labels))
        follower.until(lambda wanted=expected: follower.names() == wanted)
    assert len(lists(kube)) == 1


def test_a_namespace_enters_and_leaves(kube, follow):
    """By its labels, and when it is deleted; its Routes are read before."""
    kube.apply([namespace("shop"), namespace("bank", zone="west"), labelled("a"), labelled("b", "bank")])
    follower = follow(selection=WEST)
    follower.until(lambda: follower.names() == {"b"})
    kube.apply(namespace("shop", zone="west"))
    follower.until(lambda: follower.names() == {"a", "b"})
    kube.apply(namespace("shop", zone="east"))
    follower.until(lambda: follower.names() == {"b"})
    kube.delete("Namespace", None, "bank")
    follower.until(lambda: not follower.names())
    asked = [*lists(kube, "namespaces"), *watches(kube, "namespaces")]
    assert {entry.query["labelSelector"] for entry in asked} == {"zone=west"}


def test_nothing_before_the_namespaces(kube, follow):
    """A list that fails is not an empty list: neither at the start nor later."""
    kube.apply([namespace("shop", zone="west"), labelled("a")])
    kube.inject("503", times=2, method="list", path="namespaces")
    kube.forbid("namespaces")
    follower = follow(selection=WEST)
    until(follower.cluster.problems)
    (problem,) = follower.cluster.problems()
    assert problem.endswith(
        "grant it with: oc create clusterrole f5router-namespaces --verb=get,list,watch "
        "--resource=namespaces and oc adm policy add-cluster-role-to-user f5router-namespaces "
        "system:serviceaccount:default:router")
    assert not follower.cluster.synced()
    assert follower.cluster.drain().whole() == Delta()
    kube.allow("namespaces")
    follower.until(lambda: follower.names() == {"a"} and watching(kube, "namespaces"))
    kube.forbid("namespaces")
    kube.compact()
    kube.inject("drop-watch", path="namespaces")
    until(follower.cluster.problems)
    assert follower.cluster.drain().whole() == Delta()
    assert follower.cluster.warnings() == ()


def test_no_namespace_is_selected(kube, follow):
    """Said, since it may be a slip; then nothing is served."""
    kube.apply([namespace("shop"), labelled("a")])
    follower = follow(selection=WEST)
    assert follower.cluster.warnings() == ()
    assert follower.cluster.wait_synced(DEADLINE_S)
    follower.drain()
    assert follower.names() == set()
    assert follower.cluster.warnings() == (
        "--namespace-labels 'zone=west' selects no namespace: no Route is served",)
    kube.apply(namespace("shop", zone="west"))
    follower.until(lambda: follower.names() == {"a"})
    assert follower.cluster.warnings() == ()


@pytest.mark.parametrize(("text", "expected"), [("zone=west", {"b"}), ("*", {"a", "b"})])
def test_projects(kube, follow, text, expected):
    """Projects that the account may see are listed periodically, not watched."""
    kube.apply([namespace("shop"), namespace("bank", zone="west"), labelled("a"), labelled("b", "bank")])
    again = threading.Semaphore(0)

    def sleep(seconds: float) -> None:
        if seconds == 30:
            again.acquire(timeout=DEADLINE_S)

    follower = follow(selection=Selection(project_labels=text), sleep=sleep)
    follower.until(lambda: follower.names() == expected)
    kube.delete("Namespace", None, "bank")
    kube.apply(namespace("shop", zone="west"))
    again.release()
    follower.until(lambda: follower.names() == {"a"})
    assert watches(kube, "projects") == lists(kube, "namespaces") == []
    queries = {entry.query.get("labelSelector", "*") for entry in lists(kube, "projects")}
    assert queries == {text}
    again.release(9)


@pytest.mark.parametrize("options", [{}, {"openshift": False}])
def test_projects_that_cannot_be_listed(tmp_path, options):
    """No right, or no OpenShift; nothing is served on the strength of that."""
    with FakeKube(**options) as kube:
        path = tmp_path / "kubeconfig"
        kube.write_kubeconfig(path)
        kube.apply(labelled("a"))
        kube.forbid("projects")
        connection = connect(KubeSettings(kubeconfig=str(path)))
        follower = Follower(connection, selection=Selection(project_labels="*"))
        until(lambda: any("projects" in text for text in follower.cluster.problems()))
        assert not follower.cluster.synced()
        follower.cluster.stop()


@pytest.mark.parametrize(("chosen", "words"), [
    pytest.param(Selection(fields="spec.hots=x"),
                 "field label not supported: spec.hots (fieldSelector 'spec.hots=x')", id="no such field"),
    pytest.param(Selection(labels="x in (a,,)"), "found ')', expected: ',', or identifier "
                 "(labelSelector 'x in (a,,)')", id="only the server knows"),
])
def test_selectors_that_the_server_refuses(kube, follow, chosen, words):
    """Told like a missing right, and nothing is served."""
    kube.apply(labelled("a"))
    follower = follow(selection=chosen)
    until(follower.cluster.problems)
    (problem,) = follower.cluster.problems()
    assert problem.startswith("GET /apis/route.openshift.io/v1/routes: 400 ")
    assert problem.endswith(words)
    assert not follower.cluster.synced()


def test_labels_that_change_all_the_time(kube, follow):
    """Only the last labels count."""
    kube.apply([namespace("shop", zone="west"), labelled("a", tier="front")])
    follower = follow(selection=Selection(labels="tier=front", namespace_labels="zone=west"))
    follower.until(lambda: follower.names() == {"a"})
    follower.drained.clear()
    for number in range(200):
        kube.apply(labelled("a", tier="front" if number % 2 else "back"))
        kube.apply(namespace("shop", zone="west" if number % 2 else "east"))
    newest = kube.apply(labelled("last", tier="front"))["metadata"]["resourceVersion"]
    assert int(newest) > 400
    until(lambda: follower.cluster.route(Key("shop", "last")) is not None)
    follower.until(lambda: follower.names() == {"a", "last"})
