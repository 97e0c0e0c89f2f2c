"""Endpoints of one tenant while something long goes on for another: nothing of it is waited for."""

import pytest

from f5router.model.objects import Ref
from tests import manifests
from tests.feature.test_loop import admitted, pool

HELD = {
    "a pool that is made": ("POST", "ltm/pool$"),
    "a draft": ("PATCH", "ltm/policy/~Common~openshift_insecure_routes$"),
    "a rule": ("POST", "/rules$"),
    "a publish": ("POST", "ltm/policy$"),
}


@pytest.mark.parametrize("held", HELD)
def test_members_are_programmed_while_a_request_hangs(lab, serving, held):
    """A request of another tenant's Route; what waited comes when it is let go."""
    router = serving()
    method, path = HELD[held]
    lab.bigip.inject("hold", method=method, path=path)
    lab.apply(*manifests.service("bank", "other", pods=("10.9.1.1",)),
              manifests.route("b", namespace="bank", host="b.com", service="other"))
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    for number in (7, 8):
        lab.apply(manifests.endpoints("shop", "web", (f"10.1.1.{number}",)))
        router.wait(lambda number=number: pool(lab) == {f"10.1.1.{number}:8080"})
    assert not lab.admitted("bank", "b")
    lab.bigip.release()
    router.wait(lambda: lab.admitted("bank", "b").get("status") == "True")


def test_members_are_programmed_while_the_device_is_read(lab, serving):
    """An older reading does not undo them, nor what is known of them."""
    router = serving(f5_resync_interval="1s")
    lab.bigip.inject("hold", method="GET", path="ltm/virtual/~Common~ose-vserver")
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"})
    lab.clear()
    lab.bigip.release()
    lab.apply(manifests.route("b", host="b.com"))
    router.wait(lambda: admitted(lab, "b") == "True")
    assert not [path for _, path in lab.writes() if "ltm/pool/" in path]
    # Back to what the reading had seen: that is a change.
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.1", "10.1.1.2")))
    router.wait(lambda: pool(lab) == {"10.1.1.1:8080", "10.1.1.2:8080"})


def test_a_pool_that_nobody_wants_any_more_follows_its_pods(lab, serving):
    """Its Rule goes after what comes; until then requests may come to it."""
    router = serving()
    lab.bigip.inject("hold", method="POST", path="/rules$")
    lab.kube.delete("Route", "shop", "a")
    lab.apply(*manifests.service("bank", "other", pods=("10.9.1.1",)),
              manifests.route("b", namespace="bank", host="b.com", service="other"))
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    if pool(lab):
        lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
        router.wait(lambda: pool(lab) in ({"10.1.1.9:8080"}, set()))
    lab.bigip.release()
    router.wait(lambda: lab.admitted("bank", "b").get("status") == "True" and not pool(lab))


BANK = "ltm/pool/~Common~openshift_bank_other"


def bank(*pods: str, **route) -> list[dict]:
    return [*manifests.service("bank", "other", pods=pods),
            manifests.route("b", namespace="bank", host="b.com", service="other", **route)]


def members(lab, path: str) -> set[str]:
    pool = lab.bigip.get(path)
    return {item["name"] for item in pool["membersReference"].get("items", [])} if pool else set()


@pytest.fixture
def hanging(lab, serving):
    """A running router, with one write of a pool of another tenant under way that is not answered."""
    lab.apply(*bank("10.9.1.1"))
    router = serving()
    router.wait(lambda: lab.admitted("bank", "b").get("status") == "True")
    lab.bigip.inject("hold", method="PATCH", path=BANK)
    lab.apply(manifests.endpoints("bank", "other", ("10.9.1.2",)))
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    return router


def test_members_are_programmed_while_those_of_another_pool_hang(lab, hanging):
    """Also Routes that come; the pool gets its newest members when its write has ended."""
    for number in (7, 8, 9):
        lab.apply(manifests.endpoints("shop", "web", (f"10.1.1.{number}",)))
        hanging.wait(lambda number=number: pool(lab) == {f"10.1.1.{number}:8080"})
    lab.apply(*manifests.service("bank", "third", pods=("10.9.2.1",)),
              manifests.route("third", namespace="bank", host="third.com", service="third"))
    hanging.wait(lambda: lab.admitted("bank", "third").get("status") == "True")
    lab.apply(manifests.endpoints("bank", "other", ("10.9.1.3",)), manifests.endpoints(
        "bank", "third", ("10.9.2.2",)))
    hanging.wait(lambda: members(lab, "ltm/pool/~Common~openshift_bank_third") == {"10.9.2.2:8080"})
    assert members(lab, BANK) == {"10.9.1.1:8080"}
    lab.bigip.release()
    hanging.wait(lambda: members(lab, BANK) == {"10.9.1.3:8080"})
    hanging.wait(lambda: not hanging.router.reconciler.failures)


