"""Failover state of the unit: whether this BIG-IP handles the traffic of our folder.

A standby accepts every write (f5-ansible #1788), and the next config sync then overwrites it or reports
a conflict. So the state is read before writes, and again during them. No other unit can take over from a
device that stands alone, which readings find out (own_addresses.py): there an older state permits a write, so
that the one which the loop reads periodically suffices. A device that joins others is asked before each write
from the first reading on that shows it, and at least every ALONE_S before that.

Sources: recordings of `cm/failover-status` on 11.6.0 and 14.1.2.1 (`ACTIVE`, "active for
/Common/traffic-group-1"); f5-cloud-libs, bigIp.js (`ACTIVE` and `STANDBY` are the states of a unit that
has started); k8s-bigip-ctlr #452 (the traffic group of the partition decides where several units are
active).
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from f5router.icontrol.observation import Observation
from f5router.icontrol.rest import session, transport
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.readiness import texts
from f5router.model.errors import NO_RIGHT, AuthFailed, BigIPError, NotReady, Refused, Standby
from f5router.model.json_types import JSON
from f5router.model.limits import Backoff

log = logging.getLogger(__name__)

PATH = transport.STATE
ACTIVE = "ACTIVE"
FRESH_S = 0.5
"""Age up to which a state permits a write."""
ALONE_S = 10.0
"""The same for a device that stands alone: twice the period at which the loop reads the state."""
UNREADABLE = Backoff(first_s=1.0, limit_s=300.0)
"""Intervals of attempts to read a state that cannot be read: the refusal may pass at once, as while daemons
start, and the role may get the right."""

_ACTIVE_FOR = "active for "
_NOT_FLOATING = ("", "none", "/Common/traffic-group-local-only")


@dataclass(frozen=True, slots=True)
class FailoverState:
    """Failover state as the unit reports it."""

    status: str = ""
    """"ACTIVE", "STANDBY", "OFFLINE" and others; "" while it is not known."""
    traffic_groups: frozenset[str] = frozenset()
    """Full paths of the traffic groups that it is active for, where it lists them."""
    unreadable: str = ""
    """Why the state cannot be read; "" if it can."""

    def obstacle(self, traffic_group: str) -> str:
        """Return why the unit must not be written to for a traffic group; "" if it may be."""
        if not self.status:
            return ""
        if self.status != ACTIVE:
            return f"the unit is {self.status}"
        if self.traffic_groups and traffic_group not in (*_NOT_FLOATING, *self.traffic_groups):
            return f"the unit is not active for {traffic_group}"
        return ""


def parse(reply: JSON) -> FailoverState:
    """Read a reply of cm/failover-status."""
    pairs = texts(reply)
    status = next((text.strip().upper() for name, text in pairs if name == "status"), "")
    if not status:
        return FailoverState(unreadable="the reply holds no status")
    groups = {text.removeprefix(_ACTIVE_FOR).strip() for name, text in pairs
              if name == "details" and text.startswith(_ACTIVE_FOR)}
    return FailoverState(status, frozenset(groups))


class Failover:
    """Failover state of one BIG-IP, cached for a moment. Thread-safe."""

    def __init__(self, client: Client, *, fresh_s: float = FRESH_S, alone_s: float = ALONE_S,
                 look_s: float | None = None, clock: Callable[[], float] = time.monotonic):
        """Args:
        fresh_s, alone_s: ages up to which a state permits a write, of one of several units or not.
        look_s: longest wait for an answer, beside requests under way; None for that of any request.
        """
        self._client, self._look_s, self._clock = client, look_s, clock
        self._fresh_s, self._alone_s = fresh_s, alone_s
        self._lock = threading.Lock()
        self._read_at = float("-inf")
        self._stands_alone = False
        """True if the last reading of the device showed that it trusts no other."""
        self._unreadable = 0
        """Attempts in a row that the device has refused."""
        self._is_in_doubt = False
        """True if the last read was refused, and the one before was not."""
        self.rival: Callable[[], str] = lambda: ""
        """Returns why nothing is written although this unit is active; "" if it may be."""
        self.error: BigIPError | None = None
        """Why the last attempt to read the state failed; None if it did not."""
        self.state = FailoverState()
        """The last answer."""
        self.traffic_group = ""
        """Traffic group of our folder; "" while it is not known."""

    def check(self, *, max_age_s: float = 0.0) -> FailoverState:
        """Return the state, at most max_age_s old.

        Raises: BigIPError: no answer; the state before is kept.
        """
        with self._lock:
            age_s = self._clock() - self._read_at
            if age_s >= (UNREADABLE.delay_s(self._unreadable) if self._unreadable else max_age_s):
                try:
                    self.state, self.error = self._confirmed(self._read()), None
                except BigIPError as exc:
                    self.error = exc
                    raise
                self._read_at = self._clock()
                self._unreadable = self._unreadable + 1 if self.state.unreadable else 0
            return self.state

    def require_active(self) -> None:
        """Permit writes. Raises: Standby: the unit is not active; BigIPError: it does not answer."""
        self.check(max_age_s=max(self._fresh_s, self._alone_s) if self._stands_alone else self._fresh_s)
        if obstacle := self.obstacle() or self.rival():
            raise Standby("GET", PATH, obstacle)

    def update_from(self, observation: Observation) -> None:
        """Record from a reading whether the device stands alone."""
        self._stands_alone = observation.stands_alone

    def obstacle(self) -> str:
        """Return why nothing is written to the unit, by the last answer; "" if it may be written to."""
        return self.state.obstacle(self.traffic_group)

    def active(self) -> bool | None:
        """Return True if the unit is active by the last answer; None if that is not known."""
        return not self.obstacle() if self.state.status else None

    def remarks(self) -> tuple[str, ...]:
        """Return the remarks on the state for an administrator."""
        if obstacle := self.obstacle():
            return (f"{obstacle}: the router writes nothing to it until it is active",)
        if self.state.unreadable:
            return (f"the failover state cannot be read ({self.state.unreadable}): the router writes to "
                    "this unit also while it is standby",)
        return ()

    def _confirmed(self, state: FailoverState) -> FailoverState:
        """Return a state that was read. Raises: NotReady: the device shows it no longer, for the first time.

        Writes go to a unit that does not show its state: one odd reply must not have that effect.
        """
        self._is_in_doubt = bool(state.unreadable and self.state.status) and not self._is_in_doubt
        if self._is_in_doubt:
            raise NotReady("GET", PATH, state.unreadable)
        return state

    def _read(self) -> FailoverState:
        """Read the state once, without repetition: writes wait for it."""
        try:
            try:
                return parse(self._client.get_once(PATH) if self._look_s is None
                             else self._client.look(PATH, timeout_s=self._look_s))
            except NotReady as exc:
                if exc.status == 404 and exc.path == PATH and self._client.ready():
                    return FailoverState(unreadable=exc.text)  # not served by this version
                raise
        except BigIPError as exc:
            if not _is_refused(exc):
                raise
            return FailoverState(unreadable=exc.text)


def _is_refused(exc: BigIPError) -> bool:
    """True if only this read is refused: the role lacks the right, or the version lacks the collection."""
    if exc.path != PATH:
        return False  # the login
    if isinstance(exc, AuthFailed):
        return exc.status == 403 or exc.code == NO_RIGHT or session.NO_RIGHT in exc.text
    return isinstance(exc, Refused)
