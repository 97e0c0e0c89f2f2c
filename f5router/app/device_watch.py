"""The LTM nodes, licence, modules and user of the BIG-IP, looked at beside everything else.

Nothing that the router writes shows that an administrator has disabled a node, or forced it offline: the
members look as before, and get no new clients. A licence ends without a change of anything.

All nodes are one request of two hundred bytes for each. The pause behind it is at least LOAD times as long as
the request took, so a device with thousands of nodes is asked more rarely. The licence has an end, which is
known beforehand; it is read again as another may be installed. The level of LTM and the role of the router's
user are two requests an hour, for people who look at the device.
"""

import logging
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from f5router.icontrol import surroundings
from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job
from f5router.icontrol.rest.client import Client
from f5router.icontrol.surroundings import Licence
from f5router.model.errors import BigIPError
from f5router.model.findings import Finding
from f5router.model.ltm import Pool
from f5router.model.ltm_nodes import LTMNode, NodeMap
from f5router.views import incidents

log = logging.getLogger(__name__)

Value = TypeVar("Value")

LOAD = 20
"""The pause behind a reading of all nodes is at least so many times its duration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Periods:
    """Shortest times between two readings, in seconds."""

    nodes_s: float = 5.0
    licence_s: float = 60.0
    system_s: float = 3600.0
    """For the level of LTM and the role of the user."""


class System(NamedTuple):
    """Properties of a unit that hardly ever change."""

    ltm: str
    """Level to which LTM is provisioned, "none" if it is not; "" if it cannot be read."""
    role: str
    """Role of the router's user in words; "" if it cannot be read, as of a user of a directory server."""


class Looked(NamedTuple):
    """The result of a look; None for what was not due, or could not be read."""

    nodes: list[LTMNode] | None
    licence: Licence | None
    system: System | None
    nodes_took_s: float | None


class DeviceWatch:
    """Looks at a BIG-IP. The loop's thread uses it; any may call `nodes`, `licence`, and read attributes."""

    def __init__(self, device: Device, *, user: str, partition: str, periods: Periods,
                 clock: Callable[[], float], wall: Callable[[], float] = time.time):
        """Args:
        user: name of the router's user on the BIG-IP.
        partition: in which it writes.
        wall: seconds since the epoch.
        """
        self._device, self._user, self._partition = device, user, partition
        self._periods, self._clock, self._wall = periods, clock, wall
        self._is_looking = False
        self._nodes_due = self._licence_due = self._system_due = -math.inf
        self._unit = device.unit
        """The unit that was looked at last."""
        self._nodes: list[Finding] = []
        self.read_licence: Licence | None = None
        """The licence as it was read last; None while it is not known, as `system`."""
        self.system: System | None = None

    def nodes(self) -> list[Finding]:
        """Return which LTM nodes of pool members are disabled, by the last look."""
        return self._nodes

    def licence(self) -> Finding | None:
        """Return what is wrong with the licence now, as it was read last."""
        if (licence := self.read_licence) is None:
            return None
        return incidents.of_licence(exists=licence.exists, ends=licence.ends,
                                    today=surroundings.text_of_day(self._wall()))

    def look(self) -> None:
        """Begin a look if anything is due, unless one goes on."""
        if self._is_looking:
            return
        if self._unit is not self._device.unit:
            self._unit = self._device.unit
            self.start_over()
        now = self._clock()
        nodes, licence, system = (
            now >= due for due in (self._nodes_due, self._licence_due, self._system_due))
        if not (nodes or licence or system):
            return
        self._is_looking = True
        client = self._device.client.for_reading()
        self._device.dispatcher.send(
            lambda: self._read(client, nodes=nodes, licence=licence, system=system), self._looked)

    def start_over(self) -> None:
        """Forget what was found: another replica looks, or another unit is looked at."""
        self._nodes, self.read_licence, self.system = [], None, None
        self._nodes_due = self._licence_due = self._system_due = -math.inf

    def _read(self, client: Client, *, nodes: bool, licence: bool, system: bool) -> Looked:
        """Read what is due, in a thread of requests; what cannot be read is left out."""
        begin = self._clock()
        read = _try(lambda: surroundings.disabled_nodes(client), "LTM nodes") if nodes else None
        took_s = self._clock() - begin
        return Looked(read, _try(lambda: surroundings.read_licence(client), "licence") if licence else None,
                      self._read_system(client) if system else None, took_s if nodes else None)

    def _read_system(self, client: Client) -> System:
        ltm = _try(lambda: surroundings.provisioned_level(client, "ltm"), "modules")
        role = _try(lambda: surroundings.role_text(client, self._user, self._partition), "role of the user")
        return System(ltm or "", role or "")

    def _looked(self, job: Job) -> None:
        """Take the end of a look; what was not read stays as it was."""
        self._is_looking = False
        if job.error is not None:
            log.error("BIG-IP not looked at", exc_info=job.error)
            return
        if self._unit is not self._device.unit:
            return
        now, looked = self._clock(), job.result
        if looked.nodes_took_s is not None:
            self._nodes_due = now + max(self._periods.nodes_s - looked.nodes_took_s,
                                        LOAD * looked.nodes_took_s)
        if looked.nodes is not None:
            self._nodes = self._of_nodes(looked.nodes)
        if looked.licence is not None:
            self.read_licence, self._licence_due = looked.licence, now + self._periods.licence_s
        if looked.system is not None:
            self.system, self._system_due = looked.system, now + self._periods.system_s

    def _of_nodes(self, disabled: list[LTMNode]) -> list[Finding]:
        """Return the findings about those that members of our pools have."""
        ours = {node.address: node for node in disabled
                if self._device.unit.nodes.path(node.address) == node.path}
        if not ours:
            return []
        pools = [obj for obj in self._device.observed.values() if isinstance(obj, Pool)]
        return incidents.of_ltm_nodes(replace(NodeMap({}, ""), disabled=ours), pools)


def _try(read: Callable[[], Value], what: str) -> Value | None:
    """Read something; None if the device does not answer, or refuses it."""
    try:
        return read()
    except BigIPError as exc:
        log.debug("not read", extra={"what": what, "error": str(exc)})
        return None
