"""The part that a router has among its replicas: the leader writes, the others are ready to take over."""

import logging
import math
import time
from collections.abc import Callable, Iterable

from f5router.app.monitor import Monitor
from f5router.app.pass_backoff import PassBackoff
from f5router.app.settling import Settling
from f5router.app.status_reporter import StatusReporter
from f5router.app.takeover import Takeover
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.lease.campaign import Campaign
from f5router.model.cluster import Key
from f5router.reconcile.inbox import Message
from f5router.reconcile.reconciler import Reconciler

log = logging.getLogger(__name__)

POLL_S = 0.05

LISTS_S = 30.0
"""Longest wait of a new leader for new lists of the cluster. Without them, as where a kind may not be read
any more, it goes on with what it knows, as a router without replicas does."""


class Replica:
    """Follows the election. The thread of the loop uses it."""

    def __init__(self, campaign: Campaign | None, cluster: ClusterWatcher, reconciler: Reconciler,
                 monitor: Monitor, reporter: StatusReporter, settling: Settling, backoff: PassBackoff,
                 takeover: Takeover, *, observe_interval_s: float, take: Callable[[Message], None],
                 clock: Callable[[], float]):
        """Args:
        campaign: None for a router without replicas, which always leads.
        take: calls a message of the inbox, and raises nothing.
        """
        self.campaign, self._cluster, self._reconciler, self._monitor = campaign, cluster, reconciler, monitor
        self._reporter, self._settling, self._backoff, self._take = reporter, settling, backoff, take
        self.takeover, self._observe_interval_s, self._clock = takeover, observe_interval_s, clock
        self.is_elected = campaign is not None
        """True if there is an election."""
        monitor.health.follows = self.is_elected
        self.leads = campaign is None
        """True if the loop writes."""
        reconciler.rollouts.follows = not self.leads
        self.observed_at = float("-inf")
        """When a follower last began to read the BIG-IP, in monotonic seconds."""
        self._is_warm = False
        """True for a router that has read the BIG-IP as a follower, since it last led."""
        self._lists_until: float | None = None
        """End of the wait for new lists of the cluster; None for a router that has not been elected."""

    @property
    def has_changed(self) -> bool:
        """True if leadership has begun or ended, and `update` is due."""
        if self.campaign is None or self.leads == self.campaign.leads():
            return False
        if self.leads or self._lists_until is None:
            return True
        return self._clock() >= self._lists_until or self._cluster.relisted()

    @property
    def is_taking_over(self) -> bool:
        """True for an elected router until it has read the BIG-IP, if it has followed before."""
        return (self._is_warm and not (self.leads and self._reconciler.has_read)
                and self.campaign is not None and self.campaign.leads())

    def record(self, services: Iterable[Key]) -> None:
        """Take Services whose endpoints have changed: a leader that ends may not have written them."""
        if self._is_warm and not (self.leads and self._reconciler.has_read):
            self.takeover.record(services)

    def update(self) -> None:
        """Begin to lead, or to follow, as the election has decided. No pass is under way.

        A follower may not have noticed that its watches are dead. With an old view it would delete what is
        newer, and lead requests to addresses that other pods have by now. So it lists everything again first.
        """
        if self.campaign is None:
            return
        if not self.campaign.leads():
            self._lists_until = None  # elected again, it lists again
        elif not self.leads and self._lists_until is None:
            self._lists_until = self._clock() + LISTS_S
            self._cluster.relist()
        if not self.has_changed or (self._lists_until is None and not self.leads):
            return
        if not self.leads and not self._cluster.relisted():
            log.warning("leading without a fresh list of the cluster", extra={"waited_s": LISTS_S})
        self.leads = not self.leads
        self._reconciler.start_over(follows=not self.leads)
        self._monitor.health.follows = not self.leads
        if self.leads:
            self._backoff.block(0.0)
            self._settling.record_write()  # the leader before may have ended between a write and its saving
        else:
            self.observed_at, self._is_warm = float("-inf"), False
            self.takeover.forget()
            self._reporter.statuses.drop_requests()
            self._reporter.forget()

    def due_at(self) -> float:
        """Return when a follower has something to do, if no event comes."""
        if self.is_taking_over and self._reconciler.engine.has_changed_pools:
            return -math.inf
        if self._reconciler.reader.reading is not None:
            return math.inf
        return self.observed_at + self._observe_interval_s if self._lists_until is None else self._lists_until

    def follow(self) -> None:
        """Keep up with the BIG-IP, and stand for election once nothing of an earlier term is under way."""
        if self._reconciler.reader.reading is None and self._lists_until is None and (
                self._clock() >= self.observed_at + self._observe_interval_s):
            self.observed_at = self._clock()
            self._reconciler.read(create_folder=False)
        self._reconciler.forget_changes()
        self._reporter.follow()
        if self.campaign is None or self.campaign.leads():
            return
        self.takeover.forget_readings()  # another router may lead before this one does again
        if self._is_quiet():
            self.campaign.stand()

    def warmed_up(self) -> None:
        """Take the end of a reading as a follower: this router is ready to take over."""
        self._monitor.health.warmed_up = self._is_warm = True

    def hand_over(self, timeout_s: float) -> None:
        """End all writes, and let another router lead at once. Requests under way have some time to end."""
        if self.campaign is None:
            return
        self._reporter.stop()
        end = time.monotonic() + timeout_s
        while not self._is_quiet():
            if time.monotonic() >= end:
                log.warning("lease not released", extra={"because": "a write is still under way"})
                return
            for message in self._reconciler.inbox.take(POLL_S):
                self._take(message)
        self.campaign.stop()

    def _is_quiet(self) -> bool:
        """True if no write is under way."""
        return all(unit.dispatcher.is_quiet for unit in self._reconciler.device.pair.units)
