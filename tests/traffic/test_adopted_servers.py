"""Virtual servers change hands under load, there and back: no request fails, and each certificate stays."""

import contextlib
import ssl
import threading

import pytest

from f5router.cli import adopt, adopted_servers, uninstall
from tests import manifests
from tests.builders import identity
from tests.conftest import UNDER_LOAD
from tests.traffic.conftest import DEFAULT, PODS
from tests.traffic.load import Load, Target
from tests.waiting import until

ENOUGH = 6
"""Requests to each target before and after a step; those in between come with its writes (see load.py)."""
EDGE = identity("edge.example.com")
FLAGS = {"f5_vserver_address": "10.0.0.1"}


def leave(site) -> None:
    """Routes of each kind, one without a certificate of its own."""
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
    site.apply(
        manifests.route("plain", host="plain.example.com"),
        manifests.route("edge", host="edge.example.com", kind="edge", certificate=EDGE.certificate,
                        key=EDGE.key),
        manifests.route("shared", host="shared.example.com", kind="edge"),
        manifests.route("again", host="again.example.com", kind="reencrypt", service="tls",
                        destinationCACertificate=PODS.issuer),
        manifests.route("through", host="through.example.com", kind="passthrough", service="tls"))


def targets(site) -> list[Target]:
    web, tls = site.right("web"), site.right("tls")
    known = {"edge": EDGE, "shared": DEFAULT, "again": DEFAULT, "through": PODS}
    shown = {name: {ssl.PEM_cert_to_DER_cert(each.certificate)} for name, each in known.items()}
    return [Target("plain", site.http, "plain.example.com", right=web),
            *(Target(name, site.https, f"{name}.example.com", tls=True, certificates=shown[name],
                     right=web if name in ("edge", "shared") else tls, alone=name == "through")
              for name in known)]


def take(site) -> int:
    return adopt.adopt(site.config(**FLAGS), dry_run=False, stop=threading.Event(), drain_s=0.0,
                       virtual_servers=True, timing=site.timing)


def test_there_and_back(record_property, site_of):
    site = site_of()
    leave(site)
    assert site.converge() == []
    with Load(*targets(site), device=site.bigip) as load:
        until(load.more(ENOUGH))
        site.bigip.inject("delay", times=None, seconds=0.003)
        assert take(site) == 0
        until(load.more(ENOUGH))
        assert site.converge(**FLAGS) == []
        assert (load.report.failed, load.report.wrong) == ([], []), "there"
        status = adopted_servers.release(site.config(), dry_run=False, timing=site.timing)
        until(load.more(ENOUGH))
        assert (status, site.converge()) == (0, [])
        until(load.more(ENOUGH))
    record_property(UNDER_LOAD, str(load.report))
    assert (load.report.failed, load.report.wrong) == ([], [])


def test_what_an_administrator_leads_elsewhere_goes_on(site_of):
    """His iRule answers a host that is no Route's: while they change hands, and after `uninstall`."""
    site = site_of()
    leave(site)
    text = """when HTTP_REQUEST { if { [HTTP::host] equals "his.example.com" } { HTTP::respond 201 } }"""
    site.bigip.put_object("ltm/rule", {"name": "his", "partition": "Common", "apiAnonymous": text})
    for name in ("ose-vserver", "https-ose-vserver"):
        site.change("PATCH", f"ltm/virtual/~Common~{name}", {"rules": ["/Common/his"]})
    assert site.converge() == []
    shown = {ssl.PEM_cert_to_DER_cert(DEFAULT.certificate)}
    his = [Target("http", site.http, "his.example.com", status=201),
           Target("https", site.https, "his.example.com", tls=True, status=201, certificates=shown)]
    with Load(*his, device=site.bigip) as load:
        until(load.more(ENOUGH))
        assert take(site) == 0
        until(load.more(ENOUGH))
        assert uninstall.uninstall(
            site.config(update_status="false", f5_save_config="false", **FLAGS), dry_run=False,
            confirm=lambda question: True, timing=site.timing,
            stopping=lambda: contextlib.nullcontext(threading.Event())) == 0
        until(load.more(ENOUGH))
    assert (load.report.failed, load.report.wrong) == ([], [])


@pytest.mark.parametrize("step", ["taken over", "released"])
def test_open_connections_go_on(site_of, step):
    """A request whose response is under way when its virtual server changes hands."""
    site = site_of()
    leave(site)
    assert site.converge() == []
    if step == "released":
        assert take(site) == 0
    with Load(*targets(site), device=site.bigip) as load:
        until(load.more(ENOUGH))
        closed = load.report.closed
        assert (take(site) if step == "taken over" else adopted_servers.release(
            site.config(), dry_run=False, timing=site.timing)) == 0
        until(load.more(ENOUGH))
        assert load.report.closed == closed
