"""Two routers of one name and partition, for Routes of their own: each says what is wrong."""

import re
from functools import partial

import pytest

from f5router.monitoring.health import report
from f5router.reconcile.other_router import PROBLEM
from tests import manifests
from tests.waiting import until

NOTICED_S = 60
STEP_S = 5


@pytest.fixture
def routers(lab, running):
    """The second one is started 9 s after the first: a copied Deployment, whose name was forgotten."""
    for shard in "ab":
        route = manifests.route(f"r{shard}", host=f"{shard}.example.com")
        route["metadata"]["labels"] = {"shard": shard}
        lab.apply(route)
    started = []
    for shard in "ab":
        started.append(running(f5_drift_interval="45s", labels=f"shard={shard}"))
        started[-1].wait(partial(is_served, lab, f"r{shard}"))
        pass_time(lab, started, 9)
    return started


def is_served(lab, name: str) -> bool:
    return any(item.key[-1] == f"openshift_route_shop_{name}" for item in lab.bigip.items("ltm/policy/rules"))


def pass_time(lab, routers, seconds: float) -> None:
    for step in [STEP_S] * int(seconds // STEP_S) + [seconds % STEP_S]:
        lab.later(step)
        for running in routers:
            running.router.inbox.wake()
        until(lambda: all(is_idle(lab, running) for running in routers))


def is_idle(lab, running) -> bool:
    router = running.router
    return (router.next_turn_at() > lab.clock() and not router.upkeep.drift.is_active
            and not router.upkeep.hint.is_looking and not router.reconciler.reader.reason)


def ready(running) -> str:
    good, text = report("readyz", running.router.monitor.health.ready(), verbose=True)
    assert good, text
    return text


def contended(running) -> str:
    page = running.router.monitor.metrics.page("text/plain")[0].decode()
    return re.search(r"^f5router_partition_contended (.*)$", page, re.MULTILINE)[1]


def test_both_are_told(lab, routers, caplog):
    pass_time(lab, routers, NOTICED_S - 9)
    for running in routers:
        # Which sign comes last depends on who writes first: a Rule of the other one, or one that it undoes.
        assert re.search(f"{PROBLEM}: it (wrote|undoes) rule openshift_route_shop_r[ab]", ready(running))
        assert contended(running) == "1.0"
    records = caplog.get_records("setup") + caplog.get_records("call")
    told = [record.message for record in records if "writes to the same partition" in record.message]
    assert len(told) == 2, "once each"


def test_one_that_is_alone_again(lab, routers):
    """It has put right what the other one left, and forgets it after some minutes."""
    pass_time(lab, routers, NOTICED_S)
    routers[1].stop()
    pass_time(lab, routers[:1], NOTICED_S)
    assert is_served(lab, "ra")
    assert "partition" in ready(routers[0])
    for _ in range(3):
        pass_time(lab, routers[:1], 300 // STEP_S * STEP_S)
    assert "partition" not in ready(routers[0])
    assert contended(routers[0]) == "0.0"


def test_one_alone_is_never_told(lab, running):
    """Routes come and go, a reply is lost, and somebody deletes an object by hand."""
    lab.apply(manifests.route("a", host="a.example.com"))
    alone = [running(f5_drift_interval="45s")]
    alone[0].wait(partial(is_served, lab, "a"))
    for number in range(4):
        lab.bigip.inject("drop-reply", method="POST", path="ltm/p")
        lab.apply(manifests.route(f"r{number}", host=f"r{number}.example.com"))
        pass_time(lab, alone, 20)
        lab.kube.delete("Route", "shop", f"r{number}")
        pass_time(lab, alone, 100)
    assert "partition" not in ready(alone[0])
