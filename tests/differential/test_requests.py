"""Which Route answers, how, and with which certificate: our router against HAProxy's."""

import pytest

from tests import manifests
from tests.builders import identity
from tests.differential.conftest import Pair
from tests.differential.differences import DIFFERENCES, REQUESTS
from tests.differential.outcomes import Request
from tests.traffic.conftest import PODS, Site

KINDS = {
    "plain": ("", ""),
    **{f"{kind}-{insecure.lower() or 'none'}": (kind, insecure)
       for kind in ("edge", "reencrypt") for insecure in ("", "None", "Allow", "Redirect")},
    "passthrough": ("passthrough", ""), "passthrough-redirect": ("passthrough", "Redirect"),
}
"""Name of a host below example.com: termination and insecure policy of its Routes."""
OTHERS = identity("pods.example.com", ca="Other CA")
PATHS = ("/", "/api", "/api/", "/api/x?y=1", "/apis", "/API", "/api/v1", "/api/v1/x", "/%61pi", "//api",
         "/slash", "/slash/", "/slash/x", "/?/api", "/api;x", "/a.i")


def host(name: str) -> str:
    return f"{name}.example.com"


def tls_fields(name: str, kind: str) -> dict[str, str]:
    """Return the fields of spec.tls; a Route without its own certificate is among them."""
    fields = {}
    if kind in ("edge", "reencrypt") and not name.endswith("-none"):
        pair = identity(host(name))
        fields = {"certificate": pair.certificate, "key": pair.key}
    return {**fields, "destinationCACertificate": PODS.issuer} if kind == "reencrypt" else fields


def wild(name: str, domain: str, *, service: str = "web", **how: str) -> dict:
    """Return a wildcard Route with a certificate of its own where TLS ends at the router."""
    if how.get("kind") == "edge":
        pair = identity(f"*.{domain}")
        how |= {"certificate": pair.certificate, "key": pair.key}
    obj = manifests.route(name, host=f"{name}-any.{domain}", service=service, **how)
    obj["spec"]["wildcardPolicy"] = "Subdomain"
    return obj


def build(site: Site) -> None:
    """Routes of every kind, with paths where these are allowed, and wildcards."""
    for number, name in enumerate(("web", "api", "v1", "slash"), start=1):
        site.serve(name, f"10.1.{number}.1")
    for number, name in enumerate(("tls-web", "tls-api", "tls-v1", "tls-slash"), start=1):
        site.serve(name, f"10.2.{number}.1", port=8443, tls=PODS)
    site.serve("stranger", "10.3.1.1", port=8443, tls=OTHERS)
    site.apply(*manifests.service("shop", "empty"), *manifests.service("shop", "dead", pods=("10.4.1.1",)))
    for name, (kind, insecure) in KINDS.items():
        prefix = "tls-" if kind in ("reencrypt", "passthrough") else ""
        paths = {"": "web", "/api": "api", "/api/v1": "v1", "/slash/": "slash"}
        for number, (path, service) in enumerate(paths.items()):
            if path and kind == "passthrough":
                continue
            site.apply(manifests.route(
                f"{name}-{number}", host=host(name), path=path, service=prefix + service, kind=kind,
                insecure=insecure, **({} if path else tls_fields(name, kind)) or (
                    {"destinationCACertificate": PODS.issuer} if kind == "reencrypt" else {})))
    site.apply(
        manifests.route("empty", host=host("empty"), service="empty"),
        manifests.route("missing", host=host("missing"), service="missing"),
        manifests.route("dead", host=host("dead"), service="dead"),
        manifests.route("stranger", host=host("stranger"), kind="reencrypt", service="stranger",
                        destinationCACertificate=PODS.issuer),
        manifests.route("unverified", host=host("unverified"), kind="reencrypt", service="stranger"),
        # one host, several kinds
        manifests.route("mixed-edge", host=host("mixed"), kind="edge", insecure="Redirect"),
        manifests.route("mixed-plain", host=host("mixed"), path="/api", service="api"),
        manifests.route("mixed-v1", host=host("mixed"), path="/api/v1", service="v1", kind="edge"),
        manifests.route("shared-pass", host=host("shared"), kind="passthrough", service="tls-web"),
        manifests.route("shared-plain", host=host("shared"), path="/api", service="api"),
        *(manifests.route(name, host=host("twice"), path=path, kind="edge", created=created,
                          certificate=identity(host(name)).certificate, key=identity(host(name)).key)
          for name, path, created in (("older", "", "2026-01-01T00:00:00Z"),
                                      ("younger", "/api", "2026-01-02T00:00:00Z"))),
        wild("all", "wild.example.com", kind="edge", insecure="Allow"),
        wild("api", "wild.example.com", path="/api", service="api", kind="edge", insecure="Redirect"),
        manifests.route("exact", host="exact.wild.example.com", path="/api/v1", service="v1", kind="edge",
                        insecure="Allow"),
        manifests.route("plain", host="plain.wild.example.com", service="slash"),
        wild("all-through", "through.example.com", kind="passthrough", service="tls-web"),
        manifests.route("below", host="edge.through.example.com", service="api", kind="edge"),
        manifests.route("exact-through", host="exact.through.example.com", kind="passthrough",
                        service="tls-api"),
    )


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build, allow_wildcard_routes="true")


HOSTS = (
    *(host(name) for name in (*KINDS, "mixed", "shared", "empty", "missing", "nobody")),
    "x.wild.example.com", "exact.wild.example.com", "plain.wild.example.com", "a.b.wild.example.com",
    "wild.example.com", "x.through.example.com", "exact.through.example.com", "a.b.through.example.com",
    "all-any.wild.example.com", "xplain.example.com", "plain.example.com.evil.com", "plainxexample.com",
)


