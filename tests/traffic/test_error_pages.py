"""Pages of the administrator's own: 404 where no Route matches, 503 where no pod can answer."""

import http.client

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import HTTP, HTTPS, Site

TEXT = '<p>"$nowhere [exit] {\\ ä €</p>\n}'
LONG = "x" * 30_000
PAGES = {
    "404": f"HTTP/1.0 404 Not Found\r\nX-Page: missing [now] $x\r\nContent-Type: text/plain\r\n\r\n{TEXT}",
    "503": f"HTTP/1.0 503 Unavailable\r\nX-Page: down\r\nRetry-After: 5\r\n\r\n{LONG}",
}
ODD = {"503": "HTTP/1.0 418 Short and stout\r\nX-Page: tea\r\n\r\ntea"}


def settings(site: Site, pages: dict[str, str]) -> dict[str, str]:
    """Write the files; returns the flags that name them."""
    for status, page in pages.items():
        (site.kubeconfig.parent / f"page-{status}").write_bytes(page.encode())
    return {f"errorfile_{status}": str(site.kubeconfig.parent / f"page-{status}") for status in pages}


def serve(site: Site) -> None:
    """Routes with pods, without pods, with pods that refuse, and for wildcards."""
    site.serve("web", "10.1.1.1")
    site.apply(*manifests.service("shop", "empty", pods=()),
               *manifests.service("shop", "dead", pods=("10.1.9.1",)))
    for kind in ("", "edge"):
        suffix = f"-{kind}" if kind else ""
        site.apply(*(manifests.route(f"{name}{suffix}", host=f"{name}{suffix}.example.com", service=service,
                                     path=path, kind=kind)
                     for name, service, path in (("app", "web", "/app"), ("empty", "empty", ""),
                                                 ("dead", "dead", ""))))
        wild = manifests.route(f"wild{suffix}", host=f"x.wild{suffix}.example.com", kind=kind)
        wild["spec"]["wildcardPolicy"] = "Subdomain"
        site.apply(wild)
    site.apply(manifests.route("to-https", host="to-https.example.com", kind="edge", insecure="Redirect"),
               manifests.route("only-https", host="to-https.example.com", path="/only", kind="edge"))


@pytest.fixture(scope="module")
def both(shared_site_of) -> Site:
    """A site with both pages."""
    site = shared_site_of()
    serve(site)
    assert site.converge(allow_wildcard_routes="true", **settings(site, PAGES)) == []
    return site


def page_of(seen: clients.Seen) -> tuple[int, str]:
    return seen.status, seen.headers.get("x-page", "")


def ask(site: Site, name: str, path: str = "/", *, secure: bool) -> clients.Seen:
    host = f"{name}{'-edge' if secure else ''}.example.com"
    if secure:
        return clients.python(site.https, host, path)
    return clients.plain(site.http, host, path)


MISSING, DOWN = (404, "missing [now] $x"), (503, "down")
CASES = [
    ("nobody", "/", MISSING), ("app", "/", MISSING), ("app", "/apple", MISSING), ("empty", "/", DOWN),
    ("dead", "/", DOWN), ("a.b.wild", "/", MISSING),
]


@pytest.mark.parametrize("secure", [False, True], ids=["HTTP", "HTTPS"])
@pytest.mark.parametrize(("name", "path", "page"), CASES)
def test_pages(both, name, path, page, secure):
    seen = ask(both, name, path, secure=secure)
    assert page_of(seen) == page
    assert seen.body.decode() == (TEXT if page == MISSING else LONG)
    assert seen.headers["connection"] == "close"
    assert seen.headers["content-length"] == str(len(seen.body))


@pytest.mark.parametrize("secure", [False, True], ids=["HTTP", "HTTPS"])
def test_routes_are_served(both, secure):
    assert ask(both, "app", "/app", secure=secure).pod["pod"] == "web-10.1.1.1"
    assert ask(both, "one.wild", secure=secure).pod["pod"] == "web-10.1.1.1"


def test_port_80_of_a_route_for_https(both):
    """A Route that a less specific one would redirect is none on port 80."""
    host = "to-https.example.com"
    assert clients.plain(both.http, host, "/").status == 302
    assert page_of(clients.plain(both.http, host, "/only")) == MISSING


@pytest.mark.parametrize(("name", "page"), [("nobody", MISSING), ("empty", DOWN), ("a.b.wild", MISSING)])
def test_later_requests_of_a_connection(both, name, page):
    requests = [clients.request_bytes(f"{host}.example.com", path, close=False)
                for host, path in (("app", "/app"), ("one.wild", "/"), (name, "/"))]
    seen = clients.several(both.http, *requests)
    assert [page_of(each) for each in seen] == [(200, ""), (200, ""), page]


def test_head(both):
    connection = http.client.HTTPConnection(*both.http, timeout=30)
    connection.request("HEAD", "/", headers={"Host": "nobody.example.com"})
    reply = connection.getresponse()
    assert (reply.status, reply.read()) == (404, b"")
    connection.close()


@pytest.mark.parametrize(("pages", "missing", "down"), [
    pytest.param({"404": PAGES["404"]}, MISSING, (503, ""), id="404 alone"),
    pytest.param({"503": PAGES["503"]}, DOWN, DOWN, id="503 alone"),
    pytest.param(ODD, (418, "tea"), (418, "tea"), id="the file's status"),
])
def test_some_pages(site, pages, missing, down):
    serve(site)
    assert site.converge(allow_wildcard_routes="true", **settings(site, pages)) == []
    for name, expected in (("nobody", missing), ("a.b.wild", missing), ("empty", down), ("dead", down)):
        assert page_of(ask(site, name, secure=False)) == expected


def test_without_the_503_page(site):
    """Only what no Route matches is answered; the rest is reset."""
    serve(site)
    flags = settings(site, {"404": PAGES["404"]})
    assert site.converge(allow_wildcard_routes="true", f5_503_page="false", **flags) == []
    for name, expected in (("nobody", MISSING), ("a.b.wild", MISSING), ("empty", (0, "")), ("dead", (0, ""))):
        assert page_of(ask(site, name, secure=False)) == expected
    requests = [clients.request_bytes(host, path, close=False)
                for host, path in (("app.example.com", "/app"), ("nobody.example.com", "/"))]
    assert [page_of(each) for each in clients.several(site.http, *requests)] == [(200, ""), MISSING]


def test_pools_of_the_administrator_are_left_alone(site):
    """The virtual server's own pool gets what no Route matches; its failures are not ours."""
    serve(site)
    site.bigip.put_object("ltm/pool", {"name": "sorry", "members": ["10.9.9.9:80"]})
    for virtual in (HTTP, HTTPS):
        site.change("PATCH", f"ltm/virtual/{virtual.replace('/', '~')}", {"pool": "/Common/sorry"})
    assert site.converge(**settings(site, PAGES)) == []
    assert ask(site, "nobody", secure=False).status == 0
    site.pod("10.9.9.9", "sorry", port=80)
    assert ask(site, "nobody", secure=False).pod["pod"] == "sorry-10.9.9.9"


def test_an_old_device(site_of):
    """Before TMOS 12.1 no Rule sets a variable: what went to no pool is what no Route matches."""
    site = site_of(tmos_version="11.6.1")
    serve(site)
    site.converge(**settings(site, PAGES), f5_auth="basic")
    for name, expected in (("nobody", MISSING), ("empty", DOWN), ("dead", DOWN)):
        assert page_of(ask(site, name, secure=False)) == expected
