"""Waits until the SDN's master has re-created a HostSubnet with a subnet.

The master deletes the object that requests a subnet and creates another of the same name, so for a moment
there is none, and the new one has another uid. Source: openshift/origin 3.11
pkg/network/master/subnets.go, handleAssignHostSubnetAnnotation.
"""

import math
from collections.abc import Callable
from typing import Any

from f5router.logs.progress import Figures, Progress
from f5router.model.errors import KubeError, KubeUnreachable, ResourceExpired, RouterError
from f5router.model.limits import Backoff
from ghost_hostsubnet import manifest
from ghost_hostsubnet.cluster import SDNClient

SLICE_S = 5.0
"""Longest duration of a watch; progress is shown between two."""

BACKOFF = Backoff(first_s=0.2, limit_s=5.0)
"""Waits after failures."""


class NotAssigned(RouterError):
    """There is no subnet; the message says why."""


class Waiter:
    """Waits once for one HostSubnet."""

    def __init__(self, cluster: SDNClient, name: str, *, uid: str, timeout_s: float,
                 report: Callable[[str], None], progress: Progress, clock: Callable[[], float],
                 sleep: Callable[[float], object]):
        """Arguments:
        uid: of the object that requests a subnet; "" if it is not known.
        report: called with what has changed.
        progress: shows the time that has passed.
        clock: monotonic seconds.
        """
        self._cluster, self._name, self._uid = cluster, name, uid
        self._report, self._progress = report, progress
        self._timeout_s, self._clock, self._sleep = timeout_s, clock, sleep
        self._started = clock()
        self._version = ""
        self._failures = 0
        self._state = ""

    def run(self) -> dict[str, Any]:
        """Return the object that has a subnet.

        Raises: NotAssigned: the time is over, or the object was changed in another way; KubeError: a right is
        missing, or the cluster no longer serves the kind.
        """
        while self._left_s() > 0:
            try:
                hostsubnet = self._step()
            except (ResourceExpired, KubeUnreachable) as exc:
                self._version = ""
                self._failed(exc)
                continue
            if hostsubnet is not None:
                return hostsubnet
            self._progress.update(self._figures)
        raise NotAssigned(self._explained())

    def _step(self) -> dict[str, Any] | None:
        """List once, if needed, and watch once."""
        if not self._version:
            objects, self._version = self._cluster.hostsubnets()
            named = [obj for obj in objects if obj["metadata"]["name"] == self._name]
            if (hostsubnet := self._record(named[0] if named else None)) is not None:
                return hostsubnet
        started = self._clock()
        lasts_s = max(1, math.ceil(min(SLICE_S, self._left_s())))
        for gone, obj, version in self._cluster.watch(self._version, lasts_s=lasts_s):
            self._version = version or self._version
            self._failures = 0
            mine = obj["metadata"]["name"] == self._name
            if mine and (hostsubnet := self._record(None if gone else obj)) is not None:
                return hostsubnet
            if self._left_s() <= 0:
                return None
        if self._clock() - started < lasts_s / 2:
            raise KubeUnreachable("the watch ended at once")
        self._failures = 0
        return None

    def _record(self, obj: dict[str, Any] | None) -> dict[str, Any] | None:
        """Record the state of the object. Returns it once it has its subnet."""
        info = manifest.decode(obj) if obj else None
        state = _state(info)
        if state != self._state:
            self._state = state
            self._report(state)
        if info is None or not info.ready:
            return None
        if self._uid and info.uid == self._uid:
            raise NotAssigned(
                f"HostSubnet {self._name} has subnet {info.subnet}, but was not created again by the SDN "
                f"master (its uid is still {info.uid}), so nodes may not know of it: run ghost-hostsubnet "
                f"delete --name {self._name} and create it again")
        return obj

    def _failed(self, exc: KubeError) -> None:
        self._failures += 1
        if self._failures > 1:
            self._report(f"the API server: {exc}")
        pause_s = BACKOFF.jittered_s(self._failures, exc.retry_after_s)
        self._sleep(min(pause_s, max(0.0, self._left_s())))

    def _figures(self) -> Figures:
        waited_s = self._timeout_s - self._left_s()
        return Figures(waited_s, self._timeout_s, {
            "waited": f"{waited_s:.0f} s of {self._timeout_s:.0f} s", "state": self._state})

    def _left_s(self) -> float:
        return self._timeout_s - (self._clock() - self._started)

    def _explained(self) -> str:
        plugin = self._cluster.plugin()
        reason = f"after {self._timeout_s:.0f} s {self._state or 'the API server did not answer'}"
        if self._state == DELETED:
            advice = ("the log of the SDN master has the reason: usually no subnet is free, or it does not "
                      "accept the address")
        else:
            advice = ("is the SDN master running? On OpenShift 3 it is part of the master's controllers, on "
                      "4 in the namespace openshift-sdn")
        shown = f" (network plug-in: {plugin})" if plugin else ""
        return (f"HostSubnet {self._name} has no subnet: {reason}; {advice}{shown}. Run the same command "
                "again to keep waiting")


REQUESTED = "the HostSubnet waits for the SDN master"
DELETED = "the SDN master has deleted it and not created it again yet"


def _state(info: manifest.HostSubnetInfo | None) -> str:
    if info is None:
        return DELETED
    return f"the SDN master has given it {info.subnet}" if info.ready else REQUESTED
