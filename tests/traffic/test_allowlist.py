"""Allowlists: only the listed clients reach a pod, at every moment, and all others get no answer at all."""

import http.client

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import HTTP, HTTPS, PODS, Site
from tests.waiting import DEADLINE_S

KINDS = ("", "edge", "reencrypt", "passthrough")
NAME = "shop.example.com"
EDGE = identity("*.example.com")
IN, OUT, LATER = "127.0.0.2", "127.0.0.3", "127.0.0.4"
"""Addresses of clients."""
PREFIX = "haproxy.router.openshift.io/"


def listed(kind: str = "", sources: str | None = f"10.0.0.0/8 2001:db8::/32 {IN}", *, name: str = "a",
           key: str = "ip_allowlist", host: str = NAME, service: str = "web", **fields) -> dict:
    """A Route with a list of its clients; without one for sources=None."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    obj = manifests.route(name, host=host, service=service, kind=kind, **tls, **fields)
    if sources is not None:
        obj["metadata"]["annotations"] = {PREFIX + key: sources}
    return obj


def secure(kind: str, site: Site, source: str, host: str = NAME) -> clients.Seen:
    return clients.python(site.https, host, source=source) if kind else clients.plain(
        site.http, host, source=source)


@pytest.fixture
def serve(site_of):
    """Makes a site with Service web."""
    def make(kind: str = "", **options) -> Site:
        site = site_of(**options)
        secured = kind in ("reencrypt", "passthrough")
        site.serve("web", "10.1.1.1", port=8443 if secured else 8080, tls=PODS if secured else None)
        return site
    return make


def connections(site: Site) -> int:
    return sum(pod.accepted for pod in site.pods)


KEYS = ("ip_allowlist", "ip_whitelist")


@pytest.fixture(scope="module")
def of_all_kinds(shared_site_of) -> Site:
    """A Route of each kind with a list, by each of its annotations."""
    site = shared_site_of()
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    site.apply(*(listed(kind, key=key, name=name_of(kind, key), host=f"{name_of(kind, key)}.example.com",
                        service="tls" if kind in ("reencrypt", "passthrough") else "web")
                 for kind in KINDS for key in KEYS))
    assert site.converge(f5_pool_monitor="none") == []
    return site


def name_of(kind: str, key: str) -> str:
    """Return the name of a Route, which its host begins with."""
    return f"{kind or 'plain'}-{key.removeprefix('ip_')}"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("key", KEYS)
def test_only_listed_clients_get_in(of_all_kinds, kind, key):
    site, name = of_all_kinds, name_of(kind, key)
    assert site.admitted("shop", name)["status"] == "True"
    before = connections(site)
    for _ in range(3):
        assert secure(kind, site, OUT, f"{name}.example.com").status == 0
    assert connections(site) == before
    assert secure(kind, site, IN, f"{name}.example.com").status == 200


@pytest.mark.parametrize("bare", [(), ("bare-names",)], ids=["full paths", "bare names"])
def test_both_ports(serve, bare):
    site = serve(quirks=bare) if bare else serve()
    site.apply(listed("edge", insecure="Allow"))
    assert site.converge() == []
    for ask in (lambda source: clients.plain(site.http, NAME, source=source),
                lambda source: clients.python(site.https, NAME, source=source)):
        assert ask(IN).status == 200
        assert ask(OUT).status == 0


def test_a_redirect_is_for_everybody(serve):
    """As in OpenShift's router, which redirects before it chooses a backend."""
    site = serve()
    site.apply(listed("edge", insecure="Redirect"))
    assert site.converge() == []
    assert [clients.plain(site.http, NAME, source=source).status for source in (IN, OUT)] == [302, 302]
    assert [secure("edge", site, source).status for source in (IN, OUT)] == [200, 0]


def test_other_routes_are_for_everybody(serve):
    site = serve()
    site.serve("open", "10.1.2.1")
    site.apply(listed(path="/closed"), manifests.route("open", host=NAME, service="open"))
    assert site.converge() == []
    seen = [clients.plain(site.http, NAME, path, source=source).status
            for source in (IN, OUT) for path in ("/", "/closed/x", "/open")]
    assert seen == [200, 200, 200, 200, 0, 200]


