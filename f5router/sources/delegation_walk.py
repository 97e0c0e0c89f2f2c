"""Visits and checks the objects that a root of IngressRoutes reaches by delegation.

Nothing is walked twice with the same prefix on behalf of one tenant, and prefixes are bounded: a lattice
costs its edges, not its paths. The delegations of one tenant decide nothing about the same object below
another tenant.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from f5router.model.cluster import Key
from f5router.model.ingress import Delegate, IngressRoute
from f5router.sources.contour_entries import is_below, quoted
from f5router.sources.delegated_prefixes import MOST_PREFIXES, DelegatedPrefixes, charged
from f5router.sources.graph_parts import MOST_DEPTH, Budget, Graph, View, Visit, chain, target

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

    def run(self) -> None:
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
