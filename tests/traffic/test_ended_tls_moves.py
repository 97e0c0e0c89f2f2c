"""Hosts of listeners of mode Terminate that come, go and change, and the router that ends at a write.

Nobody but the pods of before and of afterwards gets a connection, and each in the way of its listener.
"""

import pytest

from tests.gateways import EVERYWHERE, PASSTHROUGH, backend, gateway, http_route, listener, parent, rule
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.ended import FLAGS, HOST, VIRTUAL, ending, meet, of, site_with

PASSING = listener("passing", **PASSTHROUGH, hostname="*.example.com", namespaces=EVERYWHERE)
REST = listener("rest", 443, "HTTPS", secret="other")
OTHERS = (of("bank", "*.example.com", name="wild", service="tls", section="passing"),
          http_route("rest", rule(backend("web")), parents=(parent("web", sectionName="rest"),)))
"""Who would get the connections of a name that nobody has: pods of bank, and web of infra."""


def with_listener(*listeners: dict) -> dict:
    return gateway("web", *listeners, PASSING, REST)


ENDED = (with_listener(ending()), of("shop"))
PASSED = (with_listener(listener("tls", **PASSTHROUGH, hostname=HOST, namespaces=EVERYWHERE)),
          of("shop", service="tls"))
SECURE = (with_listener(listener("tls", 443, "HTTPS", hostname=HOST, secret="db", namespaces=EVERYWHERE)),
          http_route("r", rule(backend("web")), namespace="shop", parents=(
              parent("web", namespace="infra", sectionName="tls"),)))
EMPTY = (with_listener(ending()),)
OTHER = (with_listener(ending()), of("shop", "other.example.com"), of("infra"))
MODES = {"ended": ENDED, "passed": PASSED, "secure": SECURE, "empty": EMPTY, "another": OTHER}
MEETS = {"ended": "ended shop", "passed": "passed shop", "secure": "secure shop", "empty": "reset",
         "another": "ended infra"}
CHANGES = [("ended", "passed"), ("passed", "ended"), ("ended", "secure"), ("secure", "ended"),
           ("empty", "ended"), ("ended", "empty"), ("ended", "another")]


def what(site) -> str:
    """How a client is served, and by whose pod."""
    met = meet(site)
    if met.who not in ("silent", "reset"):
        assert met.certificate == HOST
        return f"ended {met.who}"
    if not met.certificate:
        return met.who
    seen = clients.python(site.bigip.endpoint(VIRTUAL), HOST)
    how = "passed" if seen.certificate == "pods.example.com" else "secure"
    return f"{how} {seen.pod.get('namespace', seen.status)}"


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_router_that_ends_at_any_write(site_of, before, after):
    site = site_with(site_of, *OTHERS, *MODES[before])
    assert site.converge(**FLAGS) == []
    assert what(site) == MEETS[before]
    for obj in MODES[before][1:]:
        if obj["kind"] not in [each["kind"] for each in MODES[after][1:]]:
            site.kube.delete(obj["kind"], "shop", "r")
    site.apply(*MODES[after])
    may = {MEETS[before], MEETS[after], "reset", "secure 404", "secure 503", "secure 0"}
    if "secure" not in (before, after):
        may -= {"secure 404", "secure 503", "secure 0"}
    for number in site.each_end(3, **FLAGS):
        assert what(site) in may, number
    assert site.converge(**FLAGS) == []
    assert what(site) == MEETS[after]


def test_a_wildcard_comes_and_goes_around_a_host(site_of):
    """The host keeps its pods, whatever the wildcard's are; other names are reset, or the wildcard's."""
    site = site_with(site_of, gateway("web", ending("tls", "*.example.com", "wild"), REST), OTHERS[1],
                     of("bank"))
    assert site.converge(**FLAGS) == []
    site.apply(of("shop", "*.example.com", name="wild"))
    for number in site.each_end(3, **FLAGS):
        assert meet(site).who == "bank", number
        assert meet(site, "x.example.com").who in ("reset", "shop"), number
    assert site.converge(**FLAGS) == []
    assert meet(site, "y.x.example.com").who == "shop"
    site.kube.delete("TLSRoute", "shop", "wild")
    for number in site.each_end(3, **FLAGS):
        assert meet(site).who == "bank", number
        assert meet(site, "x.example.com").who in ("reset", "shop"), number
    assert site.converge(**FLAGS) == []
    assert [meet(site, host).who for host in (HOST, "x.example.com")] == ["bank", "reset"]


WIDE = {"https": (listener("wide", 443, "HTTPS", hostname="*.com", secret="other", namespaces=EVERYWHERE),
                  http_route("w", rule(backend("web")), namespace="bank", parents=(
                      parent("web", namespace="infra", sectionName="wide"),))),
        "ended": (ending("wide", "*.com", "wild"), of("bank", "*.com", name="w", section="wide")),
        "passed": (listener("wide", **PASSTHROUGH, hostname="*.com", namespaces=EVERYWHERE),
                   of("bank", "*.com", name="w", section="wide", service="tls"))}


@rows(("wide", "hostname", "mode"), [
    (wide, hostname, mode) for wide in WIDE for hostname in (HOST, "*.example.com")
    for mode in ("Terminate", "Passthrough")])
def test_a_listener_that_cannot_be_served_any_more(site_of, wide, hostname, mode):
    """Its names are reset before their TLS begins, and nothing looks for requests in it, at any write."""
    own = ending("tls", hostname) if mode == "Terminate" else listener(
        "tls", **PASSTHROUGH, hostname=hostname, namespaces=EVERYWHERE)
    around, route = WIDE[wide]
    site = site_with(site_of, gateway("web", own, around), route, of(
        "shop", hostname, service="db" if mode == "Terminate" else "tls"))
    assert site.converge(**FLAGS) == []
    served = what(site)
    assert served == ("ended shop" if mode == "Terminate" else "passed shop")
    refused = own | {"allowedRoutes": {"kinds": [{"kind": "UDPRoute"}]}}
    for listeners, wanted in (((refused, around), "reset"), ((own, around), served)):
        site.apply(gateway("web", *listeners))
        for number in site.each_end(1, **FLAGS):
            assert what(site) in (served, "reset"), number
        assert site.converge(**FLAGS) == []
        assert what(site) == wanted
        if wanted == "reset":
            assert clients.after_hello(site.bigip.endpoint(VIRTUAL), HOST) == b""
