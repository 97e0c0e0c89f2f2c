"""TLSRoutes with wildcards on Gateways with addresses of their own: who has which server name.

Each pod says whose it is, and the BIG-IP's own TLS shows which certificate it has.
"""

import base64

import pytest

from tests.builders import identity
from tests.gateways import (
    EVERYWHERE,
    PASSTHROUGH,
    backend,
    gateway,
    gateway_class,
    http_route,
    listener,
    parent,
    rule,
    tls_route,
)
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.conftest import PODS
from tests.traffic.test_tls_routes import accepted

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway",
         "gateway_addresses": "10.9.0.0/28"}
OWN = identity("own.example.com")
SECRET = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
          "metadata": {"namespace": "infra", "name": "own"},
          "data": {"tls.crt": base64.b64encode(OWN.certificate.encode()).decode(),
                   "tls.key": base64.b64encode(OWN.key.encode()).decode()}}
NAMESPACES = ("infra", "shop", "bank")


def passing(name: str = "tls", hostname: str = "") -> dict:
    return listener(name, **{**PASSTHROUGH, "allowedRoutes": {"namespaces": EVERYWHERE}}, hostname=hostname)


def ending(name: str, hostname: str) -> dict:
    return listener(name, 443, "HTTPS", hostname=hostname, secret="own", namespaces=EVERYWHERE)


def of(namespace: str, *hostnames: str, name: str = "r", **more) -> dict:
    """A TLSRoute to the pods of its namespace."""
    return tls_route(name, backend("tls", 8443), namespace=namespace, hostnames=hostnames,
                     parents=(parent("web", namespace="infra", sectionName="tls"),), **more)


def requests(namespace: str, *hostnames: str, section: str) -> dict:
    return http_route("r", rule(backend("web")), namespace=namespace, hostnames=hostnames,
                      parents=(parent("web", namespace="infra", sectionName=section),))


def site_with(site_of, *objects: dict, **options):
    site = site_of(address="", gateway_api="v1.6", **options)
    for number, namespace in enumerate(NAMESPACES, start=1):
        site.serve("tls", f"10.1.{number}.1", namespace=namespace, port=8443, tls=PODS)
        site.serve("web", f"10.2.{number}.1", namespace=namespace)
    site.apply(gateway_class(), SECRET, *objects)
    return site


def who(site, name: str | None) -> str:
    """Namespace of the pod that ends TLS, or `ended by` and that of the pod behind the BIG-IP's TLS.

    "reset" if the connection ends before the BIG-IP or a pod has sent anything.
    """
    place = site.bigip.endpoint("/Common/openshift_https__infra.web.443")
    if clients.after_hello(place, name) == b"":
        return "reset"
    assert name is not None
    seen = clients.python(place, name)
    ended = "" if seen.certificate == "pods.example.com" else "ended by "
    return ended + seen.pod.get("namespace", str(seen.status))


def all_of(site, wanted: dict) -> dict:
    return {name: who(site, name) for name in wanted}


@rows("version", ["12.1.3", "14.1.2", "17.1.0"])
def test_a_wildcard_has_all_names_below_its_domain(site_of, version):
    """At any depth; the longest domain comes first, and what has no TLSRoute is reset."""
    site = site_with(
        site_of, gateway("web", passing()), of("infra", "*.com"), of("shop", "*.example.com"),
        of("bank", "bank.example.com", "*.a.example.com"), tmos_version=version)
    assert site.converge(**FLAGS) == []
    assert [accepted(site, "r", each)[0] for each in NAMESPACES] == ["True"] * 3
    wanted = {
        "example.com": "infra", "x.com": "infra", "d.c.b.other.com": "infra", "an-example.com": "infra",
        "x.example.com": "shop", "y.x.example.com": "shop", "a.example.com": "shop",
        "X.Example.COM": "shop", "bank.example.com": "bank", "x.bank.example.com": "shop",
        "x.a.example.com": "bank", "z.y.x.a.example.com": "bank", "com": "reset", "x.org": "reset",
        None: "reset", f"{'b.' * 120}example.com": "shop"}
    assert all_of(site, wanted) == wanted
    site.clear()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []


def test_names_of_a_listener_without_a_route_are_reset(site_of):
    """Also those that no listener has, where none ends TLS."""
    site = site_with(site_of, gateway("web", passing(hostname="*.example.com")))
    wanted = {"x.example.com": "reset", "x.org": "reset", "example.com": "reset", None: "reset"}
    assert site.converge(**FLAGS) == []
    assert all_of(site, wanted) == wanted
    site.apply(of("shop", "*.com"))
    assert site.converge(**FLAGS) == []
    wanted |= {"x.example.com": "shop", "y.x.example.com": "shop"}
    assert all_of(site, wanted) == wanted
    site.kube.delete("TLSRoute", "shop", "r")
    assert site.converge(**FLAGS) == []
    assert who(site, "x.example.com") == "reset"


