"""The server: start, stop, log, hooks, set-up in process."""

from __future__ import annotations

import pytest
import requests

from mocks.bigip import FakeBigIP, Refusal
from tests.waiting import DEADLINE_S


def test_reply_and_log(client):
    """A request is answered over TLS and logged with its status."""
    client.ok("POST", "ltm/pool", {"name": "a", "partition": "P"})
    client.call("GET", "ltm/pool/~P~b?expandSubcollections=true")
    assert [(e.method, e.path, e.status) for e in client.big.log] == [
        ("POST", "/mgmt/tm/ltm/pool", 200),
        ("GET", "/mgmt/tm/ltm/pool/~P~b", 404),
    ]
    assert client.big.log[0].body == {"name": "a", "partition": "P"}
    assert client.big.log[1].query == {"expandSubcollections": "true"}
    assert [e.path for e in client.big.writes()] == ["/mgmt/tm/ltm/pool"]
    client.big.clear_log()
    assert client.big.log == []


def test_writes_leave_out_login_and_save(client):
    login = {"username": client.big.username, "password": client.big.password, "loginProviderName": "tmos"}
    client.ok("POST", "/mgmt/shared/authn/login", login)
    client.ok("POST", "sys/config", {"command": "save"})
    assert client.big.writes() == []


def test_on_write_sees_each_step(client):
    """The hook runs after each successful change, with the state that it made."""
    seen = []

    def look(entry):
        seen.append((entry.method, client.big.get("ltm/pool/~P~a") is not None))

    client.big.on_write = look
    client.ok("POST", "ltm/pool", {"name": "a", "partition": "P"})
    client.call("POST", "ltm/pool", {"name": "a", "partition": "P"})
    client.ok("DELETE", "ltm/pool/~P~a")
    assert seen == [("POST", True), ("DELETE", False)]


def test_keep_alive(client):
    """Many requests go over one connection."""
    for _ in range(5):
        assert client.call("GET", "sys/version").headers.get("Connection", "") != "close"
    pools = client.session.get_adapter(client.big.url).poolmanager.pools
    assert [pools[key].num_connections for key in pools.keys()] == [1]  # noqa: SIM118


def test_stop_and_start_keep_port_and_state(client):
    big = client.big
    client.ok("POST", "ltm/pool", {"name": "a", "partition": "P"})
    url = big.url
    big.stop()
    with pytest.raises(requests.ConnectionError):
        client.call("GET", "ltm/pool/~P~a")
    big.start()
    assert big.url == url
    client.ok("GET", "ltm/pool/~P~a")


def test_restart_loses_what_was_not_saved(client):
    client.ok("POST", "ltm/pool", {"name": "a", "partition": "P"})
    client.ok("POST", "sys/config", {"command": "save"})
    client.ok("POST", "ltm/pool", {"name": "b", "partition": "P"})
    client.big.restart()
    assert client.big.get("ltm/pool/~P~b") is not None
    client.big.restart(lose_unsaved=True)
    assert client.big.get("ltm/pool/~P~a")["generation"] == 1
    assert client.big.get("ltm/pool/~P~b") is None


def test_set_up_in_process(client):
    big = client.big
    big.add_virtual("/New/sub/vs", "10.0.0.1:443", description="made")
    shown = big.get("ltm/virtual/~New~sub~vs")
    assert shown["description"] == "made"
    profiles = shown["profilesReference"]["items"]
    assert [profile["fullPath"] for profile in profiles] == ["/Common/http", "/Common/tcp"]
    big.put_object("ltm/pool", {"name": "a", "partition": "New"})
    with pytest.raises(Refusal):
        big.put_object("ltm/pool", {"name": "a", "partition": "New"})
    assert big.log == []


def test_server_certificate_is_verified():
    with FakeBigIP() as big, pytest.raises(requests.exceptions.SSLError):
        requests.get(big.url, timeout=DEADLINE_S, verify=True)


def test_two_devices_share_nothing():
    with FakeBigIP() as first, FakeBigIP() as two:
        first.put_object("ltm/pool", {"name": "a", "partition": "Common"})
        assert two.get("ltm/pool/~Common~a") is None
