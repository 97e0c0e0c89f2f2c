"""Deletes of most of what serves requests wait for a second list of the cluster."""

import logging
import math
import threading
from dataclasses import replace

import pytest

from f5router.app import held_deletes, once
from f5router.cli import preflight
from f5router.model.errors import Unreachable
from mocks.bigip import unit
from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.waiting import DEADLINE_S, until

DRAFTS = "~Drafts~"
ROUTES = 30


def routes(namespace: str = "shop", count: int = ROUTES) -> list[dict]:
    return [manifests.route(f"r{n}", namespace=namespace, host=f"{namespace}{n}.com") for n in range(count)]


def served(lab, namespace: str = "shop", count: int = ROUTES) -> int:
    """Routes whose requests come to a pool."""
    return sum(bool(decide(lab.bigip.store, "/Common/ose-vserver", Request(f"{namespace}{n}.com", "/")).pool)
               for n in range(count))


def members(lab, name: str = "shop_web") -> int:
    pool = lab.bigip.get(f"ltm/pool/~Common~openshift_{name}")
    return len(pool["membersReference"].get("items", [])) if pool else 0


def deletes(lab) -> list[str]:
    """Deletes of what clients use; a draft that a killed router left is removed at once."""
    return [path for method, path in lab.writes()
            if method == "DELETE" and (DRAFTS not in path or "/rules/" in path)]


SUSPICIOUS = "most objects missing from a list: keeping them until a second list confirms it"


def messages(caplog, text: str, *fields: str) -> list[tuple]:
    """Return fields of all messages with a text."""
    return [tuple(getattr(record, field) for field in fields)
            for record in list(caplog.records) if record.getMessage() == text]


def told(caplog, text: str = "holding deletes") -> list[str]:
    return [getattr(record, "problem", "") for record in caplog.records if record.getMessage() == text]


@pytest.fixture
def full(lab):
    """Thirty Routes of one Service, on the BIG-IP."""
    lab.apply(*routes())
    assert lab.converge() == []
    lab.clear()
    return lab


@pytest.fixture
def running(full, running):
    """Start a router that runs, with its watches and its first reading; stopped at the end."""
    def start(**flags):
        router = running(**flags)
        router.wait(lambda: full.kube.wait_for(lambda: len(full.kube.watches) >= 3))
        router.wait(lambda: router.router.reconciler.loaded)
        return router

    return start


def empty_lists(kube, *kinds: str) -> list[dict]:
    """Have the API server list nothing of these kinds: objects are away, and what watches tell is lost."""
    gone = [obj for kind in kinds for obj in kube.list(kind)]
    kube.stop()
    for obj in gone:
        kube.delete(obj["kind"], obj["metadata"]["namespace"], obj["metadata"]["name"])
    kube.compact()
    kube.start()
    return gone


def wrong_lists(kube, *resources: str) -> None:
    """Have the API server list nothing of these resources once, although it has all objects."""
    for resource in resources:
        kube.inject("empty", path=f"/{resource}")


def test_a_wrong_empty_list_costs_nothing(full, running, caplog):
    """Everything is missing in the first list and there again in the second one: no request was lost."""
    wrong_lists(full.kube, "routes", "services", "endpointslices")
    router = running()
    router.wait(lambda: told(caplog))
    (problem,) = told(caplog)
    assert "they would remove 31 of 32 serving objects" in problem
    assert "--allow-mass-delete" in problem
    router.wait(lambda: told(caplog, "held-back deletes released"))
    assert (served(full), members(full)) == (ROUTES, 2)
    assert deletes(full) == []
    assert [path for _, path in full.writes() if "members" in path] == []


def test_a_second_list_confirms(full, running, caplog):
    """All Routes deleted by hand: held back, visible, and gone some seconds later."""
    router = running()
    with full.kube.lock:
        for n in range(ROUTES):
            full.kube.delete("Route", "shop", f"r{n}")
    router.wait(lambda: router.router.reconciler.guard.held)
    assert served(full) == ROUTES
    page = router.router.monitor.metrics.page("")[0].decode()
    assert "f5router_deletes_held_back 31.0" in page
    assert "f5router_mass_deletes_held_back_total 31.0" in page
    assert [check.note for check in router.router.monitor.health.ready() if check.note] == [
        "holding 31"]
    assert not any(check.problem for check in router.router.monitor.health.ready())
    full.apply(manifests.route("new", host="new.com"))
    full.apply(manifests.endpoints("shop", "web", ("10.1.1.1",)))
    router.wait(lambda: full.admitted("shop", "new").get("status") == "True")
    router.wait(lambda: members(full) == 1)
    router.wait(lambda: not served(full))
    assert served(full) == 0
    router.wait(lambda: told(caplog, "held-back deletes released"))
    page = router.router.monitor.metrics.page("")[0].decode()
    assert "f5router_deletes_held_back 0.0" in page
    full.kube.delete("Route", "shop", "new")
    router.wait(lambda: not full.pools())
    assert router.router.reconciler.guard.held_ever == 31