def test_listeners_that_end_tls_beside_it(site_of):
    """The listener with the more specific hostname has a name, whether a route has it there or not."""
    site = site_with(
        site_of, gateway("web", passing(), ending("exact", "own.example.com"),
                         ending("wild", "*.wild.example.com")),
        of("shop", "*.example.com"), requests("bank", "own.example.com", section="exact"),
        requests("infra", "x.wild.example.com", section="wild"))
    assert site.converge(**FLAGS) == []
    wanted = {"x.example.com": "shop", "own.example.com": "ended by bank", "x.own.example.com": "shop",
              "x.wild.example.com": "ended by infra", "y.wild.example.com": "ended by 404",
              "z.y.wild.example.com": "ended by 404", "x.org": "reset", None: "reset"}
    assert all_of(site, wanted) == wanted
    site.kube.delete("HTTPRoute", "bank", "r")
    assert site.converge(**FLAGS) == []
    assert who(site, "own.example.com") == "ended by 404"


def test_a_certificate_that_is_missing(site_of):
    """A listener that cannot be served has its name all the same: the wildcard above it does not get that."""
    site = site_with(site_of, gateway("web", passing(), ending("exact", "own.example.com")),
                     of("shop", "*.example.com"))
    site.kube.delete("Secret", "infra", "own")
    site.converge(**FLAGS)
    assert (who(site, "x.example.com"), who(site, "own.example.com")) == ("shop", "ended by 404")
    site.apply(SECRET)
    assert site.converge(**FLAGS) == []
    assert (who(site, "x.example.com"), who(site, "own.example.com")) == ("shop", "ended by 404")


BEFORE = (gateway("web", passing(), ending("exact", "own.example.com"), ending("wild", "*.w.example.com")),
          of("shop", "*.example.com"), of("bank", "a.example.com", "*.b.example.com"),
          requests("infra", "own.example.com", section="exact"))
NAMES = {"x.example.com": {"shop"}, "a.example.com": {"bank"}, "y.x.b.example.com": {"bank"},
         "own.example.com": {"ended by infra"}, "x.w.example.com": {"ended by 404"}, "x.org": {"reset"}}
NOBODY = {"reset", "ended by 0", "ended by 404", "ended by 503"}
EMPTY = gateway("web", passing(name="other", hostname="other.example.com"))
CHANGES = {
    "all of it comes": ((EMPTY,), BEFORE, {}),
    "all of it goes": (BEFORE, (EMPTY,), {}),
    "the wildcard goes": (BEFORE, (of("shop", "shop.example.com"),), {"x.example.com": {"reset", "shop"}}),
    "the wildcard comes": ((*BEFORE, of("shop", "shop.example.com")), (of("shop", "*.example.com"),),
                           {"x.example.com": {"reset", "shop"}}),
    "a wildcard of another namespace comes above": (
        BEFORE, (of("infra", "*.com", name="above"),), {"x.com": {"reset", "infra"}}),
    "a host of another namespace comes": (
        BEFORE, (of("infra", "x.example.com", name="x"),), {"x.example.com": {"shop", "infra"}}),
    "a host that the BIG-IP ends tls for comes": (
        BEFORE, (requests("infra", "own.example.com", "x.w.example.com", section="wild"),),
        {"x.w.example.com": {"ended by 404", "ended by infra"}, "own.example.com": {
            "ended by infra", "ended by 404"}}),
    "the wildcard becomes another namespace's": (
        BEFORE, (of("shop", "s.example.com"), of("infra", "*.example.com", name="w")),
        {"x.example.com": {"shop", "infra", "reset"}}),
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_no_name_comes_to_others_between_two_writes(site_of, change):
    """A router may end after each of them; the next one goes on."""
    before, after, differ = CHANGES[change]
    comes_or_goes = not differ
    site = site_with(site_of, *before)
    assert site.converge(**FLAGS) == []
    site.apply(*after)
    wanted = {name: differ.get(name, NAMES.get(name, set())) for name in {*NAMES, *differ}}
    for number in site.each_end(3, **FLAGS):
        for name, allowed in wanted.items():
            may = allowed | (NOBODY if comes_or_goes else set())
            assert who(site, name) in may, (number, name)
        if number % 8 == 0:
            assert site.converge(**FLAGS) == []
