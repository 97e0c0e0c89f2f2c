"""f5router.icontrol.rest.client: what is repeated and what is not, counts, logs, and no secret anywhere."""

import contextlib
import json
import logging
import threading

import pytest

from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.model.errors import (
    AuthFailed,
    BigIPError,
    Busy,
    Conflict,
    DeviceTimeout,
    InUse,
    NotFound,
    NotReady,
    Refused,
    Unreachable,
    Unsupported,
)
from tests.unit.icontrol.scripted import (
    Answer,
    Clock,
    closed_port,
    connected,
    running,
    settings_for,
)

RESTARTING = Answer(503, "<?xml version='1.0' encoding='ISO-8859-1'?><html><head><title>BIG-IP® - "
                    "Configuration Utility restarting...</title></head>".encode("latin-1"),
                    {"Content-Type": "text/html; charset=ISO-8859-1"})
BUSY = Answer(503, {"code": 503, "message": "There is an active asynchronous task executing."})
MCPD_LOST = Answer(500, {"code": 500, "message": "The connection to mcpd has been lost, try again."})
NOT_REGISTERED = Answer(404, {"code": 404, "message": "URI path /mgmt/tm/ltm/pool not registered.  Please"})
TIMED_OUT = Answer(500, "<html><head><meta charset='x'/><title>Error 500 AsyncContext timeout</title></head>")
TIMED_OUT_400 = Answer(400, {"code": 400, "message": "java.util.concurrent.TimeoutException"})
PAGE = Answer(200, "<html><title>Welcome</title></html>", {"Content-Type": "text/html"})
HALF_JSON = Answer(200, '{"name": "x", "mem')
LOST = Answer(fault="close")
PASSING = {"lost": LOST, "page": RESTARTING, "busy": BUSY, "mcpd": MCPD_LOST, "starting": NOT_REGISTERED,
           "slow": TIMED_OUT, "page with 200": PAGE, "half": HALF_JSON, "empty": Answer(200, b""),
           "list": Answer(200, []),
           "deep": Answer(200, '{"items":' + "[" * 50_000 + "]" * 50_000 + "}"),
           "latin-1": Answer(200, b'{"kind": "tm:ltm:pool:x", "description": "\xe4"}')}
ODD = {"nothing": {}, "another service's": {"status": "ok"}, "another module's": {"kind": "tm:net:self:x"},
       "an error": {"kind": ":resterrorresponse", "code": 200}, "kind": {"kind": ["tm:ltm:pool:x"]},
       "items": {"kind": "tm:ltm:pool:x", "items": 7}, "item": {"kind": "tm:ltm:pool:x", "items": [{}, None]},
       "object": {"kind": "tm:ltm:pool:x", "items": {"a": 1}},
       "entries": {"kind": "tm:ltm:pool:x", "entries": [1]}, "text": {"kind": "tm:ltm:pool:x", "items": "x"}}
"""Replies that are JSON, but do not answer the reading of a collection below ltm."""
NO_NUMBERS = ("NaN", "Infinity", "-1e999", "9" * 5000)
ELSEWHERE = {"redirect": Answer(302, b"", {"Location": "https://sso.example.com/login"}),
             "page": Answer(404, "<html><title>404 Not Found</title></html>")}


def test_path_arrives(caplog):
    """The library changes nothing of an encoded path; relative ones are below /mgmt/tm."""
    with connected(auth="basic") as (device, client, _):
        client.get(item_path("ltm/policy", "/p/x", "rules", '"match /buy" %25 ~ä'))
        client.get("/mgmt/tm/ltm/pool/~Common~x%251/members", {
            "$filter": "partition eq Common", "expandSubcollections": "true",
            "options": 'records add { "a&b=c" { data x+y/z } }'})
        client.patch("ltm/pool/x", {"name": "x"}, {"options": "a b"})
    assert [r.path for r in device.requests] == [
        "/mgmt/tm/ltm/policy/~p~x/rules/%22match%20~buy%22%20%2525%20~%C3%A4",
        "/mgmt/tm/ltm/pool/~Common~x%251/members?$filter=partition%20eq%20Common&expandSubcollections=true"
        "&options=records%20add%20%7B%20%22a%26b%3Dc%22%20%7B%20data%20x%2By%2Fz%20%7D%20%7D",
        "/mgmt/tm/ltm/pool/x?options=a%20b",
    ]


