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


@rows(("wide", "answer"), [(wide, answer) for wide in WIDE for answer in ("503", "404")])
def test_a_certificate_that_is_of_no_use_or_missing(site_of, wide, answer):
    """The more specific listener has its requests; nobody else gets them in its place, at any write.

    One that cannot be served for want of a certificate has its hostname all the same, and answers 404.
    """
    site = site_with(site_of, wide, secret("one", ONE))
    assert site.converge(**FLAGS) == []
    assert [who(site, host) for host in (HOST, OTHER)] == ["shop", "bank"]
    for wanted in (answer, "shop"):
        if wanted == "404":
            site.kube.delete("Secret", "infra", "one")
        else:
            site.apply(BAD if wanted == "503" else secret("one", ONE))
        for _ in site.each_end(2, **FLAGS):
            assert who(site, HOST) in ("shop", answer)
            assert site.converge(**FLAGS) == [] or wanted == "503"
            assert [who(site, host) for host in (HOST, OTHER)] == [wanted, "bank"]


@rows("wide", WIDE)
def test_a_certificate_that_is_of_no_use_from_the_beginning(site_of, wide):
    site = site_with(site_of, wide, BAD)
    site.converge(**FLAGS)
    assert [who(site, host) for host in (HOST, OTHER)] == ["503", "bank"]


@rows(("wide", "last"), [(wide, last) for wide in WIDE for last in ("", "exact", "bank")])
def test_a_certificate_that_is_not_read(site_of, wide, last):
    """Nobody gets its requests as long as that lasts, whichever of both listeners or routes comes last."""
    site = site_with(site_of, wide, secret("one", ONE))
    every = (site.kube.get("Gateway", "infra", "web"), site.kube.get("HTTPRoute", "bank", "r"))
    site.kube.forbid("secrets", ("get", "list", "watch"), "infra", "one")
    if last == "exact":
        site.apply(gateway("web", every[0]["spec"]["listeners"][1]))
    elif last == "bank":
        site.kube.delete("HTTPRoute", "bank", "r")
    site.converge(**FLAGS)
    before = "bank" if last == "exact" else "404"
    if last:
        assert who(site, HOST) in (before, "503")
        site.apply(*every)
        for _ in site.each_end(1, **FLAGS):
            assert who(site, HOST) in (before, "503")
    site.converge(**FLAGS)
    assert [who(site, host) for host in (HOST, OTHER)] == ["503", "bank"]
    site.kube.allow("secrets")
    assert site.converge(**FLAGS) == []
    assert [who(site, host) for host in (HOST, OTHER)] == ["shop", "bank"]


@rows("exact", [{"allowedRoutes": {"kinds": [{"kind": "UDPRoute"}]}}, {"tls": {"mode": "Passthrough"}}])
def test_a_listener_that_is_refused(site_of, exact):
    """The same holds for one that asks for what is not supported."""
    site = site_with(site_of, "*.example.com", secret("one", ONE), **exact)
    assert site.converge(**FLAGS) == []
    assert [who(site, host) for host in (HOST, OTHER)] == ["404", "bank"]


def test_a_listener_of_a_protocol_that_is_not_known(site_of):
    """It takes its hostname from no listener that is served."""
    site = site_of(address="", gateway_api="v1.6")
    site.serve("web", "10.1.1.1")
    site.apply(gateway_class(), gateway(
        "web", listener("exact", hostname=HOST, namespaces=EVERYWHERE),
        listener("wide", hostname="*.example.com"),
        listener("other", protocol="example.com/other", hostname=HOST)),
        http_route("r", rule(backend("web")), namespace="shop", parents=(parent("web", namespace="infra"),)))
    site.converge(**FLAGS)
    seen = clients.plain(site.bigip.endpoint("/Common/openshift_http__infra.web.80"), HOST)
    assert seen.pod.get("namespace") == "shop"
