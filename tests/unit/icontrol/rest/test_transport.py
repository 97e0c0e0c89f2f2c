"""f5router.icontrol.rest.transport: TLS, time-outs, proxies, cookies; what is known of a failed request."""

import concurrent.futures
import logging
import socket
import threading
import warnings
from pathlib import Path

import pytest
import urllib3.exceptions
from urllib3.connection import HTTPSConnection

from f5router.icontrol.rest.client import Client
from f5router.icontrol.settings import ClientSettings
from f5router.model.errors import ConfigError, Unreachable, Unsupported, Untrusted
from f5router.model.limits import ALWAYS, WritePermit
from tests.unit.icontrol.scripted import (
    PASSWORD,
    Answer,
    authority,
    closed_port,
    connected,
    running,
    settings_for,
)
from tests.waiting import DEADLINE_S


@pytest.mark.parametrize("changes", [
    {"base_url": "http://big"}, {"base_url": "big"}, {"base_url": "https://"},
    {"base_url": "https://u:p@big"},
    {"base_url": "https://big/mgmt"}, {"base_url": "https://big?x"}, {"auth": "none"}, {"max_in_flight": 0},
    {"verify": ""}, {"username": "\udcff"}, {"password": "secret\udcff"},
], ids=str)
def test_impossible_settings(changes):
    """Found at once; the password is not shown."""
    values = {"base_url": "https://big:8443", "username": "u", "password": PASSWORD}
    assert PASSWORD not in repr(ClientSettings(**values))
    with pytest.raises(ValueError, match=r".") as caught:
        ClientSettings(**values | changes)
    assert PASSWORD not in str(caught.value)
    assert "u:p" not in str(caught.value)
    assert "secret" not in repr(caught.value.args)


def failure(client, method: str = "get", *arguments) -> Unreachable:
    """The exception of one call."""
    with pytest.raises(Unreachable) as caught:
        getattr(client, method)("ltm/pool", *arguments)
    return caught.value


@pytest.mark.parametrize("method", ["get", "delete"])
def test_unknown_authority(method):
    """The option is named; nothing is repeated; no password was sent."""
    with connected(verify=authority("other").file) as (device, client, clock):
        error = failure(client, method)
        assert isinstance(error, Untrusted)
        assert "--f5-ca-bundle" in error.text
        assert "unable to get local issuer certificate" in error.text
        assert not error.may_have_applied
        assert not clock.waits
        assert not device.requests


def test_system_authorities():
    """A device's self-signed certificate is not among the system's."""
    with connected(verify=True) as (_, client, _):
        assert "--f5-ca-bundle" in failure(client).text


def test_environment_does_not_replace_the_bundle(monkeypatch):
    """REQUESTS_CA_BUNDLE counts only where no bundle is given."""
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", authority("other").file)
    with connected() as (_, client, _):
        client.get("ltm/pool")
    with connected(verify=False) as (_, client, _):
        client.get("ltm/pool")
    with connected(verify=True) as (_, client, _):
        assert "--f5-ca-bundle" in failure(client).text
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", authority().file)
    with connected(verify=True) as (_, client, _):
        client.get("ltm/pool")


@pytest.mark.parametrize("name", ["big-ip.example.com", "127.0.0.2"])
def test_other_name(name):
    """A certificate for another name or address: another option fixes it."""
    with connected(name) as (device, client, clock):
        error = failure(client, "post", {})
        assert isinstance(error, Untrusted)
        assert "--f5-host" in error.text
        assert "--f5-ca-bundle" not in error.text
        assert not clock.waits
        assert not device.requests


