"""Where redirects lead: to the Route's own host over TLS, whatever a client writes into its request.

Requests go over raw sockets, in forms that no browser sends by itself but a page can make it send, or a
cache can keep.
"""

import functools
from urllib.parse import urlsplit

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.test_unavailable import is_page

WILD = {"allow_wildcard_routes": "true"}
DOMAIN = "apps.example.com"
EXACT = {"edge": "edge.example.com", "reencrypt": "re.example.com", "passthrough": "tls.example.com"}

VERSIONS = [pytest.param({"tmos_version": "14.1.2"}, id="drafts"),
            pytest.param({"tmos_version": "12.0.0"}, id="no drafts"),
            pytest.param({"quirks": {"host-keeps-port"}}, id="hosts with ports"),
            pytest.param({"quirks": {"reply-skips-http-request"}}, id="no event behind a reply")]


@pytest.fixture(scope="module", params=VERSIONS)
def site_for(shared_site_of, request):
    """The site for Routes of a kind that redirect: an exact host, one of its paths, a wildcard."""
    @functools.cache
    def make(kind: str) -> Site:
        site = shared_site_of(**request.param)
        tls = PODS if kind != "edge" else None
        site.serve("web", "10.1.1.1", port=8443, tls=tls)
        ca = {"destinationCACertificate": PODS.issuer} if kind == "reencrypt" else {}
        how = {"kind": kind, "insecure": "Redirect", **ca}
        wild = manifests.route("all", host=f"any.{DOMAIN}", **how)
        wild["spec"]["wildcardPolicy"] = "Subdomain"
        site.apply(manifests.route("exact", host=EXACT[kind], **how), wild)
        if kind != "passthrough":
            site.apply(manifests.route("path", host="path.example.com", path="/p", **how))
        assert site.converge(**WILD) == []
        return site

    return make


def ask(site: Site, target: str, *hosts: str, more: str = "") -> clients.Seen:
    lines = ["Connection: close", *(f"Host: {host}" for host in hosts)]
    head = "\r\n".join(lines)
    return clients.raw(site.http, f"GET {target} HTTP/1.1\r\n{head}\r\n{more}\r\n".encode("latin-1"))


def leads_to(reply: clients.Seen, host: str) -> bool:
    """True if an answer sends a client nowhere, or to this host's port 443."""
    if reply.status not in (302, 0, 400, 503):
        return False
    parts = urlsplit(reply.location)
    return not reply.location or (
        (parts.scheme, parts.netloc) == ("https", host) and set(reply.headers) <= {
            "location", "server", "connection", "content-length"})


EVIL = [  # what stands before the domain of a wildcard
    "evil.com/", "evil.com?", "evil.com#", "evil.com\\", "evil.com:80/", "evil.com:80", "user@", "user:pw@",
    "evil.com%2f", "evil.com%00", "%", "a/", "a?", "a#", "a\\", "a ", " ", "a\t", "a;", "a,b", "a&", "a=b",
    "[::1]", "[::1]:80", "a b", "'", '"', "<a>", "{a}", "$a", "[exit]", "a\x7f", "\xe5", "a..", "", "a.b",
    "evil.com", "-.evil.com/", "*", "a^", "a|", "a`", "a~", "a+", "a!",
]
PORTS = ["", ":80", ".", ".:80"]
BAD_ENDS = [":x", ":80@evil.com", ":80/", ":@evil.com", ":80:80", "..", ".:", ":80.", "/", "?", "#", "\\"]


@pytest.mark.parametrize("kind", EXACT)
def test_hosts_of_a_wildcard(site_for, kind):
    """One label of letters, digits, - and _ before the domain; all else is an unknown host."""
    site = site_for(kind)
    for label in ("x", "X", "a-b", "a_b", "xn--bcher-kva", "1"):
        for port in PORTS:
            reply = ask(site, "/p?q=1", f"{label}.{DOMAIN.upper()}{port}")
            assert reply.status == 302, (label, port)
            assert reply.location == f"https://{label.lower()}.{DOMAIN}/p?q=1"
    bad = [*(f"{evil}.{DOMAIN}" for evil in EVIL), *(f"x.{DOMAIN}{end}" for end in BAD_ENDS), DOMAIN]
    for host in bad:
        reply = ask(site, "/", host)
        if host == f"x.{DOMAIN}.:":
            assert leads_to(reply, f"x.{DOMAIN}")  # an empty port is one
        elif host.strip() != host:
            assert leads_to(reply, host.strip()), host  # blanks around a value are no part of it
        else:
            assert is_page(reply) or reply.status in (0, 400), (host, reply)


@pytest.mark.parametrize("kind", EXACT)
def test_hosts_of_exact_routes(site_for, kind):
    """The Route's own name, or nobody's, whatever stands around it."""
    site, name = site_for(kind), EXACT[kind]
    for host in (name, name.upper(), *(f"{name}{port}" for port in PORTS)):
        reply = ask(site, "/p/?q=1&r=//x", host)
        assert (reply.status, reply.location) == (302, f"https://{name}/p/?q=1&r=//x"), host
    for host in [*(f"{evil}{name}" for evil in EVIL if evil.strip()), *(f"{evil}.{name}" for evil in EVIL),
                 *(f"{name}{port}" for port in BAD_ENDS), "evil.com", ""]:
        assert leads_to(ask(site, "/", host), name), host
    assert is_page(ask(site, "/", f"evil.com/.{name}"))
    if kind != "passthrough":
        assert ask(site, "/p/x", "path.example.com").location == "https://path.example.com/p/x"
        assert is_page(ask(site, "/other", "path.example.com"))


