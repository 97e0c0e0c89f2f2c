"""Visits what a root of IngressRoutes reaches by the delegations of its routes, and checks it.

Nothing is walked twice with the same prefix on behalf of one tenant, and prefixes are bounded: a lattice
costs its edges, not its paths. The delegations of one tenant decide nothing about the same object below
another tenant. An object that is delegated to with several prefixes publishes with each prefix the routes
below it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from f5router.model.cluster import Key, Route, Secret
from f5router.model.ingress import Delegate, IngressRoute, RouteEntry
from f5router.model.limits import Steps
from f5router.sources.contour_entries import CheckedEntry, is_below, quoted
from f5router.sources.settings import MOST_ROUTES

MOST_DEPTH = 256
"""Objects from a root to a Service."""
MOST_PATH_SHOWN = 20
"""Objects that the text about a cycle names."""

PROXY = "tcpproxy"
"""In place of a prefix, where a tcpproxy was delegated to an object."""


class Visit(NamedTuple):
    """An object with the prefix that was delegated to it; "" for a root."""

    key: Key
    prefix: str = ""


Records = Mapping[tuple[Key, int], tuple[RouteEntry, CheckedEntry, Route]]


class Budget(NamedTuple):
    """How many routes a graph may have by delegation.

    Each root that reaches an object has Routes of its own for it: what one tenant writes multiplies what
    others do. So the routes are charged to both sides of a delegation: to the namespace of the root, for all
    roots there, and to the namespace that it delegates to, its tenant, who is charged for whatever he
    delegates to in turn. Roots that anybody adds for an object take nothing from the roots of others, and a
    tenant whose objects grow takes nothing from the others below the same roots.
    """

    most: int = MOST_ROUTES
    spent: Mapping[str, int] = {}
    """Routes of other roots of the namespace, by tenant."""


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
        """Return the oldest root of the fqdn, including roots that another one takes out of service."""


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
    spent: Counter[str] = field(default_factory=Counter)
    """Routes by tenant, without those of the root itself."""
    cut: dict[str, int] = field(default_factory=dict)
    """Tenants who were left fewer routes than they have, with the number that was left."""
    cut_visits: set[Visit] = field(default_factory=set)
    """Visits of objects beyond it."""
    cut_objects: set[Key] = field(default_factory=set)
    """Objects that are not served for that."""

    def warn(self, key: Key, text: str) -> None:
        """Add a warning for an object, once."""
        known = self.warnings.setdefault(key, [])
        if text not in known:
            known.append(text)


def target(obj: IngressRoute, delegate: Delegate) -> Key:
    """Return the object that a delegation of another one is for."""
    return Key(delegate.namespace or obj.key.namespace, delegate.name)


def chain(path: list[Key], last: Key) -> str:
    """Return the text of a cycle."""
    shown = [str(key) for key in path[:MOST_PATH_SHOWN]]
    if len(path) > MOST_PATH_SHOWN:
        shown.append("...")
    return " -> ".join([*shown, str(last)])


MOST_PREFIXES = 16
"""Different prefixes with which a root reaches an object. All begin the matches of the object, and it is
checked for each: without a bound two large objects cost their product."""


def charged(root: Key, tenant: str, key: Key) -> str:
    """Return the tenant who is charged for an object that a tenant delegates to. See Budget."""
    return key.namespace if tenant == root.namespace else tenant


class DelegatedPrefixes:
    """Follows the delegations of a root when it is first asked: most graphs have one prefix for each object.

    Paths do not matter here, so each object is looked at once for each prefix.
    """

    def __init__(self, root: IngressRoute, view: View):
        self._root, self._view = root.key, view
        self._prefixes: dict[tuple[str, Key], set[str]] = defaultdict(set)
        """By tenant and object."""
        self._strays: dict[tuple[str, Key], frozenset[int]] = {}

    def strays(self, tenant: str, key: Key) -> frozenset[int]:
        """Return the numbers of an object's routes that lie below no prefix which a tenant has for it."""
        if not self._prefixes:
            self._follow()
        if (tenant, key) not in self._strays:
            prefixes = self._prefixes[tenant, key]
            self._strays[tenant, key] = frozenset(
                number for number, entry in enumerate(self._view.objects[key].routes)
                if not any(is_below(entry.match, prefix) for prefix in prefixes))
        return self._strays[tenant, key]

    def _follow(self) -> None:
        stack = [(self._root.namespace, Visit(self._root))]
        while stack:
            tenant, visit = stack.pop()
            known = self._prefixes[tenant, visit.key]
            if visit.prefix in known or len(known) == MOST_PREFIXES:
                continue
            known.add(visit.prefix)
            obj = self._view.objects.get(visit.key)
            if obj is None or self._is_invalid(obj):
                continue
            for entry in reversed(obj.routes):  # the first ones count, as in the walk
                if entry.delegate is not None and is_below(entry.match, visit.prefix):
                    following = target(obj, entry.delegate)
                    stack.append((charged(self._root, tenant, following), Visit(following, entry.match)))

    def _is_invalid(self, obj: IngressRoute) -> bool:
        """True if an object has an error whoever delegates to it; then its delegations do not count."""
        if obj.problem or (obj.virtual_host is not None and obj.key != self._root):
            return True
        return any(checked.conflict or (checked.error and (entry.services or entry.delegate))
                   for entry, checked in zip(obj.routes, self._view.entries(obj.key), strict=True))


