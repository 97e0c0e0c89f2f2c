"""References that are permitted: by ReferenceGrants, and by the namespaces that a listener allows.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1beta1/referencegrant_types.go (grants are in the namespace
of the target, and add up); apis/v1/gateway_types.go, AllowedRoutes; k8s.io/apimachinery, pkg/labels.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Protocol

from f5router.model.cluster import Key, Secret, Service
from f5router.model.gateway import (
    CONFIG_MAP,
    GROUP,
    Gateway,
    GatewayListener,
    ObjectRef,
    ReferenceGrant,
)
from f5router.model.secret_keys import config_map_key
from f5router.sources.gateway.backend_tls import BackendPolicies
from f5router.sources.gateway.certificates import ReadCertificates


class GatewayView(Protocol):
    """The part of the cluster that Gateways and their routes refer to."""

    def grants(self, namespace: str) -> Iterable[ReferenceGrant]:
        """Return the ReferenceGrants of a namespace."""

    def labels(self, namespace: str) -> Mapping[str, str]:
        """Return the labels of a namespace."""

    def service(self, key: Key) -> Service | None: ...

    def secret(self, key: Key) -> Secret | None:
        """Return a Secret; None if its content is not known yet."""

    @property
    def policies(self) -> BackendPolicies: ...

    @property
    def certificates(self) -> ReadCertificates: ...

    @property
    def unread(self) -> Collection[str]:
        """Kinds of objects that are not known, see Delta.sources_unread."""

    @property
    def absent(self) -> Collection[str]:
        """Kinds of routes that the cluster does not have, see Delta.routes_absent."""


def permits(view: GatewayView, source: Key, kind: str, target: ObjectRef) -> bool:
    """True if an object of the Gateway API may refer to a target; within a namespace it always may.

    Args: source: the object that refers; kind: its kind, of the group of the Gateway API.
    """
    key = target.key(source.namespace)
    if key.namespace == source.namespace:
        return True
    return any(
        any((each.group, each.kind, each.namespace) == (GROUP, kind, source.namespace)
            for each in grant.sources)
        and any((each.group, each.kind) == target[:2] and each.name in ("", key.name)
                for each in grant.targets)
        for grant in view.grants(key.namespace))


def allows_namespace(view: GatewayView, listener: GatewayListener, gateway: Key, namespace: str) -> bool:
    """True if a listener allows routes of a namespace."""
    if listener.namespaces == "All":
        return True
    if listener.namespaces == "Same":
        return namespace == gateway.namespace
    if listener.namespaces != "Selector" or listener.selector is None:
        return False
    labels = view.labels(namespace)
    return all(each.takes(labels) for each in listener.selector)


def secrets(gateway: Gateway) -> Iterator[tuple[ObjectRef, Key]]:
    """Yield what a Gateway refers to: Secrets and ConfigMaps, each with the key under which it is read."""
    for listener in gateway.listeners:
        for ref in listener.certificates if listener.tls_mode == "Terminate" else ():
            yield ref, ref.key(gateway.key.namespace)
    for validation in (gateway.default_validation, *(each for _, each in gateway.port_validations)):
        for ref in validation.authorities if validation else ():
            if ref[:2] == ("", CONFIG_MAP):
                yield ref, config_map_key(ref.key(gateway.key.namespace))
