"""Tests of TLSRouteModeTerminate and TLSRouteModeMixed in the conformance suite, each by its short name.

Pods that speak HTTP stand for the echo of the suite. Source: kubernetes-sigs/gateway-api v1.6.1,
conformance/tests/tlsroute-listener-terminate-supported-kinds.go, tlsroute-terminate-simple-same-namespace.go,
tlsroute-mixed-termination-same-namespace.go, and their manifests.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.cluster import INFRA, Conformance
from tests.conformance.conftest import router
from tests.conformance.suite import extended, provisional
from tests.gateways import PASSTHROUGH, backend, gateway, listener, parent, tls_route

YES = "True"
ACCEPTED, RESOLVED = {"Accepted": (YES, "Accepted")}, {"ResolvedRefs": (YES, "ResolvedRefs")}
PROGRAMMED = {"Programmed": (YES, "Programmed")}
ONLY = {"kinds": [{"kind": "TLSRoute"}]}
ENDED, PASSED, PLAIN, PODS = "tls.example.com", "abc.example.com", "infra-backend-v1", "tls-backend"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, tmos_version: str) -> Iterator[Conformance]:
    with router(tmp_path_factory.mktemp("site"), tmos_version, gateway_addresses="10.50.0.0/24") as cluster:
        yield cluster


@pytest.fixture
def secret(cluster: Conformance) -> None:
    cluster.secret("certificate")


def terminating(**more: Any) -> dict:
    return listener("tls-terminate", **{**PASSTHROUGH, "allowedRoutes": ONLY, "hostname": ENDED, "tls": {
        "mode": "Terminate", "certificateRefs": [{"name": "certificate"}]}, **more})


def named(name: str, host: str, *backends: dict) -> dict:
    return tls_route(name, *backends, namespace=INFRA, parents=(parent("g"),), hostnames=(host,))


@extended("TLSRouteListenerTerminateSupportedKinds")
def test_supported_kinds(cluster, secret):
    cluster.apply(gateway("g", terminating(), namespace=INFRA))
    status = cluster.wait_gateway("g", {}, **{"tls-terminate": ACCEPTED | RESOLVED})
    assert [each["kind"] for each in status["listeners"][0]["supportedKinds"]] == ["TLSRoute"]


@provisional("TLSRouteTerminateSimpleSameNamespace")
@pytest.mark.every_tmos
def test_simple_same_namespace(cluster, secret):
    cluster.apply(gateway("g", terminating(), namespace=INFRA), named("r", ENDED, backend(PLAIN)))
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED, **{"tls-terminate": ACCEPTED | RESOLVED | PROGRAMMED})
    cluster.wait_route("r", ACCEPTED | RESOLVED, kind="TLSRoute")
    cluster.wait_answer_of("g", "/", PLAIN, port=443, host=ENDED)
    assert cluster.seen_at("g", "/", port=443, host=ENDED).certificate == "example.org"


@provisional("TLSRouteMixedTerminationSameNamespace")
def test_mixed_termination(cluster, secret):
    passing = listener("tls-passthrough", **{**PASSTHROUGH, "allowedRoutes": ONLY}, hostname=PASSED)
    cluster.apply(gateway("g", terminating(), passing, namespace=INFRA),
                  named("ended", ENDED, backend(PLAIN)), named("passed", PASSED, backend(PODS, 443)))
    status = cluster.wait_gateway("g", ACCEPTED | PROGRAMMED, **{
        "tls-terminate": ACCEPTED, "tls-passthrough": ACCEPTED})
    assert [[each["kind"] for each in of["supportedKinds"]] for of in status["listeners"]] == [
        ["TLSRoute"], ["TLSRoute"]]
    for name in ("ended", "passed"):
        cluster.wait_route(name, ACCEPTED | RESOLVED, kind="TLSRoute")
    cluster.wait_attached("g", **{"tls-terminate": 1, "tls-passthrough": 1})
    cluster.wait_answer_of("g", "/", PLAIN, port=443, host=ENDED)
    cluster.wait_passed(PASSED, PODS, "g")
