"""The command `explain`: Routes from their admission to their pods, and who answers a request.

It reads the cluster and the BIG-IP once, as `plan` does, and writes nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rich.console import Console
from rich.text import Text

from f5router.app.first_load import REFUSED_S
from f5router.cli import gateway_steps, not_selected, terminal
from f5router.cli.invocation import object_key
from f5router.cli.look import BROKEN, WELL, Chooses, Unreadable, Views, looked, refused
from f5router.cli.pool_states import NOT_ASKED, PoolReader
from f5router.cli.survey import Survey
from f5router.config.config import Config
from f5router.config.front_ends_file import DEFAULT
from f5router.model.cluster import Key, Subject
from f5router.model.errors import ConfigError, KubeError
from f5router.model.findings import worst
from f5router.model.gateway import GATEWAY, ROUTE_KINDS, SERVICE
from f5router.model.texts import did_you_mean, hanging, printable
from f5router.sources.settings import INGRESS, INGRESS_ROUTE, ROUTE
from f5router.views import chain, requests
from f5router.views.chain import Step
from f5router.views.findings import down_of
from f5router.views.nodes import NodeView
from f5router.views.requests import Answer, Request
from f5router.views.route_view import DISABLED, DOWN, Health, RouteView

TEXT, DOT = "text", "dot"
"""Forms of a chain."""

Finds = Callable[[Views], list[RouteView]]
OfObject = Callable[[Survey], Sequence[Step]]
Lacks = Callable[[Survey, Views], int]
"""Prints why there is no Route; returns the exit status."""


def explain_routes(config: Config, finds: Finds, lacks: Lacks, *, subject: Subject | None = None,
                   of_object: OfObject = lambda survey: (), output: str = TEXT,
                   refused_s: float = REFUSED_S) -> int:
    """Print the chain of each Route that is found; returns the exit status: BROKEN if a link is, or none is.

    Args:
        subject: the object of the Routes; None if they have several.
        of_object: returns the parts of that object, with what is wrong there, outside of its Routes.
        output: TEXT or DOT.
    """
    try:
        with looked(config, refused_s) as survey:
            views = Views(survey, PoolReader(survey.device))
            chosen, parts = finds(views), of_object(survey)
            if not chosen and not parts:
                return lacks(survey, views)
    except Unreadable as exc:
        return refused(exc)
    if output == DOT:
        print(chain.dot(chosen))
    else:
        if subject is not None:
            print_object(subject, parts, is_followed=bool(chosen))
        print_routes(chosen)
    return WELL if is_well(chosen, parts) else BROKEN


def is_well(shown: Iterable[RouteView], parts: Iterable[Step]) -> bool:
    """True if nothing is broken of an object. Args: as of explain_routes."""
    return all(view.is_served for view in shown) and not any(step.is_broken for step in parts)


def print_routes(chosen: Sequence[RouteView]) -> None:
    """Print the chain of each Route."""
    console = terminal.console()
    for number, view in enumerate(chosen):
        if number:
            console.print()
        title = f"{view.kind} {view.label}: {view.status.value}"
        print_chain(console, title, chain.steps(view), chain.to_do(view))
        told = "\n".join(problem.text for problem in view.problems)
        for text in (each for each in view.warnings if each not in told):
            console.print(Text(f"  warning: {printable(text)}", "yellow"), soft_wrap=True)


def print_object(subject: Subject, parts: Sequence[Step], *, is_followed: bool) -> None:
    """Print the parts of an object. Args: is_followed: True if chains of its Routes follow."""
    if not parts:
        return
    console, key = terminal.console(), subject.key
    first = worst(problem for step in parts for problem in step.problems)
    to_do = f"{first.to_do(namespace=key.namespace, name=key.name, host='')} ({first.page})" if first else ""
    print_chain(console, f"{subject.kind} {key}", parts, to_do)
    if is_followed:
        console.print()


def parts_of(survey: Survey, subject: Subject) -> tuple[Step, ...]:
    """Return the parts of an object: those without a Route, or all of an object of the Gateway API."""
    if subject.kind in (GATEWAY, *ROUTE_KINDS):
        obj = gateway_steps.find(survey, *subject)
        return obj.steps if obj else ()
    problems = not_selected.of_parts(survey, *subject) if subject.kind == INGRESS else ()
    return (Step("object", "its parts without a Route", problems),) if problems else ()


def explain(config: Config, kind: str, name: str, namespace: str, *, output: str = TEXT) -> int:
    """Explain the object of a kind and name."""
    named = {ROUTE: explain_route, SERVICE: explain_service}.get(kind)
    if named is not None:
        return named(config, name, namespace, output=output)
    subject = Subject(kind, object_key(name, namespace, config.watch.selection.namespace or ""))
    return explain_routes(
        config, lambda views: views.routes(lambda view: (view.kind, view.source) == subject),
        partial(_no_route, *subject), subject=subject, of_object=lambda survey: parts_of(survey, subject),
        output=output)


def explain_route(config: Config, name: str, namespace: str, *, output: str = TEXT) -> int:
    """Explain the Route of a name, also a virtual one; else what has this name and is no Route."""
    key = object_key(name, namespace, config.watch.selection.namespace or "")

    def finds(views: Views) -> list[RouteView]:
        return views.routes(lambda view: Key(view.namespace, view.id) == key or (
            view.kind == ROUTE and view.source == key))

    return explain_routes(config, finds, partial(_no_route, ROUTE, key), output=output)


def explain_ingress_routes(config: Config, trees: Mapping[Key, Chooses]) -> int:
    """Explain the Routes of IngressRoutes. Args: trees: the filter for the Routes of each; not empty."""
    first, *_ = missing = list(trees)

    def finds(views: Views) -> list[RouteView]:
        chosen = views.routes(lambda view: any(chooses(view) for chooses in trees.values()))
        missing[:] = [key for key, chooses in trees.items() if chosen and not any(map(chooses, chosen))]
        return chosen

    status = explain_routes(config, finds, partial(_no_route, INGRESS_ROUTE, first))
    for key in missing:
        status = print_missing(INGRESS_ROUTE, key)
    return status


def explain_service(config: Config, name: str, namespace: str, *, output: str = TEXT) -> int:
    """Explain the Routes that name a Service."""
    key = object_key(name, namespace, config.watch.selection.namespace or "")

    def lacks(survey: Survey, views: Views) -> int:
        known = sorted(each.name for each in survey.reconciler.engine.cluster.services
                       if each.namespace == key.namespace)
        return print_lack(f"no Route of this router names the Service {key}" if key.name in known else
                           f"Service {key} does not exist{did_you_mean(key.name, known)}")

    return explain_routes(config, lambda views: views.routes(
        lambda view: view.namespace == key.namespace and any(
            service.name == key.name for service in view.services)), lacks, output=output)


def explain_host(config: Config, name: str) -> int:
    """Explain all Routes of a Host, or of the wildcard for it. Args: name: Host, Host with port, or URL."""
    host = requests.host_of(name)

    def finds(views: Views) -> list[RouteView]:
        own = views.routes(lambda view: view.host == host)
        if any(view.is_served and view.path in ("", "/") for view in own):
            return own
        wildcard = f"*.{host.partition('.')[2]}"
        return own + views.routes(lambda view: view.host == wildcard != host)

    def lacks(survey: Survey, views: Views) -> int:
        return print_lack(f"host {host}: no Route of this router has it"
                           f"{did_you_mean(host, sorted(views.hosts()))}")

    return explain_routes(config, finds, lacks)


def _no_route(kind: str, key: Key, survey: Survey, views: Views) -> int:
    """Print why no Route comes from an object."""
    try:
        why = not_selected.explain(survey, kind, key)
    except KubeError as exc:
        return print_lack(f"{kind} {key}: no Route of this router comes from it, and it cannot be read: "
                           f"{exc}")
    step = Step("selection", "nothing of it is on the BIG-IP", (why,))
    print_chain(terminal.console(), f"{kind} {key}: {why.code}", [step],
                f"{why.to_do(namespace=key.namespace, name=key.name, host='')} ({why.page})")
    return BROKEN


def print_missing(kind: str, key: Key) -> int:
    """Print that an object of several has no Route; returns the exit status."""
    return print_lack(f"{kind} {key}: no Route of this router comes from it: "
                      f"`f5router explain {kind.lower()} {key}` says why")


def print_lack(text: str) -> int:
    """Print why something cannot be explained; returns the exit status."""
    terminal.console().print(Text(printable(text)), soft_wrap=True)
    return BROKEN


def explain_node(config: Config, name: str, *, refused_s: float = REFUSED_S) -> int:
    """Print the way to the pods of a Node, and the Routes with members on it; returns the exit status."""
    try:
        with looked(config, refused_s) as survey:
            views = Views(survey)
            node = next((each for each in views.nodes if each.name == name), None)
            using = views.routes(lambda route: _is_on(route, name)) if node else []
    except Unreadable as exc:
        return refused(exc)
    console = terminal.console()
    if node is None:
        text = f"Node {name}: unknown. Nodes are only read if the settings ask for a way to the pods"
        console.print(Text(printable(text)), soft_wrap=True)
        return BROKEN
    print_chain(console, f"Node {name}", chain.of_node(node), _node_to_do(node))
    members = ", ".join(str(view.source) for view in using) or "none"
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
            views, codes = Views(survey), []
            asked = {name: each for name, each in views.lookups.items() if each.has(request.scheme)}
            for name, lookup in (asked or views.lookups).items():
                answer = lookup.answer(request)
                owners = _owners(survey, answer)
                shown = [view for key in owners if (view := views.route(key)) is not None]
                pools = PoolReader(survey.device, connections=False)
                state = pools.state(answer.pool.ref) if answer.pool else NOT_ASKED
                answer = lookup.answer(
                    request, down_of(answer.pool.ref if answer.pool else None, state.health))
                if len(asked or views.lookups) > 1:
                    terminal.console().print(Text(f"On front end {name or DEFAULT}:"))
                codes.append(_show_answer(request, answer, state.health or {}, shown, state.problem))
    except Unreadable as exc:
        return refused(exc)
    return min(codes)


def _show_answer(request: Request, answer: Answer, health: Health, shown: Sequence[RouteView],
                 unread: str) -> int:
    """Print an answer.

    Args:
        health: of the members of its pool.
        shown: the Routes that ask for it.
        unread: why the health is not known; "" if it is.
    """
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
        text = f"  it is {view.kind} {view.label}, {view.status.value}"
        console.print(Text(printable(text)))
    usable = [member for member in members if member.state == "enabled"]
    is_down = bool(usable) and {health.get((each.address, each.port)) for each in usable} <= {DOWN, DISABLED}
    if is_down:
        console.print(Text("  every member is down for the monitor of the BIG-IP, or disabled", "bold red"))
    if answer.matched and not shown:
        console.print(Text("  no Route asks for this any longer", "yellow"))
    if unread:
        console.print(Text(f"  health of members not read: {printable(unread)}", "yellow"), soft_wrap=True)
    if answer.doubt:
        console.print(Text(printable(f"  not certain: {answer.doubt}"), "yellow"), soft_wrap=True)
    return WELL if answer.served and not is_down and not unread else BROKEN


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
