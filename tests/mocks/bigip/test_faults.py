"""Faults: lost replies, restarts, refusals; and whether the command was performed."""

from __future__ import annotations

import time

import pytest
import requests

from mocks.bigip import faults
from mocks.bigip.store import DiskFile

BODY = {"name": "p", "partition": "P"}


@pytest.mark.parametrize(
    ("kind", "status", "text", "performed"),
    [
        ("401", 401, "no user authentication header or token detected", False),
        ("token-expired", 401, "X-F5-Auth-Token has expired.", False),
        ("503-html", 503, "Configuration Utility restarting", False),
        ("503-async", 503, "There is an active asynchronous task executing.", False),
        ("500-mcpd", 500, "The connection to mcpd has been lost, try again.", False),
        ("404-not-registered", 404, "URI path /mgmt/tm/ltm/pool not registered", False),
        ("404-bogus", 404, "01020036:3:", False),
        ("html-200", 200, "<html>", False),
        ("html-404", 404, "<title>404 Not Found</title>", False),
        ("redirect", 302, "", False),
        ("deep-json", 200, "[[[[[", True),
        ("timeout-html", 500, "AsyncContext timeout", True),
    ],
)
def test_replies(client, kind, status, text, performed):
    """The fault happens once; the next request is served."""
    client.big.inject(kind)
    reply = client.call("POST", "ltm/pool", BODY)
    assert (reply.status_code, text in reply.text) == (status, True)
    assert (client.big.get("ltm/pool/~P~p") is not None) is performed
    assert client.call("GET", "sys/version").status_code == 200
    assert client.big.faults.waiting == 0


@pytest.mark.parametrize(("kind", "performed"), [("drop-reply", True), ("drop-request", False)])
def test_closed_connections(client, kind, performed):
    client.big.inject(kind, method="POST")
    with pytest.raises(requests.ConnectionError):
        client.call("POST", "ltm/pool", BODY)
    assert (client.big.get("ltm/pool/~P~p") is not None) is performed
    assert [entry.status for entry in client.big.log] == [0]
    client.ok("GET", "sys/version")


def test_a_late_request_is_performed_after_others(client):
    """Its reply is lost; other requests come first, or the test asks for it."""
    client.big.inject("late", method="POST", requests=2)
    with pytest.raises(requests.ConnectionError):
        client.call("POST", "ltm/pool", BODY)
    client.ok("GET", "sys/version")
    assert client.big.get("ltm/pool/~P~p") is None
    client.ok("GET", "sys/version")
    assert client.big.get("ltm/pool/~P~p") is not None
    client.ok("DELETE", "ltm/pool/~P~p")
    client.big.inject("late", method="POST", requests=99)
    with pytest.raises(requests.ConnectionError):
        client.call("POST", "ltm/pool", BODY)
    client.big.deliver_late()
    assert client.big.get("ltm/pool/~P~p") is not None


def test_a_late_request_that_is_refused_changes_nothing(client):
    client.ok("POST", "ltm/pool", {**BODY, "description": "first"})
    client.big.inject("late", method="POST")
    with pytest.raises(requests.ConnectionError):
        client.call("POST", "ltm/pool", BODY)
    client.big.deliver_late()
    assert client.big.get("ltm/pool/~P~p")["description"] == "first"


def test_a_command_that_fails_has_status_200(client):
    client.big.store.disk["/var/tmp/x"] = DiskFile(b"x")
    client.big.inject("command-fails", path="util/unix-rm")
    body = {"command": "run", "utilCmdArgs": "/var/tmp/x"}
    shown = client.ok("POST", "util/unix-rm", body)
    assert shown["commandResult"] == "/bin/rm: /var/tmp/x: Operation not permitted\n"
    assert client.big.store.disk
    assert "commandResult" not in client.ok("POST", "util/unix-rm", body)
    assert not client.big.store.disk


def test_truncated_json(client):
    client.big.inject("truncated-json")
    reply = client.call("POST", "ltm/pool", BODY)
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        reply.json()
    assert client.big.get("ltm/pool/~P~p") is not None


def test_refuse(client):
    client.big.inject("refuse", status=409, message="there", code="01020066")
    assert client.refused("POST", "ltm/pool", BODY) == (409, "01020066:3: there")


def test_delay(client):
    client.big.inject("delay", seconds=0.3)
    start = time.monotonic()
    client.ok("GET", "sys/version")
    assert time.monotonic() - start >= 0.3


def test_where_and_how_often(client):
    client.big.inject("500-mcpd", times=2, method="GET", path=r"/ltm/pool$")
    client.ok("POST", "ltm/pool", BODY)
    client.ok("GET", "sys/version")
    assert [client.call("GET", "ltm/pool").status_code for _ in range(3)] == [500, 500, 200]
    client.big.inject("500-mcpd", times=None)
    assert [client.call("GET", "ltm/pool").status_code for _ in range(3)] == [500] * 3
    client.big.clear_faults()
    client.ok("GET", "ltm/pool")


def test_on_write_after_a_lost_reply(client):
    """The invariant is checked although the client learns nothing."""
    seen = []
    client.big.on_write = seen.append
    client.big.inject("drop-reply", method="POST")
    with pytest.raises(requests.ConnectionError):
        client.call("POST", "ltm/pool", BODY)
    client.call("POST", "ltm/pool", BODY)
    assert [entry.status for entry in seen] == [0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("drop-reply", {"kind": "drop-reply"}),
        ("503-html:3", {"kind": "503-html", "times": 3}),
        ("401:2:GET:ltm/.*", {"kind": "401", "times": 2, "method": "GET", "path": "ltm/.*"}),
        ("401:*:ltm", {"kind": "401", "method": None, "path": "ltm"}),
        ("delay:1", {"kind": "delay", "times": 1, "seconds": 1.0}),
    ],
)
def test_command_line_form(text, expected):
    assert faults.parse(text) == expected


@pytest.mark.parametrize("text", ["guess", "401:GET"])
def test_bad_command_line_form(text):
    with pytest.raises(ValueError, match=r"fault|METHOD"):
        faults.parse(text)


def test_unknown_fault(client):
    with pytest.raises(ValueError, match="guess"):
        client.big.inject("guess")
    with pytest.raises(ValueError, match="seconds"):
        client.big.inject("401", seconds=1)


def test_404_for_a_post_that_succeeded(client):
    client.big.inject("404-done")
    assert client.call("POST", "ltm/pool", BODY).status_code == 404
    assert client.big.get("ltm/pool/~P~p") is not None


def test_drawn_fault(client):
    """A drawn fault meets the requests that no other fault does."""
    client.big.faults.draw = lambda request: faults.Fault("503-async") if request.method == "POST" else None
    client.big.inject("401")
    statuses = [client.call("POST", "ltm/pool", BODY).status_code for _ in range(2)]
    assert (statuses, client.call("GET", "ltm/pool").status_code) == ([401, 503], 200)
