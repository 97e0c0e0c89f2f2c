"""The condition Admitted: the router's entry in the status of a Route, and contention for it.

A Route has one entry per router name in status.ingress; those of other routers are never changed.
Source: openshift/router, pkg/router/controller/status.go.

Routes that another router of the same name keeps changing are detected, so that two do not write forever.
The rule is that of openshift/router, pkg/router/controller/contention.go, with two differences: a removed
entry counts as a change too, since this router removes entries; and a write of its own is no change by
others, except that overwriting somebody else's entry makes the Route a candidate.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from f5router.model.cluster import Route
from f5router.model.findings import DEVICE_PENDING, DEVICE_REJECTED
from f5router.model.json_types import JSON
from f5router.model.texts import bounded

ADMITTED = "Admitted"
"""Type of the condition that this router writes; conditions of other types are kept."""

MESSAGE_BYTES = 32768
"""Bytes of a message. The API server bounds none in a Route; this is the limit of other kinds' conditions.

Source: kubernetes/apimachinery, pkg/apis/meta/v1/types.go: Condition.
"""


CANONICAL = "routerCanonicalHostname"
"""Field of an entry; left out when empty."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of evaluating a Route: served, or why not."""

    admitted: bool | None
    """None if it is not known yet."""
    reason: str = ""
    """CamelCase word for programs; "" if there is none."""
    message: str = ""
    """Sentence for people."""

    @property
    def status(self) -> str:
        """Return the status of the condition."""
        return {True: "True", False: "False", None: "Unknown"}[self.admitted]


PENDING = Verdict(None, DEVICE_PENDING, "the BIG-IP cannot be programmed right now; the router retries "
                  "automatically, and serves the Route as soon as it succeeds")
"""The status of a Route that has none yet, while the BIG-IP is away. Always the same text: written once.

Unknown, not False: nobody refused the Route, and the BIG-IP may even serve it from before. False is a
rejection for its readers (`oc describe`: "rejected by router", Argo CD: Degraded); with Unknown
`oc get route` shows Pending and Argo CD Progressing, as for a Route that no HAProxy router has handled yet.
Sources: printRoute and describe of oc, Argo CD's health.lua of Route; RouteIngressCondition allows all three.
"""


def own(ingress: Iterable[JSON], router_name: str) -> JSON | None:
    """Return the entry of a router name, the first if there are several."""
    return next((entry for entry in ingress if entry.get("routerName") == router_name), None)


def without(ingress: Iterable[JSON], router_name: str) -> list[JSON]:
    """Return the entries of all other router names."""
    return [entry for entry in ingress if entry.get("routerName") != router_name]


def same(entry: JSON | None, other: JSON | None) -> bool:
    """True if two entries are equal apart from their times; None is no entry.

    Source: openshift/router, pkg/router/controller/contention.go: equality ignores the times.
    """
    if entry is None or other is None:
        return entry is other
    return _comparable(entry) == _comparable(other)


def admitted(entry: JSON) -> JSON:
    """Return the condition Admitted of an entry, the first if there are several; empty if there is none."""
    conditions = _objects(entry.get("conditions"))
    return next((item for item in conditions if item.get("type") == ADMITTED), {})


def has_verdict(ingress: Iterable[JSON], router_name: str) -> bool:
    """True if the entry of a router name has a verdict: Admitted is True or False."""
    entry = own(ingress, router_name)
    return entry is not None and admitted(entry).get("status") in ("True", "False")


def refusal(ingress: Iterable[JSON], router_name: str) -> Verdict | None:
    """Return the BIG-IP's refusal as a router of this name has reported it; None if it reports none."""
    entry = own(ingress, router_name)
    known = admitted(entry) if entry is not None else {}
    if (known.get("status"), known.get("reason")) != ("False", DEVICE_REJECTED):
        return None
    since = known.get("lastTransitionTime")
    return Verdict(False, DEVICE_REJECTED, f"{known.get('message', '')} (as the router has reported since "
                   f"{since or 'an unknown time'})")


def entries(route: Route, verdict: Verdict, *, host: str, router_name: str,
            canonical_hostname: str, now: str) -> list[JSON] | None:
    """Return the new status.ingress of a Route.

    Args:
        host: the Host under which the Route is served, or would be.
        canonical_hostname: "" leaves routerCanonicalHostname out.
        now: RFC 3339 in UTC with whole seconds; the time of the condition if its status changes.
    Returns:
        All entries: those of others unchanged and in order, ours in the place of our first one or at
        the end, without further ones of our name. None if only a time would change.
    """
    existing = route.status_ingress
    ours = [at for at, entry in enumerate(existing) if entry.get("routerName") == router_name]
    at = ours[0] if ours else len(existing)
    old = existing[at] if ours else {}
    # Unknown fields may be defaults of the server: without them every pass would write.
    new = {field: value for field, value in old.items() if field != CANONICAL} | {
        "host": host,
        "routerName": router_name,
        "wildcardPolicy": route.wildcard_policy,
        "conditions": _conditions(old.get("conditions"), verdict, now),
    }
    if canonical_hostname:
        new[CANONICAL] = canonical_hostname
    if len(ours) == 1 and old == new:
        return None
    return [*existing[:at], new, *without(existing[at:], router_name)]


def _conditions(existing: object, verdict: Verdict, now: str) -> list[JSON]:
    """Return the conditions of our entry: Admitted replaced in place, or put first; others kept."""
    known = _objects(existing)
    new = _admitted(verdict, now)
    at = next((at for at, item in enumerate(known) if item.get("type") == ADMITTED), None)
    if at is None:
        return [new, *known]
    others = [item for item in known[at:] if item.get("type") != ADMITTED]
    return [*known[:at], _renewed(known[at], new), *others]


