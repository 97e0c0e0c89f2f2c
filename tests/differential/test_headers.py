"""Headers of requests and responses: our router against HAProxy's."""

import pytest

from tests.differential.conftest import Pair, Router
from tests.differential.differences import DIFFERENCES, HEADERS
from tests.differential.haproxy_config import HAPROXY
from tests.differential.outcomes import Request
from tests.differential.test_options import annotated
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt", "passthrough")
HSTS = {
    "age": "max-age=0", "all": "max-age=31536000;includeSubDomains;preload", "before": "preload; max-age=1",
    "quoted": 'max-age="5"', "blanks": "MAX-AGE = 1 ; includeSubdomains", "bad": "max-age=x",
    "bad-token": "max-age=1;other", "bad-end": "max-age=1;",
}
"""Name of a host: the annotation of its Route."""


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls-web", "10.2.1.1", port=8443, tls=PODS)
    for kind in KINDS:
        site.apply(*(annotated(name, kind, {f"{HAPROXY}hsts_header": text}) for name, text in HSTS.items()),
                   annotated("none", kind, {}))
    site.apply(*(annotated(f"age-{insecure}".lower(), "edge", {f"{HAPROXY}hsts_header": "max-age=1"},
                           insecure=insecure) for insecure in ("Allow", "Redirect")))


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build)


def values(router: Router, host: str, path: str = "/", *, secure: bool) -> tuple[int, list[str]]:
    """Return the status and the values of Strict-Transport-Security."""
    seen = Request(host, path, secure=secure).send(router)
    return seen.status, [value for name, value in seen.lines if name.lower() == "strict-transport-security"]


@pytest.mark.parametrize("of_pod", ["", "?headers=Strict-Transport-Security:max-age=9",
                                    "?headers=strict-transport-security:a|Strict-Transport-Security:b"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("name", [*HSTS, "none"])
def test_strict_transport_security(pair, name, kind, of_pod):
    host = f"{name}-{kind}.example.com" if kind else f"{name}.example.com"
    theirs, ours = pair.both(lambda router: values(router, host, f"/{of_pod}", secure=bool(kind)))
    assert ours == theirs
    sent = kind in ("edge", "reencrypt") and name != "none" and not name.startswith("bad")
    assert ours[0] == 200
    assert not sent or ours[1] == [HSTS[name]]


def test_redirects_have_none(pair):
    theirs, ours = pair.both(lambda router: values(router, "age-redirect-edge.example.com", secure=False))
    assert ours == theirs == (302, [])


def test_requests_of_one_connection(pair):
    hosts = [f"{name}-edge.example.com" for name in ("age", "none", "all", "bad", "age", "none")]
    requests = [clients.request_bytes(host, close=False) for host in hosts]

    def of_each(router: Router) -> list[str | None]:
        return [seen.headers.get("strict-transport-security")
                for seen in clients.several(router.https, *requests, sni=hosts[0])]
    theirs, ours = pair.both(of_each)
    assert ours == theirs == [HSTS["age"], None, HSTS["all"], None, HSTS["age"], None]


@pytest.mark.parametrize("difference", [row for row in DIFFERENCES if row.cluster == HEADERS],
                         ids=lambda row: row.request)
def test_differences(pair, difference):
    """The differences are those that docs/haproxy-differences.md lists."""
    assert pair.both(difference.observe) == (difference.haproxy, difference.ours)
