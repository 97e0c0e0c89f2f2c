"""Core tests of hostnames of listeners and HTTPRoutes, each by its short name.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/httproute-hostname-intersection.go and
httproute-listener-hostname-matching.go, with their *.yaml.
"""

from tests.conformance.cluster import INFRA, route
from tests.conformance.suite import core
from tests.conformance.test_core import ACCEPTED, PROGRAMMED, V1, V2, V3
from tests.gateways import backend, gateway, listener, parent, rule


def listeners(*hosts: str) -> list[dict]:
    """Listeners of port 80, of which each has a name."""
    return [listener(f"listener-{number}", hostname=host) for number, host in enumerate(hosts, 1)]


def to(name: str, of: str, *paths: str, **more) -> dict:
    """An HTTPRoute of a Gateway."""
    more.setdefault("parents", (parent("g"),))
    return route(name, rule(backend(of), paths=paths), **more)


@core("HTTPRouteHostnameIntersection")
def test_hostname_intersection(cluster):
    cluster.apply(gateway("g", *listeners("very.specific.com", "*.wildcard.io", "*.anotherwildcard.io"),
                          namespace=INFRA))
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED)
    cluster.apply(
        to("specific-host", V1, "/s1", hostnames=("non.matching.com", "*.nonmatchingwildcard.io",
                                                  "very.specific.com")),
        to("specific-of-wildcard", V2, "/s2", hostnames=(
            "non.matching.com", "wildcard.io", "foo.wildcard.io", "bar.wildcard.io", "foo.bar.wildcard.io")),
        to("wildcard-of-specific", V3, "/s3", hostnames=("non.matching.com", "*.specific.com")),
        to("wildcard-of-wildcard", V1, "/s4", hostnames=("*.anotherwildcard.io",)),
        to("no-intersecting-hosts", V2, hostnames=("specific.but.wrong.com", "wildcard.io")))
    for name in ("specific-host", "specific-of-wildcard", "wildcard-of-specific", "wildcard-of-wildcard"):
        cluster.wait_route(name, ACCEPTED)
    cluster.wait_route("no-intersecting-hosts", {"Accepted": ("False", "NoMatchingListenerHostname")})
    cluster.wait_attached("g", **{"listener-1": 2, "listener-2": 1, "listener-3": 1})
    for host, path, answer in (
            ("very.specific.com", "/s1", V1), ("very.specific.com:1234", "/s1", V1),
            ("non.matching.com", "/s1", 404), ("foo.nonmatchingwildcard.io", "/s1", 404),
            ("foo.wildcard.io", "/s1", 404), ("very.specific.com", "/non-matching-prefix", 404),
            ("foo.wildcard.io", "/s2", V2), ("bar.wildcard.io", "/s2", V2),
            ("foo.bar.wildcard.io", "/s2", V2),
            ("wildcard.io", "/s2", 404), ("non.matching.com", "/s2", 404), ("very.specific.com", "/s2", 404),
            ("foo.wildcard.io", "/non-matching-prefix", 404), ("very.specific.com", "/s3", V3),
            ("foo.specific.com", "/s3", 404), ("foo.anotherwildcard.io", "/s4", V1),
            ("one.two.three.anotherwildcard.io", "/s4", V1), ("anotherwildcard.io", "/s4", 404),
            ("foo.wildcard.io", "/s4", 404), ("specific.but.wrong.com", "/", 404), ("wildcard.io", "/", 404)):
        cluster.wait_answer(path, answer, host)


@core("HTTPRouteListenerHostnameMatching")
def test_listener_hostname_matching(cluster):
    cluster.apply(gateway("g", *listeners("bar.com", "foo.bar.com", "*.bar.com", "*.foo.com"),
                          namespace=INFRA))
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED)
    of = {number: parent("g", sectionName=f"listener-{number}") for number in range(1, 5)}
    cluster.apply(to("backend-v1", V1, parents=(of[1],)), to("backend-v2", V2, parents=(of[2],)),
                  to("backend-v3", V3, parents=(of[3], of[4])))
    for host, answer in (("bar.com", V1), ("foo.bar.com", V2), ("baz.bar.com", V3), ("boo.bar.com", V3),
                         ("multiple.prefixes.bar.com", V3), ("multiple.prefixes.foo.com", V3),
                         ("foo.com", 404), ("no.matching.host", 404)):
        cluster.wait_answer("/", answer, host)
