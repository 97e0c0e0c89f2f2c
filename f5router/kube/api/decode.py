"""Decodes Kubernetes API objects, as plain JSON, to the values of model/cluster.py.

Nothing here trusts its input: objects may have been stored before a validation existed, or come from a custom
resource without one. A field of a wrong type counts as absent; where an absent field would serve something
that nobody asked for, the object is refused with DecodeError and counts as absent itself. So does an object
without a name, or with one that the API never gives: names on the BIG-IP and paths of requests use it.

Only what the router reads is kept, so that nobody fills its memory, and no edit of anything else wakes it: no
annotation or label but those named here, and no text longer than any valid one.
"""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from sys import intern

from f5router.admission import annotations, route_options
from f5router.admission.validation import MOST_ALTERNATES
from f5router.kube.api import decode_contour, fields
from f5router.kube.api.fields import DecodeError
from f5router.model.cluster import (
    CA_CRT,
    OPAQUE,
    OVN_HOST_ADDRESSES,
    OVN_SUBNETS,
    TLS_CRT,
    TLS_SECRET,
    Backend,
    ClusterNetwork,
    EndpointPort,
    EndpointSlice,
    HostSubnet,
    Key,
    Namespace,
    Node,
    PodNetworks,
    Route,
    RouteTLS,
    Secret,
    Service,
    ServicePort,
)
from f5router.model.json_types import JSON
from f5router.model.net import VXLAN_PORT

SERVICE_LABEL = "kubernetes.io/service-name"
IDLED_AT = "idling.alpha.openshift.io/idled-at"
"""Annotation of `oc idle`. Source: openshift/api, unidling/v1alpha1; openshift/router, endpointsForRoute;
openshift/origin v3.11.0, createRouterEndpoints, which looks at the Endpoints object."""

MOST_ANNOTATION = 1 << 18
"""Limit of all annotations of an object, in characters. Source: k8s.io/apimachinery,
TotalAnnotationSizeLimitB."""

MOST_PORTS = 1000
"""Ports of a Service. Each one costs memory, and the API sets no limit."""

MOST_ADDRESSES = 10_000
"""Addresses kept of an EndpointSlice or Endpoints object; further ones are counted. Kubernetes' controllers
write at most 1,000 into either. Source: kubernetes, pkg/controller/endpoint, maxCapacity; discovery/v1,
EndpointSlice.endpoints."""

MOST_HOST_ADDRESSES = 100
"""Addresses that are read of a Node's annotation."""

MOST_NETWORKS = 1000
"""Networks of pods that are read of one CiliumNode."""

MOST_SUBSETS = 1000
"""Subsets of an Endpoints object. Each one costs memory; a controller writes one for each set of ports."""


def ingress(obj: object) -> tuple[JSON, ...]:
    """Return status.ingress of a Route."""
    return tuple(map(fields.with_shared_names, fields.objects(
        fields.mapping(fields.mapping(obj).get("status")).get("ingress"))))


def route(obj: JSON) -> Route:
    """Decode a route.openshift.io/v1 Route.

    Raises:
        DecodeError: no name; spec, spec.path or spec.tls of a wrong type. Without the last two the
            Route would serve more paths than it asks for, or in clear text.
    """
    name = fields.namespaced_key(obj)
    metadata = fields.mapping(obj["metadata"])
    spec = obj.get("spec")
    if not isinstance(spec, dict):
        raise DecodeError(str(name), "spec")
    path = spec.get("path")
    if not (path is None or isinstance(path, str)):
        raise DecodeError(str(name), "spec.path")
    to, tls = fields.mapping(spec.get("to")), _tls(name, spec.get("tls"))
    given = fields.mapping(metadata.get("annotations"))
    termination = tls.termination if tls else ""
    annotated = annotations.parse(given, termination)
    actions, header_problems = route_options.parse_headers(spec.get("httpHeaders"), termination)
    options = annotated.options
    if actions != route_options.NO_ACTIONS:
        options = replace(options, request_actions=actions.request, response_actions=actions.response)
    return Route(
        key=name,
        uid=fields.text(metadata.get("uid")),
        created=fields.text(metadata.get("creationTimestamp")),
        host=fields.text(spec.get("host")),
        subdomain=fields.text(spec.get("subdomain")),
        path=fields.text(path),
        service=fields.text(to.get("name")),
        service_kind=intern(fields.text(to.get("kind")) or "Service"),
        weight=fields.integer(to.get("weight")),
        alternates=_alternates(spec.get("alternateBackends")),
        target_port=fields.port_text(fields.mapping(spec.get("port")).get("targetPort")),
        tls=tls,
        wildcard_policy=intern(fields.text(spec.get("wildcardPolicy")) or "None"),
        options=options,
        option_problems=(*annotated.option_problems, *header_problems),
        option_refusal=annotated.option_refusal,
        waf=annotated.waf,
        unsupported=annotations.unsupported(given),
        labels=fields.labels(metadata), owner_ingress=_owner_ingress(metadata),
        resource_version=fields.text(metadata.get("resourceVersion")),
        status_ingress=ingress(obj),
    )


