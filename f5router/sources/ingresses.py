"""The Ingresses of this router's class, as virtual Routes; a change costs the Ingresses that it concerns.

Sources of the class: Kubernetes, Ingress, "Ingress class"; openshift/route-controller-manager,
pkg/route/ingress/ingress.go: the annotation goes before spec.ingressClassName. Unlike there, an Ingress
without a class is another controller's, unless a class of this router is the default class.
"""

from collections.abc import Collection, Mapping

from f5router.model.cluster import Key, Route, Service
from f5router.model.containment import OnFailure, contained, fail
from f5router.model.delta import Delta
from f5router.model.ingress import Ingress, IngressClass
from f5router.model.limits import Steps, finish
from f5router.model.texts import Problem
from f5router.sources import ingress_conversion
from f5router.sources.settings import INGRESS, ClassSettings, IngressPolicy

_POLICY = IngressPolicy()


class Classes:
    """The IngressClasses of the cluster that are this router's."""

    def __init__(self, settings: ClassSettings):
        self._settings = settings
        self._own: dict[str, bool] = {}
        """Names of the IngressClasses of this router, each with True if it is a default class."""

    def apply(self, changes: Mapping[Key, IngressClass | None]) -> bool:
        """Apply changes; returns True if an Ingress may have another controller now."""
        before = dict(self._own)
        for key, value in changes.items():
            self._own.pop(key.name, None)
            if value is not None and value.controller == self._settings.controller:
                self._own[key.name] = value.is_default
        return before != self._own

    def is_own(self, ingress: Ingress) -> bool:
        """True if the Ingress is this router's; an empty annotation or name is none."""
        if ingress.class_annotation:
            return ingress.class_annotation == self._settings.name or ingress.class_annotation in self._own
        if ingress.ingress_class:
            return ingress.ingress_class in self._own
        return any(self._own.values())


class Ingresses:
    """Not thread-safe."""

    def __init__(self, services: Mapping[Key, Service], classes: ClassSettings,
                 policy: IngressPolicy = _POLICY, *, on_failure: OnFailure = fail):
        """
        Args:
            services: all Services; apply() is called after each change of it.
        """
        self._services, self._classes, self._policy = services, Classes(classes), policy
        self._on_failure = on_failure
        self._ingresses: dict[Key, Ingress] = {}
        """All Ingresses of the selection, of other classes too."""
        self._by_uid: dict[str, Key] = {}
        self._by_service: dict[Key, set[Key]] = {}
        """Ingresses of this router that name a Service."""
        self._named: dict[Key, set[Key]] = {}
        """These Services, by Ingress."""
        self._routes: dict[Key, dict[Key, Route]] = {}
        """The virtual Routes of each Ingress, if there are any."""
        self._owners: dict[Key, str] = {}
        """uid of the Ingress that OpenShift's controller made a Route of, by Route."""
        self._owned: dict[str, dict[Key, tuple[str, str]]] = {}
        """These Routes with their places, by that uid."""
        self._problems: dict[Key, tuple[Problem, ...]] = {}
        self._changed: set[Key] = set()

    def apply(self, delta: Delta) -> dict[Key, Route | None]:
        """Apply the changes of a Delta; returns the virtual Routes that differ, None for removed ones."""
        return finish(self.apply_in_steps(delta))

    def apply_in_steps(self, delta: Delta) -> Steps[dict[Key, Route | None]]:
        """Apply changes, as `apply` does. Between two steps no result may be asked for."""
        affected = set(delta.ingresses) | self._own_routes(delta.routes)
        for service in delta.services:
            affected |= self._by_service.get(service, set())
        for key, ingress in delta.ingresses.items():
            if (known := self._ingresses.pop(key, None)) is not None:
                self._by_uid.pop(known.uid, None)
            if ingress is not None:
                self._ingresses[key] = ingress
                self._by_uid[ingress.uid] = key
        if self._classes.apply(delta.ingress_classes):
            affected |= self._ingresses.keys()
        changes: dict[Key, Route | None] = {}
        for key in affected:
            with contained(self._on_failure, INGRESS, key):
                changes.update(self._convert(key))
            yield
        return changes

    def take_changed(self) -> set[Key]:
        """Return the Ingresses whose condition changed since the last call; they may be gone."""
        changed, self._changed = self._changed, set()
        return changed

    def own(self) -> Collection[Key]:
        """Return the Ingresses of this router's class."""
        return [key for key, ingress in self._ingresses.items() if self._classes.is_own(ingress)]

    def condition(self, key: Key) -> tuple[Problem, ...]:
        """Return why an Ingress, or parts of it, are not served."""
        return self._problems.get(key, ())

    def routes_of(self, key: Key) -> Collection[Key]:
        """Return the virtual Routes of an Ingress."""
        return self._routes.get(key, {}).keys()

    def take_secret_users(self) -> dict[Key, Route | None]:
        """Return nothing: its Routes name the Secrets."""
        return {}

    def undecided(self) -> Collection[Key]:
        """Return the Ingresses that an IngressClass might give to this router, and none does."""
        return [key for key, ingress in self._ingresses.items() if not self._classes.is_own(ingress)]

    def _convert(self, key: Key) -> dict[Key, Route | None]:
        """Convert an Ingress anew; returns the Routes that differ."""
        ingress = self._ingresses.get(key)
        own = ingress is not None and self._classes.is_own(ingress)
        result = ingress_conversion.Converted()
        named: set[Key] = set()
        if ingress is not None and own:
            owned = {place: route for route, place in sorted(self._owned.get(ingress.uid, {}).items())
                     if route.namespace == key.namespace}  # an owner of another namespace is none
            result, named = (ingress_conversion.convert(
                ingress, self._services, owned, self._policy),
                             ingress_conversion.services(ingress))
        self._name(key, named)
        before = self._routes.pop(key, {})
        if result.routes:
            self._routes[key] = result.routes
        self._set_problems(key, tuple(result.problems))
        changes: dict[Key, Route | None] = dict.fromkeys(before.keys() - result.routes.keys())
        changes.update((name, route) for name, route in result.routes.items() if before.get(name) != route)
        return changes

    def _own_routes(self, routes: Mapping[Key, Route | None]) -> set[Key]:
        """Record which Routes were made of Ingresses; returns the Ingresses that this concerns."""
        uids = set()
        for key, route in routes.items():
            if (uid := self._owners.pop(key, "")):
                uids.add(uid)
                del self._owned[uid][key]
                if not self._owned[uid]:
                    del self._owned[uid]
            if route is not None and route.owner_ingress:
                uids.add(route.owner_ingress)
                self._owners[key] = route.owner_ingress
                self._owned.setdefault(route.owner_ingress, {})[key] = ingress_conversion.place(
                    route.host, route.path)
        return {self._by_uid[uid] for uid in uids if uid in self._by_uid}

    def _name(self, key: Key, services: set[Key]) -> None:
        """Record the Services that an Ingress names."""
        before = self._named.pop(key, set())
        if services:
            self._named[key] = services
        for service in before - services:
            self._by_service[service].discard(key)
            if not self._by_service[service]:
                del self._by_service[service]
        for service in services - before:
            self._by_service.setdefault(service, set()).add(key)

    def _set_problems(self, key: Key, problems: tuple[Problem, ...]) -> None:
        if problems != self._problems.get(key, ()):
            self._changed.add(key)
        if problems:
            self._problems[key] = problems
        else:
            self._problems.pop(key, None)
