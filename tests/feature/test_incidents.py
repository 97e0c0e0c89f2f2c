"""Incidents: each is shown with its cause in all the places where an operator looks.

These are /readyz, the header of the status page, which has the same checks, the metric of an alert, and the
log.
"""

import logging
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from f5router.app import launch, status_source
from f5router.app.device_watch import Periods
from f5router.app.server_watch import SILENT_S
from f5router.model.findings import (
    API_ERRORS,
    API_UNREACHABLE,
    BIGIP_SILENT,
    CERTIFICATE_ENDS,
    CLOCK_DIFFERS,
    LICENCE_EXPIRED,
    NODE_DISABLED,
    REJECTIONS_RISE,
    ROUTES_WITHOUT_PODS,
    SERVER_DISABLED,
    SERVER_MISSING,
    TOKEN_LIMIT,
)
from f5router.model.texts import SECRET_NOT_READ
from mocks.bigip.store import Licence
from mocks.bigip.users import LIMIT
from tests import manifests
from tests.alerts import MINUTES, RULES, assert_fire
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS, Lab
from tests.feature.test_external_certificates import secret
from tests.feature.test_monitor import Served
from tests.waiting import DEADLINE_S, until

SAVE = "sys/config"


class Site(Served):
    """A router that runs, with its HTTP server, and serves one Route."""

    def __init__(self, lab: Lab, **flags: str):
        lab.timing = replace(lab.timing, servers_s=0.1, failover_s=0.1, settle_s=0.1,
                             device=Periods(nodes_s=0.1, licence_s=0.1), api_look_s=0.1)
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

    def gauges(self, expression: str) -> dict[str, str]:
        """Return the series that an expression names, with the values of now for an hour.

        Times begin with the hour, as those of promtool do.
        """
        series = {}
        for family in text_string_to_metric_families(self.get("/metrics").text):
            for sample in family.samples:
                labels = ",".join(f'{name}="{value}"' for name, value in sample.labels.items())
                if re.search(rf"\b{sample.name}\b", expression):
                    value = sample.value - time.time() * sample.name.endswith("_timestamp_seconds")
                    series[f"{sample.name}{{{labels}}}"] = f"{value:.0f}x{MINUTES}"
        return series


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
    alert: str
    words: str = ""
    """Text of the log, if it is not the cause: what was met first."""


def finding(code: str) -> tuple[str, ...]:
    return "f5router_findings", code


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


def force_nodes_offline(lab: Lab) -> None:
    how = {"session": "user-disabled", "state": "user-down"}
    for node in lab.bigip.get("ltm/node")["items"]:
        lab.change("PATCH", f"ltm/node/~Common~{node['name']}", how)


def end_licence(lab: Lab) -> None:
    lab.bigip.store.licence = Licence({"licenseEndDate": "2026/01/31"})


def use_up_tokens(lab: Lab) -> None:
    """Others take all tokens; then that of the router ends."""
    login = {"username": lab.bigip.username, "password": lab.bigip.password}
    with lab.bigip.store.lock:  # the router does not log in meanwhile
        lab.bigip.tokens.expire()
        while len(lab.bigip.tokens.live()) < LIMIT:
            lab.bigip.tokens.login(login, "192.0.2.1")


def let_a_certificate_end(lab: Lab) -> None:
    own = identity("b.example.com", days=6)
    lab.apply(manifests.route("b", host="b.example.com", kind="edge", certificate=own.certificate,
                              key=own.key))


def set_clock(lab: Lab) -> None:
    lab.bigip.ahead_s = 3600


def reject_routes(lab: Lab) -> None:
    lab.apply(*(manifests.route(f"r{number}", host="a b") for number in range(5)))


def take_rights_on_secrets(lab: Lab) -> None:
    lab.kube.forbid("secrets", verbs=("get", "list", "watch"))


