"""An HTTP/2 profile of the administrator on the HTTPS virtual server: it stays, and what it asks of ours."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.feature.conftest import HTTPS

VIRTUAL = f"ltm/virtual/~Common~{HTTPS}"
PEM = identity("site.example.com").certificate + identity("site.example.com").key
SETTINGS = ({}, {"default_certificate": PEM, "strict_sni": "true"}, {"ciphers": "modern"}, {})


@pytest.fixture
def shop(lab):
    """A virtual server with the profile, and a Route with a certificate."""
    lab.change("PATCH", "ltm/profile/client-ssl/~Common~clientssl", {"renegotiation": "disabled"})
    lab.change("POST", f"{VIRTUAL}/profiles", {
        "name": "http2", "partition": "Common", "context": "clientside"})
    pair = identity()
    lab.apply(manifests.route("own", kind="edge", certificate=pair.certificate, key=pair.key))
    return lab


def test_it_stays_at_every_write(shop):
    """Also while the default profile is replaced, and comes back; a restart writes nothing."""
    there = []
    shop.bigip.on_write = lambda entry: there.append("/Common/http2" in str(shop.bigip.get(VIRTUAL)))
    for flags in SETTINGS:
        assert shop.converge(**flags) == []
    shop.kube.delete("Route", "shop", "own")
    assert shop.converge() == []
    shop.clear()
    assert shop.converge() == []
    shop.bigip.on_write = None
    assert shop.writes() == []
    assert all(there)
    assert len(there) > 20
    (profile,) = (item for item in shop.bigip.get(f"{VIRTUAL}/profiles")["items"] if item["name"] == "http2")
    assert profile["context"] == "clientside"


def test_profiles_that_renegotiate_are_refused(shop):
    """The status has the device's words; other Routes are served, and this one when the property is right."""
    default = "ltm/profile/client-ssl/~Common~clientssl-default"
    shop.change("PATCH", default, {"renegotiation": "disabled"})
    shop.change("PATCH", "ltm/profile/client-ssl/~Common~clientssl", {"renegotiation": "enabled"})
    shop.apply(manifests.route("bare", host="bare.example.com", kind="edge"))
    assert shop.converge() != []
    condition = shop.admitted("shop", "own")
    assert condition["reason"] == "DeviceRejected"
    assert "renegotiation disabled" in condition["message"]
    assert shop.admitted("shop", "bare")["status"] == "True"
    shop.change("PATCH", "ltm/profile/client-ssl/~Common~clientssl", {"renegotiation": "disabled"})
    assert shop.converge() == []
    assert shop.admitted("shop", "own")["status"] == "True"
