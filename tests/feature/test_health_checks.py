"""The interval of health checks: one monitor for each, shared, and no pool that waits for it."""

import pytest

from f5router.admission.route_options import ROUTER
from f5router.model.errors import ConfigError
from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab

CHECK = f"{ROUTER}haproxy.health.check.interval"
KIND = "ltm/monitor/tcp"


def checked(name: str, interval: str, **how) -> dict:
    """A Route whose pods are checked at an interval, or without one if it is ""."""
    obj = manifests.route(name, host=f"{name}.example.com", **how)
    obj["metadata"]["annotations"] = {CHECK: interval} if interval else {}
    return obj


def ours(lab: Lab) -> dict[str, tuple]:
    """Our monitors by name, with interval, time-out and time until up."""
    return {item.path.rpartition("/")[2]: tuple(item.fields[name] for name in
                                                ("interval", "timeout", "timeUntilUp"))
            for item in lab.bigip.items(KIND) if "openshift_" in item.path}


def used(lab: Lab) -> dict[str, int]:
    """Monitors of the pools of Services, each with the number of its pools; "" for none."""
    texts = [item.fields.get("monitor", "") for item in lab.bigip.items("ltm/pool")
             if not item.path.endswith("/openshift_nowhere")]
    return {text: texts.count(text) for text in texts}


@pytest.mark.parametrize("kind", ["", "edge", "reencrypt", "passthrough"])
def test_interval(lab, kind):
    monitors = {"5s": (5, 16, 0), "500ms": (1, 4, 0), "1001": (2, 7, 0), "2m": (120, 361, 0),
                "9d": (28799, 86398, 0)}
    lab.apply(*(checked(f"r-{interval}", interval, kind=kind) for interval in monitors))
    assert lab.converge() == []
    expected = {f"openshift_monitor_tcp_{fields[0]}": fields for fields in monitors.values()}
    assert ours(lab) == expected
    assert used(lab) == {f"/Common/{name}": 1 for name in expected}
    for interval, (seconds, *_) in monitors.items():
        host = f"r-{interval}.example.com"
        request = Request(host, "/", sni=host if kind else None, tls=bool(kind))
        pool = decide(lab.bigip.store, f"/Common/{HTTPS if kind else HTTP}", request).pool
        assert lab.bigip.store.get("ltm/pool", pool).fields["monitor"] == (
            f"/Common/openshift_monitor_tcp_{seconds}")


def test_pools_share_a_monitor_and_others_keep_theirs(lab):
    lab.apply(*(checked(f"r{n}", "7s") for n in range(3)), checked("s", "9s"), checked("plain", ""))
    router = lab.router()
    lab.settle(router)
    assert set(ours(lab)) == {"openshift_monitor_tcp_7", "openshift_monitor_tcp_9"}
    assert used(lab) == {"/Common/openshift_monitor_tcp_7": 3, "/Common/openshift_monitor_tcp_9": 1,
                         "/Common/tcp": 1}
    lab.apply(checked("s", "7s"))
    lab.clear()
    lab.settle(router)
    lab.later()
    lab.settle(router)
    assert set(ours(lab)) == {"openshift_monitor_tcp_7"}
    assert [method for method, path in lab.writes() if "marks" not in path] == ["PATCH", "DELETE"]
    lab.apply(*(checked(f"r{n}", "") for n in range(3)), checked("s", ""))
    lab.settle(router)
    lab.later()
    lab.settle(router)
    assert ours(lab) == {}


def test_a_single_pod_is_not_checked(lab):
    """As with HAProxy's router; the monitor comes and goes with the second pod, in the write of it."""
    router = lab.router()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), checked("a", "7s"))
    lab.settle(router)
    assert used(lab)[""] == 1
    for pods, monitor in ((("10.1.1.1", "10.1.1.2"), "/Common/openshift_monitor_tcp_7"), (("10.1.1.1",), "")):
        lab.apply(*manifests.service("shop", "web", pods=pods))
        lab.clear()
        lab.settle(router)
        assert [method for method, path in lab.writes() if "shop" in path] == ["PATCH"]
        assert used(lab)[monitor] == 1


