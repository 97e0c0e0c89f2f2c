"""Pods that the ways of the BIG-IP do not reach."""

from f5router.network import static_routes
from tests.builders import node
from tests.rows import rows

NODES = (node("n1", "10.3.89.1", other_ips=("172.31.0.1",)), node("n2", "10.3.89.2"))
WAYS = (("10.128.0.0/23", "n1"), ("10.128.2.0/23", "n2"), ("fd01::/64", "n1"), ("odd", "n2"))


@rows(("address", "where", "expected"), [
    ("10.128.0.5", "n1", ""), ("10.128.3.255", "n2", ""), ("fd01::5", "n1", ""), ("10.128.0.5", "", ""),
    ("10.128.2.5", "n1", "10.128.2.5 is on Node n1, its way leads to Node n2"),
    ("fd01::5", "n2", "fd01::5 is on Node n2, its way leads to Node n1"),
    ("10.128.4.0", "n1", "10.128.4.0 is in no Node's network"),
    ("10.127.255.255", "n1", "10.127.255.255 is in no Node's network"),
    ("fd02::1", "n1", "fd02::1 is in no Node's network"), ("fd00::1", "", "fd00::1 is in no Node's network"),
    ("10.3.89.1", "n1", ""), ("172.31.0.1", "n1", ""),
])
def test_problem(address, where, expected):
    """Pods with the address of their Node need no way."""
    assert static_routes.locator(WAYS, NODES).problem(address, where) == expected


def test_nothing_is_known():
    assert static_routes.locator((), NODES).problem("10.128.0.5", "n1") == ""


def test_some_are_shown():
    assert static_routes.shown_pods(["b", "a"]) == "a; b"
    assert static_routes.shown_pods("edcba") == "a; b; c and 2 more"