INCIDENTS = {
    "an API server that is down": Incident(
        lambda lab: lab.kube.stop(), "api-server", "Connection refused", finding(API_UNREACHABLE), 1,
        "API server unusable", "F5RouterAPIServerUnusable", "GET /"),
    "an API server that answers 500": Incident(
        lambda lab: lab.kube.inject("500", times=None), "api-server", "Internal error occurred",
        finding(API_ERRORS), 1, "API server unusable", "F5RouterAPIServerUnusable"),
    "a kind that is forbidden": Incident(
        lambda lab: lab.kube.forbid("endpointslices"), "cluster-listed", "endpointslices",
        ("f5router_unreadable", "endpointslices"), 1, "kind not readable", "F5RouterKindsNotReadable"),
    "rights on Secrets that are taken away": Incident(
        take_rights_on_secrets, "cluster-listed", "cannot list resource", finding(SECRET_NOT_READ), 1,
        "Secret not readable, keeping its last known content", "F5RouterSecretsNotReadable"),
    "a virtual server disabled": Incident(
        disable, "virtual-servers", f"{SERVER_DISABLED}: /Common/{HTTP} is disabled",
        ("f5router_virtual_server_up", f"/Common/{HTTP}"), 0, "virtual server answers no request",
        "F5RouterVirtualServerDown"),
    "a virtual server deleted": Incident(
        lambda lab: lab.change("DELETE", f"ltm/virtual/~Common~{HTTPS}"), "virtual-servers",
        f"{SERVER_MISSING}: /Common/{HTTPS} is not there",
        ("f5router_virtual_server_up", f"/Common/{HTTPS}"), 0, "virtual server answers no request",
        "F5RouterVirtualServerDown"),
    "a save that fails": Incident(
        fail_to_save("the daemon is not running"), "config-saved", "the daemon is not running",
        ("f5router_bigip_config_saved",), 0, "configuration not saved", "F5RouterConfigNotSaved"),
    "a full disk": Incident(
        fail_to_save("No space left on device"), "config-saved", "No space left on device",
        ("f5router_bigip_config_saved",), 0, "configuration not saved", "F5RouterConfigNotSaved"),
    "a BIG-IP that never answers": Incident(
        fall_silent, "bigip-answers", BIGIP_SILENT, ("f5router_bigip_silent",), 1,
        "the BIG-IP does not answer", "F5RouterBigIPSilent"),
    # A router at rest notices at its next login: its own token lives for 20 minutes.
    "a user without a token left": Incident(
        use_up_tokens, "bigip-reached", "the user has 100 live tokens", finding(TOKEN_LIMIT), 1,
        "BIG-IP not programmed", "F5RouterLoginRefused"),
    "LTM nodes forced offline": Incident(
        force_nodes_offline, "ltm-nodes", f"{NODE_DISABLED}: 2 LTM nodes of pool members",
        finding(NODE_DISABLED), 1, "LTM nodes of pool members are disabled", "F5RouterLTMNodesDisabled"),
    "all pods of a Service gone": Incident(
        lambda lab: lab.apply(*manifests.service("shop", "web")), "routes",
        f"{ROUTES_WITHOUT_PODS}: 2 Routes have no pod that takes requests: shop/a (NoEndpoints), shop/c",
        finding(ROUTES_WITHOUT_PODS), 1, "many Routes are not served", "F5RouterRoutesWithoutPods"),
    "rejections that rise": Incident(
        reject_routes, "routes", f"{REJECTIONS_RISE}: 5 Routes are rejected, 5 more",
        finding(REJECTIONS_RISE), 1,
        "many Routes are not served", "F5RouterRejectionsRise"),
    # The end of a licence that was read before is known to the day; another one within a minute.
    "a licence that has expired": Incident(
        end_licence, "licence", f"{LICENCE_EXPIRED}: the licence of the BIG-IP ended on 2026-01-31",
        finding(LICENCE_EXPIRED), 1, "licence of the BIG-IP", "F5RouterLicenceExpired"),
    "a clock that is off by an hour": Incident(
        set_clock, "clocks", f"{CLOCK_DIFFERS}: the clock of the BIG-IP", finding(CLOCK_DIFFERS), 1,
        "clocks differ", "F5RouterClocksDiffer"),
    "a certificate that ends within a week": Incident(
        let_a_certificate_end, "certificates",
        f"{CERTIFICATE_ENDS}: certificates that end within a week: Route shop/b on ",
        finding(CERTIFICATE_ENDS), 1, "certificates end", "F5RouterCertificatesExpiring"),
}


@pytest.mark.parametrize("incident", INCIDENTS.values(), ids=INCIDENTS)
def test_an_incident_is_shown(lab, caplog, tmp_path, incident):
    caplog.set_level(logging.INFO)
    own = identity("c.example.com")
    lab.apply(manifests.route("a"), secret(own, "c"),
              manifests.route("c", host="c.example.com", kind="edge", externalCertificate={"name": "c"}))
    site = Site(lab)
    incident.happens(lab)
    try:
        until(lambda: any(incident.cause in text for text in site.header()))
        lines = site.get("/readyz?verbose").text.splitlines()
        (line,) = [line for line in lines if line[3:].startswith(f"{incident.check} ")]
        assert line.startswith(("[!]", "[-]"))
        assert incident.cause in line
        until(lambda: site.samples().get(incident.metric) == incident.value)
        until(lambda: any(record.getMessage() == incident.logs
                          and (incident.words or incident.cause) in str(vars(record))
                          for record in list(caplog.records)))
        assert_fire(tmp_path, site.gauges(RULES[incident.alert]["expr"]), [incident.alert])
    finally:
        lab.bigip.clear_faults()
        lab.bigip.release()
