"""Names of the original router: exactly those, and never one of ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import names, original_names, ownership, tls_names
from f5router.model.cluster import Key
from f5router.model.ltm import CertFile, ClientSSL, KeyFile, ServerSSL


@pytest.mark.parametrize(("name", "data", "hosts", "routes"), [
    ("a.com", "openshift_shop_web", True, False),
    ("openshift_route_shop_web", "a.com", False, True),
    ("a.com", "/Common/mine", False, False),
    ("mine", "of mine", False, False),
])
def test_records(name, data, hosts, routes):
    """A data-group with any other record has another user."""
    assert original_names.is_record("ssl_reencrypt_servername_dg", name, data) is hosts
    assert original_names.is_record("ssl_passthrough_route_dg", name, data) is routes


@pytest.mark.parametrize("path", [
    "/Common/openshift_route_shop_web",
    "/Common/openshift_route_shop_web-client-ssl-profile-2",
    "/Common/my_openshift_route_shop_web-client-ssl-profile",
    "/Common/openshift_route_shop-client-ssl-profile",
    "/Common/openshift_route_Shop_web-client-ssl-profile",
    "/Common/sub/openshift_route_shop_web-client-ssl-profile",
    "/Shop/openshift_route_shop_web-client-ssl-profile",
    "/Common/clientssl",
])
def test_an_administrators_profile(path):
    assert not original_names.is_client_ssl(path)
    assert not original_names.is_server_ssl(path.replace("client-ssl", "server-ssl"))


def test_its_profiles():
    stem = "/Common/openshift_route_shop_my.web-1"
    assert original_names.is_client_ssl(f"{stem}-client-ssl-profile")
    assert original_names.is_server_ssl(f"{stem}-server-ssl-profile")
    assert not original_names.is_client_ssl(f"{stem}-server-ssl-profile")


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]{1,5})?", fullmatch=True),
       st.from_regex(r"[0-9a-f]{16}", fullmatch=True))
def test_no_name_of_ours_is_the_originals(name, digest):
    for host in (name, f"*.{name}"):
        assert not original_names.is_client_ssl(tls_names.client_ssl("/Common", host))
    assert not original_names.is_server_ssl(tls_names.server_ssl("/Common", digest))
    key = Key(name.replace(".", "-"), name)
    for path in (tls_names.cert_file("/Common", key, digest), tls_names.key_file("/Common", key, digest),
                 tls_names.chain_file("/Common", key, digest)):
        assert not original_names.is_file(path)
    stem = f"/Common/{names.route(key)}"
    for kind, ending in (
            (CertFile.KIND, "cert.crt"), (KeyFile.KIND, "key.key"), (CertFile.KIND, "chain.crt")):
        assert original_names.is_file(f"{stem}-https-{ending}")
        assert not ownership.owns_path("/Common", kind, f"{stem}-https-{ending}")
    assert not ownership.owns_path("/Common", ClientSSL.KIND, f"{stem}-client-ssl-profile")
    assert not ownership.owns_path("/Common", ServerSSL.KIND, f"{stem}-server-ssl-profile")
