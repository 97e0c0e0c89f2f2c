"""The chain of a Route from its admission to the pods, and the way of its requests as a graph.

The first broken step is marked. The graph, from clients to Nodes, is for Graphviz, whose language
is at https://graphviz.org/doc/info/lang.html; the status page draws the same (monitoring/page/page.js).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from f5router.admission.host_claims import NO_PATH
from f5router.model import findings, names
from f5router.model.cluster import PathMatch
from f5router.model.findings import Finding, Link, finding, loses
from f5router.model.texts import printable
from f5router.views.nodes import NodeView
from f5router.views.requests import State
from f5router.views.route_view import DOWN, MemberView, PoolView, RouteView, RuleView, Status

MOST_MEMBERS = 20
"""Maximum number of members that are listed; further members are counted."""

NOWHERE = "503 on purpose: this Route is not served over HTTP"
"""Meaning of a Rule that shields a Route from redirects of other Routes of its host."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the chain."""

    name: str
    text: str
    problems: tuple[Finding, ...] = ()

    @property
    def is_broken(self) -> bool:
        """True if requests are lost here."""
        return loses(self.problems)


def steps(route: RouteView) -> list[Step]:
    """Return the steps of a Route from the client to the pods, each with its problems."""
    return [Step(name, text, tuple(problem for problem in route.problems
                                   if problem.link in links and problem.at == at))
            for name, text, at, links in _parts(route)]


def to_do(route: RouteView) -> str:
    """Return how to fix what is wrong; "" if nothing is."""
    first = findings.worst(route.problems)
    if first is None:
        return ""
    how = first.to_do(namespace=route.namespace, name=route.name, host=route.host)
    return f"{how} ({first.page})"


def first_broken(chain: Iterable[Step]) -> int | None:
    """Return the index of the first step that loses requests, or has problems if none does; None without."""
    steps = list(chain)
    return next((number for number, step in enumerate(steps) if step.is_broken), next(
        (number for number, step in enumerate(steps) if step.problems), None))


_Part = tuple[str, str, str, tuple[Link, ...]]
"""Name, text, the object that its problems are at, and their links."""


def _parts(route: RouteView) -> Iterator[_Part]:
    source = f"{route.kind} {route.source}{f', {route.field}' if route.field else ''}"
    yield "object", f"{source}, host {route.host or '-'}, {_paths(route)}", "", ()
    broken = any(problem.link == Link.ROUTE for problem in route.problems)
    reason = "" if broken or not route.reason else f", {route.reason}: {route.message}"
    yield "admission", f"{route.status.value}{reason}", "", (Link.ROUTE,)
    if route.options:
        yield "options", "; ".join(f"{option.name}: {option.value}" for option in route.options), "", ()
    if route.status == Status.REJECTED:
        return
    for server in route.virtual_servers:
        where = f"{server.address or '*'} port {server.port or '*'}"
        at = server.disabled_address or server.path
        yield "virtual server", f"{server.path}, {where}", at, (Link.VIRTUAL_SERVER,)
    if (certificate := route.certificate) is not None:
        yield "certificate", f"{certificate.subject}, until {certificate.not_after}", "", (Link.CERTIFICATE,)
    for rule in route.rules:
        text = f"{rule.name} in {rule.container}: {rule.conditions or 'every request'} -> {rule.action}"
        nowhere = f", {NOWHERE}" if rule.action.endswith(f"/{names.NOWHERE_POOL}") else ""
        yield "rule", f"{text}{nowhere}", f"{rule.name} in {rule.container}", (Link.RULE,)
    faulty = {problem.at for problem in route.problems if problem.link is Link.RULE}
    for at in sorted(faulty & {f"{obj.kind} {obj.path}" for obj in route.objects}):
        yield "object", at, at, (Link.RULE,)
    if (pool := route.pool) is not None:
        members = f"{len(pool.members)} member{'' if len(pool.members) == 1 else 's'}"
        connections = "" if pool.connections is None else (
            f", {pool.connections:,} open connection{'' if pool.connections == 1 else 's'}, "
            f"{pool.opened:,} so far")
        yield ("pool", f"{pool.path}, {pool.load_balancing}, monitor {pool.monitor or 'none'}, {members}"
               f"{connections}", pool.path, (Link.POOL,))
        yield from _members(pool.members)
    for request in route.requests:
        text = f"{request.url}: {request.outcome}" if request.served else request.url
        yield "request", text, request.url, (Link.REQUEST,)


