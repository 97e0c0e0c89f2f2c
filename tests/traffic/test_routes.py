"""Which pod answers whom: every kind of Route, asked by clients with TLS stacks of their own."""

from contextlib import ExitStack

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.unit.desired.irules import hello

KINDS = {
    "plain": ("", ""),
    "edge": ("edge", ""), "edge-allow": ("edge", "Allow"), "edge-redirect": ("edge", "Redirect"),
    "reencrypt": ("reencrypt", ""), "reencrypt-allow": ("reencrypt", "Allow"),
    "reencrypt-redirect": ("reencrypt", "Redirect"),
    "passthrough": ("passthrough", ""), "passthrough-redirect": ("passthrough", "Redirect"),
}
RSA = ("reencrypt",)
"""Those with RSA keys: the ClientHellos below offer no other suites."""
NAMED = {name: identity(f"{name}.example.com", algorithm="rsa" if name in RSA else "ec")
         for name in KINDS if name.startswith(("edge", "reenc"))}
DEFAULT, POD = "default.example.com", "pods.example.com"
PODS = identity(POD, ca="Pod CA", algorithm="rsa")


def host(name: str) -> str:
    return f"{name}.example.com"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """One Route of each kind, and paths of some."""
    with ExitStack() as stack:
        new_site = Site(stack, tmp_path_factory.mktemp("site"))
        new_site.serve("web", "10.1.1.1", "10.1.1.2")
        new_site.serve("api", "10.1.2.1")
        new_site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
        for name, (kind, insecure) in KINDS.items():
            tls = {}
            if name in NAMED:
                tls = {"certificate": NAMED[name].certificate, "key": NAMED[name].key}
            if kind == "reencrypt":
                tls["destinationCACertificate"] = PODS.issuer
            service = "web" if kind in ("", "edge") else "tls"
            new_site.apply(manifests.route(name, host=host(name), service=service, kind=kind,
                                           insecure=insecure, **tls))
            if kind in ("", "edge"):
                new_site.apply(manifests.route(f"{name}-api", host=host(name), path="/api", service="api",
                                               kind=kind, insecure=insecure))
        assert new_site.converge() == []
        yield new_site
        assert new_site.faults() == []


def seen(reply: clients.Seen) -> str:
    """Say as a user would: the pod's Service and how it was asked, a redirect or status, or nothing."""
    if reply.location:
        return f"{reply.status} {reply.location}"
    if reply.pod:
        return f"{reply.pod['pod'].rsplit('-', 1)[0]} by {'TLS' if reply.pod['tls'] else 'HTTP'}"
    return str(reply.status or "nothing")


# --- port 80 -----------------------------------------------------------------------------------------

PLAIN = {
    "plain": "{0} by HTTP", "edge": "503", "edge-allow": "{0} by HTTP", "edge-redirect": "302 {1}",
    "reencrypt": "503", "reencrypt-allow": "{0} by TLS", "reencrypt-redirect": "302 {1}",
    "passthrough": "503", "passthrough-redirect": "302 {1}",
}


@pytest.mark.parametrize("path", ["/", "/api", "/api/x?y=1", "/apis"])
@pytest.mark.parametrize("name", KINDS)
def test_port_80(site, name, path):
    service = "tls" if name.startswith(("re", "pass")) else "api" if path in ("/api", "/api/x?y=1") else "web"
    expected = PLAIN[name].format(service, f"https://{host(name)}{path}")
    assert seen(clients.plain(site.http, host(name), path)) == expected


# --- port 443 ----------------------------------------------------------------------------------------

