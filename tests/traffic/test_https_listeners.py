"""HTTPS listeners of Gateways with addresses of their own: which certificate clients are shown."""

import base64
from contextlib import ExitStack

from tests import gateways
from tests.builders import Identity, identity
from tests.gateways import backend, conditions, gateway, gateway_class, http_route, listener, rule
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.conftest import Site

FLAGS = {"sources": "routes,gateway", "gateway_addresses": "10.9.0.0/28", "f5_http_vserver": "",
         "f5_https_vserver": ""}
ONE, TWO, WILD, NEW = (identity(name) for name in (
    "one.example.com", "two.example.com", "*.example.com", "new.example.com"))
LISTENER = listener("https", 443, "HTTPS", secret="one")
OBJECTS = (gateway_class(), http_route("r", rule(backend("web")), hostnames=("one.example.com",)))


def secret(name: str, pair: Identity, namespace: str = "infra") -> dict:
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": namespace, "name": name},
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}}


def several(*names: str, **more) -> dict:
    refs = [{"name": name} for name in names]
    return listener("https", 443, "HTTPS", tls={"certificateRefs": refs}, **more)


def site_with(site_of, *objects: dict, **options) -> Site:
    site = site_of(address="", gateway_api="v1.6", **options)
    site.serve("web", "10.1.1.1", namespace="infra")
    site.apply(*objects)
    return site


def shown(site: Site, host: str = "one.example.com", *, sni: str | None = "", name: str = "web") -> tuple:
    """Certificate and status that a client gets at a Gateway."""
    place = site.bigip.endpoint(f"/Common/openshift_https__infra.{name}.443")
    seen = clients.python(place, host, sni=sni)
    return seen.certificate, seen.status


def listener_status(site: Site, number: int = 0) -> dict:
    status = (site.kube.get("Gateway", "infra", "web") or {}).get("status") or {}
    listed = status.get("listeners", ())
    return {"Programmed": None, "ResolvedRefs": None} | conditions(
        listed[number]["conditions"] if listed else [])


def test_a_listener_without_a_hostname(site_of):
    """Its certificate is for all names that no other listener has: also without one, and for other hosts."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), secret("two", TWO), gateway(
        "web", LISTENER, listener("two", 443, "HTTPS", hostname="two.example.com", secret="two")))
    assert site.converge(**FLAGS) == []
    assert listener_status(site)["Programmed"] == ("True", "Programmed")
    assert [shown(site, host, sni=sni) for host, sni in (
        ("one.example.com", ""), ("two.example.com", ""), ("none.example.org", ""), ("one.example.com", None),
        ("none.example.org", None))] == [
        ("one.example.com", 200), ("two.example.com", 404), ("one.example.com", 404),
        ("one.example.com", 200), ("one.example.com", 404)]
    site.clear()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []


def test_each_gateway_has_a_default_certificate_of_its_own(site_of):
    site = site_with(site_of, *OBJECTS, secret("one", ONE), secret("two", TWO), gateway("web", LISTENER),
                     gateway("second", listener("https", 443, "HTTPS", secret="two")),
                     gateway("third", listener("https", 443, "HTTPS", secret="two", hostname="x.test")))
    assert site.converge(**FLAGS) == []
    assert [shown(site, "any.example.org", name=name)[0] for name in ("web", "second")] == [
        "one.example.com", "two.example.com"]
    assert shown(site, "any.example.org", name="third")[0] not in ("one.example.com", "two.example.com")


def test_what_becomes_of_its_secret(site_of):
    """It is renewed, is of no use, is gone, and comes back: nobody is shown another Gateway's."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), gateway("web", LISTENER, listener(
        "two", 443, "HTTPS", hostname="two.example.com", secret="two")), secret("two", TWO))
    with ExitStack() as stack:
        running = site.run(**FLAGS)
        stack.callback(running.stop)
        running.wait(lambda: listener_status(site)["Programmed"] == ("True", "Programmed"))
        assert shown(site, "any.example.org") == ("one.example.com", 404)
        site.apply(secret("one", NEW))
        running.wait(lambda: shown(site, "any.example.org") == ("new.example.com", 404))
        for change in (lambda: site.apply(secret("one", Identity("no certificate", NEW.key, ""))),
                       lambda: site.kube.delete("Secret", "infra", "one")):
            change()
            running.wait(lambda: listener_status(site)["ResolvedRefs"] == ("False", "InvalidCertificateRef"))
            running.wait(lambda: shown(site, "any.example.org")[0] != "new.example.com")
            assert shown(site, "any.example.org")[0] != "two.example.com"
            assert shown(site, "two.example.com")[0] == "two.example.com"
            site.apply(secret("one", NEW))
            running.wait(lambda: shown(site, "any.example.org") == ("new.example.com", 404))


def test_a_grant_that_is_gone(site_of):
    grant = gateways.grant("g", "certs", ("Gateway", "infra"), ("", "Secret", "one"))
    site = site_with(site_of, *OBJECTS, secret("one", ONE, "certs"), grant, secret("two", TWO), gateway(
        "web", listener("https", 443, "HTTPS", secret="certs/one"),
        listener("two", 443, "HTTPS", hostname="two.example.com", secret="two")))
    assert site.converge(**FLAGS) == []
    assert shown(site, "any.example.org") == ("one.example.com", 404)
    site.kube.delete("ReferenceGrant", "certs", "g")
    assert site.converge(**FLAGS) == []
    assert listener_status(site)["ResolvedRefs"] == ("False", "RefNotPermitted")
    assert shown(site, "any.example.org")[0] not in ("one.example.com", "two.example.com")
    assert shown(site, "one.example.com", sni="one.example.com")[0] != "one.example.com"


