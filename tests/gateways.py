"""Objects of the Gateway API as the API server has them, with the defaults of their CRDs."""

from typing import Any

from mocks.kube import gateway_api

VERSION = "gateway.networking.k8s.io/v1"
CONTROLLER = "f5router.io/gateway"
CLASS = "f5"
CREATED = "2026-01-01T00:00:00Z"


def gateway_class(name: str = CLASS, controller: str = CONTROLLER, **spec: Any) -> dict:
    return _object("GatewayClass", "", name, {"controllerName": controller, **spec})


def gateway(name: str, *listeners: dict, namespace: str = "infra", created: str = CREATED,
            class_name: str = CLASS, **spec: Any) -> dict:
    return _object("Gateway", namespace, name, {
        "gatewayClassName": class_name, "listeners": list(listeners) or [listener()], **spec}, created)


def listener(name: str = "http", port: int = 80, protocol: str = "HTTP", *, hostname: str = "",
             secret: str = "", namespaces: dict | None = None, **more: Any) -> dict:
    """A listener. Args: secret: NAME or NAMESPACE/NAME of its certificate; namespaces: of allowedRoutes."""
    obj: dict = {"name": name, "port": port, "protocol": protocol, **more}
    if hostname:
        obj["hostname"] = hostname
    if secret:
        namespace, _, of = secret.rpartition("/")
        obj["tls"] = {"certificateRefs": [{"name": of} | ({"namespace": namespace} if namespace else {})]}
    if namespaces:
        obj["allowedRoutes"] = {**obj.get("allowedRoutes", {}), "namespaces": namespaces}
    return obj


EVERYWHERE = {"from": "All"}


def parent(name: str, **more: Any) -> dict:
    return {"name": name, **more}


def http_route(name: str, *rules: dict, parents: tuple[dict, ...] = (), hostnames: tuple[str, ...] = (),
               namespace: str = "infra", created: str = CREATED) -> dict:
    spec: dict = {"parentRefs": list(parents or (parent("web"),)), "rules": list(rules)}
    if hostnames:
        spec["hostnames"] = list(hostnames)
    return _object("HTTPRoute", namespace, name, spec, created)


def tls_route(name: str, *backends: dict, hostnames: tuple[str, ...] = (), parents: tuple[dict, ...] = (),
              namespace: str = "infra", created: str = CREATED, **more: Any) -> dict:
    """A TLSRoute with one rule."""
    return _object("TLSRoute", namespace, name, {
        "parentRefs": list(parents or (parent("web"),)), "hostnames": list(hostnames),
        "rules": [{"backendRefs": list(backends)}], **more}, created)


def tcp_route(name: str, *backends: dict, parents: tuple[dict, ...] = (), namespace: str = "infra",
              created: str = CREATED, **more: Any) -> dict:
    """A TCPRoute with one rule."""
    return _object("TCPRoute", namespace, name, {
        "parentRefs": list(parents or (parent("web"),)), "rules": [{"backendRefs": list(backends)}], **more},
        created)


def backend_policy(name: str, service: str, authority: dict | None = None, *, section: str = "",
                   hostname: str = "pods.example.com", namespace: str = "infra", created: str = CREATED,
                   **validation: Any) -> dict:
    """A BackendTLSPolicy. Args: authority: of caCertificateRefs; validation: more of its fields."""
    target = {"group": "", "kind": "Service", "name": service} | ({"sectionName": section} if section else {})
    refs = {"caCertificateRefs": [authority]} if authority else {}
    return _object("BackendTLSPolicy", namespace, name, {
        "targetRefs": [target], "validation": {**refs, "hostname": hostname, **validation}}, created)


PASSTHROUGH = {"protocol": "TLS", "port": 443, "tls": {"mode": "Passthrough"}}
"""Fields of a listener whose TLS pods end."""


def rule(*backends: dict, paths: tuple[str, ...] = (), exact: tuple[str, ...] = (),
         filters: tuple[dict, ...] = (), **more: Any) -> dict:
    """A rule. Args: paths: prefixes; exact: paths that match as they are."""
    obj: dict = dict(more)
    if backends:
        obj["backendRefs"] = list(backends)
    if paths or exact:
        obj["matches"] = [{"path": {"type": "PathPrefix", "value": path}} for path in paths]
        obj["matches"] += [{"path": {"type": "Exact", "value": path}} for path in exact]
    if filters:
        obj["filters"] = list(filters)
    return obj


def backend(name: str, port: int = 8080, **more: Any) -> dict:
    return {"name": name, "port": port, **more}


def headers(**change: Any) -> dict:
    """A filter that changes headers of requests."""
    return {"type": "RequestHeaderModifier", "requestHeaderModifier": change}


def response_headers(**change: Any) -> dict:
    """A filter that changes headers of responses."""
    return {"type": "ResponseHeaderModifier", "responseHeaderModifier": change}


def path_modifier(*, prefix: str | None = None, full: str | None = None) -> dict:
    """The field path of a filter."""
    if full is not None:
        return {"type": "ReplaceFullPath", "replaceFullPath": full}
    return {"type": "ReplacePrefixMatch", "replacePrefixMatch": prefix}


def rewrite(**what: Any) -> dict:
    return {"type": "URLRewrite", "urlRewrite": what}


def redirect(**where: Any) -> dict:
    return {"type": "RequestRedirect", "requestRedirect": where}


def grant(name: str, namespace: str, source: tuple[str, str], target: tuple[str, str, str]) -> dict:
    """A ReferenceGrant. Args: source: kind and namespace; target: group, kind and name."""
    group, kind, of = target
    return _object("ReferenceGrant", namespace, name, {
        "from": [{"group": gateway_api.GROUP, "kind": source[0], "namespace": source[1]}],
        "to": [{"group": group, "kind": kind} | ({"name": of} if of else {})]})


def _object(kind: str, namespace: str, name: str, spec: dict, created: str = CREATED) -> dict:
    metadata = {"name": name, "creationTimestamp": created} | ({"namespace": namespace} if namespace else {})
    obj = {"apiVersion": VERSION, "kind": kind, "metadata": metadata, "spec": spec}
    return gateway_api.with_defaults(kind, obj, new=False)


def conditions(entries: list[dict]) -> dict[str, tuple[str, str]]:
    """Status and reason by type of conditions."""
    return {each["type"]: (each["status"], each["reason"]) for each in entries}
