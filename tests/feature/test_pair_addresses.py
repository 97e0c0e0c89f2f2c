"""Endpoints with addresses of a BIG-IP's other unit: never pool members, whichever unit is active or down."""

import pytest

from mocks.bigip import FakeBigIP
from mocks.bigip.pair import Pair
from tests import manifests
from tests.feature.test_pair import PairLab, joined
from tests.feature.test_refused_addresses import members, warned, web
from tests.waiting import until

__all__ = ["joined"]

POD, NEAR = "10.1.1.1", "10.3.89.77"
OTHERS = ("10.3.89.211", "10.3.89.212", "fd00:89::211", "fd00:89::212", "10.3.89.250",
          "192.0.2.1", "192.0.2.2", *(f"198.51.100.{number}" for number in (1, 2, 11, 12, 21, 22, 31, 32)))
"""Self IPs of both units, a floating one; for management, config sync, failover, and mirroring."""


def self_ips(pair: Pair) -> None:
    """Each unit has its own, and both a floating one; on the second also in a route domain of its own."""
    for number, big in enumerate(pair.units, 211):
        for name, address in (("v4", f"10.3.89.{number}/24"), ("v6", f"fd00:89::{number}/64")):
            big.put_object("net/self", {"name": name, "address": address, "vlan": "/Common/internal",
                                        "partition": "Common"})
        big.put_object("net/self", {"name": "floating", "address": "10.3.89.250/24", "partition": "Common",
                                    "vlan": "/Common/internal", "trafficGroup": "/Common/traffic-group-1"})


@pytest.fixture
def shop(lab, joined):
    self_ips(joined.pair)
    lab.apply(manifests.route("plain"))
    return joined


def of(big: FakeBigIP) -> set[str]:
    class Unit:
        bigip = big

    return members(Unit)


def test_before_and_after_a_failover(lab, shop):
    """A unit's addresses hold while the other one is active too."""
    lab.apply(*web(POD, NEAR, *OTHERS))
    first, second = shop.pair.units
    router = lab.router(**shop.flags)
    assert lab.converge(router) == []
    assert of(first) == {POD, NEAR}
    (told,) = warned(lab)
    assert "an address of the BIG-IP itself" in told
    shop.pair.fail_over()
    assert lab.converge(router) == []
    assert of(second) == {POD, NEAR}
    first.inject("drop-request", times=None)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.2", NEAR, "10.3.89.78", *OTHERS)))
    lab.converge_events(router, seen=("shop", "plain"))
    until(lambda: lab.converge(router) == [] and of(second) == {"10.1.1.2", NEAR, "10.3.89.78"})


def test_a_unit_that_is_down_from_the_start(lab, shop, running):
    """Members stay, pods elsewhere come; what may be its address waits until it is back."""
    first, second = shop.pair.units
    lab.apply(*web(POD, NEAR))
    assert lab.converge(**shop.flags) == []
    second.inject("drop-request", times=None)
    shop.pair.set("ACTIVE", "OFFLINE")
    lab.apply(manifests.endpoints("shop", "web", (POD, NEAR, "10.1.1.2", "10.3.89.78", "10.3.89.212",
                                                  "fd00:89::212", "::ffff:10.3.89.212")))
    router = running(**shop.flags)
    router.wait(lambda: of(first) == {POD, NEAR, "10.1.1.2"})
    until(lambda: any("perhaps an address of the BIG-IP's other unit" in told for told in warned(lab)))
    second.clear_faults()
    router.wait(lambda: of(first) == {POD, NEAR, "10.1.1.2", "10.3.89.78"})
    assert not any(address in str(entry.body) for entry in first.writes() for address in OTHERS)


def test_one_address_of_a_pair(lab, tmp_path):
    """The addresses in cm/device count; self IPs of the other unit cannot be read."""
    with FakeBigIP() as second:
        pair = PairLab(lab, second, tmp_path / "both.crt").pair
        self_ips(pair)
        lab.apply(manifests.route("plain"), *web(POD, *OTHERS))
        assert lab.converge() == []
        assert of(lab.bigip) == {POD, "10.3.89.212", "fd00:89::212"}
