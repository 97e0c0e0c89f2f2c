"""The kinds of the Gateway API: defaults and validation of their CRDs.

Source: kubernetes-sigs/gateway-api v1.4.1, config/crd/standard/*.yaml: `default`, `maxItems`, `pattern`,
`enum`, and those rules of `x-kubernetes-validations` on which a controller may rely.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, combinations

from .causes import Cause, immutable, invalid, required, too_many, unsupported

GROUP = "gateway.networking.k8s.io"

_HOST = re.compile(r"(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PATH = re.compile(r"(?:[-A-Za-z0-9/._~!$&'()*+,;=:@]|[%][0-9a-fA-F]{2})+")
_CONTROLLER = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH")
_MOST = {"listeners": 64, "addresses": 16, "parentRefs": 32, "hostnames": 16, "rules": 16, "matches": 64,
         "filters": 16, "backendRefs": 16, "headers": 16, "queryParams": 16,
         "certificateRefs": 64, "targetRefs": 16, "caCertificateRefs": 8, "subjectAltNames": 5}  # fmt: skip
MOST_MATCHES = 128
_PENDING = "Waiting for controller"
_BEGINNING = "1970-01-01T00:00:00Z"

_CEL = "FieldValueInvalid"


def with_defaults(kind: str, data: dict, *, new: bool) -> dict:
    """The object with the defaults of its CRD; a new one waits for its controller."""
    spec = data.get("spec")
    if not isinstance(spec, dict):
        return data
    spec = dict(spec)
    if kind == "Gateway":
        spec["listeners"] = [_listener(each) for each in _objects(spec.get("listeners"))]
        if "addresses" in spec:
            spec["addresses"] = [{"type": "IPAddress"} | each for each in _objects(spec["addresses"])]
    if kind.endswith("Route"):
        if "parentRefs" in spec:
            spec["parentRefs"] = [{"group": GROUP, "kind": "Gateway"} | each
                                  for each in _objects(spec["parentRefs"])]  # fmt: skip
        rules = spec.get("rules") or ([{}] if kind == "HTTPRoute" else [])
        spec["rules"] = [_rule(kind, each) for each in _objects(rules)]
    waiting = _waiting(kind) if new else []
    return dict(data, spec=spec) | ({"status": {"conditions": waiting}} if waiting else {})


def _waiting(kind: str) -> list[dict]:
    names = {"Gateway": ("Accepted", "Programmed"), "GatewayClass": ("Accepted",)}.get(kind, ())
    return [{"type": name, "status": "Unknown", "reason": "Pending", "message": _PENDING,
             "lastTransitionTime": _BEGINNING} for name in names]  # fmt: skip


def _listener(listener: dict) -> dict:
    allowed = dict(listener.get("allowedRoutes") or {})
    allowed["namespaces"] = {"from": "Same"} | (allowed.get("namespaces") or {})
    if "kinds" in allowed:
        allowed["kinds"] = [{"group": GROUP} | each for each in _objects(allowed["kinds"])]
    filled = listener | {"allowedRoutes": allowed}
    if isinstance(tls := listener.get("tls"), dict):
        filled["tls"] = {"mode": "Terminate"} | tls
        if "certificateRefs" in tls:
            filled["tls"]["certificateRefs"] = [
                {"group": "", "kind": "Secret"} | each for each in _objects(tls["certificateRefs"])]
    return filled


def _rule(kind: str, rule: dict) -> dict:
    filled = dict(rule)
    if "backendRefs" in rule:
        filled["backendRefs"] = [{"group": "", "kind": "Service", "weight": 1} | each
                                 for each in _objects(rule["backendRefs"])]  # fmt: skip
    if kind != "HTTPRoute":
        return filled
    path = {"type": "PathPrefix", "value": "/"}
    filled["matches"] = [match | {"path": path | (match.get("path") or {})}
                         for match in _objects(rule.get("matches") or [{}])]  # fmt: skip
    return filled


def faults(kind: str, data: Mapping, current: Mapping | None) -> Iterator[Cause]:
    """Yield the faults of an object, defaults filled in. Args: current: what is updated."""
    spec = data.get("spec")
    if not isinstance(spec, Mapping):
        yield required("spec")
        return
    yield from _counts(spec, "spec", _MOST | ({"hostnames": 1024} if kind == "TLSRoute" else {}))
    match kind:
        case "GatewayClass":
            yield from _gateway_class(spec, (current or {}).get("spec") or {})
        case "Gateway":
            yield from _gateway(spec)
        case "HTTPRoute":
            yield from chain(_route(spec), _http_route(spec))
        case "TLSRoute" | "TCPRoute":
            is_alpha = data["apiVersion"].endswith("/v1alpha2")
            yield from chain(_route(spec), _stream_route(kind, spec, is_alpha))
        case "BackendTLSPolicy":
            yield from _backend_policy(spec)
        case "ReferenceGrant":
            yield from _grant(spec)


def _counts(value: object, where: str, most: Mapping[str, int]) -> Iterator[Cause]:
    """Too long lists, at any depth."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            if isinstance(each, list) and len(each) > most.get(name, len(each)):
                yield too_many(f"{where}.{name}", len(each), most[name])
            yield from _counts(each, f"{where}.{name}", most)
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _counts(each, f"{where}[{number}]", most)


