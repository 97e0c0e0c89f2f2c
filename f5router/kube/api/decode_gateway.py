"""Decodes the kinds of the Gateway API to the values of model/gateway.py.

A field of a wrong type makes the whole object invalid, with the field as the reason: without the field it
could serve more than its author wants. The bounds are those of the CRDs. Source: kubernetes-sigs/gateway-api
v1.4.1, apis/v1/gateway_types.go, httproute_types.go, shared_types.go, gatewayclass_types.go (markers
MaxItems), apis/v1beta1/referencegrant_types.go.
"""

from collections.abc import Callable
from functools import partial
from sys import intern
from typing import Any

from f5router.kube.api import fields
from f5router.kube.api.gateway_fields import (
    MOST,
    MOST_LABELS,
    MOST_OPTIONS,
    MOST_REQUIREMENTS,
    MOST_SERVER_NAMES,
    MOST_WEIGHT,
    FieldProblem,
    items_of,
    number_of,
    object_of,
    objects_of,
    ref_of,
    text_of,
)
from f5router.model.gateway import (
    GATEWAY,
    GROUP,
    SECRET,
    SERVICE,
    BackendRef,
    BackendTLSPolicy,
    Filter,
    FrontendValidation,
    Gateway,
    GatewayAddress,
    GatewayClass,
    GatewayListener,
    GrantFrom,
    GrantTo,
    HeaderModifier,
    HTTPMatch,
    HTTPRoute,
    HTTPRule,
    KindRef,
    LabelledNamespace,
    ParentRef,
    PathModifier,
    PolicyTarget,
    ReferenceGrant,
    RequestRedirect,
    TCPRoute,
    TLSRoute,
    URLRewrite,
    ValueMatch,
)
from f5router.model.json_types import JSON
from f5router.model.label_selector import Requirement

_OTHERS_OF_RULE = ("timeouts", "retry", "sessionPersistence")

def gateway_class(obj: JSON) -> GatewayClass:
    """Decode a GatewayClass. Raises: DecodeError: it has no name."""
    key, spec = fields.cluster_key(obj), fields.mapping(obj.get("spec"))
    return GatewayClass(key, controller=fields.text(spec.get("controllerName")),
                        parameters=bool(spec.get("parametersRef")), **_metadata(obj))


def gateway(obj: JSON) -> Gateway:
    """Decode a Gateway. Raises: DecodeError: it has no name."""
    values = _checked(obj, _gateway_spec)
    values.setdefault("class_name", fields.text(fields.mapping(obj.get("spec")).get("gatewayClassName")))
    return Gateway(fields.namespaced_key(obj), created=_created(obj), held=_held_addresses(obj),
                   **_metadata(obj), **values)


def http_route(obj: JSON) -> HTTPRoute:
    """Decode an HTTPRoute. Raises: DecodeError: it has no name."""
    return HTTPRoute(fields.namespaced_key(obj), created=_created(obj), **_metadata(obj),
                     **_checked(obj, _route_spec, parents=_held_parents))


def tls_route(obj: JSON) -> TLSRoute:
    """Decode a TLSRoute. Raises: DecodeError: it has no name."""
    return TLSRoute(fields.namespaced_key(obj), created=_created(obj), **_metadata(obj),
                    **_checked(obj, _tls_route_spec, parents=_held_parents))


def tcp_route(obj: JSON) -> TCPRoute:
    """Decode a TCPRoute. Raises: DecodeError: it has no name."""
    return TCPRoute(fields.namespaced_key(obj), created=_created(obj), **_metadata(obj),
                    **_checked(obj, _stream_route_spec, parents=_held_parents))


def backend_tls_policy(obj: JSON) -> BackendTLSPolicy:
    """Decode a BackendTLSPolicy. Raises: DecodeError: it has no name."""
    return BackendTLSPolicy(fields.namespaced_key(obj), created=_created(obj), **_metadata(obj),
                            **_checked(obj, _backend_policy_spec, targets=_held_targets))


def reference_grant(obj: JSON) -> ReferenceGrant:
    """Decode a ReferenceGrant; one with a field of a wrong type permits nothing.

    Raises: DecodeError: it has no name.
    """
    key = fields.namespaced_key(obj)
    try:
        spec = object_of(obj, "spec", "spec")
        sources = tuple(
            GrantFrom(text_of(each, "group", at), text_of(each, "kind", at), text_of(each, "namespace", at))
            for at, each in objects_of(spec, "from", "spec"))
        return ReferenceGrant(key, sources, tuple(
            GrantTo(text_of(each, "group", at), text_of(each, "kind", at), text_of(each, "name", at))
            for at, each in objects_of(spec, "to", "spec")))
    except FieldProblem:
        return ReferenceGrant(key)


