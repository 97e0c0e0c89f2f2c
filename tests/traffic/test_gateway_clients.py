"""Gateways that ask clients for certificates: who gets in, at each moment."""

import pytest
from cryptography.x509.oid import NameOID

from tests import gateways
from tests.builders import identity
from tests.gateways import conditions, gateway, listener
from tests.rows import rows
from tests.traffic import client_certificates
from tests.traffic.client_certificates import Client
from tests.traffic.conftest import PODS, Site
from tests.traffic.test_https_listeners import FLAGS, LISTENER, OBJECTS, ONE, secret, site_with

HOST = "one.example.com"
IN, OUT = 200, 0
CA, OTHER_CA = "Client CA", "Another CA"
NONE = gateway("web", LISTENER)


def authority(ca: str, name: str = "ca", namespace: str = "infra") -> dict:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name},
            "data": {"ca.crt": identity(ca=ca).issuer}}


def asking(*names: str, listeners: tuple[dict, ...] = (LISTENER,), **more) -> dict:
    """A Gateway that serves nobody without a valid certificate. Args: names: of ConfigMaps."""
    refs = [{"group": "", "kind": "ConfigMap", "name": name, **more} for name in names or ("ca",)]
    return gateway("web", *listeners, tls={"frontend": {"default": {"validation": {
        "mode": "AllowValidOnly", "caCertificateRefs": refs}}}})


@pytest.fixture
def client(tmp_path):
    """Returns a client of an authority."""
    folder = tmp_path / "clients"
    folder.mkdir()
    return lambda ca: client_certificates.make(folder, [(NameOID.COMMON_NAME, "client")], ca=ca)


def status(site: Site, client: Client | None, *, host: str = HOST, sni: str | None = "", name: str = "web",
           port: int = 443) -> int:
    """Status that a client gets; 0 without an answer, also if nothing listens."""
    try:
        place = site.bigip.endpoint(f"/Common/openshift_https__infra.{name}.{port}")
    except KeyError:
        return OUT
    return client_certificates.ask(place, host, client, sni=sni).status


def answers_clients(site: Site, name: str, port: int) -> bool:
    path = f"/Common/openshift_https__infra.{name}.{port}"
    return any(item.name == path and item.fields.get("enabled") for item in site.bigip.items("ltm/virtual"))


def of_listener(site: Site) -> dict:
    whole = site.kube.get("Gateway", "infra", "web")["status"]
    return conditions(whole["listeners"][0]["conditions"])


def test_who_gets_in(site_of, client):
    """By any server name, of this Gateway alone; a restart writes nothing."""
    good, stranger = client(CA), client(OTHER_CA)
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA), asking(), gateway(
        "second", LISTENER), gateways.http_route(
        "s", gateways.rule(gateways.backend("web")), hostnames=(HOST,), parents=(gateways.parent("second"),)))
    assert site.converge(**FLAGS) == []
    assert of_listener(site)["Programmed"] == ("True", "Programmed")
    for sni in ("", None, "other.example.org"):
        assert [status(site, each, sni=sni) for each in (good, stranger, None)] == [IN, OUT, OUT]
    assert [status(site, each, name="second") for each in (good, stranger, None)] == [IN, IN, IN]
    site.clear()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []


def test_several_authorities(site_of, client):
    """One of them that is of no use keeps nobody else out, and lets nobody in."""
    clients = [client(CA), client(OTHER_CA), client("Third CA"), None]
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA), authority(OTHER_CA, "other"),
                     asking("ca", "missing", "other"))
    assert site.converge(**FLAGS) == []
    assert [status(site, each) for each in clients] == [IN, IN, OUT, OUT]
    assert of_listener(site)["ResolvedRefs"] == ("False", "InvalidCACertificateRef")
    assert of_listener(site)["Programmed"] == ("True", "Programmed")


def test_renewed_authorities(site_of, client):
    """Nobody is let in between who is not before or afterwards."""
    old, new = client(CA), client(OTHER_CA)
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA), asking())
    assert site.converge(**FLAGS) == []
    site.apply(authority(OTHER_CA))
    for _ in site.each_end(3, **FLAGS):
        assert status(site, None) == OUT
        assert site.converge(**FLAGS) == []
        assert [status(site, each) for each in (old, new, None)] == [OUT, IN, OUT]


def test_a_router_that_ends_at_any_write_of_a_new_gateway(site_of, client):
    """Nobody without a certificate gets an answer at any time."""
    good = client(CA)
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA))
    assert site.converge(**FLAGS) == []
    site.apply(asking())
    for _ in site.each_end(2, **FLAGS):
        assert status(site, None) == OUT
        assert site.converge(**FLAGS) == []
        assert [status(site, each) for each in (good, None)] == [IN, OUT]


@rows("back", [False, True])
def test_validation_comes_and_goes(site_of, client, back):
    good = client(CA)
    before, after = (asking(), NONE) if back else (NONE, asking())
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA), before)
    assert site.converge(**FLAGS) == []
    site.apply(after)
    for _ in site.each_end(3, **FLAGS):
        assert site.converge(**FLAGS) == []
        assert [status(site, each) for each in (good, None)] == [IN, IN if back else OUT]


