"""Clients with IPv6 addresses: our router against HAProxy's, both listening for IPv6."""

import pytest

from tests.differential.conftest import Pair, Router
from tests.differential.differences import DIFFERENCES, IPV6
from tests.differential.haproxy_config import HAPROXY
from tests.differential.outcomes import Request
from tests.differential.test_forwarded import POLICIES, SENT, received
from tests.differential.test_options import SWITCH, annotated
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt", "passthrough")
LISTS = {
    "address": ("::1", 200), "long": ("0:0:0:0:0:0:0:1", 200), "network": ("::/64 192.0.2.1", 200),
    "everybody": ("::/0", 200), "other": ("2001:db8::/32", 0), "ipv4": ("127.0.0.0/8 192.0.2.0/24", 0),
    "mapped": ("::ffff:127.0.0.1", 0),
}
"""Name of a host: its list of clients, and the status that a client at ::1 gets."""


def host(name: str, kind: str) -> str:
    return f"{name}-{kind}.example.com" if kind else f"{name}.example.com"


def build(site: Site) -> None:
    for prefix, network, port, tls in (("", "10.1", 8080, None), ("tls-", "10.2", 8443, PODS)):
        site.serve(f"{prefix}web", f"{network}.1.1", port=port, tls=tls)
        site.serve(f"{prefix}two", f"{network}.2.1", f"{network}.2.2", port=port, tls=tls)
    for kind in KINDS:
        site.apply(
            *(annotated(name, kind, {f"{HAPROXY}set-forwarded-headers": name}) for name in POLICIES),
            *(annotated(name, kind, {f"{HAPROXY}ip_allowlist": text}) for name, (text, _) in LISTS.items()),
            annotated("kept", kind, {f"{HAPROXY}balance": "source"}, service="two"))
    site.apply(annotated("limited", "", {SWITCH: "true", f"{SWITCH}.rate-tcp": "2"}))


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build, variables={"ROUTER_IP_V4_V6_MODE": "v6"})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("policy", POLICIES)
def test_forwarded_headers(pair, policy, kind):
    def of_each(router: Router) -> dict:
        return {sent: received(router, Request(host(policy, kind), secure=bool(kind),
                                               how={"headers": SENT[sent]}).send(router), secure=bool(kind))
                for sent in ("nothing", "all", "some")}
    theirs, ours = pair.both(of_each)
    assert ours == theirs
    if kind != "passthrough" and policy != "never":
        scheme = "https" if kind else "http"
        assert ("forwarded", f'for="[::1]";host={host(policy, kind)};proto={scheme}') in ours["nothing"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_lists_of_clients(pair, kind):
    theirs, ours = pair.both(lambda router: {
        name: Request(host(name, kind), secure=bool(kind)).outcome(router).status for name in LISTS})
    assert ours == theirs == {name: status for name, (_, status) in LISTS.items()}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_balance_by_source(pair, kind):
    request = Request(host("kept", kind), secure=bool(kind))
    assert pair.both(lambda router: len({request.send(router).pod["pod"] for _ in range(6)})) == (1, 1)


@pytest.mark.parametrize("difference", [row for row in DIFFERENCES if row.cluster == IPV6],
                         ids=lambda row: row.request)
def test_differences(pair, difference):
    assert pair.both(difference.observe) == (difference.haproxy, difference.ours)