def _gateway_class(spec: Mapping, before: Mapping) -> Iterator[Cause]:
    name = spec.get("controllerName") or ""
    if not _CONTROLLER.fullmatch(name):
        yield invalid("spec.controllerName", name, "should match the pattern of a domain-prefixed path")
    if before and before.get("controllerName") != name:
        yield immutable("spec.controllerName", name)


def _gateway(spec: Mapping) -> Iterator[Cause]:
    listeners = _objects(spec.get("listeners"))
    if not spec.get("gatewayClassName"):
        yield required("spec.gatewayClassName")
    if not listeners:
        yield required("spec.listeners", "must have at least 1 item")
    for number, listener in enumerate(listeners):
        yield from _listener_faults(f"spec.listeners[{number}]", listener)
    for first, second in combinations(listeners, 2):
        if first.get("name") == second.get("name"):
            yield _rule_of("spec.listeners", "Listener name must be unique within the Gateway")
        if all(first.get(name) == second.get(name) for name in ("port", "protocol", "hostname")):
            yield _rule_of("spec.listeners",
                           "Combination of port, protocol and hostname must be unique for each listener")


def _listener_faults(where: str, listener: Mapping) -> Iterator[Cause]:
    protocol, tls = listener.get("protocol"), listener.get("tls")
    for name in ("name", "port", "protocol"):
        if not listener.get(name):
            yield required(f"{where}.{name}")
    port = listener.get("port")
    if isinstance(port, int) and not 1 <= port <= 65535:
        yield invalid(f"{where}.port", port, "should be between 1 and 65535")
    if (host := listener.get("hostname")) and not _HOST.fullmatch(host):
        yield invalid(f"{where}.hostname", host, "should be a hostname, with a wildcard in its first label")
    if protocol in ("HTTP", "TCP", "UDP") and tls:
        yield _rule_of("spec.listeners", "tls must not be specified for protocols ['HTTP', 'TCP', 'UDP']")
    if protocol == "HTTPS" and isinstance(tls, Mapping) and tls.get("mode") != "Terminate":
        yield _rule_of("spec.listeners", "tls mode must be Terminate for protocol HTTPS")
    if protocol in ("TCP", "UDP") and host:
        yield _rule_of("spec.listeners", "hostname must not be specified for protocols ['TCP', 'UDP']")
    if isinstance(tls, Mapping) and tls.get("mode") == "Terminate" and not (
            tls.get("certificateRefs") or tls.get("options")):  # fmt: skip
        yield _rule_of(f"{where}.tls", "certificateRefs or options must be specified when mode is Terminate")
    origin = listener["allowedRoutes"]["namespaces"].get("from")
    if origin not in (known := ("All", "Selector", "Same")):
        yield unsupported(f"{where}.allowedRoutes.namespaces.from", origin, known)


