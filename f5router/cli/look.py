"""Views of Routes for `get` and `explain`: as the cluster asks for them, and on the BIG-IP.

Both read the cluster and the BIG-IP once, as `plan` does, and write nothing.
"""

import dataclasses
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime

from rich.text import Text

from f5router.admission import condition
from f5router.cli import terminal
from f5router.cli.pool_states import NOT_ASKED, PoolReader, PoolState
from f5router.cli.survey import Survey, begin
from f5router.config.config import Config
from f5router.kube.watch import single_reads
from f5router.kube.watch.sources import Source, choose_served
from f5router.model.cluster import Key
from f5router.model.errors import KubeError
from f5router.model.limits import finish
from f5router.model.objects import Ref
from f5router.model.texts import printable
from f5router.views import findings, nodes, routes, snapshots
from f5router.views.nodes import Locator
from f5router.views.records import Known, RouteRecord
from f5router.views.requests import Lookup
from f5router.views.route_view import RouteView, Status

log = logging.getLogger(__name__)

WELL, BROKEN = 0, 1
"""Exit statuses."""

_STYLES = {Status.ADMITTED: "green", Status.PENDING: "yellow"}

Chooses = Callable[[RouteView], bool]


class Unreadable(Exception):
    """The cluster or the BIG-IP cannot be read. Attributes: problems: one text each."""

    def __init__(self, problems: Sequence[str]):
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


@contextmanager
def looked(config: Config, refused_s: float) -> Iterator[Survey]:
    """Read cluster and BIG-IP. Raises: Unreadable."""
    with ExitStack() as stack:
        survey = begin(config, stack)
        survey.read_cluster(refused_s)
        _read_device(survey)
        yield survey


def look_again(survey: Survey) -> None:
    """Read the BIG-IP again, and take what has changed in the cluster. Raises: Unreadable."""
    survey.begin_again()
    _read_device(survey)


def _read_device(survey: Survey) -> None:
    """Read the BIG-IP, and compare. Raises: Unreadable: it cannot be read, or the cluster is not known."""
    survey.read_device()
    if problem := survey.read_addresses():
        log.warning(problem)
    if not survey.is_complete:
        device = () if survey.error is None else (f"BIG-IP {survey.config.bigip_names}: {survey.error}",)
        raise Unreadable([*survey.unread_cluster(), *device])
    survey.plan()


def labelled(survey: Survey, source: Source, labels: str, namespace: str = "") -> set[Key]:
    """Return the objects of a kind with these labels, by one list. Raises: Unreadable.

    Args: labels: a label selector; namespace: "" for that of the settings, or all.
    """
    where = survey.config.watch.selection.namespace or namespace
    try:
        served = choose_served(survey.connection, source)
        return set() if served is None else single_reads.labelled(survey.connection, served, where, labels)
    except KubeError as exc:
        raise Unreadable([f"{source.resource} with these labels cannot be listed: {exc}"]) from None


class Views:
    """Views of what a Survey has read."""

    def __init__(self, survey: Survey, pools: PoolReader | None = None):
        """Args: pools: reads the states of pools; None if nobody asks for them."""
        self._reconciler, self._pools = survey.reconciler, pools
        self._cluster = survey.cluster
        self._router_names = {name: each.router_name for name, each in survey.config.route_statuses.items()}
        self.nodes = [nodes.view(record) for record in finish(snapshots.nodes(survey.reconciler))]
        self._locator, self._now = Locator(self.nodes), datetime.now(UTC)
        device = survey.reconciler.device
        front_ends = survey.reconciler.engine.front_ends
        self.lookups = {name: Lookup(device.observed, front_ends.facts(name, device.facts),
                                     survey.config.folder, name) for name in front_ends}
        """By front end."""

    def routes(self, chooses: Chooses = lambda route: True) -> list[RouteView]:
        """Return the Routes that are chosen, by namespace and name."""
        known = self._reconciler.engine.routes()
        keys = sorted(known, key=lambda key: routes.place(known[key].route))
        collected = map(self._record, keys)
        chosen = [record for record in collected if record is not None and chooses(self._view(record))]
        return [self._view(record, self._state(record.pool)) for record in chosen]

    def route(self, key: Key) -> RouteView | None:
        """Return a Route; None if there is none."""
        record = self._record(key)
        return None if record is None else self._view(record)

    def hosts(self) -> set[str]:
        """Return the Hosts of all Routes."""
        return {evaluated.host for evaluated in self._reconciler.engine.routes().values()}

    def _record(self, key: Key) -> RouteRecord | None:
        """Return the record of a Route, with a refusal of the BIG-IP that its own status has.

        The refusal counts while something of the Route is not on the BIG-IP.
        """
        record, route = snapshots.route(self._reconciler, key), self._cluster.route(key.on(""))
        if record is None or route is None or routes.status_of(record.known.verdict) is not Status.PENDING:
            return record
        refusal = condition.refusal(route.status_ingress, self._router_names.get(key.front_end, ""))
        return record if refusal is None else dataclasses.replace(record, known=Known(refusal))

    def _view(self, record: RouteRecord, state: PoolState = NOT_ASKED) -> RouteView:
        lookup = self.lookups.get(record.evaluated.route.key.front_end, self.lookups[""])
        looked_up = findings.probes(record.evaluated, {each.ref for each in record.objects}, lookup,
                                    findings.down_of(record.pool, state.health))
        return routes.view(record, self._now, self._locator, state.health, state.connections, looked_up,
                           state.problem)

    def _state(self, pool: Ref | None) -> PoolState:
        return NOT_ASKED if self._pools is None or pool is None else self._pools.state(pool)


def refused(exc: Unreadable) -> int:
    """Print why nothing can be shown; returns the exit status."""
    console = terminal.console()
    for text in exc.problems:
        console.print(Text(printable(text), "bold red"), soft_wrap=True)
    console.print(Text("`f5router doctor` checks everything that is needed"), soft_wrap=True)
    return BROKEN
