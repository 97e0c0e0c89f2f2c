"""Settings of HTTP and TLS on virtual servers of the router: what clients get, and what is on the BIG-IP."""

import socket
import ssl

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.tenants import Kept
from tests.waiting import DEADLINE_S

TWO = {"f5_vserver_address": "203.0.113.10,203.0.113.11"}
SERVERS = ("ose-vserver", "https-ose-vserver", "ose-vserver_2", "https-ose-vserver_2")
ACCEPT = "Accept-Encoding: gzip"


def serve(site: Site, **flags: str) -> list[str]:
    site.serve("web", "10.1.1.1")
    site.apply(manifests.route("a", host="a.example.com", kind="edge", insecure="Allow"))
    return site.converge(**TWO, **flags)


def ask(site: Site, server: str, *headers: str, path: str = "/") -> clients.Seen:
    where = site.bigip.endpoint(f"/Common/{server}")
    if server.startswith("https"):
        return clients.python(where, "a.example.com", path=path, headers=headers)
    return clients.plain(where, "a.example.com", path=path, headers=headers)


def test_compression(site_of):
    """On each address, and from the first start on; given up without an interruption."""
    site = site_of(address="")
    path = "/?type=text/html&length=4000"
    for flags, encoding in (({"enable_compression": "true"}, "gzip"), ({}, None),
                            ({"enable_compression": "true", "compression_mime": "text/plain"}, None)):
        assert serve(site, **flags) == []
        for server in SERVERS:
            seen = ask(site, server, ACCEPT, path=path)
            assert (seen.status, seen.headers.get("content-encoding")) == (200, encoding), server
            profiles = site.bigip.get(f"ltm/virtual/~Common~{server}")["profilesReference"]["items"]
            assert ("/Common/openshift_http-compression-profile" in {
                item["fullPath"] for item in profiles}) is bool(flags)
        site.clear()
        assert serve(site, **flags) == []
        assert site.writes() == []


def suite(site: Site, server: str, wanted: str) -> str:
    """Return the cipher suite of a handshake. Args: wanted: what the client offers; "" if it is refused."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{wanted}:@SECLEVEL=0")
    with socket.create_connection(site.bigip.endpoint(f"/Common/{server}"), DEADLINE_S) as raw:
        try:
            with context.wrap_socket(raw, server_hostname="a.example.com") as client:
                return client.cipher()[0]
        except (ssl.SSLError, ConnectionError):
            return ""


CAMELLIA, USUAL, OLD = "CAMELLIA256-SHA", "ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA"


def test_cipher_suites(site_of):
    """Suites of OpenShift's router on each address; a narrower list leaves the older ones out."""
    site = site_of(address="")
    for flags in ({}, {"ciphers": "intermediate"}):
        assert serve(site, **flags) == []
        for server in SERVERS[1::2]:
            assert [suite(site, server, name) for name in (USUAL, OLD, CAMELLIA)] == [USUAL, OLD, ""]
    assert serve(site, ciphers="modern") == []
    for server in SERVERS[1::2]:
        assert [suite(site, server, name) for name in (USUAL, OLD, CAMELLIA)] == [USUAL, "", ""]
    profile = site.bigip.get("ltm/profile/client-ssl/~Common~openshift_default-client-ssl-profile")
    assert "ECDHE-RSA-AES128-GCM-SHA256" in profile["ciphers"]
    assert "AES128-SHA:" not in profile["ciphers"]
    site.clear()
    assert serve(site, ciphers="intermediate") == []
    assert {method for method, path in site.writes() if "/ltm/" in path} == {"PATCH"}
    assert len([path for _, path in site.writes() if "/ltm/" in path]) == 2


ALL = {
    "max_connections": "50", "client_fin_timeout": "1s", "default_server_fin_timeout": "1s",
    "default_client_timeout": "40s", "default_server_timeout": "40s", "default_tunnel_timeout": "40s",
    "default_connect_timeout": "4s", "slowloris_timeout": "40s", "slowloris_http_keepalive": "40s",
    "inspect_delay": "40s", "buf_size": "65536", "max_header_count": "100", "enable_compression": "true",
    "hsts_header": "max-age=1", "disable_cookies": "true", "ciphers": "modern",
}


def test_a_change_ends_no_connection(site_of):
    """Each setting comes and goes; at each write clients go on asking, and others connect."""
    site = site_of(address="")
    assert serve(site) == []
    router, writes = site.router(**TWO), []
    with Kept(site, tls=False) as plain, Kept(site, tls=True) as secure:
        def ask_all(entry: object) -> None:
            writes.append(entry)
            for client in (plain, secure):
                client.ask("a.example.com")
            assert ask(site, "ose-vserver").status == ask(site, "https-ose-vserver_2").status == 200

        for flags in (ALL, {}):
            router.close()
            router = site.router(**TWO, **flags)
            site.bigip.on_write = ask_all
            assert site.converge(router) == []
            site.bigip.on_write = None
            ask_all(None)
    router.close()
    assert len(writes) > 20
