"""Names of files on the device's disk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import tls_names
from f5router.model.cluster import Key
from f5router.model.tls_names import UploadedFile, formerly_uploaded

UPLOADED = st.builds(
    UploadedFile, folder=st.text("0123456789abcdef", min_size=16, max_size=16),
    host=st.text("0123456789abcdef", min_size=16, max_size=16), process=st.integers(0, 2**32 - 1),
    second=st.integers(0, 10**12 - 1), nonce=st.text("0123456789abcdef", min_size=8, max_size=8),
    suffix=st.sampled_from(["cert", "key"]))


@given(UPLOADED)
def test_the_name_of_an_upload_tells_what_it_was_made_of(file):
    assert UploadedFile.parse(str(file)) == file
    assert len(str(file)) < 120


A, B, C = "a" * 16, "b" * 16, "c" * 8


@pytest.mark.parametrize("name", [
    "", "f5router", "f5router.key", "f5router_x_y_1_2_3.key", "openshift_route_a_b-https-key.key",
    f"f5router_{A}_{B}_1_2_{C}.key.bak", f"f5router_{A}_{B}_1_2_{C}.pem", f"f5router_{A}_{B}_1_2_{C}.key\n",
    f"f5router_{A.upper()}_{B}_1_2_{C}.key", f"xf5router_{A}_{B}_1_2_{C}.key",
    f"f5router_{A}_{B}_-1_2_{C}.key",
])
def test_no_other_name_counts_as_an_upload(name):
    assert UploadedFile.parse(name) is None
    assert formerly_uploaded("/P", name) == ""


def test_uploads_of_an_earlier_release_are_known_by_what_they_were_for():
    """They had the name of the file object, with .cert for .crt."""
    key = Key("foo", "bar" * 60)  # shortened
    for path in (tls_names.cert_file("/P/f", key, "pem"), tls_names.chain_file("/P/f", key, "pem"),
                 tls_names.key_file("/P/f", key, "pem"), tls_names.destination_ca_file("/P/f", "pem")):
        name = path.rsplit("/", 1)[1].replace(".crt", ".cert")
        assert formerly_uploaded("/P/f", name) == path
        assert formerly_uploaded("/P/f", f"{name}~") == ""


@pytest.mark.parametrize("name", ["cert.cert", "key.key", "chain.chain"])
def test_uploads_of_the_original_router_tell_nobody_and_stay(name):
    assert formerly_uploaded("/P", f"openshift_route_foo_bar-https-{name}") == ""
