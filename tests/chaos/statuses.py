"""Statuses of Routes, Ingresses and IngressRoutes, compared with those that are right."""

from collections.abc import Iterator

from tests.chaos.expected import Expected
from tests.feature.conftest import Lab


def problems(lab: Lab, wanted: Expected) -> list[str]:
    """Return the statuses that are not right."""
    return [*_of_routes(lab, wanted), *_of_ingresses(lab, wanted), *_of_ingress_routes(lab, wanted)]


def _of_routes(lab: Lab, wanted: Expected) -> Iterator[str]:
    for key, route in wanted.cluster.routes.items():
        if route.origin:
            continue
        condition = lab.admitted(key.namespace, key.name)
        got = condition.get("status"), condition.get("reason", "")
        rejection = wanted.built.rejections.get(key)
        right = ("False", rejection.reason) if rejection else ("True", "")
        if got != right:
            yield f"status of Route {key}: {got} {condition.get('message')} instead of {right}"


def _of_ingresses(lab: Lab, wanted: Expected) -> Iterator[str]:
    for key, served in wanted.ingresses.items():
        status = lab.kube.get("Ingress", key.namespace, key.name).get("status") or {}
        entries = (status.get("loadBalancer") or {}).get("ingress") or []
        if bool(entries) != served:
            yield f"status of Ingress {key}: {entries}, served: {served}"


def _of_ingress_routes(lab: Lab, wanted: Expected) -> Iterator[str]:
    for key, right in wanted.ingress_routes.items():
        status = lab.kube.get("IngressRoute", key.namespace, key.name).get("status") or {}
        if (got := status.get("currentStatus")) != right:
            yield f"status of IngressRoute {key}: {got} instead of {right}"
