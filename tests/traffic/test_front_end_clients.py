"""Front ends that ask clients for certificates, when one of them goes."""

import json

from cryptography.hazmat.primitives import serialization
from cryptography.x509.oid import NameOID

from tests import manifests
from tests.builders import authority
from tests.traffic import client_certificates
from tests.traffic.conftest import Site
from tests.traffic.test_front_ends import ENTRIES

HOST = "www.example.com"
INTERNAL = "/Common/openshift_https__internal"


def status(site: Site, client: client_certificates.Client) -> int:
    """Status that a client gets on the front end that goes; 0 if nothing answers."""
    try:
        place = site.bigip.endpoint(INTERNAL)
    except KeyError:
        return 0
    return client_certificates.ask(place, HOST, client).status


def test_clients_who_are_not_admitted_get_in_at_no_moment(site_of, tmp_path):
    """The check stays until its virtual server answers nobody."""
    file, ca = tmp_path / "front-ends.json", tmp_path / "ca.pem"
    issuer, _ = authority("Client CA")
    ca.write_bytes(issuer.public_bytes(serialization.Encoding.PEM))
    alice, mallory = (client_certificates.make(tmp_path, [(NameOID.COMMON_NAME, name)], ca="Client CA")
                      for name in ("alice", "mallory"))
    site = site_of(address="")
    site.serve("web", "10.1.1.1")
    route = manifests.route("r", host=HOST, kind="edge")
    site.apply({**route, "metadata": {**route["metadata"], "labels": {"zone": "internal"}}})
    flags = {"front_ends": str(file), "mutual_tls_auth": "required", "mutual_tls_auth_ca": str(ca),
             "mutual_tls_auth_filter": "CN=alice"}
    file.write_text(json.dumps(ENTRIES))
    assert site.converge(**flags) == []
    assert [status(site, client) for client in (alice, mallory)] == [200, 403]
    file.write_text(json.dumps(ENTRIES[:1]))
    for _ in site.each_end(3, **flags):
        assert status(site, mallory) != 200
        assert site.converge(**flags) == []
        assert status(site, alice) == 0