def test_the_second_list_confirms_nothing_of_its_own(full):
    """It is wrong where the first one was right: what only it lacks waits for a third one."""
    bank = routes("bank", 20)
    full.apply(*bank, *manifests.service("bank", "web", pods=("10.1.2.1",)))
    assert full.converge() == []
    for n in range(ROUTES):
        full.kube.delete("Route", "shop", f"r{n}")
    router = full.router()
    assert router.cluster.wait_synced(DEADLINE_S)
    router.reconcile_once()
    held = set(router.reconciler.guard.held)
    assert len(held) == 31
    router.held_deletes.ask(math.inf)
    empty_lists(full.kube, "Route")
    until(router.held_deletes.is_listed)
    router.reconcile_once()
    assert (served(full), served(full, "bank", 20)) == (0, 20)
    assert router.reconciler.guard.held.isdisjoint(held)
    assert router.reconciler.guard.since is not None


def test_small_passes_are_one_burst(full, running):
    """Deletes that come one after the other, each seen by a pass of its own."""
    router = running()
    for n in range(ROUTES):
        full.kube.delete("Route", "shop", f"r{n}")
        router.wait(lambda gone=n + 1: len(deletes(full)) >= gone or router.router.reconciler.guard.held)
    assert served(full) > 0
    router.wait(lambda: router.router.reconciler.guard.held)
    router.wait(lambda: not served(full))


@pytest.mark.parametrize("count", [15, 31])
def test_what_is_not_most_goes_at_once(full, running, count):
    """Fewer than twenty objects, or not more than half."""
    full.apply(*routes("bank", 60), *manifests.service("bank", "web", pods=("10.1.2.1",)))
    router = running()
    router.wait(lambda: served(full, "bank", 60) == 60)
    for n in range(count):
        full.kube.delete("Route", "bank", f"r{n}")
    router.wait(lambda: served(full, "bank", 60) == 60 - count)
    assert router.router.reconciler.guard.held_ever == 0


def test_a_restart_with_leftovers(full):
    """Once: held back, and confirmed by a list of its own."""
    for n in range(ROUTES):
        full.kube.delete("Route", "shop", f"r{n}")
    router = full.router()
    assert full.converge(router) == []
    assert router.reconciler.guard.held_ever == 31
    assert served(full) == 0
    full.clear()
    assert full.converge() == []
    assert full.writes() == []


def test_once_without_a_second_list(full):
    """Exit status 1, the reason, and nothing is deleted; what is new is served."""
    for n in range(ROUTES):
        full.kube.delete("Route", "shop", f"r{n}")
    full.apply(manifests.route("new", host="new.com"))
    router = full.router()
    assert router.cluster.wait_synced(DEADLINE_S)
    full.kube.inject("503", times=None, method="list")
    (reason,) = once.converge(router, threading.Event(), sync_timeout_s=0.5)
    assert "Holding 30 deletes: they would remove 30 of 32 serving objects" in reason
    assert served(full) == ROUTES
    assert full.admitted("shop", "new")["status"] == "True"


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_kill_while_deletes_are_held_back(full, confirmed):
    """The next router holds them back anew, asks for a list of its own, and goes on from there.

    confirmed: the killed router had its second list, and none of its deletes reached the device.
    """
    for n in range(ROUTES):
        full.kube.delete("Route", "shop", f"r{n}")
    killed = full.router()
    assert killed.cluster.wait_synced(DEADLINE_S)
    killed.reconcile_once()
    assert len(killed.reconciler.guard.held) == 31
    if confirmed:
        killed.held_deletes.ask(math.inf)
        until(killed.held_deletes.is_listed)
        full.bigip.inject("drop-request", method="PATCH", path=DRAFTS, times=None)  # a list without Rules
        full.bigip.inject("drop-request", method="DELETE", times=None)
        with pytest.raises(Unreachable):
            killed.reconcile_once()
        full.bigip.clear_faults()
    assert any(DRAFTS in path for _, path in full.writes()) == confirmed
    assert served(full) == ROUTES
    full.clear()
    router = full.router()
    assert router.cluster.wait_synced(DEADLINE_S)
    router.reconcile_once()
    assert deletes(full) == []
    assert len(router.reconciler.guard.held) >= 30
    assert full.converge(router) == []
    assert served(full) == 0


