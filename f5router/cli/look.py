"""The command `get`, and what `explain` reads, too: Routes as the cluster asks for them, and on the BIG-IP.

Both read the cluster and the BIG-IP once, as `plan` does, and write nothing.
"""

import dataclasses
import json
import logging
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

import yaml
from rich.text import Text

from f5router.admission import condition
from f5router.app.first_load import REFUSED_S
from f5router.cli import terminal
from f5router.cli.survey import Survey, begin
from f5router.config.config import Config
from f5router.icontrol import statistics
from f5router.model.cluster import Key
from f5router.model.errors import BigIPError
from f5router.model.limits import finish
from f5router.model.objects import Ref
from f5router.model.texts import printable
from f5router.views import chain, findings, nodes, routes, snapshots
from f5router.views.nodes import Locator
from f5router.views.records import Known, RouteRecord
from f5router.views.requests import Lookup
from f5router.views.route_view import Connections, Health, RouteView, Status

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
        survey.read_device()
        if problem := survey.read_addresses():
            log.warning(problem)
        if not survey.is_complete:
            missing = () if survey.knows_cluster else survey.cluster.missing()
            device = () if survey.error is None else (f"BIG-IP {config.bigip_names}: {survey.error}",)
            raise Unreadable([*missing, *device])
        survey.plan()
        yield survey


class Views:
    """Views of what a Survey has read."""

    def __init__(self, survey: Survey, *, pools_asked: int = 0):
        """Args: pools_asked: number of pools, at most, about which the BIG-IP is asked."""
        self._reconciler, self._pools_asked = survey.reconciler, pools_asked
        self._cluster, self._router_name = survey.cluster, survey.config.status.router_name
        self._health: dict[str, Health] = {}
        self._unread: dict[str, str] = {}
        """Why the health of a pool's members is not known."""
        self._connections: dict[str, Connections | None] = {}
        self.nodes = [nodes.view(record) for record in finish(snapshots.nodes(survey.reconciler))]
        self._locator, self._now = Locator(self.nodes), datetime.now(UTC)
        device = survey.reconciler.device
        self._lookup = Lookup(device.observed, device.facts, survey.config.folder)

    def routes(self, chooses: Chooses = lambda route: True) -> list[RouteView]:
        """Return the Routes that are chosen, by namespace and name."""
        known = self._reconciler.engine.routes()
        keys = sorted(known, key=lambda key: routes.place(known[key].route))
        collected = map(self._record, keys)
        chosen = [record for record in collected if record is not None and chooses(self._view(record))]
        return [self._view(record, self.health(record.pool), self._connections_of(record.pool),
                           self.health_problem(record.pool)) for record in chosen]

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
        record, route = snapshots.route(self._reconciler, key), self._cluster.route(key)
        if record is None or route is None or routes.status_of(record.known.verdict) is not Status.PENDING:
            return record
        refusal = condition.refusal(route.status_ingress, self._router_name)
        return record if refusal is None else dataclasses.replace(record, known=Known(refusal))

    def _view(self, record: RouteRecord, health: Health | None = None,
              connections: Connections | None = None, health_problem: str = "") -> RouteView:
        looked_up = findings.probes(record.evaluated, {each.ref for each in record.objects}, self._lookup)
        return routes.view(record, self._now, self._locator, health, connections, looked_up, health_problem)

    def _connections_of(self, pool: Ref | None) -> Connections | None:
        """Read the connections of a pool whose health was read; None if the BIG-IP does not report them."""
        if pool is None or pool.path not in self._health:
            return None
        if pool.path not in self._connections:
            try:
                read = statistics.pool(self._reconciler.device.client, pool.path)
            except BigIPError as exc:
                log.debug("statistics not read", extra={"pool": pool.path, "error": str(exc)})
                read = None
            self._connections[pool.path] = None if read is None else (
                read.traffic.connections, read.traffic.opened)
        return self._connections[pool.path]

    def health(self, pool: Ref | None) -> Health | None:
        """Read the health of the members of a pool; None if it is not asked for, or not there."""
        if pool is None or not self._pools_asked or pool not in self._reconciler.device.observed:
            return None
        if pool.path in self._health or pool.path in self._unread:
            return self._health.get(pool.path)
        if len(self._health) + len(self._unread) >= self._pools_asked:
            self._unread[pool.path] = f"the BIG-IP is asked about {self._pools_asked} pools at most"
            return None
        try:
            self._health[pool.path] = statistics.read_health(self._reconciler.device.client, pool.path)
        except BigIPError as exc:
            self._unread[pool.path] = str(exc)
        return self._health.get(pool.path)

    def health_problem(self, pool: Ref | None) -> str:
        """Return why the health that was asked for is not known; "" if it is."""
        return self._unread.get(pool.path, "") if pool else ""


