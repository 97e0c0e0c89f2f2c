"""Which pods of which Services get requests: our router against HAProxy's."""

import pytest

from tests import manifests
from tests.differential.conftest import Pair, Router
from tests.differential.differences import DIFFERENCES, PODS
from tests.differential.haproxy_cluster import IDLED
from tests.differential.haproxy_config import HAPROXY
from tests.differential.outcomes import Request
from tests.traffic.conftest import PODS as IDENTITY
from tests.traffic.conftest import Site

KINDS = ("", "edge", "reencrypt", "passthrough")
TARGETS = {
    "none": "", "name": "main", "other-name": "admin", "number": 8080, "other-number": 9090, "digits": "8080",
    "of-the-service": 80, "unknown": "nothing",
}
"""Name of a host: spec.port.targetPort of its Routes."""
PORTS = (("main", 8080), ("admin", 9090))


def build(site: Site) -> None:
    """Services whose pods have two ports; the Service's own numbers are others."""
    for prefix, network, tls in (("", "10.1", None), ("tls-", "10.2", IDENTITY)):
        pods = (f"{network}.1.1", f"{network}.1.2")
        service, slice_ = manifests.service("shop", f"{prefix}two", pods=pods, ports=PORTS)
        for port, number in zip(service["spec"]["ports"], (80, 81), strict=True):
            port["port"] = number
        site.apply(service, slice_)
        for address in pods:
            for _, number in PORTS:
                pair = (tls.certificate.encode(), tls.key.encode()) if tls else None
                site.pod(address, f"{prefix}two", port=number, tls=pair)
    for kind in KINDS:
        prefix = "tls-" if kind in ("reencrypt", "passthrough") else ""
        for name, target in TARGETS.items():
            whole = f"{name}-{kind}" if kind else name
            route = manifests.route(whole, host=f"{whole}.example.com", kind=kind, port=target,
                                    service=f"{prefix}two")
            route["metadata"]["annotations"] = {f"{HAPROXY}balance": "roundrobin"}
            site.apply(route)
    _differing(site)


def _differing(site: Site) -> None:
    """Services that HAProxy's router serves in another way."""
    idled, slice_ = manifests.service("shop", "idled")
    idled["metadata"]["annotations"] = {IDLED: "2026-01-01T00:00:00Z"}
    idled["spec"]["clusterIP"] = "172.30.0.7"
    site.pod("172.30.0.7", "idled")
    site.apply(idled, slice_, manifests.route("idled", host="idled.example.com", service="idled"))
    site.pod("10.1.5.1", "ending")
    site.apply(*manifests.service("shop", "ending"),
               manifests.endpoints("shop", "ending", (), draining=("10.1.5.1",)),
               manifests.route("ending", host="ending.example.com", service="ending"))
    service, slice_ = manifests.service("shop", "grpc", pods=("10.1.6.1",))
    for port in (*service["spec"]["ports"], *slice_["ports"]):
        port["appProtocol"] = "h2c"
    site.pod("10.1.6.1", "grpc", http2=True)
    site.apply(service, slice_, manifests.route("grpc", host="grpc.example.com", service="grpc"))


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize(("name", "ports"), [
    ("none", [8080, 8080, 9090, 9090]), ("name", [8080] * 4), ("other-name", [9090] * 4),
    ("number", [8080] * 4), ("other-number", [9090] * 4), ("digits", [8080] * 4), ("of-the-service", None),
    ("unknown", None),
])
def test_target_port(pair, name, ports, kind):
    """A name is that of the Service's port, a number that of the pods'; without one, all are used."""
    request = Request(f"{name}-{kind}.example.com" if kind else f"{name}.example.com", secure=bool(kind))

    def answered(router: Router) -> list:
        seen = [request.send(router) for _ in range(4)]
        return sorted(each.pod.get("port", each.status) for each in seen)
    theirs, ours = pair.both(answered)
    nobody = [0 if kind == "passthrough" else 503] * 4
    assert ours == theirs == (ports or nobody)


@pytest.mark.parametrize("difference", [row for row in DIFFERENCES if row.cluster == PODS],
                         ids=lambda row: row.request)
def test_differences(pair, difference):
    assert pair.both(difference.observe) == (difference.haproxy, difference.ours)