def test_secrets_that_cannot_be_read_change_nothing(site_of):
    """A router that starts without the right leaves what clients are shown, and adds what it may."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), secret("wild", WILD), gateway(
        "web", several("one", "wild")))
    assert site.converge(**FLAGS) == []
    before = [shown(site, host) for host in ("one.example.com", "x.example.com", "any.example.org")]
    assert [name for name, _ in before] == ["one.example.com", "*.example.com", "one.example.com"]
    site.kube.forbid("secrets", ("get", "list", "watch"), "infra")
    site.apply(http_route("more", rule(backend("web"), paths=("/more",)), hostnames=("one.example.com",)))
    site.converge(**FLAGS)
    assert [shown(site, host) for host in ("one.example.com", "x.example.com", "any.example.org")] == before
    site.kube.allow("secrets")
    assert site.converge(**FLAGS) == []
    assert [shown(site, host) for host in ("one.example.com", "x.example.com", "any.example.org")] == before


@rows("version", ["12.1.0", "14.1.2", "17.1.0"])
def test_several_certificates(site_of, version):
    """The name that a client asks for decides, exact before wildcard; the first one is for all others."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), secret("two", TWO), secret("wild", WILD),
                     gateway("web", several("two", "wild", "one")), tmos_version=version)
    assert site.converge(**FLAGS) == []
    names = ("one.example.com", "two.example.com", "x.example.com", "a.b.example.com", "any.example.org")
    assert [shown(site, name)[0] for name in names] == [
        "one.example.com", "two.example.com", "*.example.com", "two.example.com", "two.example.com"]
    assert [shown(site, name)[1] for name in names] == [200, 404, 404, 404, 404]
    site.apply(http_route("all", rule(backend("web"))))  # names of certificates take no requests from it
    assert site.converge(**FLAGS) == []
    assert [shown(site, name)[1] for name in names] == [200, 200, 200, 200, 200]
    site.apply(gateway("web", several("two", "one")))
    assert site.converge(**FLAGS) == []
    assert [shown(site, name)[0] for name in names] == [
        "one.example.com", "two.example.com", "two.example.com", "two.example.com", "two.example.com"]
    site.clear()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []


def test_names_that_another_listener_has(site_of):
    """A certificate is shown for the names of its own listener alone."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), secret("two", TWO), secret("wild", WILD), gateway(
        "web", several("two", "wild", "one"),
        listener("own", 443, "HTTPS", hostname="one.example.com", secret="wild"),
        listener("below", 443, "HTTPS", hostname="*.example.com", secret="two")))
    assert site.converge(**FLAGS) == []
    assert [shown(site, name)[0] for name in ("one.example.com", "x.example.com", "any.example.org")] == [
        "*.example.com", "two.example.com", "two.example.com"]


def test_one_of_several_that_is_of_no_use(site_of):
    """The others are shown; the listener says what is wrong."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), secret("wild", WILD),
                     secret("bad", Identity(TWO.certificate, ONE.key, "")),
                     gateway("web", several("missing", "wild", "one", "bad")))
    site.converge(**FLAGS)
    assert listener_status(site)["ResolvedRefs"] == ("False", "InvalidCertificateRef")
    assert listener_status(site)["Programmed"] == ("True", "Programmed")
    assert [shown(site, name)[0] for name in ("one.example.com", "x.example.com", "any.example.org")] == [
        "one.example.com", "*.example.com", "*.example.com"]


def test_a_router_that_ends_at_any_write(site_of):
    """Between two writes clients are shown what they were, what they will be, or the first certificate."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), secret("two", TWO), secret("wild", WILD),
                     secret("new", NEW), gateway("web", several("one")))
    assert site.converge(**FLAGS) == []
    names = ("one.example.com", "x.example.com", "any.example.org")
    before = [shown(site, name)[0] for name in names]
    site.apply(gateway("web", several("new", "wild", "one"), listener(
        "two", 443, "HTTPS", hostname="two.example.com", secret="two")))
    for _ in site.each_end(3, **FLAGS):
        for name, old, new in zip(names, before, ("one.example.com", "*.example.com", "new.example.com"),
                                  strict=True):
            assert shown(site, name)[0] in (old, new, "new.example.com"), name
        assert site.converge(**FLAGS) == []
        assert [shown(site, name)[0] for name in names] == [
            "one.example.com", "*.example.com", "new.example.com"]


def test_the_front_end_of_the_router_keeps_its_certificate(site_of):
    """There a listener without a hostname has the hosts of HTTPRoutes alone."""
    site = site_with(site_of, *OBJECTS, secret("one", ONE), secret("wild", WILD), gateway(
        "web", several("wild", "one")), http_route("x", rule(backend("web")), hostnames=("x.example.com",)))
    assert site.converge(f5_vserver_address="203.0.113.10", sources="routes,gateway") == []
    assert [clients.python(site.https, host).certificate for host in (
        "one.example.com", "x.example.com", "y.example.com")][:2] == ["one.example.com", "*.example.com"]
    seen = clients.python(site.https, "y.example.com")
    assert seen.certificate not in ("one.example.com", "*.example.com")
    assert seen.status == 404
