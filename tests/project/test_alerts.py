"""The alerts of docs/deploy/monitoring: Prometheus reads them, they fire as they should; a page has each."""

import re
from pathlib import Path

import pytest
import yaml

from f5router.app.incidents import CODES
from f5router.config.options import OPTIONS
from f5router.model.clock_offset import MOST_S
from f5router.model.findings import (
    BIGIP_SILENT,
    CERTIFICATE_ENDING,
    CERTIFICATE_ENDS,
    KIND_NOT_READABLE,
    NOT_SAVED,
    SERVER_DISABLED,
    SERVER_MISSING,
)
from f5router.model.texts import CERTIFICATE_EXPIRED, SECRET_NOT_READ
from tests.alerts import ALERTS, GROUPS, MINUTES, RULES, assert_fire, promtool
from tests.project.scraped import page

ROOT = ALERTS.parents[3]
PAGE = ALERTS.parents[2] / "alerts.md"
HOUR = f"x{MINUTES}"

WELL = {
    "f5router_build_info": f"1{HOUR}",
    "f5router_bigip_reached": f"1{HOUR}",
    "f5router_bigip_active": f"1{HOUR}", "f5router_bigip_silent": f"0{HOUR}",
    'f5router_virtual_server_up{virtual_server="/Common/v"}': f"1{HOUR}",
    "f5router_bigip_config_saved": f"1{HOUR}",
    "f5router_last_success_timestamp_seconds": f"0+60{HOUR}", "f5router_leader": f"1{HOUR}",
    "f5router_bigip_config_in_sync": f"1{HOUR}", 'f5router_routes{verdict="device_rejected"}': f"0{HOUR}",
    "f5router_oldest_change_age_seconds": f"2{HOUR}", 'f5router_pools_down{unit="big-1"}': f"0{HOUR}",
    'f5router_drift_found_total{kind="ltm/pool"}': f"3{HOUR}",
    'f5router_route_certificate_expiry_timestamp_seconds{route="shop/a"}': f"1000000{HOUR}",
    **{f'f5router_findings{{code="{code}"}}': f"0{HOUR}" for code in CODES},
    'f5router_certificate_expiry_timestamp_seconds{certificate="default"}': f"1000000{HOUR}",
    'f5router_kube_watch_failures_total{resource="routes"}': "0x30 1x30",
    'f5router_statistics_readings_total{result="success"}': f"0+1{HOUR}",
    'f5router_statistics_readings_total{result="failure"}': "0x30 1x30",
    "f5router_deletes_held_back": f"0{HOUR}", "f5router_status_contended": f"0{HOUR}",
    'f5router_queue_length{queue="status"}': f"50{HOUR}",
    'f5router_status_writes_total{result="written"}': f"0+100{HOUR}",
    'f5router_bigip_request_seconds_bucket{collection="ltm/pool",le="0.05",method="GET"}': f"0+60{HOUR}",
    'f5router_bigip_request_seconds_bucket{collection="ltm/pool",le="+Inf",method="GET"}': f"0+60{HOUR}",
    'f5router_bigip_replies_total{collection="ltm/pool",method="GET",status="503"}': f"0+1{HOUR}",
}
"""A router that is well, by the minute: statuses are written, and now and then the BIG-IP is busy."""


@pytest.fixture
def rules(tmp_path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump(GROUPS))
    return path


def test_prometheus_reads_them(rules):
    assert f"{len(RULES)} rules found" in promtool("check", "rules", str(rules))


def test_names_of_metrics():
    """Prometheus' rules for names, units and texts."""
    ours = [line for line in page().splitlines(keepends=True) if b"f5router_" in line or b"template_" in line]
    assert promtool("check", "metrics", stdin=b"".join(ours)) == ""


def test_metrics_of_the_alerts_are_served():
    served = set(re.findall(r"^(f5router_\w+)", page().decode(), re.MULTILINE))
    named = {name for rule in RULES.values() for name in re.findall(r"f5router_\w+", rule["expr"])}
    assert named - served == set()


def test_each_alert_has_its_entry():
    entries = re.findall(r"^## (\w+)$", PAGE.read_text(), re.MULTILINE)
    assert entries == list(RULES)
    for name, rule in RULES.items():
        assert rule["annotations"]["runbook_url"] == f"docs/alerts.md#{name.lower()}"
        assert rule["labels"]["severity"] in ("critical", "warning")


