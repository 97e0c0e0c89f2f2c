"""Several Services behind a Route: each gets its share of the requests, also while the weights change."""

from collections import Counter
from collections.abc import Iterator

import pytest

from f5router.app.controller import Controller
from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt", "passthrough")
EDGE = identity("*.example.com")
NAME = "shop.example.com"


def weighted(kind: str, weight: int, *alternates: tuple[str, int], name: str = "shop", service: str = "web",
             **annotations: str) -> dict:
    """A Route to a Service with a weight, and others with theirs, that takes turns; its host has its name."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    obj = manifests.route(name, host=f"{name}.example.com", service=service, kind=kind, **tls)
    obj["spec"]["to"]["weight"] = weight
    obj["spec"]["alternateBackends"] = [
        {"kind": "Service", "name": other, "weight": share} for other, share in alternates]
    obj["metadata"]["annotations"] = {f"haproxy.router.openshift.io/{key}": value
                                      for key, value in {"balance": "roundrobin", **annotations}.items()}
    return obj


def ask(site: Site, kind: str, host: str = NAME) -> clients.Seen:
    if kind:
        return clients.python(site.https, host)
    return clients.plain(site.http, host)


def shares(site: Site, kind: str, name: str, count: int) -> Counter:
    """How many of so many requests to a Route each Service got; a status for what no pod answered."""
    answers = (ask(site, kind, f"{name}.example.com") for _ in range(count))
    return Counter(seen.pod["pod"].rsplit("-", 1)[0].removeprefix("tls-") if seen.pod else seen.status
                   for seen in answers)


@pytest.fixture(params=KINDS, ids=lambda kind: kind or "plain")
def kind(request) -> str:
    return request.param


CASES = {
    "75 to 25": ((75, ("api", 25)), {"web": 12, "api": 4}),
    "three": ((100, ("api", 100), ("docs", 200)), {"web": 4, "api": 4, "docs": 8}),
    "one without pods": ((1, ("none", 252), ("api", 3)), {"web": 4, "api": 12}),
    "spec.to has weight 0": ((0, ("api", 5)), {"api": 16}),
    "the alternate has weight 0": ((5, ("api", 0)), {"web": 16}),
}
"""Weights, that of spec.to first, and how many of 16 requests each Service gets."""
NOBODY = {"one Service": (0,), "two Services": (0, ("api", 0))}
"""Weights that leave nobody to answer."""


def route(kind: str, case: str, weight: int, *alternates: tuple[str, int]) -> dict:
    """The Route of a case. Args: alternates: Services, by their names without a prefix, and weights."""
    prefix = "tls-" if kind in ("reencrypt", "passthrough") else ""
    return weighted(kind, weight, *((prefix + service, share) for service, share in alternates),
                    name=name_of(kind, case), service=f"{prefix}web")


def name_of(kind: str, case: str) -> str:
    """Return the name of the Route of a case."""
    return f"{case.replace(' ', '-').lower()}-{kind or 'plain'}"


@pytest.fixture(scope="module")
def served(shared_site_of) -> Iterator[tuple[Site, Controller]]:
    """A site with a Route for each case and kind, and its router.

    Service web has one pod, api two, docs one, none has none; for Routes with TLS to pods they have others.
    """
    site = shared_site_of()
    for prefix, network, port, tls in (("", "10.1", 8080, None), ("tls-", "10.2", 8443, PODS)):
        for service, addresses in (("web", ("1.1",)), ("api", ("2.1", "2.2")), ("docs", ("3.1",)),
                                   ("fades", ("4.1",)), ("none", ())):
            site.serve(prefix + service, *(f"{network}.{address}" for address in addresses), port=port,
                       tls=tls)
    for kind in KINDS:
        site.apply(*(route(kind, case, *weights) for case, (weights, _) in CASES.items()),
                   *(route(kind, case, *weights) for case, weights in NOBODY.items()))
    router = site.router()
    site.settle(router)
    yield site, router
    router.close()


@pytest.mark.parametrize("case", CASES)
def test_each_service_gets_its_share(served, kind, case):
    """Twice over: each pod has had its exact part after 8 requests."""
    assert shares(served[0], kind, name_of(kind, case), 16) == CASES[case][1]


@pytest.mark.parametrize("case", NOBODY)
def test_without_any_weight_nobody_answers(served, kind, case):
    assert shares(served[0], kind, name_of(kind, case), 2) == {0 if kind == "passthrough" else 503: 2}


def test_weights_change_in_one_write(served, kind):
    """From all to one, step by step, to all to the other, and back to a Route without alternates.

    The device takes turns by weight, so that 10 requests are shared exactly.
    """
    site, router = served
    name = name_of(kind, "changes")
    for weight, share in [(100, 0), (90, 10), (50, 50), (10, 90), (0, 100)]:
        site.apply(route(kind, "changes", weight, ("api", share)))
        site.clear()
        site.settle(router)
        if weight != 100:
            assert [method for method, _ in site.writes()] == ["PATCH"]
        assert shares(site, kind, name, 10) == +Counter({"web": weight // 10, "api": share // 10})
    site.apply(route(kind, "changes", 100))
    site.settle(router)
    assert shares(site, kind, name, 4) == {"web": 4}


def test_an_alternate_that_loses_its_pods_gets_nothing(served, kind):
    site, router = served
    secured = kind in ("reencrypt", "passthrough")
    service, address, ports = ("tls-fades", "10.2.4.1", (("https", 8443),)) if secured else (
        "fades", "10.1.4.1", (("http", 8080),))
    name = name_of(kind, "fades")
    site.apply(route(kind, "fades", 50, ("fades", 50)))
    site.settle(router)
    assert shares(site, kind, name, 4) == {"web": 2, "fades": 2}
    site.apply(*manifests.service("shop", service, pods=(), ports=ports))
    site.settle(router)
    assert shares(site, kind, name, 4) == {"web": 4}
    site.apply(*manifests.service("shop", service, pods=(address,), ports=ports))
    site.settle(router)
    assert shares(site, kind, name, 4) == {"web": 2, "fades": 2}
