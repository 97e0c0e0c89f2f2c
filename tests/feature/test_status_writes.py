"""Statuses beside the programming of the BIG-IP: when they are written, and what does not wait for them."""

import itertools
import threading

import pytest

from tests import manifests, pump
from tests.feature.running import Running
from tests.waiting import DEADLINE_S, until


def labelled(name: str, shard: str) -> dict:
    route = manifests.route(name, host=f"{name}.com")
    route["metadata"]["labels"] = {"shard": shard}
    return route


def rules(lab) -> set[str]:
    return {item.name for item in lab.bigip.items("ltm/policy/rules")}


def test_a_status_that_takes_long(lab):
    """It holds up no other."""
    lab.kube.inject("hold", path="/slow/status")
    lab.apply(manifests.route("slow", host="slow.com"))
    router = lab.router()
    lab.converge_events(router)
    router.reconcile_once()
    until(lambda: not router.reporter.statuses.pending())
    lab.apply(*(manifests.route(f"r{number}", host=f"h{number}.com") for number in range(5)))
    until(lambda: router.reconcile_once() and all(
        lab.admitted("shop", f"r{number}") for number in range(5)))
    assert lab.admitted("shop", "slow") == {}
    lab.kube.release()
    assert router.reporter.statuses.flush(DEADLINE_S)
    assert lab.admitted("shop", "slow")["status"] == "True"


def test_nothing_is_said_before_it_is_so(lab):
    """While the BIG-IP is written, no Route that waits for it has a status."""
    lab.apply(*(manifests.route(f"r{number}", host=f"h{number}.com", kind="edge") for number in range(3)))
    router = lab.router()
    lab.converge_events(router)
    pump.take_events(router)
    router.device.observe()
    router.reconciler.compare_all()
    assert set(router.reconciler.verdicts.unserved().values()) == {"not yet programmed"}
    early = []
    lab.bigip.on_write = lambda _: early.extend(
        name for name in ("r0", "r1", "r2") if lab.admitted("shop", name))
    router.reconciler.run_until_idle()
    lab.bigip.on_write = None
    assert early == []
    assert router.reporter.statuses.flush(DEADLINE_S)
    assert all(lab.admitted("shop", f"r{number}")["status"] == "True" for number in range(3))


@pytest.mark.parametrize("stays", [True, False])
def test_a_route_that_enters_and_leaves_all_the_time(lab, stays):
    """A hundred times a second: few writes, others are programmed meanwhile, the last labels count."""
    lab.apply(labelled("busy", "blue"))
    router = Running(lab, labels="shard=blue", hold_off_limit="300ms")
    ended, count = threading.Event(), itertools.count(1)

    def change() -> None:
        while not ended.wait(0.01):
            lab.apply(labelled("busy", "green" if next(count) % 2 else "blue"))

    thread = threading.Thread(target=change)
    try:
        router.wait(lambda: lab.admitted("shop", "busy"))
        lab.kube.clear_log()
        thread.start()
        for number in range(3):
            lab.apply(labelled(f"r{number}", "blue"))
            router.wait(lambda number=number: lab.admitted("shop", f"r{number}"))
        ended.set()
        thread.join()
        lab.apply(labelled("busy", "blue" if stays else "green"))
        router.wait(lambda: bool(lab.admitted("shop", "busy")) is stays)
        router.wait(lambda: ("openshift_route_shop_busy" in rules(lab)) is stays)
    finally:
        ended.set()
        thread.join()
        router.stop()
    changes, writes = next(count), [log.status for log in lab.kube.log if "/busy/status" in log.path]
    assert len(writes) <= max(6, changes / 10), (writes, changes)