def test_the_page_names_what_there_is():
    """Metrics, lines of /readyz, settings and messages of the log are those of the code."""
    text = " ".join(PAGE.read_text().split())
    code = "\n".join(path.read_text() for path in (ROOT / "f5router").rglob("*.py"))
    served = set(re.findall(r"^(f5router_\w+)", page().decode(), re.MULTILINE))
    served |= {name.removesuffix("_bucket") for name in served}
    assert set(re.findall(r"f5router_\w+", text)) - served == set()
    assert {name for name in re.findall(r"lines? `([a-z-]+)`", text) if f'"{name}"' not in code} == set()
    flags = set(re.findall(r"--(f5-[\w-]+|max-[\w-]+|name)\b", text))
    assert flags - OPTIONS.keys() == set()
    messages = re.findall(r"[Ll]og (?:at level `\w+` )?has ((?:`[^`]+`[^`.]*)+)", text)
    quoted = [each for group in messages for each in re.findall(r"`([^`]+)`", group)]
    assert len(quoted) >= 5
    assert {each for each in quoted if each != "debug" and f'"{each}' not in code} == set()


def test_times_fit_the_defaults():
    """The settings decide how soon a metric changes."""
    assert "--f5-resync-interval (5m)" in ALERTS.read_text()
    assert OPTIONS["f5-resync-interval"].default == "5m"
    resync_s, stale_s = 300, 900
    assert f"> {stale_s}" in RULES["F5RouterStale"]["expr"]
    assert stale_s >= 2 * resync_s
    assert f"{stale_s // 60} minutes" in RULES["F5RouterStale"]["annotations"]["summary"]
    assert CERTIFICATE_ENDING.total_seconds() == 604800
    assert "< 604800" in RULES["F5RouterCertificatesExpiring"]["expr"]
    assert f"more than {MOST_S:.0f} s" in RULES["F5RouterClocksDiffer"]["annotations"]["summary"]


def test_each_finding_has_an_alert():
    """Or its own metric has."""
    named = " ".join(rule["expr"] for rule in RULES.values())
    by_metric = {SERVER_MISSING, SERVER_DISABLED, BIGIP_SILENT, NOT_SAVED, KIND_NOT_READABLE, SECRET_NOT_READ,
                 CERTIFICATE_EXPIRED, CERTIFICATE_ENDS}
    assert {code for code in CODES if code not in named} == by_metric


def test_runbooks_are_a_setting():
    """The address that stands for the page is the chart's default, and each link begins with it."""
    default = yaml.safe_load((ROOT / "docs/helm/f5router/values.yaml").read_text())["runbooks"]
    assert default == "docs/alerts.md"
    assert {rule["annotations"]["runbook_url"].partition("#")[0] for rule in RULES.values()} == {default}


