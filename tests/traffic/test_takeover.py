"""Taking over from the original F5 router under load: no request fails, none comes to a wrong pod."""

import ssl
import threading

import pytest

from f5router.cli import adopt
from f5router.model import original_names
from tests import manifests
from tests.builders import identity
from tests.conftest import UNDER_LOAD
from tests.traffic.conftest import PODS
from tests.traffic.load import Load, Target
from tests.traffic.original import Original
from tests.waiting import until

CERTIFICATES = {name: identity(f"{name}.example.com") for name in ("edge", "allow", "again", "back")}
ENOUGH = 8
"""Requests to each target before and after a step; those in between come with its writes (see load.py)."""
SERVED = ("plain", "edge", "path", "allow", "again", "back", "through")


def leave(site, *, server_ssl: bool = True) -> Original:
    """The state of the original for Routes of every kind, and the same Routes in the cluster."""
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.serve("api", "10.1.2.1")
    site.serve("tls", "10.1.3.1", "10.1.3.2", port=8443, tls=PODS)
    site.serve("safe", "10.1.4.1", port=8443, tls=PODS)
    site.serve("web", "10.2.1.1", namespace="rival")
    old = Original(site, site.partition, legacy=site.bigip.store.version >= (12, 1))
    if server_ssl:
        virtual = f"{site.partition}/https-ose-vserver".replace("/", "~")
        site.change("POST", f"ltm/virtual/{virtual}/profiles", {"name": "/Common/serverssl"})
    old.start()
    for service, members, namespace in (
            ("web", ("10.1.1.1:8080", "10.1.1.2:8080"), "shop"), ("api", ("10.1.2.1:8080",), "shop"),
            ("tls", ("10.1.3.1:8443", "10.1.3.2:8443"), "shop"), ("safe", ("10.1.4.1:8443",), "shop"),
            ("web", ("10.2.1.1:8080",), "rival")):
        old.pool(service, members, namespace=namespace)
    for name, service, kind, how in (
            ("plain", "web", "", {}), ("edge", "web", "edge", {}),
            ("allow", "api", "edge", {"insecure": "Allow"}), ("again", "tls", "reencrypt", {}),
            ("back", "safe", "reencrypt", {}), ("through", "tls", "passthrough", {})):
        pair = CERTIFICATES.get(name)
        ca = PODS.issuer if kind == "reencrypt" else ""
        old.route(name, f"{name}.example.com", service, kind=kind, pair=pair, destination_ca=ca, **how)
        tls = {"certificate": pair.certificate, "key": pair.key} if pair else {}
        site.apply(manifests.route(name, host=f"{name}.example.com", service=service, kind=kind, **how, **tls,
                                   **({"destinationCACertificate": ca} if ca else {})))
    old.route("path", "edge.example.com", "api", kind="edge", path="/api")
    site.apply(manifests.route("path", host="edge.example.com", path="/api", service="api", kind="edge"))
    old.route("other", "other.example.com", "web", namespace="rival")
    site.apply(manifests.route("other", namespace="rival", host="other.example.com"))
    old.route("gone", "gone.example.com", "web", kind="edge", pair=identity("gone.example.com"))
    return old


def targets(site) -> list[Target]:
    """A client for every Route. No connection is shared: the original chose TLS towards pods by SNI."""
    web, api, tls = site.right("web"), site.right("api"), site.right("tls")
    all_targets = [
        Target("plain", site.http, "plain.example.com", right=web),
        Target("other", site.http, "other.example.com", right=site.right("web", namespace="rival")),
        Target("edge", site.https, "edge.example.com", tls=True, right=web),
        Target("path", site.https, "edge.example.com", "/api/x", tls=True, right=api),
        Target("allow", site.https, "allow.example.com", tls=True, right=api),
        Target("allow in clear text", site.http, "allow.example.com", right=api),
        Target("again", site.https, "again.example.com", tls=True, right=tls),
        Target("back", site.https, "back.example.com", tls=True, right=site.right("safe")),
        Target("through", site.https, "through.example.com", tls=True, right=tls),
    ]
    for target in all_targets:
        target.alone = True
        if target.tls and target.name != "through":
            shown = CERTIFICATES[target.host.partition(".")[0]].certificate
            target.certificates = {ssl.PEM_cert_to_DER_cert(shown)}
    return all_targets


