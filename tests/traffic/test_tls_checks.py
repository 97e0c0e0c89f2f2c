"""Health checks that verify pods: one with a certificate that requests would refuse is down."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import until

SPEED = 20
"""A second of the device is a twentieth."""
CLUSTER = "The CA of Services"
RIGHT, ELSEWHERE = identity("web.shop.svc", ca=CLUSTER), identity("web.shop.svc", ca="Another CA")
OTHER = identity("other.shop.svc", ca=CLUSTER)
"""Of another Service, by the same CA."""
CHECKS = {"tls_health_checks": "true"}
ADDRESS = {"right": "10.1.1.1", "wrong": "10.1.1.2"}


@pytest.fixture
def start(site_of, tmp_path):
    """Start two pods, one with another certificate, and a Route to them with its own CA or the router's."""
    def begin(wrong, *, own_ca: bool, version: str = "16.1.2", in_tmm: bool = True,
              **flags: str) -> tuple[Site, list[str]]:
        site = site_of(tmos_version=version)
        if in_tmm:
            site.change("PATCH", "sys/db/bigd.tmm", {"value": "enable"})
        for name, pair in (("right", RIGHT), ("wrong", wrong)):
            tls = pair and (pair.certificate.encode(), pair.key.encode())
            site.pod(ADDRESS[name], "web", port=8443, tls=tls)
        site.apply(*manifests.service("shop", "web", pods=tuple(ADDRESS.values()), ports=(("https", 8443),)))
        bundle = tmp_path / "service-ca.crt"
        bundle.write_text(RIGHT.issuer)
        how = {"destinationCACertificate": RIGHT.issuer} if own_ca else {}
        site.apply(manifests.route("r", host="r.example.com", kind="reencrypt", **how))
        site.bigip.dataplane.clock.speed = SPEED
        settings = CHECKS | {"default_destination_ca_path": "none" if own_ca else str(bundle)} | flags
        return site, site.converge(**settings)

    return begin


def states(site: Site) -> dict[str, str]:
    """States of the pool's members, by address."""
    (pool,) = site.pools()
    items = site.bigip.get(f"ltm/pool/{pool.replace('/', '~')}/members")
    return {item["address"]: item["state"] for item in items["items"]}


def monitors(site: Site) -> list[dict]:
    """Properties of the monitors that the router has made."""
    return [item.fields for item in site.bigip.items("ltm/monitor/https") if "openshift_" in item.path]


CASES = {
    "another CA": (ELSEWHERE, True), "another CA than the router's": (ELSEWHERE, False),
    "the name of another Service": (OTHER, False), "no TLS": (None, True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_pod_with_another_certificate_is_down(start, case):
    """Requests go to the other one alone; without the check every second one would get 503."""
    wrong, own_ca = CASES[case]
    site, reasons = start(wrong, own_ca=own_ca)
    assert reasons == []
    until(lambda: states(site) == {ADDRESS["right"]: "up", ADDRESS["wrong"]: "down"})
    answers = [clients.python(site.https, "r.example.com") for _ in range(6)]
    assert {(each.status, each.pod.get("pod")) for each in answers} == {(200, "web-10.1.1.1")}
    (monitor,) = monitors(site)
    assert (monitor["interval"], monitor["timeout"]) == (5, 16)


def test_names_count_only_where_requests_need_them(start):
    """A Route with a CA of its own names no Service: a certificate of that CA is right."""
    site, reasons = start(OTHER, own_ca=True)
    assert reasons == []
    until(lambda: set(states(site).values()) == {"up"})


@pytest.mark.parametrize(("how", "text"), [
    ({"version": "13.0.0", "in_tmm": False}, "TMOS 13.0.0 has no monitors with a server SSL profile"),
    ({"in_tmm": False}, "tmsh modify sys db bigd.tmm value enable"),
], ids=["before 13.1", "not in TMM"])
def test_where_the_device_cannot(start, how, text):
    """The setting has no effect and says why; pods are checked, and requests answered, as without it."""
    site, reasons = start(ELSEWHERE, own_ca=True, **how)
    assert reasons == []
    router = site.router(**CHECKS, default_destination_ca_path="none")
    assert site.converge(router) == []
    assert any(text in warning for warning in router.reconciler.verdicts.virtual_server_findings().warnings)
    assert monitors(site) == []
    until(lambda: set(states(site).values()) == {"up"})


def test_a_check_of_the_route(start):
    """Its request and times stay; it is verified, too."""
    site, _ = start(ELSEWHERE, own_ca=True)
    route = manifests.route("r", host="r.example.com", kind="reencrypt",
                            destinationCACertificate=RIGHT.issuer)
    route["metadata"]["annotations"] = {"virtual-server.f5.com/health": (
        '[{"path": "r.example.com/", "send": "GET /live", "interval": 2, "timeout": 7, "type": "https"}]')}
    site.apply(route)
    assert site.converge(**CHECKS, default_destination_ca_path="none") == []
    (monitor,) = monitors(site)
    assert (monitor["send"], monitor["interval"], monitor["timeout"]) == ("GET /live\\r\\n\\r\\n", 2, 7)
    until(lambda: states(site) == {ADDRESS["right"]: "up", ADDRESS["wrong"]: "down"})


def test_it_comes_and_goes(start):
    """With the setting, and without it again; what it needs goes in the right order."""
    site, reasons = start(PODS, own_ca=True)
    assert reasons == []
    assert len(monitors(site)) == 1
    site.clear()
    assert site.converge(**CHECKS, default_destination_ca_path="none") == []
    assert site.writes() == []
    assert site.converge(default_destination_ca_path="none") == []
    assert monitors(site) == []
    until(lambda: set(states(site).values()) == {"up"})
    assert site.converge(**CHECKS, default_destination_ca_path="none") == []
    site.kube.delete("Route", "shop", "r")
    assert site.converge(**CHECKS, default_destination_ca_path="none") == []
    assert monitors(site) == []
    assert not any("openshift_tls_" in path for path in site.paths("ltm/profile/server-ssl"))
