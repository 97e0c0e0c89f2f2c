"""Decodes the kinds of the Gateway API to the values of model/gateway.py.

A field of a wrong type makes the whole object invalid, with the field as the reason: without the field it
could serve more than its author wants. The bounds are those of the CRDs. Source: kubernetes-sigs/gateway-api
v1.4.1, apis/v1/gateway_types.go, httproute_types.go, shared_types.go, gatewayclass_types.go (markers
MaxItems), apis/v1beta1/referencegrant_types.go.
"""

from collections.abc import Callable, Iterator
from functools import partial
from sys import intern
from typing import Any

from f5router.kube.api import fields
from f5router.model.gateway import (
    GATEWAY,
    GROUP,
    SECRET,
    SERVICE,
    BackendRef,
    Filter,
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
    ObjectRef,
    ParentRef,
    PathModifier,
    ReferenceGrant,
    RequestRedirect,
    TLSRoute,
    URLRewrite,
    ValueMatch,
)
from f5router.model.hostnames import quote
from f5router.model.json_types import JSON
from f5router.model.label_selector import Requirement

MOST = {"parentRefs": 32, "hostnames": 16, "rules": 16, "matches": 64, "filters": 16, "backendRefs": 16,
        "listeners": 64, "addresses": 16, "certificateRefs": 64, "kinds": 8, "headers": 16,
        "queryParams": 16, "set": 16, "add": 16, "remove": 16, "from": 16, "to": 16}
"""Entries of a list, by its name."""
MOST_OPTIONS, MOST_LABELS, MOST_REQUIREMENTS = 16, 1000, 100
"""Keys of tls.options; labels of a namespace, and requirements of a selector, which have no bound of their
own."""
MOST_SERVER_NAMES = 1024
"""Hostnames of a TLSRoute. Source: kubernetes-sigs/gateway-api v1.6.1, apis/v1/tlsroute_types.go."""
MOST_NUMBER = 2**31 - 1
MOST_WEIGHT = 1_000_000

_OTHERS_OF_RULE = ("timeouts", "retry", "sessionPersistence")
_OTHERS_OF_GATEWAY = ("tls",)


class _FieldProblem(Exception):
    """A field that cannot be decoded."""

    def __init__(self, name: str, text: str = "has a wrong type"):
        super().__init__(f"{name}: {text}" if text != "has a wrong type" else f"{name} {text}")


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


def reference_grant(obj: JSON) -> ReferenceGrant:
    """Decode a ReferenceGrant; one with a field of a wrong type permits nothing.

    Raises: DecodeError: it has no name.
    """
    key = fields.namespaced_key(obj)
    try:
        spec = _object(obj, "spec", "spec")
        sources = tuple(
            GrantFrom(_text(each, "group", at), _text(each, "kind", at), _text(each, "namespace", at))
            for at, each in _objects(spec, "from", "spec"))
        return ReferenceGrant(key, sources, tuple(
            GrantTo(_text(each, "group", at), _text(each, "kind", at), _text(each, "name", at))
            for at, each in _objects(spec, "to", "spec")))
    except _FieldProblem:
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
        return decode(_object(obj, "spec", "spec"))
    except _FieldProblem as exc:
        spec = fields.mapping(obj.get("spec"))
        return {"problem": str(exc)} | {name: read(spec) for name, read in held.items()}


def _held_parents(spec: JSON) -> tuple[ParentRef, ...]:
    """Return the parents of an object that is invalid for another reason: its status must name them."""
    try:
        return _parents(spec)
    except _FieldProblem:
        return ()


# --- Gateways ----------------------------------------------------------------------------


def _gateway_spec(spec: JSON) -> dict[str, Any]:
    infrastructure = _object(spec, "infrastructure", "spec.infrastructure")
    unsupported = next((f"spec.{name}" for name in _OTHERS_OF_GATEWAY if spec.get(name)), "")
    return {
        "class_name": intern(_text(spec, "gatewayClassName", "spec")),
        "listeners": tuple(_listener(each, at) for at, each in _objects(spec, "listeners", "spec")),
        "addresses": tuple(GatewayAddress(_text(each, "type", at) or "IPAddress", _text(each, "value", at))
                           for at, each in _objects(spec, "addresses", "spec")),
        "parameters": bool(infrastructure.get("parametersRef")),
        "unsupported": unsupported,
    }


