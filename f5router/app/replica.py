"""The part that a router has among its replicas: the leader writes, the others are ready to take over."""

import logging
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
                 takeover: Takeover, *, clock: Callable[[], float]):
        """Args: campaign: None for a router without replicas, which always leads."""
        self.campaign, self._cluster, self._reconciler, self._monitor = campaign, cluster, reconciler, monitor
        self._reporter, self._settling, self._backoff = reporter, settling, backoff
        self.takeover, self._clock = takeover, clock
        self.is_elected = campaign is not None
        """True if there is an election."""
        monitor.health.follows = self.is_elected
        self.leads = campaign is None
        """True if the loop writes."""
        reconciler.follows = not self.leads
        self._is_warm = False
        """True for a router that has read the BIG-IP as a follower, since it last led."""
        if campaign is not None:
            campaign.on_change = lambda leads: reconciler.inbox.put(self._elected if leads else self._deposed)

    @property
    def is_taking_over(self) -> bool:
        """True for an elected router until it has read the BIG-IP, if it has followed before."""
        return (self._is_warm and not (self.leads and self._reconciler.has_read)
                and self.campaign is not None and self.campaign.leads())

    def record(self, services: Iterable[Key]) -> None:
        """Take Services whose endpoints have changed: a leader that ends may not have written them."""
        if self._is_warm and not (self.leads and self._reconciler.has_read):
            self.takeover.record(services)

    # --- terms -----------------------------------------------------------------------------

    def _elected(self) -> None:
        """Read the BIG-IP and the cluster again, both at once: this router is to lead.

        A follower may not have noticed that its watches are dead. With an old view it would delete what is
        newer, and lead requests to addresses that other pods have by now. So it lists everything again first.
        """
        self._reconciler.start_over()
        self._backoff.block(0.0)
        self._reconciler.timers.at(self._clock() + LISTS_S, "lists", self.lead)
        self._cluster.relist()
        self._reconciler.read()

    @property
    def awaits_lists(self) -> bool:
        """True for an elected router until it leads."""
        return self._reconciler.timers.when("lists") is not None

    def lead(self) -> None:
        """Begin to write: the cluster was listed again, or that takes too long."""
        if not self._cluster.relisted():
            log.warning("leading without a fresh list of the cluster", extra={"waited_s": LISTS_S})
        self._reconciler.timers.cancel("lists")
        self.leads = True
        self._monitor.health.follows = False
        self._reconciler.lead()
        self._settling.record_write()  # the leader before may have ended between a write and its saving

    def _deposed(self) -> None:
        """Begin to follow: the term has ended."""
        self._reconciler.timers.cancel("lists")
        if not self.leads:
            return
        self.leads = self._is_warm = False
        self._reconciler.start_over()
        self._monitor.health.follows = True
        self.takeover.forget()
        self._reporter.statuses.drop_requests()
        self._reporter.forget()

    # --- as a follower ---------------------------------------------------------------------

    def follow(self) -> None:
        """Forget what another router does, and stand for election once no write of this one is under way."""
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

    # --- at the end ------------------------------------------------------------------------

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
                message()
        self.campaign.stop()

    def _is_quiet(self) -> bool:
        """True if no write is under way."""
        return all(unit.dispatcher.is_quiet for unit in self._reconciler.device.pair.units)
