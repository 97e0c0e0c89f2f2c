"""The LTM nodes and the licence of the BIG-IP, looked at beside everything else.

Nothing that the router writes shows that an administrator has disabled a node, or forced it offline: the
members look as before, and get no new clients. A licence ends without a change of anything.

All nodes are one request of two hundred bytes for each. The pause behind it is at least LOAD times as long as
the request took, so a device with thousands of nodes is asked more rarely. The licence has an end, which is
known beforehand; it is read again as another may be installed.
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


class Looked(NamedTuple):
    """The result of a look; None for what was not due, or could not be read."""

    nodes: list[LTMNode] | None
    licence: Licence | None
    nodes_took_s: float


class DeviceWatch:
    """Looks at LTM nodes and licence. The loop's thread uses it; any may call `nodes` and `licence`."""

    def __init__(self, device: Device, *, periods: Periods, clock: Callable[[], float],
                 wall: Callable[[], float] = time.time):
        """Args: wall: seconds since the epoch."""
        self._device, self._periods, self._clock, self._wall = device, periods, clock, wall
        self._is_looking = False
        self._nodes_due = self._licence_due = -math.inf
        self._nodes: list[Finding] = []
        self._licence: Licence | None = None

    def nodes(self) -> list[Finding]:
        """Return which LTM nodes of pool members are disabled, by the last look."""
        return self._nodes

    def licence(self) -> Finding | None:
        """Return what is wrong with the licence now, as it was read last."""
        if (licence := self._licence) is None:
            return None
        return incidents.of_licence(exists=licence.exists, ends=licence.ends,
                                    today=surroundings.text_of_day(self._wall()))

    def look(self) -> None:
        """Begin a look if anything is due, unless one goes on."""
        now = self._clock()
        nodes, licence = now >= self._nodes_due, now >= self._licence_due
        if self._is_looking or not (nodes or licence):
            return
        self._is_looking = True
        client = self._device.client.for_reading()
        self._device.dispatcher.send(
            lambda: self._read(client, nodes=nodes, licence=licence), self._looked)

    def start_over(self) -> None:
        """Forget what was found: another replica looks."""
        self._nodes, self._licence = [], None
        self._nodes_due = self._licence_due = -math.inf

    def _read(self, client: Client, *, nodes: bool, licence: bool) -> Looked:
        """Read what is due, in a thread of requests; what cannot be read is left out."""
        begin = self._clock()
        read = _try(lambda: surroundings.disabled_nodes(client), "LTM nodes") if nodes else None
        took_s = self._clock() - begin
        return Looked(read, _try(lambda: surroundings.read_licence(client), "licence")
                      if licence else None, took_s if nodes else 0.0)

    def _looked(self, job: Job) -> None:
        """Take the end of a look; what was not read stays as it was."""
        self._is_looking = False
        if job.error is not None:
            log.error("LTM nodes and licence not read", exc_info=job.error)
            return
        now, looked = self._clock(), job.result
        if looked.nodes_took_s:
            self._nodes_due = now + max(self._periods.nodes_s - looked.nodes_took_s,
                                        LOAD * looked.nodes_took_s)
        if looked.nodes is not None:
            self._nodes = self._of_nodes(looked.nodes)
        if looked.licence is not None:
            self._licence, self._licence_due = looked.licence, now + self._periods.licence_s

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
