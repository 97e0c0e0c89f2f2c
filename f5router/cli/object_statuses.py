"""Finds the parts of statuses that a router wrote, by kind of object, and removes them one at a time."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

from f5router.app.ingress_reporter import load_balancer_status
from f5router.kube.api import decode_contour, decode_gateway, decode_ingress, fields
from f5router.kube.api.connection import Connection
from f5router.kube.settings import WatchSettings
from f5router.kube.status.entry_cleanup import list_values
from f5router.kube.status.status_request import OwnedEntry
from f5router.kube.watch import kind_states
from f5router.kube.watch.sources import (
    BACKEND_POLICIES,
    GATEWAY_CLASSES,
    GATEWAY_ROUTES,
    GATEWAYS,
    INGRESS_CLASSES,
    INGRESS_ROUTES,
    INGRESSES,
    NAMESPACES,
    PROJECTS,
    Source,
    choose_served,
)
from f5router.model.cluster import Key
from f5router.model.delta import Delta
from f5router.model.gateway import BACKEND_TLS_POLICY, GatewayClass
from f5router.model.json_types import JSON
from f5router.sources.gateway import statuses
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.ingresses import Classes


@dataclass(slots=True)
class Statuses:
    """The statuses of a kind."""

    connection: Connection
    listed: Source
    """As watched_kinds knows it."""
    served: Source
    own: Callable[[JSON], JSON | None]
    """Returns the part of a status that this router wrote; None for nothing."""
    cleared: Callable[[JSON], JSON]
    """Returns the fields of an object's status afterwards."""
    serves: Callable[[Key], bool] = lambda key: True
    """True for an object that this router serves, not another one for other namespaces."""
    subresource: str = ""

    def find(self, settings: WatchSettings) -> list[OwnedEntry]:
        """List the objects with a status of this router. Raises: KubeError."""
        def decode(obj: JSON) -> tuple[OwnedEntry, ...]:
            key, status = fields.key(obj), self.own(obj)
            if status is None or not self.serves(key):
                return ()
            return (OwnedEntry(key, fields.uid(obj), status),)

        written: list[OwnedEntry] = list_values(
            self.connection, replace(self.served, decode=decode), namespace=settings.selection.namespace,
            selectors=kind_states.selectors(settings, self.listed))
        return written

    def remove(self, owned: OwnedEntry) -> object:
        """Remove a status; returns the changed object, None if it has no status of this router.

        Where a CRD has a sub-resource `status`, a patch of the object changes nothing, and its reply shows
        that. Raises: KubeError: KubeConflict: the object was changed meanwhile; to be tried again.
        """
        query = {"fieldSelector": f"metadata.name={owned.key.name}"}
        reply = self.connection.request("GET", self.served.path(owned.key.namespace), query=query)
        objects = fields.items(fields.mapping(reply).get("items"))
        if not objects or fields.uid(objects[0]) != owned.uid or not self._has_own(objects[0]):
            return None
        written = self._patch(owned, objects[0])
        if not self.subresource and self._has_own(written):
            self.subresource = "/status"
            written = self._patch(owned, objects[0])
        return written

    def _has_own(self, obj: JSON) -> bool:
        try:
            return self.own(obj) is not None
        except fields.DecodeError:
            return False

    def _patch(self, owned: OwnedEntry, obj: JSON) -> JSON:
        """Write the rest of a status, unless the object has changed since it was read."""
        path = f"{self.served.path(owned.key.namespace)}/{quote(owned.key.name, safe='')}{self.subresource}"
        body = {"metadata": {"resourceVersion": fields.resource_version(obj)}, "status": self.cleared(obj)}
        reply = self.connection.request("PATCH", path, body=body,
                                        content_type="application/merge-patch+json")
        return fields.mapping(reply)


def _namespaces(connection: Connection, settings: WatchSettings) -> Container[str] | None:
    """Return the names of the namespaces whose objects are served; None for all. Raises: KubeError."""
    if not settings.selection.by_namespace:
        return None
    source = PROJECTS if settings.selection.project_labels else NAMESPACES
    return set(list_values(connection, replace(source, decode=lambda obj: (fields.key(obj).name,)),
                           selectors=kind_states.selectors(settings, source)))


def ingresses(connection: Connection, settings: WatchSettings, entries: list[JSON]) -> Statuses | None:
    """Return the statuses of Ingresses; None if there are none. Raises: KubeError.

    Args: entries: what the router writes into status.loadBalancer.ingress.
    """
    if not entries or (served := choose_served(connection, INGRESSES)) is None:
        return None
    classes = Classes(settings.sources.classes)
    if (listed := choose_served(connection, INGRESS_CLASSES)) is not None:
        classes.apply({each.key: each for each in list_values(connection, listed)})

    def own(obj: JSON) -> JSON | None:
        ingress = decode_ingress.ingress(obj)
        if list(ingress.load_balancer) != entries or not classes.is_own(ingress):
            return None
        return {"entries": ", ".join(str(text) for entry in entries for text in entry.values())}

    namespaces = _namespaces(connection, settings)
    return Statuses(connection, INGRESSES, served, own, lambda obj: load_balancer_status(()),
                    _in(namespaces), "/status")


