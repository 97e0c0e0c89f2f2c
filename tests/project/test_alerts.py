"""The alerts of docs/deploy/monitoring: Prometheus reads them, they fire as they should; a page has each."""

import re
from pathlib import Path

import pytest
import yaml

from f5router.app.incidents import CODES
from tests.alerts import ALERTS, GROUPS, MINUTES, RULES, assert_fire, promtool
from tests.project.scraped import page

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
