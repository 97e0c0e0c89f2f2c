"""Extended tests of filters, each by its short name.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/httproute-*redirect*.go,
httproute-*-header-modifier.go, httproute-rewrite-*.go, httproute-backend-protocol-websocket.go and *.yaml.
"""

import pytest

from tests.conformance.cluster import INFRA, route, service
from tests.conformance.suite import extended
from tests.conformance.test_core import ACCEPTED, RESOLVED, V1, V2, ready
from tests.gateways import backend, headers, path_modifier, redirect, response_headers, rewrite, rule
from tests.traffic import clients

CHANGE = {"set": [{"name": "X-Set", "value": "new"}], "add": [{"name": "X-Add", "value": "more"}],
          "remove": ["X-Gone"]}


def apply(cluster, *rules: dict) -> None:
    ready(cluster)
    cluster.apply(route("r", *rules))
    cluster.wait_route("r", ACCEPTED | RESOLVED)


def check_redirects(cluster, *wanted: tuple[dict, str, str, int, str]) -> None:
    """Filter, prefix, path that is asked for, status and location of each."""
    apply(cluster, *(rule(paths=(prefix,), filters=(redirect(**where),)) for where, prefix, *_ in wanted))
    for _, _, path, status, location in wanted:
        cluster.wait_answer(path, status)
        assert cluster.ask(path).location == location, path


@extended("HTTPRouteRedirectPath")
@pytest.mark.every_tmos
def test_redirect_path(cluster):
    check_redirects(
        cluster,
        ({"path": path_modifier(prefix="/replacement-prefix")}, "/original-prefix", "/original-prefix/lemon",
         302, "http://example.com/replacement-prefix/lemon"),
        ({"path": path_modifier(full="/full-path-replacement")}, "/full", "/full/path/original?a=b", 302,
         "http://example.com/full-path-replacement?a=b"),
        ({"hostname": "example.org", "path": path_modifier(prefix="/")}, "/path-and-host",
         "/path-and-host/lemon", 302, "http://example.org/lemon"),
        ({"statusCode": 301, "path": path_modifier(prefix="")}, "/path-and-status", "/path-and-status", 301,
         "http://example.com/"),
        ({"path": path_modifier(prefix="/x/")}, "/slash", "/slash/a?b", 302, "http://example.com/x/a?b"))


@extended("HTTPRouteRedirectPort")
def test_redirect_port(cluster):
    check_redirects(
        cluster, ({"port": 8083}, "/port", "/port", 302, "http://example.com:8083/port"),
        ({"port": 8083, "hostname": "example.org", "statusCode": 301}, "/all", "/all", 301,
         "http://example.org:8083/all"),
        ({"port": 80}, "/known", "/known", 302, "http://example.com/known"))


@extended("HTTPRouteRedirectScheme")
def test_redirect_scheme(cluster):
    check_redirects(
        cluster, ({"scheme": "https"}, "/scheme", "/scheme", 302, "https://example.com/scheme"),
        ({"scheme": "https", "hostname": "example.org", "statusCode": 301}, "/all", "/all", 301,
         "https://example.org/all"))


def check_status(cluster, status: int) -> None:
    check_redirects(cluster, ({"hostname": "example.org", "statusCode": status}, "/a", "/a", status,
                              "http://example.org/a"))


@extended("HTTPRoute303Redirect")
def test_status_303(cluster):
    check_status(cluster, 303)


@extended("HTTPRoute307Redirect")
def test_status_307(cluster):
    check_status(cluster, 307)


@extended("HTTPRoute308Redirect")
@pytest.mark.every_tmos
def test_status_308(cluster):
    check_status(cluster, 308)


@extended("HTTPRouteResponseHeaderModifier")
def test_response_header_modifier(cluster):
    apply(cluster, rule(backend(V1), filters=(response_headers(**CHANGE),)))
    cluster.wait_answer("/", V1)
    seen = cluster.ask("/?headers=X-Set:old|X-Add:first|X-Gone:x|X-Kept:y")
    named = {name: [value for header, value in seen.lines if header.lower() == name]
             for name in ("x-set", "x-add", "x-gone", "x-kept")}
    assert named == {"x-set": ["new"], "x-add": ["first", "more"], "x-gone": [], "x-kept": ["y"]}


def test_backend_request_header_modifier(cluster):
    """The same for all backends of a rule; the suite's test needs different ones, which are refused."""
    change = headers(**CHANGE)
    apply(cluster, rule(backend(V1, filters=[change])),
          rule(backend(V2, filters=[change]), backend(V2, filters=[change]), paths=("/two",),
               filters=(headers(set=[{"name": "X-Rule", "value": "all"}]),)))
    for path, of, more in (("/", V1, []), ("/two", V2, ["all"])):
        cluster.wait_answer(path, of)
        got = cluster.ask(path, headers=("X-Set: old", "X-Add: first", "X-Gone: x")).pod["headers"]
        named = {name: [value for header, value in got if header.lower() == name]
                 for name in ("x-set", "x-add", "x-gone", "x-rule")}
        assert named == {"x-set": ["new"], "x-add": ["first", "more"], "x-gone": [], "x-rule": more}


@extended("HTTPRouteRewriteHost")
def test_rewrite_host(cluster):
    apply(cluster, rule(backend(V1), paths=("/one",), filters=(rewrite(hostname="one.example.org"),)),
          rule(backend(V2)))
    for path, of, host in (("/one", V1, "one.example.org"), ("/", V2, "example.com")):
        cluster.wait_answer(path, of)
        assert [value for name, value in cluster.ask(path).pod["headers"] if name.lower() == "host"] == [host]


@extended("HTTPRouteRewritePath")
@pytest.mark.every_tmos
def test_rewrite_path(cluster):
    apply(cluster, *(rule(backend(V1), paths=(prefix,), filters=(rewrite(path=path),)) for prefix, path in (
        ("/prefix/one", path_modifier(prefix="/one")), ("/strip", path_modifier(prefix="/")),
        ("/empty", path_modifier(prefix="")), ("/full/one", path_modifier(full="/one")),
        ("/slash", path_modifier(prefix="/x/")))))
    for path, target in (("/prefix/one/two", "/one/two"), ("/prefix/one", "/one"), ("/strip/three", "/three"),
                         ("/strip", "/"), ("/strip/", "/"), ("/empty/a?b=/empty", "/a?b=/empty"),
                         ("/empty", "/"), ("/full/one/two?q", "/one?q"), ("/slash", "/x/"),
                         ("/slash/a", "/x/a")):
        cluster.wait_answer(path, V1)
        assert cluster.ask(path).pod["target"] == target, path


@extended("HTTPRouteBackendProtocolWebSocket")
def test_backend_protocol_websocket(cluster):
    objects = service(INFRA, "chat", ("10.9.9.3",))
    objects[0]["spec"]["ports"][0]["appProtocol"] = "kubernetes.io/ws"
    cluster.site.pod("10.9.9.3", "chat", namespace=INFRA)
    cluster.apply(*objects)
    apply(cluster, rule(backend("chat")))
    cluster.wait_answer("/", "chat")
    data = clients.request_bytes("example.com", "/ws", close=False, headers=[
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="])
    assert clients.several(cluster.site.http, data)[0].status == 101
