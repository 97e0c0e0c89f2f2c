"""Core tests of TLSRoutes in the official conformance suite, each by its short name.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/tlsroute-*.go and *.yaml. One Gateway is there
at a time.
"""

from typing import Any

import pytest

from tests.conformance.cluster import INFRA, WEB
from tests.conformance.suite import core
from tests.gateways import PASSTHROUGH, backend, gateway, grant, listener, parent, tls_route

YES = "True"
ACCEPTED, RESOLVED = {"Accepted": (YES, "Accepted")}, {"ResolvedRefs": (YES, "ResolvedRefs")}
PROGRAMMED = {"Programmed": (YES, "Programmed")}
ONLY = {"kinds": [{"kind": "TLSRoute"}]}
HOST = "abc.example.com"
ONE, TWO = backend("tls-backend", 443), backend("tls-backend-2", 443)


def passing(hostname: str = "*.example.com", **more: Any) -> dict:
    """A Gateway with one listener whose TLS pods end."""
    return gateway("g", listener("tls", **{**PASSTHROUGH, "allowedRoutes": ONLY, **more}, hostname=hostname),
                   namespace=INFRA)


def named(*backends: dict, name: str = "r", hosts: tuple[str, ...] = (HOST,), **more: Any) -> dict:
    return tls_route(name, *backends, **{"namespace": INFRA, "parents": (parent("g"),), "hostnames": hosts,
                                         **more})


def refused(cluster, reason: str, **more: Any) -> None:
    cluster.wait_route("r", {"Accepted": ("False", reason)} | RESOLVED, kind="TLSRoute", **more)


@core("TLSRouteSimpleSameNamespace")
def test_simple_same_namespace(cluster):
    cluster.apply(passing(), named(ONE))
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED, tls=ACCEPTED | RESOLVED | PROGRAMMED)
    cluster.wait_route("r", ACCEPTED | RESOLVED, kind="TLSRoute")
    cluster.wait_attached("g", tls=1)
    cluster.wait_passed(HOST, "tls-backend")


@core("TLSRouteInvalidBackendRefNonexistent")
def test_backend_that_does_not_exist(cluster):
    cluster.apply(passing(), named(backend("nonexistent", 443)))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "BackendNotFound")}, kind="TLSRoute")
    cluster.wait_passed(HOST, "")


@core("TLSRouteInvalidBackendRefUnknownKind")
def test_backend_of_unknown_kind(cluster):
    cluster.apply(passing(), named(backend("x", 443, kind="NonExistent")))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "InvalidKind")}, kind="TLSRoute")
    cluster.wait_passed(HOST, "")


@core("TLSRouteInvalidNoMatchingListener")
@pytest.mark.parametrize(("listener_", "section", "reason"), [
    (listener(), "", "NotAllowedByListeners"),
    (listener("https", 443, "HTTPS", hostname="example.com", secret="own"), "", "NotAllowedByListeners"),
    (listener("tls", **PASSTHROUGH), "other", "NoMatchingParent"),
])
def test_no_matching_listener(cluster, listener_, section, reason):
    cluster.secret("own")
    to = parent("g", **({"sectionName": section} if section else {}))
    cluster.apply(gateway("g", listener_, namespace=INFRA), named(ONE, parents=(to,)))
    refused(cluster, reason)
    cluster.wait_attached("g", **{listener_["name"]: 0})


@core("TLSRouteInvalidNoMatchingListenerHostname")
def test_no_matching_hostname(cluster):
    cluster.apply(passing("*.other.com"), named(ONE))
    refused(cluster, "NoMatchingListenerHostname")
    cluster.wait_attached("g", tls=0)


@core("TLSRouteInvalidReferenceGrant")
def test_invalid_grants(cluster):
    target = ("", "Service", "web-backend")
    cluster.apply(grant("from-other", WEB, ("TLSRoute", WEB), target),
                  grant("kind", WEB, ("HTTPRoute", INFRA), target),
                  grant("here", INFRA, ("TLSRoute", INFRA), target),
                  grant("name", WEB, ("TLSRoute", INFRA), ("", "Service", "x")),
                  passing(), named(backend("web-backend", namespace=WEB)))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "RefNotPermitted")}, kind="TLSRoute")
    cluster.wait_passed(HOST, "")


@core("TLSRouteListenerPassthroughSupportedKinds")
def test_supported_kinds(cluster):
    for kinds, wanted in ((["TLSRoute"], RESOLVED), ([], RESOLVED), (
            ["TCPRoute", "TLSRoute"], {"ResolvedRefs": ("False", "InvalidRouteKinds")})):
        cluster.apply(passing(allowedRoutes={"kinds": [{"kind": kind} for kind in kinds]} if kinds else {}))
        status = cluster.wait_gateway("g", {}, tls=wanted)
        assert [each["kind"] for each in status["listeners"][0]["supportedKinds"]] == ["TLSRoute"]


@core("TLSRouteListenerTerminateNotSupported")
def test_terminate_is_not_supported(cluster):
    cluster.secret("own")
    cluster.apply(passing(tls={"mode": "Terminate", "certificateRefs": [{"name": "own"}]}))
    cluster.wait_gateway("g", {"Accepted": ("False", "ListenersNotValid")}, tls={
        "Accepted": ("False", "UnsupportedValue")})
