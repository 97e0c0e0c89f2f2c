"""Compressed responses: our router against HAProxy's."""

import gzip
import json
from dataclasses import dataclass

import pytest

from tests.differential.conftest import Pair, Router
from tests.differential.differences import COMPRESSION, DIFFERENCES
from tests.differential.outcomes import Request
from tests.differential.test_options import annotated
from tests.traffic.conftest import PODS, Site

TYPES = "text/html text/plain application/vnd.api+json application/xml"
HTML, LONG = "type=text/html", "length=3000"
GZIP = "Accept-Encoding: gzip"


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls-web", "10.2.1.1", port=8443, tls=PODS)
    site.apply(*(annotated("page", kind, {}) for kind in ("", "edge", "reencrypt", "passthrough")))


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build, variables={"ROUTER_ENABLE_COMPRESSION": "true", "ROUTER_COMPRESSION_MIME": TYPES})


@dataclass(frozen=True)
class Answer:
    """A client's view of a response, without its length."""

    status: int
    encoding: str
    vary: str
    length: int
    """Of the body, as a browser shows it, behind what the pod says of the request."""
    asked: str
    """Accept-Encoding as the pod got it."""


def answer(router: Router, request: Request) -> Answer:
    seen = request.send(router)
    encoding = seen.headers.get("content-encoding", "")
    body = gzip.decompress(seen.body) if encoding == "gzip" and seen.body[:2] == b"\x1f\x8b" else seen.body
    headers = json.loads(body)["headers"] if body else []
    asked = "; ".join(value for name, value in headers if name.lower() == "accept-encoding")
    return Answer(seen.status, encoding, seen.headers.get("vary", ""), len(body) - len(body.rstrip()), asked)


CASES = {
    "html": (HTML, [GZIP]),
    "with-charset": ("type=text/plain;%20charset=utf-8", [GZIP]),
    "plus": ("type=application/vnd.api%2Bjson", [GZIP]),
    "dot-is-no-wildcard": ("type=application/vndxapi%2Bjson", [GZIP]),
    "longer-type": ("type=text/html5", [GZIP]),
    "other-text": ("type=text/csv", [GZIP]),
    "json": ("type=application/json", [GZIP]),
    "image": ("type=image/png", [GZIP]),
    "several-methods": (HTML, ["Accept-Encoding: br, gzip;q=0.5, deflate"]),
    "refused": (HTML, ["Accept-Encoding: gzip;q=0"]),
    "other-method": (HTML, ["Accept-Encoding: br"]),
    "no-header": (HTML, []),
    "compressed-already": (f"{HTML}&headers=Content-Encoding:gzip", [GZIP]),
    "other-encoding-already": (f"{HTML}&headers=Content-Encoding:br", [GZIP]),
    "chunked": (f"{HTML}&chunked=7", [GZIP]),
    "no-content": (f"{HTML}&status=204", [GZIP]),
    "not-modified": (f"{HTML}&status=304", [GZIP]),
    "created": (f"{HTML}&status=201", [GZIP]),
}


@pytest.mark.parametrize("kind", ["", "edge", "reencrypt", "passthrough"], ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("name", CASES)
def test_responses(pair, name, kind):
    query, headers = CASES[name]
    host = f"page-{kind}.example.com" if kind else "page.example.com"
    request = Request(host, f"/?{LONG}&{query}", secure=bool(kind), how={"headers": headers})
    theirs, ours = pair.both(lambda router: answer(router, request))
    assert ours == theirs


@pytest.mark.parametrize(("method", "version"), [("HEAD", "1.1"), ("GET", "1.0"), ("POST", "1.1")])
def test_methods_and_versions(pair, method, version):
    request = Request("page.example.com", f"/?{LONG}&{HTML}",
                      how={"headers": [GZIP], "method": method, "version": version})
    theirs, ours = pair.both(lambda router: answer(router, request))
    assert (ours.status, ours.length) == (theirs.status, theirs.length)
    if method != "HEAD":
        assert ours.encoding == theirs.encoding


@pytest.mark.parametrize("difference", [each for each in DIFFERENCES if each.cluster == COMPRESSION],
                         ids=lambda difference: difference.request)
def test_differences(pair, difference):
    assert pair.both(difference.observe) == (difference.haproxy, difference.ours)
