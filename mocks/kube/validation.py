"""Why the API server refuses an object that a client writes: 422, with the fields.

Each function has the rules of one kind, from the file that it names; those of Routes are in
route_validation.py. Not here: labels, annotations and finalizers.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

from . import gateway_api
from .causes import (
    Cause,
    dns_1035_rules,
    duplicate,
    forbidden,
    immutable,
    invalid,
    label_rules,
    port_rules,
    qualified_name_rules,
    required,
    subdomain_rules,
    too_long,
    too_many,
    unsupported,
)
from .defaults import NODE_PORTS, node_ports
from .kinds import Kind
from .route_validation import route_faults

PROTOCOLS = ("SCTP", "TCP", "UDP")
TLS_SECRET = "kubernetes.io/tls"
MOST_SECRET = 1 << 20
"""Bytes of all values. Source: MaxSecretSize, k8s.io/kubernetes/pkg/apis/core/types.go."""

MOST_ENDPOINTS, MOST_ADDRESSES, MOST_SLICE_PORTS = 1000, 100, 20_000
MOST_NOTE, MOST_EVENT_WORD = 1024, 128


def faults(kind: Kind, data: Mapping, current: Mapping | None, others: Iterable[Mapping]) -> list[Cause]:
    """Return what is wrong with an object, defaults filled in; empty if it is accepted.

    Args: current: what is updated, None for a new object. others: objects of the kind besides it.
    """
    match kind.kind:
        case "Route":
            return list(route_faults(data, current))
        case "Service":
            return list(chain(_service(data, current), _taken_node_ports(data, others)))
        case "EndpointSlice":
            return list(_slice(data, current))
        case "Secret":
            return list(_secret(data, current))
        case "Event":
            return list(_event(data, strict=bool(kind.group)))
        case "Lease":
            return list(_lease(data))
    return list(gateway_api.faults(kind.kind, data, current)) if kind.group == gateway_api.GROUP else []


# -- Services


def _service(data: Mapping, current: Mapping | None) -> Iterator[Cause]:
    """k8s.io/kubernetes pkg/apis/core/validation/validation.go, ValidateService, ValidateServiceUpdate."""
    spec, name = data.get("spec") or {}, data["metadata"]["name"]
    if not current:
        for rule in dns_1035_rules(name):
            yield invalid("metadata.name", name, rule)
    kind, address, ports = spec.get("type"), spec.get("clusterIP") or "", spec.get("ports") or ()
    before = ((current or {}).get("spec") or {}).get("clusterIP") or ""
    if before and kind != "ExternalName" and address != before:
        yield invalid("spec.clusterIPs[0]", [address], "may not change once set")
    if not ports and address != "None" and kind != "ExternalName":
        yield required("spec.ports")
    if kind in ("LoadBalancer", "NodePort") and address == "None":
        yield invalid("spec.clusterIPs[0]", "None", f"may not be set to 'None' for {kind} services")
    if kind == "ExternalName":
        yield from _external_name(spec, address)
    elif address not in ("", "None") and _address(address) is None:
        why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield invalid("spec.clusterIPs[0]", address, why)
    yield from _service_ports(ports, kind)
    if spec.get("sessionAffinity") not in ("ClientIP", "None"):
        yield unsupported("spec.sessionAffinity", spec.get("sessionAffinity"), ("ClientIP", "None"))
    if kind not in (known := ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")):
        yield unsupported("spec.type", kind, known)


def _external_name(spec: Mapping, address: str) -> Iterator[Cause]:
    if address:
        yield forbidden("spec.clusterIPs", "may not be set for ExternalName services")
    if not (name := (spec.get("externalName") or "").removesuffix(".")):
        yield required("spec.externalName")
    for rule in subdomain_rules(name) if name else ():
        yield invalid("spec.externalName", name, rule)


def _service_ports(ports: Iterable[Mapping], kind: str) -> Iterator[Cause]:
    ports = list(ports)
    names: set[str] = set()
    for number, port in enumerate(ports):
        where, name = f"spec.ports[{number}]", port.get("name") or ""
        if not name and len(ports) > 1:
            yield required(f"{where}.name")
        for rule in label_rules(name) if name else ():
            yield invalid(f"{where}.name", name, rule)
        if name and name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)
        for rule in port_rules(port.get("port") or 0):
            yield invalid(f"{where}.port", port.get("port") or 0, rule)
        if port.get("protocol") not in PROTOCOLS:
            yield unsupported(f"{where}.protocol", port.get("protocol"), PROTOCOLS)
        for rule in port_rules(port.get("targetPort")):
            yield invalid(f"{where}.targetPort", port.get("targetPort"), rule)
    seen: set[tuple] = set()
    for number, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            yield _same_port(f"spec.ports[{number}]", *key)
        seen.add(key)
        if kind == "ClusterIP" and port.get("nodePort"):
            yield forbidden(f"spec.ports[{number}].nodePort", "may not be used when `type` is 'ClusterIP'")


def _same_port(where: str, protocol: str, number: int) -> Cause:
    """A struct is shown in Go's syntax."""
    target = 'intstr.IntOrString{Type:0, IntVal:0, StrVal:""}'
    shown = (f'core.ServicePort{{Name:"", Protocol:"{protocol}", AppProtocol:(*string)(nil), Port:{number}, '
             f"TargetPort:{target}, NodePort:0}}")  # fmt: skip
    return "FieldValueDuplicate", f"Duplicate value: {shown}", where