def test_replies():
    """JSON objects; nothing from a deletion, whose body is empty."""
    with connected() as (device, client, _):
        items = {"kind": "tm:ltm:pool:poolcollectionstate", "items": [{"name": "x"}]}
        device.add(Answer(body=items), Answer(body={"a": "ä"}), path="ltm/pool")
        assert client.get("ltm/pool") == items
        assert client.post("ltm/pool", {}) == {"a": "ä"}
        assert client.delete("ltm/pool/x") is None
        device.add(Answer(body={"k": 1}), path="ltm/pool")
        assert client.delete("ltm/pool/x") is None


@pytest.mark.parametrize("answer", PASSING.values(), ids=PASSING)
def test_read_is_repeated(answer):
    """A passing failure does not reach the caller of a read; each pause is at most 5 s."""
    with connected() as (device, client, clock):
        device.add(*[answer] * 3, method="GET", path="ltm/pool")
        device.add(Answer(body={"name": "x"}), method="GET", path="ltm/pool")
        assert client.get("ltm/pool")["name"] == "x"
        assert len(clock.waits) == 3
        assert all(0 <= wait <= 5 for wait in clock.waits)


@pytest.mark.parametrize("text", [
    *map(json.dumps, ODD.values()), *(f'{{"kind": "tm:ltm:pool:x", "items": [{{"port": {number}}}]}}'
                                      for number in NO_NUMBERS)])
def test_a_read_that_is_answered_with_something_else(text):
    """As without an answer. Something else might say that there is nothing; no write depends on its form."""
    with connected() as (device, client, clock):
        device.add(Answer(body=text), method="GET", path="ltm/pool")
        device.add(Answer(body={"items": [{"name": "x"}]}), method="GET", path="ltm/pool")
        assert client.get("ltm/pool")["items"] == [{"name": "x"}]
        assert len(clock.waits) == 1


@pytest.mark.parametrize("answer", ODD.values(), ids=ODD)
def test_a_write_that_is_answered_with_something_else(answer):
    """Nobody needs what is in it."""
    with connected() as (device, client, _):
        device.add(Answer(body=answer), method="PATCH", path="ltm/pool")
        assert client.patch("ltm/pool/x", {}) == answer


@pytest.mark.parametrize("body", [
    {"kind": "tm:ltm:pool:poolcollectionstate"}, {"kind": "tm:ltm:pool:x", "items": []},
    {"kind": "tm:ltm:pool:x", "items": None}, {"items": [{"fullPath": "/Common/x"}]},
    {"kind": "tm:ltm:pool:x", "items": [{"name": "x", "a": None}]}, {"entries": {"u": {}}}])
def test_a_read_that_is_answered(body):
    """An empty collection has no items, and `$select` may take the kind away."""
    with connected() as (device, client, clock):
        device.add(Answer(body=json.dumps(body)), method="GET", path="ltm/pool")
        assert client.get("ltm/pool") == body
        assert clock.waits == []


def test_read_is_given_up():
    """After retry_s in all, with the last error."""
    with connected(retry_s=30) as (device, client, clock):
        begin = clock.now
        device.add(*[BUSY] * 1000, path="ltm/pool")
        with pytest.raises(Busy):
            client.get("ltm/pool")
        assert 30 <= clock.now - begin <= 35
        assert len(device.sent(path="ltm/pool")) == len(clock.waits) + 1