def _owner_ingress(metadata: JSON) -> str:
    """Return the uid of the Ingress that controls a Route; "" for none.

    Source: openshift/route-controller-manager, pkg/route/ingress/ingress.go; all versions of its API are
    taken, the misspelled extensions.k8s.io/v1beta1 of some releases too.
    """
    return next((fields.text(owner.get("uid")) for owner in fields.objects(metadata.get("ownerReferences"))
                 if owner.get("kind") == "Ingress" and owner.get("controller") is True), "")


def _alternates(items: object) -> tuple[Backend, ...]:
    """Return the Services beside spec.to, and one more if there are too many."""
    return tuple(
        Backend(fields.text(item.get("name")), fields.integer(item.get("weight")),
                intern(fields.text(item.get("kind")) or "Service"))
        for item in map(fields.mapping, islice(fields.items(items), MOST_ALTERNATES + 1)))


def _tls(name: Key, tls: object) -> RouteTLS | None:
    if tls is None:
        return None
    if not isinstance(tls, dict):
        raise DecodeError(str(name), "spec.tls")
    return RouteTLS(
        termination=intern(fields.text(tls.get("termination"))),
        insecure_policy=intern(fields.text(tls.get("insecureEdgeTerminationPolicy"))),
        certificate=fields.pem(tls.get("certificate")),
        key=fields.pem(tls.get("key")),
        ca_certificate=fields.pem(tls.get("caCertificate")),
        destination_ca_certificate=fields.pem(tls.get("destinationCACertificate")),
        external_certificate=fields.text(fields.mapping(tls.get("externalCertificate")).get("name")),
    )


def service(obj: JSON) -> Service:
    """Decode a core/v1 Service; a headless one has cluster_ip "".

    Raises: DecodeError: too many ports.
    """
    name = fields.namespaced_key(obj)
    spec = fields.mapping(obj.get("spec"))
    if (count := len(fields.items(spec.get("ports")))) > MOST_PORTS:
        raise DecodeError(str(name), "spec.ports", f"has {count} entries, at most {MOST_PORTS} are read")
    return Service(
        key=name,
        ports=tuple(_service_ports(spec.get("ports"), decode_contour.upstream_protocols(obj))),
        cluster_ip=fields.canonical_address(spec.get("clusterIP")) or "",
        type=intern(fields.text(spec.get("type")) or "ClusterIP"),
        local=spec.get("externalTrafficPolicy") == "Local",
        idled=_is_idled(obj),
        circuit_breakers=decode_contour.circuit_breakers(obj),
    )


def _is_idled(obj: JSON) -> bool:
    return bool(fields.text(fields.mapping(fields.mapping(obj["metadata"]).get("annotations")).get(IDLED_AT)))


def _service_ports(items: object, protocols: Mapping[str, str]) -> Iterator[ServicePort]:
    """Yield the ports. Args: protocols: by name or number of a port."""
    for item in fields.objects(items):
        if (number := fields.port(item.get("port"))) is not None:
            name = fields.text(item.get("name"))
            yield ServicePort(
                name=intern(name),
                port=number,
                protocol=intern(fields.text(item.get("protocol")) or "TCP"),
                target_port=fields.port_text(item.get("targetPort")),
                node_port=fields.port(item.get("nodePort")) or 0,
                app_protocol=intern(fields.text(item.get("appProtocol"))),
                upstream_protocol=protocols.get(name) or protocols.get(str(number), "") if protocols else "",
            )


def endpoint_slice(obj: JSON, *, placed: bool = False, located: bool = False) -> EndpointSlice | None:
    """Decode a discovery.k8s.io/v1 EndpointSlice; None without a Service, and for addressType FQDN.

    An endpoint without conditions.ready is ready. One that is not, but is terminating and still serves, is
    draining. Source: Kubernetes, KEP-1672, tracking terminating endpoints.

    Args:
        placed: keep the Nodes of the ready endpoints too.
        located: keep the Node of each ready address too.
    """
    name = fields.namespaced_key(obj)
    owner = fields.text(fields.mapping(fields.mapping(obj["metadata"]).get("labels")).get(SERVICE_LABEL))
    if not owner or obj.get("addressType") == "FQDN":
        return None
    ready, draining = [], []
    endpoints = fields.objects(obj.get("endpoints"))
    for endpoint in endpoints:
        conditions = fields.mapping(endpoint.get("conditions"))
        if conditions.get("ready") is not False:
            ready.append(endpoint)
        elif conditions.get("serving") is True and conditions.get("terminating") is True:
            draining.append(endpoint)
    ports, texts, leaving = _endpoint_ports(obj.get("ports")), _addresses(ready), _addresses(draining)
    usable = _parsed(texts[:MOST_ADDRESSES])
    with_pods = (endpoint for endpoint in ready if placed and fields.items(endpoint.get("addresses")))
    return EndpointSlice(
        name, intern(owner), usable, ports, _places(with_pods), max(0, len(texts) - MOST_ADDRESSES),
        _parsed(leaving[:MOST_ADDRESSES]) - usable, unready=len(ready) + len(draining) < len(endpoints),
        places=_located(
            (text, endpoint) for endpoint in ready for text in fields.items(endpoint.get("addresses"))
        ) if located else ())


