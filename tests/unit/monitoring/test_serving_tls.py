"""Metrics and health over TLS: certificates that change, and real handshakes."""

import base64
import contextlib
import http.client
import logging
import os
import shutil
import socket
import ssl
import threading
from pathlib import Path

import pytest
from cryptography import x509

from f5router.config.parsers import Address
from f5router.config.tls_files import context, read
from f5router.model.errors import ConfigError
from f5router.monitoring import connections
from f5router.monitoring.connections import TLS, Contexts
from f5router.monitoring.health import CheckResult
from f5router.monitoring.http_server import Pages, Server
from tests import builders
from tests.unit.monitoring.conftest import ONE, TWO, encrypted, write
from tests.waiting import DEADLINE_S

LOCAL = Address("127.0.0.1", 0)
RSA = "ECDHE-RSA-AES128-GCM-SHA256"
LOGIN = ("prometheus", "gauge-word")
BASIC = {"Authorization": "Basic " + base64.b64encode(":".join(LOGIN).encode()).decode()}


def server(tls: TLS | None, login=None, **limits) -> Server:
    good = [CheckResult("one")]
    return Server(LOCAL, Pages(lambda: good, lambda: good, lambda accept: (b"metrics\n", "text/x"), login),
                  Contexts(tls) if tls else None, **limits)


def client(**limits) -> ssl.SSLContext:
    """Trusts the CA of the certificates here."""
    context = ssl.create_default_context(cadata=ONE.issuer)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Python 3.13 sets it; they have no key usage
    for name, value in limits.items():
        setattr(context, name, value)
    return context


