"""All settings of a front end at once: each end of a router while they come and go, and what clients get."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import Site

ADDRESS = {"f5_vserver_address": "203.0.113.10"}
TLS = identity("tls.shop.svc", ca="The CA of Services")
ON = {
    "max_connections": "500", "client_fin_timeout": "1s", "default_server_fin_timeout": "1s",
    "default_client_timeout": "40s", "default_server_timeout": "50s", "default_tunnel_timeout": "60s",
    "default_connect_timeout": "4s", "slowloris_timeout": "40s", "slowloris_http_keepalive": "45s",
    "inspect_delay": "40s", "buf_size": "65536", "max_header_count": "100", "enable_compression": "true",
    "hsts_header": "max-age=1", "disable_cookies": "true", "ciphers": "modern", "tls_health_checks": "true",
}
OWN = {"haproxy.router.openshift.io/timeout": "70s", "haproxy.router.openshift.io/hsts_header": "max-age=7",
       "haproxy.router.openshift.io/pod-concurrent-connections": "9",
       "router.openshift.io/cookie_name": "mine"}


@pytest.fixture
def together(site_of) -> Site:
    site = site_of(address="", tmos_version="16.1.2")
    site.change("PATCH", "sys/db/bigd.tmm", {"value": "enable"})
    site.serve("web", "10.1.1.1", "10.1.1.2")
    pair = TLS.certificate.encode(), TLS.key.encode()
    site.pod("10.1.3.1", "tls", port=8443, tls=pair)
    site.apply(*manifests.service("shop", "tls", pods=("10.1.3.1",), ports=(("https", 8443),)))
    own = manifests.route("own", host="own.example.com", kind="edge", insecure="Allow")
    own["metadata"]["annotations"] = OWN
    off = manifests.route("off", host="off.example.com", kind="edge", insecure="Allow")
    off["metadata"]["annotations"] = {"haproxy.router.openshift.io/disable_cookies": "true"}
    site.apply(own, off, manifests.route("a", host="a.example.com", kind="edge", insecure="Allow"),
               manifests.route("re", host="re.example.com", service="tls", kind="reencrypt",
                               destinationCACertificate=TLS.issuer),
               manifests.route("through", host="through.example.com", service="tls", kind="passthrough"))
    return site


def right(site: Site) -> None:
    """Each Route is served, and has what its annotations ask for, whatever the settings are."""
    plain = {name: clients.plain(site.http, f"{name}.example.com") for name in ("own", "off", "a")}
    secure = {name: clients.python(site.https, f"{name}.example.com")
              for name in ("own", "off", "a", "re", "through")}
    assert {seen.status for seen in (*plain.values(), *secure.values())} == {200}
    assert secure["own"].headers["strict-transport-security"] == "max-age=7"
    assert [seen["own"].headers["set-cookie"][:5] for seen in (plain, secure)] == ["mine="] * 2
    assert [seen["off"].headers.get("set-cookie") for seen in (plain, secure)] == [None] * 2


@pytest.mark.parametrize("order", [(ON, {}), ({}, ON)], ids=["off", "on"])
def test_each_end_while_they_come_and_go(together, order):
    """Whatever ends the router in between, Routes are served, and the next start completes the change."""
    before, after = ({**ADDRESS, **flags} for flags in order)
    assert together.converge(**before) == []
    right(together)
    for _ in together.each_end(10, **after):
        right(together)
        assert together.converge(**after) == []
        right(together)


def test_who_asks_for_a_cookie_has_one(site_of):
    """An Ingress and an IngressRoute that ask for a session, without a name, on a router without cookies."""
    site = site_of(address="")
    site.serve("web", "10.1.1.1", "10.1.1.2")
    affinity = {"nginx.ingress.kubernetes.io/affinity": "cookie"}
    site.apply(
        manifests.ingress_class(),
        manifests.ingress("asks", ("asks.example.com", "/", "web", 8080), annotations=affinity),
        manifests.ingress("not", ("not.example.com", "/", "web", 8080)),
        manifests.ingress_route("root", manifests.forward("/", "web"), fqdn="root.example.com",
                                strategy="Cookie"))
    for flags in ({"disable_cookies": "true"}, {}):
        assert site.converge(**ADDRESS, sources="ingress,ingressroutes", **flags) == []
        seen = {name: clients.plain(site.http, f"{name}.example.com") for name in ("asks", "root", "not")}
        assert {each.status for each in seen.values()} == {200}
        assert ["set-cookie" in each.headers for each in seen.values()] == [True, True, not flags]
