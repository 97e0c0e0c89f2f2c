"""`f5router doctor` beside a router that runs: what only it has seen."""

import json
import socket

import pytest

from f5router.config.parsers import Address
from f5router.model import findings
from f5router.monitoring.health import CheckResult
from f5router.monitoring.http_server import Pages, Server
from tests.feature.test_doctor import doctor

LOCAL = Address("127.0.0.1", 0)
UNSAVED = "the BIG-IP has not saved its configuration: 01070711:3: No space left on device"


def of_router(lab, port: int) -> list[dict[str, str]]:
    """Return the checks of the router that runs."""
    shown = json.loads(doctor(lab, "-o", "json", listen_addr=f"127.0.0.1:{port}").stdout)["checks"]
    return [check for check in shown if check["area"] == "router"]


@pytest.mark.parametrize(("checks", "state", "text"), [
    pytest.param([CheckResult("process-running")], "ok", "it is ready, and has no warnings", id="well"),
    pytest.param([CheckResult("config-saved", note=UNSAVED, warns=True)], "warning", UNSAVED, id="a warning"),
    pytest.param([CheckResult("bigip-reached", "it is silent")], "failure", "it is silent", id="not ready"),
])
def test_a_router_that_runs(lab, checks, state, text):
    with Server(LOCAL, Pages(list, lambda: checks, lambda accept: (b"", ""))) as server:
        (shown,) = of_router(lab, server.server_address[1])
    assert shown["state"] == state
    assert shown["message"].endswith(text)
    assert shown["code"] == ("" if state == "ok" else findings.ROUTER_TROUBLE)


def test_no_router_runs(lab):
    """The output names what nobody knows."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (shown,) = of_router(lab, port)
    assert shown["state"] == "skipped"
    assert shown["message"] == (f"saves, disk of the BIG-IP, refused writes: no router answers at 127.0.0.1 "
                                f"port {port}; run doctor in its pod")
