"""Routes of every kind, from the API server to the BIG-IP."""

from tests import manifests
from tests.builders import identity


def test_first(lab):
    own = identity()
    lab.apply(
        manifests.route("plain"),
        manifests.route("edge", host="edge.example.com", kind="edge", insecure="Redirect",
                        certificate=own.certificate, key=own.key),
        manifests.route("re", host="re.example.com", kind="reencrypt", insecure="Allow"),
        manifests.route("pass", host="pass.example.com", kind="passthrough"),
    )
    assert lab.converge() == []
    assert lab.admitted("shop", "plain")["status"] == "True"
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []
