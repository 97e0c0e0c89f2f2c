"""Headers by which pods know the client: whose requests get them, and what a client cannot forge.

The values, policy by policy, are compared with HAProxy's in tests/differential/test_forwarded.py.
"""

import pytest

from f5router.admission.route_options import HAPROXY
from f5router.model import names
from mocks.bigip.quirks import Quirk
from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

NAMES = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
         "x-forwarded-proto-version", "forwarded")
FORGED = ("X-Forwarded-For: 192.0.2.1", "x-forwarded-FOR: 192.0.2.2", "X-Forwarded-Host: bank.example.com",
          "X-Forwarded-Port: 1", "X-Forwarded-Proto: https", "Forwarded: for=192.0.2.1;proto=https",
          "forwarded: for=192.0.2.2")
QUIRKS = (frozenset(), frozenset({Quirk.HEADER_REMOVE_LAST}))


def route(name: str, policy: str = "", kind: str = "", **how: str) -> dict:
    obj = manifests.route(name, host=f"{name}.example.com", kind=kind,
                          service="tls" if kind in ("reencrypt", "passthrough") else "web", **how)
    obj["metadata"]["annotations"] = {f"{HAPROXY}set-forwarded-headers": policy} if policy else {}
    return obj


def serve(site: Site) -> Site:
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    return site


def received(seen: clients.Seen) -> list[tuple[str, str]]:
    return sorted((name.lower(), value) for name, value in seen.pod["headers"] if name.lower() in NAMES)


def own(host: str, *, secure: bool = False) -> list[tuple[str, str]]:
    """Return all headers of the router."""
    proto, port = ("https", "443") if secure else ("http", "80")
    return sorted([("x-forwarded-for", "127.0.0.1"), ("x-forwarded-host", host), ("x-forwarded-port", port),
                   ("x-forwarded-proto", proto), ("forwarded", f"for=127.0.0.1;host={host};proto={proto}")])


def sent() -> list[tuple[str, str]]:
    pairs = (line.partition(": ") for line in FORGED)
    return sorted((name.lower(), value) for name, _, value in pairs)


@pytest.mark.parametrize("quirks", QUIRKS, ids=lambda quirks: "-".join(quirks) or "default")
@pytest.mark.parametrize("kind", ["", "edge", "reencrypt"])
def test_replace_leaves_nothing_that_a_client_forged(site_of, kind, quirks):
    site = serve(site_of(quirks=quirks))
    site.apply(route("a", "replace", kind), route("b", "never", kind), route("c", "", kind))
    assert site.converge() == []
    requests = [clients.request_bytes(f"{name}.example.com", headers=FORGED, close=False)
                for name in ("a", "b", "a", "c", "b", "a")]
    address, sni = (site.https, "a.example.com") if kind else (site.http, None)
    for pipelined in (False, True):
        seen = [received(answer) for answer in clients.several(address, *requests, sni=sni,
                                                               pipelined=pipelined)]
        replaced = own("a.example.com", secure=bool(kind))
        assert seen == [replaced, sent(), replaced,
                        sorted(sent() + own("c.example.com", secure=bool(kind))), sent(), replaced]


@pytest.mark.parametrize("quirks", QUIRKS, ids=lambda quirks: "-".join(quirks) or "default")
def test_the_default_of_the_router(site_of, quirks):
    """A Route's own policy goes before it. The iRule is there only if somebody needs it."""
    site = serve(site_of(quirks=quirks))
    site.apply(route("a"), route("b", "never"))
    irule = f"/Common/{names.HEADERS_IRULE}"
    ours = own("a.example.com")
    for default, wanted in [("append", sorted(sent() + ours)), ("replace", ours), ("if-none", sent()),
                            ("never", sent())]:
        assert site.converge(set_forwarded_headers=default) == []
        seen = [clients.plain(site.http, f"{name}.example.com", headers=FORGED) for name in ("a", "b")]
        assert [received(answer) for answer in seen] == [wanted, sent()], default
        assert (irule in site.paths("ltm/rule")) == (default != "never")


@pytest.mark.parametrize("host", [
    "a.example.com:80;for=192.0.2.9", "a.example.com:x", "a.example.com:", "a.example.com:]}$x[exit]",
    "a.example.com:80, b.example.com", 'a.example.com:"', "a.example.com:\\"])
def test_a_host_that_would_go_on_with_another_parameter(site, host):
    """Text behind the name is left out, if it is no port."""
    serve(site)
    site.apply(route("a"))
    assert site.converge() == []
    seen = clients.plain(site.http, host)
    assert seen.status == 503 or received(seen) == own("a.example.com"), host


def test_requests_for_others_are_left_alone(site):
    """A pool of the administrator's is nobody's Route."""
    serve(site)
    site.pod("10.9.9.9", "sorry")
    site.change("POST", "ltm/pool", {"name": "sorry", "partition": "Common",
                                     "members": [{"name": "10.9.9.9:8080", "address": "10.9.9.9"}]})
    site.change("PATCH", "ltm/virtual/~Common~ose-vserver", {"pool": "/Common/sorry"})
    site.apply(route("a"))
    assert site.converge() == []
    requests = [clients.request_bytes(f"{name}.example.com", headers=FORGED, close=False)
                for name in ("nobody", "a", "nobody")]
    seen = clients.several(site.http, *requests)
    assert [received(answer) for answer in seen] == [
        sent(), sorted(sent() + own("a.example.com")), sent()]


@pytest.mark.parametrize("default", ["append", "replace", "if-none", "never"])
def test_before_12_1(site_of, default):
    """Rules cannot set variables: the default of the router is that of every Route."""
    site = serve(site_of(tmos_version="12.0.0"))
    site.apply(route("a", "never"), route("b", "replace"), route("c", kind="edge"))
    assert site.converge(set_forwarded_headers=default) == []
    wanted = {"append": sorted(sent() + own("a.example.com")), "replace": own("a.example.com")}
    requests = [clients.request_bytes("a.example.com", headers=FORGED, close=False)] * 2
    for answer in clients.several(site.http, *requests):
        assert received(answer) == wanted.get(default, sent())
    secure = clients.python(site.https, "c.example.com")
    assert received(secure) == ([] if default == "never" else own("c.example.com", secure=True))
    events = str(site.kube.list("Event"))
    assert f"{HAPROXY}set-forwarded-headers has no effect before TMOS 12.1" in events


def test_passthrough_is_not_looked_into(site):
    serve(site)
    site.apply(route("a", "", "passthrough"))
    assert site.converge() == []
    assert received(clients.python(site.https, "a.example.com", headers=FORGED)) == sent()