def ingress_routes(connection: Connection, settings: WatchSettings) -> Statuses | None:
    """Return the statuses of IngressRoutes; None if there are none. Raises: KubeError."""
    if choose_served(connection, INGRESS_ROUTES) is None:
        return None
    policy = settings.sources.ingress_routes

    def own(obj: JSON) -> Mapping[str, str] | None:
        ingress_route = decode_contour.ingress_route(obj)
        if not any(ingress_route.status) or not policy.takes(ingress_route):
            return None
        return dict(zip(("currentStatus", "description"), ingress_route.status, strict=True))

    cleared = {"currentStatus": None, "description": None}
    return Statuses(connection, INGRESS_ROUTES, INGRESS_ROUTES, own, lambda obj: cleared,
                    _serves_ingress_route(connection, settings))


def _serves_ingress_route(connection: Connection, settings: WatchSettings) -> Callable[[Key], bool]:
    """Return a test for IngressRoutes whose roots, or themselves without a root, are in served namespaces.

    One that another router's root reaches as well is left to that router. Raises: KubeError.
    """
    namespaces = _namespaces(connection, settings)
    if namespaces is None:
        return lambda key: True
    listed = list_values(connection, INGRESS_ROUTES,
                         selectors=kind_states.selectors(settings, INGRESS_ROUTES))
    known = IngressRoutes({}, settings.sources.ingress_routes)
    known.apply(Delta(ingress_routes={each.key: each for each in listed}))
    return lambda key: all(root.namespace in namespaces for root in known.roots(key) or [key])


def of_gateways(connection: Connection, settings: WatchSettings, kind: str) -> Statuses | None:
    """Return the statuses of a kind with entries for Gateways; None if there are none. Raises: KubeError.

    Args: kind: BackendTLSPolicy, or a kind of routes.
    """
    is_policy, controller = kind == BACKEND_TLS_POLICY, settings.sources.gateways.controller
    listed, field = (BACKEND_POLICIES, statuses.ANCESTORS) if is_policy else (
        GATEWAY_ROUTES[kind], statuses.PARENTS)
    if (served := choose_served(connection, listed)) is None:
        return None

    def own(obj: JSON) -> JSON | None:
        gateways = statuses.gateways_of(fields.mapping(obj.get("status")), controller, field)
        return {field: ", ".join(gateways)} if gateways else None

    return Statuses(
        connection, listed, served, own,
        lambda obj: statuses.without(fields.mapping(obj.get("status")), controller, field),
        _in(_namespaces(connection, settings)), "/status")


def gateways(connection: Connection, settings: WatchSettings) -> Statuses | None:
    """Return the statuses of Gateways of the router's classes; None if there are none. Raises: KubeError.

    A Gateway whose class is gone is the router's if it has addresses of the router's settings.
    """
    if (served := choose_served(connection, GATEWAYS)) is None:
        return None
    policy = settings.sources.gateways
    classes = {each.key.name: each.controller == policy.controller for each in _classes(connection)}

    def own(obj: JSON) -> JSON | None:
        gateway = decode_gateway.gateway(obj)
        is_own = classes.get(gateway.class_name, bool(gateway.held) and all(map(policy.has, gateway.held)))
        return statuses.written_gateway(fields.mapping(obj.get("status"))) if is_own else None

    return Statuses(connection, GATEWAYS, served, own, lambda obj: statuses.waiting_gateway(),
                    _in(_namespaces(connection, settings)), "/status")


def gateway_classes(connection: Connection, settings: WatchSettings) -> Statuses | None:
    """Return the statuses of the router's GatewayClasses; None if there are none. Raises: KubeError.

    A router of some namespaces leaves them: another one of the same controller may serve the others.
    """
    selection = settings.selection
    if selection.namespace or selection.by_namespace or (
            served := choose_served(connection, GATEWAY_CLASSES)) is None:
        return None
    controller = settings.sources.gateways.controller

    def own(obj: JSON) -> JSON | None:
        is_own = decode_gateway.gateway_class(obj).controller == controller
        return statuses.written_class(fields.mapping(obj.get("status"))) if is_own else None

    return Statuses(connection, GATEWAY_CLASSES, served, own, lambda obj: statuses.waiting_class(),
                    subresource="/status")


def _classes(connection: Connection) -> Iterable[GatewayClass]:
    """Return all GatewayClasses. Raises: KubeError."""
    served = choose_served(connection, GATEWAY_CLASSES)
    return list_values(connection, served) if served else ()


def _in(namespaces: Container[str] | None) -> Callable[[Key], bool]:
    return lambda key: namespaces is None or key.namespace in namespaces