CLIENTS = {
    "python": clients.python,
    "python, TLS 1.2": lambda *a, **k: clients.python(*a, maximum="TLSv1_2", **k),
    "python, upper case": lambda address, name, path="/": clients.python(address, name.upper(), path),
    "python, byte by byte": lambda *a: clients.python(*a, pieces=clients.byte_by_byte),
    "python, in two": lambda *a: clients.python(*a, pieces=clients.in_two),
    "openssl": clients.openssl,
    "openssl, TLS 1.0": lambda *a: clients.openssl(*a, flags=("-tls1", "-cipher", "DEFAULT@SECLEVEL=0")),
    "chrome": clients.chrome,
}
SECURE = {
    "plain": ("503", DEFAULT),
    "edge": ("web by HTTP", None), "edge-allow": ("web by HTTP", None),
    "edge-redirect": ("web by HTTP", None),
    "reencrypt": ("tls by TLS", None), "reencrypt-allow": ("tls by TLS", None),
    "reencrypt-redirect": ("tls by TLS", None),
    "passthrough": ("tls by TLS", POD), "passthrough-redirect": ("tls by TLS", POD),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("name", KINDS)
def test_port_443(site, name, client):
    what, certificate = SECURE[name]
    reply = CLIENTS[client](site.https, host(name), "/")
    if client == "openssl, TLS 1.0" and certificate == POD:
        # The pod decides, and takes nothing below TLS 1.2.
        assert seen(reply) == "nothing"
        assert site.bigip.dataplane.log[-1].pool == "/Common/openshift_shop_tls"
        return
    assert seen(reply) == what
    if client != "chrome":
        assert reply.certificate == (certificate or host(name))


@pytest.mark.parametrize("name", [name for name in KINDS if name != "plain"])
def test_port_443_the_certificate_is_right_for_chrome(site, tmp_path, name):
    """Verified by the client, against the authority of the Route or of the pod."""
    authority = tmp_path / "ca.pem"
    authority.write_text(NAMED[name].issuer if name in NAMED else PODS.issuer)
    reply = clients.chrome(site.https, host(name), ca=str(authority))
    assert bool(reply.pod) == (name in NAMED), reply.error  # a pod's certificate is for another name


SNI = [
    # name of the server that the client asks for in TLS, Host of the request: who answers, certificate
    (None, "edge", "web by HTTP", DEFAULT),
    (None, "reencrypt", "tls by TLS", DEFAULT),
    (None, "passthrough", "503", DEFAULT),
    ("unknown.example.com", "edge", "web by HTTP", DEFAULT),
    ("unknown.example.com", "passthrough", "503", DEFAULT),
    ("edge-allow.example.com", "edge", "web by HTTP", "edge-allow.example.com"),
    ("edge.example.com", "reencrypt", "tls by TLS", "edge.example.com"),
    ("reencrypt.example.com", "edge", "web by HTTP", "reencrypt.example.com"),
    ("edge.example.com", "passthrough", "503", "edge.example.com"),
    ("passthrough.example.com", "edge", "tls by TLS", POD),
    ("PassThrough.Example.COM", "passthrough", "tls by TLS", POD),
    ("EDGE.example.com", "edge", "web by HTTP", "edge.example.com"),
]


@pytest.mark.parametrize(("sni", "name", "what", "certificate"), SNI)
def test_the_name_in_tls_and_the_host(site, sni, name, what, certificate):
    reply = clients.python(site.https, host(name), sni=sni)
    assert (seen(reply), reply.certificate) == (what, certificate)


# --- ClientHellos --------------------------------------------------------------------------------------

PASS = "passthrough.example.com"
REST = (  # supported_groups, signature_algorithms, ec_point_formats
    hello.extension(10, b"\0\4\0\x1d\0\x17"),
    hello.extension(13, b"\0\x0a\x04\x03\x08\x04\x04\x01\x05\x01\x02\x01"),
    hello.extension(11, b"\1\0"),
)
SUITES = {"suites": b"\xc0\x2f\xc0\x30\x00\x9c\x00\x2f"}
GO = (hello.extension(5, b"\1\0\0\0\0"), *REST, hello.extension(0xFF01, b"\0"), hello.extension(18))
WHOLE = hello.client_hello(hello.sni(PASS), *REST, **SUITES)
HELLOS = {
    "SNI of a passthrough Route": (WHOLE, POD),
    "SNI of a re-encrypt Route": (
        hello.client_hello(hello.sni(host("reencrypt")), *REST, **SUITES), host("reencrypt")),
    "SNI in upper case": (hello.client_hello(hello.sni(PASS.upper()), *REST, **SUITES), POD),
    "SNI is the last extension": (hello.client_hello(*REST, hello.sni(PASS), **SUITES), POD),
    "GREASE": (hello.client_hello(hello.extension(hello.GREASE), hello.sni(PASS), *REST, **SUITES), POD),
    "Go": (hello.client_hello(hello.sni(PASS), *GO, **SUITES), POD),
    "records say 0x0303": (hello.client_hello(hello.sni(PASS), *REST, record_version=0x0303, **SUITES), POD),
    "empty session id": (hello.client_hello(hello.sni(PASS), *REST, session_id=b"", **SUITES), POD),
    "unknown SNI": (hello.client_hello(hello.sni("unknown.example.com"), *REST, **SUITES), DEFAULT),
    "extensions without SNI": (hello.client_hello(*REST, **SUITES), DEFAULT),
    "no block of extensions": (hello.records(hello.message(None, **SUITES)), DEFAULT),
    "empty block of extensions": (hello.client_hello(**SUITES), DEFAULT),
    "records say 0x0304": (hello.client_hello(hello.sni(PASS), *REST, record_version=0x0304, **SUITES), POD),
    "records say 0x0300": (hello.client_hello(hello.sni(PASS), *REST, record_version=0x0300, **SUITES), POD),
    "no TLS": (b"GET / HTTP/1.1\r\nHost: passthrough.example.com\r\n\r\n", ""),
    "first segment of 1 byte": ((WHOLE[:1], WHOLE[1:]), POD),
    "first segment of 5 bytes": ((WHOLE[:5], WHOLE[5:]), POD),
    "cut before the length of the extensions": ((WHOLE[:46], WHOLE[46:]), POD),
    "cut before the SNI": ((WHOLE[:90], WHOLE[90:]), POD),
    "cut in the SNI": ((WHOLE[:100], WHOLE[100:]), POD),
    "a hello in two records": (hello.records(hello.message([hello.sni(PASS), *REST], **SUITES), 60), POD),
    "SNI with a dot at the end": (hello.client_hello(hello.sni(f"{PASS}."), *REST, **SUITES), POD),
    "SNI of 300 bytes": (hello.client_hello(hello.sni("a" * 300), *REST, **SUITES), ""),
    "session id of 128 bytes": (
        hello.client_hello(hello.sni(PASS), *REST, session_id=bytes(128), **SUITES), ""),
    "suites of 32,768 bytes": (
        hello.client_hello(hello.sni(PASS), *REST, suites=b"\xc0\x2f" * 16384), DEFAULT),
    "an extension of 65,532 bytes": (
        hello.client_hello(hello.extension(21, b"", length=0xFFFC), hello.sni(PASS), *REST, **SUITES), ""),
    "SNI is not a host": (hello.client_hello(hello.sni("-value"), *REST, **SUITES), DEFAULT),
    "a key share of 1,216 bytes, cut in it": (
        (lambda whole: (whole[:700], whole[700:]))(
            hello.client_hello(hello.extension(51, bytes(1216)), hello.sni(PASS), *REST, **SUITES)), POD),
}


@pytest.mark.parametrize("which", HELLOS)
def test_client_hellos(site, which):
    """The owner of a name shows the certificate. Inputs as for the original iRule, test_passthrough.py."""
    data, certificate = HELLOS[which]
    assert clients.certificate_for(site.https, *(data if isinstance(data, tuple) else (data,))) == certificate