def test_no_verification(caplog):
    """Said once by us, and not again by the library."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with connected("127.0.0.2", verify=False) as (_, client, _):
            client.get("ltm/pool")
            client.get("ltm/pool")
    assert [r.message for r in caplog.records if "not verified" in r.message and r.levelno == logging.WARNING]
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) == 1


def test_useless_bundle(tmp_path):
    """Found before the first request."""
    empty = tmp_path / "empty.pem"
    empty.write_text("no certificate\n")
    for path in (str(empty), str(tmp_path / "none.pem")):
        with pytest.raises(ConfigError, match=r"--f5-ca-bundle: .*\.pem"):
            Client(ClientSettings("https://big", "u", "p", verify=path))
    Client(ClientSettings("https://big", "u", "p", verify=str(tmp_path))).close()


@pytest.mark.parametrize(("fault", "words"), [
    ("close", "the connection was closed without a reply"),
    ("cut", "the reply was cut off"),
])
@pytest.mark.parametrize(
    ("method", "arguments"), [("post", [{}]), ("patch", [{}]), ("delete", []), ("get", [])])
def test_lost_reply(method, arguments, fault, words):
    """A write may have been done: sent once, and may_have_applied. A read is never may_have_applied."""
    with connected(retry_s=0) as (device, client, _):
        device.add(Answer(body={"name": "x"}, fault=fault), path="ltm/pool")
        error = failure(client, method, *arguments)
        assert error.text == words
        assert error.may_have_applied == (method != "get")
        assert error.status == 0
        assert len(device.sent(path="ltm/pool")) == 1


@pytest.mark.parametrize(("method", "arguments"), [("post", [{}]), ("get", [])])
def test_no_reply_in_time(method, arguments):
    """The read time-out of the settings holds."""
    over = threading.Event()
    with connected(timeout_s=0.05, auth="basic", retry_s=0) as (device, client, _):
        device.add(Answer(meanwhile=over.wait), path="ltm/pool")
        error = failure(client, method, *arguments)
        over.set()
    assert error.text == "no reply within the time-out"
    assert error.may_have_applied == (method == "post")


@pytest.mark.parametrize(("url", "words"), [
    ("https://127.0.0.1:{}", "Connection refused"),
    ("https://big-ip.invalid", "the host name has no address"),
])
@pytest.mark.parametrize("auth", ["basic", "token"])
def test_no_connection(url, words, auth):
    """Nothing was sent, so a write is not may_have_applied."""
    settings = ClientSettings(url.format(closed_port()), "u", "p", auth=auth, retry_s=0)
    with Client(settings) as client:
        for method, arguments in (("post", [{}]), ("get", [])):
            error = failure(client, method, *arguments)
            assert error.text == words
            assert not error.may_have_applied


def test_no_tls():
    """Something else than HTTPS listens there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            connection, _ = server.accept()
            connection.sendall(b"SSH-2.0-OpenSSH_7.4\r\n")
            connection.close()
        thread = threading.Thread(target=answer)
        thread.start()
        url = f"https://127.0.0.1:{server.getsockname()[1]}"
        with Client(ClientSettings(url, "u", "p", auth="basic", retry_s=0)) as client:
            error = failure(client)
        thread.join()
    assert type(error) is Unreachable
    assert error.text


def test_older_failure_is_not_mixed_in():
    """A lost reply stays may_have_applied while an older failure to connect is being handled."""
    with connected(retry_s=0) as (device, client, _):
        device.add(Answer(fault="close"), path="ltm/pool")
        try:
            raise urllib3.exceptions.NewConnectionError(None, "older")
        except urllib3.exceptions.NewConnectionError:
            assert failure(client, "post", {}).may_have_applied


