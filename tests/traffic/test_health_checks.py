"""The interval of health checks: a pod that does not answer gets no more requests, whatever the Route."""

import pytest

from tests.traffic.conftest import Site
from tests.traffic.test_weights import KINDS, PODS, ask, weighted
from tests.waiting import until

CHECK = "router.openshift.io/haproxy.health.check.interval"
SPEED = 20
"""A second of the device is a twentieth."""


def serve(site: Site, kind: str, interval: str, *addresses: str) -> int:
    """Make a Route with an interval, its Service and pods; returns the pods' port."""
    tls, port = (PODS, 8443) if kind in ("reencrypt", "passthrough") else (None, 8080)
    site.serve("web", *addresses, port=port, tls=tls)
    route = weighted(kind, 1)
    route["metadata"]["annotations"][CHECK] = interval  # beside roundrobin
    site.apply(route)
    assert site.converge() == []
    site.bigip.dataplane.clock.speed = SPEED
    return port


def states(site: Site) -> dict[str, str]:
    """States of the pool's members, by address."""
    (pool,) = site.pools()
    items = site.bigip.get(f"ltm/pool/{pool.replace('/', '~')}/members")
    return {item["address"]: item["state"] for item in items["items"]}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_a_pod_that_does_not_answer_gets_no_requests(site, kind):
    port = serve(site, kind, "500ms", "10.1.1.1", "10.1.1.2")
    until(lambda: set(states(site).values()) == {"up"})
    site.pods.silence("10.1.1.1", port)
    until(lambda: states(site)["10.1.1.1"] == "down")
    assert {ask(site, kind).pod["pod"] for _ in range(6)} == {"web-10.1.1.2"}
    site.pods.start("10.1.1.1", port, "web-10.1.1.1", namespace="shop",
                    tls=(PODS.certificate.encode(), PODS.key.encode()) if port == 8443 else None)
    until(lambda: states(site)["10.1.1.1"] == "up")
    assert {ask(site, kind).pod["pod"] for _ in range(6)} == {"web-10.1.1.1", "web-10.1.1.2"}


def test_a_single_pod_is_not_checked(site):
    serve(site, "", "500ms", "10.1.1.1")
    assert states(site) == {"10.1.1.1": "unchecked"}
    assert ask(site, "").pod["pod"] == "web-10.1.1.1"
