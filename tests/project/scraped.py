"""The page of a router that has every metric."""

import datetime
from dataclasses import replace

from f5router.admission.admission import EvaluatedRoute
from f5router.admission.condition import Verdict
from f5router.app.incidents import CODES
from f5router.icontrol.rest.request_times import RequestTimes
from f5router.icontrol.statistics import MemberStatistics, PoolStatistics, Traffic, VirtualStatistics
from f5router.kube.api.counts import FAILURES, LISTS, WATCHES, WatchCounts
from f5router.model.client_tls import TLSKeyPair, Validity
from f5router.model.cluster import Key
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.monitoring.collectors import Sources
from f5router.monitoring.growth import Rate
from f5router.monitoring.members import SeenHealth
from f5router.monitoring.metrics import Metrics
from f5router.monitoring.statistics import MEMBER, POOL, SUCCESS, VIRTUAL_SERVER, Statistics
from f5router.plan.change import CREATE, Change
from f5router.reconcile.change_times import ChangeTimes
from f5router.reconcile.drift_counts import DriftCounts
from f5router.reconcile.report import Report
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from tests import builders


def page() -> bytes:
    """Metrics of a router that has everything: a pair, and replicas."""
    times, pool = RequestTimes(), Ref("ltm/pool", "/Common/a")
    times.record("GET", "/mgmt/tm/ltm/pool", 200, 0.1)
    table = Table(lambda: ({pool: Pool(pool.path)}, {}), Timers(), lambda: 0.0)
    changes, drift, watches = ChangeTimes(table, lambda: 0.0), DriftCounts(), WatchCounts()
    table.touch([pool], since=0.0)
    changes.written(pool)
    drift.find(pool, is_wrong=True)
    drift.written(pool)
    for what in (LISTS, WATCHES, FAILURES):
        watches.add(what, "routes")
    end = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
    ending = TLSKeyPair("", "", "", "", Validity((), soon, soon))
    pair = TLSKeyPair("", "", "", "", Validity((), end, end))
    traffic, member = Traffic(1, 2, 3, 4, 5, 6, 7), (pool.path, "10.1.0.1:80")
    server = VirtualStatistics(replace(traffic, queued=None), {"2xx": 1}, 1)
    objects = ((POOL, pool.path), (VIRTUAL_SERVER, "/Common/vs"), (MEMBER, *member))
    statistics = Statistics(
        "big-1", 1.0, {pool.path: PoolStatistics(traffic, 2, 1)}, {"/Common/vs": server}, Traffic(),
        dict.fromkeys(objects, Rate(1.0, 2.0)),
        {member: (MemberStatistics(traffic), SeenHealth(is_up=True, is_available=True))})
    counters = Metrics(Sources(
        lambda: {"GET": 1}, {"status": lambda: 1}, lambda: {"written": 1}, active=lambda: True,
        findings=lambda: dict.fromkeys(CODES, 0), servers=lambda: {"/Common/vs": True}, saved=lambda: True,
        in_sync=lambda: True, units=lambda: {"a": True}, leader=lambda: (True, 1),
        request_times=lambda: [times.durations()], times=changes, drift=drift, watches=watches.counts,
        unreadable=lambda: {"secrets": 1}, objects=lambda: {pool: None},
        writes_refused=lambda: {pool.kind: 1},
        default_certificate=lambda: pair, statistics=lambda: statistics,
        readings=lambda: {SUCCESS: 1},
        routes=lambda: {Key("shop", "a"): EvaluatedRoute(builders.route("a"), key_pair=ending)}),
        most_pools=1, most_members=1)
    counters.wrote(Change(CREATE, None, Pool(pool.path)))
    key = Key("shop", "a")
    counters.record(Report(False, {key: Verdict(False, "RouteNotAdmitted", "no")}, {key: ()}), {key: None})
    return counters.page("text/plain")[0]
