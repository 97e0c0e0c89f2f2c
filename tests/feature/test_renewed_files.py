"""Credentials that are renewed while the router works: nothing fails, nothing is restarted."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from tests import manifests
from tests.feature.conftest import QUICK

pytestmark = pytest.mark.bare

OLD, NEW = "the old password", "the new password"
AT = 5
"""Number of the write of a load during which something changes."""


def replace_password(folder: Path, text: str) -> None:
    """Change the file as a Secret's volume does: who reads it meanwhile gets the old text or the new one."""
    new = folder / "password.new"
    new.write_text(text)
    new.replace(folder / "password")


@pytest.fixture
def login(tmp_path):
    """The files of a mounted bigip-login Secret."""
    folder = tmp_path / "bigip-login"
    folder.mkdir()
    (folder / "username").write_text("router\n")
    (folder / "password").write_text(f"{OLD}\n")
    return folder


@pytest.fixture
def load(lab, login, caplog):
    """Load Routes while something happens at a write; returns the messages of the log above INFO."""
    def run(events, auth="token"):
        lab.timing = replace(QUICK, files_s=0.0)
        lab.bigip.add_user("router", OLD)
        for i in range(12):
            lab.apply(manifests.route(f"r{i}", host=f"r{i}.example.com"))
        writes = []

        def happens(entry) -> None:
            writes.append(entry)
            if event := events.get(len(writes)):
                event()

        lab.bigip.on_write = happens
        router = lab.router(f5_username=None, f5_password=None, f5_credentials_dir=str(login), f5_auth=auth)
        assert lab.converge(router) == []
        lab.bigip.on_write = None
        assert len(writes) > max(events) + 3
        assert all(lab.admitted("shop", f"r{i}").get("status") == "True" for i in range(12))
        return [record for record in caplog.records if record.levelno > logging.INFO]
    return run


def test_password_is_changed_during_a_load(lab, login, load):
    """Tokens die with the old password: no request fails."""
    def renew():
        with lab.bigip.store.lock:  # a login between the two would have the one without the other
            replace_password(login, NEW)
            lab.bigip.add_user("router", NEW)
            lab.bigip.expire_tokens()

    assert load({AT: renew}) == []


@pytest.mark.parametrize("auth", ["token", "basic"])
def test_file_is_changed_long_before_the_device(lab, login, load, auth):
    """The password that the device still has goes on; the new one is used once the device has it."""
    def change_device():
        with lab.bigip.store.lock:  # see above
            lab.bigip.add_user("router", NEW)
            lab.bigip.expire_tokens()

    # Between the two, no request may be left that has tried the new one and not yet the old one.
    records = load({AT: lambda: replace_password(login, NEW), 3 * AT: change_device}, auth)
    assert {record.getMessage() for record in records} <= {
        "changed login refused, using the previous credentials"}
    assert len(records) <= 1


@pytest.mark.parametrize("half", ["", "\n"], ids=["empty", "a line end"])
def test_half_written_password(login, load, half):
    """The password before stays, with one message."""
    (record,) = load({AT: lambda: replace_password(login, half)})
    assert (record.getMessage(), record.problem) == (
        "changed login for the BIG-IP",
        f"not used, what was read before stays: '{login}/password': it is empty")