def refused(exc: Unreadable) -> int:
    """Print why nothing can be shown; returns the exit status."""
    console = terminal.console()
    for text in exc.problems:
        console.print(Text(printable(text), "bold red"), soft_wrap=True)
    console.print(Text("`f5router doctor` checks everything that is needed"), soft_wrap=True)
    return BROKEN


# --- get ---------------------------------------------------------------------------------

COLUMNS = ("NAMESPACE", "NAME", "KIND", "HOST", "PATH", "STATUS", "WHY")
MORE = ("SERVICES", "TERMINATION", "REASON", "POOL", "MEMBERS", "PROBLEM")


def get_routes(config: Config, *, namespace: str, output: str, given: Collection[str] = (),
               refused_s: float = REFUSED_S) -> int:
    """Print Routes; returns the exit status.

    Args:
        namespace: "" for all.
        output: "table", "wide", "name", "json" or "yaml".
        given: NAME or NAMESPACE/NAME of those to print; empty for all.
    """
    try:
        with looked(config, refused_s) as survey:
            views = Views(survey).routes(lambda route: namespace in ("", route.namespace) and (
                not given or bool(_names(route) & set(given))))
    except Unreadable as exc:
        return refused(exc)
    if output in ("json", "yaml"):
        documents = [dataclasses.asdict(view) for view in views]
        print(json.dumps(documents, indent=2) if output == "json"
              else yaml.safe_dump(_plain(documents), sort_keys=False).rstrip("\n"))
    elif output == "name":
        for view in views:
            print(printable(f"{view.kind.lower()}/{view.namespace}/{view.name}"))
    elif views:
        terminal.show_table(*route_table(views, wide=output == "wide"))
    elif not given:
        where = f" in {namespace} namespace" if namespace else ""
        print(printable(f"No resources found{where}."), file=sys.stderr)
    absent = sorted(set(given) - {name for view in views for name in _names(view)})
    for name in absent:
        text = f"No Route {name!r}: `f5router explain route NAMESPACE/NAME` says why"
        print(printable(text), file=sys.stderr)
    return BROKEN if absent else WELL


def _names(route: RouteView) -> set[str]:
    """Return the names by which a Route is asked for."""
    names = {route.name, route.id}
    return names | {f"{route.namespace}/{name}" for name in names}


def _plain(value: Any) -> Any:
    """Return a value of JSON's types alone: YAML would tag others."""
    return json.loads(json.dumps(value))


def route_table(views: Iterable[RouteView], *, wide: bool) -> tuple[tuple[str, ...], list[list[Text]]]:
    """Return headers and rows of a list of Routes. Args: wide: with all columns."""
    rows = [[*map(_cell, (view.namespace, view.name, view.kind, view.host, view.path or "/")),
             _status(view.status), _first_broken(view), *(map(_cell, _wide(view)) if wide else ())]
            for view in views]
    return (*COLUMNS, *MORE) if wide else COLUMNS, rows


def _wide(view: RouteView) -> tuple[str, ...]:
    services = ", ".join(f"{service.name}{f':{service.port}' if service.port else ''}"
                         for service in view.services)
    return (services, view.termination or "-", view.reason or "-", view.pool.path if view.pool else "-",
            str(len(view.pool.members)) if view.pool else "-",
            view.problems[0].text if view.problems else "-")


def _cell(text: str) -> Text:
    return Text(printable(text))


def _first_broken(view: RouteView) -> Text:
    """Return the code of what is wrong first: a Route that is admitted may have no pod, for example."""
    first = chain.worst(view)
    return Text("-") if first is None else Text(first.code, "red" if first.loses else "yellow")


def _status(status: Status) -> Text:
    return Text(status.value, _STYLES.get(status, "red"))