def _taken_node_ports(data: Mapping, services: Iterable[Mapping]) -> Iterator[Cause]:
    """pkg/registry/core/service/portallocator/allocator.go: node ports are given once, from a range."""
    taken = node_ports(other.get("spec") or {} for other in services)
    for number, port in enumerate((data.get("spec") or {}).get("ports") or ()):
        wanted, where = port.get("nodePort"), f"spec.ports[{number}].nodePort"
        if wanted and wanted in taken:
            yield invalid(where, wanted, "provided port is already allocated")
        elif wanted and wanted not in NODE_PORTS:
            why = "provided port is not in the valid range. The range of valid ports is 30000-32767"
            yield invalid(where, wanted, why)


# -- EndpointSlices


def _slice(data: Mapping, current: Mapping | None) -> Iterator[Cause]:
    """k8s.io/kubernetes pkg/apis/discovery/validation/validation.go."""
    kind = data.get("addressType") or ""
    if not kind:
        yield required("addressType")
    elif kind not in (known := ("FQDN", "IPv4", "IPv6")):
        yield unsupported("addressType", kind, known)
    endpoints, ports = data.get("endpoints") or (), data.get("ports") or ()
    if len(endpoints) > MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), MOST_ENDPOINTS)
    else:
        for number, endpoint in enumerate(endpoints):
            yield from _endpoint(f"endpoints[{number}]", endpoint, kind)
    if len(ports) > MOST_SLICE_PORTS:
        yield too_many("ports", len(ports), MOST_SLICE_PORTS)
    else:
        yield from _slice_ports(ports)
    if current and kind != current.get("addressType"):
        yield immutable("addressType", kind)


def _endpoint(where: str, endpoint: Mapping, kind: str) -> Iterator[Cause]:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        yield required(f"{where}.addresses", "must contain at least 1 address")
    elif len(addresses) > MOST_ADDRESSES:
        yield too_many(f"{where}.addresses", len(addresses), MOST_ADDRESSES)
    for number, address in enumerate(addresses):
        for rule in _address_rules(address, kind):
            yield invalid(f"{where}.addresses[{number}]", address, rule)
    for name, rules in (("nodeName", subdomain_rules), ("hostname", label_rules)):
        for rule in rules(endpoint[name]) if endpoint.get(name) is not None else ():
            yield invalid(f"{where}.{name}", endpoint[name], rule)


def _address_rules(text: str, kind: str) -> Iterator[str]:
    """Also ValidateNonSpecialIP of pkg/apis/core/validation/validation.go."""
    address = _address(text)
    if kind not in ("IPv4", "IPv6"):
        yield from subdomain_rules(text.removesuffix(".")) if kind == "FQDN" else ()
        return
    if address is None or f"IPv{address.version}" != kind:
        yield f"must be a valid {kind} address"
    if address is None:
        yield "must be a valid IP address"
        return
    if address.is_unspecified:
        yield f"may not be unspecified ({text})"
    if address.is_loopback:
        yield "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    if address.is_link_local:
        yield "may not be in the link-local range (169.254.0.0/16, fe80::/10)"
    if address in ipaddress.ip_network("224.0.0.0/24") or address in ipaddress.ip_network("ff02::/16"):
        yield "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"


