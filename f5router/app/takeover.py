"""Members of pools that a new leader writes before it knows the whole BIG-IP, which takes seconds to read.

Endpoints that changed while nobody led do not wait for that. But the view of a follower may be old, of the
cluster as of the BIG-IP: so each Service and each pool is read by itself first, and members are written only
if the API server has what this router knows.
"""

import logging
from collections.abc import Iterable
from itertools import zip_longest
from typing import TypeVar

from f5router.icontrol import statistics
from f5router.icontrol.dispatcher import Job, Lane
from f5router.icontrol.unit import Unit
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.watch.single_reads import ServiceReading
from f5router.model.cluster import Key
from f5router.model.errors import BigIPError, KubeError
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.reconcile.reconciler import Reconciler

log = logging.getLogger(__name__)

MOST_NAMESPACES, NAMESPACE_MOST = 128, 32
"""Namespaces, and Services of each, that are remembered as changed: those whose endpoints the leader before
may not have written. A namespace that changes many takes no room of others."""
AT_ONCE = 4
"""Services that are read together."""
MOST_POOLS = 50
"""Pools of a Service that are read; others wait for the reading of the whole BIG-IP."""

K = TypeVar("K")
V = TypeVar("V")


class Takeover:
    """The thread of the loop calls its methods."""

    def __init__(self, cluster: ClusterWatcher, reconciler: Reconciler, *, of_pods: bool):
        """Args:
        of_pods: False if members follow Nodes, all of which would have to be read: nothing is written then.
        """
        self._of_pods, self._cluster, self._reconciler = of_pods, cluster, reconciler
        self._changed: dict[str, dict[Key, None]] = {}
        """Services that have changed, by namespace; the latest last."""
        self._followed: dict[Ref, set[Key]] = {}
        """Pools that are being read to be written, with the Services that they follow."""
        self._is_reading = False
        """True until the last reading has ended: there is never more than one."""
        self._read: set[Ref] = set()
        """Pools that were read, and whose members may be written."""

    def record(self, services: Iterable[Key]) -> None:
        """Take Services whose endpoints may differ from what the leader has written."""
        for service in services if self._of_pods else ():
            _put(_put(self._changed, service.namespace, {}, MOST_NAMESPACES), service, None, NAMESPACE_MOST)

    def forget(self) -> None:
        """Forget everything."""
        self._changed.clear()
        self.forget_readings()

    def forget_readings(self) -> None:
        """Forget what was read: somebody else may write."""
        self._followed = {}
        self._read.clear()

    def program(self) -> None:
        """Begin what can be begun: a reading, or writes of pools that were read."""
        reconciler = self._reconciler
        if reconciler.engine.has_changed_pools:
            return
        changes, self._read = reconciler.members.take_read(
            self._read, reconciler.device.dispatcher.member_room())
        for change in changes:
            reconciler.rollouts.send_members(change)
        if not self._is_reading:
            self._begin_reading()

    def _begin_reading(self) -> None:
        engine, device = self._reconciler.engine, self._reconciler.device
        chosen: dict[Key, dict[Ref, set[Key]]] = {}
        for service in self._newest():
            pools = engine.followers(service)
            if any(self._reconciler.table.is_sent(ref) or ref in self._read for ref in pools):
                continue
            del self._changed[service.namespace][service]
            if pools:
                chosen[service] = dict(sorted(pools.items())[:MOST_POOLS])
            if len(chosen) == AT_ONCE:
                break
        self._followed = {ref: services for pools in chosen.values() for ref, services in pools.items()}
        if not self._followed:
            return
        services, refs, unit = sorted(set().union(*self._followed.values())), [*self._followed], device.unit

        def read() -> tuple[dict[Key, ServiceReading], dict[Ref, Pool]]:
            return ({service: self._cluster.read_service(service) for service in services},
                    statistics.read_pools(unit, refs))

        self._is_reading = True
        unit.dispatcher.send(read, lambda job: self._take(unit, job), Lane.BESIDE)

    def _newest(self) -> list[Key]:
        """Return the Services that have changed, the newest first; namespaces take turns."""
        columns = [reversed(services) for services in reversed(self._changed.values())]
        return [service for row in zip_longest(*columns) for service in row if service is not None]

    def _take(self, unit: Unit, job: Job) -> None:
        """Take the pools of a reading that has ended, if the Services are as this router knows them."""
        self._is_reading = False
        if isinstance(job.error, BigIPError | KubeError):
            log.debug("pools not read at the takeover", extra={"error": str(job.error)})
            return
        if job.error is not None:
            raise job.error
        if unit is not self._reconciler.device.unit or self._reconciler.has_read:
            return  # what is known is newer
        services, pools = job.result
        known = {service for service, reading in services.items() if self._is_known(service, reading)}
        for ref, followed in self._followed.items():
            if ref in pools and followed <= known:
                self._reconciler.device.record_object(ref, pools[ref])
                self._read.add(ref)

    def _is_known(self, service: Key, reading: ServiceReading) -> bool:
        cluster = self._reconciler.engine.cluster
        return (cluster.services.get(service) == reading.service
                and frozenset(cluster.slices.get(service, {}).values()) == reading.slices)


def _put(values: dict[K, V], key: K, default: V, most: int) -> V:
    """Move a key to the end, or add it with a value; returns its value. Args: most: the first ones go."""
    value = values[key] = values.pop(key, default)
    if len(values) > most:
        del values[next(iter(values))]
    return value
