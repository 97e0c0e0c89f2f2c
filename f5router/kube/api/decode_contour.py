"""Decodes Contour's IngressRoute and TLSCertificateDelegation to the values of model/ingress.py.

A field of a wrong type makes the whole IngressRoute invalid, with the field as the reason: without the field
it could publish more than its author wants. Source: projectcontour/contour v1.5.1,
apis/contour/v1beta1/ingressroute.go and tlscertificatedelegation.go; v0.6.0 for `service` as a name of
`services`.
"""

from collections.abc import Iterator, Mapping
from sys import intern
from typing import Any

from f5router.kube.api import fields
from f5router.kube.api.fields import DecodeError
from f5router.model.ingress import (
    CertificateDelegation,
    Delegate,
    IngressRoute,
    RouteEntry,
    RouteService,
    ServiceHealthCheck,
    TCPProxy,
    VirtualHost,
)
from f5router.model.json_types import JSON

CLASS_ANNOTATIONS = ("projectcontour.io/ingress.class", "contour.heptio.com/ingress.class",
                     "kubernetes.io/ingress.class")
"""The first one that is present counts. Source: projectcontour/contour v1.5.1,
internal/annotation/annotations.go: IngressClass."""

MOST_ROUTES, MOST_SERVICES = 1000, 16
"""Entries of spec.routes, and services of an entry. Each becomes several objects on the BIG-IP."""
MOST_DELEGATIONS = 1000
"""Entries of spec.delegations, and of targetNamespaces in one."""
PREFIXES, PROTOCOLS = ("contour.heptio.com", "projectcontour.io"), ("h2", "h2c", "tls")
MOST_PORTS = 100
"""Ports of a Service in an annotation of Contour."""
MOST_NUMBER = 2**31 - 1
CIRCUIT_BREAKERS = ("max-connections", "max-pending-requests", "max-requests", "max-retries")
"""Annotations of Services that have no effect here."""


class _Problem(Exception):
    """A field that cannot be decoded."""

    def __init__(self, name: str, text: str = "has a wrong type"):
        super().__init__(f"{name} {text}")


def ingress_route(obj: JSON) -> IngressRoute:
    """Decode a contour.heptio.com/v1beta1 IngressRoute. Raises: DecodeError: it has no name."""
    key, metadata = fields.namespaced_key(obj), fields.mapping(obj["metadata"])
    status = fields.mapping(obj.get("status"))
    values: dict[str, Any] = {}
    try:
        values = _spec(_object(obj, "spec", "spec") or {})
    except _Problem as exc:
        values = {"problem": str(exc), "virtual_host": _held_host(fields.mapping(obj.get("spec")))}
    return IngressRoute(
        key=key,
        uid=fields.text(metadata.get("uid")),
        created=fields.text(metadata.get("creationTimestamp")),
        ingress_class=_class(fields.mapping(metadata.get("annotations"))), labels=fields.labels(metadata),
        resource_version=fields.text(metadata.get("resourceVersion")),
        status=(fields.text(status.get("currentStatus")), fields.text(status.get("description"))),
        **values)


def delegation(obj: JSON) -> CertificateDelegation:
    """Decode a contour.heptio.com/v1beta1 TLSCertificateDelegation; an entry of a wrong type permits nothing.

    Raises: DecodeError: no name, or too many entries.
    """
    key = fields.namespaced_key(obj)
    entries = fields.items(fields.mapping(obj.get("spec")).get("delegations"))
    _check_count(key, "spec.delegations", entries)
    entries_read = []
    for number, entry in enumerate(map(fields.mapping, entries)):
        namespaces = fields.items(entry.get("targetNamespaces"))
        _check_count(key, f"spec.delegations[{number}].targetNamespaces", namespaces)
        entries_read.append((fields.text(entry.get("secretName")),
                      tuple(intern(name) for name in map(fields.text, namespaces) if name)))
    return CertificateDelegation(key, tuple(entries_read))


def upstream_protocols(obj: JSON) -> Mapping[str, str]:
    """Return the protocol of ports of a Service, by name or number, as annotations of Contour have it.

    Source: projectcontour/contour v1.5.1, internal/annotation/annotations.go: ParseUpstreamProtocols.
    """
    annotations = fields.mapping(fields.mapping(obj["metadata"]).get("annotations"))
    protocols: dict[str, str] = {}
    for protocol in PROTOCOLS if annotations else ():
        for prefix in PREFIXES:
            text = fields.text(annotations.get(f"{prefix}/upstream-protocol.{protocol}"))
            protocols |= {name: protocol for item in text.split(",")[:MOST_PORTS] if (name := item.strip())}
    return protocols


def circuit_breakers(obj: JSON) -> tuple[str, ...]:
    """Return which of Contour's limits of connections and requests a Service has.

    Source: projectcontour/contour v1.5.1, internal/annotation/annotations.go: MaxConnections and those below.
    """
    annotations = fields.mapping(fields.mapping(obj["metadata"]).get("annotations"))
    return tuple(word for word in CIRCUIT_BREAKERS if annotations
                 and any(fields.text(annotations.get(f"{prefix}/{word}")) for prefix in PREFIXES))


def _check_count(key: object, name: str, entries: list[Any]) -> None:
    if len(entries) > MOST_DELEGATIONS:
        raise DecodeError(str(key), name, f"has {len(entries)} entries, at most {MOST_DELEGATIONS} are read")


def _class(annotations: JSON) -> str:
    present = (annotations[name] for name in CLASS_ANNOTATIONS if isinstance(annotations.get(name), str))
    return intern(fields.text(next(present, "")))


