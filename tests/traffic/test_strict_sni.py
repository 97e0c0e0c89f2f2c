"""Strict SNI: clients that ask for a name without a certificate get an alert, no certificate."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS

SITE = identity("*.apps.example.com", algorithm="rsa")
OWN, WILD, NEXT = (identity(name) for name in ("own.example.com", "*.wild.example.com", "next.example.com"))
STRICT = {"strict_sni": "true", "default_certificate": SITE.certificate + SITE.key,
          "allow_wildcard_routes": "true"}
REFUSED = "unrecognized name"
GROUP = "openshift_server_names_dg"

SERVED = {
    "own.example.com": "own.example.com",
    "OWN.example.com": "own.example.com",
    "a.wild.example.com": "*.wild.example.com",
    "edge.apps.example.com": "*.apps.example.com",
    None: "*.apps.example.com",
    "through.example.com": "pods.example.com",
    "a.through.example.com": "pods.example.com",
    "theirs.example.com": "default.example.com",
}
"""Server name to the certificate that a client gets, with the setting and without."""
OTHERS = ("bare.example.com", "plain.example.com", "a.b.wild.example.com", "wild.example.com",
          "a.b.apps.example.com", "foreign.example.org", "terminated.through.example.com", "own",
          "a_b.example.com")
"""Server names without a certificate: of Routes, and of nobody."""


def cluster(site) -> None:
    """The administrator's profile theirs has a server name, and his default certificate."""
    site.change("POST", "ltm/profile/client-ssl", {
        "name": "theirs", "partition": "Common", "defaultsFrom": "/Common/clientssl",
        "serverName": "Theirs.example.com", "cert": "/Common/default-site.crt",
        "key": "/Common/default-site.key"})
    site.change("POST", "ltm/virtual/~Common~https-ose-vserver/profiles", {
        "name": "theirs", "partition": "Common", "context": "clientside"})
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
    own = manifests.route("own", host="own.example.com", kind="edge", certificate=OWN.certificate,
                          key=OWN.key)
    wild = manifests.route("wild", host="any.wild.example.com", kind="edge", certificate=WILD.certificate,
                           key=WILD.key)
    below = manifests.route("below", host="any.through.example.com", service="tls", kind="passthrough")
    for route in (wild, below):
        route["spec"]["wildcardPolicy"] = "Subdomain"
    site.apply(
        own, wild, below, manifests.route("edge", host="edge.apps.example.com", kind="edge"),
        manifests.route("bare", host="bare.example.com", kind="edge"),
        manifests.route("terminated", host="terminated.through.example.com", kind="edge"),
        manifests.route("plain", host="plain.example.com"),
        manifests.route("through", host="through.example.com", service="tls", kind="passthrough"))


def shown(site, name: str | None) -> str:
    """Return the name in the certificate that a client gets, or its error."""
    seen = clients.python(site.https, name or "edge.apps.example.com", sni=name)
    return REFUSED if "UNRECOGNIZED_NAME" in seen.error.upper() else seen.certificate or seen.error


def all_shown(site) -> dict[str | None, str]:
    return {name: shown(site, name) for name in SERVED}


@pytest.fixture
def shop(site):
    cluster(site)
    return site


def test_who_is_refused(shop):
    """The setting comes, and goes again; a restart writes nothing."""
    without = {name: STRICT[name] for name in ("default_certificate", "allow_wildcard_routes")}
    assert shop.converge(**without) == []
    assert all_shown(shop) == SERVED
    assert {shown(shop, name) for name in OTHERS} == {"*.apps.example.com"}
    assert not [path for path in shop.paths("ltm/data-group/internal") if path.endswith(GROUP)]
    assert shop.converge(**STRICT) == []
    assert all_shown(shop) == SERVED
    assert {name: shown(shop, name) for name in OTHERS} == dict.fromkeys(OTHERS, REFUSED)
    assert shop.admitted("shop", "bare")["status"] == "True"
    shop.clear()
    assert shop.converge(**STRICT) == []
    assert shop.writes() == []
    assert shop.converge(**without) == []
    assert {shown(shop, name) for name in OTHERS} == {"*.apps.example.com"}
    assert not [path for path in shop.paths("ltm/data-group/internal") if path.endswith(GROUP)]


def test_a_change_under_it(shop):
    """A Route that comes has its own certificate at its first request; one that goes is refused."""
    assert shop.converge(**STRICT) == []
    host, seen = "next.example.com", []
    shop.apply(manifests.route("next", host=host, kind="edge", certificate=NEXT.certificate, key=NEXT.key))
    shop.bigip.on_write = lambda entry: seen.append((shown(shop, host), all_shown(shop)))
    assert shop.converge(**STRICT) == []
    assert [name for name, _ in seen][-1] == host
    shop.kube.delete("Route", "shop", "next")
    assert shop.converge(**STRICT) == []
    shop.bigip.on_write = None
    assert {name for name, _ in seen} == {REFUSED, host}
    assert seen[-1][0] == REFUSED
    assert [others for _, others in seen if others != SERVED] == []


def test_at_every_write(shop):
    """While the setting comes and goes, no name that has a certificate is refused."""
    without = {name: STRICT[name] for name in ("default_certificate", "allow_wildcard_routes")}
    assert shop.converge(**without) == []
    seen = []
    shop.bigip.on_write = lambda entry: seen.append((shown(shop, "bare.example.com"), all_shown(shop)))
    assert shop.converge(**STRICT) == []
    assert seen[-1][0] == REFUSED
    assert shop.converge(**without) == []
    shop.bigip.on_write = None
    assert [others for _, others in seen if others != SERVED] == []
    assert {name for name, _ in seen} == {REFUSED, "*.apps.example.com"}


@pytest.mark.parametrize("refused", ["data-group", "ltm/rule"])
def test_a_device_that_refuses(shop, refused):
    """Nobody is refused before all names are there, and then others are."""
    without = {name: STRICT[name] for name in ("default_certificate", "allow_wildcard_routes")}
    assert shop.converge(**without) == []
    shop.bigip.inject("refuse", times=None, path=refused, method="PATCH", status=400, message="no")
    router = shop.router(**STRICT)
    assert shop.converge(router) != []
    assert all_shown(shop) == SERVED
    assert shown(shop, "bare.example.com") != REFUSED
    shop.bigip.clear_faults()
    shop.later()
    assert shop.converge(router) == []
    assert shown(shop, "bare.example.com") == REFUSED
    assert all_shown(shop) == SERVED


def test_without_a_default_certificate(shop):
    """The names in the administrator's are not known: nobody is refused."""
    assert shop.converge(strict_sni="true", allow_wildcard_routes="true") == []
    assert shown(shop, "edge.apps.example.com") == shown(shop, "bare.example.com") == "default.example.com"
