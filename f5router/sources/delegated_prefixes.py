"""The prefixes that are delegated to the IngressRoutes below a root, and the routes that lie below none.

An object that is delegated to with several prefixes publishes with each prefix the routes below it.
"""

from collections import defaultdict

from f5router.model.cluster import Key
from f5router.model.ingress import IngressRoute
from f5router.sources.contour_entries import is_below
from f5router.sources.graph_parts import View, Visit, target

MOST_PREFIXES = 16
"""Different prefixes with which a root reaches an object. All begin the matches of the object, and it is
checked for each: without a bound two large objects cost their product."""


def charged(root: Key, tenant: str, key: Key) -> str:
    """Return the tenant who is charged for an object that a tenant delegates to. See graph_parts.Budget."""
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