def test_what_needs_a_pool_whose_write_hangs_waits_for_it(lab, hanging):
    """Its old members may be another tenant's pods by now: nothing new leads to them."""
    lab.apply(manifests.route("new", namespace="bank", host="new.com", service="other"),
              manifests.route("c", host="c.com"))
    hanging.wait(lambda: admitted(lab, "c") == "True")
    rule = "ltm/policy/~Common~openshift_insecure_routes/rules/openshift_route_bank_new"
    assert not lab.bigip.get(rule)
    lab.bigip.release()
    hanging.wait(lambda: lab.admitted("bank", "new").get("status") == "True")
    assert lab.bigip.get(rule)
    assert members(lab, BANK) == {"10.9.1.2:8080"}


def test_a_pool_whose_write_hangs_is_deleted_after_it(lab, hanging):
    """Else the late write would be taken for the state of a pool that is gone."""
    lab.kube.delete("Route", "bank", "b")
    lab.apply(manifests.route("c", host="c.com"))
    hanging.wait(lambda: admitted(lab, "c") == "True")
    assert members(lab, BANK) == {"10.9.1.1:8080"}
    lab.bigip.release()
    hanging.wait(lambda: not lab.bigip.get(BANK))
    reconciler = hanging.router.reconciler
    hanging.wait(lambda: reconciler.device.observed == reconciler.engine.objects)


def test_several_pools_of_one_tenant_hang(lab, serving):
    """They do not take all requests that may be under way."""
    router = serving()
    names = [f"s{number}" for number in range(6)]
    for name in names:
        lab.apply(*manifests.service("bank", name, pods=("10.9.1.1",)),
                  manifests.route(name, namespace="bank", host=f"{name}.com", service=name))
    router.wait(lambda: all(lab.admitted("bank", name).get("status") == "True" for name in names))
    lab.bigip.inject("hold", times=None, method="PATCH", path="ltm/pool/~Common~openshift_bank")
    lab.apply(*[manifests.endpoints("bank", name, ("10.9.1.2",)) for name in names])
    pools = [Ref("ltm/pool", f"/Common/openshift_bank_{name}") for name in names]
    router.wait(lambda: sum(map(router.router.reconciler.table.is_sent, pools)) == 2)
    for number in (7, 8, 9):
        lab.apply(manifests.endpoints("shop", "web", (f"10.1.1.{number}",)))
        router.wait(lambda number=number: pool(lab) == {f"10.1.1.{number}:8080"})
    lab.apply(manifests.route("c", host="c.com"))
    router.wait(lambda: admitted(lab, "c") == "True")
    lab.bigip.clear_faults()
    lab.bigip.release()
    router.wait(lambda: all(members(lab, f"ltm/pool/~Common~openshift_bank_{name}") == {"10.9.1.2:8080"}
                            for name in names))


def test_requests_of_a_rollout_that_hang_give_their_room_to_others(lab, serving):
    """As many as may be under way at once: here new pools of one tenant."""
    router = serving()
    lab.bigip.inject("hold", times=4, method="POST", path="ltm/pool$", body="openshift_bank_")
    for number in range(4):
        lab.apply(*manifests.service("bank", f"s{number}", pods=("10.9.1.1",)),
                  manifests.route(f"s{number}", namespace="bank", host=f"s{number}.com",
                                  service=f"s{number}"))
    router.wait(lambda: lab.bigip.held >= 3)  # a slow machine has seen the first hang before the third came
    lab.apply(*manifests.service("shop", "new", pods=("10.9.3.1",)),
              manifests.route("c", host="c.com", service="new"),
              manifests.endpoints("shop", "web", ("10.1.1.7",)))
    router.wait(lambda: admitted(lab, "c") == "True" and pool(lab) == {"10.1.1.7:8080"})
    assert not [number for number in range(4) if lab.admitted("bank", f"s{number}")]
    lab.bigip.release()
    router.wait(lambda: all(
        lab.admitted("bank", f"s{number}").get("status") == "True" for number in range(4)))


def test_rules_of_one_policy_that_hang_hold_up_no_other_policy(lab, serving):
    """Rules of the same policy wait: two drafts of it would get in each other's way."""
    lab.apply(manifests.route("old", host="old.com", kind="edge"), manifests.route("gone", host="gone.com"))
    router = serving()
    router.wait(lambda: admitted(lab, "old") == admitted(lab, "gone") == "True")
    lab.clear()
    lab.bigip.inject("hold", method="POST", path="~openshift_secure_routes/rules$")
    lab.apply(manifests.route("b", host="b.com", kind="edge"))
    router.wait(lambda: lab.bigip.held == 1)
    lab.kube.delete("Route", "shop", "old")
    lab.kube.delete("Route", "shop", "gone")
    lab.apply(manifests.route("c", host="c.com"), manifests.route("d", host="d.com", kind="edge"))
    rules = "ltm/policy/~Common~openshift_{}_routes/rules/openshift_route_shop_{}"
    router.wait(lambda: lab.bigip.get(rules.format("insecure", "c"))
                and not lab.bigip.get(rules.format("insecure", "gone")))
    assert lab.bigip.get(rules.format("secure", "old"))
    assert not lab.bigip.get(rules.format("secure", "b"))
    drafts = [path for method, path in lab.writes() if path.endswith("~openshift_secure_routes")]
    assert len(drafts) == 1
    lab.bigip.release()
    router.wait(lambda: admitted(lab, "b") == admitted(lab, "d") == "True"
                and not lab.bigip.get(rules.format("secure", "old")))