NO_ROUTES = "spec.routes must be present and not empty"
"""Sources: projectcontour/contour v0.6.0, design/ingressroute-design.md ("Validation rules"); issue 812, for
objects with a tcpproxy, which need no routes. Later versions call such an object valid and serve nothing."""
TO_ROOT = "root ingressroute cannot delegate to another root ingressroute"


class Walk:
    """One walk: depth first, in the order of spec.routes."""

    def __init__(self, root: IngressRoute, view: View, graph: Graph, budget: Budget):
        self._root, self._view, self._graph, self._budget = root.key, view, graph, budget
        self._path: dict[Key, None] = {}
        """Objects from the root to the current one."""
        self._seen: set[tuple[str, Visit]] = set()
        """By tenant."""
        self._prefixes: Counter[tuple[str, Key]] = Counter()
        self._delegated = DelegatedPrefixes(root, view)
        self._counted: set[tuple[str, Key]] = set()

    def run(self) -> Steps[None]:
        """Record the visits of a root, with their errors."""
        stack = [self._enter(Visit(self._root), self._root.namespace)]
        while stack:
            visit, tenant, targets = stack[-1]
            following = next(targets, None)
            if following is None:
                stack.pop()
                del self._path[visit.key]
                continue
            payer = charged(self._root, tenant, following.key)
            if (payer, following) not in self._seen:
                stack.append(self._enter(following, payer))
                yield

    def _enter(self, visit: Visit, tenant: str) -> tuple[Visit, str, Iterator[Visit]]:
        """Check an object; returns the visits that it leads to. Args: tenant: who is charged for it."""
        graph = self._graph
        self._seen.add((tenant, visit))
        self._path[visit.key] = None
        self._prefixes[tenant, visit.key] += 1
        error, targets = self._excess(visit, tenant), list[Visit]()
        if not error and (error := self._error(visit, tenant)):  # a target may be the reason
            obj = self._view.objects[visit.key]
            graph.missing |= {target(obj, entry.delegate) for entry in obj.routes if entry.delegate}
        elif not error:
            self._count(visit.key, tenant)
            targets = list(_targets(visit, self._view, graph))
        graph.visits[visit] = error and graph.visits.get(visit, error)
        return visit, tenant, iter(targets)

    def _excess(self, visit: Visit, tenant: str) -> str:
        """Return why an object is beyond a bound, before anything of it is checked; "" if it is not."""
        graph = self._graph
        left = self._budget.most - self._budget.spent.get(tenant, 0)
        if self._prefixes[tenant, visit.key] > MOST_PREFIXES:
            return f"more than {MOST_PREFIXES} different path prefixes are delegated to it"
        if (size := self._size(visit.key, tenant)) and graph.spent[tenant] + size > left:
            graph.cut[tenant] = left
            graph.cut_visits.add(visit)
            return (f"the roots of namespace {self._root.namespace} have more than {self._budget.most} "
                    f"routes by delegation to namespace {tenant}")
        return ""

    def _error(self, visit: Visit, tenant: str) -> str:
        """Return the first error of an object, in the order of spec.routes; "" for none.

        A route outside of the prefix is an error if it lies below none of the object's prefixes.
        """
        obj = self._view.objects[visit.key]
        if obj.problem:
            return obj.problem
        if not obj.routes and obj.tcp_proxy is None:
            return NO_ROUTES
        entries = zip(obj.routes, self._view.entries(visit.key), strict=True)
        for number, (entry, checked) in enumerate(entries):
            if error := checked.conflict:
                return error
            if not (entry.services or entry.delegate):
                continue
            below = is_below(entry.match, visit.prefix)
            if not below and number in self._delegated.strays(tenant, visit.key):
                return (f"the path prefix {quoted(entry.match)} does not match the parent's path prefix "
                        f"{quoted(visit.prefix)}")
            if error := checked.error or (_delegate_error(obj, entry.delegate, self._path, self._view)
                                          if entry.delegate and below else ""):
                return error
        return ""

    def _size(self, key: Key, tenant: str) -> int:
        """Return the routes of an object that are not counted yet; they are once for all prefixes."""
        if key == self._root or (tenant, key) in self._counted:
            return 0
        return sum(bool(entry.services) for entry in self._view.objects[key].routes)

    def _count(self, key: Key, tenant: str) -> None:
        self._graph.spent[tenant] += self._size(key, tenant)
        self._counted.add((tenant, key))


def _delegate_error(obj: IngressRoute, delegate: Delegate, path: Mapping[Key, None], view: View) -> str:
    key = target(obj, delegate)
    known = view.objects.get(key)
    if known is None:
        return ""
    if known.virtual_host is not None:
        return TO_ROOT
    if key in path:
        return f"route creates a delegation cycle: {chain([*path], key)}"
    if len(path) >= MOST_DEPTH:
        return f"more than {MOST_DEPTH} IngressRoutes delegate one to another"
    return ""


def _targets(visit: Visit, view: View, graph: Graph) -> Iterator[Visit]:
    """Yield the visits that a valid object leads to, and record the warnings of the object."""
    key, obj = visit.key, view.objects[visit.key]
    for entry, checked in zip(obj.routes, view.entries(key), strict=True):
        for text in checked.warnings:
            graph.warn(key, text)
        if entry.delegate is None or not is_below(entry.match, visit.prefix):
            continue
        following = target(obj, entry.delegate)
        if following in view.objects:
            yield Visit(following, entry.match)
        else:
            graph.missing.add(following)
            graph.warn(key, f"route {quoted(entry.match)}: delegates to IngressRoute {following}, which does "
                       "not exist")
