"""The commands `get` and `explain`: Routes as the cluster asks for them, and as the BIG-IP has them.

Both read the cluster and the BIG-IP once, as `plan` does, and write nothing.
"""

import dataclasses
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

import yaml
from rich.console import Console
from rich.text import Text

from f5router.app.first_load import REFUSED_S
from f5router.cli import terminal
from f5router.cli.survey import Survey, begin
from f5router.config.config import Config
from f5router.icontrol import statistics
from f5router.model.cluster import Key
from f5router.model.errors import BigIPError, ConfigError
from f5router.model.limits import finish
from f5router.model.objects import Ref
from f5router.model.texts import hanging, printable
from f5router.views import chain, findings, nodes, requests, routes, snapshots
from f5router.views.chain import Step
from f5router.views.nodes import Locator, NodeView
from f5router.views.records import RouteRecord
from f5router.views.requests import Answer, Lookup, Request
from f5router.views.route_view import DOWN, Connections, Health, RouteView, Status

log = logging.getLogger(__name__)

WELL, BROKEN = 0, 1
"""Exit statuses."""

TEXT, DOT = "text", "dot"
"""Forms of a chain."""

MOST_POOLS = 50
"""Pools of which health of the members and connections are read, two calls for each."""

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
        self._reconciler, self._pools_left = survey.reconciler, pools_asked
        self._health: dict[str, Health] = {}
        self._connections: dict[str, Connections | None] = {}
        self.nodes = [nodes.view(record) for record in finish(snapshots.nodes(survey.reconciler))]
        self._locator, self._now = Locator(self.nodes), datetime.now(UTC)
        device = survey.reconciler.device
        self._lookup = Lookup(device.observed, device.facts, survey.config.folder)

    def routes(self, chooses: Chooses = lambda route: True) -> list[RouteView]:
        """Return the Routes that are chosen, by namespace and name."""
        known = self._reconciler.engine.routes()
        collected = (snapshots.route(self._reconciler, key)
                     for key in sorted(known, key=lambda key: routes.place(known[key].route)))
        chosen = [record for record in collected if record is not None and chooses(self._view(record))]
        return [self._view(record, self.health(record.pool), self._connections_of(record.pool))
                for record in chosen]

    def route(self, key: Key) -> RouteView | None:
        """Return a Route; None if there is none."""
        record = snapshots.route(self._reconciler, key)
        return None if record is None else self._view(record)

    def _view(self, record: RouteRecord, health: Health | None = None,
              connections: Connections | None = None) -> RouteView:
        looked_up = findings.probes(record.evaluated, {each.ref for each in record.objects}, self._lookup)
        return routes.view(record, self._now, self._locator, health, connections, looked_up)

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
        if pool is None or pool not in self._reconciler.device.observed:
            return None
        if pool.path not in self._health and self._pools_left > 0:
            self._pools_left -= 1
            try:
                self._health[pool.path] = statistics.read_health(self._reconciler.device.client, pool.path)
            except BigIPError as exc:
                log.debug("health of members not read", extra={"pool": pool.path, "error": str(exc)})
                self._health[pool.path] = {}
        return self._health.get(pool.path)


# --- get ---------------------------------------------------------------------------------

COLUMNS = ("NAMESPACE", "NAME", "KIND", "HOST", "PATH", "STATUS", "WHY")
MORE = ("SERVICES", "TERMINATION", "REASON", "POOL", "MEMBERS", "PROBLEM")


def get_routes(config: Config, *, namespace: str, output: str, refused_s: float = REFUSED_S) -> int:
    """Print Routes; returns the exit status. Args: output: "table", "wide", "json" or "yaml"."""
    try:
        with looked(config, refused_s) as survey:
            views = Views(survey).routes(lambda route: namespace in ("", route.namespace))
    except Unreadable as exc:
        return _refused(exc)
    if output in ("json", "yaml"):
        documents = [dataclasses.asdict(view) for view in views]
        print(json.dumps(documents, indent=2) if output == "json"
              else yaml.safe_dump(_plain(documents), sort_keys=False).rstrip("\n"))
    else:
        terminal.show_table(*route_table(views, wide=output == "wide"))
    return WELL


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