def _slice_ports(ports: Iterable[Mapping]) -> Iterator[Cause]:
    names: set[str] = set()
    for number, port in enumerate(ports):
        where, name = f"ports[{number}]", port.get("name") or ""
        for rule in label_rules(name) if name else ():
            yield invalid(f"{where}.name", name, rule)
        if name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)
        if port.get("protocol") not in PROTOCOLS:
            yield unsupported(f"{where}.protocol", port.get("protocol"), PROTOCOLS)


def _address(text: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text) if isinstance(text, str) else None
    except ValueError:
        return None


# -- Secrets


def _secret(data: Mapping, current: Mapping | None) -> Iterator[Cause]:
    """k8s.io/kubernetes pkg/apis/core/validation/validation.go, ValidateSecret and ValidateSecretUpdate."""
    held, kind = data.get("data") or {}, data.get("type")
    if current and kind != current.get("type"):
        yield immutable("type", kind)
    if current and current.get("immutable"):
        why = "field is immutable when `immutable` is set"
        if not data.get("immutable"):
            yield forbidden("immutable", why)
        if held != (current.get("data") or {}):
            yield forbidden("data", why)
    if sum(3 * len(value) // 4 for value in held.values() if value) > MOST_SECRET:
        yield too_long("data", MOST_SECRET)
    for name in ("tls.crt", "tls.key") if kind == TLS_SECRET else ():
        if name not in held:
            yield required(f"data[{name}]")


# -- Events


def _event(data: Mapping, *, strict: bool) -> Iterator[Cause]:
    """k8s.io/kubernetes pkg/apis/core/validation/events.go; fields have the names of core/v1 in both groups.

    Args: strict: written through events.k8s.io/v1.
    """
    about = data.get("regarding" if strict else "involvedObject") or {}
    space, of = data["metadata"].get("namespace", ""), about.get("namespace") or ""
    unmatched = invalid("involvedObject.namespace", of, "does not match event.namespace")
    if not data.get("eventTime"):
        if of != space and (of or space != "default"):
            yield unmatched
    else:
        if not of and space not in ("default", "kube-system"):
            yield unmatched
        yield from _new_event(data, strict=strict)
    if not strict:
        return
    if not data.get("eventTime"):
        yield required("eventTime")
    if data.get("type") not in ("Normal", "Warning"):
        yield invalid("type", "", f"has invalid value: {data.get('type') or ''}")
    for name in ("FirstTimestamp", "LastTimestamp", "Count", "Source"):
        if data.get(f"deprecated{name}"):
            yield invalid(name[0].lower() + name[1:], "", "needs to be unset")


def _new_event(data: Mapping, *, strict: bool) -> Iterator[Cause]:
    """Yield what an Event with an eventTime lacks."""
    controller = data.get("reportingController" if strict else "reportingComponent") or ""
    if not controller:
        yield required("reportingController")
    for rule in qualified_name_rules(controller):
        yield invalid("reportingController", controller, rule)
    for name in ("reportingInstance", "action", "reason"):
        if not (text := data.get(name) or ""):
            yield required(name)
        elif len(text.encode()) > MOST_EVENT_WORD:
            yield invalid(name, "", f"can have at most {MOST_EVENT_WORD} characters")
    if len((data.get("note" if strict else "message") or "").encode()) > MOST_NOTE:
        yield invalid("message", "", f"can have at most {MOST_NOTE} characters")


# -- Leases


def _lease(data: Mapping) -> Iterator[Cause]:
    """k8s.io/kubernetes pkg/apis/coordination/validation/validation.go, ValidateLeaseSpec."""
    spec = data.get("spec") or {}
    duration, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and duration <= 0:
        yield invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    if transitions is not None and transitions < 0:
        yield invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0")