def remove_profiles(site) -> None:
    """Do what an administrator does by hand: detach and delete each profile of the original."""
    virtual = "ltm/virtual/" + f"{site.partition}/https-ose-vserver".replace("/", "~")
    carried = {item["fullPath"] for item in site.bigip.get(virtual)["profilesReference"]["items"]}
    for kind in ("client-ssl", "server-ssl"):
        for path in sorted(site.paths(f"ltm/profile/{kind}")):
            if not path.startswith("/Common/openshift_route_"):
                continue
            if path in carried:
                site.change("DELETE", f"{virtual}/profiles/{path.replace('/', '~')}")
            site.change("DELETE", f"ltm/profile/{kind}/{path.replace('/', '~')}")


def all_served(site) -> bool:
    return all(site.admitted("shop", name).get("status") == "True" for name in SERVED)


@pytest.mark.parametrize(("delay_ms", "server_ssl", "partition"), [
    pytest.param(3, True, "/Common", id="3 ms"),
    pytest.param(30, False, "/Shop", id="30 ms, no server SSL profile but its own, partition of its own"),
])
def test_run_takes_over(record_property, site_of, delay_ms, server_ssl, partition):
    """The running router takes the place of the original; then its profiles are removed by hand."""
    site = site_of(partition=partition, partitions=("Common", *{partition.strip("/")} - {"Common"}))
    leave(site, server_ssl=server_ssl)
    with Load(*targets(site), device=site.bigip) as load:
        until(load.more(ENOUGH))
        assert (load.report.failed, load.report.wrong) == ([], []), "before"
        site.bigip.inject("delay", times=None, seconds=delay_ms / 1000)
        router = site.run()
        try:
            until(lambda: all_served(site))
            until(load.more(ENOUGH))
            remove_profiles(site)
            until(load.more(ENOUGH))
        finally:
            router.stop()
    record_property(UNDER_LOAD, str(load.report))
    assert (load.report.failed, load.report.wrong) == ([], [])


# --- f5router adopt ----------------------------------------------------------------------


def left(site) -> set[str]:
    """Return what has a name of the original's in /Common."""
    kinds = ("ltm/profile/client-ssl", "ltm/profile/server-ssl", "sys/file/ssl-cert", "sys/file/ssl-key",
             "ltm/data-group/internal")
    return {path for kind in kinds for path in site.paths(kind)
            if original_names.stem(path) or path in original_names.groups(site.partition)}


@pytest.mark.parametrize(("version", "servers"), [
    ("11.6.0", False), ("17.1.2.1", False), pytest.param("16.1.2", True, id="with the virtual servers")])
def test_adopt(record_property, site_of, version, servers):
    """One command from the original's state to ours, and nothing of the original is left."""
    site = site_of(tmos_version=version, ssh=version.startswith("11."))
    leave(site)
    assert left(site)
    flags = site.ssh_flags() if version.startswith("11.") else {}
    flags |= {"f5_vserver_address": "10.0.0.1"} if servers else {}
    with Load(*targets(site), device=site.bigip) as load:
        until(load.more(ENOUGH))
        site.bigip.inject("delay", times=None, seconds=0.003)
        status = adopt.adopt(site.config(**flags), dry_run=False, stop=threading.Event(), drain_s=3.0,
                             virtual_servers=servers)
        until(load.more(ENOUGH))
    record_property(UNDER_LOAD, str(load.report))
    assert (load.report.failed, load.report.wrong) == ([], [])
    assert (status, left(site)) == (0, set())
