"""The Gateways of this router's class with their routes, as virtual Routes.

A change of a route, or of what it refers to, costs that route; a change of a Gateway itself all that
name it. One Gateway at a time has the front end of the router: the first one that asks for it. Others have
front ends of their own, one for each port, if settings permit addresses (places.py). Source:
kubernetes-sigs/gateway-api v1.4.1, apis/v1/gateway_types.go, GatewaySpec.Addresses;
gatewayclass_types.go, GatewayClassSpec.ControllerName.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from itertools import chain

from f5router.model.cluster import Key, Route, Secret, Service, Subject
from f5router.model.containment import OnFailure, contained, fail
from f5router.model.delta import ROUTE_FIELDS, Delta
from f5router.model.gateway import (
    GATEWAY,
    GROUP,
    HTTP_ROUTE,
    BackendTLSPolicy,
    Gateway,
    GatewayClass,
    GatewayRoute,
    ReferenceGrant,
)
from f5router.model.limits import Steps, finish
from f5router.model.texts import Problem
from f5router.model.virtual_server import FrontEnd, FrontEndSet
from f5router.sources.gateway import conditions, evaluation, indexes, places, references
from f5router.sources.gateway.attachment import RouteAttachment
from f5router.sources.gateway.backend_tls import BackendPolicies, services_of
from f5router.sources.gateway.certificates import ReadCertificates
from f5router.sources.gateway.conditions import StatusCondition, false
from f5router.sources.gateway.evaluation import EvaluatedGateway
from f5router.sources.gateway.followed_secrets import FollowedSecrets
from f5router.sources.gateway.places import GatewayPlaces
from f5router.sources.settings import GatewaySettings, ServedPorts

_Pairs = defaultdict[Key, set[Subject]]
"""Routes by Gateway on which they are to be evaluated."""


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
        self.routes: dict[Subject, GatewayRoute] = {}
        self._grants: dict[str, dict[Key, ReferenceGrant]] = defaultdict(dict)
        self._labels: dict[str, Mapping[str, str]] = {}
        self._secrets: dict[Key, Secret] = {}
        self.policies, self.certificates = BackendPolicies(self._secrets), ReadCertificates()
        self.evaluated: dict[Key, EvaluatedGateway] = {}
        """The Gateways of this router's classes."""
        self._named_by: dict[Key, set[Subject]] = defaultdict(set)
        """Routes by Gateway that they name."""
        self._service_users: dict[Key, set[Subject]] = defaultdict(set)
        """Routes by Service."""
        self._secret_users: dict[Key, set[Key]] = defaultdict(set)
        """Gateways by Secret."""
        self._of_namespace: dict[str, set[Subject]] = defaultdict(set)
        """Routes by their namespace."""
        self._granted_gateways: dict[str, set[Key]] = defaultdict(set)
        self._granted_routes: dict[str, set[Subject]] = defaultdict(set)
        """Gateways, and routes, by another namespace that they refer to."""
        self._asking: set[Key] = set()
        """Gateways that can have the front end, and ask for it."""
        self._holder: Key | None = None
        self._places = GatewayPlaces(settings)
        self.front_ends: tuple[FrontEnd, ...] = ()
        """The front ends of Gateways with addresses of their own."""
        self._is_new = False
        """True to judge all Gateways anew."""
        self._followed = FollowedSecrets()
        self._changed: set[Key] = set()
        self._held = Delta()
        """Changes of a time when something could not be read."""
        self.unread: Collection[str] = frozenset()
        """See references.GatewayView, as of the next."""
        self.absent: Collection[str] = frozenset()

    # --- results -------------------------------------------------------------------------

    @property
    def has_changed(self) -> bool:
        """True if take_changed() has something to return."""
        return bool(self._changed)

    def take_changed(self) -> set[Key]:
        """Return the objects whose status may have changed since the last call; they may be gone.

        A key may be that of a Gateway and that of routes; without a namespace it is a GatewayClass's.
        """
        changed, self._changed = self._changed, set()
        return changed

    def own(self) -> Collection[Key]:
        """Return the HTTPRoutes that name a Gateway of this router's classes."""
        return {subject.key for gateway in self.evaluated.values() for subject in gateway.attached
                if subject.kind == HTTP_ROUTE}

    def attachments(self, subject: Subject) -> list[tuple[Key, RouteAttachment]]:
        """Return the attachments of a route in the order of its references, each with its Gateway."""
        route = self.routes.get(subject)
        attached = [(gateway, each) for gateway in self.parents(route) if gateway in self.evaluated
                 for each in self.evaluated[gateway].attachments(subject)] if route else []
        order = {parent: number for number, parent in enumerate(route.parents)} if route else {}
        return sorted(attached, key=lambda pair: order[pair[1].parent])

    def condition(self, key: Key, kind: str = HTTP_ROUTE) -> tuple[Problem, ...]:
        """Return why a route, or a part of it, is not served."""
        return conditions.problems(*(
            each for _, attachment in self.attachments(Subject(kind, key))
            for each in attachment.conditions.by_type.values()))

    def routes_of(self, key: Key, kind: str = HTTP_ROUTE) -> Collection[Key]:
        """Return the virtual Routes of a route."""
        subject = Subject(kind, key)
        return [name for gateway in self.parents(self.routes.get(subject)) if gateway in self.evaluated
                for name in self.evaluated[gateway].virtual.of_route(subject)]

    def take_secret_users(self) -> dict[Key, Route | None]:
        """Return stand-ins for the Secrets of Gateways and policies; see FollowedSecrets.take_users."""
        return self._followed.take_users() | self.policies.take_secret_users()

    def undecided(self) -> Collection[Key]:
        """Return all Gateways and routes: what cannot be read may change what becomes of each."""
        return {*self._gateways, *(subject.key for subject in self.routes)}

    def ancestors(self, policy: BackendTLSPolicy) -> list[Key]:
        """Return the Gateways of this router with routes to Services of a policy."""
        routes = self._using(services_of(policy))
        named = {key for each in routes for key in self.parents(self.routes[each])}
        return sorted(named & self.evaluated.keys())

    @staticmethod
    def parents(route: GatewayRoute | None) -> list[Key]:
        """Return the Gateways that a route names, each once."""
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

    # --- front ends ----------------------------------------------------------------------

    def set_front_ends(self, front_ends: FrontEndSet) -> None:
        """Replace the front ends of the settings; the next `apply` judges all Gateways anew."""
        self.settings, self._is_new = self.settings.with_front_ends(front_ends), True
        self._places.settings = self.settings

    def assign_anew(self) -> None:
        """Assign all addresses by the statuses of Gateways in the next `apply`: another replica's."""
        self._is_new, self._holder = True, None
        self._places.forget()
        self.policies.begin_anew()

    def _place(self, gateway: Gateway) -> tuple[ServedPorts, StatusCondition | None]:
        """Return where a Gateway is served, and why it is not for reasons outside of it."""
        if not self._places.is_on_own_front_end(gateway, self._holder):
            return self._places.served(gateway.key)
        if gateway.key not in self._asking or gateway.key == self._holder:
            return self.settings.served, None
        return self.settings.served, false(
            conditions.PROGRAMMED, conditions.ADDRESS_NOT_ASSIGNED,
            "another Gateway has the front end of the router")

    # --- inputs --------------------------------------------------------------------------

    def apply(self, delta: Delta) -> dict[Key, Route | None]:
        """Apply changes of the cluster; returns the virtual Routes that differ, None for removed ones.

        Nothing changes while objects of the Gateway API cannot be read: see Delta.sources_unread.
        """
        return finish(self.apply_in_steps(delta))

    def apply_in_steps(self, delta: Delta) -> Steps[dict[Key, Route | None]]:
        """Apply changes, as `apply` does. Between two steps no result may be asked for."""
        if GATEWAY in delta.sources_unread:
            self._held = self._held.then(delta.of_gateways())
            return {}
        if self._held:
            delta, self._held = self._held.then(delta), Delta()
        known = (delta.sources_unread & ROUTE_FIELDS.keys(), delta.routes_absent)
        if known != (self.unread, self.absent):
            (self.unread, self.absent), self._is_new = known, True
        pairs: _Pairs = defaultdict(set)
        gateways = self._put_classes(delta) | self._put_gateways(delta)
        for kind, field in ROUTE_FIELDS.items():
            self._put_routes(kind, getattr(delta, field), pairs)
        gateways |= self._put_references(delta, pairs)
        if self._is_new:
            gateways |= self._gateways.keys()
            self._is_new = False
        return (yield from self._evaluate(gateways, pairs))

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
                for _, secret in references.secrets(gateway) if gateway else ():
                    indexes.put(self._secret_users, secret, key, is_new=is_new)
                    if secret.namespace != key.namespace:
                        indexes.put(self._granted_gateways, secret.namespace, key, is_new=is_new)
            self._places.put(key, value.held if value else ())
            if value is not None:
                self._gateways[key] = replace(value, held=())  # a status of ours changes nothing else
        return set(delta.gateways)

    def _put_routes(self, kind: str, changes: Mapping[Key, GatewayRoute | None], pairs: _Pairs) -> None:
        for key, value in changes.items():
            subject = Subject(kind, key)
            self._changed.add(key)
            for route, is_new in ((self.routes.pop(subject, None), False), (value, True)):
                for gateway in self.parents(route):
                    pairs[gateway].add(subject)
                    indexes.put(self._named_by, gateway, subject, is_new=is_new)
                for backend in route.backends if route else ():
                    service = backend.ref.key(key.namespace)
                    indexes.put(self._service_users, service, subject, is_new=is_new)
                    if service.namespace != key.namespace:
                        indexes.put(self._granted_routes, service.namespace, subject, is_new=is_new)
            indexes.put(self._of_namespace, key.namespace, subject, is_new=value is not None)
            if value is not None:
                self.routes[subject] = value

    def _using(self, services: Iterable[Key]) -> set[Subject]:
        """Return the routes to some Services."""
        return set(chain.from_iterable(self._service_users.get(key, ()) for key in services))

    def _put_references(self, delta: Delta, pairs: _Pairs) -> set[Key]:
        """Apply what Gateways and routes refer to; returns the Gateways that this concerns themselves."""
        gateways: set[Key] = set()
        routes = self._using(delta.services)
        for key, grant in delta.grants.items():
            self._grants[key.namespace].pop(key, None)
            if grant is not None:
                self._grants[key.namespace][key] = grant
            gateways |= self._granted_gateways.get(key.namespace, set())
            routes |= self._granted_routes.get(key.namespace, set())
        for key, namespace in delta.labelled_namespaces.items():
            self._labels.pop(key.name, None)
            if namespace is not None:
                self._labels[key.name] = dict(namespace.labels)
            routes |= self._of_namespace.get(key.name, set())
        self.certificates.forget(delta.secrets)
        for key, secret in delta.secrets.items():
            self._secrets.pop(key, None)
            if secret is not None:
                self._secrets[key] = secret
            gateways |= self._secret_users.get(key, set())
        services, policies = self.policies.apply(delta)
        self._changed |= policies
        routes |= self._using(services)
        for subject in routes:
            for gateway in self.parents(self.routes[subject]):
                pairs[gateway].add(subject)
        return gateways

    # --- evaluation ----------------------------------------------------------------------

    def is_own(self, gateway: Gateway) -> bool:
        """True if a Gateway is of a class of this router that can be used."""
        own = self.classes.get(gateway.class_name)
        return own is not None and not own.parameters

    def _evaluate(self, gateways: set[Key], pairs: _Pairs) -> Steps[dict[Key, Route | None]]:
        """Evaluate Gateways, and routes on their Gateways, anew."""
        gateways |= self._assign(gateways)
        changes: dict[Key, Route | None] = {}
        for key in sorted(gateways, key=lambda each: each == self._holder):
            with contained(self._on_failure, GATEWAY, key):
                yield from self._judge(key, changes)
        if gateways:
            self.front_ends = tuple(chain.from_iterable(
                places.front_ends(key, each.verdict.served_listeners, each.verdict.closed_listeners,
                                  each.verdict.served, self.settings.template)
                for key, each in sorted(self.evaluated.items()) if each.verdict.served.ports is None))
        for key, routes in pairs.items():
            if (evaluated := self.evaluated.get(key)) is not None:
                for route in routes:
                    changes.update(self._put_route(evaluated, route))
                    yield
                changes.update(evaluated.virtual.put_in_order())
        return changes

    def _assign(self, dirty: Collection[Key]) -> set[Key]:
        """Assign front ends if Gateways have changed; returns the Gateways for which that changes them."""
        if not dirty:
            return set()
        for key in dirty:
            gateway, asks = self._gateways.get(key), False
            with contained(self._on_failure, GATEWAY, key):
                asks = gateway is not None and self.is_own(gateway) and (
                    self._places.is_on_own_front_end(gateway, self._holder)
                    and evaluation.asks_for_front_end(gateway, self.settings.served, self))
            (self._asking.add if asks else self._asking.discard)(key)
        before, self._holder = self._holder, min(self._asking, default=None, key=lambda each: (
            each != self._holder, not self._places.had_own_front_end(each), self._gateways[each].age))
        own = (each for each in self._gateways.values() if self.is_own(each))
        return self._places.assign(own, self._holder).union(self._asking if before != self._holder else ())

    def _judge(self, key: Key, changes: dict[Key, Route | None]) -> Steps[None]:
        """Judge a Gateway; if it is another than before, all its routes are evaluated."""
        before, gateway = self.evaluated.get(key), self._gateways.get(key)
        verdict = None
        if gateway is not None and self.is_own(gateway):
            verdict = evaluation.judge(gateway, *self._place(gateway), self)
            self._followed.put(key, [
                secret for ref, secret in references.secrets(gateway)
                if references.permits(self, key, GATEWAY, ref)])
            if before is not None and before.verdict == verdict:
                before.verdict = verdict  # the same but for its version
                return
        else:
            self._followed.put(key, ())
        self._note(key, before.attached if before else ())
        after = EvaluatedGateway(verdict) if verdict else None
        self.evaluated.pop(key, None)
        if after is not None:
            self.evaluated[key] = after
            for route in sorted(self._named_by.get(key, ())):
                self._put_route(after, route)
                yield
            after.virtual.put_in_order()
        wanted = after.virtual.routes if after else {}
        known = before.virtual.routes if before else {}
        changes.update(dict.fromkeys(known.keys() - wanted.keys()))
        changes.update((name, route) for name, route in wanted.items() if known.get(name) != route)

    def _put_route(self, evaluated: EvaluatedGateway, subject: Subject) -> dict[Key, Route | None]:
        """Evaluate a route on a Gateway that it names, or has named. Returns: as apply."""
        gateway, changes = evaluated.gateway.key, None
        with contained(self._on_failure, subject.kind, subject.key):
            named = subject in self._named_by.get(gateway, ())
            changes = evaluated.put(self.routes[subject], self) if named else evaluated.remove(subject)
        if changes is not None:
            self._note(gateway, [subject])
        return changes or {}

    def _note(self, gateway: Key, routes: Iterable[Subject]) -> None:
        """Record statuses that may differ: of a Gateway, of routes, and of the policies of their Services."""
        self._changed.add(gateway)
        for subject in routes:
            self._changed.add(subject.key)
            if (route := self.routes.get(subject)) is not None:
                self._changed |= self.policies.on(
                    each.ref.key(subject.key.namespace) for each in route.backends)
