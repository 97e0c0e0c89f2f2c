"""The part that a router has among its replicas: the leader writes, the others are ready to take over."""

import logging
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
from f5router.reconcile.timers import Timers

log = logging.getLogger(__name__)

LISTS_S = 30.0
"""Longest wait of a new leader for new lists of the cluster. Without them, as where a kind may not be read
any more, it goes on with what it knows, as a router without replicas does."""


class Replica:
    """Follows the election. The thread of the loop uses it."""

    def __init__(self, campaign: Campaign | None, cluster: ClusterWatcher, reconciler: Reconciler,
                 monitor: Monitor, reporter: StatusReporter, settling: Settling, backoff: PassBackoff,
                 takeover: Takeover, *, observe_interval_s: float, timers: Timers,
                 writes_end: Callable[[float], bool], clock: Callable[[], float]):
        """Args:
        campaign: None for a router without replicas, which always leads.
        timers: those that go on while the BIG-IP is in trouble.
        writes_end: waits so long, in seconds, until no write is under way; False if that takes longer.
        """
        self.campaign, self._cluster, self._reconciler, self._monitor = campaign, cluster, reconciler, monitor
        self._reporter, self._settling, self._backoff, self._writes_end = (
            reporter, settling, backoff, writes_end)
        self.takeover, self._observe_interval_s, self._clock = takeover, observe_interval_s, clock
        self._timers = timers
        self.is_elected = campaign is not None
        """True if there is an election."""
        monitor.health.follows = self.is_elected
        self.leads = campaign is None
        """True if the loop writes."""
        reconciler.rollouts.follows = not self.leads
        self.has_taken = False
        """True once the lists were taken that came before this router led; before, the device is not read."""
        self._is_warm = False
        """True for a router that has read the BIG-IP as a follower, since it last led."""
        self._awaits_lists = False
        """True for an elected router that waits for new lists of the cluster."""

    def start(self) -> None:
        """Follow the election from now on: the lists of the cluster are complete."""
        if self.campaign is not None:
            self.campaign.on_change = lambda: self._reconciler.inbox.put(self.election_changed)
            self._read_at(self._clock())
            self.election_changed()

    @property
    def is_taking_over(self) -> bool:
        """True for an elected router until it has read the BIG-IP, if it has followed before."""
        return self._is_warm and not (self.leads and self._reconciler.has_read) and self._is_leader()

    def record(self, services: Iterable[Key]) -> None:
        """Take Services whose endpoints have changed: a leader that ends may not have written them."""
        if self._is_warm and not (self.leads and self._reconciler.has_read):
            self.takeover.record(services)

    # --- messages and timers -----------------------------------------------------------------

    def election_changed(self) -> None:
        """Begin to lead, or to follow, as the election has decided.

        A follower may not have noticed that its watches are dead. With an old view it would delete what is
        newer, and lead requests to addresses that other pods have by now. So it lists everything again first.
        """
        if self.campaign is None:
            return
        if not self.campaign.leads():
            self._awaits_lists = False  # elected again, it lists again
            self._timers.cancel("lists")
            if self.leads:
                self._follow()
            return
        now = self._clock()
        self._timers.at(now + self.campaign.left_s(), "term", self.election_changed)  # if it is not renewed
        if not self.leads and not self._awaits_lists:
            self._awaits_lists = True
            self._timers.at(now + LISTS_S, "lists", self._lists_overdue)
            self._cluster.relist()

    def relisted(self) -> None:
        """Take that the cluster was listed again."""
        if self._awaits_lists and self._cluster.relisted() and self._is_leader():
            self._lead()

    def _lists_overdue(self) -> None:
        if self._is_leader():  # else a message of the end of the term comes
            log.warning("leading without a fresh list of the cluster", extra={"waited_s": LISTS_S})
            self._lead()

    def _is_leader(self) -> bool:
        return self.campaign is not None and self.campaign.leads()

    def _lead(self) -> None:
        self._timers.cancel("lists")
        self.leads, self._awaits_lists = True, False
        self._cluster.begin_to_lead()
        self._reconciler.start_over(follows=False)
        self._monitor.health.follows = False
        self._backoff.block(0.0)
        self._settling.record_write()  # the leader before may have ended between a write and its saving
        self.has_taken = False  # what the new lists have changed comes first

    def _follow(self) -> None:
        self.leads = self._is_warm = False
        self._reconciler.start_over(follows=True)
        self._monitor.health.follows = True
        self.takeover.forget()
        self._reporter.statuses.drop_requests()
        self._reporter.forget()
        self._read_at(self._clock())

    def _read_at(self, when: float) -> None:
        self._reconciler.timers.at(when, "follow", self._read)

    def _read(self) -> None:
        """Keep up with the BIG-IP as a follower, and do so again after a while."""
        if self.leads:
            return
        self._read_at(self._clock() + self._observe_interval_s)
        if self._reconciler.reader.reading is None and not self._awaits_lists:
            self._reconciler.read(create_folder=False)

    # --- turns -------------------------------------------------------------------------------

    def follow(self) -> None:
        """Do a follower's part of a turn: it stands for election once nothing of a term is under way."""
        self._reporter.follow()
        if self.campaign is None or self.campaign.leads():
            return
        if self._awaits_lists:
            self.election_changed()
        self.takeover.forget_readings()  # another router may lead before this one does again
        if self._writes_end(0.0):
            self.campaign.stand()

    def followed(self, error: Exception | None) -> None:
        """Take the end of a reading as a follower: this router is ready to take over, unless it failed."""
        if error is not None:
            self._backoff.failed(error)
            return
        self._reconciler.drift.others.start_over()
        self._monitor.health.warmed_up = self._is_warm = True
        self._backoff.succeeded()

    def hand_over(self, timeout_s: float) -> None:
        """End all writes, and let another router lead at once. Requests under way have some time to end."""
        if self.campaign is None:
            return
        self._reporter.stop()
        if self._writes_end(timeout_s):
            self.campaign.stop()
        else:
            log.warning("lease not released", extra={"because": "a write is still under way"})
