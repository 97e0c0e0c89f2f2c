"""Re-encrypt Routes without a CA of their own, where there is a default: our router against HAProxy's."""

from collections import Counter

import pytest

from tests import manifests
from tests.builders import identity
from tests.differential.conftest import Pair
from tests.differential.outcomes import Request
from tests.traffic.conftest import Site

EDGE = identity("edge.example.com")
PODS = {
    "own": identity("own.shop.svc", ca="Service CA"),
    "neighbour": identity("web.bank.svc", ca="Service CA"),
    "stranger": identity("stranger.shop.svc", ca="Other CA"),
    "weighted": identity("weighted.shop.svc", ca="Service CA"),
}
"""Certificate of the pod by Service."""
REFUSED = {"neighbour", "stranger"}

DIVIDED = {"both": "weighted", "half": "neighbour"}
"""The Service beside `own`, by name of the Route."""


def build(site: Site) -> None:
    for number, (name, pair) in enumerate(PODS.items()):
        site.serve(name, f"10.1.{number}.1", port=8443, tls=pair)
        for kind, more in (("default", {}), ("ca", {"destinationCACertificate": pair.issuer})):
            site.apply(manifests.route(f"{name}-{kind}", host=f"{name}-{kind}.example.com", kind="reencrypt",
                                       service=name, certificate=EDGE.certificate, key=EDGE.key, **more))
    # The first step of a canary release: its pods get no sessions yet.
    canary = site.kube.get("Route", "shop", "weighted-default")
    canary["spec"]["alternateBackends"] = [{"kind": "Service", "name": "neighbour", "weight": 0}]
    site.apply(canary)


    for name, alternate in DIVIDED.items():
        divided = manifests.route(f"{name}-divided", host=f"{name}-divided.example.com", kind="reencrypt",
                                  service="own", certificate=EDGE.certificate, key=EDGE.key)
        divided["metadata"]["annotations"] = {
            "haproxy.router.openshift.io/balance": "roundrobin",
            "haproxy.router.openshift.io/disable_cookies": "true"}
        divided["spec"]["to"]["weight"] = 50
        divided["spec"]["alternateBackends"] = [{"kind": "Service", "name": alternate, "weight": 50}]
        site.apply(divided)


@pytest.fixture(scope="module")
def pair(pair_of, tmp_path_factory) -> Pair:
    path = tmp_path_factory.mktemp("ca") / "service-ca.crt"
    path.write_text(PODS["own"].issuer)
    return pair_of(build, variables={"DEFAULT_DESTINATION_CA_PATH": str(path)})


@pytest.mark.parametrize("name", PODS)
def test_the_default_verifies_authority_and_name(pair, name):
    """Both refuse a pod of another Service or authority: HAProxy with 503, the BIG-IP by a reset."""
    theirs, ours = pair.both(Request(f"{name}-default.example.com", secure=True).outcome)
    assert (theirs.status, ours.status) == ((503, 0) if name in REFUSED else (200, 200))
    assert name in REFUSED or ours == theirs


@pytest.mark.parametrize("name", PODS)
def test_a_ca_of_the_route_verifies_no_name(pair, name):
    theirs, ours = pair.both(Request(f"{name}-ca.example.com", secure=True).outcome)
    assert ours == theirs
    assert ours.status == 200


@pytest.mark.parametrize(("name", "theirs", "ours"), [
    pytest.param("both", {"shop own": 10, "shop weighted": 10}, {"shop own": 10, "shop weighted": 10},
                 id="right"),
    pytest.param("half", {"shop own": 20}, {"shop own": 10, "": 10}, id="one with another name"),
])
def test_several_services_by_their_own_names(pair, name, theirs, ours):
    """Neither sends a request to a pod with another name; HAProxy's checks find that out before."""
    request = Request(f"{name}-divided.example.com", secure=True)
    answers = [pair.both(request.outcome) for _ in range(20)]
    assert [Counter(outcome.service for outcome in side)
            for side in zip(*answers, strict=True)] == [theirs, ours]
