"""Readings of single objects: by name, Services, and what shows the network plug-in.

The API server lists the Routes of a namespace that does not exist like those of an empty one: with 200 and no
items. So a router with a misspelt name would remove all its objects from the BIG-IP.
Only admission checks that a namespace exists (NamespaceLifecycle), and admission does not see reads.
Source: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/

A list that asks for no resourceVersion is as new as the request. Source: Kubernetes API concepts, semantics
for get and list.

Any other object is read by its name as the API server has it, whether the router selects it or not, and by a
list: the router has the right to list each kind that it serves, and not to get. Every kind has the field
metadata.name. Source: Kubernetes, Field Selectors, "Supported fields".

The network plug-in is for `f5router doctor` alone.
Sources: openshift/origin v3.11.0, HostSubnet; ovn-kubernetes, go-controller/pkg/util/node_annotations.go;
flannel, Documentation/kubernetes.md (annotations of its subnet manager); projectcalico/calico,
libcalico-go/lib/backend/k8s/conversion (projectcalico.org/IPv4Address); cilium, pkg/annotation
(network.cilium.io, and io.cilium.network before 1.14).
"""

import logging
import re
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple
from urllib.parse import quote

from f5router.kube.api import fields
from f5router.kube.api.connection import Connection
from f5router.kube.api.decode import SERVICE_LABEL
from f5router.kube.api.requests import Collection
from f5router.kube.watch.reflector import METADATA_LIST, decode_document
from f5router.kube.watch.sources import (
    ENDPOINTS,
    HOST_SUBNETS,
    INGRESS_CLASSES,
    NAMESPACES,
    NODES,
    SERVICES,
    Source,
    choose_served,
    is_served,
)
from f5router.model.cluster import EndpointSlice, Key, Service, is_object_name
from f5router.model.errors import KubeError, KubeNotFound, KubeUnreachable
from f5router.model.ingress import IngressClass
from f5router.model.json_types import JSON
from f5router.model.limits import Backoff
from f5router.model.texts import MOST_NAMES, did_you_mean

log = logging.getLogger(__name__)

RETRY = Backoff(first_s=0.5, limit_s=10.0)
"""Waits before the namespace is looked up again."""

FLAG = "--namespace / -n"


def wait_for_namespace(connection: Connection, name: str, *, on_absent: Callable[[str], None],
                       stopped: threading.Event) -> None:
    """Return when the namespace exists, when the account may not look it up, or when stopped.

    The account of one namespace may have no right on Namespaces: then the check is skipped.

    Args: on_absent: called once with the problem if the namespace does not exist; with "" when it does.
    """
    absent, failures = "", 0
    while not stopped.is_set():
        try:
            connection.request("GET", f"{NAMESPACES.path(None)}/{quote(name, safe='')}")
        except KubeNotFound:
            if not absent:
                absent = f"{FLAG}: the namespace {name!r} does not exist{_hint(connection, name, stopped)}"
                on_absent(absent)
        except KubeUnreachable as exc:
            connection.outages.failed(NAMESPACES.resource, exc)
        except KubeError as exc:
            log.info("namespace not checked: a misspelt name would go unnoticed", extra={
                "setting": FLAG, "namespace": name, "error": str(exc)})
            break
        else:
            break
        failures += 1
        stopped.wait(RETRY.jittered_s(failures))
    connection.outages.answered(NAMESPACES.resource)
    if absent and not stopped.is_set():
        on_absent("")


def _hint(connection: Connection, name: str, stopped: threading.Event) -> str:
    """Return the nearest existing name, if Namespaces may be listed and one is similar."""
    namespaces = Collection(connection, NAMESPACES.path(None), {}, stopped=stopped, accept=METADATA_LIST)
    try:
        return did_you_mean(name, (fields.key(item).name for item in namespaces.values()))
    except (KubeError, fields.DecodeError):
        return ""


_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""Any other name is no Service's, and may mean something in a selector."""


class ServiceReading(NamedTuple):
    """A Service as the API server has it."""

    service: Service | None
    """None: there is none."""
    slices: frozenset[EndpointSlice]


