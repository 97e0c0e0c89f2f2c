"""Incidents: each is shown with its cause in all the places where an operator looks.

These are /readyz, the header of the status page, which has the same checks, the metric of an alert, and the
log.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from f5router.app import launch, status_source
from f5router.app.server_watch import SILENT_S
from f5router.model.findings import BIGIP_SILENT, SERVER_DISABLED, SERVER_MISSING
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.feature.test_monitor import Served
from tests.waiting import DEADLINE_S, until

SAVE = "sys/config"


class Site(Served):
    """A router that runs, with its HTTP server, and serves one Route."""

    def __init__(self, lab: Lab, **flags: str):
        lab.timing = replace(lab.timing, servers_s=0.1, failover_s=0.1, settle_s=0.1)
        self.config = lab.config(listen_addr="127.0.0.1:0", **flags)
        self.router = launch.build_controller(self.config, lab.stack, timing=lab.timing, clock=lab.clock)
        self.stop = threading.Event()
        self.server = lab.stack.enter_context(status_source.serve(self.config, self.router, self.stop))
        self.thread = threading.Thread(target=self.router.run, args=(self.stop,))
        lab.stack.callback(self.end)
        self.thread.start()
        wanted = {("f5router_virtual_server_up", f"/Common/{HTTP}"), ("f5router_bigip_config_saved",)}
        until(lambda: self.header() == [] and wanted <= self.samples().keys())

    def end(self) -> None:
        self.stop.set()
        self.thread.join(DEADLINE_S)

    def header(self) -> list[str]:
        """Return the texts that the header of the page has in place of "all checks pass"."""
        return [check["problem"] or check["note"] for check in self.get("/api/v1/device").json()["checks"]
                if check["problem"] or check["warns"]]


@dataclass
class Incident:
    """An event, and the texts and values that show it."""

    happens: Callable[[Lab], Any]
    check: str
    cause: str
    """Text that each place has."""
    metric: tuple[str, ...]
    """Name and labels."""
    value: float
    logs: str
    """Message of the log."""


def disable(lab: Lab) -> None:
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTP}", {"disabled": True})


def fail_to_save(message: str) -> Callable[[Lab], None]:
    def happens(lab: Lab) -> None:
        lab.bigip.inject("refuse", times=None, path=SAVE, message=message, code="01071770")
        lab.apply(manifests.route("b", host="b.example.com"))
    return happens


def fall_silent(lab: Lab) -> None:
    lab.bigip.inject("hold", times=None)
    until(lambda: lab.bigip.held > 1)
    lab.later(SILENT_S)


INCIDENTS = {
    "a virtual server disabled": Incident(
        disable, "virtual-servers", f"{SERVER_DISABLED}: /Common/{HTTP} is disabled",
        ("f5router_virtual_server_up", f"/Common/{HTTP}"), 0, "virtual server answers no request"),
    "a virtual server deleted": Incident(
        lambda lab: lab.change("DELETE", f"ltm/virtual/~Common~{HTTPS}"), "virtual-servers",
        f"{SERVER_MISSING}: /Common/{HTTPS} is not there",
        ("f5router_virtual_server_up", f"/Common/{HTTPS}"), 0, "virtual server answers no request"),
    "a save that fails": Incident(
        fail_to_save("the daemon is not running"), "config-saved", "the daemon is not running",
        ("f5router_bigip_config_saved",), 0, "configuration not saved"),
    "a full disk": Incident(
        fail_to_save("No space left on device"), "config-saved", "No space left on device",
        ("f5router_bigip_config_saved",), 0, "configuration not saved"),
    "a BIG-IP that never answers": Incident(
        fall_silent, "bigip-answers", BIGIP_SILENT, ("f5router_bigip_silent",), 1,
        "the BIG-IP does not answer"),
}


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=INCIDENTS)
def test_an_incident_is_shown(lab, caplog, incident):
    caplog.set_level(logging.INFO)
    lab.apply(manifests.route("a"))
    site = Site(lab)
    incident.happens(lab)
    try:
        until(lambda: any(incident.cause in text for text in site.header()))
        lines = site.get("/readyz?verbose").text.splitlines()
        (line,) = [line for line in lines if line[3:].startswith(f"{incident.check} ")]
        assert line.startswith(("[!]", "[-]"))
        assert incident.cause in line
        assert site.samples()[incident.metric] == incident.value
        until(lambda: any(record.getMessage() == incident.logs and incident.cause in str(vars(record))
                          for record in list(caplog.records)))
    finally:
        lab.bigip.clear_faults()
        lab.bigip.release()
