"""Options of Routes: the objects on the BIG-IP, messages to the team, and the cost of a change."""

import pytest

from f5router.admission.route_options import HAPROXY, KEYS, ROUTER
from tests import manifests
from tests.feature.conftest import Lab

HOSTILE = ["'", '"', "{", "}", "[exec reboot]", "$x", "a;b", "a\nb", "‮", "x" * 100_000, "\\",
           "}; delete ltm pool all;", "-5", "1.5"]


def optional(name: str = "a", **annotations: str) -> dict:
    """A Route with annotations of HAProxy's router."""
    obj = manifests.route(name, host=f"{name}.example.com")
    obj["metadata"]["annotations"] = {
        HAPROXY + key.replace("_", "-"): text for key, text in annotations.items()}
    return obj


def own_path(lab: Lab) -> str:
    """The path of the pool that belongs to a single Route."""
    return next(item.path for item in lab.bigip.items("ltm/pool") if "___" in item.path)


@pytest.mark.parametrize(("balance", "mode"), [
    ("roundrobin", None), ("random", None), ("leastconn", "least-connections-member"),
    ("source", "round-robin")])
def test_balance(lab, balance, mode):
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), optional(balance=balance))
    assert lab.converge() == []
    modes = {item.fields["loadBalancingMode"] for item in lab.bigip.items("ltm/pool") if "___" in item.path}
    assert modes == ({mode} if mode else set())


def test_a_bad_value_is_told_and_costs_nothing_else(lab):
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), optional("b"))
    for number, text in enumerate(HOSTILE):
        bad = optional(f"r{number}")
        bad["metadata"]["annotations"] = dict.fromkeys(KEYS, text)
        lab.apply(bad)
    assert lab.converge() == []
    for number in range(len(HOSTILE)):
        condition = lab.admitted("shop", f"r{number}")
        assert condition["status"] == "True"
        assert all(key in condition["message"] for key in KEYS)
        assert condition["message"].isprintable()
    assert "message" not in lab.admitted("shop", "b")
    assert lab.pools() == {"/Common/openshift_shop_web"}


def test_an_option_that_changes_is_one_write(lab):
    router = lab.router()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), optional("b"),
              optional(pod_concurrent_connections="5"))
    lab.settle(router)
    for limit in ("6", "7"):
        lab.apply(optional(pod_concurrent_connections=limit))
        lab.clear()
        lab.settle(router)
        assert [method for method, _ in lab.writes()] == ["PATCH"]
        member = lab.bigip.items("ltm/pool/members")
        limits = {item.key[0]: item.fields["connectionLimit"] for item in member}
        assert limits == {"/Common/openshift_shop_web": 0, own_path(lab): int(limit)}
    lab.apply(optional())
    lab.settle(router)
    lab.later()
    lab.settle(router)
    assert lab.pools() == {"/Common/openshift_shop_web"}


def sources(lab: Lab) -> dict[str, str]:
    """The exceptions from the router's default for `balance: source`."""
    group = lab.bigip.store.get("ltm/data-group/internal", "/Common/openshift_persistence_dg")
    return dict(group.fields.get("records", {}))


@pytest.mark.parametrize(("kind", "default"), [("edge", "roundrobin"), ("passthrough", "source")])
def test_who_stays_with_a_pod_is_one_write(lab, kind, default):
    """On a pool of the Route; the record is there before the first request could need it."""
    router, other = lab.router(), "source" if kind == "edge" else "random"

    def balanced(balance: str) -> dict:
        obj = optional(pod_concurrent_connections="5", balance=balance)
        obj["spec"]["tls"] = {"termination": kind}
        return obj

    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), balanced(default))
    lab.settle(router)
    assert sources(lab) == {}
    lab.apply(balanced(other))
    lab.clear()
    lab.settle(router)
    assert len(lab.writes()) == 1
    name = own_path(lab) if kind == "edge" else "a.example.com"
    assert sources(lab) == {name: "source" if kind == "edge" else "off"}
    lab.apply(balanced(default))
    lab.clear()
    lab.settle(router)
    assert len(lab.writes()) == 1
    assert sources(lab) == {}


def test_a_cookie_that_changes_is_one_write(lab):
    """On a pool of the Route. Routes without options of their own need no record."""
    router = lab.router()

    def asking(**annotations: str) -> dict:
        obj = optional(pod_concurrent_connections="5")
        obj["spec"]["tls"] = {"termination": "edge"}
        obj["metadata"]["annotations"] |= {ROUTER + key: text for key, text in annotations.items()}
        return obj

    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), optional("b"), asking())
    lab.settle(router)
    assert sources(lab) == {}
    for annotations, data in [
        ({"cookie_name": "one"}, "cookie/one"), ({"cookie_name": "two"}, "cookie/two"),
        ({"cookie_name": "two", "cookie-same-site": "Lax"}, "cookie/two/Lax"),
        ({"cookie-same-site": "Strict"}, "cookie//Strict"), ({"cookie-same-site": "None"}, None),
    ]:
        lab.apply(asking(**annotations))
        lab.clear()
        lab.settle(router)
        assert len(lab.writes()) == 1
        assert sources(lab) == ({own_path(lab): data} if data else {})
    lab.clear()
    lab.settle(router)
    assert lab.writes() == []


def test_an_insecure_policy_that_changes(lab):
    """Two writes: the Rule of port 80, and that of TLS, whose cookie is for both ports then."""
    router, rules = lab.router(), {}

    def asking(insecure: str) -> dict:
        obj = optional()
        obj["spec"]["tls"] = {"termination": "edge", "insecureEdgeTerminationPolicy": insecure}
        return obj

    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), asking("None"))
    lab.settle(router)
    for insecure in ("Allow", "None"):
        lab.apply(asking(insecure))
        lab.clear()
        lab.settle(router)
        rules[insecure] = [path for _, path in lab.writes() if "/rules" in path]
        assert len(rules[insecure]) == 2
    assert lab.pools() == {"/Common/openshift_shop_web"}


def test_settings_decide_which_pools_are_shared(lab):
    """No Route that asks for the default has a pool or a record of its own, whatever the default is."""
    passthrough = optional("b")
    passthrough["spec"]["tls"] = {"termination": "passthrough"}
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), optional(), passthrough,
              optional("c", balance="roundrobin"))
    for default, shared in [("leastconn", "least-connections-member"), ("source", "round-robin")]:
        flags = {"load_balance_algorithm": default, "tcp_balance_scheme": default}
        assert lab.converge(**flags) == []
        modes = {item.path: item.fields["loadBalancingMode"] for item in lab.bigip.items("ltm/pool")}
        own = own_path(lab)
        assert {modes["/Common/openshift_shop_web"]} == {shared}
        assert modes[own] == "round-robin"
        assert sources(lab) == ({own: "cookie"} if default == "source" else {})
        assert len(lab.pools()) == 2


def test_a_member_that_was_disabled_by_hand_is_enabled_again(lab):
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")), optional("b"))
    assert lab.converge() == []
    lab.change("PATCH", "ltm/pool/~Common~openshift_shop_web/members/~Common~10.1.1.1:8080",
               {"session": "user-disabled"})
    assert lab.converge() == []
    sessions = {item.fields.get("session") for item in lab.bigip.items("ltm/pool/members")}
    assert sessions <= {"user-enabled", "monitor-enabled"}
