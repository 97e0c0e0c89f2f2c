"""Means that keep each request to the pool of its own Rule: how it comes to the BIG-IP, and what that costs.

Which pod answers whom is in tests/traffic/test_connections.py.
"""

import pytest

from tests import legacy_policies, manifests
from tests.feature.conftest import HTTP, HTTPS, Lab

GUARD = "openshift_request_irule"
POLICIES = ("openshift_insecure_routes", "openshift_secure_routes")
DEVICES = [("12.0.0", ""), ("12.1.2", ""), ("12.1.2", "legacy"), ("17.1.0", "")]


@pytest.fixture(params=DEVICES, ids=" ".join)
def lab(request, make_lab):
    """Routes of two kinds; the policies as the device's version has them."""
    version, policies = request.param
    new_lab = make_lab(tmos_version=version)
    new_lab.virtuals()
    if policies:
        legacy_policies.create(new_lab.bigip)
    new_lab.tells = not version.startswith("12.0")
    for name in ("web", "api"):
        new_lab.apply(*manifests.service("shop", name, pods=("10.1.1.1",)))
    new_lab.apply(
        manifests.route("a", kind="edge", insecure="Allow"),
        manifests.route("b", host="b.com", service="api"),
        manifests.route("c", host="c.com", kind="edge", insecure="Redirect"),
    )
    return new_lab


def rules(lab: Lab, policy: str) -> dict[str, list[dict]]:
    """Actions by Rule, without what the device adds."""
    item = lab.bigip.get(f"ltm/policy/~Common~{policy}")
    told = ("pool", "location", "tmName", "expression")
    return {rule["name"]: [{key: action[key] for key in told if key in action}
                           for action in rule["actionsReference"].get("items", [])]
            for rule in item["rulesReference"]["items"]}


def expected(lab: Lab) -> dict[str, dict[str, list[dict]]]:
    def forward(service: str) -> list[dict]:
        pool = f"/Common/openshift_shop_{service}"
        return [{"pool": pool}, *([{"tmName": "f5router_pool", "expression": pool}] if lab.tells else [])]

    noop = [{"tmName": "f5router_unmatched", "expression": "1"}] if lab.tells else []
    insecure = [{"tmName": "f5router_insecure", "expression": "1"}] if lab.tells else []
    redirect = [{"location": "tcl:https://c.com/[string range [HTTP::uri] 1 end]"}]
    name = "openshift_route_shop_{}".format
    return {
        POLICIES[0]: {name("a"): forward("web"), name("b"): forward("api"), name("c"): redirect,
                      "default_noop": noop},
        POLICIES[1]: {name("a"): [*forward("web"), *insecure], name("c"): forward("web"),
                      "default_noop": noop},
    }


def now(lab: Lab) -> dict[str, dict[str, list[dict]]]:
    return {policy: rules(lab, policy) for policy in POLICIES}


def test_what_rules_tell(lab):
    """Their pool, and that none matched; in the write that makes them. A second pass writes nothing."""
    assert lab.converge() == []
    assert now(lab) == expected(lab)
    posted = [path for method, path in lab.writes() if method == "POST" and "/rules" in path]
    assert len(posted) == 5
    assert not [path for _, path in lab.writes() if "/actions" in path]
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def silence(lab: Lab) -> None:
    """Somebody takes the iRule away, and from Rules what they tell."""
    for virtual in (HTTP, HTTPS):
        path = f"ltm/virtual/~Common~{virtual}"
        kept = [name for name in lab.bigip.get(path)["rules"] if not name.endswith(GUARD)]
        lab.change("PATCH", path, {"rules": kept})
    lab.change("DELETE", f"ltm/rule/~Common~{GUARD}")
    lab.change("DELETE", "ltm/pool/~Common~openshift_nowhere")
    for policy in POLICIES:
        draft = lab.bigip.get(f"ltm/policy/~Common~{policy}").get("status") == "published"
        base = f"~Common~Drafts~{policy}" if draft else f"~Common~{policy}"
        if draft:
            lab.change("PATCH", f"ltm/policy/~Common~{policy}", {"createDraft": True})
        for name, actions in rules(lab, policy).items():
            if not actions or "location" in actions[0]:
                continue
            forward = {"name": "0", "forward": True, "select": True, "request": True}
            kept = [{**forward, "pool": actions[0]["pool"]}] if "pool" in actions[0] else []
            lab.change("PATCH", f"ltm/policy/{base}/rules/{name}", {"actions": kept})
        if draft:
            lab.change("POST", "ltm/policy", {"command": "publish", "name": f"/Common/Drafts/{policy}"})


def test_rules_that_tell_nothing(lab):
    """Each is changed once, in place, behind the iRule's attachment."""
    assert lab.converge() == []
    silence(lab)
    lab.clear()
    assert lab.converge() == []
    assert now(lab) == expected(lab)
    writes = lab.writes()
    changed = [at for at, (_, path) in enumerate(writes) if "/rules/openshift_route_" in path]
    attached = [at for at, (_, path) in enumerate(writes) if "/ltm/virtual/" in path]
    assert [writes[at][0] for at in changed] == ["PATCH"] * (4 if lab.tells else 0)
    assert len(attached) == 2
    assert all(max(attached) < at for at in changed)
    for virtual in (HTTP, HTTPS):
        assert f"/Common/{GUARD}" in lab.bigip.get(f"ltm/virtual/~Common~{virtual}")["rules"]
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


@pytest.mark.parametrize("lab", [("12.1.2", "legacy")], indirect=True, ids=" ".join)
def test_a_rule_that_tells_something_else(lab):
    """Drift is repaired: another pool told than the one it forwards to, or none."""
    assert lab.converge() == []
    path = "ltm/policy/~Common~openshift_insecure_routes/rules/openshift_route_shop_b/actions/1"
    for method, body in (("PATCH", {"expression": "/Common/openshift_shop_web"}), ("DELETE", None)):
        lab.change(method, path, body)
        lab.clear()
        assert lab.converge() == []
        assert now(lab) == expected(lab)
        assert len([path for _, path in lab.writes() if "/rules/" in path]) == 1


@pytest.mark.parametrize("lab", [("12.1.2", "legacy")], indirect=True, ids=" ".join)
def test_a_last_rule_that_tells_nothing(lab):
    assert lab.converge() == []
    lab.change("DELETE", f"ltm/policy/~Common~{POLICIES[1]}/rules/default_noop/actions/0")
    assert lab.converge() == []
    assert now(lab) == expected(lab)


def test_no_rule_without_the_guard(make_lab):
    """Where the iRule is refused nothing is forwarded: rather no answer than another tenant's."""
    lab = make_lab()
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"),
              manifests.route("c", host="c.com", kind="edge", insecure="Redirect"))
    lab.bigip.inject("refuse", times=9, method="POST", path="ltm/rule", status=400, message="0107: no")
    (reason,) = lab.converge()
    assert reason.startswith("2 Routes (shop/a, shop/c): ltm/rule /Common/openshift_")
    assert all(set(rules(lab, policy)) == {"default_noop"} for policy in POLICIES)
    assert "0107: no" in lab.admitted("shop", "a")["message"]
    lab.bigip.clear_faults()
    assert lab.converge() == []
    expected = {"openshift_route_shop_a", "openshift_route_shop_c", "default_noop"}
    assert set(rules(lab, POLICIES[0])) == expected
