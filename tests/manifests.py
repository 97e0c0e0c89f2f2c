"""Kubernetes objects as the API server has them, as plain JSON."""


def route(
    name: str,
    *,
    namespace: str = "shop",
    host: str = "www.example.com",
    path: str = "",
    service: str = "web",
    port: str | int = "",
    kind: str = "",
    insecure: str = "",
    created: str = "2026-01-01T00:00:00Z",
    **tls: str,
) -> dict:
    """A Route; tls: certificate, key, caCertificate, destinationCACertificate."""
    spec: dict = {
        "host": host,
        "to": {"kind": "Service", "name": service, "weight": 100},
        "wildcardPolicy": "None",
    }
    if path:
        spec["path"] = path
    if port:
        spec["port"] = {"targetPort": port}
    if kind:
        spec["tls"] = {"termination": kind, **tls}
        if insecure:
            spec["tls"]["insecureEdgeTerminationPolicy"] = insecure
    return {
        "apiVersion": "route.openshift.io/v1",
        "kind": "Route",
        "metadata": {"namespace": namespace, "name": name, "creationTimestamp": created},
        "spec": spec,
    }


def service(
    namespace: str,
    name: str,
    *,
    pods: tuple[str, ...] = (),
    ports: tuple = (("http", 8080),),
) -> tuple[dict, dict]:
    """A Service and its EndpointSlice."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"ports": [{"name": n, "port": p, "targetPort": p, "protocol": "TCP"} for n, p in ports]},
    }, endpoints(namespace, name, pods, ports=ports)


def published(
    namespace: str, name: str, *, pods: dict[str, str] | None = None, kind: str = "NodePort",
    ports: tuple = (("http", 8080, 30080),), local: bool = False,
) -> tuple[dict, dict]:
    """A Service with node ports and its EndpointSlice.

    Args:
        pods: ready addresses, with their Nodes.
        ports: name, port of Service and pods, node port; 0 for none.
    """
    plain, slice_ = service(namespace, name, pods=tuple(pods or ()), ports=tuple(port[:2] for port in ports))
    for port, (_, _, number) in zip(plain["spec"]["ports"], ports, strict=True):
        if number:
            port["nodePort"] = number
    plain["spec"] |= {"type": kind, "externalTrafficPolicy": "Local" if local else "Cluster"}
    for endpoint, node_name in zip(slice_["endpoints"], (pods or {}).values(), strict=True):
        endpoint["nodeName"] = node_name
    return plain, slice_


def endpoints(
    namespace: str, service: str, pods: tuple[str, ...], *, ports: tuple = (("http", 8080),),
    draining: tuple[str, ...] = (),
) -> dict:
    """An EndpointSlice of pods that are ready, and of others that are ending but still serve."""
    leaving = {"ready": False, "serving": True, "terminating": True}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "addressType": "IPv4",
        "metadata": {
            "namespace": namespace,
            "name": f"{service}-1",
            "labels": {"kubernetes.io/service-name": service},
        },
        "endpoints": [
            *({"addresses": [pod], "conditions": {"ready": True}} for pod in pods),
            *({"addresses": [pod], "conditions": leaving} for pod in draining),
        ],
        "ports": [{"name": n, "port": p, "protocol": "TCP"} for n, p in ports],
    }


def node(
    name: str, *addresses: str, ready: bool = True, others: tuple[tuple[str, str], ...] = (),
    cidrs: tuple[str, ...] = (), subnets: str = "", unschedulable: bool = False, created: str = "",
    labels: dict[str, str] | None = None,
) -> dict:
    """A Node with addresses of type InternalIP; others, (type, address), stand before them.

    Args:
        cidrs: spec.podCIDRs; subnets: OVN-Kubernetes' annotation, as text; created: creationTimestamp.
    """
    listed = [*others, *(("InternalIP", address) for address in addresses)]
    metadata: dict = {"name": name, "labels": labels or {}}
    if subnets:
        metadata["annotations"] = {"k8s.ovn.org/node-subnets": subnets}
    if created:
        metadata["creationTimestamp"] = created
    spec = {"podCIDR": cidrs[0], "podCIDRs": list(cidrs)} if cidrs else {}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": metadata,
        "spec": spec | ({"unschedulable": True} if unschedulable else {}),
        "status": {
            "addresses": [{"type": kind, "address": address} for kind, address in listed],
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def host_subnet(name: str, host_ip: str, subnet: str) -> dict:
    """A HostSubnet as openshift-sdn keeps it."""
    return {
        "apiVersion": "network.openshift.io/v1", "kind": "HostSubnet", "metadata": {"name": name},
        "host": name, "hostIP": host_ip, "subnet": subnet,
    }


def cluster_network(*networks: str, **fields) -> dict:
    """The ClusterNetwork, with more fields of the API."""
    return {
        "apiVersion": "network.openshift.io/v1", "kind": "ClusterNetwork", "metadata": {"name": "default"},
        "network": networks[0],
        "clusterNetworks": [{"CIDR": cidr, "hostSubnetLength": 9} for cidr in networks], **fields,
    }


SDN_GROUPS = ["", "network.openshift.io"]
READ = ["get", "list", "watch"]


def sdn_reader() -> dict:
    """The role that a stock OpenShift has for the nodes' part of its SDN.

    Source of both: GetOpenshiftBootstrapClusterRoles of OpenShift 3.11 and 4, as far as it matters here.
    """
    return _role("system:sdn-reader", ([""], ["nodes", "namespaces"], READ),
                 (SDN_GROUPS, ["hostsubnets", "netnamespaces", "egressnetworkpolicies"], READ),
                 (SDN_GROUPS, ["clusternetworks"], ["get"]))


def sdn_manager() -> dict:
    """The same for its master."""
    return _role("system:sdn-manager", ([""], ["nodes"], READ),
                 (SDN_GROUPS, ["hostsubnets", "netnamespaces"], [*READ, "create", "delete"]),
                 (SDN_GROUPS, ["clusternetworks"], ["get", "create"]))


def _role(name: str, *rules: tuple[list[str], list[str], list[str]]) -> dict:
    entries = [{"apiGroups": groups, "resources": kinds, "verbs": verbs} for groups, kinds, verbs in rules]
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": entries}


def ingress(
    name: str,
    *paths: tuple[str, str, str, str | int] | tuple[str, str, str, str | int, str],
    namespace: str = "shop",
    ingress_class: str | None = "f5router",
    annotations: dict[str, str] | None = None,
    tls: tuple[tuple[tuple[str, ...], str], ...] = (),
    created: str = "2026-01-01T00:00:00Z",
    **spec: object,
) -> dict:
    """An Ingress of networking.k8s.io/v1.

    Args:
        paths: host, path, Service, its port, and, unless it is Prefix, the path type; "" for none.
        tls: hosts and Secret of each entry.
    """
    rules = []
    for host, path, service, port, *kind in paths:
        named = {"name": port} if isinstance(port, str) else {"number": port}
        entry: dict = {"path": path, "backend": {"service": {"name": service, "port": named}}}
        if kind != [""]:
            entry["pathType"] = kind[0] if kind else "Prefix"
        rules.append({"host": host, "http": {"paths": [entry]}})
    entries = [({"hosts": list(hosts)} if hosts else {}) | ({"secretName": secret} if secret else {})
               for hosts, secret in tls]
    return {
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"namespace": namespace, "name": name, "creationTimestamp": created,
                     **({"annotations": annotations} if annotations else {})},
        "spec": {"rules": rules, **({"tls": entries} if entries else {}),
                 **({"ingressClassName": ingress_class} if ingress_class else {}), **spec},
    }


def ingress_class(name: str = "f5router", *, controller: str = "f5router.io/ingress",
                  default: bool = False) -> dict:
    """An IngressClass."""
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {
        "apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
        "metadata": {"name": name, "annotations": annotations}, "spec": {"controller": controller},
    }


def ingress_route(name: str, *routes: dict, namespace: str = "shop", fqdn: str = "", tls: dict | None = None,
                  created: str = "2026-01-01T00:00:00Z", **spec: object) -> dict:
    """An IngressRoute; a root with an fqdn."""
    host = {"virtualhost": {"fqdn": fqdn, **({"tls": tls} if tls else {})}} if fqdn else {}
    return {
        "apiVersion": "contour.heptio.com/v1beta1", "kind": "IngressRoute",
        "metadata": {"namespace": namespace, "name": name, "creationTimestamp": created},
        "spec": {**host, "routes": list(routes), **spec},
    }


def forward(match: str, *services: str | dict, **more: object) -> dict:
    """An entry of spec.routes. Args: services: a name for port 8080, or an entry of services."""
    return {"match": match, "services": [
        {"name": each, "port": 8080} if isinstance(each, str) else each for each in services], **more}


def delegate(match: str, name: str, namespace: str = "") -> dict:
    """An entry of spec.routes that delegates."""
    return {"match": match, "delegate": {"name": name, **({"namespace": namespace} if namespace else {})}}
