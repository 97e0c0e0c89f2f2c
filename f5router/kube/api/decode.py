"""Kubernetes API objects, as plain JSON, to the values of cluster.py.

Nothing here trusts its input: objects may have been stored before a validation existed, or come
from a custom resource without one. A field of a wrong type has its neutral value; where that value
would serve something that nobody asked for, the object is refused with DecodeError and counts as
absent. So does an object with a name that the API gives to none: names on the BIG-IP and paths of
requests are made of it.

Only what the router reads is kept, so that nobody fills its memory: no annotation or label but those
that are named here, and no text that is longer than any good one.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from sys import intern
from typing import Any

from f5router.admission import annotations
from f5router.kube.api import addresses
from f5router.model.cluster import (
    OVN_SUBNETS,
    TLS_SECRET,
    VXLAN_PORT,
    ClusterNetwork,
    EndpointPort,
    EndpointSlice,
    HostSubnet,
    Key,
    Namespace,
    Node,
    Route,
    RouteTLS,
    Secret,
    Service,
    ServicePort,
    is_object_name,
)
from f5router.model.errors import RouterError
from f5router.model.hostnames import quote
from f5router.model.json_types import JSON

SERVICE_LABEL = "kubernetes.io/service-name"

MOST_TEXT = 4096
"""Characters that are kept of a text other than a certificate or a key. Whatever is checked has to be
shorter, so a text that is cut here is refused there."""

MOST_ANNOTATION = 1 << 18
"""Characters of all annotations of an object. Source: k8s.io/apimachinery, TotalAnnotationSizeLimitB."""

MOST_ALTERNATES = 3
"""Services beside spec.to. Source: openshift/library-go, validateRoute."""

MOST_PORTS = 1000
"""Ports of a Service. Each one costs memory, and the API allows as many as there are numbers."""

MOST_ADDRESSES = 10_000
"""Addresses that are read of an EndpointSlice or Endpoints object; more are counted. Kubernetes' controllers
write 1,000 at most into either. Source: kubernetes, pkg/controller/endpoint, maxCapacity; discovery/v1,
EndpointSlice.endpoints."""

MOST_SUBSETS = 1000
"""Subsets of an Endpoints object. Each one costs memory; a controller makes one for each set of ports."""

_SEGMENT = re.compile(r"[!-$&-.0-~]{1,253}")
"""A name that may stand in a path, of printable ASCII. Source: k8s.io/apimachinery, IsValidPathSegmentName,
which forbids "/", "%", "." and ".."."""
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")

_NOTHING: JSON = {}


class DecodeError(RouterError):
    """An object that has no meaning.

    Attributes:
        key: the object, as far as it is known.
        field: path of the field, such as "spec.tls".
        problem: what is wrong with the field.
    """

    def __init__(self, key: str, field: str, problem: str = "has a wrong type"):
        super().__init__(f"{key}: {field} {problem}")
        self.key, self.field, self.problem = key, field, problem


def key(obj: object) -> Key:
    """Namespace and name of any object.

    Raises:
        DecodeError: there is no name, or one that no object of any kind can have.
    """
    metadata = _mapping(_mapping(obj).get("metadata"))
    name, space = metadata.get("name"), metadata.get("namespace")
    if not name or not isinstance(name, str):
        raise DecodeError("an object", "metadata.name")
    if not _SEGMENT.fullmatch(name) or name in (".", ".."):
        raise DecodeError(quote(name), "metadata.name", "is no name of an object")
    if space and not (isinstance(space, str) and _LABEL.fullmatch(space)):
        raise DecodeError(quote(name), "metadata.namespace", "is no name of a namespace")
    return Key(intern(space or ""), name)


def _named(obj: object) -> Key:
    """The key of an object of a kind whose names are DNS subdomains, as those of most kinds are.

    Sources: k8s.io/apimachinery, NameIsDNSSubdomain; for Routes openshift/library-go, validateRouteName.

    Raises:
        DecodeError: it has another name.
    """
    found = key(obj)
    if not is_object_name(found.name):
        raise DecodeError(str(found), "metadata.name", "is no DNS subdomain")
    return found


def _in_namespace(obj: object) -> Key:
    """The same, of a kind whose objects lie in namespaces.

    Raises:
        DecodeError: it has another name, or no namespace.
    """
    found = _named(obj)
    if not found.namespace:
        raise DecodeError(str(found), "metadata.namespace", "is missing")
    return found


def resource_version(obj: object) -> str:
    """metadata.resourceVersion of an object or a list, "" without one."""
    return _text(_mapping(_mapping(obj).get("metadata")).get("resourceVersion"))


def uid(obj: object) -> str:
    """metadata.uid of an object, "" without one."""
    return _text(_mapping(_mapping(obj).get("metadata")).get("uid"))


def ingress(obj: object) -> tuple[JSON, ...]:
    """status.ingress of a Route."""
    return tuple(_objects(_mapping(_mapping(obj).get("status")).get("ingress")))


def route(obj: JSON) -> Route:
    """A route.openshift.io/v1 Route.

    Raises:
        DecodeError: no name; spec, spec.path or spec.tls of a wrong type. Neutral values of the
            last two would serve more paths than asked for, or in clear text.
    """
    name = _in_namespace(obj)
    metadata = _mapping(obj["metadata"])
    spec = obj.get("spec")
    if not isinstance(spec, Mapping):
        raise DecodeError(str(name), "spec")
    path = spec.get("path")
    if not (path is None or isinstance(path, str)):
        raise DecodeError(str(name), "spec.path")
    to = _mapping(spec.get("to"))
    return Route(
        key=name,
        uid=_text(metadata.get("uid")),
        created=_text(metadata.get("creationTimestamp")),
        host=_text(spec.get("host")),
        subdomain=_text(spec.get("subdomain")),
        path=_text(path),
        service=_text(to.get("name")),
        service_kind=intern(_text(to.get("kind")) or "Service"),
        weight=_integer(to.get("weight")),
        alternate_services=_alternates(spec.get("alternateBackends")),
        target_port=_port_text(_mapping(spec.get("port")).get("targetPort")),
        tls=_tls(name, spec.get("tls")),
        wildcard_policy=intern(_text(spec.get("wildcardPolicy")) or "None"),
        unsupported=_unsupported(metadata, spec),
        resource_version=_text(metadata.get("resourceVersion")),
        status_ingress=ingress(obj),
    )


def _unsupported(metadata: JSON, spec: JSON) -> tuple[str, ...]:
    """Keys of what a team wrote for a router and has no effect; an empty annotation asks for nothing."""
    given = _mapping(metadata.get("annotations"))
    keys = annotations.select(key for key, value in given.items() if isinstance(value, str) and value.strip())
    actions = _mapping(_mapping(spec.get("httpHeaders")).get("actions"))
    headers = any(_items(actions.get(name)) for name in ("request", "response"))
    return tuple(intern(key) for key in (*keys, *((annotations.HEADERS,) if headers else ())))


def _alternates(items: object) -> tuple[str, ...]:
    """The first few Services that have a name; the API allows three."""
    named = (service for item in _objects(items) if (service := _text(item.get("name"))))
    return tuple(islice(named, MOST_ALTERNATES))


def _tls(name: Key, tls: object) -> RouteTLS | None:
    if tls is None:
        return None
    if not isinstance(tls, Mapping):
        raise DecodeError(str(name), "spec.tls")
    return RouteTLS(
        termination=intern(_text(tls.get("termination"))),
        insecure_policy=intern(_text(tls.get("insecureEdgeTerminationPolicy"))),
        certificate=_pem(tls.get("certificate")),
        key=_pem(tls.get("key")),
        ca_certificate=_pem(tls.get("caCertificate")),
        destination_ca_certificate=_pem(tls.get("destinationCACertificate")),
        external_certificate=_text(_mapping(tls.get("externalCertificate")).get("name")),
    )


def service(obj: JSON) -> Service:
    """A core/v1 Service; a headless one has cluster_ip "".

    Raises:
        DecodeError: no name; too many ports.
    """
    name = _in_namespace(obj)
    spec = _mapping(obj.get("spec"))
    if (count := len(_items(spec.get("ports")))) > MOST_PORTS:
        raise DecodeError(str(name), "spec.ports", f"has {count} entries, at most {MOST_PORTS} are read")
    return Service(
        key=name,
        ports=tuple(_service_ports(spec.get("ports"))),
        cluster_ip=addresses.parse(spec.get("clusterIP")) or "",
        type=intern(_text(spec.get("type")) or "ClusterIP"),
        local=spec.get("externalTrafficPolicy") == "Local",
    )


def _service_ports(items: object) -> Iterator[ServicePort]:
    for item in _objects(items):
        if (number := _port(item.get("port"))) is not None:
            yield ServicePort(
                name=intern(_text(item.get("name"))),
                port=number,
                protocol=intern(_text(item.get("protocol")) or "TCP"),
                target_port=_port_text(item.get("targetPort")),
                node_port=_port(item.get("nodePort")) or 0,
            )


def endpoint_slice(obj: JSON, *, placed: bool = False) -> EndpointSlice | None:
    """A discovery.k8s.io/v1 EndpointSlice.

    None without a Service, and for addressType FQDN. An endpoint without conditions.ready is ready.

    Args:
        placed: keep the Nodes of the ready endpoints instead of their addresses.
    Raises:
        DecodeError: no name.
    """
    name = _in_namespace(obj)
    owner = _text(_mapping(_mapping(obj["metadata"]).get("labels")).get(SERVICE_LABEL))
    if not owner or obj.get("addressType") == "FQDN":
        return None
    ready = [endpoint for endpoint in _objects(obj.get("endpoints"))
             if _mapping(endpoint.get("conditions")).get("ready") is not False]
    ports = _endpoint_ports(obj.get("ports"))
    if placed:
        return EndpointSlice(name, intern(owner), ports=ports, nodes=_places(
            endpoint for endpoint in ready if _items(endpoint.get("addresses"))))
    texts = [address for endpoint in ready for address in _items(endpoint.get("addresses"))]
    return EndpointSlice(name, intern(owner), _parsed(texts[:MOST_ADDRESSES]), ports,
                         omitted=max(0, len(texts) - MOST_ADDRESSES))


def endpoints(obj: JSON, *, placed: bool = False) -> tuple[EndpointSlice, ...]:
    """A core/v1 Endpoints object: one value per subset, keyed <name>/<number> from 0.

    Args:
        placed: as of endpoint_slice.
    Raises:
        DecodeError: no name; too many subsets.
    """
    name, subsets = _in_namespace(obj), _objects(obj.get("subsets"))
    if len(subsets) > MOST_SUBSETS:
        raise DecodeError(
            str(name), "subsets", f"has {len(subsets)} entries, at most {MOST_SUBSETS} are read")
    owner, left, found = intern(name.name), MOST_ADDRESSES, []
    for number, subset in enumerate(subsets):
        key_ = Key(name.namespace, f"{name.name}/{number}")
        found.append(_subset(key_, owner, subset, placed=placed, most=left))
        left = max(0, left - len(_items(subset.get("addresses"))))
    return tuple(found)


def _subset(name: Key, owner: str, subset: JSON, *, placed: bool, most: int) -> EndpointSlice:
    found, ports = _objects(subset.get("addresses")), _endpoint_ports(subset.get("ports"))
    if placed:
        return EndpointSlice(name, owner, ports=ports, nodes=_places(found))
    return EndpointSlice(name, owner, _parsed(item.get("ip") for item in found[:most]), ports,
                         omitted=max(0, len(found) - most))


def _places(items: Iterable[JSON]) -> frozenset[str]:
    return frozenset(intern(_text(item.get("nodeName"))) for item in items)


def _parsed(texts: Iterable[object]) -> frozenset[str]:
    return frozenset(address for address in map(addresses.parse, texts) if address)


def _endpoint_ports(items: object) -> tuple[EndpointPort, ...]:
    """Sorted, without duplicates and without ports that have no number."""
    return tuple(sorted({
        EndpointPort(intern(_text(item.get("name"))), number, intern(_text(item.get("protocol")) or "TCP"))
        for item in _objects(items) if (number := _port(item.get("port"))) is not None}))


def namespace(obj: JSON) -> Namespace:
    """A v1 Namespace or a project.openshift.io/v1 Project. Raises: DecodeError: no name."""
    return Namespace(_named(obj))


def node(obj: JSON) -> Node:
    """A core/v1 Node. Without a Ready condition it is ready.

    Raises:
        DecodeError: no name.
    """
    name = _named(obj)
    metadata = _mapping(obj["metadata"])
    spec, status = _mapping(obj.get("spec")), _mapping(obj.get("status"))
    internal = (addresses.parse(item.get("address")) for item in _objects(status.get("addresses"))
                if item.get("type") == "InternalIP")
    conditions = {_text(item.get("type")): item for item in _objects(status.get("conditions"))}
    cidrs = tuple(cidr for cidr in _items(spec.get("podCIDRs")) if isinstance(cidr, str))
    first = _text(spec.get("podCIDR"))
    return Node(
        key=name,
        uid=_text(metadata.get("uid")),
        internal_ips=tuple(address for address in internal if address),
        ready="Ready" not in conditions or conditions["Ready"].get("status") == "True",
        unschedulable=spec.get("unschedulable") is True,
        pod_cidrs=cidrs or ((first,) if first else ()),
        ovn_subnets=_text(_mapping(metadata.get("annotations")).get(OVN_SUBNETS), MOST_ANNOTATION),
        created=_text(metadata.get("creationTimestamp")),
    )


def secret(obj: JSON) -> Secret:
    """A core/v1 Secret; of types other than kubernetes.io/tls only the type is kept.

    Raises:
        DecodeError: no name.
    """
    name, kind, data = _in_namespace(obj), _text(obj.get("type")), _mapping(obj.get("data"))
    if kind != TLS_SECRET:
        return Secret(name, kind)
    return Secret(name, kind, _plain(data.get("tls.crt")), _plain(data.get("tls.key")))


def _plain(text: object) -> str:
    """What base64 stands for; "" for what is none."""
    try:
        return base64.b64decode(_pem(text), validate=True).decode("ascii", "replace")
    except ValueError:
        return ""


def host_subnet(obj: JSON) -> HostSubnet:
    """A network.openshift.io/v1 HostSubnet; its fields stand at the top.

    Raises:
        DecodeError: no name.
    """
    return HostSubnet(key(obj), addresses.parse(obj.get("hostIP")) or "", _text(obj.get("subnet")))


def cluster_network(obj: JSON) -> ClusterNetwork:
    """A network.openshift.io/v1 ClusterNetwork: clusterNetworks, or network alone before OpenShift 3.7.

    vxlanPort came with OpenShift 3.10 (openshift/api#57, openshift/origin#20024).

    Raises:
        DecodeError: no name.
    """
    found = tuple(_text(item.get("CIDR")) for item in _objects(obj.get("clusterNetworks")))
    networks = found or ((_text(obj.get("network")),) if obj.get("network") else ())
    return ClusterNetwork(key(obj), networks, _port(obj.get("vxlanPort")) or VXLAN_PORT)


def _mapping(value: object) -> JSON:
    return value if isinstance(value, Mapping) else _NOTHING


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[JSON]:
    return [item for item in _items(value) if isinstance(item, Mapping)]


def _text(value: object, most: int = MOST_TEXT) -> str:
    return value[:most] if isinstance(value, str) else ""


def _pem(value: object) -> str:
    return value if isinstance(value, str) else ""


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _port(value: object) -> int | None:
    number = _integer(value)
    return number if number is not None and 0 < number < 1 << 16 else None


def _port_text(value: object) -> str:
    """An IntOrString: number or name."""
    number = _integer(value)
    return intern(_text(value) if number is None else str(number))
