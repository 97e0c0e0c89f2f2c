"""The graph of one root of IngressRoutes: which objects it reaches, their errors, and the Routes of these.

The whole of an object is rejected for any error, and its delegations do not count: first every object is
checked, then the valid ones publish. Contour keeps what stands before the error; its design document does
not. A delegating route is checked against the prefix that was delegated to its object too, so that nobody
publishes outside of it; Contour checks routes with services alone. An object reached with another prefix, or
from another root, is checked again for each. The oldest of several roots of one fqdn is served; Contour
serves none.

Nothing is walked twice with the same prefix, and prefixes are bounded: a lattice costs its edges, not its
paths.

Sources: projectcontour/contour v1.5.1, internal/dag/builder.go (computeIngressRoutes, processRoutes,
processTCPProxy) and docs/ingressroute.md; v0.6.0, design/ingressroute-design.md ("Validation rules").
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from f5router.model.cluster import TLS_SECRET, Key, Route, Secret, is_object_name
from f5router.model.ingress_route import Delegate, IngressRoute, RouteEntry, VirtualHost
from f5router.sources import contour_routes, host_holding
from f5router.sources.contour_entries import CheckedEntry, quoted
from f5router.sources.contour_routes import host_of, secret_of

MOST_DEPTH = 256
"""Objects from a root to a Service."""
MOST_PREFIXES = 16
"""Different prefixes with which a root reaches an object. All begin the matches of the object, and it is
checked for each: without a bound two large objects cost their product."""
MOST_ROUTES = 10_000
"""Routes of a namespace below one root: those who add roots for the same objects multiply these. It costs no
other namespace."""
MOST_PATH_SHOWN = 20
"""Objects that the text about a cycle names."""

PROXY = "tcpproxy"
"""In place of a prefix, where a tcpproxy was delegated to an object."""

TO_ROOT = "root ingressroute cannot delegate to another root ingressroute"


class Visit(NamedTuple):
    """An object with the prefix that was delegated to it; "" for a root."""

    key: Key
    prefix: str = ""


Records = Mapping[tuple[Key, int], tuple[RouteEntry, CheckedEntry, Route]]


class View(Protocol):
    """The part of the cluster that a graph depends on."""

    @property
    def objects(self) -> Mapping[Key, IngressRoute]:
        """IngressRoutes of the class."""

    def entries(self, key: Key) -> tuple[CheckedEntry, ...]:
        """Return spec.routes of an object, checked."""

    def proxy(self, key: Key) -> CheckedEntry:
        """Return spec.tcpproxy of an object that has one, checked."""

    def secret(self, key: Key) -> Secret | None:
        """Return a Secret; None if it is not read yet."""

    def permits(self, secret: Key, namespace: str) -> bool:
        """True if the namespace of a Secret delegates it to another one."""

    def may_have_roots(self, namespace: str) -> bool:
        """True if roots of a namespace count."""

    def holder(self, root: IngressRoute) -> Key:
        """Return the oldest of the roots of the same fqdn, those that another one takes out of service."""


@dataclass(slots=True)
class Graph:
    """The graph of a root."""

    root: Key
    fqdn: str = ""
    """As a status names it; "" where it is of no use."""
    visits: dict[Visit, str] = field(default_factory=dict)
    """Error by visit, in their order; "" for a valid one."""
    routes: dict[Key, Route] = field(default_factory=dict)
    missing: set[Key] = field(default_factory=set)
    """Targets of delegations that are not walked: they do not exist, or their object is invalid."""
    warnings: dict[Key, list[str]] = field(default_factory=dict)
    """By object."""
    secret: Key | None = None
    """The Secret that it needs, where it may have it."""
    foreign_secret: Key | None = None
    """The Secret that it names, where that is in another namespace."""
    records: dict[tuple[Key, int], tuple[RouteEntry, CheckedEntry, Route]] = field(default_factory=dict)
    """By object and number of an entry: what a Route was made of."""
    of: IngressRoute | None = None
    """The root that it was built of."""

    objects: dict[Key, str] = field(default_factory=dict)
    """First error of each object that was reached; "" without one."""

    def warn(self, key: Key, text: str) -> None:
        """Add a warning for an object, once."""
        known = self.warnings.setdefault(key, [])
        if text not in known:
            known.append(text)


def is_below(match: str, prefix: str) -> bool:
    """True if a match lies in the space of a prefix, by segments: /foo has /foo and /foo/x, not /foobar.

    Source: projectcontour/contour v1.5.1, internal/dag/builder.go: matchesPathPrefix.
    """
    if not prefix:
        return True
    return bool(match) and f"{match.rstrip('/') if match.endswith('/') else match}/".startswith(
        prefix if prefix.endswith("/") else f"{prefix}/")


def build(root: IngressRoute, view: View, previous: Graph | None = None) -> Graph:
    """Build the graph of a root. Args: previous: the last one, for Routes that need not be made again."""
    graph = Graph(root.key, root.virtual_host.fqdn if root.virtual_host else "", of=root)
    known = previous.records if previous and previous.of == root else {}
    _walk(root, view, graph, known)
    if not graph.routes and graph.fqdn and "*" not in graph.fqdn:
        held = host_holding.hold(root.key, contour_routes.KIND, root.uid, root.created, host_of(graph.fqdn),
                                 "spec.virtualhost.fqdn")
        graph.routes[held.key] = held
    for visit, error in graph.visits.items():
        graph.objects[visit.key] = graph.objects.get(visit.key) or error
    return graph


def _walk(root: IngressRoute, view: View, graph: Graph, known: Records) -> None:
    if error := _root_error(root, view, graph):
        graph.visits[Visit(root.key)] = error
        return
    version = root.virtual_host.minimum_version if root.virtual_host else ""
    if version not in contour_routes.VERSIONS:
        graph.warn(root.key, f"tls.minimumProtocolVersion {quoted(version)} is unknown; 1.1 applies")
    proxy = _check_proxy(root, view, graph)
    if graph.visits:
        error = next((error for visit, error in graph.visits.items() if visit.key == root.key), "")
        if error:
            return
    _check(root, view, graph)
    if not graph.visits[Visit(root.key)]:
        _publish(root, proxy, view, graph, known)


# --- the root ----------------------------------------------------------------------------


def _root_error(root: IngressRoute, view: View, graph: Graph) -> str:
    """Return why nothing of a root is served; "" if it may be."""
    host = root.virtual_host
    assert host is not None, "called with a root"
    if not view.may_have_roots(root.key.namespace):
        graph.fqdn = ""
        return "root IngressRoute cannot be defined in this namespace"
    if not host_of(host.fqdn):
        graph.fqdn = ""
        return "Spec.VirtualHost.Fqdn must be specified"
    if (holder := view.holder(root)) != root.key:
        return f"fqdn {quoted(host.fqdn)} is used in multiple IngressRoutes: " + ", ".join(
            map(str, sorted((holder, root.key))))  # others would change this status as they come and go
    if "*" in host.fqdn:
        return f"Spec.VirtualHost.Fqdn {quoted(host.fqdn)} cannot use wildcards"
    return _secret_error(root, host, view, graph)


def _secret_error(root: IngressRoute, host: VirtualHost, view: View, graph: Graph) -> str:
    """Return why a root cannot use its Secret; "" if it can, and if it is not read yet.

    The delegation is checked first: nobody learns whether a Secret of another namespace exists.
    """
    key, field_name = secret_of(root), f"Spec.VirtualHost.TLS Secret {quoted(host.secret)}"
    if key is None:  # whoever asks for TLS is never served in clear text
        return f"{field_name} is invalid: Secret not found" if host.tls and not host.passthrough else ""
    if key.namespace != root.key.namespace:
        graph.foreign_secret = key
        if not view.permits(key, root.key.namespace):
            return f"{field_name} certificate delegation not permitted"
    if not is_object_name(key.name) or not is_object_name(key.namespace):
        return f"{field_name} is invalid: Secret not found"
    graph.secret = key
    secret = view.secret(key)
    if secret is None or secret.not_loaded:
        return ""
    problem = secret.problem
    if problem.endswith(" not found"):
        problem = "Secret not found"
    elif not problem and secret.type != TLS_SECRET:
        problem = f'Secret type is not "{TLS_SECRET}"'
    elif not problem and not (secret.certificate and secret.private_key):
        problem = f'empty "{"tls.key" if secret.certificate else "tls.crt"}" key'
    return f"{field_name} is invalid: {problem}" if problem else ""


# --- tcpproxy ----------------------------------------------------------------------------


def _check_proxy(root: IngressRoute, view: View, graph: Graph) -> tuple[Key, CheckedEntry] | None:
    """Follow the tcpproxy of a root to its Services; returns the object that has them."""
    host = root.virtual_host
    assert host is not None, "called with a root"
    if root.tcp_proxy is None:
        if host.passthrough:
            graph.warn(root.key, "tls.passthrough has no effect without tcpproxy")
        return None
    if host.secret:
        graph.visits[Visit(root.key)] = (
            "tcpproxy: not supported with secretName, for which the BIG-IP would need another virtual "
            "server; tls.passthrough is supported")
        return None
    if not host.passthrough:
        graph.warn(root.key, "tcpproxy has no effect without tls.passthrough")
        return None
    path: list[Key] = []
    obj = root
    while True:
        path.append(obj.key)
        checked = view.proxy(obj.key) if obj.tcp_proxy else CheckedEntry()
        error = obj.problem or checked.conflict or checked.error
        target = _target(obj, obj.tcp_proxy.delegate) if obj.tcp_proxy and obj.tcp_proxy.delegate else None
        if target in path:
            error = error or f"tcpproxy creates a delegation cycle: {_chain(path, target)}"
        elif len(path) >= MOST_DEPTH:
            error = error or f"tcpproxy: more than {MOST_DEPTH} IngressRoutes delegate one to another"
        if error or obj is not root:
            graph.visits[Visit(obj.key, PROXY)] = error
        for text in checked.warnings if not error else ():
            graph.warn(obj.key, text)
        if error or target is None:
            return (obj.key, checked) if not error and checked.backends else None
        following = view.objects.get(target)
        if following is None:
            graph.missing.add(target)
            graph.warn(obj.key, f"tcpproxy: delegates to IngressRoute {target}, which does not exist")
            return None
        obj = following


# --- routes ------------------------------------------------------------------------------


def _check(root: IngressRoute, view: View, graph: Graph) -> None:
    """Visit what a root reaches, and check it: depth first, in the order of spec.routes."""
    stack: list[tuple[Visit, Iterator[Visit]]] = []
    path: dict[Key, None] = {}
    prefixes: Counter[Key] = Counter()
    sizes: Counter[str] = Counter()
    counted: set[Key] = set()

    def enter(visit: Visit) -> None:
        graph.visits[visit] = ""
        path[visit.key] = None
        prefixes[visit.key] += 1
        size = visit.key not in counted and sum(
            bool(entry.services) for entry in view.objects[visit.key].routes)
        if prefixes[visit.key] > MOST_PREFIXES:
            error = f"more than {MOST_PREFIXES} different path prefixes are delegated to it"
        elif sizes[visit.key.namespace] + size > MOST_ROUTES:
            error = f"namespace {visit.key.namespace} has more than {MOST_ROUTES} routes below one root"
        else:
            error = _error(visit, path, view)
        if not error:
            counted.add(visit.key)
            sizes[visit.key.namespace] += size
        graph.visits[visit] = error
        targets = [] if graph.visits[visit] else list(_targets(visit.key, view, graph))
        if graph.visits[visit]:  # a target may be the reason
            obj = view.objects[visit.key]
            graph.missing |= {_target(obj, entry.delegate) for entry in obj.routes if entry.delegate}
        stack.append((visit, iter(targets)))

    enter(Visit(root.key))
    while stack:
        visit, targets = stack[-1]
        following = next(targets, None)
        if following is None:
            stack.pop()
            del path[visit.key]
        elif following not in graph.visits:
            enter(following)


def _error(visit: Visit, path: Mapping[Key, None], view: View) -> str:
    """Return the first error of an object, in the order of spec.routes; "" for none."""
    obj = view.objects[visit.key]
    if obj.problem:
        return obj.problem
    for entry, checked in zip(obj.routes, view.entries(visit.key), strict=True):
        if error := checked.conflict:
            return error
        if not (entry.services or entry.delegate):
            continue
        if not is_below(entry.match, visit.prefix):
            return (f"the path prefix {quoted(entry.match)} does not match the parent's path prefix "
                    f"{quoted(visit.prefix)}")
        if error := checked.error or (_delegate_error(obj, entry.delegate, path, view) if entry.delegate
                                      else ""):
            return error
    return ""


def _delegate_error(obj: IngressRoute, delegate: Delegate, path: Mapping[Key, None], view: View) -> str:
    key = _target(obj, delegate)
    target = view.objects.get(key)
    if target is None:
        return ""
    if target.virtual_host is not None:
        return TO_ROOT
    if key in path:
        return f"route creates a delegation cycle: {_chain([*path], key)}"
    if len(path) >= MOST_DEPTH:
        return f"more than {MOST_DEPTH} IngressRoutes delegate one to another"
    return ""


def _targets(key: Key, view: View, graph: Graph) -> Iterator[Visit]:
    """Yield the visits that a valid object leads to, and record the warnings of the object."""
    obj = view.objects[key]
    for entry, checked in zip(obj.routes, view.entries(key), strict=True):
        for text in checked.warnings:
            graph.warn(key, text)
        if entry.delegate is None:
            continue
        target = _target(obj, entry.delegate)
        if target in view.objects:
            yield Visit(target, entry.match)
        else:
            graph.missing.add(target)
            graph.warn(key, f"route {quoted(entry.match)}: delegates to IngressRoute {target}, which does "
                       "not exist")


def _target(obj: IngressRoute, delegate: Delegate) -> Key:
    return Key(delegate.namespace or obj.key.namespace, delegate.name)


def _chain(path: list[Key], last: Key) -> str:
    shown = [str(key) for key in path[:MOST_PATH_SHOWN]]
    if len(path) > MOST_PATH_SHOWN:
        shown.append("...")
    return " -> ".join([*shown, str(last)])


# --- what is published -------------------------------------------------------------------


def _publish(root: IngressRoute, proxy: tuple[Key, CheckedEntry] | None, view: View, graph: Graph,
             known: Records) -> None:
    """Make the Routes of the valid objects. For the same match, the later one in the order of visits counts.

    They are gone through backwards, and what is there already counts: nothing is published twice.
    """
    holders: dict[str, Key] = {}
    if proxy is not None:
        route = contour_routes.build(root, proxy[0], RouteEntry(), proxy[1], passthrough=True)
        graph.routes[route.key] = route
        holders[""] = proxy[0]
    seen, stack = {Visit(root.key)}, [(Visit(root.key), _backwards(root))]
    while stack:
        visit, entries = stack[-1]
        number = next(entries, None)
        if number is None:
            stack.pop()
            continue
        obj = view.objects[visit.key]
        entry, checked = obj.routes[number], view.entries(visit.key)[number]
        if entry.delegate is not None:
            following = Visit(_target(obj, entry.delegate), entry.match)
            if following not in seen and graph.visits.get(following) == "":
                seen.add(following)
                stack.append((following, _backwards(view.objects[following.key])))
        elif checked.backends:
            place = visit.key, number
            record = known.get(place)
            if record is None or record[0] is not entry or record[1] != checked:
                record = entry, checked, contour_routes.build(root, visit.key, entry, checked)
            graph.records[place], route = record, record[2]
            if checked.reencrypt and route.tls is None and checked.authority is None:
                graph.warn(visit.key, f"route {quoted(entry.match)}: upstream-protocol.tls has no effect on "
                           "a virtual host without TLS: its pods are asked without")
            if route.path in holders and graph.routes.get(route.key) != route:
                graph.warn(visit.key, f"route {quoted(entry.match)}: not served: another entry of "
                           f"IngressRoute {holders[route.path]} has the same match and comes later")
                continue
            holders[route.path] = visit.key
            graph.routes[route.key] = route


def _backwards(obj: IngressRoute) -> Iterator[int]:
    return iter(range(len(obj.routes) - 1, -1, -1))
