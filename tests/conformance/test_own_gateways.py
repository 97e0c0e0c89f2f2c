"""Core tests that need several Gateways: each has an address of its own.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/gateway-modify-listeners.go,
httproute-multiple-gateways.go and gateway-optional-address-value.go, and their manifests.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests import gateways
from tests.conformance.cluster import INFRA, Conformance, base, route
from tests.conformance.suite import core
from tests.gateways import EVERYWHERE, backend, gateway, listener, parent, rule

YES = "True"
READY = {"Accepted": (YES, "Accepted"), "Programmed": (YES, "Programmed")}
VALID = {"Accepted": (YES, "Accepted"), "ResolvedRefs": (YES, "ResolvedRefs")}
V1, V2, V3 = (f"infra-backend-v{number}" for number in (1, 2, 3))
HTTPS = {"name": "https", "port": 443, "protocol": "HTTPS", "hostname": "secure.test.com",
         "secret": "certificate", "namespaces": EVERYWHERE}
HTTP = listener(namespaces=EVERYWHERE)


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


@core("GatewayModifyListeners")
def test_modify_listeners(cluster):
    """A listener that is added is served on its port; one that is removed takes its virtual server along."""
    cluster.secret("certificate")
    added = "gateway-add-listener"
    cluster.apply(gateway(added, listener(**HTTPS), namespace=INFRA),
                  route("http-route-1", rule(backend(V1)), parents=(parent(added),)))
    cluster.wait_gateway(added, READY, https=VALID)
    cluster.apply(gateway(added, listener(**HTTPS), listener(hostname="data.test.com", namespaces=EVERYWHERE),
                          namespace=INFRA))
    cluster.wait_gateway(added, READY, https=VALID, http=VALID)
    cluster.wait_attached(added, https=1, http=1)
    cluster.wait_answer_of(added, "/", V1, host="data.test.com")
    cluster.wait_answer_of(added, "/", V1, port=443, host="secure.test.com")
    removed = "gateway-remove-listener"
    cluster.apply(gateway(removed, listener(**HTTPS), HTTP, namespace=INFRA),
                  route("http-route-2", rule(backend(V2)), parents=(parent(removed),)))
    cluster.wait_gateway(removed, READY, https=VALID, http=VALID)
    address = cluster.address(removed)
    assert address != cluster.address(added)
    cluster.apply(gateway(removed, HTTP, namespace=INFRA))
    cluster.wait_gateway(removed, READY, http=VALID)
    cluster.wait_attached(removed, http=1)
    cluster.wait_answer_of(removed, "/", V2)
    cluster.kube.wait_for(lambda: f"{address}:443" not in cluster.site.bigip.listeners())
    assert f"{address}:443" not in cluster.site.bigip.listeners()


@core("HTTPRouteMultipleGateways")
def test_multiple_gateways(cluster):
    """A route on two Gateways, and one on each of them alone."""
    same, every = parent("same-namespace"), parent("all-namespaces")
    cluster.apply(
        base("same-namespace"), base("all-namespaces"),
        route("multiple-gateways-shared-route", rule(backend(V1), paths=("/shared",)), parents=(same, every)),
        route("same-namespace-dedicated-route", rule(backend(V2), paths=("/",)), parents=(same,)),
        route("all-namespaces-dedicated-route", rule(backend(V3), paths=("/",)), parents=(every,)))
    for name, own in (("same-namespace", V2), ("all-namespaces", V3)):
        cluster.wait_gateway(name, READY)
        cluster.wait_answer_of(name, "/shared", V1)
        cluster.wait_answer_of(name, "/", own)
    entries = cluster.kube.get("HTTPRoute", INFRA, "multiple-gateways-shared-route")["status"]["parents"]
    assert {each["parentRef"]["name"] for each in entries} == {"same-namespace", "all-namespaces"}
    assert all(gateways.conditions(each["conditions"])["Accepted"] == (YES, "Accepted") for each in entries)


@pytest.mark.parametrize(("addresses", "programmed"), [
    ([{"type": "IPAddress"}], (YES, "Programmed")),
    ([{"type": "IPAddress", "value": "10.50.0.77"}], (YES, "Programmed")),
    ([{"type": "IPAddress", "value": "10.51.0.1"}], ("False", "AddressNotUsable")),
    ([{"type": "test.example.com/custom", "value": "10.50.0.1"}], ("False", "Invalid")),
], ids=["optional value", "static", "not usable", "not supported"])
def test_addresses(cluster, addresses, programmed):
    """The features GatewayAddressEmpty and GatewayStaticAddresses."""
    cluster.apply(gateway("g", namespace=INFRA, addresses=addresses))
    status = cluster.wait_gateway("g", {"Programmed": programmed})
    listed = [each["value"] for each in status.get("addresses", ())]
    assert len(listed) == (programmed[0] == YES)
    assert programmed[0] != YES or addresses[0].get("value") in (None, *listed)
