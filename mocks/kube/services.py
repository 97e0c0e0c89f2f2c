"""Objects that come together in a cluster, for tests and the demo: a Service with its endpoints, a Node."""

from collections.abc import Mapping, Sequence

SERVICE_NAME_LABEL = "kubernetes.io/service-name"

NODE_INFO = {
    "architecture": "amd64",
    "bootID": "00000000-0000-0000-0000-000000000001",
    "containerRuntimeVersion": "cri-o://1.29.0",
    "kernelVersion": "5.14.0",
    "kubeProxyVersion": "v1.29.0",
    "kubeletVersion": "v1.29.0",
    "machineID": "00000000000000000000000000000001",
    "operatingSystem": "linux",
    "osImage": "Red Hat Enterprise Linux CoreOS",
    "systemUUID": "00000000-0000-0000-0000-000000000001",
}
"""All of NodeSystemInfo: clients with typed models refuse a Node without one of them."""

Port = int | Mapping
"""A Service port: its number, or a ServicePort (name, port, targetPort, protocol, nodePort)."""


def service_objects(
    namespace: str,
    name: str,
    ports: Sequence[Port],
    pod_ips: Sequence[str],
    *,
    not_ready: Sequence[str] = (),
    labels: Mapping[str, str] | None = None,
    node: str | None = None,
) -> list[dict]:
    """A Service, an EndpointSlice per address family and Endpoints that agree with it.

    Args: ports: as in the Service; an endpoint's port is the numeric targetPort, else the port. A single
    port needs no name. pod_ips: ready addresses, IPv4 or IPv6. not_ready: further ones, not ready.
    node: nodeName of every endpoint.
    """
    service_ports = [_service_port(port, named=len(ports) > 1) for port in ports]
    metadata = {"name": name, "namespace": namespace, "labels": dict(labels or {})}
    families = {"IPv4": lambda ip: ":" not in ip, "IPv6": lambda ip: ":" in ip}
    slices = [
        _slice(
            metadata, family, service_ports, [*filter(belongs, pod_ips)], [*filter(belongs, not_ready)], node
        )
        for family, belongs in families.items()
        if family == "IPv4" or any(map(belongs, [*pod_ips, *not_ready]))
    ]
    spec = {"type": "ClusterIP", "selector": {"app": name}, "ports": service_ports}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    return [service, *slices, _endpoints(metadata, service_ports, pod_ips, not_ready, node)]


def _service_port(port: Port, *, named: bool) -> dict:
    given = {"port": port} if isinstance(port, int) else dict(port)
    filled = {"protocol": "TCP", "targetPort": given["port"]} | given
    if named:
        filled.setdefault("name", f"port-{given['port']}")
    return filled


def _endpoint_port(port: Mapping) -> dict:
    number = port["targetPort"] if isinstance(port["targetPort"], int) else port["port"]
    return {"name": port.get("name", ""), "port": number, "protocol": port["protocol"]}


def _slice(
    metadata: Mapping, family: str, ports: Sequence[Mapping], ready: Sequence[str], not_ready: Sequence[str],
    node: str | None,
) -> dict:  # fmt: skip
    placed = {"nodeName": node} if node else {}
    endpoints = [
        {"addresses": [ip], "conditions": {"ready": up, "serving": up, "terminating": False}, **placed}
        for up, ips in ((True, ready), (False, not_ready))
        for ip in ips
    ]
    labels = {**metadata["labels"], SERVICE_NAME_LABEL: metadata["name"],
              "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}  # fmt: skip
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**metadata, "name": f"{metadata['name']}-{family.lower()}", "labels": labels},
        "addressType": family,
        "endpoints": endpoints,
        "ports": [_endpoint_port(port) for port in ports],
    }


def _endpoints(
    metadata: Mapping,
    ports: Sequence[Mapping],
    ready: Sequence[str],
    not_ready: Sequence[str],
    node: str | None,
) -> dict:
    placed = {"nodeName": node} if node else {}
    subset = {
        key: [{"ip": ip, **placed} for ip in ips]
        for key, ips in (("addresses", ready), ("notReadyAddresses", not_ready))
        if ips
    }
    endpoints = {"apiVersion": "v1", "kind": "Endpoints", "metadata": dict(metadata)}
    if subset:
        numbers = [{k: v for k, v in _endpoint_port(port).items() if v != ""} for port in ports]
        endpoints["subsets"] = [subset | {"ports": numbers}]
    return endpoints


def node_object(name: str, ip: str, *, ready: bool = True, labels: Mapping[str, str] | None = None) -> dict:
    """A Node with its InternalIP and Ready condition."""
    condition = {"type": "Ready", "status": "True" if ready else "False", "reason": "KubeletReady"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
        "spec": {},
        "status": {
            "addresses": [{"type": "InternalIP", "address": ip}, {"type": "Hostname", "address": name}],
            "conditions": [condition],
            "nodeInfo": NODE_INFO,
        },
    }
