"""Several Services behind a Route: each gets its share of the requests, also while the weights change."""

from collections import Counter

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt", "passthrough")
EDGE = identity("shop.example.com")
NAME = "shop.example.com"


def weighted(kind: str, weight: int, *alternates: tuple[str, int], **annotations: str) -> dict:
    """A Route to Service web with a weight, and others with theirs, that takes turns."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    obj = manifests.route("a", host=NAME, service="web", kind=kind, **tls)
    obj["spec"]["to"]["weight"] = weight
    obj["spec"]["alternateBackends"] = [
        {"kind": "Service", "name": name, "weight": share} for name, share in alternates]
    obj["metadata"]["annotations"] = {f"haproxy.router.openshift.io/{key}": value
                                      for key, value in {"balance": "roundrobin", **annotations}.items()}
    return obj


def ask(site: Site, kind: str) -> clients.Seen:
    if kind:
        return clients.python(site.https, NAME)
    return clients.plain(site.http, NAME)


def shares(site: Site, kind: str, count: int) -> Counter:
    """How many of so many requests each Service got; "" for an answer that no pod gave."""
    answers = (ask(site, kind) for _ in range(count))
    return Counter(seen.pod["pod"].rsplit("-", 1)[0] if seen.pod else seen.status for seen in answers)


@pytest.fixture(params=KINDS, ids=lambda kind: kind or "plain", scope="module")
def kind(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def served(shared_site_of, kind: str) -> Site:
    """Service web with one pod, api with two, docs with one, none without."""
    site = shared_site_of()
    tls, port = (PODS, 8443) if kind in ("reencrypt", "passthrough") else (None, 8080)
    for service, addresses in (("web", ["10.1.1.1"]), ("api", ["10.1.2.1", "10.1.2.2"]),
                               ("docs", ["10.1.3.1"]), ("none", [])):
        site.serve(service, *addresses, port=port, tls=tls)
    return site


@pytest.mark.parametrize(("weight", "alternates", "expected"), [
    pytest.param(75, [("api", 25)], {"web": 12, "api": 4}, id="75 to 25"),
    pytest.param(100, [("api", 100), ("docs", 200)], {"web": 4, "api": 4, "docs": 8}, id="three"),
    pytest.param(1, [("none", 252), ("api", 3)], {"web": 4, "api": 12}, id="one without pods"),
    pytest.param(0, [("api", 5)], {"api": 16}, id="spec.to has weight 0"),
    pytest.param(5, [("api", 0)], {"web": 16}, id="the alternate has weight 0"),
])
def test_each_service_gets_its_share(served, kind, weight, alternates, expected):
    """Twice over: each pod has had its exact part after 8 requests."""
    served.apply(weighted(kind, weight, *alternates))
    assert served.converge() == []
    assert shares(served, kind, 16) == expected


@pytest.mark.parametrize("alternates", [[], [("api", 0)]], ids=["one Service", "two Services"])
def test_without_any_weight_nobody_answers(served, kind, alternates):
    served.apply(weighted(kind, 0, *alternates))
    assert served.converge() == []
    assert shares(served, kind, 2) == {0 if kind == "passthrough" else 503: 2}


def test_weights_change_in_one_write(served, kind):
    """From all to one, step by step, to all to the other, and back to a Route without alternates."""
    router = served.router()
    for weight, share in [(100, 0), (90, 10), (50, 50), (10, 90), (0, 100)]:
        served.apply(weighted(kind, weight, ("api", share)))
        served.clear()
        served.settle(router)
        if weight != 100:
            assert [method for method, _ in served.writes()] == ["PATCH"]
        assert shares(served, kind, 20) == +Counter({"web": weight // 5, "api": share // 5})
    served.apply(weighted(kind, 100))
    served.settle(router)
    assert shares(served, kind, 4) == {"web": 4}
    router.close()


def test_an_alternate_that_loses_its_pods_gets_nothing(served, kind):
    port, name = (8443, "https") if kind in ("reencrypt", "passthrough") else (8080, "http")
    served.apply(weighted(kind, 50, ("docs", 50)))
    router = served.router()
    served.settle(router)
    assert shares(served, kind, 4) == {"web": 2, "docs": 2}
    served.apply(*manifests.service("shop", "docs", pods=(), ports=((name, port),)))
    served.settle(router)
    assert shares(served, kind, 4) == {"web": 4}
    served.apply(*manifests.service("shop", "docs", pods=("10.1.3.1",), ports=((name, port),)))
    served.settle(router)
    assert shares(served, kind, 4) == {"web": 2, "docs": 2}
    router.close()
