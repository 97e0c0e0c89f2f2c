"""IngressRoutes as a source: their Routes and statuses, kept up to date by what a change affects.

A change costs the graphs of the roots that see it. `IngressRoutes` made from the whole cluster at once is
the definition; a property test compares the two.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import TypeVar

from f5router.model import names
from f5router.model.cluster import Key, Route, Secret, Service
from f5router.model.delta import Delta
from f5router.model.findings import INVALID_INGRESS_ROUTE
from f5router.model.ingress import CertificateDelegation, IngressRoute
from f5router.model.limits import Steps, finish
from f5router.model.texts import WARNING, Problem
from f5router.sources import contour_entries, delegation_graph
from f5router.sources.contour_entries import CheckedEntry
from f5router.sources.delegation_graph import INVALID, NO_ROOT, ORPHANED, VALID, GraphStatus
from f5router.sources.delegation_walk import Budget, Graph
from f5router.sources.settings import IngressRoutePolicy

_T = TypeVar("_T")


_Place = tuple[str, str]
"""The namespace that roots compete in, "" for all of them, and their host."""

_Changes = dict[Key, tuple[Route | None, Route | None]]
"""Routes before and after."""

EVERYWHERE = IngressRoutePolicy()


class IngressRoutes:
    """Not thread-safe: one thread applies Deltas and reads the results."""

    def __init__(self, services: Mapping[Key, Service], policy: IngressRoutePolicy = EVERYWHERE):
        """Args: services: all Services; apply() is called after each change of it."""
        self._services, self._policy = services, policy
        self.objects: dict[Key, IngressRoute] = {}
        """IngressRoutes of the class."""
        self.graphs: dict[Key, Graph] = {}
        """By root."""
        self._secrets: dict[Key, Secret] = {}
        self._delegations: dict[str, dict[Key, CertificateDelegation]] = defaultdict(dict)
        """By namespace."""
        self._rivals: dict[_Place, set[Key]] = defaultdict(set)
        """Roots that compete for a host, without those of namespaces that may have none."""
        self._holders: dict[_Place, Key] = {}
        """The oldest of these."""
        self._entries: dict[Key, tuple[CheckedEntry, ...]] = {}
        self._proxies: dict[Key, CheckedEntry] = {}
        self._service_users: dict[Key, set[Key]] = defaultdict(set)
        """IngressRoutes that name a Service."""
        self._reached: dict[Key, set[Key]] = defaultdict(set)
        """Roots that reach an object, or delegate to it although it does not exist."""
        self._secret_users: dict[Key, set[Key]] = defaultdict(set)
        """Roots by their Secret."""
        self._foreign: dict[str, set[Key]] = defaultdict(set)
        """Roots that name a Secret of another namespace, by that."""
        self._spent: dict[str, Counter[str]] = defaultdict(Counter)
        """Routes by namespace of roots, then by tenant."""
        self._cut: dict[str, set[Key]] = defaultdict(set)
        """Roots below which a tenant has more routes than he may, by namespace."""
        self._owned: dict[Key, set[Key]] = defaultdict(set)
        """Routes by the object that has the entry."""
        self._changed: set[Key] = set()
        self._secrets_changed: set[Key] = set()
        """Roots that name another Secret than before."""

    # --- results -------------------------------------------------------------------------

    def take_changed(self) -> set[Key]:
        """Return IngressRoutes whose status or warnings may have changed since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def status(self, key: Key) -> GraphStatus | None:
        """Return the status of an IngressRoute; None if it does not exist, or is of another class.

        If roots disagree, the oldest one counts: anybody may delegate to a vertex, and nobody who comes later
        gives it another status.
        """
        obj = self.objects.get(key)
        if obj is None:
            return None
        if obj.virtual_host is not None:
            graph = self.graphs[key]
            return self._evaluated(graph.objects[key], graph.fqdn)
        if obj.problem:
            return GraphStatus(INVALID, obj.problem)
        roots = self.roots(key)
        if not roots:
            return GraphStatus(ORPHANED, NO_ROOT)
        return self._evaluated(self.graphs[roots[0]].objects[key])

    def warnings(self, key: Key) -> tuple[str, ...]:
        """Return the parts of an IngressRoute without effect or target, or unserved below a younger root.

        Warnings of the oldest root come first.
        """
        if (obj := self.objects.get(key)) is None:
            return ()
        if obj.virtual_host is not None:
            return tuple(self.graphs[key].warnings.get(key, ()))
        texts: list[str] = []
        for number, root in enumerate(self.roots(key)):
            graph = self.graphs[root]
            if number and graph.objects[key]:
                texts.append(f"not served below root {root}: {graph.objects[key]}")
            texts += graph.warnings.get(key, ())
        return tuple(dict.fromkeys(texts))

    def own(self) -> Collection[Key]:
        """Return the IngressRoutes of this router's class."""
        return self.objects.keys()

    def condition(self, key: Key) -> tuple[Problem, ...]:
        """Return why an IngressRoute, or a part of it, is not served, and what has no effect in it."""
        status, invalid = self.status(key), list[Problem]()
        if status is not None and status.current == INVALID:
            invalid.append(Problem(INVALID_INGRESS_ROUTE, status.description))
        return (*invalid, *(Problem(WARNING, text) for text in self.warnings(key)))

    def routes_of(self, key: Key) -> Collection[Key]:
        """Return the Routes that an IngressRoute owns, or, for a root, that its graph has."""
        if key in self.graphs:
            return self.graphs[key].routes.keys()
        return self._owned.get(key, ())

    def roots(self, key: Key) -> list[Key]:
        """Return the roots that reach an IngressRoute, itself included, the oldest one first.

        Those that have no routes left for it are behind: they decide about its status if no other does.
        """
        roots = (root for root in self._reached.get(key, ()) if key in self.graphs[root].objects)
        return sorted(roots, key=lambda root: (key in self.graphs[root].cut_objects, self._age(root)))

    def take_secret_users(self) -> dict[Key, Route | None]:
        """Return stand-ins for the roots whose Secrets have changed, None for a root without a Secret.

        A root whose Secret is missing publishes no Route, but its Secret must still be followed.
        """
        changed, self._secrets_changed = self._secrets_changed, set()
        users: dict[Key, Route | None] = {}
        for root in changed:
            graph = self.graphs.get(root)
            key = Key(root.namespace, names.virtual_route(contour_entries.KIND, root.name, "Secret"))
            users[key] = Route(key, tls_secret=graph.secret) if graph and graph.secret else None
        return users

    def undecided(self) -> Collection[Key]:
        """Return the IngressRoutes that are not served as long as no delegation of a Secret permits it."""
        roots = {root for root in set().union(*self._foreign.values())
                 if (secret := self.graphs[root].foreign_secret) and not self.permits(secret, root.namespace)}
        reached, waiting = set(roots), list(roots)
        while waiting:
            obj = self.objects.get(key := waiting.pop())
            for entry in obj.routes if obj else ():
                if entry.delegate is not None:
                    child = Key(entry.delegate.namespace or key.namespace, entry.delegate.name)
                    if child not in reached:
                        reached.add(child)
                        waiting.append(child)
        return reached

    @staticmethod
    def _evaluated(error: str, fqdn: str = "") -> GraphStatus:
        return GraphStatus(INVALID, error, fqdn) if error else GraphStatus(VALID, "valid IngressRoute", fqdn)

    # --- the view of a graph -------------------------------------------------------------

    def entries(self, key: Key) -> tuple[CheckedEntry, ...]:
        """See delegation_graph.View."""
        if key not in self._entries:
            obj = self.objects[key]
            self._entries[key] = tuple(
                contour_entries.check(obj, entry, self._services) for entry in obj.routes)
        return self._entries[key]

    def proxy(self, key: Key) -> CheckedEntry:
        """See delegation_graph.View."""
        if key not in self._proxies:
            self._proxies[key] = contour_entries.check_proxy(self.objects[key], self._services)
        return self._proxies[key]

    def secret(self, key: Key) -> Secret | None:
        """See delegation_graph.View."""
        return self._secrets.get(key)

    def permits(self, secret: Key, namespace: str) -> bool:
        """See delegation_graph.View.

        "*" alone stands for all namespaces. Source: projectcontour/contour v1.5.1, internal/dag/cache.go:
        DelegationPermitted.
        """
        return any(name == secret.name and (namespaces == ("*",) or namespace in namespaces)
                   for delegation in self._delegations.get(secret.namespace, {}).values()
                   for name, namespaces in delegation.delegations)

    def may_have_roots(self, namespace: str) -> bool:
        """See delegation_graph.View."""
        return not self._policy.root_namespaces or namespace in self._policy.root_namespaces

    def holder(self, root: IngressRoute) -> Key:
        """See delegation_graph.View."""
        return self._holders[self._place(root)]

    # --- inputs --------------------------------------------------------------------------

    def apply(self, delta: Delta) -> dict[Key, Route | None]:
        """Apply changes of the cluster; returns the changes of Routes, None for a deleted Route."""
        return finish(self.apply_in_steps(delta))

    def apply_in_steps(self, delta: Delta) -> Steps[dict[Key, Route | None]]:
        """Apply changes of the cluster, as `apply` does. Between two steps no result may be asked for."""
        dirty = set(self._put_objects(delta.ingress_routes))
        for key in set().union(*(self._service_users.get(key, ()) for key in delta.services)):
            if self._recheck(key):
                dirty |= self._reached.get(key, set())
        for key, secret in delta.secrets.items():
            if secret is None:
                self._secrets.pop(key, None)
            else:
                self._secrets[key] = secret
            dirty |= self._secret_users.get(key, set())
        for key, delegation in delta.delegations.items():
            if delegation is None:
                self._delegations[key.namespace].pop(key, None)
            else:
                self._delegations[key.namespace][key] = delegation
            dirty |= self._foreign.get(key.namespace, set())
        changes: _Changes = {}
        for root in sorted(dirty):
            yield from self._rebuild(root, changes)
            yield
        for namespace in sorted({root.namespace for root in dirty}):
            yield from self._settle(namespace, changes)
            if not self._spent[namespace]:
                del self._spent[namespace]
        return {key: new for key, (old, new) in changes.items() if new is not old and new != old}

    def _put_objects(self, objects: Mapping[Key, IngressRoute | None]) -> Iterator[Key]:
        """Apply changed objects, and yield the roots whose graphs they change."""
        places: set[_Place] = set()
        for key, obj in objects.items():
            old = self.objects.pop(key, None)
            if obj is not None and self._policy.takes(obj):
                self.objects[key] = obj
            else:
                obj = None
            if old is None and obj is None:
                continue
            self._changed.add(key)
            self._entries.pop(key, None)
            self._proxies.pop(key, None)
            for each, change in ((old, set.discard), (obj, set.add)):
                if each is None:
                    continue
                for service in contour_entries.users(each):
                    change(self._service_users[service], key)
                    _drop_empty(self._service_users, service)
                if _is_root(each) and self.may_have_roots(key.namespace) and _host(each):
                    place = self._place(each)
                    change(self._rivals[place], key)
                    _drop_empty(self._rivals, place)
                    places.add(place)
            if _is_root(old) or _is_root(obj):
                yield key
            yield from self._reached.get(key, ())
        for place in places:
            rivals, before = self._rivals.get(place, set()), self._holders.pop(place, None)
            if rivals:
                self._holders[place] = min(rivals, key=self._age)
                if self._holders[place] != before:
                    yield from rivals

    def _place(self, root: IngressRoute) -> _Place:
        return root.key.namespace if self._policy.ownership else "", _host(root)

    def _age(self, root: Key) -> tuple[tuple[str, str], Key]:
        """Order roots as admission orders Routes: smaller is older."""
        obj = self.objects[root]
        return (obj.created, obj.uid), root

    def _recheck(self, key: Key) -> bool:
        """Check an object anew after a change of its Services; returns True if the result differs."""
        old = self._entries.pop(key, None), self._proxies.pop(key, None)
        new = (self.entries(key) if old[0] is not None else None,
               self.proxy(key) if old[1] is not None else None)
        return old != new

    def _settle(self, namespace: str, changes: _Changes) -> Steps[None]:
        """Assign the limited routes of a tenant to the oldest roots of the namespace.

        A root was built with what all others had left, which may be less than the older ones leave. Where
        nothing is beyond it, that makes no difference.
        """
        most = self._policy.most_routes
        if namespace not in self._cut and max(self._spent[namespace].values(), default=0) <= most:
            return
        spent: Counter[str] = Counter()
        for root in sorted((key for key in self.graphs if key.namespace == namespace), key=self._age):
            graph = self.graphs[root]
            if any(most - spent[tenant] < size for tenant, size in graph.spent.items()) or any(
                    most - spent[tenant] != left for tenant, left in graph.cut.items()):
                yield from self._rebuild(root, changes, spent)
            spent.update(self.graphs[root].spent)

    def _rebuild(self, root: Key, changes: _Changes,
                 spent: Mapping[str, int] | None = None) -> Steps[None]:
        """Rebuild the graph of a root. Args: spent: routes of other roots by tenant, None: of all roots."""
        obj, old = self.objects.get(root), self.graphs.pop(root, None)
        total = self._spent[root.namespace]
        if old is not None:
            total.subtract(old.spent)
        budget = Budget(self._policy.most_routes, total if spent is None else spent)
        new = None
        if obj is not None and _is_root(obj):
            new = yield from delegation_graph.build(obj, self, budget, old)
            self.graphs[root] = new
            total.update(new.spent)
        for tenant in old.spent if old is not None else ():
            if not total[tenant]:
                del total[tenant]
        _move(self._cut, root, {root.namespace} if old and old.cut else set(),
              {root.namespace} if new and new.cut else set())
        before, after = old or Graph(root), new or Graph(root)
        for key in before.routes.keys() - after.routes.keys():
            changes[key] = changes.get(key, (before.routes[key], None))[0], None
            owner = _owner(before.routes[key])
            self._owned[owner].discard(key)
            _drop_empty(self._owned, owner)
        for key in after.routes.keys() - before.routes.keys():
            self._owned[_owner(after.routes[key])].add(key)
        if before.secret != after.secret:
            self._secrets_changed.add(root)
        for key, route in after.routes.items():
            if (known := before.routes.get(key)) is not route and known != route:
                changes[key] = changes.get(key, (known, None))[0], route
        _move(self._reached, root, {*before.objects, *before.missing}, {*after.objects, *after.missing})
        _move(self._secret_users, root, _secrets(before), _secrets(after))
        _move(self._foreign, root, _namespace(before), _namespace(after))
        self._changed |= {
            key for key in {*before.objects, *after.objects}
            if before.objects.get(key) != after.objects.get(key)
            or before.warnings.get(key) != after.warnings.get(key)}


def _drop_empty(index: dict[_T, set[Key]], value: _T) -> None:
    if not index[value]:
        del index[value]


def _move(index: dict[_T, set[Key]], root: Key, before: set[_T], after: set[_T]) -> None:
    """Index a root by other values."""
    for value in before - after:
        index[value].discard(root)
        _drop_empty(index, value)
    for value in after - before:
        index[value].add(root)


def _owner(route: Route) -> Key:
    assert route.origin is not None, "a Route of an IngressRoute"
    return route.origin.key


def _is_root(obj: IngressRoute | None) -> bool:
    return obj is not None and obj.virtual_host is not None


def _host(obj: IngressRoute) -> str:
    return contour_entries.host_of(obj.virtual_host.fqdn) if obj.virtual_host else ""


def _namespace(graph: Graph) -> set[str]:
    return {graph.foreign_secret.namespace} if graph.foreign_secret else set()


def _secrets(graph: Graph) -> set[Key]:
    return {graph.secret} if graph.secret else set()
