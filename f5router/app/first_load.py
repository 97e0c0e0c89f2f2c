"""Progress of what takes long after the start: the lists of the cluster, and the first load."""

import logging
import math
import threading
from collections.abc import Callable

from f5router.kube.cluster_watch import ClusterWatcher
from f5router.logs.progress import Figures, Progress, counted, pace
from f5router.model.cluster import Key
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report

log = logging.getLogger(__name__)

PERIOD_S = 10.0
"""Time between two lines about the first load."""
SYNC_S, REFUSED_S = 60.0, 5.0
"""How long `--once` and `plan` wait for the cluster's lists, and for a right or a kind that is missing."""


def wait_synced(cluster: ClusterWatcher, timeout_s: float, *, refused_s: float, silent_s: float = math.inf,
                stop: threading.Event | None = None) -> bool:
    """Wait for the cluster's lists, and show it. Args: see ClusterWatcher.wait_synced."""
    with Progress.logged(log, "reading the cluster") as progress:
        return cluster.wait_synced(
            timeout_s, refused_s=refused_s, silent_s=silent_s, stop=stop, look=lambda: progress.update(
                lambda: Figures(fields={"missing": "; ".join(cluster.missing())})))


class FirstLoad:
    """Counts what the first load has written, and the Routes that it has served; the control loop uses it."""

    def __init__(self, reconciler: Reconciler, *, clock: Callable[[], float]):
        self.progress = Progress.logged(log, "first load", period_s=PERIOD_S, clock=clock)
        self._reconciler, self._clock = reconciler, clock
        self._began: float | None = None
        """When the first write was confirmed."""
        self._written = 0
        self._served: set[Key] = set()

    def record_write(self) -> None:
        """Count a confirmed write."""
        if self._began is None:
            self._began = self._clock()
        self._written += 1
        self.progress.update(self._figures)

    def record_pass(self, report: Report) -> None:
        """Take the Routes that a pass has served."""
        self._served.update(key for key, verdict in report.verdicts.items() if verdict.admitted)

    def end(self) -> None:
        """Forget what was served."""
        self._served.clear()

    def text(self) -> str:
        """Return how far it is, "500 of 3,200 writes, 0:00:12, about 0:01 left"; "" before the first write.

        Any thread may ask.
        """
        if self._began is None:
            return ""
        return pace(self._written, self._reconciler.first_load, self._clock() - self._began)

    def _figures(self) -> Figures:
        total, fields = self._reconciler.first_load, dict[str, object]()
        fields["pace"] = self.text()
        if self._served:  # from the end of the first portion on
            fields["routes"] = counted(len(self._served), len(self._reconciler.engine.routes()))
        return Figures(self._written, total, {"changes": counted(self._written, total), **fields})
