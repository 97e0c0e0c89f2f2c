"""Names of the original router: exactly those, and never one of ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router import names, original
from f5router.bigip import ClientSSL, ServerSSL
from f5router.cluster import Key


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
    assert not original.is_client_ssl(path)
    assert not original.is_server_ssl(path.replace("client-ssl", "server-ssl"))


def test_its_profiles():
    stem = "/Common/openshift_route_shop_my.web-1"
    assert original.is_client_ssl(f"{stem}-client-ssl-profile")
    assert original.is_server_ssl(f"{stem}-server-ssl-profile")
    assert not original.is_client_ssl(f"{stem}-server-ssl-profile")


@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?(\.[a-z0-9]{1,5})?", fullmatch=True),
       st.from_regex(r"[0-9a-f]{16}", fullmatch=True))
def test_no_name_of_ours_is_the_originals(name, digest):
    for host in (name, f"*.{name}"):
        assert not original.is_client_ssl(names.client_ssl("/Common", host))
    assert not original.is_server_ssl(names.server_ssl("/Common", digest))
    stem = f"/Common/{names.route(Key(name.replace('.', '-'), name))}"
    assert not names.owns_path("/Common", ClientSSL.KIND, f"{stem}-client-ssl-profile")
    assert not names.owns_path("/Common", ServerSSL.KIND, f"{stem}-server-ssl-profile")