# --- explain -----------------------------------------------------------------------------


def explain_routes(config: Config, what: str, chooses: Chooses, *, output: str = TEXT,
                   refused_s: float = REFUSED_S) -> int:
    """Print the chain of each Route that is chosen; returns the exit status: BROKEN if a link is, or none is.

    Args: what: the object, for a message that there is none. output: TEXT or DOT.
    """
    try:
        with looked(config, refused_s) as survey:
            views = Views(survey, pools_asked=MOST_POOLS).routes(chooses)
    except Unreadable as exc:
        return _refused(exc)
    console = terminal.console()
    if not views:
        console.print(Text(printable(f"{what}: no Route of this router comes from it, or names it")))
        return BROKEN
    if output == DOT:
        print(chain.dot(views))
        return WELL if all(view.is_served for view in views) else BROKEN
    for number, view in enumerate(views):
        if number:
            console.print()
        title = f"{view.kind} {view.namespace}/{view.name}: {view.status.value}"
        print_chain(console, title, chain.steps(view), chain.to_do(view))
        told = "\n".join(problem.text for problem in view.problems)
        for text in (each for each in view.warnings if each not in told):
            console.print(Text(f"  warning: {printable(text)}", "yellow"), soft_wrap=True)
    return WELL if all(view.is_served for view in views) else BROKEN


def explain_route(config: Config, name: str, *, output: str = TEXT) -> int:
    """Explain the Route of a name, also a virtual one."""
    key = _key(name)
    return explain_routes(config, f"Route {key}", lambda view: (view.namespace, view.id) == key or (
        view.kind == "Route" and (view.namespace, view.name) == key), output=output)


def explain_ingress(config: Config, name: str) -> int:
    """Explain the Routes of an Ingress."""
    key = _key(name)
    return explain_routes(
        config, f"Ingress {key}", lambda view: view.kind == "Ingress" and (view.namespace, view.name) == key)


def explain_service(config: Config, name: str) -> int:
    """Explain the Routes that name a Service."""
    key = _key(name)
    return explain_routes(config, f"Service {key}", lambda view: view.namespace == key.namespace and any(
        service.name == key.name for service in view.services))


def explain_host(config: Config, name: str) -> int:
    """Explain all Routes of a host."""
    host = name.lower().rstrip(".")
    return explain_routes(config, f"host {host}", lambda view: view.host == host)


def _key(name: str) -> Key:
    """Return namespace and name. Raises: ConfigError: the text has another form."""
    namespace, slash, rest = name.partition("/")
    if not namespace or not slash or not rest or "/" in rest:
        raise ConfigError([f"{name!r} must be NAMESPACE/NAME"])
    return Key(namespace, rest)


def explain_node(config: Config, name: str, *, refused_s: float = REFUSED_S) -> int:
    """Print the way to the pods of a Node, and the Routes with members on it; returns the exit status."""
    try:
        with looked(config, refused_s) as survey:
            views = Views(survey)
            node = next((each for each in views.nodes if each.name == name), None)
            using = views.routes(lambda route: _is_on(route, name)) if node else []
    except Unreadable as exc:
        return _refused(exc)
    console = terminal.console()
    if node is None:
        text = f"Node {name}: unknown. Nodes are only read if the settings ask for a way to the pods"
        console.print(Text(printable(text)), soft_wrap=True)
        return BROKEN
    print_chain(console, f"Node {name}", chain.of_node(node), _node_to_do(node))
    members = ", ".join(f"{view.namespace}/{view.name}" for view in using) or "none"
    console.print(Text(f"  Routes with members on it: {printable(members)}"), soft_wrap=True)
    return BROKEN if node.problem else WELL


def _is_on(route: RouteView, node: str) -> bool:
    return route.pool is not None and any(member.node == node for member in route.pool.members)


def _node_to_do(node: NodeView) -> str:
    return "`f5router doctor` checks the way to the pods" if node.problem else ""


