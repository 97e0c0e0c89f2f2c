"""Reasons why a Service gives a Route no pods, with what to write instead where that is known.

Source for the meaning of a port: OpenShift, Route v1, spec.port.targetPort: a name is looked up in the ports
of the endpoints, which have the names of the Service's ports; a number is one of the pods'.
"""

from collections.abc import Iterable, Iterator

from f5router.model.cluster import ServicePort
from f5router.model.texts import (
    EXTERNAL_NAME,
    NO_ENDPOINTS,
    PORT_NOT_FOUND,
    SERVICE_IDLED,
    Problem,
    did_you_mean,
)
from f5router.network.pool_members import ServiceEndpoints

MOST_PORTS = 5
"""Ports of a Service that a text names."""

MOST_COMPARED = 50
"""Ports that are compared with one that a Service lacks: the control loop does so."""

PORT_FIELD = "spec.port.targetPort"


def warnings(field: str, port: str, view: ServiceEndpoints, *, served: bool) -> Iterator[Problem]:
    """Yield why a Route to an existing Service has no pods.

    Args:
        field: the one that names the Service.
        served: True if the Route is served at all.
    """
    if view.service is None:
        return
    name = view.service.key.name
    if served and view.service.type == "ExternalName":
        yield Problem(EXTERNAL_NAME, (
            f"{field}: Service {name} has the type ExternalName, whose host name is not looked up"))
    elif text := port_problem(port, view):
        yield Problem(PORT_NOT_FOUND, f"{PORT_FIELD if port else field}: {text}")
    elif served and (view.service.idled or any(slice_.idled for slice_ in view.slices)):
        yield Problem(SERVICE_IDLED, (
            f"{field}: Service {name} is idled, and requests through a BIG-IP do not wake its pods"))
    elif served:
        yield Problem(NO_ENDPOINTS, f"{field}: {no_pods(name, view)}")


def no_pods(name: str, view: ServiceEndpoints) -> str:
    """Return that no pod of a Service is ready, and whether it has any."""
    if any(slice_.unready for slice_ in view.slices):
        return f"Service {name} has no ready endpoints: it has pods, and none of them is ready"
    return f"Service {name} has no ready endpoints, and no others: it selects no pod that runs"


def port_problem(wanted: str, view: ServiceEndpoints) -> str:
    """Return why a Service has no such port for TCP; "" if it has. Args: wanted: "" for all its ports."""
    if view.service is None:
        return ""
    name, ports = view.service.key.name, view.service.ports
    of_pods = {(port.name, str(port.port), port.protocol) for slice_ in view.slices for port in slice_.ports}
    known = of_pods or {(port.name, port.target_port, port.protocol) for port in ports}
    protocols = {protocol for port, number, protocol in known if wanted in ("", port, number)}
    if "TCP" in protocols or (not wanted and not known):
        return ""
    is_named = any(not port.target_port.isdigit() for port in ports if port.protocol == "TCP")
    if not of_pods and wanted.isdigit() and is_named:
        return ""  # only pods show the number of a named port
    if protocols:
        what = f"port {wanted} of Service {name}" if wanted else f"each port of Service {name}"
        return f"{what} is for {' and '.join(sorted(protocols))}; a Route needs TCP"
    if of_service := next((port for port in ports if wanted == str(port.port)), None):
        return (f"{wanted} is the port of Service {name}, not of its pods: write "
                f"{' or '.join(filter(None, (of_service.name, _number(of_service, of_pods))))}")
    if of_pod := next((port for port in ports if wanted == port.target_port), None):
        return (f"{wanted} is the name of a port in the pods: write {of_pod.name or of_pod.port}, the one of "
                f"Service {name}")
    return f"Service {name} has no port {wanted}{_others(wanted, known)}"


def _number(port: ServicePort, of_pods: Iterable[tuple[str, str, str]]) -> str:
    """Return the number of a Service's port in the pods; the targetPort may be a name."""
    return next((number for name, number, _ in of_pods if name == port.name), port.target_port)


def _others(wanted: str, known: Iterable[tuple[str, str, str]]) -> str:
    """Return the ports that there are, the one that is perhaps meant first."""
    names = sorted({name or number for name, number, _ in known} - {""})
    if not names:
        return ""
    if near := did_you_mean(wanted, names[:MOST_COMPARED]):
        return near
    more = f" and {len(names) - MOST_PORTS} more" if len(names) > MOST_PORTS else ""
    return f"; it has {', '.join(names[:MOST_PORTS])}{more}"