def _listener(listener: JSON, at: str) -> GatewayListener:
    tls, allowed = _object(listener, "tls", f"{at}.tls"), _object(
        listener, "allowedRoutes", f"{at}.allowedRoutes")
    namespaces = _object(allowed, "namespaces", f"{at}.allowedRoutes.namespaces")
    selector = namespaces.get("selector")
    options = _object(tls, "options", f"{at}.tls.options")
    if len(options) > MOST_OPTIONS:
        raise _FieldProblem(f"{at}.tls.options", f"{len(options)} entries, at most {MOST_OPTIONS} are read")
    return GatewayListener(
        _text(listener, "name", at), _number(listener, "port", at), intern(_text(listener, "protocol", at)),
        _text(listener, "hostname", at).lower(),
        tls_mode=(_text(tls, "mode", f"{at}.tls") or "Terminate") if "tls" in listener else "",
        certificates=tuple(_ref(each, where, SECRET)
                           for where, each in _objects(tls, "certificateRefs", f"{at}.tls")),
        options=tuple(sorted(options)),
        namespaces=_text(namespaces, "from", f"{at}.allowedRoutes.namespaces") or "Same",
        selector=None if selector is None else _selector(
            _object(namespaces, "selector", f"{at}.allowedRoutes.namespaces.selector"),
            f"{at}.allowedRoutes.namespaces.selector"),
        kinds=tuple(KindRef(_text(each, "group", where, GROUP), _text(each, "kind", where))
                    for where, each in _objects(allowed, "kinds", f"{at}.allowedRoutes")))


def _selector(selector: JSON, at: str) -> tuple[Requirement, ...]:
    labels = _object(selector, "matchLabels", f"{at}.matchLabels")
    equal = [Requirement(name, "in", frozenset({_text(labels, name, f"{at}.matchLabels")}))
             for name in sorted(labels)]
    expressions = fields.items(selector.get("matchExpressions"))
    if len(equal) + len(expressions) > MOST_REQUIREMENTS:
        raise _FieldProblem(at, f"more than {MOST_REQUIREMENTS} requirements")
    return (*equal, *(_requirement(each, at) for each in map(fields.mapping, expressions)))


_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "absent"}
"""Operators of model.label_selector."""


def _requirement(expression: JSON, at: str) -> Requirement:
    """Decode an entry of matchExpressions; one with an unknown operator takes nothing."""
    key, values = _text(expression, "key", at), fields.items(expression.get("values"))
    if len(values) > MOST_REQUIREMENTS:
        raise _FieldProblem(at, f"more than {MOST_REQUIREMENTS} values of one requirement")
    operator = _OPERATORS.get(_text(expression, "operator", at))
    taken = values if operator else ()
    return Requirement(key, operator or "in", frozenset(map(fields.text, taken)))


# --- Routes ------------------------------------------------------------------------------


def _route_spec(spec: JSON) -> dict[str, Any]:
    return {
        "parents": _parents(spec),
        "hostnames": _hostnames(spec, MOST["hostnames"]),
        "rules": tuple(_rule(each, at) for at, each in _objects(spec, "rules", "spec")),
    }


def _tls_route_spec(spec: JSON) -> dict[str, Any]:
    return {
        "parents": _parents(spec),
        "hostnames": _hostnames(spec, MOST_SERVER_NAMES),
        "rules": tuple(
            tuple(_backend(each, where) for where, each in _objects(rule, "backendRefs", at))
            for at, rule in _objects(spec, "rules", "spec")),
    }


def _hostnames(spec: JSON, most: int) -> tuple[str, ...]:
    names = _items(spec, "hostnames", "spec", most)
    if not all(isinstance(name, str) for name in names):
        raise _FieldProblem("spec.hostnames")
    return tuple(dict.fromkeys(fields.text(name).lower() for name in names))


def _parents(spec: JSON) -> tuple[ParentRef, ...]:
    return tuple(
        ParentRef(_ref(each, at, GATEWAY, group=GROUP), _text(each, "sectionName", at),
                  _number(each, "port", at),
                  tuple((name, each[name]) for name in
                        ("group", "kind", "namespace", "name", "sectionName", "port") if name in each))
        for at, each in _objects(spec, "parentRefs", "spec"))


def _rule(rule: JSON, at: str) -> HTTPRule:
    matches = tuple(_match(each, where) for where, each in _objects(rule, "matches", at))
    return HTTPRule(
        matches or (HTTPMatch(),),
        tuple(_filter(each, where) for where, each in _objects(rule, "filters", at)),
        tuple(_backend(each, where) for where, each in _objects(rule, "backendRefs", at)),
        tuple(name for name in _OTHERS_OF_RULE if rule.get(name)))


def _match(match: JSON, at: str) -> HTTPMatch:
    path = _object(match, "path", f"{at}.path")
    return HTTPMatch(
        intern(_text(path, "type", f"{at}.path", "PathPrefix")), _text(path, "value", f"{at}.path", "/"),
        _text(match, "method", at), _values(match, "headers", at), _values(match, "queryParams", at))