def test_a_standby_deletes_nothing_that_was_held_back(full, running):
    """Neither before nor after the second list; once it is active again, what was confirmed goes."""
    full.timing = replace(full.timing, failover_s=0.05)
    router = running()
    full.bigip.set_failover("STANDBY")
    health = router.router.monitor.health
    router.wait(lambda: any(check.problem for check in health.ready() if check.name == "bigip-active"))
    with full.kube.lock:
        for n in range(ROUTES):
            full.kube.delete("Route", "shop", f"r{n}")
    full.apply(manifests.route("late", host="late.com"))
    router.wait(lambda: full.pending("late"))
    assert (served(full), deletes(full)) == (ROUTES, [])
    full.bigip.set_failover(unit.ACTIVE)
    router.wait(lambda: full.admitted("shop", "late").get("status") == "True")
    router.wait(lambda: not served(full))
    assert router.router.reconciler.guard.held_ever >= 30


def test_the_flag(full):
    for n in range(ROUTES):
        full.kube.delete("Route", "shop", f"r{n}")
    router = full.router(allow_mass_delete="true")
    assert full.converge(router) == []
    assert router.reconciler.guard.held_ever == 0
    assert served(full) == 0


def test_plan_shows_what_would_go(full, capsys):
    for n in range(ROUTES):
        full.kube.delete("Route", "shop", f"r{n}")
    preflight.plan(full.config(), output="table")
    shown = capsys.readouterr().out
    assert sum(line.startswith("  - delete") for line in shown.splitlines()) == 31
    assert "31 of 32 serving objects would be removed" in shown


def test_a_host_that_another_namespace_gets_is_no_mass(full, running):
    """Old forms of Hosts that are served go at once, however many: they lead to the other's pods."""
    full.apply(*manifests.service("bank", "web", pods=("10.1.2.1",)))
    router = running()
    taken = [manifests.route(f"r{n}", namespace="bank", host=f"shop{n}.com") for n in range(ROUTES)]
    with full.kube.lock:
        for n in range(ROUTES):
            full.kube.delete("Route", "shop", f"r{n}")
        full.apply(*taken)
    router.wait(lambda: all(
        decide(full.bigip.store, "/Common/ose-vserver", Request(f"shop{n}.com", "/")).pool
        == "/Common/openshift_bank_web" for n in range(ROUTES)))
    assert router.router.reconciler.guard.held_ever == 0


def services(count: int = ROUTES) -> list[dict]:
    return [obj for n in range(count) for obj in (
        *manifests.service("shop", f"s{n}", pods=(f"10.1.3.{n + 1}",)),
        manifests.route(f"r{n}", host=f"shop{n}.com", service=f"s{n}"))]


@pytest.mark.parametrize("restarted", [True, False])
def test_a_list_without_endpoints(full, running, restarted, caplog):
    """Pools keep their members until the list that confirms; it has them again."""
    full.apply(*services())
    assert full.converge() == []
    full.clear()
    if restarted:
        wrong_lists(full.kube, "endpointslices", "services")
        router = running()
        router.wait(lambda: "Keeping the members of" in " ".join(told(caplog)))
    else:
        router = running()
        gone = empty_lists(full.kube, "EndpointSlice", "Service")
        router.wait(lambda: told(caplog, SUSPICIOUS))
        full.apply(*gone)
    router.wait(lambda: not router.router.reconciler.guard.emptied)
    assert [members(full, f"shop_s{n}") for n in range(ROUTES)] == [1] * ROUTES
    assert not [path for _, path in full.writes() if "members" in path]


def test_endpoints_that_are_gone_leave_after_a_restart(full, running):
    """The second list confirms it."""
    full.apply(*services())
    assert full.converge() == []
    empty_lists(full.kube, "EndpointSlice")
    router = running()
    router.wait(lambda: not any(members(full, f"shop_s{n}") for n in range(ROUTES)))


def test_examples_name_hosts(full, caplog):
    for n in range(ROUTES):
        full.kube.delete("Route", "shop", f"r{n}")
    full.converge()
    (record,) = [record for record in caplog.records if record.getMessage() == "holding deletes"]
    assert len(record.hosts.split(", ")) == held_deletes.EXAMPLES
    assert "shop0.com" in record.hosts
    assert record.levelno == logging.ERROR
