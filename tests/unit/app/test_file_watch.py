"""The administrator's files for TLS that change while the router runs."""

import logging
import os

import pytest

from f5router.app import file_watch
from f5router.app.file_watch import FileWatch, SharedFiles, client_tls, destination_ca, ssh_key
from f5router.config.tls_files import TLSPaths
from f5router.model.client_tls import TLSFiles
from f5router.model.errors import ConfigError
from tests.builders import identity

OLD, NEW = identity("old.example.com"), identity("new.example.com")
OLD_CA, NEW_CA = identity(ca="Old CA").issuer, identity(ca="New CA").issuer


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "tls.pem"
    file.write_text(OLD.certificate + OLD.key)
    return file


@pytest.fixture
def watch(path):
    paths = TLSPaths(str(path))
    return FileWatch("clients", client_tls(paths), paths.read(lambda name: path.read_text(), TLSFiles()))


def test_no_files_never_change():
    for watch in (FileWatch("clients", client_tls(TLSPaths()), TLSFiles()),
                  FileWatch("pods", destination_ca(""), "")):
        assert not watch.read()


def test_a_change_comes_once(watch, path):
    assert not watch.read()
    path.write_text(NEW.certificate + NEW.key)
    assert watch.read()
    assert watch.content.default_certificate.certificate == NEW.certificate
    assert not watch.read()


@pytest.mark.parametrize("spoil", [
    pytest.param(lambda path: path.unlink(), id="missing"),
    pytest.param(lambda path: path.write_text(NEW.certificate), id="without a key"),
    pytest.param(lambda path: path.write_text(NEW.certificate + OLD.key), id="half changed"),
    pytest.param(lambda path: path.write_bytes(b"\xff"), id="no text"),
    pytest.param(lambda path: path.write_text("x" * (1 << 21)), id="huge"),
    pytest.param(lambda path: (path.unlink(), os.mkfifo(path)), id="a pipe, which would never end"),
    pytest.param(lambda path: (path.unlink(), path.mkdir()), id="a directory"),
])
def test_what_cannot_be_used_leaves_what_was_read_before(watch, path, spoil, caplog):
    caplog.set_level(logging.INFO)
    spoil(path)
    assert (watch.read(), watch.read()) == (False, False)
    assert watch.content.default_certificate.certificate == OLD.certificate
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.problem.startswith("not used, what was read before stays: ")
    assert "PRIVATE" not in record.problem
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    path.write_text(NEW.certificate + NEW.key)
    assert watch.read()
    assert watch.content.default_certificate.certificate == NEW.certificate
    assert "problem resolved" in caplog.text


@pytest.fixture
def authorities(tmp_path):
    file = tmp_path / "service-ca.crt"
    file.write_text(OLD_CA)
    return file


def of_pods(path, content):
    return FileWatch("pods", destination_ca(str(path)), content)


def test_renewed_authorities(authorities):
    """Only other certificates count, not the text around them."""
    watch = of_pods(authorities, OLD_CA)
    authorities.write_text(NEW_CA + OLD_CA)
    assert (watch.read(), watch.content) == (True, NEW_CA + OLD_CA)
    authorities.write_text(f"# renewed\n{NEW_CA}\n{OLD_CA}")
    assert not watch.read()


@pytest.mark.parametrize("spoil", [
    lambda path: path.unlink(), lambda path: path.write_text(""), lambda path: path.write_text("no PEM"),
    lambda path: path.write_text(NEW_CA[:-40]), lambda path: path.write_bytes(b"\xff"),
    lambda path: (path.unlink(), path.mkdir()),
], ids=["gone", "empty", "no PEM", "half written", "binary", "a directory"])
def test_the_old_authorities_stay(authorities, spoil, caplog):
    """A file that cannot be used is logged once, and its end too; it is read again all the same."""
    caplog.set_level(logging.INFO)
    watch = of_pods(authorities, OLD_CA)
    spoil(authorities)
    assert [(watch.read(), watch.content) for _ in "ab"] == [(False, OLD_CA)] * 2
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(authorities) in caplog.records[0].problem
    if authorities.is_dir():
        authorities.rmdir()
    authorities.write_text(NEW_CA)
    assert (watch.read(), watch.content) == (True, NEW_CA)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "INFO"]


def test_authorities_that_come_later(authorities, caplog):
    """A file that was never there is no problem, and is used as soon as it is there."""
    authorities.unlink()
    watch = of_pods(authorities, "")
    assert not watch.read()
    assert not caplog.records
    authorities.write_text(OLD_CA)
    assert (watch.read(), watch.content) == (True, OLD_CA)


def test_half_written_files_keep_what_was_read_before(tmp_path, clock, caplog):
    """A CA bundle whose last certificate is cut off, and a key for SSH: one message each."""
    first, second = identity(ca="One").issuer, identity(ca="Two").issuer
    key = identity().key
    bundle, private = tmp_path / "ca.pem", tmp_path / "ssh.pem"
    bundle.write_text(first)
    private.write_text(key)
    watches = [SharedFiles("CA", file_watch.authorities(str(bundle)), "", period_s=10, clock=clock),
               SharedFiles("key", ssh_key(str(private)), "", period_s=10, clock=clock)]
    bundle.write_text(first + second[:-100])
    private.write_text(key[:-100])
    for _ in range(3):
        clock.now += 10
        assert [watch.get().strip() for watch in watches] == [first.strip(), key.strip()]
    assert [record.getMessage() for record in caplog.records] == ["CA", "key"]
    assert not any(secret in str([record.problem for record in caplog.records])
                   for secret in (key[40:90], second[40:90]))
    bundle.write_text(first + second)
    assert watches[0].get(now=True).count("BEGIN") == 2
    with pytest.raises(ConfigError, match="not a private key"):
        SharedFiles("key", ssh_key(str(bundle)), "", period_s=10, clock=clock)


def test_shared_files_are_read_when_they_are_due(path, clock):
    """By whoever asks then, or asks for the newest."""
    shared = SharedFiles("login", lambda before: path.read_text(), "", period_s=10, clock=clock)
    first = shared.get()
    path.write_text("new")
    clock.now += 9
    assert shared.get() == first
    assert shared.get(now=True) == "new"
    path.write_text("newer")
    clock.now += 9
    assert shared.get() == "new"
    clock.now += 1
    assert shared.get() == "newer"
