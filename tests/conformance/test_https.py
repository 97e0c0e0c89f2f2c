"""Core tests of HTTPS listeners, at a Gateway with an address of its own.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/httproute-https-listener.go and its manifests.
"""

from collections.abc import Iterator

import pytest

from tests.conformance.cluster import INFRA, Conformance, route
from tests.conformance.conftest import router
from tests.conformance.suite import core
from tests.gateways import backend, gateway, listener, parent, rule
from tests.traffic import clients

YES = "True"
READY = {"Accepted": (YES, "Accepted"), "Programmed": (YES, "Programmed")}
NAME, SECRET = "same-namespace-with-https-listener", "tls-validity-checks-certificate"
SERVICE = "infra-backend-v1"
HOSTNAMES = {"https": "", "https-with-hostname": "second-example.org",
             "https-with-wildcard-hostname": "*.wildcard.org",
             "https-with-hostname-matching-wildcard": "fourth-example.wildcard.org"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, tmos_version: str) -> Iterator[Conformance]:
    with router(tmp_path_factory.mktemp("site"), tmos_version, gateway_addresses="10.50.0.0/24") as cluster:
        yield cluster


@core("HTTPRouteHTTPSListener")
def test_https_listener(cluster):
    """Four listeners on one port with one certificate, the first one without a hostname."""
    cluster.secret(SECRET)
    cluster.apply(
        gateway(NAME, *(listener(name, 443, "HTTPS", hostname=hostname, secret=f"{INFRA}/{SECRET}")
                        for name, hostname in HOSTNAMES.items()), namespace=INFRA),
        route("httproute-https-test", rule(backend(SERVICE)), parents=(parent(NAME),),
              hostnames=("example.org",)),
        route("httproute-https-test-no-hostname", rule(backend(SERVICE)),
              parents=(parent(NAME, sectionName="https-with-hostname"),)))
    cluster.wait_gateway(NAME, READY)
    for name in ("httproute-https-test", "httproute-https-test-no-hostname"):
        cluster.wait_route(name, {"Accepted": (YES, "Accepted"), "ResolvedRefs": (YES, "ResolvedRefs")})
    for host in ("example.org", "second-example.org"):
        cluster.wait_answer_of(NAME, "/", SERVICE, port=443, host=host)
    place = cluster.site.bigip.listeners()[f"{cluster.address(NAME)}:443"]
    seen = clients.python(place, "unknown-example.org")
    assert (seen.status, seen.certificate) == (404, "example.org")
