"""Statuses of the objects that the watches have read."""

from f5router.model.gateway import BackendTLSPolicy, Gateway, GatewayClass, GatewayRoute
from f5router.model.ingress import IngressRoute
from f5router.model.known_status import KnownStatus


def status_of(obj: object) -> KnownStatus | None:
    """Return the status of an object of the Gateway API, or of an IngressRoute; None for any other."""
    if isinstance(obj, IngressRoute):
        current, description = obj.status
        return KnownStatus.read(obj.uid, obj.resource_version,
                                {"currentStatus": current, "description": description})
    if not isinstance(obj, BackendTLSPolicy | GatewayClass | Gateway | GatewayRoute):
        return None
    return KnownStatus.read(obj.uid, obj.resource_version, obj.status)
