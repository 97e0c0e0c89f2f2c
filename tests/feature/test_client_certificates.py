"""Client certificates of the settings: what a restart, a change and another list of revoked ones write."""

import pytest

from tests import manifests
from tests.builders import authority, identity
from tests.traffic.client_certificates import crl, make

HOSTS = [f"h{number}.example.com" for number in range(5)]
PARENTS = ["openshift_default-parent-client-ssl-profile", "openshift_routes-parent-client-ssl-profile"]


@pytest.fixture
def files(tmp_path):
    assert authority("Client CA")
    (tmp_path / "ca.pem").write_text(identity("x", ca="Client CA").issuer)
    (tmp_path / "crl.pem").write_text(crl())
    return {"mutual_tls_auth_ca": str(tmp_path / "ca.pem"), "mutual_tls_auth_crl": str(tmp_path / "crl.pem")}


@pytest.fixture
def shop(lab):
    for number, host in enumerate(HOSTS):
        pair = identity(host)
        lab.apply(manifests.route(f"r{number}", host=host, kind="edge", certificate=pair.certificate,
                                  key=pair.key))
    return lab


def revocations(lab) -> set[str]:
    return {lab.bigip.get(f"ltm/profile/client-ssl/~Common~{name}")["crlFile"] for name in PARENTS}


def test_a_restart_writes_nothing(shop, files):
    assert shop.converge(mutual_tls_auth="required", **files) == []
    shop.clear()
    assert shop.converge(mutual_tls_auth="required", **files) == []
    assert shop.writes() == []


def test_another_mode_is_a_write_of_each_parent_and_of_the_irule(shop, files):
    """The iRule comes first."""
    assert shop.converge(mutual_tls_auth="required", **files) == []
    shop.clear()
    assert shop.converge(mutual_tls_auth="optional", **files) == []
    written = [path.rpartition("~")[2] for method, path in shop.writes() if method == "PATCH"]
    assert written[0] == "openshift_client_certificate_irule"
    assert sorted(written[1:]) == PARENTS
    assert len(shop.writes()) <= len(written) + 1  # and the save


def test_another_list_of_revoked_certificates(shop, files, tmp_path, running):
    """The running router takes it, and removes the one before; a bad one changes nothing."""
    loop = running(mutual_tls_auth="required", **files)
    loop.wait(lambda: PARENTS[0] in str(shop.paths("ltm/profile/client-ssl")) and len(
        shop.paths("sys/file/ssl-crl")) == 1 and shop.admitted("shop", "r0").get("status") == "True")
    (before,) = revocations(shop)
    path = tmp_path / "crl.pem"
    path.write_text("spoiled")
    loop.later()
    folder = tmp_path / "clients"
    folder.mkdir()
    path.write_text(crl(make(folder, [])))
    loop.later()
    loop.wait(lambda: revocations(shop) != {before} and len(revocations(shop)) == 1
              and before not in shop.paths("sys/file/ssl-crl"))
    assert shop.paths("sys/file/ssl-crl") == revocations(shop)


@pytest.mark.parametrize("version", ["11.6.0", "12.1.2", "16.1.2"])
def test_versions(make_lab, files, version):
    old = version.startswith("11")
    lab = make_lab(tmos_version=version, ssh=old)
    lab.virtuals()
    flags = {**(lab.ssh_flags() if old else {}), "mutual_tls_auth": "required", **files}
    assert lab.converge(**flags) == []
    lab.clear()
    assert lab.converge(**flags) == []
    assert lab.writes() == []
    assert lab.bigip.get(f"ltm/profile/client-ssl/~Common~{PARENTS[1]}")["peerCertMode"] == "require"