@pytest.mark.parametrize(("answer", "kind", "may_have_applied"), [
    pytest.param(LOST, Unreachable, True, id="lost"),
    pytest.param(RESTARTING, NotReady, True, id="page"),
    pytest.param(MCPD_LOST, NotReady, True, id="mcpd"),
    pytest.param(TIMED_OUT, DeviceTimeout, True, id="slow"),
    pytest.param(TIMED_OUT_400, DeviceTimeout, True, id="slow, 400"),
    pytest.param(PAGE, NotReady, True, id="page with 200"),
    pytest.param(HALF_JSON, NotReady, True, id="half"),
    pytest.param(BUSY, Busy, False, id="busy"),
    pytest.param(NOT_REGISTERED, NotReady, False, id="starting"),
    pytest.param(Answer(400, {"message": "01071003:3: A previous .."}), NotReady, False, id="provision"),
    pytest.param(Answer(400, {"message": "\"x\" unknown property"}), Refused, False, id="refused"),
    pytest.param(Answer(400, {"message": "01070265:3: .. in use"}), InUse, False, id="in use"),
    pytest.param(Answer(404, {"message": "01020036:3: not found"}), NotFound, False, id="absent"),
    pytest.param(Answer(409, {"message": "01020066:3: exists"}), Conflict, False, id="exists"),
    pytest.param(Answer(400, {"message": "01070822:3: Access Denied"}), AuthFailed, False, id="role"),
    pytest.param(Answer(404, "<html><title>404</title>"), Unsupported, False, id="no REST"),
])
@pytest.mark.parametrize(("method", "arguments"), [("post", [{}]), ("patch", [{"a": 1}]), ("delete", [])])
def test_write_is_not_repeated(method, arguments, answer, kind, may_have_applied):
    """Sent once, whatever happens; may_have_applied where it may have been done."""
    with connected() as (device, client, clock):
        device.add(answer, method=method.upper(), path="ltm/pool")
        with pytest.raises(kind) as caught:
            getattr(client, method)("ltm/pool/x", *arguments)
        assert type(caught.value) is kind
        assert caught.value.may_have_applied is may_have_applied
        assert caught.value.method, caught.value.path == (method.upper(), "/mgmt/tm/ltm/pool/x")
        assert len(device.sent(method.upper(), "ltm/pool")) == 1
        assert not device.sent("GET")
        assert not clock.waits


@pytest.mark.parametrize("kind", [NotFound, Refused, Conflict])
def test_refused_read_is_not_repeated(kind):
    """An answer about the object is an answer."""
    status = {NotFound: 404, Refused: 400, Conflict: 409}[kind]
    with connected() as (device, client, clock):
        device.add(Answer(status, {"message": "01020036:3: x"}), path="ltm/pool")
        with pytest.raises(kind):
            client.get("ltm/pool")
        assert not clock.waits


