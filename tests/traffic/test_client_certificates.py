"""Client certificates: who gets in, what pods are told, and that nobody passes at any moment."""

import base64
import functools
import hashlib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from tests import manifests
from tests.builders import EPOCH, authority, identity
from tests.traffic import client_certificates, clients
from tests.traffic.client_certificates import DAY, Client, ask, crl
from tests.traffic.clients import Seen
from tests.traffic.conftest import PODS

OWN = identity("own.example.com")
HOSTS = ("own.example.com", "default.example.com")
"""Of a Route with a certificate, and of one without."""


@pytest.fixture(scope="module")
def make_client(tmp_path_factory):
    return functools.partial(client_certificates.make, tmp_path_factory.mktemp("clients"))


@pytest.fixture(scope="module")
def good(make_client) -> Client:
    return make_client([(NameOID.COMMON_NAME, "alice"), (NameOID.ORGANIZATION_NAME, "Shop, Inc.")])


@pytest.fixture(scope="module")
def stranger(make_client) -> Client:
    return make_client([(NameOID.COMMON_NAME, "alice")], ca="Another CA")


@pytest.fixture
def files(tmp_path):
    issuer, _ = authority("Client CA")
    ca, revoked = tmp_path / "ca.pem", tmp_path / "crl.pem"
    ca.write_bytes(issuer.public_bytes(serialization.Encoding.PEM))
    revoked.write_text(crl())
    return {"mutual_tls_auth_ca": str(ca), "mutual_tls_auth_crl": str(revoked)}


@pytest.fixture
def shop(site):
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
    site.apply(
        manifests.route("own", host="own.example.com", kind="edge", certificate=OWN.certificate, key=OWN.key,
                        insecure="Allow"),
        manifests.route("default", host="default.example.com", kind="edge"),
        manifests.route("through", host="through.example.com", service="tls", kind="passthrough"))
    return site


def statuses(site, client: Client | None) -> list[int]:
    """For a Route with a certificate, one without, and without SNI."""
    return [*(ask(site.https, host, client).status for host in HOSTS),
            ask(site.https, HOSTS[0], client, sni=None).status]


@pytest.mark.parametrize(("mode", "without"), [("required", 0), ("optional", 200)])
def test_who_gets_in(shop, files, good, stranger, make_client, mode, without):
    assert shop.converge(mutual_tls_auth=mode, **files) == []
    assert statuses(shop, good) == [200] * 3
    assert statuses(shop, None) == [without] * 3
    assert statuses(shop, stranger) == [0] * 3
    revoked = make_client([(NameOID.COMMON_NAME, "mallory")], serial=77)
    assert statuses(shop, revoked) == [200] * 3
    with open(files["mutual_tls_auth_crl"], "w") as file:
        file.write(crl(revoked))
    assert shop.converge(mutual_tls_auth=mode, **files) == []
    assert statuses(shop, revoked) == [0] * 3
    assert statuses(shop, good) == [200] * 3
    # Port 80 and passthrough know no client certificates.
    assert clients.plain(shop.http, "own.example.com").status == 200
    assert clients.python(shop.https, "through.example.com").certificate == "pods.example.com"


def told(seen: Seen) -> dict[str, str]:
    """X-SSL headers that the pod got."""
    return {name.lower(): value for name, value in seen.pod["headers"] if name.lower().startswith("x-ssl")}


def test_pods_are_told_who_the_client_is(shop, files, good):
    assert shop.converge(mutual_tls_auth="optional", **files) == []
    forged = ("X-SSL-Client-DN: /CN=root", "X-SSL: 1", "X-SSL-Client-Verify: 0")
    der = good.certificate.public_bytes(serialization.Encoding.DER)
    assert told(ask(shop.https, HOSTS[0], good, headers=forged)) == {
        "x-ssl": "1", "x-ssl-client-verify": "0", "x-ssl-client-serial": "01E5",
        "x-ssl-client-version": "3", "x-ssl-client-sha1": f"{hashlib.sha1(der).hexdigest().upper()}",
        "x-ssl-client-dn": "/CN=alice/O=Shop, Inc.", "x-ssl-client-cn": "alice",
        "x-ssl-issuer": "/CN=Client CA", "x-ssl-client-notbefore": "251231000000Z",
        "x-ssl-client-notafter": f"{EPOCH + 9000 * DAY:%y%m%d%H%M%SZ}",
        "x-ssl-client-der": f"{base64.b64encode(der).decode()}"}
    without = told(ask(shop.https, HOSTS[0], headers=forged))
    assert {without.pop("x-ssl"), without.pop("x-ssl-client-verify")} == {"1", "0"}
    assert set(without.values()) == {""}
    assert told(clients.plain(shop.http, HOSTS[0], headers=forged)) == {}


def test_header_actions_read_the_certificate(shop, files, good):
    """Another client of the Route has none of it, nor has a request without TLS."""
    own = shop.kube.get("Route", "shop", "own")
    own["spec"]["httpHeaders"] = {"actions": {side: [{"name": "X-Der", "action": {
        "type": "Set", "set": {"value": "<%{+Q}[ssl_c_der,base64]>"}}}] for side in ("request", "response")}}
    shop.apply(own)
    assert shop.converge(mutual_tls_auth="optional", **files) == []
    der = base64.b64encode(good.certificate.public_bytes(serialization.Encoding.DER)).decode()
    answers = [ask(shop.https, HOSTS[0], good), ask(shop.https, HOSTS[0]), clients.plain(shop.http, HOSTS[0])]
    assert [answer.headers["x-der"] for answer in answers] == [f"<{der}>", "<>", "<>"]
    assert [dict(answer.pod["headers"])["X-Der"] for answer in answers] == [f"<{der}>", "<>", "<>"]


