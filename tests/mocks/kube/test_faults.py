"""Injected faults, as a client sees them."""

import contextlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from mocks.kube.faults import UNREADABLE, Fault
from tests.waiting import DEADLINE_S

from .objects import ROUTES, SHOP, admitted, route

REASONS = {
    "400": "BadRequest", "401": "Unauthorized", "403": "Forbidden", "404": "NotFound", "409": "Conflict",
    "422": "Invalid", "429": "TooManyRequests", "500": "InternalError", "503": "ServiceUnavailable",
    "504": "Timeout",
}  # fmt: skip


@pytest.mark.parametrize(("code", "reason"), REASONS.items(), ids=REASONS)
def test_codes(kube, http, code, reason):
    """A code is answered as often as asked, with its Status; then all is well."""
    kube.inject(code, times=2)
    for _ in range(2):
        reply = http.get(ROUTES)
        assert (reply.status_code, reply.json()["reason"], reply.json()["code"]) == (
            int(code),
            reason,
            int(code),
        )
    assert http.get(ROUTES).status_code == 200


def test_retry_after(kube, http):
    kube.inject("429", retry_after=7)
    reply = http.get(ROUTES)
    assert reply.headers["Retry-After"] == "7"
    assert reply.json()["details"]["retryAfterSeconds"] == 7


def test_options(kube, http):
    """Reason and message are the test's to choose; text gives a body that is no Status."""
    kube.inject("409", reason="AlreadyExists", message="there is one")
    status = http.get(ROUTES).json()
    assert (status["reason"], status["message"]) == ("AlreadyExists", "there is one")
    kube.inject("503", text="service unavailable")
    reply = http.get(ROUTES)
    assert (reply.status_code, reply.text, reply.headers["Content-Type"]) == (
        503, "service unavailable", "text/plain; charset=utf-8",
    )  # fmt: skip


@pytest.mark.parametrize(("match", "met"), [
    pytest.param({"method": "PATCH"}, ["patch"], id="HTTP method"),
    pytest.param({"method": "list"}, ["list"], id="verb"),
    pytest.param({"path": "/routes/web"}, ["get", "patch"], id="path"),
    pytest.param({"path": "/status"}, ["patch"], id="part of a path"),
    pytest.param({}, ["get", "list", "patch"], id="any"),
])  # fmt: skip
def test_matching(kube, http, match, met):
    """A fault meets only requests of its method or verb and path."""
    kube.apply(route())
    kube.inject("500", times=None, **match)
    replies = {
        "get": http.get(f"{SHOP}/web"),
        "list": http.get(SHOP),
        "patch": http.patch(f"{SHOP}/web/status", {"status": {}}),
    }
    assert sorted(name for name, reply in replies.items() if reply.status_code == 500) == met
    kube.clear_faults()
    assert http.get(SHOP).status_code == 200


def test_gone_watch(kube, http):
    """410 waits for a watch, which is accepted and ends with an ERROR event; plain lists go through."""
    kube.inject("410")
    assert http.get(ROUTES).status_code == 200
    events = list(http.watch(ROUTES))
    assert [(event["type"], event["object"]["code"]) for event in events] == [("ERROR", 410)]
    stream = http.watch(ROUTES)
    kube.apply(route())
    assert stream.next() == ("ADDED", "web")


def test_gone_list(kube, http):
    """410 also meets a list that goes on with a token."""
    kube.apply([route("a"), route("b")])
    kube.inject("410")
    token = http.get(ROUTES, limit=1).json()["metadata"]["continue"]
    assert http.get(ROUTES, limit=1, **{"continue": token}).status_code == 410
    assert http.get(ROUTES, limit=1, **{"continue": token}).status_code == 200


@pytest.mark.parametrize("applied", [False, True])
def test_drop(kube, http, applied):
    """The connection closes without a reply; the request took effect only if asked for."""
    kube.apply(route())
    kube.inject("drop", method="PATCH", applied=applied)
    with pytest.raises(requests.ConnectionError):
        http.patch(f"{SHOP}/web/status", {"status": admitted("x")})
    assert ("status" in kube.get("Route", "shop", "web")) is applied
    assert [entry.status for entry in kube.log] == [0]


def test_delay(kube, http):
    """The reply comes late; other requests do not wait for it."""
    kube.inject("delay", seconds=2 * DEADLINE_S, path="/routes")

    def ask() -> None:
        with contextlib.suppress(requests.ConnectionError):
            http.get(ROUTES, timeout=3 * DEADLINE_S)

    late = threading.Thread(target=ask)
    late.start()
    assert http.get("/api/v1/nodes").status_code == 200
    assert late.is_alive()
    kube.stop()
    late.join()