def test_proxy(monkeypatch):
    """The environment's proxy is used, as the original router did, but for NO_PROXY."""
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:secret@127.0.0.1:{closed_port()}")
    for name in ("https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with connected(retry_s=0) as (device, client, _):
        error = failure(client, "post", {})
        assert error.text == "the proxy of the environment gave no connection"
        assert not error.may_have_applied
        assert not device.requests
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with connected(retry_s=0) as (_, client, _):
        client.get("ltm/pool")


def test_proxy_refuses(monkeypatch):
    """It answers, but makes no connection: nothing was sent to the device."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def answer():
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")
            connection.close()
        thread = threading.Thread(target=answer)
        thread.start()
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{server.getsockname()[1]}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        with Client(ClientSettings("https://big-ip.invalid", "u", "p", auth="basic", retry_s=0)) as client:
            error = failure(client, "post", {})
        thread.join()
    assert error.text == "the proxy of the environment gave no connection"
    assert not error.may_have_applied


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "http://"])
def test_proxy_that_cannot_be_used(monkeypatch, proxy):
    """The router starts, and every request fails."""
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    for name in ("https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with connected(retry_s=0) as (device, client, _):
        for _ in range(2):
            text = failure(client).text
            assert text.startswith("the proxy of the environment (HTTPS_PROXY) cannot be used")
        assert not device.requests


def test_no_netrc(monkeypatch, tmp_path):
    """Credentials of a file that the operator wrote for other tools are not sent."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password stolen\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with connected() as (device, client, _):
        client.get("ltm/pool")
    assert not [r for r in device.requests if "Authorization" in r.headers]


def test_no_cookies():
    """A cookie of the device is not sent back: it outlives the token."""
    with connected() as (device, client, _):
        cookie = {"Set-Cookie": "BIGIPAuthCookie=bo6H2HTI; path=/; Secure; HttpOnly"}
        device.add(*[Answer(headers=cookie)] * 2, path="ltm/pool")
        for _ in range(3):
            client.get("ltm/pool")
    assert not [r for r in device.requests if "Cookie" in r.headers]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(("method", "arguments"), [("get", []), ("post", [{}])])
def test_redirect(status, method, arguments):
    """Not followed: the credentials would go to another place."""
    with running() as other, connected() as (device, client, clock):
        device.add(Answer(status, headers={"Location": f"{other.url}/x?secret=1"}), path="ltm/pool")
        with pytest.raises(Unsupported, match=r"redirected to https://127\.0\.0\.1:") as caught:
            getattr(client, method)("ltm/pool", *arguments)
        assert "secret" not in str(caught.value)
        assert not other.requests
        assert len(device.sent(path="ltm/pool")) == 1
        assert not clock.waits


@pytest.mark.parametrize("location", ["", "/tmui/login.jsp", "https://[bad", "http://:x", "//u:p@h:x/"])
def test_redirect_without_target(location):
    """Whatever it points to."""
    with connected() as (device, client, _):
        device.add(Answer(302, headers={"Location": location} if location else {}), path="ltm/pool")
        with pytest.raises(Unsupported, match="redirected to"):
            client.post("ltm/pool", {})


def test_requests_at_once():
    """max_in_flight of them, no more and no fewer, over as many connections."""
    at_once, most, lock, full = 0, 0, threading.Lock(), threading.Barrier(3, timeout=DEADLINE_S)

    def meanwhile():
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        full.wait()
        with lock:
            at_once -= 1

    with connected(max_in_flight=3) as (device, client, _):
        device.add(*[Answer(meanwhile=meanwhile)] * 12, path="ltm/pool")
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            list(pool.map(lambda _: client.get("ltm/pool"), range(12)))
        assert device.connections == 3
    assert most == 3


def test_connection_is_kept():
    """One TLS handshake for many requests."""
    with connected() as (device, client, _):
        for _ in range(5):
            client.get("ltm/pool")
            client.post("ltm/pool", {})
        client.delete("ltm/pool/x")
        assert device.connections == 1


def test_headers():
    """Content-Type exactly so, and only with a body; UTF-8 without escapes; < > & as they are."""
    with connected() as (device, client, _):
        client.post("ltm/rule", {"apiAnonymous": 'when X { if { $a < 1 && "ä" > 2 } {} }'})
        client.get("ltm/pool")
        client.delete("ltm/pool/x")
        written = device.sent("POST", "ltm/rule")[0]
        assert written.headers["Content-Type"] == "application/json"
        assert written.body == '{"apiAnonymous": "when X { if { $a < 1 && \\"ä\\" > 2 } {} }"}'.encode()
        for request in device.requests:
            assert request.headers["User-Agent"].startswith("f5router/")
            assert ("Content-Type" in request.headers) == (request.method == "POST")


@pytest.mark.parametrize(("permit", "limit_ms"), [(ALWAYS, 0), (WritePermit(lambda: 1.0, 5.0), 5000)])
def test_undelivered_requests_are_given_up(monkeypatch, permit, limit_ms):
    """The kernel would deliver a write of a leader that ended for minutes."""
    limits = []
    connect = HTTPSConnection.connect

    def connect_and_look(connection):
        connect(connection)
        limits.append(connection.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT))

    monkeypatch.setattr(HTTPSConnection, "connect", connect_and_look)
    with running() as device, Client(settings_for(device.url), permit=permit) as client:
        client.get("ltm/pool")
    assert set(limits) == {limit_ms}


class Renewed:
    """Authorities that are renewed, unnoticed until somebody looks at once."""

    def __init__(self, before: str, after: str):
        self.value, self._after = before, after

    def get(self, *, now: bool = False) -> str:
        self.value = self._after if now else self.value
        return self.value


def test_authorities_are_renewed():
    """A device that is not trusted any more is tried once more with what the file has by now."""
    other, right = (Path(ca.file).read_text() for ca in (authority("another"), authority()))
    with running() as device:
        with Client(settings_for(device.url), authorities=Renewed(other, right)) as client:
            client.post("ltm/pool", {})
        with (Client(settings_for(device.url), authorities=Renewed(other, other)) as client,
              pytest.raises(Untrusted)):
            client.post("ltm/pool", {})
        assert len(device.sent("POST", "ltm/pool")) == 1
