"""A source of Gateways with its cluster, as tests change it."""

from typing import Any

from f5router.kube.api import decode, decode_gateway
from f5router.model import address_range
from f5router.model.cluster import TLS_SECRET, Key, Route, Secret, Subject
from f5router.model.containment import OnFailure, fail
from f5router.model.delta import Delta
from f5router.model.gateway import HTTP_ROUTE
from f5router.model.texts import Problem
from f5router.model.virtual_server import FrontEnd
from f5router.sources.gateway import reports
from f5router.sources.gateway.evaluation import EvaluatedGateway
from f5router.sources.gateway.gateways import Gateways
from f5router.sources.settings import GatewaySettings, ServedPorts
from tests import gateways, manifests

ADDRESS = "203.0.113.10"
TEMPLATE = FrontEnd((), http="/Common/openshift_http", https="/Common/openshift_https",
                    tcp="/Common/openshift_tcp")
SERVED = ServedPorts((ADDRESS,), (("HTTP", 80), ("HTTPS", 443)))
NOW = "2026-02-01T00:00:00Z"
_FIELDS = {"GatewayClass": ("gateway_classes", decode_gateway.gateway_class),
           "Gateway": ("gateways", decode_gateway.gateway),
           "HTTPRoute": ("http_routes", decode_gateway.http_route),
           "TLSRoute": ("tls_routes", decode_gateway.tls_route),
           "TCPRoute": ("tcp_routes", decode_gateway.tcp_route),
           "BackendTLSPolicy": ("backend_policies", decode_gateway.backend_tls_policy),
           "ReferenceGrant": ("grants", decode_gateway.reference_grant),
           "Namespace": ("labelled_namespaces", decode_gateway.labelled_namespace)}


class GatewaySite:
    """A source of Gateways of which all virtual Routes are served at once, but those refused."""

    def __init__(self, *objects: dict, served: ServedPorts = SERVED, ranges: str = "",
                 services: tuple[str, ...] = ("v1", "v2"), on_failure: OnFailure = fail):
        self.services = {Key("infra", name): decode.service(manifests.service("infra", name)[0])
                         for name in services}
        settings = GatewaySettings(
            served=served, reserved=frozenset(served.addresses), template=TEMPLATE,
            ranges=address_range.parse(ranges) if ranges else ())
        self.source = Gateways(self.services, settings, on_failure=on_failure)
        self.routes: dict[Key, Route] = {}
        self.refused: dict[Key, Problem] = {}
        self.put(gateways.gateway_class(), *objects)

    def put(self, *objects: dict, gone: tuple[tuple[str, str], ...] = (),
            secrets: tuple[Secret, ...] = (),
            unread: frozenset[str] = frozenset(),
            absent: frozenset[str] = frozenset()) -> dict[Key, Route | None]:
        """Apply objects; gone: kind and name of those that are deleted, in infra; others: see Delta."""
        fields: dict[str, dict] = {"secrets": {each.key: each for each in secrets}}
        for obj in objects:
            field, read = _FIELDS[obj["kind"]]
            value = read(obj)
            fields.setdefault(field, {})[value.key] = value
        for kind, name in gone:
            fields.setdefault(_FIELDS[kind][0], {})[Key("infra", name)] = None
        changes = self.source.apply(Delta(
            **fields, sources_unread=unread, routes_absent=absent))
        for key, route in changes.items():
            self.routes.pop(key, None)
            if route is not None:
                self.routes[key] = route
        return changes

    def lacks(self, listener: object) -> bool:
        return False

    def server_refusal(self, listener: object) -> str:
        return ""

    def addresses(self, gateway: EvaluatedGateway) -> tuple[str, ...]:
        return gateway.verdict.served.addresses

    def is_served(self, route: Key) -> bool | None:
        return route not in self.refused

    def refusal(self, route: Key) -> Problem | None:
        return self.refused.get(route)

    def refused_on(self, gateway: Key) -> set[Subject]:
        return {Subject(origin.kind, origin.key) for key in self.refused if key in self.routes
                and (origin := self.routes[key].origin) and origin.claimant == gateway}

    def gateway(self, name: str = "web") -> dict[str, Any]:
        """Status of a Gateway."""
        evaluated = self.source.evaluated[Key("infra", name)]
        return dict(reports.gateway_status(evaluated, self).merged({}, NOW))

    def conditions(self, name: str = "web") -> dict[str, tuple[str, str]]:
        return gateways.conditions(self.gateway(name)["conditions"])

    def listener(self, name: str, gateway: str = "web") -> dict[str, tuple[str, str]]:
        """Conditions of a listener."""
        (entry,) = (each for each in self.gateway(gateway)["listeners"] if each["name"] == name)
        return gateways.conditions(entry["conditions"])

    def parents(self, name: str = "r", namespace: str = "infra", known: dict | None = None,
                kind: str = HTTP_ROUTE) -> list[dict[str, Any]]:
        """Entries in the status of a route."""
        subject = Subject(kind, Key(namespace, name))
        attached = [(self.source.evaluated[gateway], each)
                    for gateway, each in self.source.attachments(subject)]
        status = reports.route_status(
            self.source.routes[subject], attached, gateways.CONTROLLER, self)
        return list(status.merged(known or {}, NOW)["parents"])

    def route(self, name: str = "r", namespace: str = "infra",
              kind: str = HTTP_ROUTE) -> dict[str, tuple[str, str]]:
        """Conditions of a route with one parent."""
        (entry,) = self.parents(name, namespace, kind=kind)
        return gateways.conditions(entry["conditions"])

    def served(self) -> dict[tuple[str, int, str, str], tuple[str, str]]:
        """Service and reply by host, port, kind of path and path."""
        return {(each.host, each.port, str(each.path_match), each.path): (each.service, each.options.reply)
                for each in self.routes.values()}


def certificate(name: str = "tls", namespace: str = "infra", **fields: Any) -> Secret:
    return Secret(Key(namespace, name), **{
        "type": TLS_SECRET, "certificate": "C", "private_key": "K", **fields})
