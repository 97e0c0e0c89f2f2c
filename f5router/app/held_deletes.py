"""Deletes that are held back: logged, and confirmed by a second list of the cluster where that is due."""

import logging
import math
import threading
import time

from f5router.kube.cluster_watch import ClusterWatcher
from f5router.reconcile.reconciler import Reconciler

log = logging.getLogger(__name__)

EXAMPLES = 5
"""Hosts that the log names."""

POLL_S = 0.05
"""Between two looks at a list that is waited for."""

ADVICE = ("check --namespace, --labels and the other settings that select Routes, and the API server; "
          "--allow-mass-delete allows it at once")

KEPT_ADVICE = ("give their Services the type NodePort, or set --pool-member-type=cluster again; "
               "--allow-mass-delete empties the pools")


class HeldBack:
    """Follows a DeleteGuard; one thread uses it."""

    def __init__(self, reconciler: Reconciler, cluster: ClusterWatcher, *, confirm_s: float,
                 of_nodes: bool = False):
        """Args:
            confirm_s: from the moment when something is held back to the request for the second list.
            of_nodes: Nodes are the pool members; addresses of pods are needed only while pools keep theirs.
        """
        self._reconciler, self._guard, self._cluster = reconciler, reconciler.guard, cluster
        self._confirm_s = confirm_s
        self._asked_for: float | None = None
        """The `since` for which a list was asked for."""
        self._logged_since: float | None = None
        """The `since` that was logged."""
        self._confirmed = False
        self._needs_pods = of_nodes
        """True if addresses of pods are read that are needed no more once no pool keeps its pods."""
        self._kept_logged = False
        """True if it was logged that pools keep their pods."""
        self._unread_logged: frozenset[str] = frozenset()
        """Kinds that are not known, and were logged as the reason why objects stay."""

    def ask_at(self) -> float | None:
        """Return when to request the second list; None if none is needed, or it was requested."""
        since = self._guard.since
        return None if since is None or since == self._asked_for else since + self._confirm_s

    def ask(self, now: float) -> None:
        """Request the second list, if it is time."""
        if (at := self.ask_at()) is not None and at <= now:
            self._asked_for = self._guard.since
            self._guard.ask()
            self._cluster.relist()

    def is_listed(self) -> bool:
        """True if the second list is complete, and not yet used."""
        return (self._guard.since is not None and self._asked_for == self._guard.since
                and self._cluster.relisted())

    def wait(self, stop: threading.Event, timeout_s: float) -> bool:
        """Request the second list when it is time, and wait for it; False if there is none, or no need.

        Args: timeout_s: longest wait for the list; stop: ends every wait.
        """
        if self._guard.since is None or stop.wait(self._confirm_s):
            return False
        self.ask(math.inf)
        end = time.monotonic() + timeout_s
        while not self.is_listed():
            if time.monotonic() >= end or stop.wait(POLL_S):
                return False
        return True

    def confirm(self) -> None:
        """Let the next pass go ahead: the second list has been applied."""
        self._reconciler.confirm_deletes()
        self._confirmed = True

    def pass_ended(self) -> None:
        """Log what a pass has changed, and forget the addresses of pods once no pool keeps its pods."""
        if self._needs_pods and self._reconciler.loaded and not self._guard.kept:
            self._needs_pods = False
            self._cluster.forget_addresses()
            self._reconciler.engine.cluster.forget_addresses()
        self.log_changes()

    def log_changes(self) -> None:
        """Log the beginning and the end of holding back, once each."""
        retention = self._reconciler.retention
        if retention.unread_kinds - self._unread_logged:
            log.warning("keeping objects of kinds that could not be listed", extra={
                "objects": len(retention.of_unread),
                "kinds_not_read": ", ".join(sorted(retention.unread_kinds))})
        self._unread_logged = retention.unread_kinds
        if kept := self.kept():
            if not self._kept_logged:
                log.error("keeping pool members that the settings would remove", extra={"problem": kept})
        elif self._kept_logged:
            log.warning("kept pool members released")
        self._kept_logged = bool(kept)
        since = self._guard.since
        if since is not None and since != self._logged_since:
            log.error("holding deletes", extra={"problem": self.reason(), "hosts": ", ".join(
                self._reconciler.retention.held_hosts(EXAMPLES))})
        elif since is None and self._logged_since is not None:
            log.warning("held-back deletes released", extra={
                "because": "a second list confirms them" if self._confirmed else "they are needed again"})
        if since != self._logged_since:
            self._logged_since, self._confirmed = since, False

    def kept(self) -> str:
        """Return which pools keep their pods, and what to do; "" for none."""
        if not (pools := self._guard.kept):
            return ""
        engine = self._reconciler.engine
        routes = sum(engine.pool_of(key) in pools for key in engine.routes())
        return (f"{len(pools)} pools keep their pods: --pool-member-type=nodeport leaves them no member, as "
                f"no Service of theirs has a node port, and {routes} Routes would answer 503; {KEPT_ADVICE}")

    def reason(self) -> str:
        """Return what is held back, and what to do; "" for nothing."""
        if self._guard.since is None:
            return ""
        deletes, total = self._guard.figures
        parts = []
        if self._guard.held:
            parts.append(f"Holding {len(self._guard.held)} deletes: they would remove {deletes} of {total} "
                         "serving objects")
        if self._guard.emptied:
            listed = "Node" if self._guard.lacks_nodes else "endpoint"
            parts.append(
                f"Keeping the members of {len(self._guard.emptied)} pools: no {listed} is listed")
        if self._guard.ways:
            parts.append(f"Keeping {len(self._guard.ways)} FDB records or static routes: their Nodes are not "
                         "listed")
        return f"{'; '.join(parts)}. A second cluster list must confirm this; {ADVICE}"