def _paths(route: RouteView) -> str:
    if route.path == NO_PATH:
        return "held by an object of which no part can be served"
    if route.path_match == PathMatch.EXACT:
        return f"path {route.path or '/'} alone"
    if route.path in ("", "/"):
        return "all paths"
    return (f"paths that begin with {route.path}" if route.path_match == PathMatch.TEXT
            else f"path {route.path} and all below")


def _members(members: tuple[MemberView, ...]) -> Iterator[_Part]:
    """Yield the members, broken members first, and then the broken Nodes."""
    ordered = sorted(members, key=_is_well)
    for member in ordered[:MOST_MEMBERS]:
        yield "member", _member(member), f"{member.address} port {member.port}", (Link.MEMBER,)
    if len(ordered) > MOST_MEMBERS:
        yield "member", f"and {len(ordered) - MOST_MEMBERS} more", "", ()
    for node in sorted({member.node for member in members if member.node_problem}):
        yield "Node", node, node, (Link.NODE,)


def _is_well(member: MemberView) -> bool:
    return member.state == State.IN_PLACE and member.health != DOWN and not member.node_problem


def _member(member: MemberView) -> str:
    words = [f"{member.address} port {member.port}", member.session if member.session != "enabled" else "",
             member.health, f"Node {member.node}" if member.node else "",
             f"by way of {member.vtep}" if member.vtep else ""]
    return ", ".join(filter(None, words))


def of_node(node: NodeView) -> list[Step]:
    """Return the steps of a Node: its addresses, and each way to its pods."""
    ready = "ready" if node.ready else "not ready"
    chain = [Step("Node", f"{node.name}, {', '.join(node.addresses) or 'no address'}, {ready}",
                  () if node.ready else _of_a_node("it is not ready")),
             Step("pods", ", ".join(node.networks) or "no pod network is known")]
    chain += [Step(way.kind, f"{way.name} -> {way.target}, {way.state.value}",
                   () if way.state == State.IN_PLACE else _of_a_node(
                       way.problem or f"it {_verb(way.state)}"))
              for way in node.ways]
    if not node.ways:
        chain.append(Step("way", "the router provides none: the BIG-IP has its own, or uses node ports"))
    return chain


def _of_a_node(text: str) -> tuple[Finding, ...]:
    return (finding(Link.NODE, findings.NODE_NOT_REACHED, text),)


def _verb(state: State) -> str:
    words = {State.MISSING: "is not on the BIG-IP", State.DIFFERS: "differs on the BIG-IP"}
    return words.get(state, "is refused")


MOST_DRAWN = 20
"""Members that are drawn; the others are counted."""

_WELL, _BROKEN = "color=darkgreen", "color=red, penwidth=2"


@dataclass(frozen=True, slots=True)
class Box:
    """A box of the graph."""

    lines: tuple[str, ...]
    problems: tuple[str, ...] = ()
    behind: tuple[int, ...] = ()
    """Numbers of the boxes from which requests come."""


def dot(routes: Sequence[RouteView]) -> str:
    """Draw the way to the pods of each Route; broken links are red, with what is wrong."""
    lines = ["digraph explain {", "  rankdir=LR", "  node [shape=box]"]
    for number, route in enumerate(routes):
        title = f"{route.kind} {route.source}: {route.status.value}"
        lines += [f"  subgraph cluster_{number} {{", f"    label={_quoted(title)}",
                  *(f"    {line}" for line in _drawn(number, boxes(route))), "  }"]
    return "\n".join([*lines, "}"])