@pytest.mark.parametrize(("changes", "fires"), [
    ({}, set()),
    ({"f5router_build_info": None}, {"F5RouterAbsent"}),
    ({"f5router_bigip_reached": f"0{HOUR}"}, {"F5RouterBigIPUnreached"}),
    ({"f5router_bigip_reached": f"0{HOUR}", "f5router_leader": f"0{HOUR}"}, {"F5RouterNoLeader"}),
    ({"f5router_bigip_reached": "1x50 0x2 1x20"}, set()),
    ({"f5router_bigip_silent": f"1{HOUR}"}, {"F5RouterBigIPSilent"}),
    ({'f5router_virtual_server_up{virtual_server="/Common/v"}': f"0{HOUR}"}, {"F5RouterVirtualServerDown"}),
    ({"f5router_bigip_config_saved": f"0{HOUR}"}, {"F5RouterConfigNotSaved"}),
    ({"f5router_last_success_timestamp_seconds": f"0{HOUR}"}, {"F5RouterStale"}),
    ({"f5router_last_success_timestamp_seconds": f"0{HOUR}", "f5router_bigip_active": f"0{HOUR}"},
     {"F5RouterNoActiveUnit"}),
    ({"f5router_bigip_config_in_sync": f"0{HOUR}"}, {"F5RouterConfigNotInSync"}),
    ({'f5router_routes{verdict="device_rejected"}': f"3{HOUR}"}, {"F5RouterRoutesRefused"}),
    ({"f5router_oldest_change_age_seconds": f"301{HOUR}"}, {"F5RouterChangesLate"}),
    ({'f5router_drift_found_total{kind="ltm/pool"}': "3x40 5x20"}, {"F5RouterDrift"}),
    ({'f5router_route_certificate_expiry_timestamp_seconds{route="shop/a"}': f"600{HOUR}"},
     {"F5RouterCertificatesExpired"}),
    ({'f5router_certificate_expiry_timestamp_seconds{certificate="default"}': f"600{HOUR}"},
     {"F5RouterCertificatesExpired"}),
    ({'f5router_route_certificate_expiry_timestamp_seconds{route="shop/a"}': f"500000{HOUR}"},
     {"F5RouterCertificatesExpiring"}),
    ({'f5router_findings{code="TokenLimitReached"}': f"1{HOUR}"}, {"F5RouterLoginRefused"}),
    ({'f5router_findings{code="LicenceExpired"}': f"1{HOUR}"}, {"F5RouterLicenceExpired"}),
    ({'f5router_findings{code="LicenceEndsSoon"}': f"1{HOUR}"}, {"F5RouterLicenceEndsSoon"}),
    ({'f5router_findings{code="ClockDiffers"}': f"1{HOUR}"}, {"F5RouterClocksDiffer"}),
    ({'f5router_findings{code="LTMNodeDisabled"}': f"1{HOUR}"}, {"F5RouterLTMNodesDisabled"}),
    ({'f5router_findings{code="RoutesWithoutPods"}': f"1{HOUR}"}, {"F5RouterRoutesWithoutPods"}),
    ({'f5router_findings{code="RejectionsRise"}': f"1{HOUR}"}, {"F5RouterRejectionsRise"}),
    ({'f5router_findings{code="APIServerErrors"}': f"1{HOUR}"}, {"F5RouterAPIServerUnusable"}),
    ({'f5router_unreadable{kind="routes"}': f"1{HOUR}"}, {"F5RouterKindsNotReadable"}),
    ({'f5router_unreadable{kind="secrets"}': f"1{HOUR}"}, {"F5RouterSecretsNotReadable"}),
    ({'f5router_certificate_expiry_timestamp_seconds{certificate="default"}': f"500000{HOUR}"},
     {"F5RouterCertificatesExpiring"}),
    ({'f5router_kube_watch_failures_total{resource="routes"}': f"0+1{HOUR}"}, {"F5RouterWatchesFail"}),
    ({'f5router_pools_down{unit="big-1"}': f"2{HOUR}"}, {"F5RouterPoolsDown"}),
    ({'f5router_statistics_readings_total{result="success"}': "0+1x30 30x30",
      'f5router_statistics_readings_total{result="failure"}': f"0+1{HOUR}"}, {"F5RouterStatisticsNotRead"}),
    ({'f5router_statistics_readings_total{result="success"}': "0+1x30 30x30"}, set()),  # nothing is read
    ({"f5router_deletes_held_back": f"3{HOUR}"}, {"F5RouterDeletesHeldBack"}),
    ({"f5router_status_contended": f"3{HOUR}"}, {"F5RouterStatusesContended"}),
    ({'f5router_status_writes_total{result="written"}': f"7{HOUR}"}, {"F5RouterStatusesNotWritten"}),
    ({'f5router_bigip_request_seconds_bucket{collection="ltm/pool",le="0.05",method="GET"}': f"0{HOUR}",
      'f5router_bigip_request_seconds_bucket{collection="ltm/pool",le="10.0",method="GET"}': f"0+60{HOUR}"},
     {"F5RouterBigIPSlow"}),
    ({'f5router_bigip_replies_total{collection="ltm/pool",method="GET",status="0"}': f"0+12{HOUR}"},
     {"F5RouterBigIPErrors"}),
    ({'f5router_bigip_active{pod="f5router-2"}': f"0{HOUR}"}, set()),  # a router for each unit
    # Routers that follow, and have no part in what is written.
    ({"f5router_leader": None, "f5router_bigip_config_in_sync": None}, set()),
], ids=str)
def test_what_fires(tmp_path, changes, fires):
    """At the end of an hour."""
    series = {name: values for name, values in (WELL | changes).items() if values}
    assert_fire(tmp_path, series, fires, RULES.keys() - fires)
