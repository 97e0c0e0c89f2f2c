"""Why OpenShift's API server refuses a Route: 422 with the fields, or a status that cannot be decoded.

Rules of openshift/library-go pkg/route/validation/validation.go. Not here: httpHeaders, and the Secret of
spec.tls.externalCertificate, for which the server asks whether OpenShift's own router may read it.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from .causes import Cause, immutable, invalid, label_rules, required, subdomain_rules, unsupported

NON_DNS_HOST = "route.openshift.io/allow-non-dns-compliant-host"


def route_faults(data: Mapping, current: Mapping | None) -> Iterator[Cause]:
    """validateRoute and ValidateRouteUpdate; defaults are filled in.

    Args: current: what is updated, None for a new Route.

    A host is held to the rules of labels when it is new, unless the one before broke them too.
    """
    spec = data.get("spec") or {}
    host, path, tls = spec.get("host") or "", spec.get("path") or "", spec.get("tls") or {}
    before = (current or {}).get("spec") or {}
    if current and spec.get("wildcardPolicy") != (before.get("wildcardPolicy") or "None"):
        yield immutable("spec.wildcardPolicy", spec.get("wildcardPolicy"))
    lenient = bool(current) and (host == before.get("host") or _broken_labels(before.get("host") or ""))
    yield from _host(data, host, lenient=bool(lenient))
    yield from _subdomain(spec.get("subdomain") or "")
    policy = spec.get("wildcardPolicy") or "None"
    if policy not in ("None", "Subdomain"):
        yield unsupported("spec.wildcardPolicy", policy, ("None", "Subdomain"))
    elif policy == "Subdomain" and not host:
        yield invalid("spec.wildcardPolicy", policy, "host name not specified for wildcard policy")
    if path and not path.startswith("/"):
        yield invalid("spec.path", path, "path must begin with /")
    if path and tls.get("termination") == "passthrough":
        yield invalid("spec.path", path, "passthrough termination does not support paths")
    yield from _backends(spec)
    if isinstance(spec.get("port"), Mapping) and not spec["port"].get("targetPort"):
        yield required("spec.port.targetPort")
    if tls or isinstance(spec.get("tls"), Mapping):
        yield from _tls(tls)


def _host(data: Mapping, host: str, *, lenient: bool) -> Iterator[Cause]:
    if not host:
        return
    if subdomain_rules(host):
        yield invalid("spec.host", host, "host must conform to DNS 952 subdomain conventions")
    if lenient or (data["metadata"].get("annotations") or {}).get(NON_DNS_HOST) == "true":
        return
    for rule in _broken_labels(host):
        yield invalid("spec.host", host, rule)


def _broken_labels(host: str) -> list[str]:
    return [rule for label in host.split(".") for rule in label_rules(label)] if host else []


def _subdomain(subdomain: str) -> Iterator[Cause]:
    if len(subdomain) > 253:
        yield invalid("spec.subdomain", subdomain, "must be no more than 253 characters")
    for label in subdomain.split(".") if subdomain else ():
        if rules := label_rules(label):
            yield invalid("spec.subdomain", label, ", ".join(rules))


def _backends(spec: Mapping) -> Iterator[Cause]:
    alternates = spec.get("alternateBackends") or ()
    yield from _backend("spec.to", spec.get("to") or {})
    if len(alternates) > 3:
        yield required("spec.alternateBackends", "cannot specify more than 3 alternate backends")
    for number, backend in enumerate(alternates):
        yield from _backend(f"spec.alternateBackends[{number}]", backend)


def _backend(where: str, backend: Mapping) -> Iterator[Cause]:
    if not backend.get("name"):
        yield required(f"{where}.name")
    if backend.get("kind", "Service") != "Service":
        yield invalid(f"{where}.kind", backend["kind"], "must reference a Service")
    weight = backend.get("weight", 100)
    if not 0 <= weight <= 256:
        yield invalid(f"{where}.weight", weight, "weight must be an integer between 0 and 256")


_SECRET_FIELDS = {
    "certificate": "certificate", "key": "key", "caCertificate": "ca certificate",
    "destinationCACertificate": "destination ca certificate",
}  # fmt: skip
"""Field of spec.tls to what a message says instead of its value."""


def _tls(tls: Mapping) -> Iterator[Cause]:
    """validateTLS and validateInsecureEdgeTerminationPolicy."""
    termination, external = tls.get("termination"), (tls.get("externalCertificate") or {}).get("name")
    if termination not in ("edge", "passthrough", "reencrypt"):
        yield unsupported("spec.tls.termination", termination, ("edge", "passthrough", "reencrypt"))
    elif termination == "passthrough":
        why = "passthrough termination does not support certificates"
        for name, what in _SECRET_FIELDS.items():
            if tls.get(name):
                yield invalid(f"spec.tls.{name}", f"redacted {what} data", why)
        if external:
            yield invalid("spec.tls.externalCertificate", external, why)
    else:
        if termination == "edge" and tls.get("destinationCACertificate"):
            yield invalid("spec.tls.destinationCACertificate", "redacted destination ca certificate data",
                          "edge termination does not support destination certificates")  # fmt: skip
        if external and tls.get("certificate"):
            yield invalid("spec.tls.externalCertificate", external,
                          "cannot specify both tls.certificate and tls.externalCertificate")  # fmt: skip
    accepted = ("None", "Redirect") if termination == "passthrough" else ("None", "Allow", "Redirect")
    policy = tls.get("insecureEdgeTerminationPolicy")
    if policy and policy not in accepted and termination in ("edge", "passthrough", "reencrypt"):
        yield invalid("spec.tls.insecureEdgeTerminationPolicy", policy, "invalid value for "
                      f"InsecureEdgeTerminationPolicy option, acceptable values are {', '.join(accepted)}, "
                      "or empty")  # fmt: skip


_TLS = ("termination", "certificate", "key", "caCertificate", "destinationCACertificate",
        "insecureEdgeTerminationPolicy")  # fmt: skip
_INGRESS = ("host", "routerName", "wildcardPolicy", "routerCanonicalHostname")
_CONDITION = ("type", "status", "reason", "message")


def route_type_fault(data: Mapping) -> str:
    """Why a Route cannot be decoded, in the words of Go's encoding/json; "" if it can.

    Types of openshift/api, route/v1/types.go: a number in quotes is a string, which no int32 takes.
    """
    spec = data.get("spec")
    if not isinstance(spec, Mapping | None):
        return _mistyped(spec, "Route.spec", "v1.RouteSpec")
    return _spec_fault(spec or {}) or route_status_type_fault(data.get("status"))


def _spec_fault(spec: Mapping) -> str:
    faults = [_strings_fault(spec, ("host", "path", "subdomain", "wildcardPolicy"), "RouteSpec.spec")]
    alternates = spec.get("alternateBackends")
    if not isinstance(alternates, list | None):
        return _mistyped(alternates, "RouteSpec.spec.alternateBackends", "[]v1.RouteTargetReference")
    others = [("alternateBackends", each) for each in alternates or ()]
    for where, backend in [("to", spec.get("to")), *others]:
        if not isinstance(backend, Mapping | None):
            return _mistyped(backend, f"RouteSpec.spec.{where}", "v1.RouteTargetReference")
        faults.append(_strings_fault(backend or {}, ("kind", "name"), f"RouteTargetReference.spec.{where}"))
        weight = (backend or {}).get("weight")
        if weight is not None and type(weight) is not int:
            faults.append(_mistyped(weight, f"RouteTargetReference.spec.{where}.weight", "int32"))
    tls = spec.get("tls")
    if not isinstance(tls, Mapping | None):
        return _mistyped(tls, "RouteSpec.spec.tls", "v1.TLSConfig")
    faults.append(_strings_fault(tls or {}, _TLS, "TLSConfig.spec.tls"))
    return next(filter(None, faults), "")


def _strings_fault(given: Mapping, names: Iterable[str], where: str) -> str:
    """Why a field that is to be a string cannot be decoded."""
    return next((_mistyped(given[name], f"{where}.{name}", "string") for name in names
                 if not isinstance(given.get(name), str | None)), "")


def route_status_type_fault(status: object) -> str:
    """Why a Route status cannot be decoded, in the words of Go's encoding/json; "" if it can.

    The types are all that the server looks at: ValidateRouteStatusUpdate checks metadata alone ("TODO:
    validate route status").
    """
    if not isinstance(status, Mapping | None):
        return _mistyped(status, "Route.status", "v1.RouteStatus")
    listed = (status or {}).get("ingress")
    if not isinstance(listed, list | None):
        return _mistyped(listed, "RouteStatus.status.ingress", "[]v1.RouteIngress")
    return next(filter(None, map(_ingress_fault, listed or ())), "")


def _ingress_fault(ingress: object) -> str:
    if not isinstance(ingress, Mapping):
        return _mistyped(ingress, "RouteStatus.status.ingress", "v1.RouteIngress")
    for name in _INGRESS:
        if not isinstance(ingress.get(name), str | None):
            return _mistyped(ingress[name], f"RouteIngress.status.ingress.{name}", "string")
    conditions = ingress.get("conditions")
    if not isinstance(conditions, list | None):
        return _mistyped(conditions, "RouteIngress.status.ingress.conditions", "[]v1.RouteIngressCondition")
    return next(filter(None, map(_condition_fault, conditions or ())), "")


def _condition_fault(condition: object) -> str:
    if not isinstance(condition, Mapping):
        return _mistyped(condition, "RouteIngress.status.ingress.conditions", "v1.RouteIngressCondition")
    for name in _CONDITION:
        if not isinstance(condition.get(name), str | None):
            where = f"RouteIngressCondition.status.ingress.conditions.{name}"
            return _mistyped(condition[name], where, "string")
    moment = condition.get("lastTransitionTime")
    if moment is None or _is_time(moment):
        return ""
    return f'parsing time "{moment}" as "2006-01-02T15:04:05Z07:00": cannot parse "{moment}" as "2006"'


def _is_time(moment: object) -> bool:
    try:
        return datetime.fromisoformat(moment).tzinfo is not None and "T" in moment
    except (TypeError, ValueError):
        return False


def _mistyped(value: object, where: str, wanted: str) -> str:
    named = {str: "string", bool: "bool", list: "array", dict: "object"}
    given = named.get(type(value), "number")
    return f"json: cannot unmarshal {given} into Go struct field {where} of type {wanted}"
