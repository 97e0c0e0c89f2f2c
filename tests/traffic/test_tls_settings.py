"""Versions and cipher suites that clients may use, with the certificate of a Route and with the default."""

import contextlib
import socket
import ssl
import warnings

import pytest

from tests import manifests
from tests.builders import identity
from tests.waiting import DEADLINE_S

OWN = identity("own.example.com", algorithm="rsa")
VERSIONS = ("TLSv1", "TLSv1_1", "TLSv1_2", "TLSv1_3")
NAMES = ("own.example.com", "default.example.com", None)
"""Server names of a Route with a certificate, of a Route without, and none."""


def shake(address, name: str | None, version: str, ciphers: str = "ALL") -> str:
    """The cipher suite of a handshake with one version; "" for a refused one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers(f"{ciphers}:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    with contextlib.suppress(OSError), socket.create_connection(address, DEADLINE_S) as sock, \
            context.wrap_socket(sock, server_hostname=name) as tls:
        return tls.cipher()[0]
    return ""


def served(site, name: str | None) -> list[str]:
    """Versions that a client can use."""
    return [version for version in VERSIONS if shake(site.https, name, version)]


@pytest.fixture
def shop(site):
    site.serve("web", "10.1.1.1")
    site.apply(manifests.route("own", host="own.example.com", kind="edge", certificate=OWN.certificate,
                               key=OWN.key),
               manifests.route("default", host="default.example.com", kind="edge"))
    return site


@pytest.mark.parametrize(("flags", "versions"), [
    pytest.param({}, "TLSv1 TLSv1_1 TLSv1_2", id="as the parents have it"),
    pytest.param({"ssl_min_version": "TLSv1.2"}, "TLSv1_2 TLSv1_3", id="from 1.2"),
    pytest.param({"ssl_min_version": "TLSv1.3"}, "TLSv1_3", id="from 1.3"),
    pytest.param({"ssl_max_version": "TLSv1.2"}, "TLSv1_2", id="up to 1.2"),
    pytest.param({"ssl_min_version": "TLSv1.0", "ssl_max_version": "TLSv1.1"}, "TLSv1 TLSv1_1", id="old"),
    pytest.param({"ssl_min_version": "TLSv1.2", "ciphers": "modern"}, "TLSv1_2 TLSv1_3",
                 id="TLS 1.3 has its suites beside others"),
])
def test_versions(shop, flags, versions):
    assert shop.converge(**flags) == []
    for name in NAMES:
        assert served(shop, name) == versions.split()


@pytest.mark.parametrize(("ciphers", "offered", "chosen"), [
    ("modern", "ALL", "ECDHE-RSA-AES256-GCM-SHA384"),
    ("ECDHE-RSA-AES128-SHA:AES128-SHA", "ALL", "ECDHE-RSA-AES128-SHA"),
    ("modern", "AES128-SHA:AES256-SHA", ""),
    ("AES128-SHA:ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES128-SHA:AES128-SHA", "AES128-SHA"),
])
def test_ciphers(shop, ciphers, offered, chosen):
    """The order is that of the setting."""
    assert shop.converge(ciphers=ciphers) == []
    assert [shake(shop.https, name, "TLSv1_2", offered) for name in NAMES] == [chosen] * 3
