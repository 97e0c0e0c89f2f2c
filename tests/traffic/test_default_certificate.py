"""Certificates that clients get: the router's default one, a Route's own, and the administrator's."""

import ssl

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import DEFAULT, PODS
from tests.traffic.load import Load, Target
from tests.waiting import until

SITE, NEXT = identity("site.example.com"), identity("next.example.com")
OWN = identity("own.example.com")


def cluster(site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
    site.apply(
        manifests.route("own", host="own.example.com", kind="edge", certificate=OWN.certificate, key=OWN.key),
        manifests.route("edge", host="edge.example.com", kind="edge"),
        manifests.route("through", host="through.example.com", service="tls", kind="passthrough"))


def shown(site) -> list[str]:
    """Names of the certificates for: a Route's own, a Route without, a foreign name, no SNI, passthrough."""
    return [clients.python(site.https, host, sni=sni).certificate for host, sni in (
        ("own.example.com", ""), ("edge.example.com", ""), ("edge.example.com", "foreign.example.org"),
        ("edge.example.com", None), ("through.example.com", ""))]


def expected(default: str) -> list[str]:
    return ["own.example.com", default, default, default, "pods.example.com"]


def test_who_gets_it(site):
    cluster(site)
    assert site.converge() == []
    assert shown(site) == expected("default.example.com")
    assert site.converge(default_certificate=SITE.certificate + SITE.key) == []
    assert shown(site) == expected("site.example.com")
    assert clients.python(site.https, "edge.example.com").status == 200
    assert site.converge() == []
    assert shown(site) == expected("default.example.com")


def test_it_changes_under_load(site, tmp_path):
    """No request fails while it comes, is renewed and goes, and only these certificates are shown."""
    cluster(site)
    assert site.converge() == []
    path = tmp_path / "default.pem"
    web = site.right("web")
    targets = [Target("own", site.https, "own.example.com", tls=True, right=web, alone=True),
               Target("edge", site.https, "edge.example.com", tls=True, right=web, alone=True)]
    der = ssl.PEM_cert_to_DER_cert
    targets[0].certificates = {der(OWN.certificate)}
    targets[1].certificates = {der(pair.certificate) for pair in (DEFAULT, SITE, NEXT)}

    def shows(name: str) -> bool:
        return clients.python(site.https, "edge.example.com").certificate == name

    with Load(*targets, device=site.bigip) as load:
        until(load.more(20))
        for pair in (SITE, NEXT):
            path.write_text(pair.certificate + pair.key)
            router = site.run(default_certificate_path=str(path))
            until(lambda pair=pair: shows("site.example.com" if pair is SITE else "next.example.com"))
            until(load.more(20))
            router.stop()
        router = site.run()
        until(lambda: shows("default.example.com"))
        until(load.more(20))
        router.stop()
    assert (load.report.failed, load.report.wrong) == ([], [])
