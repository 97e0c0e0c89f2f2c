"""Pools that no Route wants any more, and to which requests still come: they follow their pods."""

from dataclasses import replace

import pytest

from tests import manifests
from tests.feature.conftest import Lab
from tests.waiting import until

ANNOTATION = "haproxy.router.openshift.io/"
LIMIT = {ANNOTATION + "pod-concurrent-connections": "5"}
CANARY = [{"kind": "Service", "name": "canary", "weight": 50}]


def annotated(name: str, annotations: dict[str, str], *, alternates=(), **fields) -> dict:
    obj = manifests.route(name, **({"host": f"{name}.example.com"} | fields))
    obj["metadata"]["annotations"] = annotations
    if alternates:
        obj["spec"]["to"]["weight"] = 50
        obj["spec"]["alternateBackends"] = list(alternates)
    return obj


def members(lab: Lab) -> dict[str, set[str]]:
    """Addresses of the members of each pool of the namespace shop."""
    pools = {path: set() for path in lab.pools() if "/openshift_shop_" in path}
    for item in lab.bigip.items("ltm/pool/members"):
        if item.key[0] in pools:
            pools[item.key[0]].add(item.key[1].rsplit("/", 1)[-1].partition(":")[0])
    return pools


def roll_out(lab: Lab, *addresses: str, name: str = "web") -> None:
    lab.apply(*manifests.service("shop", name, pods=addresses))


def refuse_lists(lab: Lab) -> None:
    lab.bigip.inject("refuse", times=None, method="POST", path="data-group/internal", status=400, code=400,
                     message="01070734:3: Configuration error: refused")


@pytest.mark.parametrize("restarted", [False, True], ids=["", "restarted"])
@pytest.mark.parametrize(("options", "alternates"), [
    pytest.param({}, (), id="shared pool"),
    pytest.param(LIMIT, (), id="own pool"),
    pytest.param({}, CANARY, id="own pool of two Services"),
])
def test_a_roll_out_while_the_next_version_is_refused(lab, options, alternates, restarted):
    """The old Rule stays, and leads to the new pods."""
    roll_out(lab, "10.1.1.1", "10.1.1.2")
    roll_out(lab, "10.1.2.1", name="canary")
    lab.apply(annotated("a", options, alternates=alternates))
    router = lab.router()
    lab.settle(router)
    (pool,) = members(lab)
    refuse_lists(lab)
    listed = {**options, ANNOTATION + "ip_allowlist": "10.0.0.2"}
    lab.apply(annotated("a", listed, alternates=alternates))
    lab.settle(router)
    if restarted:
        router.close()
        router = lab.router()
        lab.converge_events(router)
        lab.settle(router)
    for pods in (("10.1.1.1", "10.1.1.3"), ("10.1.1.3", "10.1.1.4")):
        roll_out(lab, *pods)
        lab.settle(router)
        assert members(lab)[pool] == {*pods, *(["10.1.2.1"] if alternates else [])}
    roll_out(lab, "10.1.2.2", name="canary")
    lab.settle(router)
    assert members(lab)[pool] == {"10.1.1.3", "10.1.1.4", *(["10.1.2.2"] if alternates else [])}
    lab.bigip.clear_faults()
    lab.later()
    lab.settle(router)
    lab.later()
    lab.settle(router)
    (pool,) = members(lab)
    assert pool.endswith("__limited")
    router.close()


def test_a_roll_out_while_a_route_drains(lab):
    """Connections whose TLS the BIG-IP has ended are served for a while when a Route becomes passthrough."""
    lab.timing = replace(lab.timing, passthrough_drain_s=100_000.0)
    roll_out(lab, "10.1.1.1")
    lab.apply(annotated("a", LIMIT, kind="reencrypt"))
    router = lab.router()
    lab.settle(router)
    (pool,) = members(lab)
    lab.apply(annotated("a", LIMIT, kind="passthrough"))
    lab.settle(router)
    roll_out(lab, "10.1.1.2")
    lab.settle(router)
    assert len(members(lab)) == 2
    assert members(lab)[pool] == {"10.1.1.2"}
    router.close()


def test_a_roll_out_while_deletes_wait_for_a_second_list(lab):
    roll_out(lab, "10.1.1.1")
    lab.apply(*(annotated(f"r{number}", LIMIT) for number in range(30)))
    router = lab.router()
    lab.settle(router)
    for number in range(30):
        lab.kube.delete("Route", "shop", f"r{number}")
    lab.settle(router)
    assert router.reconciler.guard.held
    roll_out(lab, "10.1.1.2")
    lab.settle(router)
    until(lambda: _is_written(router, lab), "the members were not written")
    router.close()


def _is_written(router, lab: Lab) -> bool:
    router.reconcile_once()
    pools = members(lab)
    assert len(pools) == 30
    return all(addresses == {"10.1.1.2"} for addresses in pools.values())