TARGETS = [
    "/", "//evil.com", "//evil.com/", "///evil.com", "/\\evil.com", "/@evil.com", "/?//evil.com",
    "/#@evil.com", "/%0d%0aX-Injected:%201", "/%0aSet-Cookie:%20a=b", "/%00",
    "/..//evil.com", "/;@evil.com", "/.evil.com",
    "http://evil.com/", "http://evil.com", "https://evil.com/x", "HTTP://EVIL.COM/", "ftp://evil.com/",
    "http://user@evil.com/", "http:evil.com", "//user@evil.com", "@evil.com/", ".evil.com/", ":80@evil.com/",
    "evil.com", "*", "?x", "[exit]", "/[exit]$x", "/\"", "/{", "/a\rb", "/a\nb", "/a\x00b", "/\x7f", "/\xe5",
    "/a\tb",
]


@pytest.mark.parametrize("kind", EXACT)
def test_targets(site_for, kind):
    """Absolute and odd targets: the answer stays with the host, and no header is added to it."""
    site = site_for(kind)
    for host in (EXACT[kind], f"x.{DOMAIN}"):
        for target in TARGETS:
            assert leads_to(ask(site, target, host), host), (host, target)
        assert ask(site, "/%0d%0aX:%201", host).location == f"https://{host}/%0d%0aX:%201"
        assert ask(site, "//evil.com/%2e", host).location == f"https://{host}//evil.com/%2e"


@pytest.mark.parametrize("kind", EXACT)
def test_two_hosts(site_for, kind):
    """In headers, or in the target and a header: the redirect is to one that a Route has."""
    site, name = site_for(kind), EXACT[kind]
    mine = (name, f"x.{DOMAIN}")
    for host in mine:
        for reply in (
            ask(site, "/", host, "evil.com"), ask(site, "/", "evil.com", host),
            ask(site, "/", host, f"evil.com/.{DOMAIN}"), ask(site, "/", f"evil.com/.{DOMAIN}", host),
            ask(site, f"http://{host}/", "evil.com"), ask(site, "http://evil.com/", host),
            ask(site, f"http://{host}/", f"evil.com/.{DOMAIN}"), ask(site, "/", host, host.upper()),
            ask(site, "/", f"{host}, evil.com"), ask(site, "/", host, more=" .evil.com\r\n"),
        ):
            assert leads_to(reply, mine[0]) or leads_to(reply, mine[1]), reply


def test_later_requests_of_a_connection(site_for):
    """A redirect, a refusal and a Route's pod in any order, each by itself."""
    site = site_for("edge")
    site.serve("plain", "10.1.9.1")
    site.apply(manifests.route("plain", host="plain.example.com", service="plain"))
    assert site.converge(**WILD) == []
    good, plain = f"x.{DOMAIN}", "plain.example.com"
    steps = [(plain, 200), (good, 302), (plain, 200), (EXACT["edge"], 302), (good, 302), (plain, 200)]
    replies = clients.several(site.http, *(clients.request_bytes(host, close=False) for host, _ in steps))
    assert [seen.status for seen in replies] == [status for _, status in steps]
    assert [seen.location for seen in replies] == [
        f"https://{host}/" if status == 302 else "" for host, status in steps]
    last = [clients.request_bytes(host, close=False) for host in (plain, f"evil.com/.{DOMAIN}")]
    assert [seen.status for seen in clients.several(site.http, *last)] == [200, 503]


@pytest.mark.parametrize("kind", ["", "edge"])
def test_hosts_of_a_wildcard_that_is_served(site, kind):
    """A host that is no name does not come to its pods either."""
    site.serve("web", "10.1.1.1")
    wild = manifests.route("all", host=f"any.{DOMAIN}", kind=kind, insecure="Allow" if kind else "")
    wild["spec"]["wildcardPolicy"] = "Subdomain"
    site.apply(wild)
    assert site.converge(**WILD) == []
    for port in PORTS:
        assert ask(site, "/", f"x.{DOMAIN}{port}").status == 200
    for evil in EVIL:
        if evil.strip() == evil:
            assert not ask(site, "/", f"{evil}.{DOMAIN}").pod, evil


def test_without_the_page(site_of):
    """A bad name is reset then, as all else that nobody answers."""
    site = site_of()
    site.serve("web", "10.1.1.1")
    wild = manifests.route("all", host=f"any.{DOMAIN}", kind="edge", insecure="Redirect")
    wild["spec"]["wildcardPolicy"] = "Subdomain"
    site.apply(wild)
    assert site.converge(**WILD, f5_503_page="false") == []
    assert ask(site, "/", f"x.{DOMAIN}").location == f"https://x.{DOMAIN}/"
    assert ask(site, "/", f"evil.com/.{DOMAIN}").status == 0
    assert ask(site, "@evil.com", f"x.{DOMAIN}").status == 0
