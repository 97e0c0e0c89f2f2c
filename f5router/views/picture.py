"""The way of requests for a Route as a graph, from clients to Nodes, for Graphviz.

The status page draws the same (monitoring/page/page.js). The language is at
https://graphviz.org/doc/info/lang.html.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from f5router.model.texts import printable
from f5router.views.needed_object import State
from f5router.views.routes import DOWN, Link, MemberView, PoolView, RouteView, RuleView, Status

MOST_MEMBERS = 20
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
        title = f"{route.kind} {route.namespace}/{route.name}: {route.status.value}"
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
        drawn.append(Box((f"{route.kind} {route.namespace}/{route.name}", "is not served"), refusal, (0,)))
    if route.status == Status.REJECTED:
        return drawn
    entry = len(drawn) - 1
    servers = range(len(drawn), len(drawn) + len(route.virtual_servers))
    drawn += [Box(("virtual server", server.path, f"{server.address or '*'} port {server.port or '*'}"),
                  _problems(route, Link.VIRTUAL_SERVER, f"{server.path} "), (entry,))
              for server in route.virtual_servers]
    rules = range(len(drawn), len(drawn) + len(route.rules))
    drawn += [Box(("rule", f"{rule.name} in {rule.container}", rule.conditions, rule.action),
                  _problems(route, Link.RULE, f"{rule.name} in {rule.container}: "),
                  _server_of(rule, route, servers) or (entry,)) for rule in route.rules]
    if route.pool is None:
        return drawn
    leading = tuple(place for place, rule in zip(rules, route.rules, strict=True)
                    if rule.action == f"pool {route.pool.path}")
    drawn.append(Box(("pool", route.pool.path, route.pool.load_balancing), _problems(route, Link.POOL),
                     leading or (len(drawn) - 1,)))
    return drawn + _behind_pool(route, route.pool, len(drawn) - 1)


def _server_of(rule: RuleView, route: RouteView, servers: range) -> tuple[int, ...]:
    """Return the virtual server of a Rule: the one for HTTPS stands before the one for HTTP."""
    if not servers:
        return ()
    is_secure = bool(route.termination) and "insecure" not in rule.container
    return (servers[0] if is_secure else servers[-1],)


def _behind_pool(route: RouteView, pool: PoolView, place: int) -> list[Box]:
    """Return the members, the broken ones first, and their Nodes."""
    members = sorted(pool.members, key=_is_well)
    shown, drawn, nodes = members[:MOST_MEMBERS], list[Box](), dict[str, list[int]]()
    for at, member in enumerate(shown, start=place + 1):
        words = (member.health, "" if member.session == "enabled" else member.session)
        name = f"{member.address} port {member.port}"
        drawn.append(Box(("member", name, ", ".join(filter(None, words))),
                         _problems(route, Link.MEMBER, f"{name} "), (place,)))
        if member.node:
            nodes.setdefault(member.node, []).append(at)
    if len(members) > MOST_MEMBERS:
        drawn.append(Box(("members", f"{len(members) - MOST_MEMBERS} more"), (), (place,)))
    vteps = {member.node: member.vtep for member in shown}
    return drawn + [Box(("Node", node, f"by way of {vteps[node]}" if vteps[node] else ""),
                        _problems(route, Link.NODE, f"{node}: "), tuple(parents))
                    for node, parents in nodes.items()]


def _is_well(member: MemberView) -> bool:
    return member.state == State.IN_PLACE and member.health != DOWN and not member.node_problem


def _problems(route: RouteView, link: Link, subject: str = "") -> tuple[str, ...]:
    return tuple(problem.text for problem in route.problems
                 if problem.link == link and problem.text.startswith(subject))


def _quoted(text: str) -> str:
    """Return a text as a string of the language, where backslashes and quotes have a meaning."""
    lines = (printable(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n"))
    return '"' + "\\n".join(lines) + '"'
