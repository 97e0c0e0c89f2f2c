"""Places that a Rule leaves, where others may cover its requests."""

import pytest

from f5router.plan.rule_order import places


@pytest.mark.parametrize(("host", "covered_by"), [
    ("www.example.com", ["www.example.com", ".example.com", ".com"]),
    ("*.apps.example.com", ["*.apps.example.com", ".apps.example.com", ".example.com", ".com"]),
    (".example.com", [".example.com", ".com"]),
    ("localhost", ["localhost"]),
])
def test_a_host_is_covered_by_itself_its_domains_and_all_hosts(host, covered_by):
    """Not by a host whose name is the end of its own."""
    assert list(places("group", [host])) == [("group", place) for place in ("*", *covered_by)]