def test_hold(kube, http):
    """A request is held until it is released; others are answered meanwhile."""
    kube.inject("hold", path="/routes")
    with ThreadPoolExecutor() as pool:
        held = pool.submit(http.get, ROUTES)
        assert kube.wait_for(lambda: kube.held == 1)
        assert http.get("/api/v1/nodes").status_code == 200
        assert not held.done()
        kube.release()
        assert held.result().status_code == 200


def test_a_delay_that_lasts(kube, http):
    """Each request is delayed once, then answered."""
    kube.inject("delay", times=None, seconds=0.05)
    start = time.monotonic()
    assert [http.get(ROUTES).status_code for _ in range(2)] == [200, 200]
    assert time.monotonic() - start >= 0.1


def test_delay_then_error(kube, http):
    kube.inject("delay", seconds=0)
    kube.inject("500")
    assert http.get(ROUTES).status_code == 500


def running(kube, http, **query):
    """A watch that has begun."""
    stream = http.watch(ROUTES, **query)
    assert kube.wait_for(lambda: ROUTES in kube.watches)
    return stream


def test_drop_watch(kube, http):
    """Running watches end at once; the next one does not."""
    stream = running(kube, http)
    assert kube.inject("drop-watch") == 1
    assert list(stream) == []
    assert kube.inject("drop-watch") == 0
    stream = running(kube, http)
    kube.apply(route())
    assert stream.next() == ("ADDED", "web")


def test_drop_watch_abruptly(kube, http):
    stream = running(kube, http)
    kube.inject("drop-watch", abrupt=True)
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        next(stream)


def test_drop_some_watches(kube, http):
    """Only watches of the path are met."""
    routes, nodes = running(kube, http), http.watch("/api/v1/nodes")
    assert kube.wait_for(lambda: len(kube.watches) == 2)
    assert kube.inject("drop-watch", path="/nodes") == 1
    assert list(nodes) == []
    kube.apply(route())
    assert routes.next() == ("ADDED", "web")


def test_silent_drop(kube, http):
    """The watch stays open without a word, past its timeoutSeconds; a new one works."""
    stream = running(kube, http, timeoutSeconds=3)
    assert kube.inject("silent-drop") == 1
    kube.apply(route())
    assert http.watch(ROUTES).next() == ("ADDED", "web")
    # A watch as long, begun later, has ended: so would the silent one have.
    assert [event["type"] for event in http.watch(SHOP, timeoutSeconds=3)] == ["ADDED"]
    kube.apply(route())
    assert kube.inject("drop-watch", path=ROUTES) == 1
    assert list(stream) == []


@pytest.mark.parametrize("waiting", [False, True], ids=["running", "next"])
def test_error_event(kube, http, waiting):
    """An ERROR event with a Status ends the stream, of the running watch or of the next."""
    if waiting:
        assert kube.inject("error-event", code=410) == 0
        stream = http.watch(ROUTES)
    else:
        stream = running(kube, http)
        assert kube.inject("error-event", code=410) == 1
    events = list(stream)
    assert [(event["type"], event["object"]["reason"]) for event in events] == [("ERROR", "Expired")]


def test_error_event_default(kube, http):
    kube.inject("error-event", message="etcd is gone")
    event = next(http.watch(ROUTES))["object"]
    assert (event["code"], event["reason"], event["message"]) == (500, "InternalError", "etcd is gone")


def test_truncated(kube, http):
    """Half a JSON line, then the connection closes."""
    kube.apply(route())
    version = kube.get("Route", "shop", "web")["metadata"]["resourceVersion"]
    stream = running(kube, http, resourceVersion=version)
    kube.inject("truncated")
    received = []
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        received.extend(stream.response.iter_content(chunk_size=None))
    assert b"".join(received).startswith(b'{"type":"MODIFIED","object":{"kind":"Route"')
    assert not b"".join(received).endswith(b"}\n")


def test_unknown_fault(kube):
    with pytest.raises(ValueError, match="unknown fault 'flood'"):
        kube.inject("flood")


def test_empty_list(kube, http):
    """An API server that has lost its objects for a moment."""
    kube.apply(route())
    kube.inject("empty")
    assert [len(http.get(ROUTES).json()["items"]) for _ in range(2)] == [0, 1]


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable(kube, http, kind):
    """A proxy, or a bug, in front of an API server that is well."""
    kube.inject(kind)
    reply = http.get(ROUTES)
    assert reply.status_code == 200
    with pytest.raises((ValueError, RecursionError)):
        reply.json()
    assert http.get(ROUTES).json()["items"] == []


def test_drawn_fault(kube, http):
    """A drawn fault meets the requests that no other fault does."""
    kube.faults.draw = lambda method, verb, path: Fault("503") if verb == "list" else None
    kube.inject("429")
    assert [http.get(ROUTES).status_code for _ in range(2)] == [429, 503]
