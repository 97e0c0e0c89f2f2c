"""The graph of one root of IngressRoutes: the objects that it reaches, their statuses, and their Routes.

The whole of an object is rejected for any error, and its delegations do not count: first every object is
checked, then the valid ones publish. Contour keeps what stands before the error; its design document does
not. An object that is delegated to with several prefixes publishes below each what lies there; a route below
none of them is an error. A delegating route is checked against the prefixes of its object too, so that nobody
publishes outside of them; Contour checks routes with services alone. An object reached with another prefix,
or from another root, is checked again for each. The oldest of several roots of one fqdn is served; Contour
serves none.

Sources: projectcontour/contour v1.5.1, internal/dag/builder.go (computeIngressRoutes, processRoutes,
processTCPProxy) and docs/ingressroute.md; v0.6.0, design/ingressroute-design.md ("Validation rules"); v1.3.0,
internal/metrics/metrics.go and internal/contour/metrics.go (counts of statuses).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from f5router.admission import host_claims
from f5router.model.cluster import TLS_SECRET, Key, is_object_name
from f5router.model.ingress import IngressRoute, RouteEntry, VirtualHost
from f5router.model.limits import Steps
from f5router.sources import contour_entries
from f5router.sources.contour_entries import CheckedEntry, host_of, is_below, quoted, secret_of
from f5router.sources.delegation_walk import (
    MOST_DEPTH,
    PROXY,
    Budget,
    Graph,
    Records,
    View,
    Visit,
    Walk,
    chain,
    target,
)

VALID, INVALID, ORPHANED = "valid", "invalid", "orphaned"
NO_ROOT = "this IngressRoute is not part of a delegation chain from a root IngressRoute"


class GraphStatus(NamedTuple):
    """Status of an IngressRoute, as far as the objects of the cluster decide it."""

    current: str
    description: str
    fqdn: str = ""
    """That of the root, for metrics; "" for other objects."""


TOTAL, ROOT = "total", "root"
BY_HOST = ("valid", "invalid")
"""Statuses that are counted by vhost, too."""
MOST_HOST = 253
"""Characters of a vhost that are shown."""


class Labels(NamedTuple):
    """A sample: the metric, and the values of its labels."""

    metric: str
    """TOTAL, ROOT or a status."""
    namespace: str
    vhost: str = ""


class StatusCounts:
    """Counts that one thread changes and any other may read."""

    def __init__(self) -> None:
        self._samples: dict[Key, tuple[Labels, ...]] = {}
        self._counts: Counter[Labels] = Counter()
        self.counts: Mapping[Labels, int] = {}
        """The counts when they were published last; never changed in place."""
        self.rebuilt_at = 0.0
        """When a graph changed last, in seconds since the epoch; 0 for never."""

    def put(self, key: Key, status: GraphStatus | None, *, is_root: bool = False) -> None:
        """Set the status of an object; None for a deleted object."""
        for labels in self._samples.pop(key, ()):
            self._counts[labels] -= 1
            if not self._counts[labels]:
                del self._counts[labels]
        if status is None:
            return
        vhost = status.fqdn[:MOST_HOST] if status.current in BY_HOST else ""
        samples = [Labels(TOTAL, key.namespace), Labels(status.current, key.namespace, vhost)]
        samples += [Labels(ROOT, key.namespace)] if is_root else []
        self._samples[key] = tuple(samples)
        self._counts.update(samples)

    def publish(self, now: float) -> None:
        """Publish the counts to readers. Args: now: seconds since the epoch."""
        self.counts, self.rebuilt_at = dict(self._counts), now


def build(root: IngressRoute, view: View, budget: Budget, previous: Graph | None = None) -> Steps[Graph]:
    """Build the graph of a root. Args: previous: the last one, for Routes that need not be made again."""
    graph = Graph(root.key, root.virtual_host.fqdn if root.virtual_host else "", of=root)
    known = previous.records if previous and previous.of == root else {}
    yield from _fill(root, view, graph, budget, known)
    if not graph.routes and graph.fqdn and "*" not in graph.fqdn:
        held = host_claims.hold(root.key, contour_entries.KIND, root.uid, root.created, host_of(graph.fqdn),
                                "spec.virtualhost.fqdn")
        graph.routes[held.key] = held
    served = {visit.key for visit, error in graph.visits.items() if not error}
    for visit, error in graph.visits.items():
        if error and visit in graph.cut_visits:
            if visit.key in served:
                graph.warn(visit.key, error)
                continue
            graph.cut_objects.add(visit.key)
        graph.objects[visit.key] = graph.objects.get(visit.key) or error
    return graph


def _fill(root: IngressRoute, view: View, graph: Graph, budget: Budget, known: Records) -> Steps[None]:
    if error := _root_error(root, view, graph):
        graph.visits[Visit(root.key)] = error
        return
    version = root.virtual_host.minimum_version if root.virtual_host else ""
    if version not in contour_entries.VERSIONS:
        graph.warn(root.key, f"tls.minimumProtocolVersion {quoted(version)} is unknown; 1.1 applies")
    proxy = _check_proxy(root, view, graph)
    if graph.visits:
        error = next((error for visit, error in graph.visits.items() if visit.key == root.key), "")
        if error:
            return
    yield from Walk(root, view, graph, budget).run()
    if not graph.visits[Visit(root.key)]:
        yield from _publish(root, proxy, view, graph, known)


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
        # others than the oldest one would change this status as they come and go
        both = ", ".join(map(str, sorted((holder, root.key))))
        return f"fqdn {quoted(host.fqdn)} is used in multiple IngressRoutes: " + (
            both if holder.namespace == root.key.namespace else f"{root.key}, one in another namespace")
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
            "tcpproxy: not supported with secretName: the HTTPS virtual server handles as HTTP what it "
            "decrypts; use tls.passthrough, or routes")
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
        following = target(obj, obj.tcp_proxy.delegate) if obj.tcp_proxy and obj.tcp_proxy.delegate else None
        if following in path:
            error = error or f"tcpproxy creates a delegation cycle: {chain(path, following)}"
        elif len(path) >= MOST_DEPTH:
            error = error or f"tcpproxy: more than {MOST_DEPTH} IngressRoutes delegate one to another"
        if error or obj is not root:
            graph.visits[Visit(obj.key, PROXY)] = error
        for text in checked.warnings if not error else ():
            graph.warn(obj.key, text)
        if error or following is None:
            return (obj.key, checked) if not error and checked.backends else None
        if following not in view.objects:
            graph.missing.add(following)
            graph.warn(obj.key, f"tcpproxy: delegates to IngressRoute {following}, which does not exist")
            return None
        obj = view.objects[following]


# --- what is published -------------------------------------------------------------------

ENTRIES_OF_A_STEP = 50


def _publish(root: IngressRoute, proxy: tuple[Key, CheckedEntry] | None, view: View, graph: Graph,
             known: Records) -> Steps[None]:
    """Build the Routes of the valid objects. The later of equal matches, by order of visits, counts.

    They are gone through backwards, and what is there already counts: nothing is published twice.
    """
    holders: dict[str, Key] = {}
    if proxy is not None:
        route = contour_entries.build_route(root, proxy[0], RouteEntry(), proxy[1], passthrough=True)
        graph.routes[route.key] = route
        holders[""] = proxy[0]
    outside, inside = set[tuple[Key, int]](), set[tuple[Key, int]]()
    seen, stack = {Visit(root.key)}, [(Visit(root.key), _backwards(root))]
    while stack:
        visit, entries = stack[-1]
        number = next(entries, None)
        if number is None:
            stack.pop()
            continue
        if number % ENTRIES_OF_A_STEP == ENTRIES_OF_A_STEP - 1:
            yield
        obj = view.objects[visit.key]
        entry, checked = obj.routes[number], view.entries(visit.key)[number]
        if not is_below(entry.match, visit.prefix):  # another visit of the object should have it
            outside.add((visit.key, number))
            continue
        inside.add((visit.key, number))
        if entry.delegate is not None:
            following = Visit(target(obj, entry.delegate), entry.match)
            if following not in seen and graph.visits.get(following) == "":
                seen.add(following)
                stack.append((following, _backwards(view.objects[following.key])))
        elif checked.backends:
            place = visit.key, number
            record = known.get(place)
            if record is None or record[:2] != (entry, checked):
                record = entry, checked, contour_entries.build_route(root, visit.key, entry, checked)
            graph.records[place], route = record, record[2]
            if route.path in holders and graph.routes.get(route.key) != route:
                graph.warn(visit.key, f"route {quoted(entry.match)}: not served: another entry of "
                           f"IngressRoute {holders[route.path]} has the same match and comes later")
                continue
            holders[route.path] = visit.key
            graph.routes[route.key] = route
    for key, number in sorted(outside - inside):
        if (entry := view.objects[key].routes[number]).services or entry.delegate:
            graph.warn(key, f"route {quoted(entry.match)}: not served: no valid IngressRoute delegates its "
                       "path")


def _backwards(obj: IngressRoute) -> Iterator[int]:
    return iter(range(len(obj.routes) - 1, -1, -1))
