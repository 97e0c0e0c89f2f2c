"""Leader election: the state of one candidate, and the Lease's record.

The rules are those of client-go (tools/leaderelection/leaderelection.go):

- Times in the Lease are never compared with a local clock. A candidate takes a Lease over when it has seen no
  change of it for the holder's duration, by its own clock. So clocks may differ by any amount, and their
  rates by less than the lease duration differs from the renew deadline.
- Every write has the resourceVersion that was read as its condition: of two candidates one gets 409.

It is stricter in five points, because a write by a deposed leader would cost traffic:

- Leadership ends by a deadline that is counted from before the request that renewed it was sent, whatever the
  thread of the election is doing then: nobody has to notice it.
- Only a reply that confirms the write prolongs it. A lost reply does not.
- A deposed leader does not stand again before its work has ended (`stand`).
- A Lease that is missing is created in the name of nobody known, and waited for like any other: whoever led
  when it was deleted may not have noticed.
- A Lease that was edited by hand, or created again, shortens no wait: that is never shorter than this
  candidate's own duration, and a holder that vanishes without a release is waited for.
"""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from f5router.kube.api import fields
from f5router.kube.settings import ElectionTiming


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """Content of a Lease. Its times are for people: no router compares them with a clock of its own."""

    holder: str = ""
    """Identity of the leader; "" if nobody holds it."""
    duration_s: float = 0.0
    """Time for which others wait after the last change that they saw."""
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """A Lease as the API server returned it."""

    record: LeaseRecord
    version: str = ""
    """Its resourceVersion, the condition of the next write; "" if there is no Lease."""
    uid: str = ""


def decode(obj: object) -> Lease:
    """Read a Lease; what is missing or malformed counts as not given."""
    spec = fields.mapping(fields.mapping(obj).get("spec"))
    texts = [text if isinstance(text := spec.get(name), str) else ""
             for name in ("holderIdentity", "acquireTime", "renewTime")]
    holder, acquired, renewed = texts
    return Lease(
        LeaseRecord(holder, float(fields.integer(spec.get("leaseDurationSeconds")) or 0), acquired, renewed,
                    fields.integer(spec.get("leaseTransitions")) or 0),
        fields.resource_version(obj), fields.uid(obj))


def encode(record: LeaseRecord, name: str, namespace: str, replaced: Lease) -> dict[str, Any]:
    """Return the Lease to send, on the condition that it replaces another one, or that there is none.

    The uid is a condition too: a PUT of a Lease that was deleted meanwhile would create it
    (k8s.io/kubernetes/pkg/registry/coordination/lease/strategy.go: AllowCreateOnUpdate).
    """
    metadata = {"name": name, "namespace": namespace}
    if replaced.version:
        metadata |= {"resourceVersion": replaced.version, "uid": replaced.uid}
    spec = {
        "holderIdentity": record.holder, "leaseDurationSeconds": int(record.duration_s),
        "acquireTime": record.acquired, "renewTime": record.renewed, "leaseTransitions": record.transitions}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}


def micro_time(seconds: float) -> str:
    """Return seconds since the epoch as a MicroTime.

    Six digits, always: API servers refuse times with fewer (kubernetes #141204).
    """
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


@dataclass(frozen=True, slots=True)
class Read:
    """Read the Lease."""


@dataclass(frozen=True, slots=True)
class Write:
    """Write a record if the Lease has not changed; create the Lease if there is none."""

    record: LeaseRecord
    replaced: Lease
    """The Lease as it was seen; without a version if there was none."""


READ = Read()
UNKNOWN = "unknown (the lease was missing)"
"""Holder of a Lease that was just created."""
NO_LEASE = Lease(LeaseRecord())
RELEASED_S = 1.0
"""Duration in a Lease that was released: nobody has to wait, and 0 is refused."""