def read_services(connection: Connection, slices: Source, service: Key) -> ServiceReading:
    """Read a Service. Args: slices: kind of its endpoints. Raises: KubeError."""
    if not _NAME.fullmatch(service.name):
        return ServiceReading(None, frozenset())
    by_name = {"fieldSelector": f"metadata.name={service.name}"}
    by_label = {"labelSelector": f"{SERVICE_LABEL}={service.name}"}
    named = _values(connection, SERVICES, service.namespace, by_name)
    endpoints = _values(connection, slices, service.namespace,
                        by_name if slices.resource == ENDPOINTS.resource else by_label)
    return ServiceReading(next((value for value in named if isinstance(value, Service)), None),
                          frozenset(value for value in endpoints if isinstance(value, EndpointSlice)))


def _values(connection: Connection, source: Source, namespace: str, query: dict[str, str]) -> list[object]:
    documents = Collection(connection, source.path(namespace), query).documents()
    return [value for document in documents for value in decode_document(source, document)[1]]


OPENSHIFT_SDN, OVN, FLANNEL, CALICO, CILIUM = (
    "OpenShift SDN", "OVN-Kubernetes", "flannel", "Calico", "Cilium")

_ANNOTATIONS = {
    "k8s.ovn.org/": OVN, "flannel.alpha.coreos.com/": FLANNEL, "projectcalico.org/": CALICO,
    "network.cilium.io/": CILIUM, "io.cilium.network": CILIUM}
"""Beginnings of a Node's annotations. Calico may enforce policies on flannel's network: its own come last."""


def network_plugin(connection: Connection) -> str:
    """Return the plug-in by one Node's annotations, or the kinds that are served; "" if nothing shows it."""
    try:
        reply = connection.request("GET", NODES.path(None), query={"limit": 1})
        nodes = fields.objects(fields.mapping(reply).get("items"))
    except KubeError:
        nodes = []
    annotations: Mapping[str, object] = {}
    for node in nodes:
        annotations = fields.mapping(fields.mapping(node.get("metadata")).get("annotations"))
    for beginning, plugin in _ANNOTATIONS.items():
        if any(name.startswith(beginning) for name in annotations):
            return plugin
    try:
        return OPENSHIFT_SDN if is_served(connection, HOST_SUBNETS) else ""
    except KubeError:
        return ""


def find_object(connection: Connection, source: Source, key: Key,
                selectors: Mapping[str, str] | None = None) -> JSON | None:
    """Return an object; None if there is none, or it does not match. Raises: KubeError.

    Args: selectors: labelSelector and fieldSelector, which the API server applies.
    """
    if not is_object_name(key.name):
        return None  # no object can have this name, and it may mean something in a selector
    given = dict(selectors or {})
    chosen = ",".join(filter(None, (f"metadata.name={key.name}", given.get("fieldSelector"))))
    objects = Collection(connection, source.path(key.namespace), {**given, "fieldSelector": chosen}).values()
    return next(map(fields.mapping, objects), None)


def object_names(connection: Connection, source: Source, namespace: str) -> list[str]:
    """Return names of a kind in a namespace, at most one more than are compared. Raises: KubeError."""
    objects = Collection(connection, source.path(namespace), {}, page_size=MOST_NAMES + 1,
                         accept=METADATA_LIST).values()
    return [fields.text(fields.mapping(fields.mapping(obj).get("metadata")).get("name"))
            for obj in islice(objects, MOST_NAMES + 1)]


def labelled(connection: Connection, source: Source, namespace: str, selector: str) -> set[Key]:
    """Return the objects of a kind that a label selector chooses, as the API server applies it.

    Args: namespace: "" for all.
    Raises: KubeError.
    """
    objects = Collection(connection, source.path(namespace or None), {"labelSelector": selector},
                         accept=METADATA_LIST).values()
    keys = set()
    for obj in objects:
        with suppress(fields.DecodeError):  # its name is impossible: the router leaves it out, too
            keys.add(fields.key(obj))
    return keys


def ingress_classes(connection: Connection) -> dict[Key, IngressClass]:
    """Return the IngressClasses of the cluster, at most MOST_NAMES. Raises: KubeError."""
    source = choose_served(connection, INGRESS_CLASSES)
    documents = Collection(connection, source.path(None), {}).documents() if source else ()
    return {value.key: value for document in islice(documents, MOST_NAMES)
            for value in decode_document(INGRESS_CLASSES, document)[1]}