def _route(spec: Mapping) -> Iterator[Cause]:
    parents = _objects(spec.get("parentRefs"))
    for number, parent in enumerate(parents):
        if not parent.get("name"):
            yield required(f"spec.parentRefs[{number}].name")
    for first, second in combinations(parents, 2):
        same = all(first.get(name) == second.get(name) for name in ("group", "kind", "name", "namespace"))
        parts = [(each.get("sectionName"), each.get("port")) for each in (first, second)]
        if same and (parts[0] == parts[1] or (None, None) in parts):
            yield _rule_of("spec.parentRefs", "sectionName or port must be unique when parentRefs includes 2 "
                                              "or more references to the same parent")
    for number, host in enumerate(spec.get("hostnames") or ()):
        if not isinstance(host, str) or not _HOST.fullmatch(host):
            yield invalid(f"spec.hostnames[{number}]", host, "should be a hostname")


def _http_route(spec: Mapping) -> Iterator[Cause]:
    rules = _objects(spec.get("rules"))
    if sum(len(_objects(rule.get("matches"))) for rule in rules) > MOST_MATCHES:
        yield _rule_of("spec.rules", "While 16 rules and 64 matches per rule are allowed, the total number "
                                     "of matches across all rules in a route must be less than 128")
    for number, rule in enumerate(rules):
        where = f"spec.rules[{number}]"
        kinds = [each.get("type") for each in _objects(rule.get("filters"))]
        if "RequestRedirect" in kinds and "URLRewrite" in kinds:
            yield _rule_of(f"{where}.filters",
                           "May specify either httpRouteFilterRequestRedirect or "
                           "httpRouteFilterRequestRewrite, but not both")
        for name in ("RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite"):
            if kinds.count(name) > 1:
                yield _rule_of(f"{where}.filters", f"{name} filter cannot be repeated")
        if "RequestRedirect" in kinds and rule.get("backendRefs"):
            yield _rule_of(where, "RequestRedirect filter must not be used together with backendRefs")
        for each in _objects(rule.get("filters")):
            target = (each.get("requestMirror") or {}).get("backendRef") or {}
            if each.get("type") == "RequestMirror" and not target.get("port"):
                yield _rule_of(f"{where}.filters", "Must have port for Service reference")
        for count, match in enumerate(_objects(rule.get("matches"))):
            yield from _match_faults(f"{where}.matches[{count}]", match)
        yield from _backends(where, rule)


def _match_faults(where: str, match: Mapping) -> Iterator[Cause]:
    path = match["path"]
    kind, value = path.get("type"), path.get("value")
    if kind not in (known := ("Exact", "PathPrefix", "RegularExpression")):
        yield unsupported(f"{where}.path.type", kind, known)
    if kind in ("Exact", "PathPrefix"):
        if not str(value).startswith("/"):
            yield _rule_of(f"{where}.path", "value must be an absolute path and start with '/' when type one "
                                            "of ['Exact', 'PathPrefix']")
        for piece in ("//", "/./", "/../", "%2f", "%2F", "#"):
            if piece in str(value):
                yield _rule_of(f"{where}.path", f"must not contain '{piece}' when type one of ['Exact', "
                                                "'PathPrefix']")
        if not _PATH.fullmatch(str(value)):
            yield _rule_of(f"{where}.path", "must only contain valid characters (matching "
                                            f"^{_PATH.pattern}$) for types ['Exact', 'PathPrefix']")
    for name in ("headers", "queryParams"):
        for number, each in enumerate(_objects(match.get(name))):
            if not each.get("value"):
                yield required(f"{where}.{name}[{number}].value")
    if match.get("method") and match["method"] not in _METHODS:
        yield unsupported(f"{where}.method", match["method"], _METHODS)


