"""held_deletes.py: the second list of the cluster, which confirms deletes that are held back."""

import logging
import threading

import pytest

from f5router.app.held_deletes import HeldBack
from f5router.model.limits import LEAST
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.reconcile.delete_guard import DeleteGuard
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers

CONFIRM_S = 5.0
FIRST, SECOND = (frozenset(Ref("ltm/policy/rules", f"{name}{n}") for n in range(LEAST)) for name in "ab")


class Cluster:
    """Lists the cluster anew on request."""

    def __init__(self):
        self.requests = 0
        self.complete = False
        self.on_relist = lambda: None

    def relist(self) -> None:
        self.requests += 1
        self.on_relist()

    def relisted(self) -> bool:
        return self.complete


class Router:
    """A Reconciler and a cluster as HeldBack sees them."""

    def __init__(self, *, confirm_s: float = CONFIRM_S):
        there = dict.fromkeys(FIRST | SECOND, Pool("/Common/x"))
        self.table = Table(lambda: ({}, there), Timers(), lambda: 0.0)
        self.guard, self.cluster, self.retention = DeleteGuard(self.table), Cluster(), self
        self.confirmed: list[set[Ref]] = []
        self.of_unread, self.unread_kinds = FIRST, frozenset()
        self.held = HeldBack(self, self.cluster, confirm_s=confirm_s)

    def hold(self, refs: frozenset[Ref], now: float) -> None:
        """Let the guard hold these deletes back: all that there is on the device."""
        self.guard.review(refs, refs, total=lambda: len(refs), now=now)
        assert self.guard.held == refs

    def confirm_deletes(self) -> None:
        self.confirmed.append({ref for ref, row in self.table.rows.items() if row.is_asked})
        self.guard.confirm()

    def held_hosts(self, most: int) -> list[str]:
        return ["a.com", "b.com"][:most]


def messages(caplog) -> list[str]:
    """Messages so far; forgotten then."""
    texts = [record.message for record in caplog.records]
    caplog.clear()
    return texts


def test_nothing_is_requested_while_nothing_is_held_back():
    router = Router()
    assert router.held.ask_at() is None
    router.held.ask(1e9)
    router.cluster.complete = True
    assert (router.cluster.requests, router.held.is_listed(), router.held.reason()) == (0, False, "")


def test_the_second_list_is_requested_once_and_not_at_once():
    """An API server that lists nothing by mistake needs a moment before it lists everything."""
    router = Router()
    router.hold(FIRST, now=100.0)
    assert router.held.ask_at() == 100.0 + CONFIRM_S
    router.held.ask(100.0 + CONFIRM_S - 0.1)
    assert router.cluster.requests == 0
    router.held.ask(100.0 + CONFIRM_S)
    router.held.ask(200.0)
    assert (router.cluster.requests, router.held.ask_at()) == (1, None)


def test_only_a_complete_list_that_was_requested_counts():
    """A list that was complete before the request confirms nothing."""
    router = Router()
    router.cluster.complete = True
    router.hold(FIRST, now=100.0)
    assert not router.held.is_listed()
    router.cluster.complete = False
    router.held.ask(200.0)
    assert not router.held.is_listed()
    router.cluster.complete = True
    assert router.held.is_listed()


def test_a_list_confirms_only_what_was_held_back_when_it_was_requested():
    """The list itself may lack what is held back since."""
    router = Router()
    router.hold(FIRST, now=100.0)
    router.held.ask(200.0)
    router.hold(FIRST | SECOND, now=201.0)
    router.held.confirm()
    assert router.confirmed == [FIRST]


def test_deletes_that_are_held_back_later_need_a_list_of_their_own():
    router = Router()
    router.hold(FIRST, now=100.0)
    router.held.ask(200.0)
    router.cluster.complete = True
    router.held.confirm()
    router.hold(SECOND, now=300.0)
    assert not router.held.is_listed()
    assert router.held.ask_at() == 300.0 + CONFIRM_S
    router.held.ask(400.0)
    router.held.confirm()
    assert (router.cluster.requests, router.confirmed) == (2, [FIRST, SECOND])


def test_a_single_pass_waits_for_the_list():
    router = Router(confirm_s=0.0)
    stop = threading.Event()
    assert not router.held.wait(stop, timeout_s=0.0), "nothing is held back"
    router.hold(FIRST, now=100.0)
    assert not router.held.wait(stop, timeout_s=0.0), "the list does not come"
    router.cluster.complete = True
    assert router.held.wait(stop, timeout_s=0.0)
    assert router.cluster.requests == 1


def test_a_stop_ends_the_wait_before_the_list():
    router, stop = Router(confirm_s=3600.0), threading.Event()
    router.hold(FIRST, now=100.0)
    stop.set()
    assert not router.held.wait(stop, timeout_s=3600.0)
    assert router.cluster.requests == 0


def test_a_stop_ends_the_wait_for_the_list():
    router, stop = Router(confirm_s=0.0), threading.Event()
    router.cluster.on_relist = stop.set
    router.hold(FIRST, now=100.0)
    assert not router.held.wait(stop, timeout_s=3600.0)
    assert router.cluster.requests == 1


@pytest.mark.parametrize(("confirmed", "because"), [
    (True, "a second list confirms them"), (False, "they are needed again")])
def test_beginning_and_end_are_logged_once(caplog, confirmed, because):
    caplog.set_level(logging.WARNING)
    router = Router()
    router.hold(FIRST, now=100.0)
    router.held.log_changes()
    router.held.log_changes()
    (record,) = caplog.records
    assert (record.message, record.hosts) == ("holding deletes", "a.com, b.com")
    assert record.problem == router.held.reason()
    caplog.clear()
    if confirmed:
        router.held.ask(200.0)
        router.held.confirm()
    else:
        router.guard.review(frozenset(), frozenset(), total=lambda: 0, now=150.0)
    router.held.log_changes()
    (record,) = caplog.records
    assert (record.message, record.because) == ("held-back deletes released", because)
    router.held.log_changes()
    assert messages(caplog) == ["held-back deletes released"]


def test_a_confirmation_is_not_believed_of_the_next_time(caplog):
    router = Router()
    router.hold(FIRST, now=100.0)
    router.held.log_changes()
    router.held.confirm()
    router.held.log_changes()
    router.hold(SECOND, now=300.0)
    router.held.log_changes()
    router.guard.review(frozenset(), frozenset(), total=lambda: 0, now=350.0)
    router.held.log_changes()
    assert caplog.records[-1].because == "they are needed again"


def test_the_reason_names_figures_and_what_to_do():
    router = Router()
    router.hold(FIRST, now=100.0)
    router.guard.review_emptied(list(SECOND), total=LEAST, now=100.0, of_nodes=False)
    text = router.held.reason()
    assert f"Holding {LEAST} deletes: they would remove {LEAST} of {LEAST} serving objects" in text
    assert f"Keeping the members of {LEAST} pools" in text
    assert "--allow-mass-delete" in text


def test_what_stays_for_sources_that_are_not_known_is_logged_once(caplog):
    router = Router()
    for kinds, lines in (((), 0), (("Ingress",), 1), (("Ingress",), 0), (("IngressRoute", "Ingress"), 1),
                         (("Ingress",), 0), ((), 0), (("Ingress",), 1)):
        router.unread_kinds = frozenset(kinds)
        router.held.log_changes()
        assert messages(caplog) == ["keeping objects of kinds that could not be listed"] * lines
