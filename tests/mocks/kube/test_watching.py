"""Watches: where they start, what they send, how they end."""

import pytest

from mocks.kube import FakeKube

from .conftest import Http, Stream
from .objects import ROUTES, SHOP, admitted, route


def revision(kube, name="web"):
    return kube.get("Route", "shop", name)["metadata"]["resourceVersion"]


def test_events(kube, http):
    """Create, change and delete arrive in order, each with the object as it was then."""
    stream = http.watch(ROUTES)
    kube.apply(route())
    kube.apply(route(host="b.example.com"))
    kube.delete("Route", "shop", "web")
    events = [next(stream) for _ in range(3)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    hosts = [event["object"]["spec"]["host"] for event in events]
    assert hosts == ["web.example.com", "b.example.com", "b.example.com"]
    revisions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
    assert revisions == sorted(set(revisions))
    assert {event["object"]["kind"] for event in events} == {"Route"}


def test_events_that_come_again(kube, http):
    """Events pass what a test makes of them, late or not."""
    paths = []
    kube.faults.pass_on = lambda path, lines: paths.append(path) or (0.001, 2 * lines)
    stream = http.watch(ROUTES)
    kube.apply(route("a"))
    assert [stream.next() for _ in range(2)] == 2 * [("ADDED", "a")]
    assert set(paths) == {ROUTES}


@pytest.mark.parametrize("query", [
    pytest.param({}, id="unset"),
    pytest.param({"resourceVersion": "0"}, id="0"),
])  # fmt: skip
def test_start_with_current_objects(kube, http, query):
    """Without a resourceVersion, and at 0, a watch begins with the objects there are."""
    kube.apply([route("b"), route("a")])
    stream = http.watch(ROUTES, **query)
    kube.apply(route("c"))
    assert [stream.next() for _ in range(3)] == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]


def test_start_at_revision(kube, http):
    """A watch from a list's resourceVersion gets what came after it, once."""
    kube.apply(route("a"))
    listed = http.get(ROUTES).json()["metadata"]["resourceVersion"]
    kube.apply(route("b"))
    stream = http.watch(ROUTES, resourceVersion=listed)
    kube.apply(route("c"))
    assert [stream.next() for _ in range(2)] == [("ADDED", "b"), ("ADDED", "c")]


def test_too_old(kube, http):
    """A forgotten resourceVersion: 200, then an ERROR event with 410 Expired, then the end."""
    kube.apply(route())
    old = revision(kube)
    kube.apply(route(host="b.example.com"))
    kube.compact()
    stream = http.watch(ROUTES, resourceVersion=old)
    assert stream.response.status_code == 200
    events = list(stream)
    assert [(e["type"], e["object"]["code"], e["object"]["reason"]) for e in events] == [
        ("ERROR", 410, "Expired")
    ]
    assert events[0]["object"]["message"].startswith(f"too old resource version: {old} (")


def test_current_revision_after_compaction(kube, http):
    """The newest resourceVersion is never too old."""
    kube.apply(route())
    kube.compact()
    stream = http.watch(ROUTES, resourceVersion=revision(kube))
    kube.apply(route("b"))
    assert stream.next() == ("ADDED", "b")


def test_history_is_bounded():
    """With a history of 3 changes the fourth oldest is too old to start from."""
    with FakeKube(history=3) as kube:
        http = Http(kube)
        kube.apply(route("a"))
        before = revision(kube, "a")
        kube.apply([route(name) for name in "bcd"])
        stream = http.watch(ROUTES, resourceVersion=before)
        assert [stream.next()[1] for _ in range(3)] == ["b", "c", "d"]
        kube.apply(route("e"))
        assert [event["type"] for event in http.watch(ROUTES, resourceVersion=before)] == ["ERROR"]


def test_start_ahead(kube, http):
    """A watch from a resourceVersion the server has not reached skips what is not behind it."""
    newest = int(http.get(ROUTES).json()["metadata"]["resourceVersion"])
    kube.apply(route("a"))  # with its namespace: 2 changes
    stream = http.watch(ROUTES, resourceVersion=newest + 3)
    kube.apply([route("b"), route("c")])
    assert stream.next() == ("ADDED", "c")


def test_selection_is_entered_and_left(kube, http):
    """An object that begins to match is ADDED, one that no longer does is DELETED as it was before."""
    stream = http.watch(ROUTES, labelSelector="tier=front")
    kube.apply(route(labels={"tier": "back"}))
    kube.apply(route(labels={"tier": "front"}))
    kube.apply(route(labels={"tier": "front"}, annotations={"a": "b"}))
    kube.apply(route(labels={"tier": "back"}))
    kube.delete("Route", "shop", "web")
    kube.apply(route("other", labels={"tier": "front"}))
    events = [next(stream) for _ in range(4)]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    assert events[2]["object"]["metadata"]["labels"] == {"tier": "front"}
    assert int(events[2]["object"]["metadata"]["resourceVersion"]) > int(
        events[1]["object"]["metadata"]["resourceVersion"]
    )


