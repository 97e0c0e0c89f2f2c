"""Columns and cells of a Table, per kind: what ``kubectl get`` prints.

Routes as openshift-apiserver prints them (pkg/route/printers/internalversion/printer.go), the built-in kinds
as k8s.io/kubernetes/pkg/printers/internalversion/printers.go; every other kind has its name and age.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

from .kinds import Kind

Cells = Callable[[Mapping], list]

SHOWN_ENDPOINTS = 3
"""Addresses printed before ``+ n more...``."""


def columns(kind: Kind) -> list[dict]:
    """columnDefinitions; priority 1 is shown by ``-o wide`` only."""
    names, _ = _TABLES.get(kind.kind, _PLAIN)
    return [
        {
            "name": name.rstrip("*"),
            "type": "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": 1 if name.endswith("*") else 0,
        }
        for name in names
    ]


def row(kind: Kind, data: Mapping, now: datetime) -> list:
    """Cells of one object, in the order of ``columns``."""
    names, cells = _TABLES.get(kind.kind, _PLAIN)
    row_cells = [data["metadata"]["name"], *cells(data)]
    if "Age" in names:
        row_cells.insert(names.index("Age"), age(data["metadata"].get("creationTimestamp"), now))
    return row_cells


def age(created: str | None, now: datetime) -> str:
    """``5s``, ``3m``, ``4h``, ``5d``: duration.HumanDuration of apimachinery, in its largest unit or two."""
    if not created:
        return "<unknown>"
    seconds = int((now - datetime.fromisoformat(created)).total_seconds())
    if seconds < 0:
        return "0s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    return _two(days // 365, "y", days % 365, "d")


def _two(major: int, major_unit: str, minor: int, minor_unit: str) -> str:
    return f"{major}{major_unit}" + (f"{minor}{minor_unit}" if minor else "")


def _none(data: Mapping) -> list:
    return []


def _route(data: Mapping) -> list:
    spec = data.get("spec") or {}
    port = (spec.get("port") or {}).get("targetPort")
    return [
        _route_host(data),
        spec.get("path", ""),
        _backends(spec),
        "<all>" if port is None else str(port),
        _termination(spec.get("tls") or {}),
        spec.get("wildcardPolicy", ""),
    ]


def _route_host(data: Mapping) -> str:
    host = (data.get("spec") or {}).get("host", "")
    ingress = (data.get("status") or {}).get("ingress")
    if ingress is None:
        return host
    conditions = [
        (entry, c) for entry in ingress for c in entry.get("conditions") or () if c.get("type") == "Admitted"
    ]
    admitted = [entry.get("host", "") for entry, condition in conditions if condition.get("status") == "True"]
    rejected = [
        condition.get("reason", "") for _, condition in conditions if condition.get("status") == "False"
    ]
    if not admitted:
        return rejected[-1] if rejected else "Pending"
    shown = host if host in admitted else admitted[-1]
    if rejected:
        return f"{shown} ... {len(rejected)} rejected"
    return f"{shown} ... {len(admitted) - 1} more" if len(admitted) > 1 else shown


def _backends(spec: Mapping) -> str:
    backends = [spec.get("to") or {}, *(spec.get("alternateBackends") or ())]
    total = sum(backend.get("weight") or 0 for backend in backends)
    shown = []
    for backend in backends:
        name, weight = backend.get("name", ""), backend.get("weight")
        if weight is None or (len(backends) == 1 and total):
            shown.append(name)
        else:
            shown.append(f"{name}({weight * 100 // total if total else 0}%)")
    return ",".join(shown)


def _termination(tls: Mapping) -> str:
    termination, insecure = tls.get("termination", ""), tls.get("insecureEdgeTerminationPolicy", "")
    return f"{termination or 'default'}/{insecure}" if insecure else termination


def _service(data: Mapping) -> list:
    spec = data.get("spec") or {}
    ports = [_service_port(port) for port in spec.get("ports") or ()]
    selector = ",".join(f"{key}={value}" for key, value in sorted((spec.get("selector") or {}).items()))
    return [
        spec.get("type", "ClusterIP"),
        spec.get("clusterIP") or "<none>",
        _external(data),
        ",".join(ports) or "<none>",
        selector or "<none>",
    ]


def _service_port(port: Mapping) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port')}{node_port}/{port.get('protocol', 'TCP')}"


def _external(data: Mapping) -> str:
    spec = data.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return spec.get("externalName", "")
    addresses = list(spec.get("externalIPs") or ())
    if spec.get("type") == "LoadBalancer":
        ingress = ((data.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        addresses = [entry.get("ip") or entry.get("hostname", "") for entry in ingress] + addresses
        return ",".join(addresses) or "<pending>"
    return ",".join(addresses) or "<none>"


def _endpoints(data: Mapping) -> list:
    pairs = []
    for subset in data.get("subsets") or ():
        for port in subset.get("ports") or ({},):
            for address in subset.get("addresses") or ():
                pairs.append(f"{address['ip']}:{port['port']}" if port.get("port") else address["ip"])
    return [_shown(pairs)]


def _slice(data: Mapping) -> list:
    ports = [str(port.get("port", "<unset>")) for port in data.get("ports") or ()]
    addresses = [
        address for endpoint in data.get("endpoints") or () for address in endpoint.get("addresses") or ()
    ]
    return [data.get("addressType", ""), _shown(ports, "<unset>"), _shown(addresses, "<unset>")]


def _shown(texts: list[str], empty: str = "<none>") -> str:
    if len(texts) > SHOWN_ENDPOINTS:
        return f"{','.join(texts[:SHOWN_ENDPOINTS])} + {len(texts) - SHOWN_ENDPOINTS} more..."
    return ",".join(texts) or empty


def _node(data: Mapping) -> list:
    status, labels = data.get("status") or {}, data["metadata"].get("labels") or {}
    ready = next((c.get("status") for c in status.get("conditions") or () if c.get("type") == "Ready"), None)
    state = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    if (data.get("spec") or {}).get("unschedulable"):
        state += ",SchedulingDisabled"
    prefix = "node-role.kubernetes.io/"
    roles = ",".join(sorted(label[len(prefix) :] for label in labels if label.startswith(prefix)))
    addresses = {entry.get("type"): entry.get("address") for entry in status.get("addresses") or ()}
    version = (status.get("nodeInfo") or {}).get("kubeletVersion", "")
    return [state, roles or "<none>", version, addresses.get("InternalIP", "<none>")]


def _namespace(data: Mapping) -> list:
    return [(data.get("status") or {}).get("phase", "")]


def _secret(data: Mapping) -> list:
    return [data.get("type", "Opaque"), str(len(data.get("data") or {}))]


def _configmap(data: Mapping) -> list:
    return [str(len(data.get("data") or {}) + len(data.get("binaryData") or {}))]


def _pod(data: Mapping) -> list:
    status, spec = data.get("status") or {}, data.get("spec") or {}
    states = status.get("containerStatuses") or ()
    ready = sum(bool(state.get("ready")) for state in states)
    restarts = sum(state.get("restartCount", 0) for state in states)
    counted = f"{ready}/{len(spec.get('containers') or states)}"
    shown = status.get("podIP") or "<none>", spec.get("nodeName") or "<none>"
    return [counted, status.get("phase", "Unknown"), str(restarts), *shown]


def _ingress(data: Mapping) -> list:
    spec = data.get("spec") or {}
    hosts = ",".join(rule.get("host") or "*" for rule in spec.get("rules") or ()) or "*"
    ingress = ((data.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    addresses = ",".join(entry.get("ip") or entry.get("hostname", "") for entry in ingress)
    return [
        spec.get("ingressClassName") or "<none>",
        hosts,
        addresses,
        "80, 443" if spec.get("tls") else "80",
    ]


def _event(data: Mapping) -> list:
    about = data.get("involvedObject") or data.get("regarding") or {}
    subject = f"{about.get('kind', '').lower()}/{about.get('name', '')}"
    message = data.get("message") or data.get("note") or ""
    return [data.get("type", ""), data.get("reason", ""), subject, message]


def _hostsubnet(data: Mapping) -> list:
    return [data.get(name, "") for name in ("host", "hostIP", "subnet")]


def _lease(data: Mapping) -> list:
    return [(data.get("spec") or {}).get("holderIdentity", "")]


_PLAIN: tuple[tuple[str, ...], Cells] = (("Name", "Age"), _none)

_TABLES: Mapping[str, tuple[tuple[str, ...], Cells]] = {
    "Route": (("Name", "Host/Port", "Path", "Services", "Port", "Termination", "Wildcard"), _route),
    "Service": (("Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector*"), _service),
    "Endpoints": (("Name", "Endpoints", "Age"), _endpoints),
    "EndpointSlice": (("Name", "AddressType", "Ports", "Endpoints", "Age"), _slice),
    "Node": (("Name", "Status", "Roles", "Age", "Version", "Internal-IP*"), _node),
    "Namespace": (("Name", "Status", "Age"), _namespace),
    "Secret": (("Name", "Type", "Data", "Age"), _secret),
    "ConfigMap": (("Name", "Data", "Age"), _configmap),
    "Pod": (("Name", "Ready", "Status", "Restarts", "Age", "IP*", "Node*"), _pod),
    "Ingress": (("Name", "Class", "Hosts", "Address", "Ports", "Age"), _ingress),
    "Event": (("Name", "Type", "Reason", "Object", "Message"), _event),
    "HostSubnet": (("Name", "Host", "Host IP", "Subnet"), _hostsubnet),
    "Lease": (("Name", "Holder", "Age"), _lease),
}
"""Kind to (columns after the name, cells after the name without the age); ``*`` marks a wide column."""
