"""Policies of the router that are edited in place on TMOS 12.1 and newer, as an upgrade leaves them."""

from f5router.model import names
from mocks.bigip.server import FakeBigIP


def create(bigip: FakeBigIP, ordinal: int = names.LAST_ORDINAL) -> None:
    """Create both of them in /Common, with default_noop alone. Args: ordinal: that Rule's."""
    action = {"name": "0", "tcl": True, "setVariable": True, "request": True,
              "tmName": names.UNMATCHED_VARIABLE, "expression": "1"}
    for name in (names.INSECURE_POLICY, names.SECURE_POLICY):
        bigip.put_object("ltm/policy", {
            "name": name, "legacy": True, "strategy": "/Common/first-match",
            "requires": ["http"], "controls": ["forwarding"],
            "rules": [{"name": names.NOOP_RULE, "ordinal": ordinal, "actions": [action]}]})
