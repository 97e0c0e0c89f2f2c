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
    """Return the Routes in these namespaces."""
    return {key: route for key, route in routes.items() if key.namespace in namespaces}


class NamespaceFilter:
    """Reduces Deltas to selected Routes. Not thread-safe."""

    def __init__(self) -> None:
        self.namespaces: set[str] = set()
        """Names of the selected namespaces."""
        self._routes: dict[str, dict[Key, Route]] = {}
        """All Routes, by namespace."""

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
            known = self._put(key, route)
            was, now = known and key.namespace in shown, route and key.namespace in self.namespaces
            changed.pop(key, None)
            if was or now:
                changed[key] = route if now else None
        return replace(delta, routes=changed)

    def _put(self, key: Key, route: Route | None) -> bool:
        """Store the newest value; return True if there was one before."""
        routes = self._routes.setdefault(key.namespace, {})
        known = key in routes
        if route is not None:
            routes[key] = route
        else:
            routes.pop(key, None)
            if not routes:
                del self._routes[key.namespace]
        return known