def _admitted(verdict: Verdict, now: str) -> dict[str, Any]:
    condition = {"type": ADMITTED, "status": verdict.status}
    if verdict.reason:
        condition["reason"] = verdict.reason
    if verdict.message:
        condition["message"] = bounded(verdict.message, MESSAGE_BYTES)
    return condition | {"lastTransitionTime": now}


def _renewed(old: JSON, new: dict[str, Any]) -> JSON:
    """Return the old condition if nothing changed, else the new one; its time changes only with the status.

    Source: Kubernetes API conventions: lastTransitionTime is when the status changed last. Upstream sets
    it whenever it writes.
    """
    if _content(old) == _content(new):
        return old
    time = old.get("lastTransitionTime")
    return new | {"lastTransitionTime": time} if time and old.get("status") == new["status"] else new


def _content(condition: JSON) -> tuple[Any, ...]:
    # A condition stored with an empty reason equals one without.
    return tuple(condition.get(field) or "" for field in ("status", "reason", "message"))


def _comparable(entry: JSON) -> tuple[Any, ...]:
    """Return the fields of an entry that are compared: no times, and no defaults of the server."""
    fields = tuple(entry.get(field) or "" for field in ("host", CANONICAL, "wildcardPolicy"))
    conditions = sorted((str(item.get("type")), *map(str, _content(item)))
                        for item in _objects(entry.get("conditions")))
    return (*fields, *conditions)


def _objects(value: object) -> list[JSON]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


CHANGE_LIMIT = 5
"""Changes of contended Routes after which no existing entry is written any more."""

FLUSH, CANDIDATE, CONTENDED = 2, 3, 1
"""In intervals: how often old records are dropped, and the ages at which they are old."""

CALM = 10
"""Intervals without a change after which contention is over: two routers that differ meet at every pass."""


@dataclass(slots=True)
class ContentionRecord:
    """The last change of a Route's entry by another router."""

    at: float
    """When the Route became a candidate, or contended."""
    contended: bool
    last: JSON | None
    """The entry after the last change, by any router; None for none."""


class Contention:
    """Contention for the entries of one router name. Not thread-safe."""

    def __init__(self, *, interval_s: float, clock: Callable[[], float]):
        """Arguments:
        interval_s: how long a contended Route is left alone; upstream: a tenth of the resync interval.
        """
        self._interval_s, self._clock = interval_s, clock
        self._records: dict[str, ContentionRecord] = {}
        self._own_entries: dict[str, JSON] = {}
        self._changes = 0
        """Changes of contended Routes since the last flush."""
        self._flush_at = clock() + FLUSH * interval_s
        self._contended_at: float | None = None

    def count(self) -> int:
        """Count the contended Routes."""
        self._flush()
        return sum(record.contended for record in self._records.values())

    def is_lasting(self) -> bool:
        """True if another router keeps changing entries, or did so not long ago."""
        at = self._contended_at
        return at is not None and self._clock() <= at + CALM * self._interval_s

    def changed(self, uid: str, entry: JSON | None) -> bool:
        """Record an entry that differs from the reading before. Returns True if others changed it.

        The first change makes a Route a candidate, a second, different one makes it contended.
        """
        self._flush()
        if uid in self._own_entries and same(self._own_entries[uid], entry):
            return False
        if self._changes > CHANGE_LIMIT:
            return True
        record = self._records.get(uid)
        if record is None:
            self._records[uid] = ContentionRecord(self._clock(), False, entry)
        elif not same(record.last, entry):
            self._changes += 1
            self._contended_at = self._clock()
            if not record.contended:
                self._records[uid] = ContentionRecord(self._clock(), True, entry)
        return True

    def confirmed(self, uid: str, entry: JSON) -> None:
        """Record that the entry read is the desired one."""
        self._own_entries[uid] = entry

    def own_entry(self, uid: str) -> JSON | None:
        """Return the entry that this router wrote or confirmed; None if that is not known."""
        return self._own_entries.get(uid)

    def writing(self, uid: str, entry: JSON, over: JSON | None) -> None:
        """Record that this router is about to write an entry.

        Args: over: the present entry, None for none. If it is somebody else's, the Route becomes a
            candidate: if that router writes once more, both contend.
        """
        before, self._own_entries[uid] = self._own_entries.get(uid), entry
        if (record := self._records.get(uid)) is not None:
            record.last, record.contended = entry, False
        elif over is not None and not same(over, before):
            self._records[uid] = ContentionRecord(self._clock(), False, entry)

    def contended(self, uid: str, *, created: bool) -> bool:
        """True if the status of a Route must be left alone.

        Args: created: it has no entry yet; such a Route is written even while others are contended.
        """
        self._flush()
        record = self._records.get(uid)
        if record is not None and record.contended and self._clock() <= record.at + self._interval_s:
            return True
        return self._changes > CHANGE_LIMIT and not created

    def discard(self, uid: str) -> None:
        """Forget a Route that this router no longer serves."""
        self._records.pop(uid, None)
        self._own_entries.pop(uid, None)

    def _flush(self) -> None:
        now = self._clock()
        if now < self._flush_at:
            return
        self._flush_at = now + FLUSH * self._interval_s
        for uid, record in list(self._records.items()):
            if now > record.at + (CONTENDED if record.contended else CANDIDATE) * self._interval_s:
                del self._records[uid]
        self._changes = sum(record.contended for record in self._records.values())
