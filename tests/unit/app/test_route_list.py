"""The list of all Routes on the status page: when it is made, and what of it is made again."""

import datetime
from dataclasses import replace

from f5router.admission.condition import Verdict
from f5router.app.route_list import FRESH_S, REMADE_S, SHARE, STALE_S, Input, RouteList
from f5router.icontrol.statistics import PoolStatistics, Traffic
from f5router.model.cluster import Key
from f5router.views import snapshots
from f5router.views.records import Known
from f5router.views.route_view import RouteState
from tests.builders import endpoints, route, service
from tests.unit.views.bench import Bench

NOW = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)
POOL = "/Common/openshift_shop_web"


class Lister:
    """A list of two Routes with one pool, with clocks that are set by hand."""

    def __init__(self):
        bench = Bench(route("b"), route("a", path="/a"), service(), endpoints("10.129.0.5", "10.129.0.6"))
        self.records = [snapshots.route(bench, Key("shop", name), Known(Verdict(True), 0.0)) for name in "ba"]
        self.at = self.spent = 0.0
        self.step, self.lists, self.pools = 0.0, 0, {}
        self.list = RouteList(self._take, clock=lambda: self.at, wall=lambda: NOW, cost=self._cost)

    def _take(self):
        self.lists += 1
        return Input(self.records, (), self.pools)

    def _cost(self):
        self.spent += self.step
        return self.spent

    def get(self, revision=1):
        return self.list.get(revision).routes

    def states(self, revision=1) -> set[RouteState]:
        return {each.state for each in self.get(revision)}


def test_it_is_made_again_after_a_change_or_some_time():
    lister = Lister()
    assert [each.key.name for each in lister.get()] == ["a", "b"]
    lister.get()
    assert lister.lists == 1
    lister.get(revision=2)
    assert lister.lists == 2
    lister.at += FRESH_S
    lister.get(revision=2)
    assert lister.lists == 3


def test_a_long_list_takes_its_share_of_the_time_and_no_more():
    """However often something changes; and it is never older than STALE_S."""
    lister = Lister()
    lister.step = 0.1
    lister.get()
    for lister.at in (0.5, SHARE * 0.1 - 0.01):
        lister.get(revision=lister.at)
        assert lister.lists == 1
    lister.at, lister.step = SHARE * 0.1, 100.0
    lister.get(revision=2)
    assert lister.lists == 2
    lister.at += STALE_S
    lister.get(revision=3)
    assert lister.lists == 3


def test_a_list_that_leaves_out_a_change_says_so():
    """Nobody is woken for that change again: who reads the list has to come back."""
    lister = Lister()
    lister.step = 0.1
    assert lister.list.get(1).is_current
    assert not lister.list.get(2).is_current
    lister.at = SHARE * 0.1
    assert lister.list.get(2).is_current
    assert lister.lists == 2


def test_a_summary_is_kept_while_nothing_of_it_changes():
    lister = Lister()
    first = lister.get()
    lister.records = [replace(lister.records[0], known=Known(Verdict(False, "HostAlreadyClaimed", "x"), 1.0)),
                      lister.records[1]]
    second = lister.get(revision=2)
    assert second[0] is first[0]
    assert second[1].state is RouteState.REJECTED
    lister.at += REMADE_S  # the days until a certificate expires
    assert lister.get(revision=2)[0] is not second[0]


def test_a_virtual_server_that_somebody_disables():
    lister = Lister()
    assert lister.states() == {RouteState.SERVED}
    lister.records = [replace(each, http=replace(each.http, enabled=False)) for each in lister.records]
    assert lister.states(revision=2) == {RouteState.UNANSWERED}


def test_statistics_of_pools_count_while_they_are_those_of_its_members():
    lister = Lister()

    def state(**values) -> set[RouteState]:
        lister.at += FRESH_S
        lister.pools = {POOL: PoolStatistics(Traffic(0, 0, 0, 0, 0, 0, 0), **values)}
        return lister.states()

    assert state(members=2, active=0) == {RouteState.UNANSWERED}
    assert state(members=2, active=1) == {RouteState.SERVED}
    assert state(members=2, active=0, is_checked=False) == {RouteState.SERVED}
    assert state(members=1, active=0) == {RouteState.SERVED}, "read before a pod came"
    lister.pools = {}
    assert lister.states(revision=9) == {RouteState.SERVED}
