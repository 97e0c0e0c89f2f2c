"""Limits of each client: the objects on the BIG-IP, the cost of a change, and messages to the team."""

import pytest

from tests import manifests
from tests.feature.conftest import Lab

SWITCH = "haproxy.router.openshift.io/rate-limit-connections"
LIST = "haproxy.router.openshift.io/ip_allowlist"
GROUPS, LIMITS = "ltm/data-group/internal", "/Common/openshift_limits_dg"
IRULE = "/Common/openshift_limits_irule"


def rated(name: str, annotations: dict[str, str]) -> dict:
    """A Route with annotations; keys that begin with a dot are those behind the switch."""
    obj = manifests.route(name, host=f"{name}.example.com")
    obj["metadata"]["annotations"] = {f"{SWITCH}{key}" if key.startswith(".") else key: value
                                      for key, value in annotations.items()}
    return obj


def records(lab: Lab) -> dict[str, str]:
    """Data of the record of each pool."""
    return next((dict(item.fields["records"]) for item in lab.bigip.items(GROUPS) if item.path == LIMITS), {})


@pytest.fixture
def shop(lab) -> Lab:
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    return lab


def test_objects(shop):
    limits = {SWITCH: "true", ".concurrent-tcp": "10", ".rate-http": "100"}
    shop.apply(rated("a", limits), rated("b", {**limits, LIST: "10.0.0.1"}), rated("c", {}))
    assert shop.converge() == []
    data_of = {path.rsplit("__", 1)[1]: data for path, data in records(shop).items()}
    assert data_of.keys() == {"rated", "limited"}
    assert data_of["rated"] == "-/10/0/100"
    assert data_of["limited"].endswith("_dg/10/0/100")
    assert records(shop).keys() <= set(shop.pools())
    assert "/Common/openshift_shop_web" in shop.pools()
    shop.clear()
    assert shop.converge() == []
    assert shop.writes() == []


@pytest.mark.parametrize("more", [{}, {LIST: "10.0.0.1"}], ids=["limits", "list and limits"])
def test_a_change_is_one_write(shop, more):
    router = shop.router()
    shop.apply(*(rated(f"r{number}", {SWITCH: "true", ".rate-tcp": "10", **more}) for number in range(5)))
    shop.settle(router)
    shop.clear()
    shop.apply(rated("r3", {SWITCH: "true", ".rate-tcp": "11", **more}))
    shop.settle(router)
    writes = [path for _, path in shop.writes() if "sys/config" not in path]
    assert len(writes) == 1
    assert sum("/0/11/0" in data for data in records(shop).values()) == 1
    router.close()


def test_nothing_stays(shop):
    router = shop.router()
    shop.apply(rated("a", {SWITCH: "true", ".rate-tcp": "10"}))
    shop.settle(router)
    assert IRULE in shop.paths("ltm/rule")
    shop.apply(rated("a", {}))
    shop.settle(router)
    shop.later()
    shop.settle(router)
    assert records(shop) == {}
    assert IRULE not in shop.paths("ltm/rule")
    assert [path for path in shop.pools() if "__" in path] == []
    router.close()


def test_a_limit_without_effect_is_reported(shop):
    shop.apply(rated("a", {".rate-tcp": "10"}), rated("b", {SWITCH: "true", ".rate-tcp": "[reject]"}))
    assert shop.converge() == []
    assert "has no effect without" in shop.admitted("shop", "a")["message"]
    assert "must be a whole number" in shop.admitted("shop", "b")["message"]
    assert records(shop) == {}
