"""Monitors with a server SSL profile: each write of them, each end, and what an administrator changes."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.feature.conftest import Lab
from tests.feature.test_front_end_life import remove

KIND, PROFILE = "ltm/monitor/https", "ltm/profile/server-ssl"
CHECKS = {"tls_health_checks": "true"}
FIRST, SECOND = (identity("web.shop.svc", ca=name).issuer for name in ("First CA", "Second CA"))


def route(ca: str = FIRST) -> dict:
    return manifests.route("r", host="r.example.com", kind="reencrypt", destinationCACertificate=ca)


@pytest.fixture
def checking(make_lab) -> Lab:
    """A BIG-IP whose monitors run in TMM, and a Route to two pods with TLS."""
    lab = make_lab(tmos_version="16.1.2")
    lab.virtuals()
    lab.change("PATCH", "sys/db/bigd.tmm", {"value": "enable"})
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")), route())
    return lab


def monitors(lab: Lab) -> dict[str, str]:
    """Profiles of our monitors, by path."""
    return {item.path: item.fields["sslProfile"] for item in lab.bigip.items(KIND)
            if "openshift_monitor_https_tls_" in item.path}


def of_pool(lab: Lab) -> str:
    (pool,) = lab.pools()
    return lab.bigip.store.get("ltm/pool", pool).fields.get("monitor", "")


def test_one_request_for_each_monitor(checking):
    """The pool is written once, with it; without the setting one request less."""
    assert checking.converge(**CHECKS) == []
    ((path, profile),) = monitors(checking).items()
    assert (of_pool(checking), profile in checking.paths(PROFILE)) == (path, True)
    writes = [(method, path.rpartition("/mgmt/tm/")[2]) for method, path in checking.writes()]
    assert writes.count(("POST", KIND)) == 1
    assert writes.index(("POST", PROFILE)) < writes.index(("POST", KIND)) < writes.index(("POST", "ltm/pool"))
    assert [method for method, path in writes if path.startswith("ltm/pool") and "nowhere" not in path].count(
        "PATCH") == 0


def test_each_end(checking):
    for _ in checking.each_end(20, **CHECKS):
        assert checking.converge(**CHECKS) == []
        assert list(monitors(checking)) == [of_pool(checking)]
        checking.clear()
        assert checking.converge(**CHECKS) == []
        assert checking.writes() == []


@pytest.mark.parametrize("change", ["another CA", "without the setting", "no Route"])
def test_each_end_of_a_change(checking, change):
    assert checking.converge(**CHECKS) == []
    start, old = checking.bigip.state(), monitors(checking)
    flags = {} if change == "without the setting" else CHECKS
    if change == "another CA":
        checking.apply(route(SECOND))
    elif change == "no Route":
        checking.kube.delete("Route", "shop", "r")
    for _ in checking.each_end(2, **flags):
        assert checking.converge(**flags) == []
        assert set(monitors(checking)).isdisjoint(old)
        assert len(monitors(checking)) == (change == "another CA")
        checking.clear()
        assert checking.converge(**flags) == []
        assert checking.writes() == []
        checking.bigip.put_back(start)


@pytest.mark.parametrize("change", [{"sslProfile": "/Common/serverssl"}, {"interval": 60, "timeout": 181}])
def test_drift(checking, change):
    assert checking.converge(**CHECKS) == []
    before = monitors(checking)
    (path,) = before
    checking.change("PATCH", f"{KIND}/{path.replace('/', '~')}", change)
    assert checking.converge(**CHECKS) == []
    assert monitors(checking) == before
    assert checking.bigip.get(f"{KIND}/{path.replace('/', '~')}")["interval"] == 5


def test_monitors_leave_tmm(checking):
    """From then on pods are checked as without the setting."""
    assert checking.converge(**CHECKS) == []
    checking.change("PATCH", "sys/db/bigd.tmm", {"value": "disable"})
    assert checking.converge(**CHECKS) == []
    assert (monitors(checking), of_pool(checking)) == ({}, "/Common/tcp")


def test_routes_share_a_monitor(checking):
    checking.apply(manifests.route("s", host="s.example.com", kind="reencrypt",
                                   destinationCACertificate=FIRST))
    assert checking.converge(**CHECKS) == []
    assert len(monitors(checking)) == 1


def test_a_router_that_does_not_verify_checks_as_before(checking, tmp_path):
    """No CA: there is nothing to verify."""
    checking.apply(manifests.route("r", host="r.example.com", kind="reencrypt"))
    checking.converge(**CHECKS, default_destination_ca_path="")
    assert monitors(checking) == {}


def test_uninstall_removes_them(checking):
    assert checking.converge(**CHECKS) == []
    assert remove(checking) == 0
    assert monitors(checking) == {}
    assert not any("openshift_" in path for path in checking.paths(PROFILE))