@pytest.mark.parametrize("one_connect", [False, True], ids=["", "OneConnect"])
def test_a_kept_connection_that_comes_to_the_route_later(serve, one_connect):
    """One client's requests to an open Route, then to the closed one, which others use."""
    site = serve()
    site.serve("open", "10.1.2.1")
    site.apply(listed(path="/closed"), manifests.route("open", host=NAME, service="open"))
    if one_connect:
        for virtual in (HTTP, HTTPS):
            site.change("POST", f"ltm/virtual/~{virtual.strip('/').replace('/', '~')}/profiles",
                        {"name": "/Common/oneconnect"})
    assert site.converge() == []
    open_, closed = (clients.request_bytes(NAME, path, close=False) for path in ("/", "/closed"))
    for request in (closed, open_, closed):
        # From 127.0.0.1, which is not listed.
        seen = clients.several(site.http, open_, open_, request)
        assert [answer.status for answer in seen] == ([200] * 3 if request == open_ else [200] * 2)
        assert clients.plain(site.http, NAME, "/closed", source=IN).status == 200


def test_a_connection_from_before_the_irule(serve):
    """It runs the iRules that it began with, so it gets no answer of the pods."""
    site = serve()
    site.serve("open", "10.1.2.1")
    site.apply(manifests.route("open", host=NAME, service="open"))
    router = site.router()
    site.settle(router)
    kept = http.client.HTTPConnection(*site.http, timeout=DEADLINE_S)
    kept.request("GET", "/", headers={"Host": NAME})
    assert kept.getresponse().read()
    site.apply(listed(path="/closed", sources="127.0.0.0/8"))
    site.settle(router)
    kept.request("GET", "/closed", headers={"Host": NAME})
    with pytest.raises(ConnectionError):
        kept.getresponse()
    kept.close()
    assert clients.plain(site.http, NAME, "/closed").status == 200
    router.close()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_the_irule_fails_closed(serve, kind):
    """Whatever is missing or wrong on the device, nobody gets in."""
    site = serve(kind)
    site.apply(listed(kind, "127.0.0.0/8"))
    assert site.converge() == []
    assert secure(kind, site, OUT).status == 200
    group = "ltm/data-group/internal/~Common~openshift_limits_dg"
    (record,) = next(item.fields["records"] for item in site.bigip.items("ltm/data-group/internal")
                     if item.path == "/Common/openshift_limits_dg")
    for data in ("gone_dg", "", "openshift_limits_dg", "a b", "[reject]"):
        site.change("PATCH", group, {"records": [{"name": record, "data": data}]})
        assert secure(kind, site, OUT).status == 0
    site.change("PATCH", group, {"records": []})
    assert secure(kind, site, OUT).status == 0
    rules = [f"/Common/openshift_{name}_irule" for name in ("passthrough", "request")]
    for virtual in (HTTP, HTTPS):
        site.change("PATCH", f"ltm/virtual/{virtual.replace('/', '~')}",
                    {"rules": rules if virtual == HTTPS else rules[1:]})
    assert secure(kind, site, OUT).status == 0
    assert site.converge() == []
    assert secure(kind, site, OUT).status == 200


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_after_every_write(serve, kind):
    """A client that is in neither list gets in at no moment, one that is in both always does."""
    site, seen = serve(kind), []
    site.apply(listed(kind, f"{IN} {LATER}"))

    def look(entry) -> None:
        seen.append((secure(kind, site, OUT).status, secure(kind, site, IN).status))

    router = site.router()
    site.bigip.on_write = look
    site.settle(router)
    assert {out for out, _ in seen} <= {0, 503}
    assert (secure(kind, site, OUT).status, secure(kind, site, IN).status) == (0, 200)
    for sources in (IN, f"{IN} 10.0.0.0/8", f"{IN} {LATER}"):
        seen.clear()
        site.apply(listed(kind, sources))
        site.settle(router)
        assert set(seen) == {(0, 200)}
        assert secure(kind, site, LATER).status == (200 if LATER in sources else 0)
    seen.clear()
    site.kube.delete("Route", "shop", "a")
    site.settle(router)
    site.later()
    site.settle(router)
    assert {out for out, _ in seen} <= {0, 503}
    site.bigip.on_write = None
    assert not [item.path for item in site.bigip.items("ltm/data-group/internal") if "limits" in item.path
                or "addresses" in item.path]
    assert not [item.path for item in site.bigip.items("ltm/rule") if "limits" in item.path]
    router.close()