def explain_request(config: Config, url: str, *, refused_s: float = REFUSED_S) -> int:
    """Print who answers a request by what is on the BIG-IP; returns BROKEN if nobody does.

    Raises: ConfigError: it is no URL of a request.
    """
    try:
        request = requests.parse(url)
    except ValueError as exc:
        raise ConfigError([str(exc)]) from None
    try:
        with looked(config, refused_s) as survey:
            lookup = Lookup(survey.device.observed, survey.device.facts, config.folder)
            answer = lookup.answer(request)
            owners = _owners(survey, answer)
            views = Views(survey, pools_asked=1)
            shown = [view for key in owners if (view := views.route(key)) is not None]
            health = views.health(answer.pool.ref) if answer.pool else {}
    except Unreadable as exc:
        return _refused(exc)
    return _show_answer(request, answer, health or {}, shown)


def _show_answer(request: Request, answer: Answer, health: Health, shown: Sequence[RouteView]) -> int:
    """Print an answer. Args: health: of the members of its pool; shown: the Routes that ask for it."""
    console = terminal.console()
    console.print(Text(f"{request.scheme}://{printable(request.host)}{printable(request.path)}", "bold"))
    for text in answer.steps[:-1]:
        console.print(Text(f"  {printable(text)}"), soft_wrap=True)
    style = "green" if answer.served else "bold red"
    console.print(Text(f"  {printable(answer.steps[-1])}", style), soft_wrap=True)
    members = sorted(answer.pool.members if answer.pool else ())
    for member in members:
        states = ("" if member.state == "enabled" else member.state,
                  health.get((member.address, member.port), ""))
        console.print(Text("    " + ", ".join((member.name, *filter(None, states)))))
    for view in shown:
        text = f"  it is {view.kind} {view.namespace}/{view.name}, {view.status.value}"
        console.print(Text(printable(text)))
    usable = [member for member in members if member.state == "enabled"]
    is_down = bool(usable) and {health.get((each.address, each.port)) for each in usable} == {DOWN}
    if is_down:
        console.print(Text("  every member is down for the monitor of the BIG-IP", "bold red"))
    if answer.matched and not shown:
        console.print(Text("  no Route asks for this any longer", "yellow"))
    if answer.doubt:
        console.print(Text(printable(f"  not certain: {answer.doubt}"), "yellow"), soft_wrap=True)
    return WELL if answer.served and not is_down else BROKEN


def _owners(survey: Survey, answer: Answer) -> list[Key]:
    """Return the Routes that want the object which leads the request."""
    engine = survey.reconciler.engine
    if answer.matched is None:
        return []
    return [key for key in sorted(engine.routes()) if answer.matched in engine.uses(key)]


def print_chain(console: Console, title: str, steps: Sequence[Step], to_do: str) -> None:
    """Print the steps of a chain below a title, the broken ones with their problems."""
    console.print(Text(printable(title), "bold"), soft_wrap=True)
    broken = chain.first_broken(steps)
    column = max(len(step.name) for step in steps)
    indent = column + 6
    for number, step in enumerate(steps):
        mark, style = ("x", "bold red") if step.is_broken else ("!", "yellow") if step.problems else (
            "+", "green")
        text = hanging(step.text, indent, console.width)
        line = Text("  ").append(mark, style).append(f" {step.name:<{column}}  {text}")
        console.print(line, soft_wrap=True)
        for problem in step.problems:
            is_first = step.is_broken and number == broken and problem is step.problems[0]
            pointer = "first broken link: " if is_first else ""
            text = hanging(f"{pointer}{problem.text}", indent, console.width)
            console.print(Text(f"{' ' * indent}{text}", "red"), soft_wrap=True)
    if to_do:
        console.print(Text(f"  {hanging(f'to do: {to_do}', 2, console.width)}", "bold"), soft_wrap=True)


def _refused(exc: Unreadable) -> int:
    console = terminal.console()
    for text in exc.problems:
        console.print(Text(printable(text), "bold red"), soft_wrap=True)
    console.print(Text("`f5router doctor` checks everything that is needed"), soft_wrap=True)
    return BROKEN
