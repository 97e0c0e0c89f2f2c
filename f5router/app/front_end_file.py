"""The file of front ends, read again while the router runs.

A change is a change of the cluster: the watches show it with the Routes that other front ends have then, so a
front end comes up with its Rules, and goes with them. Before one goes, the statuses of its Routes are
withdrawn: whoever follows them, such as external-dns, leads clients elsewhere while it still answers.
"""

import logging
from collections.abc import Callable, Iterator

from f5router.app import file_watch
from f5router.app.file_watch import FileWatch
from f5router.app.ingress_reporter import IngressReporter
from f5router.config.config import Config
from f5router.config.files import FileProblem
from f5router.config.front_ends_file import DEFAULT, FILE, FrontEnds, Reload
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import StatusSettings
from f5router.kube.status.front_end_statuses import FrontEndStatuses
from f5router.kube.status.status_writer import StatusWriter
from f5router.model.errors import ConfigError
from f5router.model.virtual_server import listeners
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.timers import Timers

log = logging.getLogger(__name__)

WITHDRAWAL_S = 60.0
"""Longest wait for the statuses of a front end that goes."""
LOOK_S = 0.2


class FrontEndFile:
    """Takes changes of the file, one after another. The loop's thread calls its methods."""

    def __init__(self, config: Config, cluster: ClusterWatcher, reconciler: Reconciler,
                 statuses: FrontEndStatuses, ingresses: IngressReporter, *,
                 new_writer: Callable[[StatusSettings], StatusWriter], timers: Timers,
                 clock: Callable[[], float]):
        """Args:
        new_writer: builds the writer of a front end's statuses.
        timers: those that go on while the BIG-IP is in trouble.
        """
        self._cluster, self._reconciler, self._statuses = cluster, reconciler, statuses
        self._ingresses, self._new_writer = ingresses, new_writer
        self._timers, self._clock = timers, clock
        self._used = self._next = config.all_front_ends
        self._waits_until: float | None = None
        """When a change is made whose withdrawals do not end; None while none is waited for."""
        self._file = FileWatch("changed file of front ends", _reader(config), self._used)

    def poll(self) -> None:
        """Read the file, and begin to take what has changed."""
        self._file.read()
        if self._waits_until is None and self._file.content != self._used:
            self._begin(self._file.content)

    def _begin(self, wanted: FrontEnds) -> None:
        self._next = wanted
        before, after = dict(self._used.statuses), dict(wanted.statuses)
        going = {name for name, settings in before.items()
                 if name not in after or after[name].router_name != settings.router_name}
        self._waits_until = self._clock() + WITHDRAWAL_S
        if going:
            log.info("withdrawing statuses of front ends", extra={
                "front_ends": ", ".join(sorted(name or DEFAULT for name in going))})
            self._statuses.withdraw(going)
            self._ingresses.withdraw(going - after.keys())
        self._finish()

    def _finish(self) -> None:
        """Make the change if the statuses are withdrawn, or have been waited for long enough."""
        if self._waits_until is None:
            return
        now, ingresses = self._clock(), self._ingresses
        written = self._statuses.are_withdrawn() and ingresses.statuses.flush(0.0, unless_forbidden=True)
        if not written and now < self._waits_until:
            self._timers.at(now + LOOK_S, "front ends", self._finish)
            return
        before, after = dict(self._used.statuses), dict(self._next.statuses)
        self._statuses.set_writers({name: self._new_writer(settings) for name, settings in after.items()
                                    if before.get(name) != settings})
        ingresses.withdraw(())
        ingresses.hostnames = {name: settings.canonical_hostname for name, settings in after.items()}
        self._cluster.set_front_ends(self._next.all, self._next.selections)
        changed = {name for name, settings in after.items() if name in before and before[name] != settings}
        self._reconciler.reports.reevaluate(
            key for key in list(self._reconciler.engine.routes()) if key.front_end in changed)
        self._used, self._waits_until = self._next, None


def _reader(config: Config) -> file_watch.Read[FrontEnds] | None:
    """Return how the file is read; None without one."""
    if (reload := config.reload_front_ends) is None:
        return None
    watched = any(each.namespace_labels for each in config.watch.front_ends) or (
        config.watch.selection.by_namespace)
    return lambda before: _read(reload, before, watches_namespaces=watched)


def _read(reload: Reload, before: FrontEnds, *, watches_namespaces: bool) -> FrontEnds:
    """Read the file. Raises: FileProblem: it is wrong, or a router must start anew for it."""
    try:
        known = reload(file_watch.text)
    except ConfigError as exc:
        raise FileProblem(str(exc)) from None
    if problem := next(_obstacles(before, known, watches_namespaces=watches_namespaces), ""):
        raise FileProblem(f"--{FILE}: {problem}")
    return known


def _obstacles(before: FrontEnds, after: FrontEnds, *, watches_namespaces: bool) -> Iterator[str]:
    """Yield why a router that runs cannot take a file. Args: watches_namespaces: True if it knows them."""
    if bool(before.own) != bool(after.own):
        yield f"entry {DEFAULT}: to set or to leave out its addresses, restart the router"
    if not watches_namespaces and any(each.namespace_labels for each in after.selections):
        yield "namespace-labels: namespaces are not watched since the start; restart the router"
    known = listeners((*before.own, *before.further))
    places, paths = {(each.address, each.port): each.virtual for each in known}, {
        each.virtual for each in known}
    for each in listeners((*after.own, *after.further)):
        other = places.get((each.address, each.port))
        if each.virtual not in paths and other is not None:
            yield (f"virtual server {each.virtual} is to have the place of {other}: let the router use a "
                   f"file first in which nothing has address {each.address} port {each.port}")
