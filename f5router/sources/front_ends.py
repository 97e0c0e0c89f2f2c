"""Which front end serves which Routes: a Route that several serve becomes one for each of them.

For a virtual Route the object counts that claims its Host. Gateways have the router's own front end.
A source whose objects name their front ends gives its Routes the key of one; these stay as they are. The API
server applies the selectors of the whole router before; nothing is copied where there is one front end alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from f5router.model import label_selector
from f5router.model.cluster import Key, Route
from f5router.model.delta import Delta
from f5router.model.gateway import GATEWAY
from f5router.model.label_selector import Labels, Requirement
from f5router.model.small import Groups
from f5router.sources.settings import INGRESS, INGRESS_ROUTE, KINDS, origins

_Object = tuple[str, Key]
"""Kind and key."""


@dataclass(frozen=True, slots=True)
class FrontEndSelection:
    """Objects that a front end serves: those that have all that is required."""

    name: str = ""
    kinds: frozenset[str] = frozenset(KINDS)
    labels: tuple[Requirement, ...] = ()
    namespace_labels: tuple[Requirement, ...] = ()
    """Selector for the namespace that claims the Host."""
    ingress_classes: frozenset[str] = frozenset()
    """Classes of the Ingresses; empty for all. Other kinds have none."""

    @property
    def is_selective(self) -> bool:
        """True if a Route can be left out."""
        return self != FrontEndSelection(self.name)

    def takes(self, kind: str, traits: "Traits", namespace: Labels) -> bool:
        """True for an object that the front end serves. Args: namespace: labels of its namespace."""
        return (kind in self.kinds and label_selector.takes(self.labels, traits.labels)
                and label_selector.takes(self.namespace_labels, namespace)
                and (kind != INGRESS or not self.ingress_classes
                     or traits.ingress_class in self.ingress_classes))


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties by which front ends select an object."""

    labels: Labels = ()
    ingress_class: str = ""


class FrontEndRoutes:
    """Divides Routes between front ends. Not thread-safe."""

    def __init__(self, front_ends: Iterable[FrontEndSelection]):
        """Args: front_ends: () for one that serves everything."""
        self._front_ends = tuple(front_ends)
        self._routes: dict[Key, Route] = {}
        self._shown: dict[Key, tuple[str, ...]] = {}
        """Front ends of each Route."""
        self._of_object, self._of_namespace = Groups[_Object, Key](), Groups[str, Key]()
        self._traits: dict[_Object, Traits] = {}
        """Those of objects that virtual Routes are made of."""
        self._is_new = False
        """True if other front ends select from now on."""
        self._namespaces: dict[str, Labels] = {}

    def set_front_ends(self, front_ends: Iterable[FrontEndSelection]) -> None:
        """Replace the front ends; the next `apply` divides all Routes anew. One must have been there."""
        self._front_ends, self._is_new = tuple(front_ends), True

    def apply(self, objects: Delta, delta: Delta) -> Delta:
        """Return the Delta with the Routes of each front end.

        Args: objects: with all objects that have changed; delta: the same, with the Routes made of them.
        """
        if not self._front_ends:
            return delta
        touched = dict.fromkeys(delta.routes)
        if self._is_new:
            touched |= dict.fromkeys(self._routes)
            self._is_new = False
        for kind, changes in ((INGRESS, objects.ingresses), (INGRESS_ROUTE, objects.ingress_routes)):
            for key, obj in changes.items():
                given = Traits() if obj is None else Traits(obj.labels, getattr(obj, "own_class", ""))
                if self._put_traits((kind, key), given):
                    touched |= dict.fromkeys(self._of_object.get((kind, key)))
        for key, namespace in objects.namespaces.items():
            labels = namespace.labels if namespace else ()
            if self._namespaces.get(key.name, ()) != labels:
                self._namespaces[key.name] = labels
                touched |= dict.fromkeys(self._of_namespace.get(key.name))
            if namespace is None:
                self._namespaces.pop(key.name, None)
        changed: dict[Key, Route | None] = {}
        for key in touched:
            if key.front_end:
                changed[key] = delta.routes[key]
            else:
                changed |= self._divided(key, delta.routes)
        return replace(delta, routes=changed)

    def _put_traits(self, of: _Object, traits: Traits) -> bool:
        """Store what an object is selected by; returns True if that differs."""
        before = self._traits.pop(of, Traits())
        if traits != Traits():
            self._traits[of] = traits
        return before != traits

    def _divided(self, key: Key, routes: Mapping[Key, Route | None]) -> dict[Key, Route | None]:
        """Return the changes of a Route on its front ends. Args: routes: those that have changed."""
        is_changed = key in routes and self._put(key, routes[key])
        route, before = self._routes.get(key), self._shown.pop(key, ())
        after = () if route is None else ("",) if route.subject.kind in origins(GATEWAY) else tuple(
            each.name for each in self._front_ends if each.takes(route.subject.kind, *self._seen(route)))
        if after:
            self._shown[key] = after
        changed: dict[Key, Route | None] = {
            key.on(name): None for name in before if name not in after}
        for name in after:
            if route is not None and (is_changed or name not in before):
                changed[key.on(name)] = replace(route, key=key.on(name), labels=()) if (
                    name or route.labels) else route
        return changed

    def _put(self, key: Key, route: Route | None) -> bool:
        """Store a Route; returns True if anything but its labels differs."""
        if (old := self._routes.pop(key, None)) is not None:
            self._of_object.discard(_claimant(old), key)
            self._of_namespace.discard(old.claim_namespace, key)
        if route is not None:
            self._routes[key] = route
            self._of_object.add(_claimant(route), key)
            self._of_namespace.add(route.claim_namespace, key)
        return old is None or route is None or replace(old, labels=route.labels) != route

    def _seen(self, route: Route) -> tuple[Traits, Labels]:
        traits = Traits(route.labels) if route.origin is None else self._traits.get(
            _claimant(route), Traits())
        return traits, self._namespaces.get(route.claim_namespace, ())


def _claimant(route: Route) -> _Object:
    return route.subject.kind, route.claimant