@pytest.mark.parametrize(("expression", "status"), [
    ("alice", 200), ("^/CN=alice/O=Shop, Inc.$", 200), ("(?:alice|bob)", 200), ("^/CN=bob", 403),
    ("O=Shop$", 403), ('"; reject; #', 403), ("[$x]{1}", 403), ("", 200),
])
def test_filter(shop, files, good, expression, status):
    flags = {"mutual_tls_auth": "optional", "mutual_tls_auth_filter": expression, **files}
    assert shop.converge(**flags) == []
    assert ask(shop.https, HOSTS[0], good).status == status
    assert ask(shop.https, HOSTS[0]).status == (403 if expression else 200)
    assert clients.python(shop.https, "through.example.com").certificate == "pods.example.com"


@pytest.mark.parametrize(("host", "path", "status"), [
    ("root.example.com", "/x", 403), ("a.b.wild.example.com", "/", 403), ("root.example.com", "/", 0)])
def test_the_filter_where_others_answer(shop, files, good, host, path, status):
    """The 403 goes before the page for a name that no Route has; after a policy's redirect comes a reset."""
    root = manifests.route("root", host="root.example.com", kind="edge")
    root["metadata"]["annotations"] = {"virtual-server.f5.com/rewrite-app-root": "/app"}
    wild = manifests.route("wild", host="any.wild.example.com", kind="edge")
    wild["spec"]["wildcardPolicy"] = "Subdomain"
    shop.apply(root, wild)
    assert shop.converge(mutual_tls_auth="optional", mutual_tls_auth_filter="nobody",
                         allow_wildcard_routes="true", **files) == []
    assert ask(shop.https, host, good, path=path).status == status
    assert ask(shop.https, host, good, path=path).status == status


def test_names_cannot_write_headers(shop, files, make_client):
    name = [(NameOID.COMMON_NAME, "a\r\nX-Admin: 1"), (x509.ObjectIdentifier("1.3.6.1.4.1.99999.7"), "x"),
            (NameOID.EMAIL_ADDRESS, "a@example.com"), (NameOID.COMMON_NAME, "second")]
    client = make_client(name)
    assert shop.converge(mutual_tls_auth="required", **files) == []
    seen = ask(shop.https, HOSTS[0], client)
    headers = told(seen)
    assert headers["x-ssl-client-dn"] == (
        "/CN=a%0D%0AX-Admin: 1/1.3.6.1.4.1.99999.7=x/emailAddress=a@example.com/CN=second")
    assert headers["x-ssl-client-cn"] == "a%0D%0AX-Admin: 1"
    assert "x-admin" not in {key.lower() for key, _ in seen.pod["headers"]}


@pytest.mark.parametrize("mode", ["required", "optional"])
def test_the_setting_comes(shop, files, good, stranger, mode):
    """A client with a certificate is served at every write; once the iRule is there, nobody else is."""
    assert shop.converge() == []
    seen = []

    def look(entry) -> None:
        attached = "openshift_client_certificate_irule" in str(
            shop.bigip.get("ltm/virtual/~Common~https-ose-vserver").get("rules"))
        others = statuses(shop, stranger) + (statuses(shop, None) if mode == "required" else [])
        seen.append((attached, statuses(shop, good), {*others} if attached else {0}))

    shop.bigip.on_write = look
    assert shop.converge(mutual_tls_auth=mode, **files) == []
    shop.bigip.on_write = None
    assert {attached for attached, _, _ in seen} == {True, False}
    assert [row for row in seen if row[1:] != ([200] * 3, {0})] == []


@pytest.mark.parametrize("refused", ["profile/client-ssl", "ssl-crl", "ssl-cert", "ltm/rule"])
def test_what_a_device_refuses_lets_nobody_in(shop, files, refused):
    """The iRule holds without profiles that ask, and these without the iRule."""
    assert shop.converge() == []
    for method in ("POST", "PATCH"):
        shop.bigip.inject("refuse", times=None, path=refused, method=method, status=400, message="no")
    assert shop.converge(mutual_tls_auth="required", **files) != []
    assert statuses(shop, None) == [0] * 3
    assert [shop.admitted("shop", name)["reason"] for name in ("own", "default")] == ["DeviceRejected"] * 2
    assert shop.admitted("shop", "through")["status"] == "True"


def test_the_setting_goes(shop, files, good):
    """At every write a client with a certificate is served: the iRule goes before the profiles change."""
    assert shop.converge(mutual_tls_auth="required", **files) == []
    seen = []
    shop.bigip.on_write = lambda entry: seen.append((entry.path, statuses(shop, good)))
    assert shop.converge() == []
    shop.bigip.on_write = None
    assert len(seen) > 4
    assert [row for row in seen if row[1] != [200] * 3] == []
    assert statuses(shop, None) == statuses(shop, good) == [200] * 3
    assert not {path for kind in ("ltm/rule", "sys/file/ssl-crl", "sys/file/ssl-cert")
                for path in shop.paths(kind) if "openshift_client" in path}