@pytest.mark.parametrize("name", HOSTS)
def test_host_and_path(pair, name):
    """Each Host and path, on both ports."""
    requests = [Request(name, path, secure) for path in PATHS for secure in (False, True)]
    theirs, ours = pair.both(lambda router: {
        (request.path, request.secure): request.outcome(router) for request in requests})
    assert ours == theirs


EDGE, PASSED = host("edge-allow"), host("passthrough")
SAME = {
    # what is unusual about it: the request, status of the answer
    "Host with a port": (Request(f"{host('plain')}:8080"), 200),
    "Host with a dot": (Request(f"{host('plain')}."), 200),
    "Host with a dot and a port": (Request(f"{host('plain')}.:80"), 200),
    "Host with two dots": (Request(f"{host('plain')}.."), 503),
    "Host in upper case": (Request(host("plain").upper()), 200),
    "Host in upper case over TLS": (Request(EDGE.upper(), secure=True), 200),
    "Host with a blank": (Request(data=f"GET / HTTP/1.0\r\nHost:\t{host('plain')} \r\n\r\n".encode()), 200),
    "Host with a user": (Request(f"user@{host('plain')}"), 503),
    "Host that stands twice": (Request(host("plain"), how={"headers": [f"Host: {host('plain')}"]}), 200),
    "no Host": (Request(None), 503),
    "no Host, HTTP/1.0": (Request(None, how={"version": "1.0"}), 503),
    "empty Host": (Request(""), 503),
    "absolute target": (Request(host("plain"), f"http://{host('plain')}/api"), 200),
    "target *": (Request(host("plain"), "*", how={"method": "OPTIONS"}), 200),
    "backslash": (Request(host("plain"), "/api\\x"), 200),
    "header of 20,000 bytes": (Request(host("plain"), how={"headers": [f"X-Long: {'x' * 20000}"]}), 200),
    "redirect of a host in upper case": (Request(host("edge-redirect").upper()), 302),
    "redirect of a wildcard": (Request("Y.wild.example.com", "/api?x"), 302),
    "underscore below a wildcard": (Request("a_b.wild.example.com"), 200),
    "no SNI": (Request(EDGE, secure=True, sni=None), 200),
    "no SNI, passthrough": (Request(PASSED, secure=True, sni=None), 503),
    "unknown SNI": (Request(EDGE, secure=True, sni="nobody.example.com"), 200),
    "SNI of another Route": (Request(host("reencrypt-allow"), secure=True, sni=EDGE), 200),
    "SNI of a passthrough Route, Host of an edge Route": (Request(EDGE, secure=True, sni=PASSED), 200),
    "SNI of an edge Route, Host of a passthrough Route": (Request(PASSED, secure=True, sni=EDGE), 503),
    "SNI in upper case": (Request(PASSED, secure=True, sni=PASSED.upper()), 200),
    "SNI in upper case, edge": (Request(EDGE, secure=True, sni=EDGE.upper()), 200),
    "SNI two labels below a passthrough wildcard": (
        Request(EDGE, secure=True, sni="a.b.through.example.com"), 200),
    "pod that is gone": (Request(host("dead")), 503),
    "pod with another CA, without destinationCACertificate": (Request(host("unverified"), secure=True), 200),
    "pod answers 404": (Request(host("plain"), "/?status=404"), 404),
    "pod answers 503": (Request(EDGE, "/?status=503", secure=True), 503),
    "pod closes": (Request(host("plain"), "/?close=1"), 200),
    "pod answers without a length": (Request(EDGE, "/?unframed=1", secure=True), 200),
    "pod answers in chunks": (Request(host("plain"), "/?chunked=3"), 200),
}


@pytest.mark.parametrize("which", SAME)
def test_unusual_requests(pair, which):
    request, status = SAME[which]
    theirs, ours = pair.both(request.outcome)
    assert ours == theirs
    assert ours.status == status


HEADERS = ("Proxy: a", "X-SSL: 1", "X-SSL-Issuer: a", "X-SSL-Client-DN: a", "X-SSL-Client-Verify: 0",
           "Cookie: a=b; c=d", "Authorization: Basic eDp5", "X-Forwarded-Prefix: /a", "X-Real-IP: 192.0.2.1",
           "Accept-Encoding: gzip", "Te: trailers", "X-Twice: 1", "X-Twice: 2", "X-Empty:", "User-Agent: a")
ADDED = {"connection", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-port",
         "x-forwarded-proto"}
"""Those of which rows of DIFFERENCES tell."""


@pytest.mark.parametrize("request_", [
    pytest.param(Request(host("plain"), how={"headers": HEADERS}), id="plain"),
    pytest.param(Request(EDGE, secure=True, how={"headers": HEADERS}), id="edge"),
    pytest.param(Request(host("reencrypt-allow"), secure=True, how={"headers": HEADERS}), id="reencrypt"),
    pytest.param(Request(PASSED, secure=True, how={"headers": HEADERS}), id="passthrough"),
])
def test_headers_that_pods_get(pair, request_):
    """The same names and values; HAProxy writes names in lower case and may change the order of names."""
    theirs, ours = pair.both(lambda router: sorted(
        (name.lower(), value) for name, value in request_.send(router).pod["headers"]
        if name.lower() not in ADDED))
    assert ours == theirs


@pytest.mark.parametrize("difference", [row for row in DIFFERENCES if row.cluster == REQUESTS],
                         ids=lambda row: row.request)
def test_differences(pair, difference):
    assert pair.both(difference.observe) == (difference.haproxy, difference.ours)