def _spec(spec: JSON) -> dict[str, Any]:
    host, proxy = _object(spec, "virtualhost", "spec.virtualhost"), _object(spec, "tcpproxy", "spec.tcpproxy")
    return {
        "virtual_host": None if host is None else _virtual_host(host),
        "routes": tuple(_entry(item, name) for item, name in _list(spec, "routes", "spec.routes",
                                                                   MOST_ROUTES)),
        "tcp_proxy": None if proxy is None else TCPProxy(
            _services(proxy, "spec.tcpproxy"), _delegate(proxy, "spec.tcpproxy")),
        "strategy": _text(spec, "strategy", "spec.strategy"),
        "health_check": _health_check(spec, "spec"),
    }


def _virtual_host(host: JSON) -> VirtualHost:
    tls = _object(host, "tls", "spec.virtualhost.tls")
    fqdn = _text(host, "fqdn", "spec.virtualhost.fqdn")
    if tls is None:
        return VirtualHost(fqdn)
    return VirtualHost(
        fqdn, _text(tls, "secretName", "spec.virtualhost.tls.secretName"),
        _text(tls, "minimumProtocolVersion", "spec.virtualhost.tls.minimumProtocolVersion"),
        passthrough=_flag(tls, "passthrough", "spec.virtualhost.tls.passthrough"), tls=True)


def _held_host(spec: JSON) -> VirtualHost | None:
    """Return the Host that an undecodable root still holds."""
    fqdn = fields.mapping(spec.get("virtualhost")).get("fqdn")
    return VirtualHost(fqdn) if isinstance(fqdn, str) and 0 < len(fqdn) <= fields.MOST_TEXT else None


def _entry(item: JSON, name: str) -> RouteEntry:
    timeout = _object(item, "timeoutPolicy", f"{name}.timeoutPolicy") or {}
    retry = _object(item, "retryPolicy", f"{name}.retryPolicy")
    _flag(item, "enableWebsockets", f"{name}.enableWebsockets")  # has no effect, see docs/ingressroute.md
    return RouteEntry(
        _text(item, "match", f"{name}.match"),
        _services(item, name),
        _delegate(item, name),
        permit_insecure=_flag(item, "permitInsecure", f"{name}.permitInsecure"),
        prefix_rewrite=_text(item, "prefixRewrite", f"{name}.prefixRewrite"),
        request_timeout=_text(timeout, "request", f"{name}.timeoutPolicy.request"),
        retries=0 if retry is None else max(1, _number(retry, "count", f"{name}.retryPolicy.count") or 0))


def _services(item: JSON, name: str) -> tuple[RouteService, ...]:
    """Decode services, or what the first releases called service: a list, or a single object."""
    word = "services" if item.get("services") is not None else "service"
    if isinstance(single := item.get(word), Mapping):
        item = {word: [single]}
    return tuple(_service(each, where) for each, where in _list(item, word, f"{name}.{word}", MOST_SERVICES))


def _service(item: JSON, name: str) -> RouteService:
    validation = _object(item, "validation", f"{name}.validation") or {}
    return RouteService(
        _text(item, "name", f"{name}.name"),
        _number(item, "port", f"{name}.port") or 0,
        _number(item, "weight", f"{name}.weight"),
        _text(item, "strategy", f"{name}.strategy"),
        _health_check(item, name),
        _text(validation, "caSecret", f"{name}.validation.caSecret"),
        _text(validation, "subjectName", f"{name}.validation.subjectName"))


def _health_check(item: JSON, name: str) -> ServiceHealthCheck | None:
    check = _object(item, "healthCheck", f"{name}.healthCheck")
    if check is None:
        return None
    path = f"{name}.healthCheck"
    return ServiceHealthCheck(
        _text(check, "path", f"{path}.path"), _text(check, "host", f"{path}.host"),
        *(_number(check, field, f"{path}.{field}") or 0 for field in (
            "intervalSeconds", "timeoutSeconds", "unhealthyThresholdCount", "healthyThresholdCount")))


def _delegate(item: JSON, name: str) -> Delegate | None:
    """Decode a delegate; one with an empty name counts as absent."""
    delegate = _object(item, "delegate", f"{name}.delegate")
    if delegate is None:
        return None
    target = _text(delegate, "name", f"{name}.delegate.name")
    return Delegate(target, _text(delegate, "namespace", f"{name}.delegate.namespace")) if target else None


def _object(item: JSON, field: str, name: str) -> JSON | None:
    value = item.get(field)
    if value is None or isinstance(value, Mapping):
        return value
    raise _Problem(name)


def _list(item: JSON, field: str, name: str, most: int) -> Iterator[tuple[JSON, str]]:
    """Yield the objects of a list, each with its name."""
    value = item.get(field)
    if value is None:
        return
    if not isinstance(value, list):
        raise _Problem(name)
    if len(value) > most:
        raise _Problem(name, f"has {len(value)} entries, at most {most} are possible")
    for number, each in enumerate(value):
        if not isinstance(each, Mapping):
            raise _Problem(f"{name}[{number}]")
        yield each, f"{name}[{number}]"


def _text(item: JSON, field: str, name: str) -> str:
    value = item.get(field)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _Problem(name)
    if len(value) > fields.MOST_TEXT:
        raise _Problem(name, f"has {len(value)} characters, at most {fields.MOST_TEXT} are possible")
    return value


def _number(item: JSON, field: str, name: str) -> int | None:
    value = item.get(field)
    if value is None:
        return None
    number = fields.integer(value)
    if number is None:
        raise _Problem(name)
    if abs(number) > MOST_NUMBER:
        raise _Problem(name, "is out of range")
    return number


def _flag(item: JSON, field: str, name: str) -> bool:
    value = item.get(field)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise _Problem(name)
