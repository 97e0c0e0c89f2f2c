"""Writes of a router that was just elected and has not read the BIG-IP yet: members, and nothing else."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from f5router.model.cluster import Key
from tests import manifests
from tests.feature.test_loop import pool
from tests.feature.test_pair import joined
from tests.feature.test_replicas import Forwarder, admitted, replicas
from tests.waiting import until

pytestmark = pytest.mark.bare

__all__ = ["joined", "replicas"]

LONG = {"leader_elect_lease_duration": "200s", "leader_elect_renew_deadline": "100s"}
POOL = "/mgmt/tm/ltm/pool/~Common~openshift_shop_web"


@pytest.fixture
def hold(lab) -> Iterator[Callable[[], Callable[..., None]]]:
    """Holds back what a new leader reads of everything; returns what lets it go: by these fakes, or all."""
    def release(*fakes) -> None:
        for fake in fakes or (lab.kube, lab.bigip):
            fake.clear_faults()
            fake.release()

    def begin() -> Callable[..., None]:
        lab.bigip.inject("hold", times=None, method="GET", path="/ltm/policy")
        lab.kube.inject("hold", times=None, method="list", path="/v1/endpointslices")
        return release

    yield begin
    release()


def written(lab) -> list[tuple[str, str]]:
    """Writes but for saves, which the leader before may have made until its term ended."""
    return [(method, path) for method, path in lab.writes() if not path.endswith("sys/config")]


def test_members_are_written_before_everything_is_read(lab, replicas, hold):
    """Changes from before the election and since it; no pool is made or emptied. Others have no Route."""
    lab.apply(manifests.route("a"), *manifests.service("shop", "old", pods=("10.1.1.5",)),
              manifests.route("old", host="old.example.com", service="old"))
    host, _, port = lab.kube.url.removeprefix("https://").rpartition(":")
    with closing(Forwarder((host, int(port)))) as forwarder:
        first = replicas(master=f"https://127.0.0.1:{forwarder.port}")
        until(lambda: admitted(lab, "a") and admitted(lab, "old"))
        second = replicas()
        until(second.is_ready)
        forwarder.cut()
        release = hold()
        lab.clear()
        lab.apply(manifests.endpoints("shop", "old", ()),
                  *manifests.service("shop", "new", pods=("10.1.1.6",)),
                  manifests.route("new", host="new.example.com", service="new"),
                  manifests.endpoints("shop", "web", ("10.1.1.9",)),
                  *(obj for number in range(9)
                    for obj in manifests.service("idle", f"idle{number}", pods=("10.1.7.1",))))
        until(lambda: pool(lab) == {"10.1.1.9:8080"})
        assert second.leads()
        release(lab.kube)
        lab.apply(manifests.endpoints("shop", "web", ("10.1.1.8",)))
        until(lambda: pool(lab) == {"10.1.1.8:8080"})
        until(lambda: any(entry.path == POOL.replace("web", "new") for entry in lab.bigip.log))
        assert written(lab) == [("PATCH", POOL)] * 2
        until(lambda: second.router.replica.leads)
        assert not second.router.reconciler.has_read
        release(lab.bigip)
        until(lambda: admitted(lab, "new"))
        assert "10.1.1.5" not in str(lab.bigip.get("ltm/pool/~Common~openshift_shop_old"))
        first.stopping.set()


def test_writes_that_hang_give_their_room_to_others(lab, replicas, hold):
    """Here all that may be under way at once: two of another tenant, and the reading of everything."""
    names = ("s1", "s2")
    lab.apply(manifests.route("a"))
    for name in names:
        lab.apply(*manifests.service("bank", name, pods=("10.9.1.1",)),
                  manifests.route(name, namespace="bank", host=f"{name}.com", service=name))
    first = replicas(**LONG)
    until(lambda: all(lab.admitted("bank", name) for name in names) and admitted(lab, "a"))
    second = replicas(f5_max_in_flight="3", **LONG)
    until(second.is_ready)
    release = hold()
    lab.kube.clear_faults()
    lab.bigip.inject("hold", times=2, method="PATCH", path="ltm/pool/~Common~openshift_bank_")
    first.stop()
    until(lambda: second.router.replica.leads)
    lab.apply(*(manifests.endpoints("bank", name, ("10.9.1.2",)) for name in names))
    until(lambda: len(second.router.reconciler.table.sent) == 2)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    until(lambda: pool(lab) == {"10.1.1.9:8080"})
    assert not second.router.reconciler.has_read
    release()
    until(lambda: second.router.reconciler.has_read and second.is_ready())


def test_an_old_view_of_the_cluster_is_not_written(lab, replicas, hold):
    """The watch of the follower has been silent for a while; the leader before knew better."""
    silent: list[bool] = []
    lab.kube.faults.pass_on = lambda path, lines: (0.0, [] if silent else lines)
    lab.apply(manifests.route("a"))
    first = replicas(**LONG)
    until(lambda: admitted(lab, "a"))
    second = replicas(**LONG)
    until(second.is_ready)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.3",)))
    known = second.router.reconciler.engine.cluster.slices
    until(lambda: pool(lab) == {"10.1.1.3:8080"} and "10.1.1.3" in str(known[Key("shop", "web")]))
    silent.append(True)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.4",)))
    lab.change("PATCH", "ltm/pool/~Common~openshift_shop_web", {"members": [{"name": "10.1.1.4:8080"}]})
    release = hold()
    lab.clear()
    first.stop()
    until(lambda: any((entry.method, entry.path) == ("GET", POOL) for entry in lab.bigip.log))
    release()
    until(lambda: second.router.replica.leads and second.router.reconciler.has_read and second.is_ready())
    assert written(lab) == []


def test_a_unit_that_is_standby_is_not_written_to(lab, joined, replicas):
    """The follower read it while it was active."""
    lab.apply(manifests.route("a"))
    before, after = joined.pair.units
    first = replicas(**joined.flags, **LONG)
    until(lambda: admitted(lab, "a"))
    second = replicas(**joined.flags, **LONG)
    until(second.is_ready)
    first.stop()
    until(second.leads)
    joined.pair.set("STANDBY", "STANDBY")
    joined.clear()
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    joined.pair.set("STANDBY", "ACTIVE")
    until(lambda: "10.1.1.9" in str(after.get("ltm/pool/~Common~openshift_shop_web")))
    assert joined.written(before) == []


def test_node_ports_wait_for_the_reading(lab, replicas, hold):
    """Their members follow all Nodes, which a look at one Service does not show."""
    lab.kube.delete("EndpointSlice", "shop", "web-1")
    lab.apply(manifests.node("n1", "10.3.89.1"), manifests.route("a"),
              *manifests.published("shop", "web", pods={"10.128.0.5": "n1"}))
    first = replicas(pool_member_type="nodeport", **LONG)
    until(lambda: pool(lab) == {"10.3.89.1:30080"} and admitted(lab, "a"))
    second = replicas(pool_member_type="nodeport", **LONG)
    until(second.is_ready)
    release = hold()
    lab.clear()
    first.stop()
    until(second.leads)
    lab.apply(*manifests.published("shop", "web", pods={"10.128.0.5": "n1"},
                                   ports=(("http", 8080, 30099),)))
    services = second.router.reconciler.engine.cluster.services
    until(lambda: "30099" in str(services[Key("shop", "web")]))
    release()
    until(lambda: pool(lab) == {"10.3.89.1:30099"})
    assert ("GET", POOL) not in [(entry.method, entry.path) for entry in lab.bigip.log]
