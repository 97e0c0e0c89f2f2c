"""The page of a router that has every metric, and promtool of Debian's package `prometheus`."""

import datetime
import subprocess

from f5router.icontrol.outcome import Outcome
from f5router.icontrol.rest.request_times import RequestTimes
from f5router.icontrol.statistics import PoolStatistics, Traffic
from f5router.kube.api.counts import FAILURES, LISTS, WATCHES, WatchCounts
from f5router.model.client_tls import TLSKeyPair, Validity
from f5router.model.cluster import Key
from f5router.model.errors import Refused
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.monitoring.collectors import Sources
from f5router.monitoring.metrics import Metrics
from f5router.monitoring.statistics import Statistics
from f5router.plan.change import CREATE, Change
from f5router.reconcile.change_times import ChangeTimes
from f5router.reconcile.drift_counts import DriftCounts
from f5router.reconcile.report import Report
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from f5router.status.condition import Verdict


def promtool(*arguments: str, stdin: bytes | None = None) -> str:
    """The output of promtool, which must succeed."""
    done = subprocess.run(["promtool", *arguments], input=stdin, capture_output=True, check=False)
    output = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, output
    return output


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
    pair = TLSKeyPair("", "", "", "", Validity((), end, end))
    statistics = Statistics("big-1", 1.0, {pool.path: PoolStatistics(Traffic(1, 2, 3, 4, 5), 2, 1)},
                            {"/Common/vs": Traffic(1, 2, 3, 4, 5)}, Traffic())
    counters = Metrics(Sources(
        lambda: {"GET": 1}, {"status": lambda: 1}, lambda: {"written": 1}, active=lambda: True,
        in_sync=lambda: True, units=lambda: {"a": True}, leader=lambda: (True, 1),
        request_times=lambda: [times.durations()], times=changes, drift=drift, watches=watches.counts,
        objects=lambda: {pool: None}, default_certificate=lambda: pair, statistics=lambda: statistics),
        most_pools=1)
    counters.wrote(Change(CREATE, None, Pool(pool.path)))
    key = Key("shop", "a")
    counters.record(Report(Outcome(failed={pool: Refused("POST", "x")}), False,
                           {key: Verdict(False, "RouteNotAdmitted", "no")}, {key: ()}), {key: None})
    return counters.page("text/plain")[0]