class Elector:
    """One candidate. Not thread-safe, apart from `leads_until`.

    The caller asks for the next request with `request`, sends it, and gives the result to `received`,
    `missing`, `confirmed`, `conflicted` or `failed`. All times are seconds of one clock of this machine.
    """

    def __init__(self, identity: str, timing: ElectionTiming):
        """Args: identity: of this process alone."""
        self.identity, self.timing = identity, timing
        self.leads_until = -math.inf
        """End of leadership unless it is renewed; in the past if this candidate does not lead."""
        self._standing = False
        self._seen = NO_LEASE
        """The Lease as it was seen last."""
        self._seen_at = -math.inf
        """Time at which this version of it was seen first."""
        self._is_bereft = False
        """True if it lost its holder, another candidate, without a release."""
        self._is_known = False
        """True if the Lease may still be as it was seen last."""
        self._tried_at = -math.inf

    @property
    def holder(self) -> str:
        """Holder of the Lease when it was seen last; "" for nobody."""
        return self._seen.record.holder

    @property
    def version(self) -> str:
        """Version of the Lease when it was seen last, which each renewal changes; "" if there was none."""
        return self._seen.version

    def leads(self, now: float) -> bool:
        """True if this candidate leads."""
        return now < self.leads_until

    def stand(self) -> None:
        """Become a candidate: nothing of an earlier term is in flight."""
        self._standing = True

    def due_at(self) -> float:
        """Return when the next request is due."""
        retry_at = self._tried_at + self.timing.retry_s
        if not (self._is_known and self._standing) or self.holder == self.identity:
            return retry_at
        return min(retry_at, max(self._free_at(), self._tried_at))

    def request(self, now: float, wall: str) -> Read | Write | None:
        """Return the next request, None if none is due. Args: wall: the time, for people."""
        self._end_term(now)
        if now < self.due_at():
            return None
        self._tried_at = now
        if not self._is_known or not self._standing:
            return READ
        record = self._seen.record
        if record.holder == self.identity:
            return Write(replace(self._own(wall), acquired=record.acquired or wall,
                                 transitions=record.transitions), self._seen)
        if now < self._free_at():
            return READ
        if not self._seen.version:
            return Write(replace(self._own(wall), holder=UNKNOWN), NO_LEASE)
        return Write(replace(self._own(wall), transitions=record.transitions + 1), self._seen)

    def release(self, now: float, wall: str) -> Write | None:
        """Stop for good; return the request that lets another candidate begin at once.

        The caller has ended all work before. None if the Lease is not this candidate's.
        """
        self._end_term(now)
        leads, self.leads_until, self._standing = self.leads(now), -math.inf, False
        if not leads or not self._is_known:
            return None
        return Write(LeaseRecord("", RELEASED_S, wall, wall, self._seen.record.transitions), self._seen)

    # --- results -------------------------------------------------------------------------

    def received(self, lease: Lease, now: float) -> None:
        """Record a Lease that was read. Args: now: after the reply, so later than the renewal in it."""
        if lease.version != self._seen.version:
            self._seen_at = now
            lost = self.holder not in ("", self.identity) or self._is_bereft
            self._is_bereft = lost and not lease.record.holder and lease.record.duration_s != RELEASED_S
        self._seen, self._is_known = lease, True
        if lease.record.holder != self.identity:
            self._depose()

    def missing(self) -> None:
        """Record the reply that there is no Lease."""
        self._seen, self._is_known = NO_LEASE, True
        self._depose()

    def confirmed(self, lease: Lease, *, sent_at: float, now: float) -> None:
        """Record a successful write. Args: sent_at: before the request was sent."""
        self._seen, self._seen_at, self._is_known, self._is_bereft = lease, now, True, False
        until = sent_at + self.timing.renew_deadline_s
        if lease.record.holder != self.identity or not self._standing or now >= until:
            return
        self.leads_until = until

    def conflicted(self, now: float) -> None:
        """Record a 409: another candidate wrote, or an earlier request of this one that got no reply."""
        self._is_known = False
        if self.leads(now):
            self._tried_at = -math.inf  # read it at once

    def failed(self) -> None:
        """Record that no usable reply came; the write may have been done."""
        self._is_known = False

    # --- inside --------------------------------------------------------------------------

    def _own(self, wall: str) -> LeaseRecord:
        return LeaseRecord(self.identity, math.ceil(self.timing.duration_s), wall, wall)

    def _free_at(self) -> float:
        """Return when the Lease may be taken over, if nobody renews it, or created."""
        if not self.holder and not self._is_bereft:
            return -math.inf
        return self._seen_at + max(self._seen.record.duration_s, math.ceil(self.timing.duration_s))

    def _end_term(self, now: float) -> None:
        if self.leads_until != -math.inf and now >= self.leads_until:
            self._depose()

    def _depose(self) -> None:
        if self.leads_until != -math.inf:
            self.leads_until, self._standing = -math.inf, False
