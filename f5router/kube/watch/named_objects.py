"""One object by its name, as the API server has it, whether the router selects it or not.

It is read by a list: the router has the right to list each kind that it serves, and not to get. Every kind
has the field metadata.name. Source: Kubernetes, Field Selectors, "Supported fields".
"""

from collections.abc import Mapping
from itertools import islice

from f5router.kube.api import fields
from f5router.kube.api.connection import Connection
from f5router.kube.api.requests import Collection
from f5router.kube.watch.reflector import METADATA_LIST, decode_document
from f5router.kube.watch.sources import INGRESS_CLASSES, Source, choose_served
from f5router.model.cluster import Key, is_object_name
from f5router.model.ingress import IngressClass
from f5router.model.json_types import JSON
from f5router.model.spelling import MOST_NAMES


def find(connection: Connection, source: Source, key: Key,
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


def names(connection: Connection, source: Source, namespace: str) -> list[str]:
    """Return names of a kind in a namespace, at most MOST_NAMES. Raises: KubeError."""
    objects = Collection(connection, source.path(namespace), {}, page_size=MOST_NAMES,
                         accept=METADATA_LIST).values()
    return [fields.text(fields.mapping(fields.mapping(obj).get("metadata")).get("name"))
            for obj in islice(objects, MOST_NAMES)]


def ingress_classes(connection: Connection) -> dict[Key, IngressClass]:
    """Return the IngressClasses of the cluster, at most MOST_NAMES. Raises: KubeError."""
    source = choose_served(connection, INGRESS_CLASSES)
    documents = Collection(connection, source.path(None), {}).documents() if source else ()
    return {value.key: value for document in islice(documents, MOST_NAMES)
            for value in decode_document(INGRESS_CLASSES, document)[1]}
