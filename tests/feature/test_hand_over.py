"""A leader that ends in the middle of its work: the next one does the rest, and nothing twice."""

import signal
from contextlib import ExitStack, closing
from dataclasses import replace

import pytest

from f5router.app.timing import SyncTiming
from mocks.bigip import unit
from mocks.bigip.faults import Fault
from mocks.bigip.requests import logged
from tests import manifests
from tests.feature.test_replicas import LEASE, Forwarder, holder
from tests.feature.test_replicas import replicas as replicas
from tests.waiting import DEADLINE_S, until

pytestmark = pytest.mark.bare

COUNT = 6
FEW = {"f5_max_in_flight": "2"}


def apply(lab) -> None:
    """Have a load with a pool for each Route."""
    for number in range(COUNT):
        lab.apply(*manifests.service("shop", f"s{number}", pods=(f"10.1.2.{number + 1}",)))
        lab.apply(manifests.route(f"r{number}", host=f"r{number}.example.com", service=f"s{number}"))


def served(lab) -> bool:
    return all(lab.admitted("shop", f"r{number}").get("status") == "True" for number in range(COUNT))


def changes(lab) -> list[tuple[str, str]]:
    """Requests that ask for a change, as the device has carried them out or refused them."""
    return [(entry.method, entry.path) for entry in list(lab.bigip.log) if entry.changes]


def saves(lab) -> int:
    return sum(entry.path == "/mgmt/tm/sys/config" for entry in list(lab.bigip.log))


class Device:
    """Keeps back all changes from the n-th one at a path on, and knows from whom each one came."""

    def __init__(self, lab, place: str, number: int):
        self._lab, self._place, self._left, self._holds = lab, place, number, True
        self.arrived: list[tuple[str, str]] = []
        """Token and path of each change."""
        lab.bigip.faults.draw = self._draw

    def _draw(self, request) -> Fault | None:
        if not logged(request, 0).changes:
            return None
        self.arrived.append((request.headers["X-F5-Auth-Token"], request.path))
        self._left -= self._place in request.path
        return Fault("hold") if self._holds and self._left <= 0 else None

    def let_go(self) -> None:
        self._holds = False
        self._lab.bigip.release()


def undisturbed(lab) -> int:
    """Return the number of writes of the load by a router that nothing happens to, which is undone."""
    state, routes = lab.bigip.state(), lab.routes()
    router = lab.router(**FEW)
    assert lab.converge(router) == []
    router.close()
    count = len(changes(lab))
    lab.bigip.put_back(state)
    lab.apply(*routes)
    lab.clear()
    return count


@pytest.mark.parametrize(("place", "number"), [("/ltm/pool", 3), ("~Drafts~", 3)], ids=["pools", "draft"])
@pytest.mark.parametrize("end", ["SIGKILL", "SIGTERM", "cut off"])
def test_a_load_whose_leader_ends(lab, replicas, end, place, number):
    """Both write as much as one does without that, and again what was under way.

    That is what the device has not answered, and the draft that nobody has published: made anew, or removed.
    The writes under way are carried out when the next one leads already. One that has lost its lease sends
    nothing more.
    """
    apply(lab)
    alone = undisturbed(lab)
    host, _, port = lab.kube.url.removeprefix("https://").rpartition(":")
    with ExitStack() as stack:
        forwarder = stack.enter_context(closing(Forwarder((host, int(port)))))
        device = Device(lab, place, number)
        if end == "cut off":
            first = replicas(master=f"https://127.0.0.1:{forwarder.port}", **FEW)
        else:
            first = lab.process("--listen-addr=none", **LEASE | FEW)
            stack.callback(first.kill)
        until(lambda: lab.bigip.held)
        leader = holder(lab)
        second = replicas(**FEW)
        until(lambda: second.is_ready() or second.leads())
        if end == "SIGTERM":
            first.send_signal(signal.SIGTERM)
            device.let_go()
            until(lambda: first.poll() is not None)
        elif end == "SIGKILL":
            first.kill()
            assert first.wait(DEADLINE_S) is not None
            until(second.leads)
            device.let_go()
        else:
            forwarder.cut()
            until(second.leads)
            before = len(device.arrived)
            device.let_go()
        until(lambda: served(lab))
        until(second.is_ready)
        if end == "cut off":
            assert device.arrived[0][0] not in [token for token, _ in device.arrived[before:]]
            first.stopping.set()
    assert holder(lab) == second.campaign.identity != leader
    in_draft = sum(token == device.arrived[0][0] and "/ltm/policy/" in path for token, path in device.arrived)
    under_way = lab.bigip.held + in_draft + (in_draft > 0)
    again = second.campaign.transitions // 2  # a busy machine may cost it the lease, too
    assert len(changes(lab)) <= alone * (1 + again) + under_way
    second.stop()
    lab.clear()
    assert lab.converge() == []
    assert changes(lab) == []


def test_an_error_at_the_end_does_not_release_the_lease(lab, replicas):
    """A write is under way: its end alone lets another router lead."""
    called: list[None] = []

    def fail() -> None:
        called.append(None)
        raise ZeroDivisionError

    apply(lab)
    first = replicas()
    until(lambda: served(lab))
    lab.bigip.inject("hold", method="PATCH", path="ltm/pool")
    lab.apply(manifests.endpoints("shop", "s1", ("10.1.2.99",)))
    until(lambda: lab.bigip.held)
    first.stopping.set()
    for number in range(3):  # the last one comes when the loop has ended
        first.router.inbox.put(fail)
        until(lambda number=number: len(called) > number)
    assert holder(lab) == first.campaign.identity
    lab.bigip.release()
    until(lambda: not holder(lab))


@pytest.mark.parametrize("end", ["stopped", "cut off"])
@pytest.mark.parametrize("path", ["/tm/sys/config", "/tm/cm$"], ids=["save", "sync"])
def test_a_hand_over_during_a_save(lab, replicas, end, path):
    """The next leader saves, and syncs, once more: it does not know how the one before has fared."""
    lab.bigip.join_group("pair")
    lab.bigip.set_sync(unit.IN_SYNC)
    lab.timing = replace(lab.timing, settle_s=0.05, exit_s=0.2, sync=SyncTiming(settle_s=0.1, wait_s=0.1))
    lab.bigip.inject("hold", method="POST", path=path)
    apply(lab)
    host, _, port = lab.kube.url.removeprefix("https://").rpartition(":")
    with closing(Forwarder((host, int(port)))) as forwarder:
        first = replicas(master=f"https://127.0.0.1:{forwarder.port}", f5_config_sync="push")
        until(lambda: lab.bigip.held)
        second = replicas(f5_config_sync="push")
        until(lambda: second.is_ready() or second.leads())
        carried_out = saves(lab)
        if end == "stopped":
            first.stopping.set()
            lab.bigip.release()
            carried_out = 1
        else:
            forwarder.cut()
        until(second.leads)
        until(lambda: saves(lab) > carried_out)
        until(lambda: second.router.settling.syncer.in_sync)
        lab.bigip.release()
        first.stop()
    assert lab.bigip.unit.overwritten == 0
