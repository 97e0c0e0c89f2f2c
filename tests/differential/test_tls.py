"""TLS towards clients: our router against HAProxy's, both with the variables of OpenShift's."""

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from tests import manifests
from tests.builders import authority, identity
from tests.differential.conftest import Pair, Router
from tests.traffic import client_certificates, clients
from tests.traffic.client_certificates import ask, crl
from tests.traffic.conftest import PODS, Site
from tests.traffic.test_tls_settings import shake

OWN, WILD = identity("own.example.com"), identity("*.wild.example.com")
SITE = identity("site.example.com", algorithm="rsa")
CERTIFICATE = {"DEFAULT_CERTIFICATE": SITE.certificate + SITE.key}
HOSTS = ("own.example.com", "edge.example.com")


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
    site.apply(
        manifests.route("own", host="own.example.com", kind="edge", certificate=OWN.certificate, key=OWN.key),
        manifests.route("edge", host="edge.example.com", kind="edge"),
        manifests.route("through", host="through.example.com", service="tls", kind="passthrough"))


@pytest.mark.parametrize("variables", [{}, CERTIFICATE], ids=["the administrator's", "the router's"])
def test_certificates(pair_of, variables):
    pair = pair_of(build, variables=variables)

    def shown(router: Router) -> list[str]:
        return [clients.python(router.https, host, sni=sni).certificate for host, sni in (
            ("own.example.com", ""), ("edge.example.com", ""), ("own.example.com", "foreign.example.org"),
            ("own.example.com", None), ("through.example.com", ""))]

    default = "site.example.com" if variables else "default.example.com"
    haproxy, ours = pair.both(shown)
    assert ours == haproxy == ["own.example.com", default, default, default, "pods.example.com"]


@pytest.fixture(scope="module")
def mounted(tmp_path_factory):
    """Return variables by the form of the default certificate that an administrator mounts."""
    folder = tmp_path_factory.mktemp("mounted")

    def files(name: str, **texts: str) -> str:
        (folder / name).mkdir()
        for ending, text in texts.items():
            (folder / name / f"tls.{ending}").write_text(text)
        return str(folder / name)

    other = identity("other.example.com")
    path = folder / "site.pem"
    path.write_text(SITE.certificate + SITE.key)
    whole = files("whole", crt=other.certificate + other.key)
    return {
        "path": ({"DEFAULT_CERTIFICATE_PATH": str(path)}, "site.example.com"),
        "directory": ({"DEFAULT_CERTIFICATE_DIR": files("two", crt=SITE.certificate, key=SITE.key)},
                      "site.example.com"),
        "directory with one file": ({"DEFAULT_CERTIFICATE_DIR": whole}, "other.example.com"),
        "path and directory": ({"DEFAULT_CERTIFICATE_PATH": str(path), "DEFAULT_CERTIFICATE_DIR": whole},
                               "site.example.com"),
        "all": ({**CERTIFICATE, "DEFAULT_CERTIFICATE_PATH": f"{whole}/tls.crt"}, "site.example.com"),
    }


@pytest.mark.parametrize(
    "form", ["path", "directory", "directory with one file", "path and directory", "all"])
def test_mounted_default_certificates(pair_of, mounted, form):
    variables, name = mounted[form]
    pair = pair_of(build, variables=variables)

    def shown(router: Router) -> list[str]:
        return [clients.python(router.https, host, sni=sni).certificate for host, sni in (
            ("own.example.com", ""), ("edge.example.com", ""), ("edge.example.com", None))]

    theirs, ours = pair.both(shown)
    assert ours == theirs == ["own.example.com", name, name]


def test_strict_sni(pair_of):
    """Compare the certificate, or the alert, for names with a certificate and without."""
    wildcard = identity("*.site.example.com", algorithm="rsa")

    def more(site: Site) -> None:
        build(site)
        wild = manifests.route("wild", host="any.wild.example.com", kind="edge", certificate=WILD.certificate,
                               key=WILD.key)
        wild["spec"]["wildcardPolicy"] = "Subdomain"
        site.apply(wild, manifests.route("covered", host="a.site.example.com", kind="edge"))

    pair = pair_of(more, variables={"DEFAULT_CERTIFICATE": wildcard.certificate + wildcard.key,
                                    "ROUTER_STRICT_SNI": "true"}, allow_wildcard_routes="true")

    def shown(router: Router) -> list[str]:
        answers = [clients.python(router.https, "own.example.com", sni=sni) for sni in (
            "own.example.com", "OWN.example.com", "a.wild.example.com", "a.site.example.com", None,
            "through.example.com", "edge.example.com", "wild.example.com", "a.b.wild.example.com",
            "a.b.site.example.com", "site.example.com", "foreign.example.org", "own")]
        return [answer.certificate or answer.error.partition("] ")[2].partition(" (")[0]
                for answer in answers]

    haproxy, ours = pair.both(shown)
    assert ours == haproxy
    assert ours[:6] == ["own.example.com"] * 2 + ["*.wild.example.com", "*.site.example.com",
                                                  "*.site.example.com", "pods.example.com"]
    assert len(set(ours[6:])) == 1
    assert "unrecognized name" in ours[6]


