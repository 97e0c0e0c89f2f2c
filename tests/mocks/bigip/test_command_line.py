"""`python -m mocks.bigip` as a process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from mocks.bigip.__main__ import main
from tests.signals import command_line
from tests.waiting import DEADLINE_S

ROOT = Path(__file__).parents[3]


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mocks.bigip", *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serves_until_a_signal(tmp_path, number):
    ca = tmp_path / "ca.pem"
    process = started(
        "--tmos-version",
        "13.1.1",
        "--partition",
        "P",
        "--fault",
        "503-async:1:GET:ltm/pool",
        "--quirk",
        "sub-post-404",
        "--virtual",
        "/P/vs=10.0.0.1:80",
        "--ca-out",
        str(ca),
    )
    try:
        facts = dict(word.split("=", 1) for word in process.stdout.readline().split())
        assert facts["ca"] == str(ca)
        with requests.Session() as session:
            session.trust_env = False
            session.verify, session.auth = str(ca), (facts["user"], facts["password"])
            url = f"{facts['url']}/mgmt/tm"
            assert session.get(f"{url}/ltm/pool", timeout=DEADLINE_S).status_code == 503
            pools = session.get(f"{url}/ltm/pool", timeout=DEADLINE_S).json()
            assert pools["selfLink"].endswith("ver=13.1.1")
            assert session.get(f"{url}/ltm/virtual/~P~vs", timeout=DEADLINE_S).status_code == 200
    finally:
        process.send_signal(number)
        rest = process.stdout.read()
        assert process.wait(timeout=DEADLINE_S) == 0
    assert rest == ""


@pytest.mark.parametrize("arguments", [("--quirk", "guess"), ("--fault", "guess"), ("--tmos-version", "x")])
def test_bad_arguments(arguments):
    result = command_line(main, *arguments)
    assert result.exit_code == 2
    assert "Usage" in result.stderr
