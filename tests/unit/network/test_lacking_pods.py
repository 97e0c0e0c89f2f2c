"""Reasons why a Service gives a Route no pods."""

from dataclasses import replace

from f5router.model.cluster import EndpointPort, ServicePort
from f5router.network import lacking_pods
from f5router.network.pool_members import ServiceEndpoints
from tests.builders import endpoints, service
from tests.rows import rows

PORTS = (ServicePort("http", 80, target_port="8080"), ServicePort("metrics", 9100, target_port="prom"),
         ServicePort("dns", 53, "UDP", "53"))
SLICE = replace(endpoints(), ports=(EndpointPort("http", 8080), EndpointPort("metrics", 9090),
                                    EndpointPort("dns", 53, "UDP")))
WEB = replace(service("web"), ports=PORTS)
MANY = replace(SLICE, ports=tuple(EndpointPort(f"p{number}", number) for number in range(1, 10)))


@rows(("port", "slices", "text"), [
    ("http", (SLICE,), ""), ("8080", (SLICE,), ""), ("", (SLICE,), ""), ("", (), ""), ("8080", (), ""),
    ("80", (SLICE,), "80 is the port of Service web, not of its pods: write http or 8080"),
    ("80", (), ""),
    ("9100", (SLICE,), "9100 is the port of Service web, not of its pods: write metrics or 9090"),
    ("prom", (SLICE,), "prom is the name of a port in the pods: write metrics, the one of Service web"),
    ("dns", (SLICE,), "port dns of Service web is for UDP; a Route needs TCP"),
    ("53", (SLICE,), "port 53 of Service web is for UDP; a Route needs TCP"),
    ("htpp", (SLICE,), "Service web has no port htpp; did you mean http?"),
    ("admin", (SLICE,), "Service web has no port admin; it has dns, http, metrics"),
    ("99", (MANY,), "Service web has no port 99; it has p1, p2, p3, p4, p5 and 4 more"),
])
def test_ports(port, slices, text):
    assert lacking_pods.port_problem(port, ServiceEndpoints(WEB, slices)) == text


def test_ports_without_pods():
    """Numbers are compared where all target ports are numbers: only a pod shows the number of a name."""
    numbers = ServiceEndpoints(replace(WEB, ports=PORTS[:1]))
    assert lacking_pods.port_problem("80", numbers) == (
        "80 is the port of Service web, not of its pods: write http or 8080")


def test_no_tcp_port_at_all():
    of_dns = ServiceEndpoints(replace(WEB, ports=PORTS[2:]))
    assert lacking_pods.port_problem("", of_dns) == "each port of Service web is for UDP; a Route needs TCP"


@rows(("changed", "slices", "reason", "text"), [
    ({"type": "ExternalName"}, (), "ExternalNameService", "type ExternalName"),
    ({"idled": True}, (), "ServiceIdled", "is idled"),
    ({}, (), "NoEndpoints", "it selects no pod that runs"),
    ({}, (replace(SLICE, unready=True),), "NoEndpoints", "none of them is ready"),
])
def test_warnings(changed, slices, reason, text):
    view = ServiceEndpoints(replace(WEB, **changed), slices)
    (warning,) = lacking_pods.warnings("spec.to.name", "http", view, served=True)
    assert warning.reason == reason
    assert text in warning.message
    assert list(lacking_pods.warnings("spec.to.name", "http", view, served=False)) == []