def _backends(where: str, rule: Mapping) -> Iterator[Cause]:
    for number, backend in enumerate(_objects(rule.get("backendRefs"))):
        field = f"{where}.backendRefs[{number}]"
        if not backend.get("name"):
            yield required(f"{field}.name")
        if (backend.get("group"), backend.get("kind")) == ("", "Service") and not backend.get("port"):
            yield _rule_of(field, "Must have port for Service reference")
        weight = backend.get("weight", 1)
        if not isinstance(weight, int) or not 0 <= weight <= 1_000_000:
            yield invalid(f"{field}.weight", weight, "should be between 0 and 1000000")


def _stream_route(kind: str, spec: Mapping, is_alpha: bool) -> Iterator[Cause]:
    """Args: is_alpha: v1alpha2, where hostnames may be missing, and rules may be many."""
    names = spec.get("hostnames") or ()
    if kind == "TLSRoute" and not (names or is_alpha):
        yield required("spec.hostnames")
    if any(str(name).replace(".", "").isdigit() for name in names):
        yield _rule_of("spec.hostnames", "Hostnames cannot contain an IP")
    rules = _objects(spec.get("rules"))
    if not rules or (len(rules) > 1 and not is_alpha):
        yield _rule_of("spec.rules", "must have exactly 1 item")
    for number, rule in enumerate(rules):
        if not rule.get("backendRefs"):
            yield required(f"spec.rules[{number}].backendRefs")
        yield from _backends(f"spec.rules[{number}]", rule)


def _backend_policy(spec: Mapping) -> Iterator[Cause]:
    targets, validation = _objects(spec.get("targetRefs")), spec.get("validation") or {}
    if not targets:
        yield required("spec.targetRefs", "must have at least 1 item")
    for number, target in enumerate(targets):
        for name in ("kind", "name"):
            if not target.get(name):
                yield required(f"spec.targetRefs[{number}].{name}")
    for first, second in combinations(targets, 2):
        if all(first.get(name) == second.get(name) for name in ("group", "kind", "name")):
            sections = [each.get("sectionName") for each in (first, second)]
            if not all(sections):
                yield _rule_of("spec.targetRefs", "sectionName must be specified when targetRefs includes 2 "
                                                  "or more references to the same target")
            elif sections[0] == sections[1]:
                yield _rule_of("spec.targetRefs", "sectionName must be unique when targetRefs includes 2 or "
                                                  "more references to the same target")
    host, refs = validation.get("hostname"), validation.get("caCertificateRefs")
    if not host:
        yield required("spec.validation.hostname")
    elif host.startswith("*") or not _HOST.fullmatch(host):
        yield invalid("spec.validation.hostname", host, "should be a hostname without a wildcard")
    if bool(refs) == bool(validation.get("wellKnownCACertificates")):
        yield _rule_of("spec.validation", "must specify either CACertificateRefs or WellKnownCACertificates"
                       if not refs else "must not contain both CACertificateRefs and WellKnownCACertificates")


def _grant(spec: Mapping) -> Iterator[Cause]:
    for name, fields in (("from", ("kind", "namespace")), ("to", ("kind",))):
        entries = _objects(spec.get(name))
        if not entries:
            yield required(f"spec.{name}", "must have at least 1 item")
        for number, entry in enumerate(entries):
            if "group" not in entry:
                yield required(f"spec.{name}[{number}].group")
            for field in fields:
                if not entry.get(field):
                    yield required(f"spec.{name}[{number}].{field}")


def _rule_of(where: str, message: str) -> Cause:
    """A rule in CEL that does not hold; the value is shown as its type."""
    return _CEL, f'Invalid value: "object": {message}', where


def _objects(value: object) -> list[dict]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, Iterable) else []
