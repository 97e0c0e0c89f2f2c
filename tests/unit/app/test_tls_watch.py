"""Files for TLS towards clients that change while the router runs."""

import logging
import math
import os

import pytest

from f5router.app.tls_watch import TLSWatch
from f5router.config.tls_files import TLSPaths
from f5router.model.client_tls import TLSFiles
from tests.builders import identity

OLD, NEW = identity("old.example.com"), identity("new.example.com")


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "tls.pem"
    file.write_text(OLD.certificate + OLD.key)
    return file


@pytest.fixture
def watch(path, clock):
    paths = TLSPaths(str(path))
    return TLSWatch(paths, paths.read(lambda name: path.read_text(), TLSFiles()), period_s=10, clock=clock)


def test_due(watch, clock):
    assert watch.due_at == clock.now + 10
    clock.now += 15
    watch.check()
    assert watch.due_at == clock.now + 10


def test_no_files_are_never_due(clock):
    assert TLSWatch(TLSPaths(), TLSFiles(), period_s=10, clock=clock).due_at == math.inf


def test_a_change_comes_once(watch, path):
    assert watch.check() is None
    path.write_text(NEW.certificate + NEW.key)
    assert watch.check().default_certificate.certificate == NEW.certificate
    assert watch.check() is None


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
    assert watch.check() is watch.check() is None
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.problem.startswith("not used, what was read before stays: ")
    assert "PRIVATE" not in record.problem
    if path.is_dir():
        path.rmdir()
    path.unlink(missing_ok=True)
    path.write_text(NEW.certificate + NEW.key)
    assert watch.check().default_certificate.certificate == NEW.certificate
    assert "problem resolved" in caplog.text
