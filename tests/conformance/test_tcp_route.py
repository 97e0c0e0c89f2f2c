"""Tests of TCPRoutes in the official conformance suite, each by its short name; most are provisional there.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/tcproute-*.go and *.yaml.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests import gateways
from tests.conformance.cluster import INFRA, WEB, Conformance
from tests.conformance.suite import provisional
from tests.gateways import backend, gateway, grant, listener, parent, tcp_route
from tests.traffic import clients
from tests.waiting import until

YES = "True"
ACCEPTED, RESOLVED = {"Accepted": (YES, "Accepted")}, {"ResolvedRefs": (YES, "ResolvedRefs")}
PROGRAMMED = {"Programmed": (YES, "Programmed")}
V1, V2, V3 = (f"infra-backend-v{number}" for number in (1, 2, 3))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Conformance]:
    with ExitStack() as stack:
        cluster = Conformance(stack, tmp_path_factory.mktemp("site"), gateway_addresses="10.50.0.0/24")
        yield cluster
        cluster.stop()
        assert cluster.site.faults() == []


@pytest.fixture
def cluster(running: Conformance) -> Conformance:
    running.clear()
    running.site.apply(gateways.gateway_class())
    return running


def tcp(*ports: int) -> dict:
    return gateway("g", *(listener(f"l{port}", port, "TCP") for port in ports), namespace=INFRA)


def named(name: str, *backends: dict, created: str = gateways.CREATED, **parent_: Any) -> dict:
    return tcp_route(name, *backends, namespace=INFRA, parents=(parent("g", **parent_),), created=created)


def service(cluster: Conformance, port: int) -> str:
    """Service of the pod that has a connection; "" for one that is reset."""
    seen = clients.plain(cluster.site.bigip.listeners()[f"{cluster.address('g')}:{port}"], "example.com")
    return seen.pod.get("pod", "").rpartition("-")[0]


@provisional("TCPRouteMultipleRoutesAttachment")
def test_only_the_oldest_route_has_connections(cluster):
    cluster.apply(tcp(9000), named("older", backend(V1)))
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED, l9000=ACCEPTED | RESOLVED | PROGRAMMED)
    cluster.wait_route("older", ACCEPTED | RESOLVED, kind="TCPRoute")
    cluster.apply(named("newer", backend(V2), created="2026-01-01T00:00:01Z"))
    for name in ("older", "newer"):
        cluster.wait_route(name, ACCEPTED, kind="TCPRoute")
    cluster.wait_attached("g", l9000=2)
    cluster.wait_answer_of("g", "/", V1, port=9000)
    assert {service(cluster, 9000) for _ in range(100)} == {V1}
    status = cluster.wait_gateway("g", ACCEPTED)
    assert [each["kind"] for each in status["listeners"][0]["supportedKinds"]] == ["TCPRoute"]


@provisional("TCPRouteParentRefAttachAll")
def test_a_parent_without_section_is_all_listeners(cluster):
    cluster.apply(tcp(9000, 9001), named("r", backend(V1)))
    cluster.wait_route("r", ACCEPTED | RESOLVED, kind="TCPRoute")
    cluster.wait_attached("g", l9000=1, l9001=1)
    for port in (9000, 9001):
        cluster.wait_answer_of("g", "/", V1, port=port)


@provisional("TCPRouteParentRefPortAndSectionName")
def test_parents_by_port_and_by_name(cluster):
    cluster.apply(tcp(9000, 9001, 9002), named("one", backend(V1), port=9000),
                  named("two", backend(V2), sectionName="l9001"),
                  named("three", backend(V3), port=9002, sectionName="l9002"))
    for port, name in ((9000, V1), (9001, V2), (9002, V3)):
        cluster.wait_answer_of("g", "/", name, port=port)
    cluster.wait_attached("g", l9000=1, l9001=1, l9002=1)


@provisional("TCPRouteWeightedRouting")
def test_weights(cluster):
    """Shares of 500 connections are at most 3 points off."""
    cluster.apply(tcp(9000), named("r", backend(V1, weight=70), backend(V2, weight=30)))
    cluster.wait_route("r", ACCEPTED | RESOLVED, kind="TCPRoute")
    cluster.wait_answer_of("g", "/", V1, port=9000)
    seen = Counter(service(cluster, 9000) for _ in range(500))
    assert seen.keys() == {V1, V2}
    assert 335 <= seen[V1] <= 365


@provisional("TCPRouteInvalidBackendRefNonexistent")
def test_backend_that_does_not_exist(cluster):
    cluster.apply(tcp(9000), named("r", backend("nonexistent")))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "BackendNotFound")}, kind="TCPRoute")
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED)
    until(lambda: service(cluster, 9000) == "")  # the pods of the test before go last


@provisional("TCPRouteInvalidCrossNamespaceBackendRef")
def test_backend_of_another_namespace(cluster):
    cluster.apply(tcp(9000), named("r", backend("web-backend", namespace=WEB)))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "RefNotPermitted")}, kind="TCPRoute")
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED)
    until(lambda: service(cluster, 9000) == "")  # the pods of the test before go last


@provisional("TCPRouteReferenceGrant")
def test_backend_that_a_grant_permits(cluster):
    cluster.apply(grant("g", WEB, ("TCPRoute", INFRA), ("", "Service", "web-backend")),
                  tcp(9000), named("r", backend("web-backend", namespace=WEB)))
    cluster.wait_route("r", ACCEPTED | RESOLVED, kind="TCPRoute")
    cluster.wait_answer_of("g", "/", "web-backend", port=9000)


@provisional("TCPRouteInvalidNonTCPListener")
def test_a_listener_of_another_protocol(cluster):
    """The Gateway is served all the same."""
    cluster.apply(gateway("g", listener("udp", 5300, "UDP"), listener("tcp", 5300, "TCP"), namespace=INFRA),
                  named("r", backend(V1), sectionName="udp"))
    cluster.wait_route("r", {"Accepted": ("False", "NotAllowedByListeners")}, kind="TCPRoute")
    cluster.wait_gateway("g", {"Accepted": (YES, "ListenersNotValid")} | PROGRAMMED)
    cluster.wait_attached("g", udp=0, tcp=0)
