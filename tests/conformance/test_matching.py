"""Core and extended tests of matches by headers, method and query parameters, each by its short name.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/httproute-*-matching.go and *.yaml.
"""

import pytest

from tests.conformance.cluster import route
from tests.conformance.suite import core, extended
from tests.conformance.test_core import ACCEPTED, V1, V2, ready
from tests.gateways import backend, rule

NAMES = {1: V1, 2: V2}


def match(path: str = "", *, method: str = "", query: str = "", **headers: str) -> dict:
    """An entry of matches; query: such as "a=b"."""
    obj: dict = {"path": {"type": "PathPrefix", "value": path}} if path else {}
    obj |= {"method": method} if method else {}
    if headers:
        obj["headers"] = [{"name": name, "value": value} for name, value in headers.items()]
    if query:
        obj["queryParams"] = [dict(zip(("name", "value"), pair.split("="), strict=True))
                              for pair in query.split("&")]
    return obj


def to(number: int, *matches: dict) -> dict:
    """A rule that leads to one of the two Services."""
    return rule(backend(NAMES[number]), matches=list(matches))


def sent(text: str) -> dict:
    """How a request is sent: a method, headers, or nothing."""
    words = text.split()
    method = next((word for word in words if ":" not in word), "GET")
    return {"method": method, "headers": [word for word in words if ":" in word]}


@core("HTTPRouteHeaderMatching")
@pytest.mark.every_tmos
def test_header_matching(cluster):
    ready(cluster)
    cluster.apply(route(
        "r", to(1, match(version="one")), to(2, match(version="two")),
        to(1, match(version="two", color="orange")), to(1, match(color="blue")), to(2, match(color="green")),
        to(1, match(color="red")), to(2, match(color="yellow"))))
    cluster.wait_route("r", ACCEPTED)
    for headers, answer in (("Version:one", V1), ("Version:two", V2), ("Version:two Color:orange", V1),
                            ("Color:blue", V1), ("Color:green", V2), ("Color:red", V1), ("Color:yellow", V2),
                            ("Color:orange", 404), ("Some-Other-Header:one", 404), ("Color:purple", 404),
                            ("Version:Two", 404), ("", 404)):
        cluster.wait_answer("/", answer, **sent(headers))


RULES = [(1, match("/"), match(version="one")), (2, match("/v2"), match(version="two"))]
ASKED = [("/", "", V1), ("/example", "", V1), ("/", "Version:one", V1), ("/v2", "", V2),
         ("/v2/example", "", V2), ("/", "Version:two", V2), ("/v2/", "", V2), ("/v2example", "", V1),
         ("/foo/v2/example", "", V1)]


@core("HTTPRouteMatching")
def test_matching(cluster):
    ready(cluster)
    cluster.apply(route("r", *(to(*each) for each in RULES)))
    for path, headers, answer in ASKED:
        cluster.wait_answer(path, answer, **sent(headers))


@core("HTTPRouteMatchingAcrossRoutes")
def test_matching_across_routes(cluster):
    ready(cluster)
    cluster.apply(route("part-1", to(*RULES[0]), hostnames=("example.com", "example.net")),
                  route("part-2", to(*RULES[1]), hostnames=("example.com",)))
    for path, headers, answer in ASKED:
        cluster.wait_answer(path, answer, **sent(headers))
    cluster.wait_answer("/v2", V1, host="example.net")
    cluster.wait_answer("/", V1, host="example.net", **sent("Version:two"))


@extended("HTTPRouteMethodMatching")
def test_method_matching(cluster):
    ready(cluster)
    cluster.apply(route(
        "r", to(1, match(method="POST")), to(2, match(method="GET")),
        to(1, match("/path1", method="GET")), to(2, match("/path2", version="one")),
        to(1, match("/path3", method="PATCH"), match("/path4", method="DELETE", version="three")),
        to(2, match("/path5")), to(1, match("/path5", method="PATCH")),
        to(2, match("/path5", version="four"))))
    for path, how, answer in (("/", "POST", V1), ("/", "GET", V2), ("/path1", "GET", V1),
                              ("/path2", "PUT version:one", V2), ("/path2", "PUT", 404),
                              ("/path3", "PATCH", V1), ("/path4", "DELETE version:three", V1),
                              ("/path4", "DELETE", 404), ("/path5", "PUT", V2),
                              ("/path5", "PATCH version:four", V1), ("/path5", "DELETE version:four", V2)):
        cluster.wait_answer(path, answer, **sent(how))


@extended("HTTPRouteQueryParamMatching")
@pytest.mark.every_tmos
def test_query_parameter_matching(cluster):
    ready(cluster)
    cluster.apply(route(
        "r", to(1, match(query="animal=whale")), to(2, match(query="animal=dolphin")),
        to(1, match(query="animal=dolphin&color=blue")), to(2, match(query="ANIMAL=Whale")),
        to(1, match("/path1", query="animal=whale")), to(2, match(query="animal=whale", version="one"))))
    for path, how, answer in (
            ("/?animal=whale", "", V1), ("/?animal=dolphin", "", V2), ("/?animal=dolphin&color=blue", "", V1),
            ("/?color=blue&animal=dolphin", "", V1), ("/?ANIMAL=Whale", "", V2), ("/?ANIMAL=whale", "", 404),
            ("/?animal=shark", "", 404), ("/", "", 404), ("/path1?animal=whale", "", V1),
            ("/?animal=whale", "version:one", V2), ("/?animal=whale&x=y&animal=dolphin", "", V1)):
        cluster.wait_answer(path, answer, **sent(how))