def labelled_namespace(obj: JSON) -> LabelledNamespace:
    """Decode a Namespace with its labels. Raises: DecodeError: it has no name."""
    labels = fields.mapping(fields.mapping(obj.get("metadata")).get("labels"))
    kept = sorted((intern(name), intern(text)) for name, text in labels.items() if isinstance(text, str))
    return LabelledNamespace(fields.cluster_key(obj), tuple(kept[:MOST_LABELS]))


def _metadata(obj: JSON) -> dict[str, Any]:
    metadata = fields.mapping(obj.get("metadata"))
    return {"uid": fields.text(metadata.get("uid")),
            "generation": fields.integer(metadata.get("generation")) or 0,
            "resource_version": fields.text(metadata.get("resourceVersion")),
            "status": fields.mapping(obj.get("status"))}


def _held_addresses(obj: JSON) -> tuple[str, ...]:
    """Return the addresses in the status of a Gateway."""
    listed = fields.mapping(obj.get("status")).get("addresses")
    return tuple(fields.text(each.get("value")) for each in (listed if isinstance(listed, list) else ())[:16]
                 if isinstance(each, dict))


def _created(obj: JSON) -> str:
    return fields.text(fields.mapping(obj.get("metadata")).get("creationTimestamp"))


def _checked(obj: JSON, decode: Callable[[JSON], dict[str, Any]],
             **held: Callable[[JSON], Any]) -> dict[str, Any]:
    """Return the fields of a spec, or the reason why there are none with what is held all the same."""
    try:
        return decode(object_of(obj, "spec", "spec"))
    except FieldProblem as exc:
        spec = fields.mapping(obj.get("spec"))
        return {"problem": str(exc)} | {name: read(spec) for name, read in held.items()}


def _held_parents(spec: JSON) -> tuple[ParentRef, ...]:
    """Return the parents of an object that is invalid for another reason: its status must name them."""
    try:
        return _parents(spec)
    except FieldProblem:
        return ()


def _held_targets(spec: JSON) -> tuple[PolicyTarget, ...]:
    """Return the targets of a policy that is invalid for another reason: they must not go without it."""
    try:
        return _targets(spec)
    except FieldProblem:
        return ()


# --- Gateways ----------------------------------------------------------------------------


def _gateway_spec(spec: JSON) -> dict[str, Any]:
    infrastructure = object_of(spec, "infrastructure", "spec.infrastructure")
    tls = object_of(spec, "tls", "spec.tls")
    at = "spec.tls.frontend"
    frontend = object_of(tls, "frontend", at)
    others = ([f"spec.tls.{name}" for name in sorted(tls) if name != "frontend" and tls[name]]
              + [f"{at}.{name}" for name in sorted(frontend) if name not in ("default", "perPort")])
    return {
        "class_name": intern(text_of(spec, "gatewayClassName", "spec")),
        "listeners": tuple(_listener(each, at) for at, each in objects_of(spec, "listeners", "spec")),
        "addresses": tuple(GatewayAddress(text_of(each, "type", at) or "IPAddress",
                                          text_of(each, "value", at))
                           for at, each in objects_of(spec, "addresses", "spec")),
        "parameters": bool(infrastructure.get("parametersRef")),
        "default_validation": _validation(frontend, "default", f"{at}.default"),
        "port_validations": tuple((number_of(each, "port", where), _validation(each, "tls", f"{where}.tls"))
                                  for where, each in objects_of(frontend, "perPort", at)),
        "unsupported": next(iter(others), ""),
    }


def _validation(parent: JSON, name: str, at: str) -> FrontendValidation | None:
    tls = object_of(parent, name, at)
    if tls.get("validation") is None:
        return None
    at = f"{at}.validation"
    validation = object_of(tls, "validation", at)
    return FrontendValidation(at, tuple(ref_of(each, where, "") for where, each in objects_of(
        validation, "caCertificateRefs", at)), text_of(validation, "mode", at) or "AllowValidOnly")


