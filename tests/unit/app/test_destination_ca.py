"""The file with the default destination CA, renewed while the router runs."""

import logging

import pytest

from f5router.app.destination_ca import DestinationCAFile
from tests.builders import identity

OLD, NEW = identity(ca="Old CA").issuer, identity(ca="New CA").issuer


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "service-ca.crt"
    file.write_text(OLD)
    return file


def test_renewed(path, clock):
    """Once per period, and only other certificates count, not the text around them."""
    file = DestinationCAFile(str(path), OLD, period_s=30.0, clock=clock)
    path.write_text(NEW + OLD)
    assert (file.renewed(), file.due_at) == (False, 30.0)
    clock.now = 30.0
    assert (file.renewed(), file.certificates, file.due_at) == (True, NEW + OLD, 60.0)
    clock.now = 60.0
    path.write_text(f"# renewed\n{NEW}\n{OLD}")
    assert not file.renewed()


@pytest.mark.parametrize("break_it", [
    lambda path: path.unlink(), lambda path: path.write_text(""), lambda path: path.write_text("no PEM"),
    lambda path: path.write_text(NEW[:-40]), lambda path: path.write_bytes(b"\xff"),
    lambda path: (path.unlink(), path.mkdir()),
], ids=["gone", "empty", "no PEM", "half written", "binary", "a directory"])
def test_the_old_one_stays(path, clock, break_it, caplog):
    """A file that cannot be used is logged once, and its end too; it is read again all the same."""
    caplog.set_level(logging.INFO)
    file = DestinationCAFile(str(path), OLD, period_s=30.0, clock=clock)
    break_it(path)
    for clock.now in (30.0, 60.0):
        assert (file.renewed(), file.certificates) == (False, OLD)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(path) in caplog.records[0].problem
    if path.is_dir():
        path.rmdir()
    path.write_text(NEW)
    clock.now = 90.0
    assert (file.renewed(), file.certificates) == (True, NEW)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO", "INFO"]


def test_it_comes_later(path, clock, caplog):
    """A file that was never there is no problem, and is used as soon as it is there."""
    path.unlink()
    file = DestinationCAFile(str(path), "", period_s=30.0, clock=clock)
    clock.now = 30.0
    assert not file.renewed()
    assert not caplog.records
    path.write_text(OLD)
    clock.now = 60.0
    assert (file.renewed(), file.certificates) == (True, OLD)


def test_no_file(clock):
    file = DestinationCAFile("", "", period_s=30.0, clock=clock)
    clock.now = 1e9
    assert (file.due_at, file.renewed()) == (None, False)
