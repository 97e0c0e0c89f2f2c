"""Forecasts of `plan` and `doctor` about the surroundings of virtual servers that the router creates."""

import pytest

from tests import manifests
from tests.feature.test_doctor import checks, doctor
from tests.feature.test_front_end import FLAGS, HTTPS, empty, serve
from tests.feature.test_preflight import plan

__all__ = ["empty"]

MISSING = "/Common/missing"


@pytest.mark.parametrize(("flags", "text"), [
    ({"f5_vserver_vlans": f"/Common/external,{MISSING}"},
     f"VLAN or tunnel {MISSING} does not exist; create it, or correct --f5-vserver-vlans"),
    ({"f5_vserver_traffic_group": MISSING},
     f"traffic group {MISSING} does not exist; create it, or correct --f5-vserver-traffic-group"),
    ({"f5_vserver_snat": MISSING}, f"SNAT pool {MISSING} does not exist; create it, or correct --f5"),
    ({"f5_http_profile": MISSING}, f"HTTP profile {MISSING} does not exist"),
    ({"f5_tcp_profile": f"/Common/tcp,{MISSING}"}, f"TCP profile {MISSING} does not exist"),
    ({"f5_irules": f"{MISSING}"}, f"iRule {MISSING} does not exist; create it, or correct --f5-irules"),
    ({"f5_oneconnect_profile": MISSING}, f"OneConnect profile {MISSING} does not exist; create it"),
    ({"f5_bot_defense_profile": MISSING},
     f"profile {MISSING} does not exist, and none of the modules afm, asm, dos is provisioned"),
    ({"f5_firewall_policy": MISSING},
     f"firewall policy {MISSING} does not exist, and none of the modules afm is provisioned"),
    ({"f5_security_log_profiles": MISSING}, f"security log profile {MISSING} does not exist"),
])
@pytest.mark.parametrize("is_new", [True, False])
def test_objects_that_are_missing(empty, flags, text, is_new):
    if is_new:
        empty.apply(manifests.route("b", host="b.example.com", kind="edge"))
    else:
        assert serve(empty) == []
    result = plan(empty, **FLAGS, **flags)
    assert result.exit_code == 1
    assert text in " ".join(result.stdout.split())
    if is_new:
        assert any(text.partition(";")[0] in message for _, _, message in checks(
            doctor(empty, "-o", "json", **FLAGS, **flags), "failure"))


def test_objects_that_are_there(empty):
    """Nothing is foretold, and the BIG-IP agrees."""
    for module in ("asm", "afm"):
        empty.change("PATCH", f"sys/provision/{module}", {"level": "nominal"})
    empty.bigip.put_object("ltm/snatpool", {"name": "/Common/clients", "members": ["10.0.0.9"]})
    empty.bigip.put_object("ltm/rule", {"name": "/Common/a", "apiAnonymous": "when HTTP_REQUEST { }"})
    for kind in ("security/bot-defense/profile", "security/dos/profile", "security/firewall/policy",
                 "security/log/profile"):
        empty.bigip.put_object(kind, {"name": f"/Common/{kind.split('/')[1]}"})
    flags = {
        "f5_vserver_vlans": "/Common/external,/Common/http-tunnel", "f5_vserver_snat": "/Common/clients",
        "f5_vserver_traffic_group": "/Common/traffic-group-1", "f5_http_profile": "/Common/http",
        "f5_tcp_profile": "/Common/tcp-wan-optimized,/Common/tcp-lan-optimized", "f5_irules": "/Common/a",
        "f5_oneconnect_profile": "/Common/oneconnect", "f5_bot_defense_profile": "/Common/bot-defense",
        "f5_dos_profile": "/Common/dos", "f5_firewall_policy": "/Common/firewall",
        "f5_security_log_profiles": "/Common/log"}
    empty.apply(manifests.route("b", host="b.example.com", kind="edge"))
    assert plan(empty, **FLAGS, **flags).exit_code == 0
    assert serve(empty, **flags) == []


def test_a_virtual_server_on_other_vlans_is_no_obstacle(empty):
    """Only a BIG-IP knows whether both have a VLAN in common."""
    empty.bigip.put_object("ltm/virtual", {
        "name": "another", "partition": "Common", "destination": "/Common/203.0.113.10:443",
        "ipProtocol": "tcp", "profiles": ["/Common/tcp"], "vlansEnabled": True,
        "vlans": ["/Common/internal"]})
    empty.apply(manifests.route("b", host="b.example.com", kind="edge"))
    assert plan(empty, **FLAGS, f5_vserver_vlans="/Common/external").exit_code == 0


@pytest.mark.parametrize(("network", "warned"), [
    ("203.0.113.5/24", False), ("10.0.0.5/24", True), ("", False),
])
def test_an_address_without_a_self_ip(empty, network, warned):
    """Such addresses work, if a router in front has a route to them: it is a warning."""
    if network:
        empty.bigip.put_object("net/self", {"name": "near", "address": network, "vlan": "/Common/external"})
    empty.apply(manifests.route("b", host="b.example.com", kind="edge"))
    texts = [message for _, _, message in checks(doctor(empty, "-o", "json", **FLAGS), "warning")]
    assert any("203.0.113.10 is in no network of a self IP" in text for text in texts) is warned


def test_a_oneconnect_profile_of_the_settings(empty):
    """The Routes are named before the profile is on a virtual server, and afterwards."""
    empty.apply(manifests.route("a", host="a.com", kind="reencrypt"),
                manifests.route("b", host="b.com", kind="edge"))
    flags = {**FLAGS, "f5_oneconnect_profile": "/Common/oneconnect"}
    for _ in range(2):
        shown = [message for _, _, message in checks(doctor(empty, "-o", "json", **flags), "failure")]
        assert any(message.startswith(f"/Common/oneconnect on /Common/{HTTPS}: Route shop/a and Route shop/b")
                   for message in shown)
        assert empty.converge(**flags) == []
    assert empty.converge(**FLAGS) == []
    assert not any("in common" in message for _, _, message in checks(
        doctor(empty, "-o", "json", **FLAGS), "failure"))


@pytest.mark.parametrize(("kind", "is_shared"), [
    ("edge", True), ("reencrypt", False), ("passthrough", False)])
def test_the_log_names_routes_that_share_connections(empty, caplog, kind, is_shared):
    empty.apply(manifests.route("a", host="a.com", kind="reencrypt"),
                manifests.route("b", host="b.com", kind=kind))
    for flags, expected in (({}, False), ({"f5_oneconnect_profile": "/Common/oneconnect"}, is_shared)):
        caplog.clear()
        assert empty.converge(**FLAGS, **flags) == []
        problems = [str(getattr(record, "problem", "")) for record in caplog.records]
        assert any(text.startswith("/Common/oneconnect: Route shop/a and Route shop/b have a pod in common")
                   for text in problems) is expected