def _located(endpoints: Iterable[tuple[object, JSON]]) -> tuple[tuple[str, str], ...]:
    """Return addresses with the names of their Nodes."""
    places = ((fields.canonical_address(text), intern(fields.text(endpoint.get("nodeName"))))
              for text, endpoint in islice(endpoints, MOST_ADDRESSES))
    return tuple(sorted({(address, node) for address, node in places if address}))


def _addresses(endpoints: Iterable[JSON]) -> list[object]:
    return [address for endpoint in endpoints for address in fields.items(endpoint.get("addresses"))]


def endpoints(obj: JSON, *, placed: bool = False, located: bool = False) -> tuple[EndpointSlice, ...]:
    """Decode a core/v1 Endpoints object: one value per subset, keyed <name>/<number> from 0.

    Args: placed, located: see endpoint_slice.
    Raises: DecodeError: too many subsets.
    """
    name, subsets = fields.namespaced_key(obj), fields.objects(obj.get("subsets"))
    if len(subsets) > MOST_SUBSETS:
        raise DecodeError(
            str(name), "subsets", f"has {len(subsets)} entries, at most {MOST_SUBSETS} are read")
    owner, room = intern(name.name), MOST_ADDRESSES
    slices = []
    for number, subset in enumerate(subsets):
        key = Key(name.namespace, f"{name.name}/{number}")
        slices.append(_subset(key, owner, subset, placed=placed, located=located, most=room))
        room = max(0, room - len(fields.items(subset.get("addresses"))))
    if not slices and _is_idled(obj):
        slices.append(EndpointSlice(Key(name.namespace, f"{name.name}/0"), owner, idled=True))
    return tuple(slices)


def _subset(name: Key, owner: str, subset: JSON, *, placed: bool, located: bool,
            most: int) -> EndpointSlice:
    endpoints, ports = fields.objects(subset.get("addresses")), _endpoint_ports(subset.get("ports"))
    return EndpointSlice(name, owner, _parsed(item.get("ip") for item in endpoints[:most]), ports,
                         _places(endpoints) if placed else frozenset(), max(0, len(endpoints) - most),
                         unready=bool(subset.get("notReadyAddresses")),
                         places=_located((item.get("ip"), item) for item in endpoints[:most])
                         if located else ())


def _places(items: Iterable[JSON]) -> frozenset[str]:
    return frozenset(intern(fields.text(item.get("nodeName"))) for item in items)


def _parsed(texts: Iterable[object]) -> frozenset[str]:
    return frozenset(address for address in map(fields.canonical_address, texts) if address)


def _endpoint_ports(items: object) -> tuple[EndpointPort, ...]:
    """Return the ports sorted, without duplicates and without those that have no number."""
    return tuple(sorted({
        EndpointPort(
            intern(fields.text(item.get("name"))), number, intern(fields.text(item.get("protocol")) or "TCP"))
        for item in fields.objects(items) if (number := fields.port(item.get("port"))) is not None}))


def namespace(obj: JSON) -> Namespace:
    """Decode a v1 Namespace or a project.openshift.io/v1 Project."""
    return Namespace(fields.cluster_key(obj), fields.labels(fields.mapping(obj["metadata"])))


def node(obj: JSON) -> Node:
    """Decode a core/v1 Node; one without a Ready condition is ready."""
    name = fields.cluster_key(obj)
    metadata = fields.mapping(obj["metadata"])
    spec, status = fields.mapping(obj.get("spec")), fields.mapping(obj.get("status"))
    internal = (fields.canonical_address(item.get("address"))
                for item in fields.objects(status.get("addresses"))
                if item.get("type") == "InternalIP")
    conditions = {fields.text(item.get("type")): item for item in fields.objects(status.get("conditions"))}
    cidrs = tuple(cidr for cidr in fields.items(spec.get("podCIDRs")) if isinstance(cidr, str))
    first = fields.text(spec.get("podCIDR"))
    annotations = fields.mapping(metadata.get("annotations"))
    internal_ips = tuple(address for address in internal if address)
    return Node(
        key=name,
        uid=fields.text(metadata.get("uid")),
        internal_ips=internal_ips,
        ready="Ready" not in conditions or conditions["Ready"].get("status") == "True",
        unschedulable=spec.get("unschedulable") is True,
        pod_cidrs=cidrs or ((first,) if first else ()),
        ovn_subnets=fields.text(annotations.get(OVN_SUBNETS), MOST_ANNOTATION),
        created=fields.text(metadata.get("creationTimestamp")),
        other_ips=tuple(sorted(_host_addresses(annotations) - {*internal_ips})),
    )


