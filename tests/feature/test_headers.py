"""Options that act on requests and responses: what is on the BIG-IP, and what a change of them costs."""

import pytest

from f5router.admission.route_options import HAPROXY
from f5router.model import http_edge, names
from f5router.model.route_options import RouteOptions
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab

GROUP, IRULE = f"/Common/{names.HTTP_GROUP}", f"/Common/{names.HEADERS_IRULE}"
ALONE = {"set_forwarded_headers": "never"}
"""Without it, the iRule is always there."""


def strict(name: str, text: str = "", kind: str = "edge", insecure: str = "") -> dict:
    """A Route with the header Strict-Transport-Security."""
    obj = manifests.route(name, host=f"{name}.example.com", kind=kind, insecure=insecure)
    obj["metadata"]["annotations"] = {f"{HAPROXY}hsts_header": text} if text else {}
    return obj


def data(text: str) -> str:
    return http_edge.encode_options(RouteOptions(hsts=text), secure=True, forwarded="append")


def records(lab: Lab) -> dict[str, str]:
    """Data by name; the names are digests of the data."""
    group = lab.bigip.store.get("ltm/data-group/internal", GROUP)
    by_name = dict(group.fields.get("records", {})) if group else {}
    assert all(name == http_edge.options_record_name(text) for name, text in by_name.items())
    return by_name


def named(lab: Lab) -> dict[str, str]:
    """The record that each Rule names, by the policy and the Route."""
    by_rule = {}
    for policy in (names.SECURE_POLICY, names.INSECURE_POLICY):
        for rule in lab.bigip.get(f"ltm/policy/~Common~{policy}")["rulesReference"]["items"]:
            for action in rule.get("actionsReference", {}).get("items", ()):
                if action.get("tmName") == names.HTTP_VARIABLE:
                    route = rule["name"].rpartition("_")[2]
                    by_rule[f"{policy.split('_')[1]} {route}"] = action["expression"]
    return by_rule


def attached(lab: Lab) -> list[bool]:
    """True if the iRule is on the virtual servers."""
    return [IRULE in lab.bigip.get(f"ltm/virtual/~Common~{name}").get("rules", ()) for name in (HTTP, HTTPS)]


def whole(lab: Lab) -> bool:
    """True if every record that a Rule names is there, and the iRule where there are such Rules."""
    rules = named(lab)
    secure = [rule for rule in rules if rule.startswith("secure")]
    return set(rules.values()) <= records(lab).keys() and attached(lab)[1] >= bool(secure)


def test_routes_with_equal_options_share_a_record(lab):
    lab.apply(strict("a", "max-age=1", insecure="Allow"), strict("b", "max-age=1"), strict("c", "max-age=2"),
              strict("d"), manifests.route("e", host="e.example.com"))
    router = lab.router(**ALONE)
    assert lab.converge(router) == []
    assert sorted(records(lab).values()) == sorted([data("max-age=1"), data("max-age=2")])
    rules = named(lab)
    assert rules.keys() == {"secure a", "secure b", "secure c"}
    assert rules["secure a"] == rules["secure b"] != rules["secure c"]
    assert attached(lab) == [False, True]
    lab.clear()
    lab.converge(router)
    lab.converge(**ALONE)
    assert lab.writes() == []


def test_a_change_costs_the_same_whatever_there_is(lab):
    """The record, a draft with the Rule, and the record that nobody names any more."""
    lab.apply(strict("a", "max-age=1"), *(strict(f"r{number}", "max-age=2") for number in range(20)))
    router = lab.router()
    lab.settle(router)
    for text, writes in (("max-age=3", 5), ("max-age=2", 4), ("", 3), ("max-age=2", 3)):
        lab.apply(strict("a", text))
        lab.clear()
        lab.settle(router)
        assert len(lab.writes()) == writes, lab.writes()
        assert set(records(lab).values()) == {data("max-age=2"), *([data(text)] if text else [])}
        assert ("secure a" in named(lab)) == bool(text)


def test_what_nobody_needs_goes(lab):
    lab.apply(strict("a", "max-age=1"), strict("b"))
    router = lab.router(**ALONE)
    lab.settle(router)
    lab.apply(strict("a"))
    lab.settle(router)
    lab.later()
    lab.settle(router)
    assert (named(lab), attached(lab)) == ({}, [False, False])
    assert GROUP not in lab.paths("ltm/data-group/internal")
    assert IRULE not in lab.paths("ltm/rule")


@pytest.mark.parametrize(("first", "then"), [
    ("", "max-age=1"), ("max-age=1", "max-age=2"), ("max-age=1", ""),
])
def test_a_router_that_breaks_off_at_any_write(lab, first, then):
    """No Rule names a record that is not there; the next router goes on."""
    lab.apply(strict("a", first), strict("b", "max-age=2"))
    assert lab.converge() == []
    lab.apply(strict("a", then))
    for _ in lab.each_end(3):
        assert whole(lab)
        assert lab.converge() == []
        assert ("secure a" in named(lab)) == bool(then)


