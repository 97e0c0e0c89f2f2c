"""Metrics and health over TLS: settings, certificates that change, and real handshakes."""

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
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from f5router.config import config
from f5router.config.parsers import Address
from f5router.model.errors import ConfigError
from f5router.monitoring import serving_tls
from f5router.monitoring.health import Check
from f5router.monitoring.http_server import Pages, Server
from f5router.monitoring.serving_tls import TLS, Contexts
from tests import builders
from tests.waiting import DEADLINE_S

HOST = "ROUTER_EXTERNAL_HOST_"
ENV = {HOST + "HOSTNAME": "b", HOST + "USERNAME": "u", HOST + "PASSWORD": "word"}
CERT, KEY = "ROUTER_METRICS_TLS_CERT_FILE", "ROUTER_METRICS_TLS_KEY_FILE"
MINIMUM, CIPHERS = "ROUTER_METRICS_TLS_MIN_VERSION", "ROUTER_METRICS_TLS_CIPHERS"
ONE, TWO = (builders.identity("metrics.svc", serial=number, algorithm="rsa") for number in (1, 2))
BOTH = "--metrics-tls-cert-file / ROUTER_METRICS_TLS_CERT_FILE, --metrics-tls-key-file / " + KEY + ": "
LOCAL = Address("127.0.0.1", 0)
LOGIN = ("prometheus", "gauge-word")
BASIC = {"Authorization": "Basic " + base64.b64encode(":".join(LOGIN).encode()).decode()}


