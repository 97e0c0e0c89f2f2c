"""Headers in which a client could pretend to be somebody else: none of them comes to a pod.

The names are those of openshift/router, images/router/haproxy/conf/haproxy-config.template (`Proxy`, and
the X-SSL headers with which it tells pods of client certificates), and X-SSL-Client-Cert.
"""

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

NAMES = [
    "Proxy", "X-SSL", "X-SSL-Issuer", *(f"X-SSL-Client-{suffix}" for suffix in (
        "Cert", "CN", "DER", "DN", "NotAfter", "NotBefore", "SHA1", "Serial", "Subject", "Verify",
        "Version")),
]
SPELLINGS = [
    "proxy", "PROXY", "x-ssl-client-verify", "X-SSL-CLIENT-VERIFY", "x-Ssl-cLIENT-dn",
    "X_SSL_Client_Verify", "X_SSL", "x_ssl_client_cn", "X-SSL_Client-SHA1", "X.SSL.Client.DN",
]
"""Backends that take headers from an environment (CGI, WSGI, PHP) know no case and no punctuation."""
KEPT = [
    "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Proxy-Authorization", "Proxy-Connection",
    "X-SSLmode", "X-SSL-Other", "Xssl", "SSL-Client-Verify", "My-Proxy", "X-Request-Id",
]
"""Everybody else's."""
HOSTS = {"plain": "www.example.com", "edge": "edge.example.com", "reencrypt": "re.example.com"}


VERSIONS = [pytest.param("14.1.2", id="drafts"), pytest.param("12.0.0", id="no drafts")]


@pytest.fixture(scope="module", params=VERSIONS)
def served(shared_site_of, request) -> Site:
    return serve(shared_site_of(tmos_version=request.param))


def serve(site: Site) -> Site:
    """Routes of every kind, with their pods."""
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    site.apply(
        manifests.route("web"), manifests.route("below", path="/api"),
        manifests.route("edge", host=HOSTS["edge"], kind="edge", insecure="Allow"),
        manifests.route("re", host=HOSTS["reencrypt"], kind="reencrypt", insecure="Allow", service="tls",
                        destinationCACertificate=PODS.issuer),
        manifests.route("through", host="through.example.com", kind="passthrough", service="tls"),
    )
    assert site.converge() == []
    return site


def asked(site: Site, kind: str, *requests: bytes, pipelined: bool = False) -> list[list[str]]:
    """Names of the headers that pods got, request by request."""
    address, sni = (site.http, None) if kind == "plain" else (site.https, HOSTS[kind])
    replies = clients.several(address, *requests, sni=sni, pipelined=pipelined)
    return [[name for name, _ in seen.pod["headers"]] for seen in replies]


def request(host: str, *headers: str, path: str = "/", close: bool = False) -> bytes:
    return clients.request_bytes(host, path, headers=headers, close=close)


@pytest.mark.parametrize("kind", HOSTS)
def test_every_name_in_the_first_and_in_later_requests(served, kind):
    host = HOSTS[kind]
    sent = [request(host, f"{name}: spoofed", "X-Mine: 1") for name in NAMES]
    again = [request(host, *(f"{name}: spoofed" for name in NAMES), "X-Mine: 1", path="/api")]
    for requests in (sent, [*again, *sent]):
        header_lists = asked(served, kind, *requests)
        assert len(header_lists) == len(requests)
        for names in header_lists:
            assert "X-Mine" in names
            assert not set(NAMES) & set(names)


@pytest.mark.parametrize("kind", ["edge", "reencrypt"])
def test_port_80_of_routes_with_tls(served, kind):
    """With Allow, requests come in clear text too."""
    seen = clients.several(served.http, request(HOSTS[kind], *(f"{name}: x" for name in NAMES), close=True))
    assert not set(NAMES) & {name for name, _ in seen[0].pod["headers"]}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings(served, name):
    header_lists = asked(served, "plain", *[request(HOSTS["plain"], f"{name}: spoofed")] * 2)
    assert [name in names for names in header_lists] == [False, False]


def test_headers_that_stand_twice(served):
    """Each of them goes, also where cases differ and other headers lie between them."""
    doubled = ("X-SSL: 1", "X-Mine: 1", "X-SSL: 2", "x-ssl: 3", "X_SSL: 4", "X-SSL: 5", "X-Mine: 2")
    for names in asked(served, "plain", *[request(HOSTS["plain"], *doubled)] * 2):
        own = [name for name in names if name[:2] in ("X-", "x-", "X_") and "Forwarded" not in name]
        assert own == ["X-Mine"] * 2


def test_folded_headers(served):
    """The continuation of a line belongs to the header above it, and goes with that."""
    folded = request(HOSTS["plain"], "X-SSL-Client-DN: CN=a,\r\n O=b", "X-Mine: 1,\r\n X-SSL: 2", close=True)
    seen = clients.several(served.http, folded)
    for names in ([name for name, _ in reply.pod["headers"]] for reply in seen):
        assert not {"X-SSL-Client-DN", "X-SSL"} & set(names)


def test_pipelined_requests(served):
    """Sent before the first is answered."""
    requests = [request(HOSTS["plain"], "X-SSL-Client-Verify: 0", path=path) for path in ("/", "/api", "/")]
    header_lists = asked(served, "plain", *requests, pipelined=True)
    assert len(header_lists) == 3
    assert not any("X-SSL-Client-Verify" in names for names in header_lists)


@pytest.mark.parametrize("name", KEPT)
def test_all_others_pass(served, name):
    """X-Forwarded headers too: upstream's default, append, leaves what the client sent."""
    header_lists = asked(served, "plain", *[request(HOSTS["plain"], f"{name}: mine")] * 2)
    assert [name in names for names in header_lists] == [True, True]


def test_passthrough_is_not_looked_into(served):
    """Nobody but the pod can: the TLS is its own."""
    seen = clients.several(served.https, request("through.example.com", "X-SSL: 1", close=True),
                           sni="through.example.com")
    assert ["X-SSL", "1"] in seen[0].pod["headers"]


@pytest.mark.parametrize("version", VERSIONS)
def test_headers_of_the_administrators_irule_come_to_pods(site_of, version):
    """One that verifies client certificates on the BIG-IP: whatever its place on the virtual server."""
    served = serve(site_of(tmos_version=version))
    served.change("POST", "ltm/rule", {
        "name": "mtls", "partition": "Common",
        "apiAnonymous": 'when HTTP_REQUEST { HTTP::header replace X-SSL-Client-Verify "0" }'})
    path = "ltm/virtual/~Common~ose-vserver"
    rules = served.bigip.get(path)["rules"]
    for order in (["/Common/mtls", *rules], [*rules, "/Common/mtls"]):
        served.change("PATCH", path, {"rules": order})
        seen = clients.several(served.http, request(HOSTS["plain"], "X-SSL-Client-Verify: 1", close=True))
        assert [pair for pair in seen[0].pod["headers"] if pair[0] == "X-SSL-Client-Verify"] == [
            ["X-SSL-Client-Verify", "0"]]