def _listener(listener: JSON, at: str) -> GatewayListener:
    tls, allowed = object_of(listener, "tls", f"{at}.tls"), object_of(
        listener, "allowedRoutes", f"{at}.allowedRoutes")
    namespaces = object_of(allowed, "namespaces", f"{at}.allowedRoutes.namespaces")
    selector = namespaces.get("selector")
    options = object_of(tls, "options", f"{at}.tls.options")
    if len(options) > MOST_OPTIONS:
        raise FieldProblem(f"{at}.tls.options", f"{len(options)} entries, at most {MOST_OPTIONS} are read")
    return GatewayListener(
        text_of(listener, "name", at), number_of(listener, "port", at),
        intern(text_of(listener, "protocol", at)),
        text_of(listener, "hostname", at).lower(),
        tls_mode=(text_of(tls, "mode", f"{at}.tls") or "Terminate") if "tls" in listener else "",
        certificates=tuple(ref_of(each, where, SECRET)
                           for where, each in objects_of(tls, "certificateRefs", f"{at}.tls")),
        options=tuple(sorted(options)),
        namespaces=text_of(namespaces, "from", f"{at}.allowedRoutes.namespaces") or "Same",
        selector=None if selector is None else _selector(
            object_of(namespaces, "selector", f"{at}.allowedRoutes.namespaces.selector"),
            f"{at}.allowedRoutes.namespaces.selector"),
        kinds=tuple(KindRef(text_of(each, "group", where, GROUP), text_of(each, "kind", where))
                    for where, each in objects_of(allowed, "kinds", f"{at}.allowedRoutes")))


def _selector(selector: JSON, at: str) -> tuple[Requirement, ...]:
    labels = object_of(selector, "matchLabels", f"{at}.matchLabels")
    equal = [Requirement(name, "in", frozenset({text_of(labels, name, f"{at}.matchLabels")}))
             for name in sorted(labels)]
    expressions = fields.items(selector.get("matchExpressions"))
    if len(equal) + len(expressions) > MOST_REQUIREMENTS:
        raise FieldProblem(at, f"more than {MOST_REQUIREMENTS} requirements")
    return (*equal, *(_requirement(each, at) for each in map(fields.mapping, expressions)))


_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
"""Operators of model.label_selector."""


def _requirement(expression: JSON, at: str) -> Requirement:
    """Decode an entry of matchExpressions; one with an unknown operator takes nothing."""
    key, values = text_of(expression, "key", at), fields.items(expression.get("values"))
    if len(values) > MOST_REQUIREMENTS:
        raise FieldProblem(at, f"more than {MOST_REQUIREMENTS} values of one requirement")
    operator = _OPERATORS.get(text_of(expression, "operator", at))
    taken = values if operator else ()
    return Requirement(key, operator or "in", frozenset(map(fields.text, taken)))


# --- Routes ------------------------------------------------------------------------------


def _route_spec(spec: JSON) -> dict[str, Any]:
    return {
        "parents": _parents(spec),
        "hostnames": _hostnames(spec, MOST["hostnames"]),
        "rules": tuple(_rule(each, at) for at, each in objects_of(spec, "rules", "spec")),
    }


def _tls_route_spec(spec: JSON) -> dict[str, Any]:
    return {**_stream_route_spec(spec), "hostnames": _hostnames(spec, MOST_SERVER_NAMES)}


def _stream_route_spec(spec: JSON) -> dict[str, Any]:
    return {
        "parents": _parents(spec),
        "rules": tuple(
            tuple(_backend(each, where) for where, each in objects_of(rule, "backendRefs", at))
            for at, rule in objects_of(spec, "rules", "spec")),
    }


def _hostnames(spec: JSON, most: int) -> tuple[str, ...]:
    names = items_of(spec, "hostnames", "spec", most)
    if not all(isinstance(name, str) for name in names):
        raise FieldProblem("spec.hostnames")
    return tuple(dict.fromkeys(fields.text(name).lower() for name in names))


def _parents(spec: JSON) -> tuple[ParentRef, ...]:
    return tuple(
        ParentRef(ref_of(each, at, GATEWAY, group=GROUP), text_of(each, "sectionName", at),
                  number_of(each, "port", at),
                  tuple((name, each[name]) for name in
                        ("group", "kind", "namespace", "name", "sectionName", "port") if name in each))
        for at, each in objects_of(spec, "parentRefs", "spec"))


