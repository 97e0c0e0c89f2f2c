"""Requests for the hostname of a listener, and who gets them while that cannot be served.

A listener with a wildcard, or without a hostname, has routes of another namespace on the same port.
"""

from tests.builders import Identity
from tests.gateways import EVERYWHERE, backend, gateway, gateway_class, http_route, listener, parent, rule
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.test_https_listeners import FLAGS, ONE, TWO, WILD, secret

HOST, OTHER = "one.example.com", "x.example.com"
BAD = secret("one", Identity(ONE.certificate, TWO.key, ""))


def site_with(site_of, wide: str, *objects: dict, **exact) -> Site:
    """A site with routes of shop for HOST, and of bank for all that a hostname covers."""
    site = site_of(address="", gateway_api="v1.6")
    for number, namespace in enumerate(("shop", "bank"), start=1):
        site.serve("web", f"10.1.{number}.1", namespace=namespace)
    listeners = [listener(name, 443, "HTTPS", hostname=host, secret=of, namespaces=EVERYWHERE) | more
                 for name, host, of, more in (("exact", HOST, "one", exact), ("wide", wide, "wild", {}))]
    site.apply(gateway_class(), gateway("web", *listeners), secret("wild", WILD), *objects, *(
        http_route("r", rule(backend("web")), namespace=namespace,
                   parents=(parent("web", namespace="infra", sectionName=section),))
        for namespace, section in (("shop", "exact"), ("bank", "wide"))))
    return site


def who(site: Site, host: str) -> str:
    """Namespace of the pod that has a request, or the status of an answer without one."""
    seen = clients.python(site.bigip.endpoint("/Common/openshift_https__infra.web.443"), host)
    return seen.pod.get("namespace", str(seen.status))


WIDE = ["*.example.com", "*.com", ""]


@rows("wide", WIDE)
def test_a_certificate_that_is_of_no_use(site_of, wide):
    """The more specific listener has its requests; nobody else gets them in its place, at any write."""
    site = site_with(site_of, wide, secret("one", ONE))
    assert site.converge(**FLAGS) == []
    assert [who(site, host) for host in (HOST, OTHER)] == ["shop", "bank"]
    site.apply(BAD)
    for _ in site.each_end(2, **FLAGS):
        assert who(site, HOST) in ("shop", "503")
        site.converge(**FLAGS)
        assert [who(site, host) for host in (HOST, OTHER)] == ["503", "bank"]
    site.apply(secret("one", ONE))
    for _ in site.each_end(2, **FLAGS):
        assert who(site, HOST) in ("shop", "503")
        assert site.converge(**FLAGS) == []
        assert [who(site, host) for host in (HOST, OTHER)] == ["shop", "bank"]


@rows("wide", WIDE)
def test_a_certificate_that_is_of_no_use_from_the_beginning(site_of, wide):
    site = site_with(site_of, wide, BAD)
    site.converge(**FLAGS)
    assert [who(site, host) for host in (HOST, OTHER)] == ["503", "bank"]


@rows("wide", WIDE)
def test_a_certificate_that_is_missing(site_of, wide):
    """A listener that cannot be served for want of it has its hostname all the same."""
    site = site_with(site_of, wide, secret("one", ONE))
    assert site.converge(**FLAGS) == []
    site.kube.delete("Secret", "infra", "one")
    for _ in site.each_end(2, **FLAGS):
        assert who(site, HOST) in ("shop", "404")
        assert site.converge(**FLAGS) == []
        assert [who(site, host) for host in (HOST, OTHER)] == ["404", "bank"]
    site.apply(secret("one", ONE))
    for _ in site.each_end(2, **FLAGS):
        assert who(site, HOST) in ("shop", "404")
        assert site.converge(**FLAGS) == []
        assert [who(site, host) for host in (HOST, OTHER)] == ["shop", "bank"]


@rows("exact", [{"allowedRoutes": {"kinds": [{"kind": "UDPRoute"}]}}, {"tls": {"mode": "Passthrough"}}])
def test_a_listener_that_is_refused(site_of, exact):
    """The same holds for one that asks for what is not supported."""
    site = site_with(site_of, "*.example.com", secret("one", ONE), **exact)
    assert site.converge(**FLAGS) == []
    assert [who(site, host) for host in (HOST, OTHER)] == ["404", "bank"]