@rows("gone", ["ConfigMap", "ReferenceGrant"])
def test_authorities_that_are_gone_leave_nothing_served(site_of, client, gone):
    """At no moment somebody without a certificate is let in."""
    good = client(CA)
    grant = gateways.grant("g", "certs", ("Gateway", "infra"), ("", "ConfigMap", "ca"))
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA, namespace="certs"), grant,
                     asking(namespace="certs"))
    assert site.converge(**FLAGS) == []
    assert status(site, good) == IN
    site.kube.delete(gone, "certs", "ca" if gone == "ConfigMap" else "g")
    for _ in site.each_end(2, **FLAGS):
        assert status(site, None) == OUT
        assert site.converge(**FLAGS) == []
        assert [status(site, each) for each in (good, None)] == [OUT, OUT]
    assert of_listener(site)["Accepted"] == ("False", "NoValidCACertificate")
    assert of_listener(site)["ResolvedRefs"] == (
        "False", "InvalidCACertificateRef" if gone == "ConfigMap" else "RefNotPermitted")


def test_tls_that_is_passed_through_beside_it(site_of, client):
    """Without the authorities it goes on by itself."""
    good, host = client(CA), "db.example.com"
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA), asking(listeners=(
        LISTENER, listener("tls", **gateways.PASSTHROUGH, hostname=host))), gateways.tls_route(
        "r", gateways.backend("tls", 8443), hostnames=(host,)))
    site.serve("tls", "10.1.2.1", namespace="infra", port=8443, tls=PODS)
    assert site.converge(**FLAGS) == []
    assert [status(site, each) for each in (good, None)] == [IN, OUT]
    assert status(site, None, host=host) == IN
    site.kube.delete("ConfigMap", "infra", "ca")
    for _ in site.each_end(2, **FLAGS):
        assert status(site, None) != IN
        assert site.converge(**FLAGS) == []
        assert [status(site, each) != IN for each in (good, None)] == [True, True]
        assert status(site, None, host=host) == IN
    site.apply(authority(CA))
    for _ in site.each_end(2, **FLAGS):
        assert (status(site, None) == IN, status(site, None, host=host)) == (False, IN)
        assert site.converge(**FLAGS) == []
        assert [status(site, each) for each in (good, None)] == [IN, OUT]


@rows("others", [(), (LISTENER,)])
def test_tls_that_is_passed_through_without_any_authorities(site_of, others):
    """A listener of protocol TLS waits for none, also beside one that is refused without them."""
    host = "db.example.com"
    site = site_with(site_of, gateways.gateway_class(), secret("one", ONE), asking("missing", listeners=(
        listener("tls", **gateways.PASSTHROUGH, hostname=host), *others)), gateways.tls_route(
        "r", gateways.backend("tls", 8443), hostnames=(host,)))
    site.serve("tls", "10.1.2.1", namespace="infra", port=8443, tls=PODS)
    assert site.converge(**FLAGS) == []
    assert of_listener(site)["Programmed"] == ("True", "Programmed")
    assert status(site, None, host=host) == IN


def test_authorities_that_cannot_be_read(site_of, client):
    """The port stays as it is; a new Gateway waits for them, and another one does not."""
    good, stranger = client(CA), client(OTHER_CA)
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA), asking())
    assert site.converge(**FLAGS) == []
    site.kube.forbid("configmaps", ("get", "list", "watch"), "infra")
    late = asking(listeners=(listener("https", 8443, "HTTPS", secret="one"),))
    late["metadata"]["name"] = "late"
    site.apply(late, gateway("free", LISTENER))
    assert site.converge(**FLAGS) == ["Gateway infra/late on front end infra.late.8443: not yet programmed"]
    assert [status(site, each) for each in (good, stranger, None)] == [IN, OUT, OUT]
    assert [status(site, each, name="late", port=8443) for each in (good, None)] == [OUT, OUT]
    assert not answers_clients(site, "late", 8443)
    assert status(site, None, name="free") == 404
    site.kube.allow("configmaps")
    assert site.converge(**FLAGS) == []
    assert [status(site, each) for each in (good, stranger, None)] == [IN, OUT, OUT]
    assert [status(site, each, name="late", port=8443) for each in (good, None)] == [404, OUT]
    assert answers_clients(site, "late", 8443)


def test_where_it_is_refused(site_of):
    """On the front end of the router, and where its settings ask for certificates already."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA), asking())
    site.converge(f5_vserver_address="203.0.113.10", sources="routes,gateway")
    assert of_listener(site)["Accepted"] == ("False", "UnsupportedValue")
    assert client_certificates.ask(site.https, HOST, None).status != IN
    site = site_with(site_of, *OBJECTS, secret("one", ONE), authority(CA), asking())
    site.converge(**FLAGS, mutual_tls_auth="optional")
    assert of_listener(site)["Accepted"] == ("False", "UnsupportedValue")
    assert status(site, None) == OUT