def handshake(running: Server, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
    raw = socket.create_connection(running.server_address, timeout=DEADLINE_S)
    return (context or client()).wrap_socket(raw, server_hostname="metrics.svc")


def ask(running: Server, path: str, *, tls: bool, **headers: str) -> tuple[int, str]:
    """Status and body."""
    with handshake(running) if tls else socket.create_connection(running.server_address, DEADLINE_S) as raw:
        lines = [f"GET {path} HTTP/1.0", *(f"{name}: {text}" for name, text in headers.items()), "", ""]
        raw.sendall("\r\n".join(lines).encode())
        reply = http.client.HTTPResponse(raw)
        reply.begin()
        return reply.status, reply.read().decode()


def serial(running: Server) -> str:
    """Return the serial number of the certificate that is served now."""
    with handshake(running) as connection:
        return connection.getpeercert()["serialNumber"]


# ---- settings


# ---- what is served


@pytest.mark.parametrize("tls", [True, False], ids=["TLS", "HTTP"])
def test_one_port_serves_both(files, tls):
    """Probes without TLS, Prometheus with it; upstream does so in pkg/router/metrics/metrics.go."""
    with server(files) as running:
        assert ask(running, "/healthz", tls=tls) == (200, "ok")
        assert ask(running, "/readyz", tls=tls) == (200, "ok")
        assert ask(running, "/metrics", tls=tls) == (200, "metrics\n")
        assert ask(running, "/none", tls=tls)[0] == 404


def test_a_password_is_taken_over_tls_only(files):
    """Without TLS nobody is asked for it, and the right one opens nothing; probes are as before."""
    with server(files, LOGIN) as running:
        assert ask(running, "/metrics", tls=True, **BASIC) == (200, "metrics\n")
        assert ask(running, "/metrics", tls=True)[0] == 401
        for headers in (BASIC, {}):
            assert ask(running, "/metrics", tls=False, **headers) == (
                403, "metrics need a password, which is accepted over HTTPS only\n")
        assert ask(running, "/healthz", tls=False) == (200, "ok")
    with server(None, LOGIN) as running:
        assert ask(running, "/metrics", tls=False, **BASIC) == (200, "metrics\n")


def test_the_end_is_told(files):
    """close_notify: a client that reads to the end sees that nothing was cut off."""
    strict = client()
    with server(files) as running, handshake(running, strict) as connection:
        connection.suppress_ragged_eofs = False
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        reply = b""
        while block := connection.recv(1024):
            reply += block
        assert reply.endswith(b"\r\n\r\nok")


@pytest.mark.parametrize(("tls", "limits", "good"), [
    ({}, {"maximum_version": ssl.TLSVersion.TLSv1_2}, True),
    ({}, {"minimum_version": ssl.TLSVersion.TLSv1_3}, True),
    ({"minimum": "1.3"}, {"minimum_version": ssl.TLSVersion.TLSv1_3}, True),
    ({"minimum": "1.3"}, {"maximum_version": ssl.TLSVersion.TLSv1_2}, False),
], ids=["1.2", "1.3", "only 1.3", "1.2 refused"])
def test_versions(files, tls, limits, good):
    with server(TLS(files.cert_file, files.key_file, **tls)) as running:
        if good:
            handshake(running, client(**limits)).close()
            return
        with pytest.raises(ssl.SSLError):
            handshake(running, client(**limits))


def test_ciphers(files):
    """Only the ciphers of TLS 1.2 that are set are served."""
    two = client(maximum_version=ssl.TLSVersion.TLSv1_2)
    with server(TLS(files.cert_file, files.key_file, ciphers=RSA)) as running:
        with handshake(running, two) as connection:
            assert connection.cipher()[0] == RSA
        two.set_ciphers("ECDHE-RSA-AES256-GCM-SHA384")
        with pytest.raises(ssl.SSLError):
            handshake(running, two)


# ---- certificates that change


def number(identity: builders.Identity) -> str:
    """Serial number as ssl shows it."""
    text = f"{x509.load_pem_x509_certificate(identity.certificate.encode()).serial_number:X}"
    return text.zfill(len(text) + len(text) % 2)


def test_rotation(files, caplog):
    """In place; the next connection has the new one, an open one goes on."""
    caplog.set_level(logging.INFO, connections.__name__)
    with server(files) as running:
        assert serial(running) == number(ONE)
        with handshake(running) as before:
            write(files, TWO)
            assert serial(running) == serial(running) == number(TWO)
            before.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert before.recv(1024).startswith(b"HTTP/1.0 200")
    assert [record.message for record in caplog.records] == [
        "serving the changed certificate for metrics and health"]


def test_a_change_is_logged_without_the_lock(files, unlocked):
    """Every connection takes it."""
    contexts = Contexts(files)
    logged = unlocked(connections.log, contexts.current)
    for cert in (TWO.certificate, ONE.certificate):
        Path(files.cert_file).write_text(cert)
        contexts.current()
    assert logged == {
        "changed certificate for metrics and health not used, serving the previous one": True,
        "serving the changed certificate for metrics and health": True}


def test_files_that_change_while_they_are_loaded(files):
    """Only what was read counts: otherwise a change there and back would leave the wrong one in use."""
    pair = read(files)
    Path(files.key_file).write_text(TWO.key)
    context(files, pair)
    with pytest.raises(ssl.SSLError):
        context(files, read(files))


def test_rotation_as_kubelet_does_it(tmp_path):
    """A symbolic link to a folder is replaced."""
    for name, identity in (("one", ONE), ("two", TWO)):
        (tmp_path / name).mkdir()
        write(TLS(f"{tmp_path}/{name}/tls.crt", f"{tmp_path}/{name}/tls.key"), identity)
    data = tmp_path / "..data"
    data.symlink_to("one")
    with server(TLS(f"{data}/tls.crt", f"{data}/tls.key")) as running:
        assert serial(running) == number(ONE)
        (tmp_path / "new").symlink_to("two")
        os.rename(tmp_path / "new", data)
        assert serial(running) == number(TWO)
        shutil.rmtree(tmp_path / "one")
        assert serial(running) == number(TWO)


@pytest.mark.parametrize(("cert", "key", "reason"), [
    (TWO.certificate, ONE.key, "the key does not match the certificate"),
    (TWO.certificate[:200], ONE.key, "OpenSSL refuses them: "),
    ("", "", "OpenSSL refuses them: "),
    (TWO.certificate, None, "a file cannot be read: No such file or directory"),
    (ONE.certificate, encrypted(ONE.key), "OpenSSL refuses them: "),
], ids=["mismatch", "half-written", "empty", "missing", "passphrase"])
def test_a_pair_that_cannot_be_used_keeps_the_one_before(files, caplog, cert, key, reason):
    """Told once, however many connections come; the whole pair is served when it is there."""
    with server(files) as running:
        Path(files.cert_file).write_text(cert)
        Path(files.key_file).unlink() if key is None else Path(files.key_file).write_text(key)
        assert [serial(running) for _ in range(3)] == [number(ONE)] * 3
        (record,) = (record for record in caplog.records if record.name == connections.__name__)
        assert record.levelname == "WARNING"
        assert record.reason.startswith(reason)
        assert (record.certificate, record.key) == (files.cert_file, files.key_file)
        write(files, TWO)
        assert serial(running) == number(TWO)


def test_files_that_are_gone_before_it_serves(files):
    Path(files.key_file).unlink()
    with pytest.raises(ConfigError) as caught:
        Contexts(files)
    (problem,) = caught.value.problems
    assert problem.startswith("--metrics-tls-cert-file / ROUTER_METRICS_TLS_CERT_FILE, --metrics-tls-key")
    assert problem.endswith(": a file cannot be read: No such file or directory")


# ---- clients that behave badly


def hello(sent: bytes, running: Server) -> bytes:
    """Return the reply to these bytes."""
    with socket.create_connection(running.server_address, timeout=DEADLINE_S) as raw:
        with contextlib.suppress(OSError):  # it may have hung up already
            raw.sendall(sent)
            raw.shutdown(socket.SHUT_WR)
        reply = b""
        with contextlib.suppress(ConnectionResetError):
            while block := raw.recv(1024):
                reply += block
        return reply


@pytest.mark.parametrize("sent", [
    b"", b"\x16", b"\x16\x03\x01\x00\x05hello", b"\x16" * 100, b"\x80\x2e\x01\x00\x02", b"\x00" * 50,
    b"GET", b"\x16\x03\x01\xff\xff" + b"\x01" * 70000,
], ids=["nothing", "one byte", "no hello", "no record", "SSLv2", "zeros", "half a request", "too long"])
@pytest.mark.parametrize("secure", [True, False], ids=["TLS", "without"])
def test_nonsense_prints_nothing_and_harms_nobody(files, caplog, capfd, sent, secure):
    """No traceback, not even at debug, no line of the log at info; the next client is served."""
    caplog.set_level(logging.DEBUG)
    with server(files if secure else None) as running:
        assert not hello(sent, running).startswith(b"HTTP/1.0 200")
        assert ask(running, "/healthz", tls=secure) == (200, "ok")
    assert [record.message for record in caplog.records if record.levelno >= logging.INFO] == [
        "serving metrics and health"]
    assert not secure or not any(record.exc_info for record in caplog.records)
    assert capfd.readouterr() == ("", "")


def test_a_client_that_does_not_trust(files, capfd):
    """Its alert is no trouble of ours."""
    with server(files) as running:
        with pytest.raises(ssl.SSLCertVerificationError):
            handshake(running, ssl.create_default_context())
        assert ask(running, "/healthz", tls=True) == (200, "ok")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("sent", [b"", b"\x16", b"\x16\x03\x01\x02\x00\x01"],
                         ids=["nothing", "one byte", "half a hello"])
def test_a_silent_client_holds_up_nobody_and_is_cut_off(files, sent):
    with server(files, silence_s=0.3) as running, socket.create_connection(running.server_address,
                                                                           DEADLINE_S) as raw:
        raw.sendall(sent)
        assert ask(running, "/healthz", tls=True) == (200, "ok")
        with contextlib.suppress(ConnectionResetError):
            assert raw.recv(100) == b""


def test_many_at_once_while_the_certificate_changes(files):
    """Each gets one certificate or the other, whole."""
    serials, lock = [], threading.Lock()

    def connect():
        for _ in range(10):
            mine = serial(running)
            with lock:
                serials.append(mine)

    with server(files) as running:
        threads = [threading.Thread(target=connect) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            write(files, TWO)
            write(files, ONE)
        for thread in threads:
            thread.join(DEADLINE_S)
        assert serial(running) == number(ONE)
    assert len(serials) == 80
    assert set(serials) <= {number(ONE), number(TWO)}
