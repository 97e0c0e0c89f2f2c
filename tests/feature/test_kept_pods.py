"""Pools to which a setting leaves no member keep their pods, and follow them."""

import pytest

from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.feature.test_mass_delete import told
from tests.waiting import until

NODEPORT = {"pool_member_type": "nodeport"}
N1, N2 = manifests.node("n1", "10.3.89.1"), manifests.node("n2", "10.3.89.2")
SERVICES = 12
KEPT = "keeping pool members that the settings would remove"


def members(lab, name: str = "s0") -> set[str]:
    pool = lab.bigip.get(f"ltm/pool/~Common~openshift_shop_{name}")
    return {item["name"] for item in pool["membersReference"].get("items", ())}


def served(lab) -> int:
    """Number of Routes whose requests come to a pool with members."""
    return sum(bool(decide(lab.bigip.store, "/Common/ose-vserver", Request(f"s{n}.example.com", "/")).members)
               for n in range(SERVICES))


@pytest.fixture
def full(lab):
    """Services without node ports, each with a Route, served by their pods."""
    lab.apply(N1, N2)
    for n in range(SERVICES):
        lab.apply(*manifests.service("shop", f"s{n}", pods=(f"10.128.0.{n + 1}", f"10.128.1.{n + 1}")),
                  manifests.route(f"s{n}", host=f"s{n}.example.com", service=f"s{n}"))
    assert lab.converge() == []
    assert served(lab) == SERVICES
    lab.clear()
    return lab


@pytest.fixture
def running(full, running):
    """Start a router with node ports that runs beside these pools; stopped at the end."""
    def start():
        router = running(**NODEPORT)
        router.wait(lambda: router.router.reconciler.loaded)
        return router

    return start


def test_pods_stay_members(full):
    """Every Route stays served, the reason has the numbers and the way out, and nothing is written."""
    (reason,) = full.converge(**NODEPORT)
    assert reason.startswith("12 pools keep their pods: --pool-member-type=nodeport leaves them no member")
    assert "12 Routes would answer 503" in reason
    assert "--allow-mass-delete empties the pools" in reason
    assert served(full) == SERVICES
    assert [path for _, path in full.writes() if "/pool" in path] == []


def test_allowed(full):
    """With the flag the settings count as they are."""
    full.converge(allow_mass_delete="true", **NODEPORT)
    assert served(full) == 0


def test_a_second_list_confirms_nothing(full, running, caplog):
    """It has the same Services; health, metrics and the log have the number, and the router is ready."""
    router = running().router
    health = router.monitor.health
    until(lambda: told(caplog, KEPT) and not any(check.problem for check in health.ready()))
    assert told(caplog, KEPT)[0].startswith("12 pools")
    assert [check.note for check in health.ready() if check.note] == ["keeping the members of 12 pools"]
    assert "f5router_pools_kept 12.0" in router.monitor.metrics.page("")[0].decode()
    router.cluster.relist()
    until(router.cluster.relisted)
    assert served(full) == SERVICES
    assert len(told(caplog, KEPT)) == 1


def test_pods_that_are_gone_leave_at_once(full, running):
    """Their addresses may be another tenant's; the pods that come are members."""
    router = running()
    full.apply(manifests.endpoints("shop", "s0", ("10.128.1.1", "10.128.7.7")))
    router.wait(lambda: members(full) == {"10.128.1.1:8080", "10.128.7.7:8080"})
    full.apply(manifests.endpoints("shop", "s0", ()))
    router.wait(lambda: members(full) == set())
    full.apply(manifests.endpoints("shop", "s0", ("10.128.9.9",)))
    router.wait(lambda: members(full) == {"10.128.9.9:8080"})


def test_pods_that_were_gone_before_the_start(full):
    """Only what is a pod of the Service now is kept; a pool without one is emptied."""
    full.apply(manifests.endpoints("shop", "s0", ("10.128.1.1",)), manifests.endpoints("shop", "s1", ()))
    full.converge(**NODEPORT)
    assert (members(full, "s0"), members(full, "s1")) == ({"10.128.1.1:8080"}, set())


def test_a_node_port_takes_their_place(full, running, caplog):
    """One Service after the other; with the last one the addresses of pods are not followed any more."""
    router = running()
    for n in range(SERVICES):
        service, _ = manifests.published("shop", f"s{n}", ports=(("http", 8080, 30080 + n),))
        full.apply(service)
    router.wait(lambda: not router.router.reconciler.guard.kept)
    for n in range(SERVICES):
        router.wait(lambda n=n: members(full, f"s{n}") == {f"10.3.89.{i}:{30080 + n}" for i in (1, 2)})
    router.wait(lambda: any("kept pool members released" in record.getMessage() for record in caplog.records))
    slices = router.router.reconciler.engine.cluster.slices.values()
    until(lambda: not any(each.addresses for of_service in slices for each in of_service.values()))
    assert served(full) == SERVICES


def test_without_the_right_on_endpoints(full):
    """Nobody knows which pods there are, so no address stays."""
    full.kube.forbid("endpointslices", ("get", "list", "watch"))
    full.kube.forbid("endpoints", ("get", "list", "watch"))
    full.converge(**NODEPORT)
    assert served(full) == 0


def test_the_setting_is_taken_back(full):
    full.converge(**NODEPORT)
    full.clear()
    assert full.converge() == []
    assert [path for _, path in full.writes() if "/pool" in path] == []
    assert served(full) == SERVICES


def test_a_restart_while_pods_are_kept(full):
    """The next router finds them again, also those that came meanwhile."""
    full.converge(**NODEPORT)
    full.apply(manifests.endpoints("shop", "s0", ("10.128.1.1", "10.128.7.7")))
    full.converge(**NODEPORT)
    full.apply(manifests.endpoints("shop", "s0", ("10.128.7.7", "10.128.8.8")))
    full.converge(**NODEPORT)
    assert members(full) == {"10.128.7.7:8080", "10.128.8.8:8080"}


def test_a_route_without_a_pool_before_gets_node_ports_alone(full):
    """The settings count for it: what was never served is not opened."""
    full.apply(*manifests.service("shop", "new", pods=("10.128.5.5",)),
               manifests.route("new", host="new.example.com", service="new"))
    full.converge(**NODEPORT)
    assert members(full, "new") == set()
    assert members(full) == {"10.128.0.1:8080", "10.128.1.1:8080"}