def _host_addresses(annotations: JSON) -> set[str]:
    """Return the addresses that OVN-Kubernetes' annotation lists; none if it is absent or invalid."""
    text = next((text for name in OVN_HOST_ADDRESSES if (
        text := fields.text(annotations.get(name), MOST_ANNOTATION))), "[]")
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return set()
    texts = (item.partition("/")[0] for item in islice(fields.items(listed), MOST_HOST_ADDRESSES)
             if isinstance(item, str))
    return {address for address in map(fields.canonical_address, texts) if address}


def secret(obj: JSON) -> Secret:
    """Decode a core/v1 Secret.

    Only certificates are kept of type Opaque, and nothing of types other than that and kubernetes.io/tls.
    """
    name, kind = fields.namespaced_key(obj), fields.text(obj.get("type"))
    data = fields.mapping(obj.get("data"))
    if kind not in (TLS_SECRET, OPAQUE):
        return Secret(name, kind)
    private_key = _plain(data.get("tls.key")) if kind == TLS_SECRET else ""
    return Secret(name, kind, _plain(data.get(TLS_CRT)), private_key, _plain(data.get(CA_CRT)))


def _plain(text: object) -> str:
    """Decode base64; "" if invalid."""
    try:
        return base64.b64decode(fields.pem(text), validate=True).decode("ascii", "replace")
    except ValueError:
        return ""


def host_subnet(obj: JSON) -> HostSubnet:
    """Decode a network.openshift.io/v1 HostSubnet, whose fields are at the top level."""
    host_ip = fields.canonical_address(obj.get("hostIP")) or ""
    return HostSubnet(fields.key(obj), host_ip, fields.text(obj.get("subnet")))


def cluster_network(obj: JSON) -> ClusterNetwork:
    """Decode a network.openshift.io/v1 ClusterNetwork: clusterNetworks, or network before OpenShift 3.7.

    vxlanPort came with OpenShift 3.10 (openshift/api#57, openshift/origin#20024).
    """
    listed = tuple(fields.text(item.get("CIDR")) for item in fields.objects(obj.get("clusterNetworks")))
    networks = listed or ((fields.text(obj.get("network")),) if obj.get("network") else ())
    return ClusterNetwork(fields.key(obj), networks, fields.port(obj.get("vxlanPort")) or VXLAN_PORT)


def block_affinity(obj: JSON) -> PodNetworks | None:
    """Decode a crd.projectcalico.org/v1 BlockAffinity: a block of addresses that Calico gave to a Node.

    None for a block that is not confirmed, is being given back, or belongs to no Node. Source:
    projectcalico/calico, libcalico-go/lib/apis/crd.projectcalico.org/v1, BlockAffinitySpec.
    """
    key, spec = fields.cluster_key(obj), fields.mapping(obj.get("spec"))
    node, cidr = fields.text(spec.get("node")), fields.text(spec.get("cidr"))
    confirmed = fields.text(spec.get("state")) in ("", "confirmed")
    deleted = str(spec.get("deleted")).lower() == "true"
    of_host = fields.text(spec.get("type")) in ("", "host")
    return PodNetworks(key, intern(node), (cidr,)) if (
        node and cidr and confirmed and not deleted and of_host) else None


def cilium_node(obj: JSON) -> PodNetworks:
    """Decode a cilium.io/v2 CiliumNode: its networks of pods, of one pool or of several.

    Source: cilium/cilium, pkg/k8s/apis/cilium.io/v2 (IPAMSpec) and pkg/ipam/types (IPAMPoolSpec).
    """
    key, ipam = fields.cluster_key(obj), fields.mapping(fields.mapping(obj.get("spec")).get("ipam"))
    pools = fields.objects(fields.mapping(ipam.get("pools")).get("allocated"))
    listed = [*fields.items(ipam.get("podCIDRs")), *(
        cidr for pool in pools for cidr in fields.items(pool.get("cidrs")))]
    texts = dict.fromkeys(text for text in listed[:MOST_NETWORKS] if isinstance(text, str))
    return PodNetworks(key, intern(key.name), tuple(texts))