@pytest.mark.parametrize("variables", [
    {"SSL_MIN_VERSION": "TLSv1.2"}, {"SSL_MIN_VERSION": "TLSv1.3"}, {"SSL_MAX_VERSION": "TLSv1.2"},
    {"SSL_MIN_VERSION": "TLSv1.2", "ROUTER_CIPHERS": "AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256"},
    {"SSL_MIN_VERSION": "TLSv1.2",
     "ROUTER_CIPHERS": "EECDH+AESGCM:!AES256", "ROUTER_CIPHERSUITES": "TLS_AES_128_GCM_SHA256"},
    {"SSL_MIN_VERSION": "TLSv1.2", "ROUTER_CIPHERS": "modern"},
    {"SSL_MIN_VERSION": "TLSv1.2", "ROUTER_CIPHERS": "intermediate"},
], ids=lambda variables: " ".join(f"{name}={text}" for name, text in variables.items()))
def test_versions_and_ciphers(pair_of, variables):
    """The suite that is chosen, by version and by what the client offers."""
    pair = pair_of(build, variables={**CERTIFICATE, **variables})
    offers = [("TLSv1_2", offer) for offer in (
        "ALL", "AES128-GCM-SHA256:AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256", "AES256-SHA")]

    def chosen(router: Router) -> list[str]:
        suites = [shake(router.https, host, version, offer) for host in (*HOSTS, None)
                  for version, offer in offers]
        # The suite of TLS 1.3 is not compared: Python cannot choose among them for the fake BIG-IP.
        return suites + [str(bool(shake(router.https, host, "TLSv1_3"))) for host in (*HOSTS, None)]

    haproxy, ours = pair.both(chosen)
    # Without ROUTER_CIPHERS the BIG-IP chooses by its own list: only who gets in is the same.
    assert ours == haproxy if "ROUTER_CIPHERS" in variables else [*map(bool, ours)] == [*map(bool, haproxy)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clients")


@pytest.fixture(scope="module")
def people(folder):
    """Return clients by name: without a certificate, with good ones, a stranger's and a revoked one."""
    make = client_certificates.make
    odd = [(NameOID.COMMON_NAME, "a,b/c=d"), (NameOID.TITLE, "\u00e4\r\nX-A: \tb\x7f\"<"),
           (NameOID.EMAIL_ADDRESS, "a@example.com"),
           (x509.ObjectIdentifier("1.3.6.1.4.1.99999.7"), "x"), (NameOID.COMMON_NAME, "second")]
    return {
        "none": None, "alice": make(folder, [(NameOID.COMMON_NAME, "alice")]),
        "odd": make(folder, odd, serial=0xFF00E1),
        "stranger": make(folder, [(NameOID.COMMON_NAME, "alice")], ca="Another CA"),
        "revoked": make(folder, [(NameOID.COMMON_NAME, "alice")], serial=77)}


@pytest.fixture(scope="module")
def mutual(folder, people):
    """Return variables with the files of authorities and revoked certificates."""
    files = folder / "files"
    files.mkdir()
    issuer, _ = authority("Client CA")
    (files / "ca.pem").write_text(identity("x", ca="Client CA").issuer)
    (files / "crl.pem").write_text(crl(people["revoked"]))
    assert issuer.subject
    return {"ROUTER_MUTUAL_TLS_AUTH_CA": str(files / "ca.pem"),
            "ROUTER_MUTUAL_TLS_AUTH_CRL": str(files / "crl.pem")}


@pytest.mark.parametrize(("mode", "expression"), [
    ("required", ""), ("optional", ""), ("optional", "alice"), ("required", "^/CN=a,b/c=d/"),
])
def test_client_certificates(pair_of, people, mutual, mode, expression):
    """Compare who gets in, with which status, and the headers that the pod gets."""
    variables = {**CERTIFICATE, **mutual, "ROUTER_MUTUAL_TLS_AUTH": mode}
    if expression:
        variables["ROUTER_MUTUAL_TLS_AUTH_FILTER"] = expression
    pair: Pair = pair_of(build, variables=variables)
    forged = ("X-SSL: 1", "X-SSL-Client-DN: /CN=root", "X-SSL-Issuer: x")

    def seen(router: Router) -> dict:
        answers = {}
        for name, client in people.items():
            for host, sni in ((HOSTS[0], ""), (HOSTS[1], ""), (HOSTS[0], None)):
                answer = ask(router.https, host, client, sni=sni, headers=forged)
                headers = sorted((key.lower(), value) for key, value in answer.pod.get("headers", ())
                                 if key.lower().startswith("x-ssl"))
                answers[name, host, sni] = (answer.status, headers)
        return answers

    haproxy, ours = pair.both(seen)
    assert ours == haproxy
    assert {status for status, _ in ours.values()} >= {0, 200}
    assert clients.python(pair.ours.https, "through.example.com").certificate == "pods.example.com"