def test_one_namespace_and_one_object(kube, http):
    """A watch below a namespace, or with a name, sees nothing else."""
    shop = http.watch(SHOP)
    watch = http.watch(f"{SHOP}/b")
    kube.apply([route("a", namespace="other"), route("a"), route("b")])
    assert [shop.next(), shop.next()] == [("ADDED", "a"), ("ADDED", "b")]
    assert watch.next() == ("ADDED", "b")


def test_status_write_is_an_event(kube, http):
    kube.apply(route())
    stream = http.watch(ROUTES, resourceVersion=revision(kube))
    http.patch(f"{SHOP}/web/status", {"status": admitted("web.example.com")})
    event = next(stream)
    assert event["type"] == "MODIFIED"
    assert event["object"]["status"]["ingress"][0]["host"] == "web.example.com"


def test_timeout_with_bookmark():
    """A watch ends by itself after timeoutSeconds; the last line is a bookmark of the newest revision."""
    with FakeKube(bookmark_s=60) as kube:
        kube.apply(route())
        newest = kube.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
        query = {"resourceVersion": revision(kube), "timeoutSeconds": 1, "allowWatchBookmarks": "true"}
        (event,) = list(Http(kube).watch(ROUTES, **query))
    assert (event["type"], event["object"]["kind"]) == ("BOOKMARK", "Route")
    assert event["object"]["metadata"]["resourceVersion"] == newest["metadata"]["resourceVersion"]


def test_periodic_bookmarks():
    """Bookmarks come on a period, so that an idle watch can resume where it is."""
    with FakeKube(bookmark_s=0.02) as kube:
        stream = Http(kube).watch(ROUTES, allowWatchBookmarks="true")
        assert [next(stream)["type"] for _ in range(3)] == ["BOOKMARK"] * 3


def test_no_bookmarks_unless_asked(kube, http):
    assert list(http.watch(ROUTES, timeoutSeconds=1)) == []


def test_send_initial_events(kube, http):
    """sendInitialEvents: the objects, then a bookmark that tells their end."""
    kube.apply(route())
    query = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    stream = http.watch(ROUTES, **query)
    assert stream.next() == ("ADDED", "web")
    bookmark = next(stream)["object"]["metadata"]
    assert bookmark["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert http.get(ROUTES, watch="1", sendInitialEvents="true").status_code == 422


@pytest.mark.parametrize("query", [{"resourceVersion": "abc"}, {"timeoutSeconds": "-1"}])
def test_bad_number(http, query):
    assert http.get(ROUTES, watch="1", **query).status_code == 400


def test_ends_when_client_leaves(kube, http):
    """A watch whose client went away is forgotten without further events."""
    stream = http.watch(ROUTES)
    assert kube.wait_for(lambda: kube.watches == [ROUTES])
    stream.close()
    assert kube.wait_for(lambda: kube.watches == [])


def test_many_watches_share_a_line(kube, http):
    """Fifty watches get the same bytes in the same order."""
    streams = [http.watch(ROUTES) for _ in range(50)]
    kube.apply([route("a"), route("b")])
    kube.delete("Route", "shop", "a")
    wanted = [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert all([stream.next() for _ in range(3)] == wanted for stream in streams)


def test_metadata_beside_objects(kube, http):
    accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
    partial = Stream(http("GET", ROUTES, params={"watch": "1"}, headers={"Accept": accept}, stream=True))
    plain = http.watch(ROUTES)
    kube.apply(route())
    assert next(plain)["object"]["spec"]
    assert next(partial)["object"].keys() == {"kind", "apiVersion", "metadata"}


def test_tables_beside_objects(kube, http):
    """kubectl's watch gets Tables of one row; other watches of the same changes get the objects."""
    accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
    tables = Stream(http("GET", ROUTES, params={"watch": "1"}, headers={"Accept": accept}, stream=True))
    plain = [http.watch(ROUTES) for _ in range(3)]
    for host in ("a.example.com", "b.example.com"):
        kube.apply(route(host=host))
        assert all(next(stream)["object"]["spec"]["host"] == host for stream in plain)
        table = next(tables)["object"]
        assert (table["kind"], [row["cells"][1] for row in table["rows"]]) == ("Table", [host])
