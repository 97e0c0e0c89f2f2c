"""Selection of the Routes that this router serves.

The API server applies the selectors; this module leaves out Routes of namespaces that are not selected, as if
they did not exist: they claim no Host. `selected` is the definition; `NamespaceFilter` computes the same from
changes, at the cost of the Routes of the changed namespace.
Source: openshift/router pkg/cmd/infra/router/router.go, pkg/router/controller/router_controller.go.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from f5router.model.cluster import Delta, Key, Route


@dataclass(frozen=True, slots=True)
class Selection:
    """Validated settings; selectors as texts, "" for all."""

    namespace: str | None = None
    """The only namespace whose objects are read; None for all."""
    labels: str = ""
    fields: str = ""
    """Selectors for Routes."""
    namespace_labels: str = ""
    """Selector for namespaces."""
    project_labels: str = ""
    """Selector for the projects that the account may see; selectors.EVERYTHING for all of these."""

    @property
    def by_namespace(self) -> bool:
        """True if only Routes of listed namespaces are served."""
        return bool(self.namespace_labels or self.project_labels)

    @property
    def selective(self) -> bool:
        """True if a Route can be deselected without being deleted."""
        return self.by_namespace or bool(self.labels or self.fields)


def selected(routes: Mapping[Key, Route], namespaces: Collection[str]) -> dict[Key, Route]:
    """Return the Routes whose Hosts these namespaces claim."""
    return {key: route for key, route in routes.items() if route.claim_namespace in namespaces}


class NamespaceFilter:
    """Reduces Deltas to selected Routes. Not thread-safe."""

    def __init__(self) -> None:
        self.namespaces: set[str] = set()
        """Names of the selected namespaces."""
        self._routes: dict[str, dict[Key, Route]] = {}
        """All Routes, by the namespace that claims their Host."""
        self._claims: dict[Key, str] = {}
        """These namespaces by Route, where they are not the Route's own."""

    def apply(self, delta: Delta) -> Delta:
        """Return the Delta without Routes of other namespaces; deselected Routes are deleted in it."""
        shown = self.namespaces
        self.namespaces = shown | {key.name for key, value in delta.namespaces.items() if value is not None}
        self.namespaces -= {key.name for key, value in delta.namespaces.items() if value is None}
        changed: dict[Key, Route | None] = {}
        for name in shown ^ self.namespaces:
            routes = self._routes.get(name, {})
            changed.update(routes if name in self.namespaces else dict.fromkeys(routes))
        for key, route in delta.routes.items():
            was = self._discard(key) in shown
            changed.pop(key, None)
            now = route is not None and self._put(route) in self.namespaces
            if was or now:
                changed[key] = route if now else None
        return replace(delta, routes=changed)

    def _discard(self, key: Key) -> str:
        """Remove a Route; return the namespace that claimed its Host, "" if it was not known."""
        namespace = self._claims.pop(key, key.namespace)
        routes = self._routes.get(namespace, {})
        if routes.pop(key, None) is None:
            return ""
        if not routes:
            del self._routes[namespace]
        return namespace

    def _put(self, route: Route) -> str:
        """Store the newest value; return the namespace that claims its Host."""
        namespace = route.claim_namespace
        self._routes.setdefault(namespace, {})[route.key] = route
        if namespace != route.key.namespace:
            self._claims[route.key] = namespace
        return namespace