def _values(match: JSON, name: str, at: str) -> tuple[ValueMatch, ...]:
    """Return matches of headers or parameters; of a name that is repeated the first one counts."""
    values: dict[str, ValueMatch] = {}
    for where, each in _objects(match, name, at):
        entry = ValueMatch(_text(each, "type", where, "Exact"), _text(each, "name", where),
                           _text(each, "value", where))
        values.setdefault(entry.name.lower() if name == "headers" else entry.name, entry)
    return tuple(values.values())


def _filter(entry: JSON, at: str) -> Filter:
    kind = _text(entry, "type", at)
    name = f"{kind[:1].lower()}{kind[1:]}" if kind != "URLRewrite" else "urlRewrite"
    where = f"{at}.{name}"
    if kind in ("RequestHeaderModifier", "ResponseHeaderModifier"):
        change = _object(entry, name, where)
        pairs, removed = partial(_headers, change, at=where), _items(change, "remove", where)
        return Filter(kind, HeaderModifier(pairs("set"), pairs("add"), tuple(map(fields.text, removed))))
    if kind == "RequestRedirect":
        change = _object(entry, name, where)
        return Filter(kind, redirect=RequestRedirect(
            _text(change, "scheme", where), _text(change, "hostname", where).lower(),
            _number(change, "port", where), _number(change, "statusCode", where),
            _path_modifier(change, where)))
    if kind == "URLRewrite":
        change = _object(entry, name, where)
        return Filter(kind, rewrite=URLRewrite(
            _text(change, "hostname", where).lower(), _path_modifier(change, where)))
    return Filter(kind)


def _path_modifier(change: JSON, at: str) -> PathModifier | None:
    """Decode the field path; one of an unknown type has no value."""
    path, where = _object(change, "path", f"{at}.path"), f"{at}.path"
    kind = _text(path, "type", where)
    field = {"ReplaceFullPath": "replaceFullPath", "ReplacePrefixMatch": "replacePrefixMatch"}.get(kind)
    return PathModifier(kind, _text(path, field, where) if field else "") if path else None


def _headers(change: JSON, name: str, *, at: str) -> tuple[tuple[str, str], ...]:
    return tuple((_text(each, "name", where), _text(each, "value", where))
                 for where, each in _objects(change, name, at))


def _backend(entry: JSON, at: str) -> BackendRef:
    weight = fields.integer(entry.get("weight", 1))
    if weight is None or not 0 <= weight <= MOST_WEIGHT:
        raise _FieldProblem(f"{at}.weight")
    return BackendRef(_ref(entry, at, SERVICE), _number(entry, "port", at), weight,
                      tuple(_filter(each, where) for where, each in _objects(entry, "filters", at)))


# --- fields ------------------------------------------------------------------------------


def _ref(obj: JSON, at: str, kind: str, *, group: str = "") -> ObjectRef:
    return ObjectRef(intern(_text(obj, "group", at, group)), intern(_text(obj, "kind", at, kind)),
                     _text(obj, "name", at), intern(_text(obj, "namespace", at)))


def _items(obj: JSON, name: str, at: str, most: int = 0) -> list[Any]:
    """Return the entries of a list. Args: most: how many there may be; 0 for those of MOST."""
    value = obj.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise _FieldProblem(f"{at}.{name}")
    if len(value) > (most := most or MOST[name]):
        raise _FieldProblem(f"{at}.{name}", f"{len(value)} entries, at most {most} are possible")
    return value


def _objects(obj: JSON, name: str, at: str) -> list[tuple[str, JSON]]:
    """Return the objects in a list, each with its field."""
    return list(_numbered(_items(obj, name, at), f"{at}.{name}"))


def _numbered(values: list[Any], at: str) -> Iterator[tuple[str, JSON]]:
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise _FieldProblem(f"{at}[{number}]")
        yield f"{at}[{number}]", value


def _object(obj: JSON, name: str, field: str) -> JSON:
    value = obj.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _FieldProblem(field)
    return value


def _text(obj: JSON, name: str, at: str, default: str = "") -> str:
    value = obj.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise _FieldProblem(f"{at}.{name}")
    if len(value) > fields.MOST_TEXT:
        raise _FieldProblem(f"{at}.{name}", f"{quote(value)} is too long")
    if any("\ud800" <= letter <= "\udfff" for letter in value if letter > "\x7f"):
        raise _FieldProblem(f"{at}.{name}", f"{quote(value)} is no text in Unicode")
    return value


def _number(obj: JSON, name: str, at: str) -> int:
    value = fields.integer(obj.get(name, 0))
    if value is None or not 0 <= value <= MOST_NUMBER:
        raise _FieldProblem(f"{at}.{name}")
    return value


