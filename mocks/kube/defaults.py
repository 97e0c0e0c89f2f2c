"""Defaults of the API server for what clients write (Route, Service, EndpointSlice, Secret, Namespace).

Sources: openshift/api route/v1 defaults, k8s.io/kubernetes pkg/apis/core/v1/defaults.go and
pkg/apis/discovery/v1/defaults.go.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping

from . import gateway_api
from .kinds import Kind
from .objects import filled_namespace

HOST_GENERATED = "openshift.io/host.generated"
GENERATED_DOMAIN = "router.default.svc.cluster.local"


def with_defaults(
    kind: Kind, data: dict, services: Iterable[Mapping], current: Mapping | None = None
) -> dict:
    """The object with the server's defaults.

    Args: services: the other ones, whose addresses and node ports are taken. current: what is updated.
    """
    if kind.kind == "Route":
        return _route(data, new=current is None)
    if kind.kind == "EndpointSlice":
        return _slice(kind.kept(data))
    if kind.kind == "Service":
        return _service(data, services, current or {})
    if kind.kind == "Secret":
        return secret(data)
    if kind.kind == "Namespace":
        return filled_namespace(data)
    if kind.group == gateway_api.GROUP:
        return gateway_api.with_defaults(kind.kind, data, new=current is None)
    return data


def secret(data: dict) -> dict:
    """A Secret as it is stored: ``stringData`` has gone into ``data``, which it overrides."""
    plain = data.get("stringData") or {}
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in plain.items()}
    rest = {name: value for name, value in data.items() if name != "stringData"}
    held = (data.get("data") or {}) | encoded
    return {"type": "Opaque"} | rest | ({"data": held} if held else {})


def _slice(data: dict) -> dict:
    """A port without a name has the empty one, without a protocol TCP."""
    ports = [port | {"name": port.get("name") or "", "protocol": port.get("protocol") or "TCP"}
             for port in data["ports"] or ()]  # fmt: skip
    return data | {"ports": ports or None}


def _route(data: dict, *, new: bool) -> dict:
    """A new Route without a host gets one, unless it has a subdomain, of which its router makes the host, or
    is for all hosts of a domain: AllocateHost of openshift/library-go pkg/route/hostassignment/assignment.go.
    """
    metadata, spec = data["metadata"], dict(data.get("spec") or {})
    spec["to"] = {"kind": "Service", "weight": 100} | (spec.get("to") or {})
    if spec.get("alternateBackends"):
        spec["alternateBackends"] = [
            {"kind": "Service", "weight": 100} | b for b in spec["alternateBackends"]
        ]
    spec.setdefault("wildcardPolicy", "None")
    if isinstance(spec.get("tls"), dict):
        tls = spec["tls"]
        termination = tls.get("termination") or ("" if tls.get("destinationCACertificate") else "edge")
        spec["tls"] = dict(tls, termination=termination.lower())
    named = spec.get("host") or spec.get("subdomain") or spec["wildcardPolicy"] == "Subdomain"
    if new and not named:
        spec["host"] = f"{metadata['name']}-{metadata['namespace']}.{GENERATED_DOMAIN}"
        metadata = dict(
            metadata, annotations=dict(metadata.get("annotations") or {}, **{HOST_GENERATED: "true"})
        )
    return dict(data, metadata=metadata, spec=spec)


def with_status_defaults(kind: Kind, data: dict) -> dict:
    """The object with the server's defaults in a status that a client wrote."""
    ingress = (data.get("status") or {}).get("ingress") if kind.kind == "Route" else None
    if not ingress:
        return data
    filled = [{"wildcardPolicy": "None"} | entry for entry in ingress]
    return dict(data, status=dict(data["status"], ingress=filled))


NODE_PORTS = range(30000, 32768)
PUBLISHED = ("NodePort", "LoadBalancer")


def _service(data: dict, services: Iterable[Mapping], current: Mapping) -> dict:
    spec = {"type": "ClusterIP", "sessionAffinity": "None"} | (data.get("spec") or {})
    others = [service.get("spec") or {} for service in services]
    before = current.get("spec") or {}
    if spec["type"] != "ExternalName" and not spec.get("clusterIP"):
        taken = {other.get("clusterIP") for other in others}
        spec["clusterIP"] = before.get("clusterIP") or _free_address(taken)
    if spec["type"] in PUBLISHED:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    if spec.get("ports"):
        spec["ports"] = list(_service_ports(spec, before.get("ports") or (), node_ports(others)))
    return {"status": {"loadBalancer": {}}} | data | {"spec": spec}


def _service_ports(spec: Mapping, before: Iterable[Mapping], taken: set[int | None]) -> Iterator[dict]:
    """A port keeps its node port in an update that does not name it, and another type of Service drops what
    it had (patchAllocatedValues and dropTypeDependentFields of pkg/registry/core/service/strategy.go)."""
    kept = {(port.get("protocol", "TCP"), port.get("port")): port.get("nodePort") for port in before}
    had = {port.get("nodePort") for port in before}
    allocates = spec.get("allocateLoadBalancerNodePorts", True) is not False
    for port in spec["ports"]:
        filled = {"protocol": "TCP", "targetPort": port.get("port")} | port
        given = filled.pop("nodePort", None)
        number = given or kept.get((filled["protocol"], filled["port"]))
        if spec["type"] in PUBLISHED and (number or allocates):
            filled["nodePort"] = number or next(free for free in NODE_PORTS if free not in taken)
            taken.add(filled["nodePort"])
        elif given and given not in had:
            filled["nodePort"] = given  # validation refuses it
        yield filled


def node_ports(specs: Iterable[Mapping]) -> set[int | None]:
    """Node ports of Services, and None."""
    return {port.get("nodePort") for spec in specs for port in spec.get("ports") or ()}


def _free_address(taken: set[str | None]) -> str:
    """Lowest free address of OpenShift's default service network, 172.30.0.0/16."""
    numbers = (f"172.30.{n // 256}.{n % 256}" for n in range(10, 65_535))
    return next(address for address in numbers if address not in taken)