@pytest.mark.parametrize("auth", ["token", "basic"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_connection_is_repeated(method, auth):
    """Nothing was sent, so a write is repeated as well; when the device is back it is done once."""
    clock, port = Clock(), closed_port()
    with contextlib.ExitStack() as stack:
        devices = []

        def sleep(seconds):
            clock.sleep(seconds)
            if len(clock.waits) == 3:
                devices.append(stack.enter_context(running(port=port)))

        settings = settings_for(f"https://127.0.0.1:{port}", auth=auth)
        client = stack.enter_context(Client(settings, clock=clock, sleep=sleep))
        if method == "GET":
            client.get("ltm/pool")
        else:
            client.post("ltm/pool", {"name": "x"})
        assert len(devices[0].sent(method, "ltm/pool")) == 1
        assert len(clock.waits) == 3


@pytest.mark.parametrize("auth", ["token", "basic"])
def test_no_connection_is_given_up(auth):
    """After retry_s, and the write is known not to be done."""
    clock = Clock()
    settings = settings_for(f"https://127.0.0.1:{closed_port()}", auth=auth, retry_s=20)
    with Client(settings, clock=clock, sleep=clock.sleep) as client, pytest.raises(Unreachable) as caught:
        client.post("ltm/pool", {})
    assert not caught.value.may_have_applied
    assert 1020 <= clock.now <= 1025


@pytest.mark.parametrize("answer", ELSEWHERE.values(), ids=ELSEWHERE)
def test_something_else_that_answers_for_a_moment(answer):
    """At the first contact there is no BIG-IP at the address; later that passes, as a restart does."""
    with connected() as (device, client, clock):
        device.add(answer, path="ltm/pool")
        with pytest.raises(Unsupported, match="no iControl REST at this address"):
            client.get("ltm/pool")
        client.get("ltm/pool")
        device.add(*[answer] * 3, method="GET", path="ltm/pool")
        client.get("ltm/pool")
        assert len(clock.waits) == 3
        assert 0.1 <= clock.waits[0] < clock.waits[2] <= 1
        device.add(answer, method="POST", path="ltm/pool")
        with pytest.raises(NotReady) as caught:
            client.post("ltm/pool", {})
        assert caught.value.may_have_applied
        assert len(device.sent("POST", "ltm/pool")) == 1
        clock.now += 1190
        device.add(answer, path="/authn/login")
        client.get("ltm/pool")
        assert len(clock.waits) == 4


def test_quoted_error():
    """Method, path without query, status, number, and the title of a page."""
    with connected(retry_s=0) as (device, client, _):
        device.add(RESTARTING, Answer(404, {"message": "01020036:3: no (/p/x)" + "x" * 999}), path="ltm/pool")
        with pytest.raises(NotReady) as caught:
            client.get("ltm/pool/x", {"$filter": "partition eq p"})
        words = "503 BIG-IP® - Configuration Utility restarting..."
        assert str(caught.value) == f"GET /mgmt/tm/ltm/pool/x: {words}"
        with pytest.raises(NotFound) as caught:
            client.get("ltm/pool/x")
        assert caught.value.code == "01020036"
        assert len(caught.value.text) == 256


def test_save(caplog):
    """A time-out of the device is no failure: it goes on."""
    with connected() as (device, client, _):
        client.save()
        assert json.loads(device.sent(path="sys/config")[0].body) == {"command": "save"}
        device.add(TIMED_OUT, BUSY, LOST, path="sys/config")
        client.save()
        assert "still saving" in caplog.text
        with pytest.raises(Busy):
            client.save()
        with pytest.raises(Unreachable):
            client.save()


def test_save_waits_longer():
    """For the device's own time-out, which comes after 60 s: ours must not come first."""
    answered = threading.Event()
    with connected(auth="basic", timeout_s=0.05) as (device, client, _):
        device.add(Answer(meanwhile=lambda: answered.wait(0.3)), path="sys/config")
        client.save()


def test_counts():
    """The counts give the cost of a pass for the device."""
    with connected() as (device, client, clock):
        device.add(BUSY, method="GET", path="ltm/pool")
        client.get("ltm/pool")
        client.post("ltm/pool", {})
        client.patch("ltm/pool/x", {"a": 1})
        client.delete("ltm/pool/x")
        clock.now += 1190
        client.get("ltm/pool")
        client.close()
        assert client.counts == {"GET": 3, "POST": 1, "PATCH": 1, "DELETE": 1, "login": 2, "logout": 2}


def test_log_of_a_write_that_was_not_sent(caplog):
    """The status of the login before it is not its own."""
    caplog.set_level(logging.DEBUG, logger="f5router")
    with connected(retry_s=0) as (device, client, _):
        device.add(RESTARTING, path="/authn/login")
        with pytest.raises(NotReady):
            client.post("ltm/pool", {})
    writes = [(r.method, r.path, r.status) for r in caplog.records if r.message == "BIG-IP write"]
    assert ("POST", "/mgmt/tm/ltm/pool", 0) in writes


def test_log_of_writes(caplog):
    """One line each at debug; none for reads; repeated reads are told."""
    caplog.set_level(logging.DEBUG, logger="f5router")
    with connected() as (device, client, _):
        device.add(Answer(400, {"message": "x"}), method="DELETE", path="ltm/pool")
        device.add(LOST, BUSY, path="ltm/node")
        client.patch("ltm/pool/x", {"a": 1}, {"options": "secret"})
        for call in (lambda: client.delete("ltm/pool/x"), lambda: client.post("ltm/node", {})):
            with pytest.raises(BigIPError):
                call()
        client.get("ltm/node")
    writes = [(r.method, r.path, r.status) for r in caplog.records if r.message == "BIG-IP write"]
    assert writes == [
        ("PATCH", "/mgmt/tm/ltm/pool/x", 200),
        ("DELETE", "/mgmt/tm/ltm/pool/x", 400),
        ("POST", "/mgmt/tm/ltm/node", 0),
    ]
    assert len([r for r in caplog.records if r.message == "repeating BIG-IP request"]) == 1


def test_repeats_are_news_once(caplog):
    """Requests that are repeated while none succeeds are logged once; after a success they are news again."""
    caplog.set_level(logging.DEBUG, "f5router")
    with connected(retry_s=5) as (device, client, _):
        for lost in (4, 2):
            device.add(*[LOST] * lost, path="ltm/node")
            client.get("ltm/node")
    levels = [r.levelname for r in caplog.records if r.message == "repeating BIG-IP request"]
    assert levels == ["INFO", "DEBUG", "DEBUG", "DEBUG", "INFO", "DEBUG"]


def test_context_manager():
    """Leaving it closes the client, after an exception too."""
    with connected() as (device, client, _):
        device.add(Answer(404, {"message": "01020036:3: x"}), path="ltm/pool")
        with pytest.raises(NotFound), client:
            client.get("ltm/pool")
        assert device.sent("DELETE", "/authz/tokens/")
