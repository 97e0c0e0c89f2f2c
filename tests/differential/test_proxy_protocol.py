"""The PROXY protocol: which headers are right, and whom they name, ours against HAProxy's."""

import re

import pytest

from f5router.admission.route_options import HAPROXY
from tests.differential.conftest import Pair, Router
from tests.differential.test_options import annotated
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.proxied import ask
from tests.unit.desired.irules.proxy_headers import BAD, GOOD, UNLIKE_HAPROXY, v1

KINDS = ("", "edge", "reencrypt", "passthrough")
LIST = "198.51.100.0/24 2001:db8::/32"


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls-web", "10.2.1.1", port=8443, tls=PODS)
    for kind in KINDS:
        for name, annotations in (("open", {}), ("listed", {f"{HAPROXY}ip_allowlist": LIST})):
            site.apply(annotated(name, kind, annotations))


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build, variables={"ROUTER_USE_PROXY_PROTOCOL": "true"})


def seen(router: Router, name: str, kind: str, header: bytes) -> tuple:
    """Return the status, and the headers about the client, without the quotes of an IPv6 address.

    The port is named by what listens there.
    """
    host = f"{name}-{kind}.example.com" if kind else f"{name}.example.com"
    address, default = (router.https, "443") if kind else (router.http, "80")
    answer = ask(address, host, header, secure=bool(kind))
    if kind == "passthrough" or not answer.pod:
        return answer.status, bool(answer.pod)
    headers = [(key.lower(), re.sub(r'"\[(.*)\]"', r"\1", value)) for key, value in answer.pod["headers"]]
    return answer.status, sorted((key, default if value == str(address[1]) else value)
                                 for key, value in headers if "forwarded" in key)


@pytest.mark.parametrize("kind", KINDS)
def test_clients(pair, kind):
    """They are those that the header names, also in lists of clients."""
    for header in GOOD:
        for name in ("open", "listed"):
            theirs, ours = pair.both(lambda router, name=name, header=header: seen(
                router, name, kind, header))
            assert ours == theirs or (header in UNLIKE_HAPROXY and ours[0] == 200), header
            assert name == "listed" or ours[0] == 200


@pytest.mark.parametrize("kind", KINDS)
def test_nobody(pair, kind):
    for header in BAD:
        theirs, ours = pair.both(lambda router, header=header: seen(router, "open", kind, header))
        assert ours == (0, False), header
        assert theirs == ours or header in UNLIKE_HAPROXY, header


def test_several_requests(pair):
    header = v1("TCP4 198.51.100.7 192.0.2.1 1 8443")
    requests = [clients.request_bytes("listed.example.com", close=last) for last in (False, True)]
    theirs, ours = pair.both(lambda router: [answer.status for answer in clients.several(
        router.http, header + requests[0], requests[1])])
    assert ours == theirs == [200, 200]
