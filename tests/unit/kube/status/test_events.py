"""events.py: Events of the fake API server, written over HTTPS."""

import time

import pytest

from f5router.kube.api import decode
from f5router.kube.status.events import EventWriter
from tests.unit.kube import objects
from tests.waiting import DEADLINE_S

AT_S = 1_770_000_000.0


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def warn(kube, connection, clock):
    """Makes an EventWriter; warnings are written when flush() returns."""
    writers = []

    def make(**options):
        options = {"rate_per_s": 1000, "retry_s": 0.01, "wall": lambda: AT_S + clock[0]} | options
        writers.append(EventWriter(connection, **options))
        return writers[-1]

    yield make
    for writer in writers:
        writer.stop()


@pytest.fixture
def route(kube):
    return decode.route(kube.apply(objects.route("a")))


def events(kube):
    return kube.list("Event", "shop")


def test_event(kube, warn, route):
    """The Event has the fields that `oc describe route` looks for."""
    writer = warn()
    writer.warn(route, "InvalidPath", "the path is too long")
    assert writer.flush(DEADLINE_S)
    (event,) = events(kube)
    assert event["involvedObject"] == {
        "apiVersion": "route.openshift.io/v1", "kind": "Route", "namespace": "shop", "name": "a",
        "uid": route.uid, "resourceVersion": route.resource_version}
    assert {name: event[name] for name in ("type", "reason", "message", "count", "firstTimestamp",
                                           "lastTimestamp", "source")} == {
        "type": "Warning", "reason": "InvalidPath", "message": "the path is too long", "count": 1,
        "firstTimestamp": "2026-02-02T02:40:00Z", "lastTimestamp": "2026-02-02T02:40:00Z",
        "source": {"component": "f5router"}}


@pytest.mark.parametrize(("second", "after_s", "counts", "requests"), [
    pytest.param(("R", "m"), 599, [2], "PATCH", id="the same"),
    pytest.param(("R", "m"), 601, [2], "POST PATCH PATCH", id="the same when its count is forgotten"),
    pytest.param(("R", "other"), 0, [1, 1], "POST", id="another message"),
    pytest.param(("S", "m"), 0, [1, 1], "POST", id="another reason"),
])
def test_repetition(kube, warn, route, clock, second, after_s, counts, requests):
    writer = warn(clock=lambda: time.monotonic() + clock[0])
    writer.warn(route, "R", "m")
    assert writer.flush(DEADLINE_S)
    clock[0] = after_s
    writer.warn(route, *second)
    assert writer.flush(DEADLINE_S)
    assert [event["count"] for event in events(kube)] == counts
    assert events(kube)[0]["firstTimestamp"] == "2026-02-02T02:40:00Z" or len(counts) == 2
    assert [entry.method for entry in kube.log][1:] == requests.split()
    assert [(each.reason, each.message, each.type, each.count, each.at)
            for each in writer.recent.of(route.subject, route.uid)] == [
                (*second, "Warning", counts[-1], AT_S + after_s),
                *[("R", "m", "Warning", 1, AT_S)] * (len(counts) - 1)]


def test_repetition_of_a_deleted_event(kube, warn, route):
    """The API server keeps them for a while only."""
    writer = warn()
    writer.warn(route, "R", "m")
    assert writer.flush(DEADLINE_S)
    kube.delete("Event", "shop", events(kube)[0]["metadata"]["name"])
    writer.warn(route, "R", "m")
    assert writer.flush(DEADLINE_S)
    assert [event["count"] for event in events(kube)] == [1]


def test_long_texts(kube, warn):
    """They are cut to what the API server takes."""
    route = decode.route(kube.apply(objects.route("r" * 253)))
    writer = warn()
    writer.warn(route, "R", "m" * 1024)
    writer.warn(route, "R", "\u00fc" * 513)
    assert writer.flush(DEADLINE_S)
    assert {len(event["metadata"]["name"]) for event in events(kube)} == {253}
    assert {event["message"] for event in events(kube)} == {"m" * 1024, "\u00fc" * 510 + "..."}