def test_interval_of_all_pools(lab):
    """It takes the place of --f5-pool-monitor; a Route may have another one."""
    lab.apply(checked("a", ""), checked("b", "9s"))
    assert lab.converge(backend_check_interval="3s") == []
    assert used(lab) == {"/Common/openshift_monitor_tcp_3": 1, "/Common/openshift_monitor_tcp_9": 1}
    assert lab.converge() == []
    assert used(lab) == {"/Common/tcp": 1, "/Common/openshift_monitor_tcp_9": 1}


@pytest.mark.parametrize("flags", [
    {"backend_check_interval": "3s", "f5_pool_monitor": "/Common/http"},
    {"backend_check_interval": "3s", "f5_pool_monitor": "none"},
    {"backend_check_interval": "0"}, {"backend_check_interval": "soon"},
])
def test_settings_that_contradict_each_other(lab, flags):
    with pytest.raises(ConfigError, match="--backend-check-interval"):
        lab.config(**flags)


def test_a_refused_monitor_keeps_nobody_waiting(lab):
    """Pods come and go, and Routes too, in pools without it; when it is accepted, they get it."""
    router = lab.router()
    lab.apply(checked("old", ""))
    lab.settle(router)
    lab.bigip.inject("refuse", times=99, method="POST", path=KIND, status=400, message="no monitors here")
    lab.apply(checked("old", "7s"), checked("new", "7s"))
    lab.settle(router)
    for name in ("old", "new"):
        assert "no monitors here" in lab.admitted("shop", name)["message"]
    assert ours(lab) == {}
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.2", "10.1.1.3", "10.1.1.4")))
    lab.settle(router)
    members = [item for item in lab.bigip.items("ltm/pool/members") if "shop" in item.key[0]]
    assert {item.fields["address"] for item in members} == {"10.1.1.2", "10.1.1.3", "10.1.1.4"}
    assert len({item.key[0] for item in members}) == 2
    policy = str(lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes"))
    assert all(f"openshift_route_shop_{name}" in policy for name in ("old", "new"))
    lab.bigip.clear_faults()
    lab.later()
    lab.settle(router)
    assert used(lab)["/Common/openshift_monitor_tcp_7"] == 2
    assert lab.converge(router) == []
    assert lab.admitted("shop", "old")["status"] == "True"


def test_a_refused_correction_keeps_nobody_waiting(lab):
    lab.apply(checked("a", "7s"))
    assert lab.converge() == []
    lab.change("PATCH", f"{KIND}/~Common~openshift_monitor_tcp_7", {"interval": 60, "timeout": 181})
    lab.bigip.inject("refuse", times=99, method="PATCH", path=KIND, status=400, message="no")
    router = lab.router()
    assert len(lab.converge(router)) == 1
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.3", "10.1.1.4")), checked("b", "7s"))
    lab.settle(router)
    assert lab.admitted("shop", "b")["reason"] == "DeviceRejected"
    members = [item for item in lab.bigip.items("ltm/pool/members") if "shop" in item.key[0]]
    assert [item.fields["address"] for item in members].count("10.1.1.4") == 2
    assert "openshift_route_shop_b" in str(lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes"))
    lab.bigip.clear_faults()
    lab.later()
    assert lab.converge(router) == []
    assert ours(lab)["openshift_monitor_tcp_7"] == (7, 22, 0)


@pytest.mark.parametrize(("before", "after"), [("", "7s"), ("7s", "9s"), ("7s", "")])
def test_a_router_that_ends_between_the_writes(lab, before, after):
    """Whatever was written before the connection broke off, the next router ends at the same."""
    names = {f"openshift_monitor_tcp_{text[:-1]}" for text in (after, "5s") if text}
    lab.apply(checked("a", before), checked("b", "5s"))
    assert lab.converge() == []
    lab.apply(checked("a", after))
    for _ in lab.each_end(3):
        assert lab.converge() == []
        assert set(ours(lab)) == names
        assert set(used(lab)) == {f"/Common/{name}" for name in names} | (set() if after else {"/Common/tcp"})
