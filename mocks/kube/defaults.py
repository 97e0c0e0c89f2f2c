"""What the API server fills into what clients write (Route, Service, Secret, Namespace); Route validation.

Sources: openshift/api route/v1 defaults, openshift-apiserver pkg/route/apis/route/validation/validation.go
(the checks a router depends on, not all of them), k8s.io/kubernetes pkg/apis/core/v1/defaults.go.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping

from .kinds import Kind
from .objects import filled_namespace

HOST_GENERATED = "openshift.io/host.generated"
GENERATED_DOMAIN = "router.default.svc.cluster.local"

_SUBDOMAIN = re.compile(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")

Cause = tuple[str, str, str]
"""(reason, message, field)"""


def with_defaults(
    kind: Kind, data: dict, services: Iterable[Mapping], current: Mapping | None = None
) -> dict:
    """The object with the server's defaults.

    Args: services: the other ones, whose addresses and node ports are taken. current: what is updated.
    """
    if kind.kind == "Route":
        return _route(data)
    if kind.kind == "Service":
        return _service(data, services, current or {})
    if kind.kind == "Secret":
        return secret(data)
    if kind.kind == "Namespace":
        return filled_namespace(data)
    return data


def secret(data: dict) -> dict:
    """A Secret as it is stored: ``stringData`` has gone into ``data``, which it overrides."""
    plain = data.get("stringData") or {}
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in plain.items()}
    rest = {name: value for name, value in data.items() if name != "stringData"}
    held = (data.get("data") or {}) | encoded
    return {"type": "Opaque"} | rest | ({"data": held} if held else {})


def _route(data: dict) -> dict:
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
    if not spec.get("host"):
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
    filled = [{"wildcardPolicy": "None"} | one for one in ingress]
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
        spec["ports"] = list(_service_ports(spec, before.get("ports") or (), _node_ports(others)))
    return {"status": {"loadBalancer": {}}} | data | {"spec": spec}


def _service_ports(spec: Mapping, before: Iterable[Mapping], taken: set[int | None]) -> Iterator[dict]:
    """A port keeps its node port in an update that does not name it (PatchAllocatedValues in the API server's
    pkg/registry/core/service/strategy.go); another type of Service has none."""
    kept = {(port.get("protocol", "TCP"), port.get("port")): port.get("nodePort") for port in before}
    allocates = spec.get("allocateLoadBalancerNodePorts", True) is not False
    for port in spec["ports"]:
        filled = {"protocol": "TCP", "targetPort": port.get("port")} | port
        number = filled.pop("nodePort", None) or kept.get((filled["protocol"], filled["port"]))
        if spec["type"] in PUBLISHED and (number or allocates):
            filled["nodePort"] = number or next(free for free in NODE_PORTS if free not in taken)
            taken.add(filled["nodePort"])
        yield filled


def _node_ports(specs: Iterable[Mapping]) -> set[int | None]:
    return {port.get("nodePort") for spec in specs for port in spec.get("ports") or ()}


def service_faults(data: Mapping, services: Iterable[Mapping]) -> list[Cause]:
    """Why the API server refuses node ports; empty if it does not. Args: services: the other ones."""
    taken = _node_ports(other.get("spec") or {} for other in services)
    faults = []
    for number, port in enumerate((data.get("spec") or {}).get("ports") or ()):
        wanted, where = port.get("nodePort"), f"spec.ports[{number}].nodePort"
        if wanted and wanted in taken:
            why = "provided port is already allocated"
            faults.append(("FieldValueInvalid", f"Invalid value: {wanted}: {why}", where))
        elif wanted and wanted not in NODE_PORTS:
            why = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            faults.append(("FieldValueInvalid", f"Invalid value: {wanted}: {why}", where))
    return faults


def _free_address(taken: set[str | None]) -> str:
    """Lowest free address of OpenShift's default service network, 172.30.0.0/16."""
    numbers = (f"172.30.{n // 256}.{n % 256}" for n in range(10, 65_535))
    return next(address for address in numbers if address not in taken)


def route_faults(data: Mapping) -> list[Cause]:
    """Why the API server refuses to create or update a Route; empty if it does not."""
    spec = data.get("spec") or {}
    host, path, tls = spec.get("host", ""), spec.get("path", ""), spec.get("tls") or {}
    faults = []
    if not _SUBDOMAIN.match(host) or len(host) > 253:
        why = "host must conform to DNS naming conventions"
        faults.append(("FieldValueInvalid", f'Invalid value: "{host}": {why}', "spec.host"))
    if path and not path.startswith("/"):
        faults.append(("FieldValueInvalid", f'Invalid value: "{path}": path must begin with /', "spec.path"))
    if path and tls.get("termination") == "passthrough":
        why = "passthrough termination does not support paths"
        faults.append(("FieldValueInvalid", f'Invalid value: "{path}": {why}', "spec.path"))
    if not (spec.get("to") or {}).get("name"):
        faults.append(("FieldValueRequired", "Required value", "spec.to.name"))
    for where, backend in [("spec.to", spec.get("to") or {}), *_alternates(spec)]:
        weight = backend.get("weight", 100)
        if not 0 <= weight <= 256:
            why = "weight must be an integer between 0 and 256"
            faults.append(("FieldValueInvalid", f"Invalid value: {weight}: {why}", f"{where}.weight"))
    if tls and tls.get("termination") not in ("edge", "passthrough", "reencrypt"):
        why = 'supported values: "edge", "passthrough", "reencrypt"'
        message = f'Unsupported value: "{tls.get("termination")}": {why}'
        faults.append(("FieldValueNotSupported", message, "spec.tls.termination"))
    return faults


def _alternates(spec: Mapping) -> list[tuple[str, Mapping]]:
    backends = spec.get("alternateBackends") or ()
    return [(f"spec.alternateBackends[{i}]", backend) for i, backend in enumerate(backends)]