def _rule(rule: JSON, at: str) -> HTTPRule:
    matches = tuple(_match(each, where) for where, each in objects_of(rule, "matches", at))
    return HTTPRule(
        matches or (HTTPMatch(),),
        tuple(_filter(each, where) for where, each in objects_of(rule, "filters", at)),
        tuple(_backend(each, where) for where, each in objects_of(rule, "backendRefs", at)),
        tuple(name for name in _OTHERS_OF_RULE if rule.get(name)))


def _match(match: JSON, at: str) -> HTTPMatch:
    path = object_of(match, "path", f"{at}.path")
    return HTTPMatch(
        intern(text_of(path, "type", f"{at}.path", "PathPrefix")), text_of(path, "value", f"{at}.path", "/"),
        text_of(match, "method", at), _values(match, "headers", at), _values(match, "queryParams", at))


def _values(match: JSON, name: str, at: str) -> tuple[ValueMatch, ...]:
    """Return matches of headers or parameters; of a name that is repeated the first one counts."""
    values: dict[str, ValueMatch] = {}
    for where, each in objects_of(match, name, at):
        entry = ValueMatch(text_of(each, "type", where, "Exact"), text_of(each, "name", where),
                           text_of(each, "value", where))
        values.setdefault(entry.name.lower() if name == "headers" else entry.name, entry)
    return tuple(values.values())


def _filter(entry: JSON, at: str) -> Filter:
    kind = text_of(entry, "type", at)
    name = f"{kind[:1].lower()}{kind[1:]}" if kind != "URLRewrite" else "urlRewrite"
    where = f"{at}.{name}"
    if kind in ("RequestHeaderModifier", "ResponseHeaderModifier"):
        change = object_of(entry, name, where)
        pairs, removed = partial(_headers, change, at=where), items_of(change, "remove", where)
        return Filter(kind, HeaderModifier(pairs("set"), pairs("add"), tuple(map(fields.text, removed))))
    if kind == "RequestRedirect":
        change = object_of(entry, name, where)
        return Filter(kind, redirect=RequestRedirect(
            text_of(change, "scheme", where), text_of(change, "hostname", where).lower(),
            number_of(change, "port", where), number_of(change, "statusCode", where),
            _path_modifier(change, where)))
    if kind == "URLRewrite":
        change = object_of(entry, name, where)
        return Filter(kind, rewrite=URLRewrite(
            text_of(change, "hostname", where).lower(), _path_modifier(change, where)))
    return Filter(kind)


def _path_modifier(change: JSON, at: str) -> PathModifier | None:
    """Decode the field path; one of an unknown type has no value."""
    path, where = object_of(change, "path", f"{at}.path"), f"{at}.path"
    kind = text_of(path, "type", where)
    field = {"ReplaceFullPath": "replaceFullPath", "ReplacePrefixMatch": "replacePrefixMatch"}.get(kind)
    return PathModifier(kind, text_of(path, field, where) if field else "") if path else None


def _headers(change: JSON, name: str, *, at: str) -> tuple[tuple[str, str], ...]:
    return tuple((text_of(each, "name", where), text_of(each, "value", where))
                 for where, each in objects_of(change, name, at))


def _backend(entry: JSON, at: str) -> BackendRef:
    weight = fields.integer(entry.get("weight", 1))
    if weight is None or not 0 <= weight <= MOST_WEIGHT:
        raise FieldProblem(f"{at}.weight")
    return BackendRef(ref_of(entry, at, SERVICE), number_of(entry, "port", at), weight,
                      tuple(_filter(each, where) for where, each in objects_of(entry, "filters", at)))


# --- policies ----------------------------------------------------------------------------


def _backend_policy_spec(spec: JSON) -> dict[str, Any]:
    at = "spec.validation"
    validation = object_of(spec, "validation", at)
    others = [(at, name) for name in ("wellKnownCACertificates", "subjectAltNames") if validation.get(name)]
    others += [("spec", "options")] if spec.get("options") else []
    return {
        "targets": _targets(spec),
        "authorities": tuple(ref_of({**each, "namespace": ""}, where, "")
                             for where, each in objects_of(validation, "caCertificateRefs", at)),
        "hostname": text_of(validation, "hostname", at).lower(),
        "unsupported": next((".".join(each) for each in others), ""),
    }


def _targets(spec: JSON) -> tuple[PolicyTarget, ...]:
    return tuple(
        PolicyTarget(intern(text_of(each, "group", at)), intern(text_of(each, "kind", at)),
                     text_of(each, "name", at), text_of(each, "sectionName", at))
        for at, each in objects_of(spec, "targetRefs", "spec"))
