"""The Gateways of this router's class with their HTTPRoutes, as virtual Routes.

A change costs the Gateways that it concerns. One Gateway at a time has the front end of the router: the
oldest one that asks for it. Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/gateway_types.go,
GatewaySpec.Addresses; gatewayclass_types.go, GatewayClassSpec.ControllerName.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import chain
from typing import TypeVar

from f5router.model import names
from f5router.model.cluster import Key, Route, Secret, Service
from f5router.model.containment import OnFailure, contained, fail
from f5router.model.delta import Delta
from f5router.model.gateway import (
    GATEWAY,
    GROUP,
    HTTP_ROUTE,
    Gateway,
    GatewayClass,
    HTTPRoute,
    ReferenceGrant,
)
from f5router.model.texts import Problem
from f5router.sources.gateway import conditions, evaluation, listeners, references
from f5router.sources.gateway.attachment import RouteAttachment
from f5router.sources.gateway.conditions import StatusCondition, false
from f5router.sources.gateway.evaluation import EvaluatedGateway
from f5router.sources.settings import GatewaySettings

_T = TypeVar("_T")


class Gateways:
    """Not thread-safe."""

    def __init__(self, services: Mapping[Key, Service], settings: GatewaySettings, *,
                 on_failure: OnFailure = fail):
        """
        Args:
            services: all Services; apply() is called after each change of it.
        """
        self._services, self.settings, self._on_failure = services, settings, on_failure
        self.classes: dict[str, GatewayClass] = {}
        """GatewayClasses of this router, by name."""
        self._gateways: dict[Key, Gateway] = {}
        """All Gateways, of other classes too."""
        self.http_routes: dict[Key, HTTPRoute] = {}
        self._grants: dict[str, dict[Key, ReferenceGrant]] = defaultdict(dict)
        self._labels: dict[str, Mapping[str, str]] = {}
        self._secrets: dict[Key, Secret] = {}
        self.evaluated: dict[Key, EvaluatedGateway] = {}
        """The Gateways of this router's classes."""
        self._named_by: dict[Key, set[Key]] = defaultdict(set)
        """HTTPRoutes by Gateway that they name."""
        self._service_users: dict[Key, set[Key]] = defaultdict(set)
        """HTTPRoutes by Service."""
        self._secret_users: dict[Key, set[Key]] = defaultdict(set)
        """Gateways by Secret."""
        self._asking: set[Key] = set()
        """Gateways that can have the front end, and ask for it."""
        self._holder: Key | None = None
        self._followed: dict[Key, Key] = {}
        """Secrets by the stand-in that names it."""
        self._changed: set[Key] = set()
        self._users: dict[Key, Route | None] = {}

    # --- results -------------------------------------------------------------------------

    def take_changed(self) -> set[Key]:
        """Return the objects whose status may have changed since the last call; they may be gone.

        A key may be that of a Gateway and that of an HTTPRoute; without a namespace it is a GatewayClass's.
        """
        changed, self._changed = self._changed, set()
        return changed

    def own(self) -> Collection[Key]:
        """Return the HTTPRoutes that name a Gateway of this router's classes."""
        return set(chain.from_iterable(gateway.attached for gateway in self.evaluated.values()))

    def attachments(self, key: Key) -> list[tuple[Key, RouteAttachment]]:
        """Return the attachments of an HTTPRoute in the order of its references, each with its Gateway."""
        route = self.http_routes.get(key)
        attached = [(gateway, each) for gateway in self.parents(route) if gateway in self.evaluated
                 for each in self.evaluated[gateway].attached.get(key, ())] if route else []
        order = {parent: number for number, parent in enumerate(route.parents)} if route else {}
        return sorted(attached, key=lambda pair: order[pair[1].parent])

    def condition(self, key: Key) -> tuple[Problem, ...]:
        """Return why an HTTPRoute, or a part of it, is not served."""
        return tuple(dict.fromkeys(
            Problem(each.reason, each.message) for _, attachment in self.attachments(key)
            for each in attachment.conditions.by_type.values() if not each.holds))

    def routes_of(self, key: Key) -> Collection[Key]:
        """Return the virtual Routes of an HTTPRoute."""
        route = self.http_routes.get(key)
        return [name for gateway in self.parents(route) if gateway in self.evaluated
                for name, virtual in self.evaluated[gateway].routes.items()
                if virtual.origin and virtual.origin.kind == HTTP_ROUTE and virtual.origin.key == key
                ] if route else []

    def take_secret_users(self) -> dict[Key, Route | None]:
        """Return stand-ins for the Secrets of listeners, None for one that is no longer named.

        A listener without a valid Secret has no Route, but its Secret must be followed.
        """
        users, self._users = self._users, {}
        return users

    def undecided(self) -> Collection[Key]:
        """Return all Gateways and HTTPRoutes: what cannot be read may change what becomes of each."""
        return {*self._gateways, *self.http_routes}

    @staticmethod
    def parents(route: HTTPRoute | None) -> list[Key]:
        """Return the Gateways that an HTTPRoute names, each once."""
        return list(dict.fromkeys(
            parent.ref.key(route.key.namespace) for parent in route.parents
            if parent.ref[:2] == (GROUP, GATEWAY))) if route else []

    # --- references.GatewayView ----------------------------------------------------------

    def grants(self, namespace: str) -> Iterable[ReferenceGrant]:
        """See references.GatewayView."""
        return self._grants.get(namespace, {}).values()

    def labels(self, namespace: str) -> Mapping[str, str]:
        """See references.GatewayView."""
        return self._labels.get(namespace, {})

    def service(self, key: Key) -> Service | None:
        """See references.GatewayView."""
        return self._services.get(key)

    def secret(self, key: Key) -> Secret | None:
        """See references.GatewayView."""
        return self._secrets.get(key)

    # --- inputs --------------------------------------------------------------------------

    def apply(self, delta: Delta) -> dict[Key, Route | None]:
        """Apply changes of the cluster; returns the virtual Routes that differ, None for removed ones."""
        dirty = self._put_classes(delta) | self._put_gateways(delta) | self._put_routes(delta)
        dirty |= self._put_references(delta)
        for service in delta.services:
            for route in self._service_users.get(service, ()):
                dirty.update(self.parents(self.http_routes[route]))
        return self._evaluate(dirty) if dirty else {}

    def _put_classes(self, delta: Delta) -> set[Key]:
        names_ = set()
        for key, value in delta.gateway_classes.items():
            before = self.classes.pop(key.name, None)
            if value is not None and value.controller == self.settings.controller:
                self.classes[key.name] = value
            if before is not None or key.name in self.classes:
                names_.add(key.name)
                self._changed.add(key)
        return {key for key, gateway in self._gateways.items() if gateway.class_name in names_}

    def _put_gateways(self, delta: Delta) -> set[Key]:
        for key, value in delta.gateways.items():
            for gateway, is_new in ((self._gateways.pop(key, None), False), (value, True)):
                for listener in gateway.listeners if gateway else ():
                    for ref in listener.certificates:
                        _index(self._secret_users, ref.key(key.namespace), key, is_new=is_new)
            if value is not None:
                self._gateways[key] = value
        return set(delta.gateways)

    def _put_routes(self, delta: Delta) -> set[Key]:
        dirty: set[Key] = set()
        for key, value in delta.http_routes.items():
            self._changed.add(key)
            for route, is_new in ((self.http_routes.pop(key, None), False), (value, True)):
                for gateway in self.parents(route):
                    dirty.add(gateway)
                    _index(self._named_by, gateway, key, is_new=is_new)
                for rule in route.rules if route else ():
                    for backend in rule.backends:
                        _index(self._service_users, backend.ref.key(key.namespace), key, is_new=is_new)
            if value is not None:
                self.http_routes[key] = value
        return dirty

    def _put_references(self, delta: Delta) -> set[Key]:
        """Apply what Gateways and HTTPRoutes refer to, apart from Services."""
        for key, grant in delta.grants.items():
            self._grants[key.namespace].pop(key, None)
            if grant is not None:
                self._grants[key.namespace][key] = grant
        for key, namespace in delta.labelled_namespaces.items():
            self._labels.pop(key.name, None)
            if namespace is not None:
                self._labels[key.name] = dict(namespace.labels)
        for key, secret in delta.secrets.items():
            self._secrets.pop(key, None)
            if secret is not None:
                self._secrets[key] = secret
        dirty = set(chain.from_iterable(self._secret_users.get(key, ()) for key in delta.secrets))
        if delta.grants:
            dirty |= self._gateways.keys()
        if delta.labelled_namespaces:
            dirty |= {key for key, gateway in self._gateways.items()
                      if any(listener.selector for listener in gateway.listeners)}
        return dirty

    # --- evaluation ----------------------------------------------------------------------

    def is_own(self, gateway: Gateway) -> bool:
        """True if a Gateway is of a class of this router that can be used."""
        own = self.classes.get(gateway.class_name)
        return own is not None and not own.parameters

    def _evaluate(self, dirty: set[Key]) -> dict[Key, Route | None]:
        dirty |= self._assign(dirty)
        changes: dict[Key, Route | None] = {}
        for key in sorted(dirty, key=lambda each: each == self._holder):
            with contained(self._on_failure, GATEWAY, key):
                self._replace(key, changes)
        return changes

    def _assign(self, dirty: Iterable[Key]) -> set[Key]:
        """Find the Gateway that has the front end; returns those for which that has changed."""
        for key in dirty:
            gateway = self._gateways.get(key)
            asks = gateway is not None and self.is_own(gateway) and evaluation.asks_for_front_end(
                gateway, self.settings.served, self)
            (self._asking.add if asks else self._asking.discard)(key)
        before, self._holder = self._holder, min(
            self._asking, key=lambda each: self._gateways[each].age, default=None)
        return set(self._asking) if before != self._holder else set()

    def _replace(self, key: Key, changes: dict[Key, Route | None]) -> None:
        """Evaluate a Gateway anew."""
        before, gateway = self.evaluated.pop(key, None), self._gateways.get(key)
        after = None
        if gateway is not None and self.is_own(gateway):
            named = (self.http_routes[route] for route in sorted(self._named_by.get(key, ())))
            after = self.evaluated[key] = evaluation.evaluate(
                gateway, named, self.settings.served, self, self._taken(key))
        self._changed |= {key, *(before.attached if before else ()), *(after.attached if after else ())}
        old, new = before.routes if before else {}, after.routes if after else {}
        for name in old.keys() - new.keys():
            changes.setdefault(name, None)
        changes.update((name, route) for name, route in new.items() if old.get(name) != route)
        self._follow(key, gateway if after else None)

    def _taken(self, key: Key) -> StatusCondition | None:
        if key not in self._asking or key == self._holder:
            return None
        return false(conditions.PROGRAMMED, conditions.ADDRESS_NOT_ASSIGNED,
                     "another Gateway that is older has the front end of the router")

    def _follow(self, key: Key, gateway: Gateway | None) -> None:
        """Follow the Secrets that the listeners of a Gateway may refer to."""
        wanted: dict[Key, Key] = {}
        for listener in gateway.listeners if gateway else ():
            for ref in listener.certificates if listener.protocol == listeners.HTTPS else ():
                if references.permits(self, key, GATEWAY, ref):
                    secret = ref.key(key.namespace)
                    wanted[_stand_in(key, secret)] = secret
        known = {name for name in self._followed if name.namespace == key.namespace
                 and name.name.partition(".")[2] == key.name}
        for name in known - wanted.keys():
            del self._followed[name]
            self._users[name] = None
        for name, secret in wanted.items():
            if self._followed.get(name) != secret:
                self._followed[name] = secret
                self._users[name] = Route(name, tls_secret=secret)


def _stand_in(gateway: Key, secret: Key) -> Key:
    return Key(gateway.namespace, names.virtual_route(GATEWAY, gateway.name, f"Secret {secret}"))


def _index(index: dict[_T, set[Key]], value: _T, key: Key, *, is_new: bool) -> None:
    """Add a key to the set of a value, or discard it; an empty set goes."""
    if is_new:
        index[value].add(key)
    elif value in index:
        index[value].discard(key)
        if not index[value]:
            del index[value]
