"""Error pages of the administrator: our router against HAProxy's."""

from dataclasses import dataclass

import pytest

from tests import manifests
from tests.differential.conftest import Pair, Router
from tests.differential.outcomes import Request
from tests.traffic.conftest import Site

PAGES = {
    404: "HTTP/1.0 404 Not Found\r\nX-Page: missing\r\nContent-Type: text/html\r\n\r\n<p>ä</p>\n",
    503: "HTTP/1.0 503 Unavailable\r\nConnection: close\r\nX-Page: down\r\n\r\n<p>$x [y] \"{</p>",
}


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.apply(*manifests.service("shop", "empty", pods=()),
               *manifests.service("shop", "dead", pods=("10.1.9.1",)))
    for kind in ("", "edge"):
        for name, service, path in (("app", "web", "/app"), ("empty", "empty", ""), ("dead", "dead", "")):
            suffix = f"-{kind}" if kind else ""
            site.apply(manifests.route(f"{name}{suffix}", host=f"{name}{suffix}.example.com", service=service,
                                       path=path, kind=kind))
    site.apply(manifests.route("whole", host="to-https.example.com", kind="edge", insecure="Redirect"),
               manifests.route("part", host="to-https.example.com", path="/only", kind="edge"))


@pytest.fixture(scope="module", params=[(404, 503), (404,), (503,)], ids=["both", "404", "503"])
def pair(request, pair_of, tmp_path_factory) -> Pair:
    folder = tmp_path_factory.mktemp("pages")
    variables = {}
    for status in request.param:
        path = folder / str(status)
        path.write_bytes(PAGES[status].encode())
        variables[f"ROUTER_ERRORFILE_{status}"] = str(path)
    return pair_of(build, variables=variables)


@dataclass(frozen=True)
class Answer:
    status: int
    page: str
    kind: str
    body: bytes
    """Of a page of the administrator."""


def answer(router: Router, request: Request) -> Answer:
    seen = request.send(router)
    page = seen.headers.get("x-page", "")
    return Answer(seen.status, page, seen.headers.get("content-type", "") if page else "",
                  seen.body if page else b"")


@pytest.mark.parametrize("secure", [False, True], ids=["HTTP", "HTTPS"])
@pytest.mark.parametrize(("name", "path"), [
    ("nobody", "/"), ("app", "/"), ("app", "/apple"), ("app", "/app"), ("empty", "/x"), ("dead", "/"),
])
def test_pages(pair, name, path, secure):
    host = f"{name}{'-edge' if secure else ''}.example.com"
    theirs, ours = pair.both(lambda router: answer(router, Request(host, path, secure=secure)))
    assert ours == theirs


@pytest.mark.parametrize("path", ["/", "/only", "/only/x"])
def test_port_80_of_routes_for_https(pair, path):
    theirs, ours = pair.both(lambda router: answer(router, Request("to-https.example.com", path)))
    assert ours == theirs