def _drawn(number: int, chain: Sequence[Box]) -> Iterator[str]:
    for place, box in enumerate(chain):
        text = "\n".join((*filter(None, box.lines), *box.problems))
        yield f"r{number}_{place} [label={_quoted(text)}, {_BROKEN if box.problems else _WELL}]"
        style = " [color=red]" if box.problems else ""
        yield from (f"r{number}_{parent} -> r{number}_{place}{style}" for parent in box.behind)


def boxes(route: RouteView) -> list[Box]:
    """Return the boxes of a Route, each behind those from which its requests come."""
    certificate = route.certificate
    drawn = [Box(("client, TLS" if route.termination else "client", f"{route.host or '-'}{route.path}",
                  f"certificate until {certificate.not_after}" if certificate else ""),
                 _problems(route, Link.CERTIFICATE))]
    if refusal := _problems(route, Link.ROUTE):
        drawn.append(Box((f"{route.kind} {route.source}", "is not served"), refusal, (0,)))
    if route.status == Status.REJECTED:
        return drawn
    entry = len(drawn) - 1
    servers = range(len(drawn), len(drawn) + len(route.virtual_servers))
    drawn += [Box(("virtual server", server.path, f"{server.address or '*'} port {server.port or '*'}"),
                  _problems(route, Link.VIRTUAL_SERVER, server.disabled_address or server.path), (entry,))
              for server in route.virtual_servers]
    rules = range(len(drawn), len(drawn) + len(route.rules))
    drawn += [Box(("rule", f"{rule.name} in {rule.container}", rule.conditions, rule.action),
                  _problems(route, Link.RULE, f"{rule.name} in {rule.container}"),
                  _server_of(rule, route, servers) or (entry,)) for rule in route.rules]
    if route.pool is None:
        return drawn
    leading = tuple(place for place, rule in zip(rules, route.rules, strict=True)
                    if rule.action == f"pool {route.pool.path}")
    drawn.append(Box(("pool", route.pool.path, route.pool.load_balancing),
                     _problems(route, Link.POOL, route.pool.path), leading or (len(drawn) - 1,)))
    return drawn + _behind_pool(route, route.pool, len(drawn) - 1)


def _server_of(rule: RuleView, route: RouteView, servers: range) -> tuple[int, ...]:
    """Return the virtual server of a Rule: the one for HTTPS stands before the one for HTTP."""
    if not servers:
        return ()
    is_secure = bool(route.termination) and "insecure" not in rule.container
    return (servers[0] if is_secure else servers[-1],)


def _behind_pool(route: RouteView, pool: PoolView, place: int) -> list[Box]:
    """Return the members, the broken ones first, and their Nodes."""
    members = sorted(pool.members, key=_is_drawn_well)
    shown, drawn, nodes = members[:MOST_DRAWN], list[Box](), dict[str, list[int]]()
    for at, member in enumerate(shown, start=place + 1):
        words = (member.health, "" if member.session == "enabled" else member.session)
        name = f"{member.address} port {member.port}"
        drawn.append(Box(("member", name, ", ".join(filter(None, words))),
                         _problems(route, Link.MEMBER, name), (place,)))
        if member.node:
            nodes.setdefault(member.node, []).append(at)
    if len(members) > MOST_DRAWN:
        drawn.append(Box(("members", f"{len(members) - MOST_DRAWN} more"), (), (place,)))
    vteps = {member.node: member.vtep for member in shown}
    return drawn + [Box(("Node", node, f"by way of {vteps[node]}" if vteps[node] else ""),
                        _problems(route, Link.NODE, node), tuple(parents))
                    for node, parents in nodes.items()]


def _is_drawn_well(member: MemberView) -> bool:
    return member.state == State.IN_PLACE and member.health != DOWN and not member.node_problem


def _problems(route: RouteView, link: Link, at: str = "") -> tuple[str, ...]:
    return tuple(problem.text for problem in route.problems if problem.link == link and problem.at == at)


def _quoted(text: str) -> str:
    """Return a text as a string of the language, where backslashes and quotes have a meaning."""
    lines = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'
