"""Objects of others on the BIG-IP stay as they are; a drift of ours is repaired."""


import pytest

from tests import legacy_policies, manifests
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.test_device import NAMES, serve

pytestmark = pytest.mark.bare


def test_others_objects_stay(lab):
    """iRules, policies, profiles, pools and records that are not ours, in their order."""
    for name in ("log_requests", "add_header"):
        lab.bigip.put_object(
            "ltm/rule",
            {
                "name": name,
                "partition": "Common",
                "apiAnonymous": "when CLIENT_ACCEPTED { log local0. hello }",
            },
        )
    lab.bigip.put_object("ltm/pool", {"name": "web_pool", "partition": "Common"})
    lab.bigip.put_object("ltm/pool", {"name": "openshift-admin", "partition": "Common"})
    lab.change(
        "PATCH",
        f"ltm/virtual/~Common~{HTTPS}",
        {"rules": ["/Common/log_requests", "/Common/add_header"], "pool": "/Common/web_pool"},
    )
    before = lab.bigip.get(f"ltm/virtual/~Common~{HTTPS}")
    serve(lab)
    during = lab.bigip.get(f"ltm/virtual/~Common~{HTTPS}")
    assert during["rules"][:2] == ["/Common/log_requests", "/Common/add_header"]
    assert during["pool"] == "/Common/web_pool"
    for name in NAMES:
        lab.kube.delete("Route", "shop", name)
    assert lab.converge() == []
    after = lab.bigip.get(f"ltm/virtual/~Common~{HTTPS}")
    ours = [f"/Common/openshift_{name}_irule"
            for name in ("passthrough", "request", "headers", "session_cookie", "unavailable")]
    assert after["rules"] == [*before["rules"], *ours]
    assert _profiles(after) == _profiles(before)
    assert lab.bigip.get("ltm/pool/~Common~web_pool")
    assert lab.bigip.get("ltm/pool/~Common~openshift-admin")


def _profiles(virtual: dict) -> list[str]:
    return [item["fullPath"] for item in virtual["profilesReference"]["items"]]


def test_a_rule_of_somebody_else_in_our_policy_stays(lab):
    lab.apply(manifests.route("plain"))
    legacy_policies.create(lab.bigip)
    lab.converge()
    rules = "ltm/policy/~Common~openshift_insecure_routes/rules"
    lab.bigip.put_object(
        rules,
        {
            "name": "maintenance",
            "ordinal": 1,
            "actions": [{"name": "0", "forward": True, "reset": True, "request": True}],
        },
    )
    lab.apply(manifests.route("other", host="other.com"))
    assert lab.converge() == []
    names = [
        item["name"]
        for item in lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes")["rulesReference"]["items"]
    ]
    assert set(names) == {
        "maintenance",
        "openshift_route_shop_plain",
        "openshift_route_shop_other",
        "default_noop",
    }


def test_a_last_rule_that_only_happens_to_be_last(lab):
    """It comes behind the Rules that are added; before them it would take all requests."""
    legacy_policies.create(lab.bigip, ordinal=0)
    lab.apply(manifests.route("plain"))
    assert lab.converge() == []
    policy_rules = lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes")["rulesReference"]["items"]
    assert [rule["name"] for rule in sorted(policy_rules, key=lambda rule: rule["ordinal"])] == [
        "openshift_route_shop_plain", "default_noop"]


PASSTHROUGH, EDGE = "ssl_passthrough_servername_dg", "openshift_host_edge.example.com-client-ssl-profile"
DRIFTS = {
    "rule": ("DELETE", "ltm/policy/~Common~openshift_insecure_routes/rules/openshift_route_shop_plain"),
    "members": ("PATCH", "ltm/pool/~Common~openshift_shop_web", {"members": []}),
    "monitor": ("PATCH", "ltm/pool/~Common~openshift_shop_web", {"monitor": "/Common/http"}),
    "records": ("PATCH", f"ltm/data-group/internal/~Common~{PASSTHROUGH}", {"records": []}),
    "iRule": ("PATCH", "ltm/rule/~Common~openshift_passthrough_irule",
              {"apiAnonymous": "when CLIENT_ACCEPTED { log local0. x }"}),
    "iRules of the virtual server": ("PATCH", f"ltm/virtual/~Common~{HTTPS}", {"rules": []}),
    "policy detached": ("DELETE", f"ltm/virtual/~Common~{HTTP}/policies/~Common~openshift_insecure_routes"),
    "server name": ("PATCH", f"ltm/profile/client-ssl/~Common~{EDGE}", {"serverName": "evil.example.com"}),
}


def test_drift_is_repaired(lab):
    """A change by hand is found at the next reading and set right; the one after it writes nothing."""
    legacy_policies.create(lab.bigip)
    serve(lab)
    before = _state(lab)
    for name, drift in DRIFTS.items():
        lab.change(*drift)
        assert _state(lab) != before, name
        assert lab.converge() == [], name
        assert _state(lab) == before, name
        lab.clear()
        lab.converge()
        assert lab.writes() == [], name


def _state(lab) -> dict:
    """Return what is configured, without counters."""
    state = {}
    for kind in (
        "ltm/pool",
        "ltm/policy",
        "ltm/data-group/internal",
        "ltm/rule",
        "ltm/virtual",
        "ltm/profile/client-ssl",
    ):
        for path in lab.paths(kind):
            state[kind, path] = _plain(lab.bigip.get(f"{kind}/{path.replace('/', '~')}"))
    return state


def _plain(value):
    if isinstance(value, dict):
        return {
            k: _plain(v)
            for k, v in value.items()
            if k
            not in ("generation", "selfLink", "lastModified", "lastModifiedTime", "creationTime", "ordinal")
        }
    if isinstance(value, list):
        return sorted((_plain(v) for v in value), key=str) if value and isinstance(value[0], dict) else value
    return value
