"""Re-encrypt Routes without a CA of their own: the default one verifies their pods, by the Service's name."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.waiting import until

OWN, STRANGER = (identity(f"{name}.svc", ca="Service CA") for name in ("web.shop", "web.bank"))
RENEWED = identity("web.shop.svc", ca="Renewed CA")
HOST = "re.example.com"


@pytest.fixture
def flags(tmp_path) -> dict[str, str]:
    path = tmp_path / "service-ca.crt"
    path.write_text(OWN.issuer)
    return {"default_destination_ca_path": str(path)}


def serve(site: Site, pair, address: str = "10.1.1.1") -> None:
    site.serve("web", address, port=8443, tls=pair)
    site.apply(manifests.route("re", host=HOST, kind="reencrypt"))


def ask(site: Site) -> str:
    """Name of the pod that answers; "" for none."""
    seen = clients.python(site.https, HOST)
    return seen.pod["pod"] if seen.status == 200 else ""


def test_the_pod_of_the_service(site, flags):
    serve(site, OWN)
    assert site.converge(**flags) == []
    assert ask(site) == "web-10.1.1.1"


@pytest.mark.parametrize("pair", [
    pytest.param(STRANGER, id="another tenant's Service"), pytest.param(RENEWED, id="another authority"),
])
def test_a_pod_of_nobody_here(site, flags, pair):
    """The service CA signs Services of every namespace: the name keeps them apart."""
    serve(site, pair)
    assert site.converge(**flags) == []
    assert ask(site) == ""
    assert site.converge() == []  # the administrator wants no verification
    assert ask(site) == "web-10.1.1.1"


def test_renewed_authority(site, flags, tmp_path):
    """The bundle has both authorities while pods change, and nobody is refused meanwhile."""
    serve(site, OWN)
    running = site.run(**flags)
    try:
        running.wait(lambda: site.admitted("shop", "re").get("status") == "True")
        assert ask(site) == "web-10.1.1.1"
        (tmp_path / "service-ca.crt").write_text(OWN.issuer + RENEWED.issuer)
        running.later()
        running.wait(lambda: any(RENEWED.issuer in site.content(path)
                                 for path in site.paths("sys/file/ssl-cert")))
        assert ask(site) == "web-10.1.1.1"
        serve(site, RENEWED, "10.1.1.2")
        until(lambda: ask(site) == "web-10.1.1.2")
    finally:
        running.stop()
