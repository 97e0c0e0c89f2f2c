"""Decodes Kubernetes' Ingress and IngressClass; decode.py states the rules.

An Ingress of networking.k8s.io/v1beta1 or extensions/v1beta1 has serviceName and servicePort where v1 has
service.name and service.port, and backend where v1 has defaultBackend; both are read in any version.
Source: Kubernetes, deprecated API migration guide, Ingress in v1.22.
"""

from collections.abc import Iterator, Mapping
from itertools import islice
from sys import intern

from f5router.admission import annotations
from f5router.admission.foreign import tables
from f5router.kube.api import fields
from f5router.kube.api.fields import DecodeError
from f5router.model.cluster import Key
from f5router.model.ingress import (
    READ_ANNOTATIONS,
    Ingress,
    IngressBackend,
    IngressClass,
    IngressPath,
    IngressRule,
    IngressTLS,
)
from f5router.model.json_types import JSON

CLASS = "kubernetes.io/ingress.class"
DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"

MOST_PATHS = 1000
"""Paths of all rules of an Ingress, and rules; each path becomes a Route. The API sets no limit."""
MOST_TLS_HOSTS = 2000
"""Hosts of all entries of spec.tls, and entries."""


def ingress(obj: JSON) -> Ingress:
    """Decode an Ingress.

    Raises:
        DecodeError: no name; spec or a part that decides who is served what, or how it is encrypted, of a
            wrong type.
    """
    key = fields.namespaced_key(obj)
    metadata, spec = fields.mapping(obj["metadata"]), obj.get("spec")
    if not isinstance(spec, Mapping):
        raise DecodeError(str(key), "spec")
    given = fields.mapping(metadata.get("annotations"))
    rules, tls = _objects(key, spec, "rules"), _objects(key, spec, "tls")
    default = spec.get("defaultBackend", spec.get("backend"))
    problem = _excess(rules, tls)
    if problem:
        rules, tls = [{"host": rule.get("host")} for rule in rules[:MOST_PATHS]], []
    return Ingress(
        key=key,
        uid=fields.uid(obj),
        created=fields.text(metadata.get("creationTimestamp")),
        ingress_class=_optional(spec.get("ingressClassName")), labels=fields.labels(metadata),
        class_annotation=_optional(given.get(CLASS)),
        rules=tuple(_rule(key, number, item) for number, item in enumerate(rules)),
        tls=tuple(_tls(key, number, item) for number, item in enumerate(tls)),
        default_backend=_backend(default) if isinstance(default, Mapping) else None,
        annotations=tuple(sorted((name, text) for name, text in given.items()
                                 if isinstance(text, str) and text.strip() and _matters(name))),
        problem=problem,
        resource_version=fields.resource_version(obj),
        load_balancer=load_balancer(obj),
    )


def _matters(name: str) -> bool:
    """True for an annotation of this router, or of another controller.

    All of them are kept: the API allows 256 KiB of annotations for an object (k8s.io/apimachinery,
    TotalAnnotationSizeLimitB).
    """
    return (name in annotations.READ or name in READ_ANNOTATIONS or name.startswith(tables.PREFIXES)
            or tables.is_foreign(name))


def load_balancer(obj: object) -> tuple[JSON, ...]:
    """Return status.loadBalancer.ingress of an Ingress."""
    status = fields.mapping(fields.mapping(obj).get("status"))
    return tuple(fields.objects(fields.mapping(status.get("loadBalancer")).get("ingress")))


def _excess(rules: list[JSON], tls: list[JSON]) -> str:
    """Return which part of an Ingress has too many entries; "" if none has."""
    paths = sum(len(fields.items(fields.mapping(rule.get("http")).get("paths"))) for rule in rules)
    if max(paths, len(rules)) > MOST_PATHS:
        return f"spec.rules: {max(paths, len(rules))} rules or paths, at most {MOST_PATHS} are supported"
    hosts = sum(len(fields.items(entry.get("hosts"))) for entry in tls)
    if max(hosts, len(tls)) > MOST_TLS_HOSTS:
        return f"spec.tls: {max(hosts, len(tls))} entries or hosts, at most {MOST_TLS_HOSTS} are supported"
    return ""


def _objects(key: Key, spec: JSON, name: str) -> list[JSON]:
    """Return a list of objects. Raises: DecodeError: it is none."""
    value = spec.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise DecodeError(str(key), f"spec.{name}")
    return value


def _optional(value: object) -> str | None:
    return intern(value[:fields.MOST_TEXT]) if isinstance(value, str) else None


def _rule(key: Key, number: int, item: JSON) -> IngressRule:
    http = item.get("http")
    return IngressRule(
        fields.text(item.get("host")),
        tuple(_paths(key, number, http)) if isinstance(http, Mapping) else None)


def _paths(key: Key, number: int, http: JSON) -> Iterator[IngressPath]:
    for item in fields.objects(http.get("paths")):
        path = item.get("path")
        if not (path is None or isinstance(path, str)):
            raise DecodeError(str(key), f"spec.rules[{number}].http.paths: path")
        yield IngressPath(fields.text(path), intern(fields.text(item.get("pathType"))),
                          _backend(fields.mapping(item.get("backend"))))


def _backend(item: JSON) -> IngressBackend:
    service = fields.mapping(item.get("service"))
    port = fields.mapping(service.get("port"))
    older = item.get("servicePort")
    return IngressBackend(
        service=fields.text(service.get("name")) or fields.text(item.get("serviceName")),
        port_name=fields.text(port.get("name")) or fields.text(older),
        port_number=fields.port(port.get("number")) or fields.port(older) or 0,
        resource=isinstance(item.get("resource"), Mapping))


def _tls(key: Key, number: int, item: JSON) -> IngressTLS:
    hosts, secret = item.get("hosts"), item.get("secretName")
    if not isinstance(hosts, list | None) or not isinstance(secret, str | None):
        raise DecodeError(str(key), f"spec.tls[{number}]")
    return IngressTLS(tuple(islice((fields.text(host) for host in hosts or ()), MOST_TLS_HOSTS)),
                      fields.text(secret))


def ingress_class(obj: JSON) -> IngressClass:
    """Decode an IngressClass."""
    given = fields.mapping(fields.mapping(obj["metadata"]).get("annotations"))
    return IngressClass(fields.cluster_key(obj),
                        fields.text(fields.mapping(obj.get("spec")).get("controller")),
                        is_default=given.get(DEFAULT_CLASS) == "true")