@pytest.fixture
def files(tmp_path) -> TLS:
    tls = TLS(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"))
    write(tls, ONE)
    return tls


def write(tls: TLS, identity: builders.Identity) -> None:
    Path(tls.cert_file).write_text(identity.certificate)
    Path(tls.key_file).write_text(identity.key)


def variables(tls: TLS, **more: str) -> dict[str, str]:
    return {**ENV, CERT: tls.cert_file, KEY: tls.key_file, **more}


def problems(env: dict[str, str]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        config.load({}, env)
    return caught.value.problems


def server(tls: TLS | None, login=None, **limits) -> Server:
    good = [Check("one")]
    return Server(LOCAL, Pages(lambda: good, lambda: good, lambda accept: (b"metrics\n", "text/x"), login),
                  Contexts(tls) if tls else None, **limits)


def client(**limits) -> ssl.SSLContext:
    """Trusts the CA of the certificates here."""
    context = ssl.create_default_context(cadata=ONE.issuer)
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


def test_without_files_there_is_no_tls():
    assert config.load({}, ENV).metrics_tls is None


def test_both_files(files):
    """By variable, and by flag; limits as they are without settings."""
    assert config.load({}, variables(files)).metrics_tls == files
    flags = {"metrics-tls-cert-file": files.cert_file, "metrics-tls-key-file": files.key_file}
    assert config.load(flags, ENV | {CERT: "/none", KEY: "/none"}).metrics_tls == files


@pytest.mark.parametrize("name", [CERT, KEY])
def test_one_file_is_a_problem(files, name):
    env = variables(files)
    del env[name]
    assert problems(env) == (BOTH + "certificate and key must both be set, or neither",)


def encrypted(key: str) -> str:
    return load_pem_private_key(key.encode(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"word")).decode()


NO_CERTIFICATE = "there is no certificate in '{path}', or one does not parse"


@pytest.mark.parametrize(("which", "text", "label", "words"), [
    (CERT, None, CERT, "cannot read '{path}': No such file or directory"),
    (KEY, None, KEY, "cannot read '{path}': No such file or directory"),
    (CERT, b"\xff\xfe", CERT, "cannot read '{path}': it is not text in UTF-8"),
    (CERT, b"", CERT, NO_CERTIFICATE),
    (CERT, ONE.certificate[:300].encode(), CERT, NO_CERTIFICATE),
    (CERT, ONE.key.encode(), CERT, NO_CERTIFICATE),
    (KEY, b"", KEY, "'{path}' is not a private key in PEM form"),
    (KEY, ONE.certificate.encode(), KEY, "'{path}' is not a private key in PEM form"),
    (KEY, encrypted(ONE.key).encode(), KEY, "the key in '{path}' has a passphrase; give one without"),
    (KEY, TWO.key.encode(), "", "the key does not match the certificate"),
], ids=["no certificate", "no key", "binary", "empty certificate", "cut off", "key for certificate",
        "empty key", "certificate for key", "passphrase", "another's key"])
def test_bad_files(files, which, text, label, words):
    """One problem, that names flag, variable and file."""
    path = Path({CERT: files.cert_file, KEY: files.key_file}[which])
    path.unlink() if text is None else path.write_bytes(text)
    (problem,) = problems(variables(files))
    label = f"--{label[7:].lower().replace('_', '-')} / {label}: " if label else BOTH
    assert problem == label + words.format(path=path)


def test_files_in_the_place_of_paths():
    """A key is not repeated."""
    texts = problems({**ENV, CERT: ONE.certificate, KEY: ONE.key})
    assert all("it must be the path of a file" in problem for problem in texts)
    assert ONE.key.splitlines()[1] not in "".join(texts)


def test_a_key_that_openssl_finds_too_weak(files):
    """OpenSSL's own reason, at start."""
    weak = rsa.generate_private_key(65537, 1024)
    cert = builders.signed("weak", weak.public_key(), "weak", weak)
    write(files, builders.Identity(cert.public_bytes(Encoding.PEM).decode(), weak.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()))
    assert problems(variables(files)) == (BOTH + "OpenSSL does not take them: ee key too small",)


RSA = "ECDHE-RSA-AES128-GCM-SHA256"
OLD = "TLS 1.2 is the oldest that is served"


@pytest.mark.parametrize(("more", "expected", "warning"), [
    ({}, ("1.2", ""), None),
    ({MINIMUM: "TLSv1.2"}, ("1.2", ""), None),
    ({MINIMUM: "TLSv1.3"}, ("1.3", ""), None),
    ({MINIMUM: "VersionTLS13"}, ("1.3", ""), None),
    ({MINIMUM: "VersionTLS10"}, ("1.2", ""), OLD),
    ({MINIMUM: "1.1"}, ("1.2", ""), OLD),
    ({CIPHERS: RSA}, ("1.2", RSA), None),
    ({CIPHERS: f"TLS_AES_128_GCM_SHA256:{RSA}:AES128-SHA"}, ("1.2", f"{RSA}:AES128-SHA"), None),
    ({CIPHERS: "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_256_CBC_SHA256, "
               "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
     ("1.2", f"{RSA}:AES256-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305"), None),
    ({CIPHERS: f"DES-CBC3-SHA:{RSA}:ADH-AES128-SHA:HIGH"}, ("1.2", RSA),
     "left out, OpenSSL does not serve them: DES-CBC3-SHA, ADH-AES128-SHA, HIGH"),
    ({CIPHERS: "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"}, ("1.3", ""), None),
], ids=lambda value: ",".join(value.values()) if isinstance(value, dict) else "")
def test_limits(files, more, expected, warning):
    """Upstream's names of versions and ciphers, HAProxy's and IANA's; what cannot be is said."""
    settings = config.load({}, variables(files, **more))
    assert (settings.metrics_tls.minimum, settings.metrics_tls.ciphers) == expected
    warnings = [text.partition(": ")[2] for text in settings.warnings if "-tls-" in text]
    assert warnings == ([warning] if warning else [])


def test_ciphers_that_nobody_knows(files):
    """Never OpenSSL's choice in their place."""
    assert problems(variables(files, **{CIPHERS: "x:y"})) == (
        f"--metrics-tls-ciphers / {CIPHERS}: OpenSSL serves none of them",)


def test_limits_without_files():
    """Nothing that is set is ignored in silence."""
    settings = config.load({}, ENV | {CIPHERS: RSA, MINIMUM: "TLSv1.3"})
    told = [text for text in settings.warnings if "not used: there is no --metrics-tls-cert-file" in text]
    assert [text.split(" ")[0] for text in told] == ["--metrics-tls-min-version", "--metrics-tls-ciphers"]


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
    caplog.set_level(logging.INFO, serving_tls.__name__)
    with server(files) as running:
        assert serial(running) == number(ONE)
        with handshake(running) as before:
            write(files, TWO)
            assert serial(running) == serial(running) == number(TWO)
            before.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert before.recv(1024).startswith(b"HTTP/1.0 200")
    assert [record.message for record in caplog.records] == [
        "changed certificate of metrics and health is served"]


def test_a_change_is_logged_without_the_lock(files, unlocked):
    """Every connection takes it."""
    contexts = Contexts(files)
    logged = unlocked(serving_tls.log, contexts.current)
    for cert in (TWO.certificate, ONE.certificate):
        Path(files.cert_file).write_text(cert)
        contexts.current()
    assert logged == {
        "changed certificate of metrics and health not used, the one before is served": True,
        "changed certificate of metrics and health is served": True}


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
    (TWO.certificate[:200], ONE.key, "OpenSSL does not take them: "),
    ("", "", "OpenSSL does not take them: "),
    (TWO.certificate, None, "a file cannot be read: No such file or directory"),
    (ONE.certificate, encrypted(ONE.key), "OpenSSL does not take them: "),
], ids=["mismatch", "half-written", "empty", "missing", "passphrase"])
def test_a_pair_that_cannot_be_used_keeps_the_one_before(files, caplog, cert, key, reason):
    """Told once, however many connections come; the whole pair is served when it is there."""
    with server(files) as running:
        Path(files.cert_file).write_text(cert)
        Path(files.key_file).unlink() if key is None else Path(files.key_file).write_text(key)
        assert [serial(running) for _ in range(3)] == [number(ONE)] * 3
        (record,) = (record for record in caplog.records if record.name == serving_tls.__name__)
        assert record.levelname == "WARNING"
        assert record.reason.startswith(reason)
        assert (record.certificate, record.key) == (files.cert_file, files.key_file)
        write(files, TWO)
        assert serial(running) == number(TWO)


def test_files_that_are_gone_before_it_serves(files):
    Path(files.key_file).unlink()
    with pytest.raises(ConfigError) as caught:
        Contexts(files)
    assert caught.value.problems == (BOTH + "a file cannot be read: No such file or directory",)


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
        "metrics and health are served"]
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
