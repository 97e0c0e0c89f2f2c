"""find_entries and remove_entry: entries of a router name, entries in pages and removed."""

import pytest

from f5router.kube.status import entry_cleanup, status_request
from f5router.kube.status.status_request import OwnedEntry, RouteStatus
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import Key
from f5router.model.errors import KubeConflict, KubeForbidden, ResourceExpired
from tests.unit.kube import objects
from tests.unit.kube.conftest import lists

OURS = {"host": "www.example.com", "routerName": "public", "wildcardPolicy": "None", "conditions": [
    {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
OTHER = OURS | {"routerName": "haproxy"}


def statuses(connection):
    return RouteStatus(connection, lambda: ROUTES)


def names(entries):
    return [(entry.key.namespace, entry.key.name) for entry in entries]


@pytest.fixture
def routes(kube):
    """Two namespaces, labels, other routers' entries, Routes without a status."""
    blue = objects.route("blue", ingress=[OTHER, OURS])
    blue["metadata"]["labels"] = {"shard": "blue"}
    kube.apply([
        objects.route("plain"), objects.route("other", ingress=[OTHER]), blue,
        objects.route("mine", namespace="till", ingress=[OURS], host="till.example.com")])
    kube.apply([objects.route(f"r{number}", ingress=[OURS]) for number in range(5)])


@pytest.mark.parametrize("page_size", [1, 2, 500])
def test_find(kube, connection, routes, page_size):
    """Everywhere, page by page."""
    entries = entry_cleanup.find_entries(connection, ROUTES, "public", page_size=page_size)
    assert names(entries) == [
        ("shop", "blue"), *(("shop", f"r{number}") for number in range(5)), ("till", "mine")]
    assert entries[0].entry == OURS
    assert entries[0].uid == kube.get("Route", "shop", "blue")["metadata"]["uid"]
    assert len(lists(kube)) == -(-9 // page_size)


@pytest.mark.parametrize(("options", "expected"), [
    pytest.param({"namespace": "till"}, [("till", "mine")], id="namespace"),
    pytest.param({"selectors": {"labelSelector": "shard=blue"}}, [("shop", "blue")], id="labels"),
    pytest.param({"selectors": {"fieldSelector": "spec.host=till.example.com"}}, [("till", "mine")],
                 id="fields"),
    pytest.param({"selectors": {"labelSelector": "shard=green"}}, [], id="none"),
])
def test_find_in_a_part(kube, connection, routes, options, expected):
    assert names(entry_cleanup.find_entries(connection, ROUTES, "public", page_size=2, **options)) == expected


def test_pages_that_are_too_old(kube, connection, routes):
    """The list begins anew; not for ever."""
    kube.inject("410", method="list")
    assert len(entry_cleanup.find_entries(connection, ROUTES, "public", page_size=2)) == 7
    kube.inject("410", times=None, method="list")
    with pytest.raises(ResourceExpired):
        entry_cleanup.find_entries(connection, ROUTES, "public", page_size=2)


def test_find_is_forbidden(kube, connection, routes):
    kube.forbid("routes", ["list"])
    with pytest.raises(KubeForbidden):
        entry_cleanup.find_entries(connection, ROUTES, "public")


def test_odd_objects(kube, connection):
    """They count as having no entry."""
    for number, ingress in enumerate(("text", [3], [{"routerName": 5}], {"routerName": "public"}, None)):
        kube.apply(objects.route(f"odd{number}") | {"status": {"ingress": ingress}})
    kube.apply(objects.route("bare") | {"status": "text"})
    assert entry_cleanup.find_entries(connection, ROUTES, "public") == []


@pytest.mark.parametrize(("there", "unchanged", "left"), [
    pytest.param([OTHER, OURS], True, [OTHER], id="as entries"),
    pytest.param([OURS, OTHER, OURS], True, [OTHER], id="twice"),
    pytest.param([OTHER, OURS | {"host": "new"}], True, None, id="says something else now"),
    pytest.param([OTHER, OURS | {"host": "new"}], False, [OTHER], id="whatever it says"),
    pytest.param([OTHER], False, None, id="gone already"),
])
@pytest.mark.parametrize("verb", ["patch", "update"])
def test_remove(kube, connection, there, unchanged, left, verb):
    """With either right; the rest of the status stays."""
    kube.forbid("routes/status", {"patch", "update"} - {verb})
    obj = kube.apply(objects.route("a", ingress=there))
    entries = OwnedEntry(Key("shop", "a"), obj["metadata"]["uid"], OURS)
    written = status_request.remove_entry(statuses(connection), entries, "public", unchanged=unchanged)
    assert (written is None) is (left is None)
    assert kube.get("Route", "shop", "a")["status"]["ingress"] == (there if left is None else left)


def test_remove_of_another_route(kube, connection):
    """Deleted, or created anew."""
    kube.apply(objects.route("a", ingress=[OURS]))
    for key in (Key("shop", "a"), Key("shop", "gone")):
        owned = OwnedEntry(key, "old", OURS)
        assert status_request.remove_entry(statuses(connection), owned, "public") is None
    assert kube.get("Route", "shop", "a")["status"]["ingress"] == [OURS]


def test_remove_conflict(kube, connection):
    """Somebody writes between our read and our write."""
    obj = kube.apply(objects.route("a", ingress=[OURS]))
    kube.inject("409", method="PATCH")
    entries = OwnedEntry(Key("shop", "a"), obj["metadata"]["uid"], OURS)
    with pytest.raises(KubeConflict):
        status_request.remove_entry(statuses(connection), entries, "public")
