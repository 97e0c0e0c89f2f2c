"""Explains an IngressRoute as trees: from its roots to the Services, and why a branch is cut."""

from collections.abc import Iterator

from f5router.model.cluster import Key
from f5router.model.ingress import IngressRoute, RouteEntry, TCPProxy
from f5router.model.texts import number_of
from f5router.sources.contour_entries import CheckedEntry, quoted
from f5router.sources.delegation_walk import PROXY, Graph, Visit
from f5router.sources.ingress_routes import IngressRoutes

MOST_LINES = 10_000
"""Lines of a tree."""


def explain(source: IngressRoutes, key: Key) -> list[str]:
    """Return the lines about an IngressRoute: its status, and the tree of each root that reaches it."""
    status = source.status(key)
    if status is None:
        return []
    lines = [f"IngressRoute {key}: {status.current}: {status.description}"]
    lines += [f"  warning: {text}" for text in source.warnings(key)]
    roots = source.roots(key)
    for root in roots:
        lines.append("")
        for line in _root(source, root):
            if len(lines) == MOST_LINES:
                return [*lines, f"... more than {MOST_LINES} lines"]
            lines.append(line)
    if not roots:
        lines += ["", "No root delegates to it. It has "
                  f"{number_of(len(source.objects[key].routes), 'route')}:"]
        lines += [f"  {_own(entry)}" for entry in source.objects[key].routes]
    return lines


def _root(source: IngressRoutes, root: Key) -> Iterator[str]:
    host = source.objects[root].virtual_host
    assert host is not None, "a graph belongs to a root"
    tls = ", TLS passed through" if host.passthrough else ""
    if host.secret:
        tls = f", TLS with Secret {host.secret}"
    yield f"root {root}: {host.fqdn}{tls}"
    yield from _visit(source, source.graphs[root], Visit(root), "  ", set())


def _visit(source: IngressRoutes, graph: Graph, visit: Visit, indent: str,
           shown: set[Visit]) -> Iterator[str]:
    """Yield the lines below a visit, each visit once."""
    stack: list[tuple[Visit | str, str]] = [(visit, indent)]
    while stack:
        at, indent = stack.pop()
        if isinstance(at, str):
            yield f"{indent}{at}"
            continue
        if error := graph.visits.get(at, ""):
            yield f"{indent}invalid: {error}"
            yield f"{indent}no part of it is served"
            continue
        if at in shown:
            yield f"{indent}as above"
            continue
        shown.add(at)
        obj, below = source.objects[at.key], list[tuple[Visit | str, str]]()
        if obj.tcp_proxy is not None and (at.prefix == PROXY or at.key == graph.root):
            below += _branch(source, graph, obj, obj.tcp_proxy, source.proxy(at.key), "tcpproxy", indent)
        if at.prefix != PROXY:
            for entry, checked in zip(obj.routes, source.entries(at.key), strict=True):
                below += _branch(source, graph, obj, entry, checked, entry.match or "/", indent)
        stack += reversed(below)


def _branch(source: IngressRoutes, graph: Graph, obj: IngressRoute, entry: RouteEntry | TCPProxy,
            checked: CheckedEntry, name: str, indent: str) -> list[tuple[Visit | str, str]]:
    if entry.delegate is None:
        return [(f"{name} -> {_services(obj, entry, checked)}", indent)]
    target = Key(entry.delegate.namespace or obj.key.namespace, entry.delegate.name)
    if target not in source.objects:
        return [(f"{name} -> IngressRoute {target}: does not exist", indent)]
    visit = Visit(target, PROXY if isinstance(entry, TCPProxy) else entry.match)
    line = (f"{name} -> IngressRoute {target}", indent)
    return [line, (visit, f"{indent}  ")] if visit in graph.visits else [line]


def _services(obj: IngressRoute, entry: RouteEntry | TCPProxy, checked: CheckedEntry) -> str:
    total = sum(backend.weight or 0 for backend in checked.backends)
    texts = [f"Service {obj.key.namespace}/{backend.service}"
             + (f" port {backend.port}" if backend.port else "")
             + (f" ({round(100 * (backend.weight or 0) / total)}%)" if len(checked.backends) > 1 else "")
             for backend in checked.backends]
    return ", ".join(texts) or "nothing: neither services nor delegate"


def _own(entry: RouteEntry) -> str:
    if entry.delegate is not None:
        return f"{quoted(entry.match)} -> IngressRoute {entry.delegate.name}"
    return f"{quoted(entry.match)} -> {', '.join(f'{each.name}:{each.port}' for each in entry.services)}"
