"""Reads one Service with its endpoints from the API server itself: a watch may have broken unnoticed.

A list that asks for no resourceVersion is as new as the request. Source: Kubernetes API concepts, semantics
for get and list.
"""

import re
from typing import NamedTuple

from f5router.kube.api.collection import Collection
from f5router.kube.api.connection import Connection
from f5router.kube.api.decode import SERVICE_LABEL
from f5router.kube.watch.reflector import decode_document
from f5router.kube.watch.sources import ENDPOINTS, SERVICES, Source
from f5router.model.cluster import EndpointSlice, Key, Service

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""Any other name is no Service's, and may mean something in a selector."""


class ServiceReading(NamedTuple):
    """A Service as the API server has it."""

    service: Service | None
    """None: there is none."""
    slices: frozenset[EndpointSlice]


def read(connection: Connection, slices: Source, service: Key) -> ServiceReading:
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