def test_a_refused_irule(lab):
    """The Route stays as it was, others are served, and the status names the refusal."""
    lab.apply(strict("a"), strict("b"))
    router = lab.router(**ALONE)
    assert lab.converge(router) == []
    lab.bigip.inject("refuse", times=99, method="POST", path="ltm/rule", status=400, message="no such word")
    lab.apply(strict("a", "max-age=1"))
    lab.settle(router)
    assert "no such word" in lab.admitted("shop", "a")["message"]
    assert lab.admitted("shop", "b")["status"] == "True"
    rules = str(lab.bigip.get("ltm/policy/~Common~openshift_secure_routes"))
    assert all(f"openshift_route_shop_{name}" in rules for name in "ab")
    lab.bigip.clear_faults()
    lab.later()
    lab.settle(router)
    assert named(lab).keys() == {"secure a"}
    assert lab.admitted("shop", "a")["status"] == "True"


def test_a_refused_rule_keeps_its_record(lab):
    """The device goes on with the Rule that it has, and so with the record that this names."""
    lab.apply(strict("a", "max-age=1"))
    router = lab.router()
    lab.settle(router)
    before = named(lab)
    lab.bigip.inject("refuse", times=99, method="PATCH", path="/rules/", status=400, message="no such rule")
    lab.apply(strict("a", "max-age=2"))
    lab.settle(router)
    assert "no such rule" in lab.admitted("shop", "a")["message"]
    assert named(lab) == before
    assert whole(lab)
    lab.bigip.clear_faults()
    lab.later()
    lab.settle(router)
    assert list(records(lab).values()) == [data("max-age=2")]


def test_a_record_that_was_changed_by_hand_is_repaired(lab):
    lab.apply(strict("a", "max-age=1"))
    assert lab.converge() == []
    wanted = records(lab)
    (name,) = wanted
    for spoiled in ([], [{"name": name, "data": "hsts.00"}], [{"name": "x", "data": "y"}]):
        lab.change("PATCH", f"ltm/data-group/internal/{GROUP.replace('/', '~')}", {"records": spoiled})
        assert lab.converge() == []
        assert records(lab) == wanted


def test_without_forwarded_headers_or_with_them(lab):
    """The iRule is on both virtual servers for the router's own policy, and written once."""
    lab.apply(strict("a"))
    for policy, there in (("append", True), ("never", False), ("replace", True)):
        assert lab.converge(set_forwarded_headers=policy) == []
        assert attached(lab) == [there, there]
        assert named(lab) == {}


def test_ids_of_requests(lab):
    """They cost one write of the iRule, which is there for them alone, and none at a restart."""
    ids = {"unique_id_header_name": "X-ID"}
    lab.apply(strict("a"))
    assert lab.converge() == []
    before = lab.bigip.store.get("ltm/rule", IRULE).fields["apiAnonymous"]
    for flags in (ids, {**ids, "unique_id_format": "%rt"}, {}):
        lab.clear()
        assert lab.converge(**flags) == []
        assert [(method, path.rpartition("/")[2]) for method, path in lab.writes()] == [
            ("PATCH", IRULE.replace("/", "~"))]
        lab.clear()
        assert lab.converge(**flags) == []
        assert lab.writes() == []
    assert lab.bigip.store.get("ltm/rule", IRULE).fields["apiAnonymous"] == before
    assert lab.converge(**ALONE) == []
    assert attached(lab) == [False, False]
    assert lab.converge(**ALONE, **ids) == []
    assert attached(lab) == [True, True]


def test_a_refused_irule_of_the_router(lab):
    """A Route that is served stays so, but its status says what is missing; a new one waits."""
    lab.apply(strict("a"))
    assert lab.converge(**ALONE) == []
    lab.bigip.inject("refuse", times=None, method="POST", path="ltm/rule", status=400, message="no such word")
    lab.apply(strict("b"))
    router = lab.router()
    reasons = lab.converge(router)
    assert any(names.HEADERS_IRULE in reason and "no such word" in reason for reason in reasons)
    rules = str(lab.bigip.get("ltm/policy/~Common~openshift_secure_routes"))
    assert [f"openshift_route_shop_{name}" in rules for name in "ab"] == [True, False]
    assert {lab.admitted("shop", name)["reason"] for name in "ab"} == {"DeviceRejected"}
    lab.bigip.clear_faults()
    lab.later()
    assert lab.converge(router) == []
    assert [lab.admitted("shop", name)["status"] for name in "ab"] == ["True", "True"]
