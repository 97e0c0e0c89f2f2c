"""Turns the objects of all sources into Routes: nothing after it knows which kind an object was.

Virtual Routes join the Routes of a Delta, in the namespace of their Services, under names that no object of
the cluster can have (names.virtual_route).
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Protocol

from f5router.model.cluster import Key, Route, Service
from f5router.model.containment import OnFailure, contained, fail
from f5router.model.delta import Delta
from f5router.model.gateway import GATEWAY
from f5router.model.limits import Steps, finish
from f5router.model.texts import Problem
from f5router.sources.gateway.gateways import Gateways
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.ingresses import Ingresses
from f5router.sources.settings import (
    INGRESS,
    INGRESS_ROUTE,
    SourceSettings,
)


class ObjectSource(Protocol):
    """The objects of one kind."""

    def apply_in_steps(self, delta: Delta, /) -> Steps[dict[Key, Route | None]]: ...

    def take_changed(self) -> set[Key]: ...

    def own(self) -> Collection[Key]: ...

    def condition(self, key: Key, /) -> tuple[Problem, ...]: ...

    def routes_of(self, key: Key, /) -> Collection[Key]: ...

    def take_secret_users(self) -> dict[Key, Route | None]: ...

    def undecided(self) -> Collection[Key]: ...


class Translator:
    """Not thread-safe: one thread at a time applies Deltas and reads the conditions."""

    def __init__(self, settings: SourceSettings, *, on_failure: OnFailure = fail):
        self._services: dict[Key, Service] = {}
        self._on_failure = on_failure
        self.sources: Mapping[str, ObjectSource] = _sources(settings, self._services, on_failure)
        """By kind of object, without Routes."""

    def apply(self, delta: Delta) -> Delta:
        """Return the Delta with the virtual Routes that changed by it."""
        return finish(self.apply_in_steps(delta))

    def apply_in_steps(self, delta: Delta) -> Steps[Delta]:
        """Convert what has changed, as `apply` does. Between two steps no source may be asked for results."""
        if not self.sources:
            return delta
        for key, service in delta.services.items():
            if service is not None:
                self._services[key] = service
            else:
                self._services.pop(key, None)
        routes = dict(delta.routes)
        for kind, source in self.sources.items():
            with contained(self._on_failure, "changes of", kind):
                routes.update((yield from source.apply_in_steps(delta)))
        gateways = self.sources.get(GATEWAY)
        return replace(delta, routes=routes,
                       statuses_due=isinstance(gateways, Gateways) and gateways.has_changed)

    def take_secret_users(self) -> dict[Key, Route | None]:
        """Return stand-ins for objects whose Secrets must be read although they have no Route yet."""
        users: dict[Key, Route | None] = {}
        for source in self.sources.values():
            users |= source.take_secret_users()
        return users


def _sources(settings: SourceSettings, services: Mapping[Key, Service],
             on_failure: OnFailure) -> dict[str, ObjectSource]:
    kinds: Collection[str] = settings.kinds
    sources: dict[str, ObjectSource] = {}
    if INGRESS in kinds:
        sources[INGRESS] = Ingresses(
            services, settings.classes, settings.ingresses, on_failure=on_failure)
    if INGRESS_ROUTE in kinds:
        sources[INGRESS_ROUTE] = IngressRoutes(services, settings.ingress_routes)
    if GATEWAY in kinds:
        sources[GATEWAY] = Gateways(services, settings.gateways, on_failure=on_failure)
    return sources
