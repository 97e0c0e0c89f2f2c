"""`f5router explain` of members whose LTM node an administrator has disabled, or forced offline."""

import pytest

from tests import manifests
from tests.feature.commands import invoke

FORCED_OFFLINE = {"session": "user-disabled", "state": "user-down"}


@pytest.mark.parametrize("how", [
    pytest.param({"session": "user-disabled"}, id="disabled"),
    pytest.param(FORCED_OFFLINE, id="forced offline")])
def test_nodes_that_are_disabled_by_hand(lab, how):
    """The members look enabled: one of two is a matter of capacity, both lose the requests."""
    lab.apply(*manifests.service("shop", "two", pods=("10.1.7.1", "10.1.7.2")),
              manifests.route("a", host="two.com", service="two"))
    assert lab.converge(sources="routes") == []
    nodes = {node["address"]: node["name"] for node in lab.bigip.get("ltm/node")["items"]}

    def disable(address: str) -> None:
        assert lab.bigip.request("PATCH", f"ltm/node/~Common~{nodes[address]}", {}, how)

    disable("10.1.7.1")
    result = invoke(lab, "explain", "route", "shop/a", sources="routes", f5_static_routes="false")
    assert result.exit_code == 0, result.stdout
    assert "! member          10.1.7.1 port 8080, disabled" in result.stdout
    assert "an administrator has disabled it, or its LTM node" in result.stdout
    assert "(docs/findings.md#memberdisabled)" in result.stdout
    assert "1 of 2 members take requests, 1 is down or disabled" in " ".join(result.stdout.split())
    disable("10.1.7.2")
    for arguments in (("route", "shop/a"), ("request", "http://two.com/")):
        result = invoke(lab, "explain", *arguments, sources="routes", f5_static_routes="false")
        assert (result.exit_code, "disabled" in result.stdout) == (1, True), result.stdout
        assert "0 of 2 members take requests, 2 are down or disabled" in " ".join(result.stdout.split())