@pytest.mark.parametrize(("name", "counts"), [("public", [3]), ("another", [1, 2])])
def test_a_restart(kube, warn, route, name, counts):
    """The Event is found again, by its name; the count goes on. Another router has one of its own."""
    warned = warn(router_name=name)
    warned.warn(route, "R", "m")
    assert warned.flush(DEADLINE_S)
    writer = warn(router_name="public")
    for _ in range(2):
        writer.warn(route, "R", "m")
        assert writer.flush(DEADLINE_S)
    assert sorted(event["count"] for event in events(kube)) == counts
    assert {event["reportingInstance"] for event in events(kube)} == {"public", name}


def test_a_restart_after_the_event_has_gone(kube, warn, route):
    """Also just between the two requests."""
    for number in range(2):
        writer = warn()
        if number:
            kube.inject("404", method="PATCH", text='{"details": {"name": "x"}}')
        writer.warn(route, "R", "m")
        assert writer.flush(DEADLINE_S)
    assert writer.dropped == 1
    writer.warn(route, "R", "m")
    assert writer.flush(DEADLINE_S)
    assert [event["count"] for event in events(kube)] == [2]


def test_a_namespace_that_is_deleted(kube, warn, route):
    """Only its own Events are refused."""
    kube.inject("403", method="POST", message='events "a.1" is forbidden: unable to create new content in '
                'namespace shop because it is being terminated')
    writer = warn()
    for reason in "RS":
        writer.warn(route, reason, "m")
    assert writer.flush(DEADLINE_S)
    assert (len(events(kube)), writer.dropped) == (1, 1)


def test_a_right_that_is_granted_later(kube, warn, route, clock, caplog):
    kube.forbid("events", ["create"])
    writer = warn(clock=lambda: time.monotonic() + clock[0])
    for _ in range(2):
        writer.warn(route, "R", "m")
        assert writer.flush(DEADLINE_S)
        clock[0] += 601
    assert [entry.status for entry in kube.log] == [403, 403]
    kube.allow("events")
    writer.warn(route, "R", "m")
    assert writer.flush(DEADLINE_S)
    assert len(events(kube)) == 1
    assert [record.message for record in caplog.records] == ["events not written"]


def test_forbidden(kube, warn, route, caplog):
    """One line, and no further requests for a while."""
    kube.forbid("events", ["create"])
    writer = warn()
    for reason in "RST":
        writer.warn(route, reason, "m")
    assert writer.flush(DEADLINE_S)
    writer.warn(route, "U", "m")
    assert writer.flush(0)
    assert [entry.status for entry in kube.log] == [403]
    assert [record.message for record in caplog.records] == ["events not written"]


@pytest.mark.parametrize(("fault", "times", "written", "dropped"), [
    pytest.param("503", 2, 1, 0, id="passing"),
    pytest.param("drop", 1, 1, 0, id="no reply"),
    pytest.param("503", None, 0, 1, id="lasting"),
    pytest.param("422", 1, 0, 1, id="refused"),
])
def test_trouble(kube, warn, route, fault, times, written, dropped):
    kube.inject(fault, times=times, method="POST")
    writer = warn()
    writer.warn(route, "R", "m")
    assert writer.flush(DEADLINE_S)
    assert (len(events(kube)), writer.dropped) == (written, dropped)


def test_full_queue(kube, warn, route):
    """The caller never waits for an answer; what does not fit is counted."""
    kube.inject("delay", method="POST", seconds=3600)
    writer = warn(queue_size=2)
    for number in range(100):
        writer.warn(route, "R", str(number))
    assert events(kube) == []
    assert writer.dropped in (97, 98)


def test_a_full_queue_of_one_namespace_is_not_that_of_others(kube, warn, route):
    """Whoever has most loses some."""
    other = decode.route(kube.apply(objects.route("b", namespace="other")))
    kube.inject("delay", method="POST", seconds=0.5)
    writer = warn(queue_size=5)
    for number in range(100):
        writer.warn(route, "R", str(number))
    for reason in "ST":
        writer.warn(other, reason, "m")
    assert writer.flush(DEADLINE_S)
    assert len(kube.list("Event", "other")) == 2
    assert writer.dropped + len(events(kube)) == 100
