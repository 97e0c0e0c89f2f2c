"""Lists of clients: the objects on the BIG-IP, what a change costs, refusals, and what others changed."""

import pytest

from f5router.admission.admission import LISTED_CLIENTS
from f5router.admission.allowlist import MOST_ENTRIES
from tests import manifests
from tests.feature.conftest import Lab

KEY = "haproxy.router.openshift.io/ip_allowlist"
GROUPS, LIMITS = "ltm/data-group/internal", "/Common/openshift_limits_dg"
IRULE = "/Common/openshift_limits_irule"


def listed(name: str, sources: str | None, **fields) -> dict:
    """A Route with a list of its clients; without one for sources=None."""
    obj = manifests.route(name, host=f"{name}.example.com", **fields)
    obj["metadata"]["annotations"] = {} if sources is None else {KEY: sources}
    return obj


def lists(lab: Lab) -> dict[str, set[str]]:
    """The addresses of each list on the BIG-IP, without the length of a host."""
    return {item.path: {name.removesuffix("/32") for name in item.fields["records"]}
            for item in lab.bigip.items(GROUPS) if "addresses" in item.path}


def records(lab: Lab) -> dict[str, str]:
    """The list of each pool."""
    return next((dict(item.fields["records"]) for item in lab.bigip.items(GROUPS) if item.path == LIMITS), {})


def rules(lab: Lab) -> set[str]:
    """Names of the virtual servers that have the iRule."""
    return {item.path for item in lab.bigip.items("ltm/virtual") if IRULE in item.fields.get("rules", ())}


@pytest.fixture
def shop(lab) -> Lab:
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    return lab


def test_routes_with_equal_lists_share_one(shop):
    shop.apply(listed("a", "10.0.0.1 10.0.0.2"), listed("b", "10.0.0.2\t10.0.0.1/32"),
               listed("c", "10.0.0.3"), listed("d", None))
    assert shop.converge() == []
    assert sorted(map(sorted, lists(shop).values())) == [["10.0.0.1", "10.0.0.2"], ["10.0.0.3"]]
    assert len(records(shop)) == 3
    assert set(records(shop)) == {path for path in shop.pools() if path.endswith("__limited")}
    assert {f"/Common/{name}" for name in records(shop).values()} == lists(shop).keys()
    assert rules(shop) == {"/Common/ose-vserver"}


def test_nothing_is_there_without_a_list(shop):
    shop.apply(listed("a", "10.0.0.1"))
    router = shop.router()
    shop.settle(router)
    shop.apply(listed("a", None))
    shop.settle(router)
    shop.later()
    shop.settle(router)
    assert (lists(shop), records(shop), rules(shop)) == ({}, {}, set())
    assert IRULE not in shop.paths("ltm/rule")
    assert LIMITS not in shop.paths(GROUPS)
    router.close()


@pytest.mark.parametrize("quirks", [
    (), ("ip-host-without-mask", "record-without-data"), ("records-as-sent",), ("record-options-refused",)],
    ids=lambda quirks: quirks[0] if quirks else "plain")
def test_a_second_pass_writes_nothing(make_lab, quirks):
    lab = make_lab(quirks=quirks)
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)),
              listed("a", "10.0.0.1 10.0.0.0/24 0.0.0.0/0 2001:db8::1 ::/0"),
              listed("b", "10.0.0.1 2001:db8::1"))
    assert lab.converge() == []
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


@pytest.mark.parametrize("others", [1, 20])
def test_a_list_that_changes_is_three_writes(shop, others):
    shop.apply(listed("a", "10.0.0.1"), *(listed(f"b{n}", f"10.0.1.{n}") for n in range(others)))
    router = shop.router()
    shop.settle(router)
    shop.clear()
    shop.apply(listed("a", " ".join(f"10.2.0.{n}" for n in range(200, 100, -2))))
    shop.settle(router)
    new = next(path for path, names in lists(shop).items() if "10.2.0.200" in names)
    assert len(lists(shop)[new]) == 50
    assert [method for method, _ in shop.writes()] == ["POST", "PATCH", "DELETE"]
    assert "10.0.0.1" not in {name for names in lists(shop).values() for name in names}
    router.close()


def test_pods_that_come_and_go_cost_no_more_than_without_a_list(shop):
    shop.apply(listed("a", "10.0.0.1"))
    router = shop.router()
    shop.settle(router)
    shop.clear()
    shop.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")))
    shop.settle(router)
    assert [method for method, _ in shop.writes()] == ["PATCH"]
    router.close()


def test_a_list_that_cannot_be_applied_takes_the_route_away(shop):
    """A Route that everybody reached a moment ago is not left open, either."""
    shop.apply(listed("a", None), listed("b", None))
    router = shop.router()
    shop.settle(router)
    for text in ("example.com", " ".join(f"10.1.{n // 256}.{n % 256}" for n in range(1001))):
        shop.apply(listed("a", text))
        shop.settle(router)
        condition = shop.admitted("shop", "a")
        assert (condition["status"], condition["reason"]) == ("False", "RouteNotAdmitted")
        assert condition["message"].startswith(f"metadata.annotations: {KEY} ")
        stems = {item.key[1] for item in shop.bigip.items("ltm/policy/rules")}
        assert stems == {"default_noop", "openshift_route_shop_b"}
    shop.apply(listed("a", "10.0.0.1 example.com"))
    shop.settle(router)
    condition = shop.admitted("shop", "a")
    assert condition["status"] == "True"
    assert "example.com" in condition["message"]
    router.close()


def test_a_list_that_the_device_refuses(shop):
    """The Route is not served until it is taken; one that had a list keeps that; others are served."""
    shop.apply(listed("a", "10.0.0.1"), listed("b", None))
    router = shop.router()
    shop.settle(router)
    before = lists(shop), records(shop)
    shop.bigip.inject("refuse", times=None, method="POST", path="data-group/internal", status=400, code=400,
                      message="01070734:3: Configuration error: refused")
    shop.apply(listed("a", "10.0.0.2"), listed("c", "10.0.0.3"), listed("d", None))
    shop.settle(router)
    assert (lists(shop), records(shop)) == before
    rules = {item.key[1] for item in shop.bigip.items("ltm/policy/rules")}
    stems = {name.removeprefix("openshift_route_shop_") for name in rules}
    assert {"a", "b", "c", "d"} & stems == {"a", "b", "d"}
    assert shop.admitted("shop", "c")["status"] != "True"
    assert shop.admitted("shop", "d")["status"] == "True"
    shop.bigip.clear_faults()
    shop.later()
    shop.settle(router)
    assert sorted(map(sorted, lists(shop).values())) == [["10.0.0.2"], ["10.0.0.3"]]
    assert shop.admitted("shop", "c")["status"] == "True"
    router.close()


def test_what_somebody_else_changed_is_repaired(shop):
    shop.apply(listed("a", "10.0.0.1 10.0.0.2"))
    assert shop.converge() == []
    (path,) = lists(shop)
    item = f"{GROUPS}/{path.replace('/', '~')}"
    for body in ({"records": []}, {"records": [{"name": "10.0.0.1"}, {"name": "0.0.0.0/0"}]},
                 {"records": [{"name": "10.0.0.1", "data": "x"}]}):
        shop.change("PATCH", item, body)
        assert shop.converge() == []
        assert lists(shop) == {path: {"10.0.0.1", "10.0.0.2"}}
    shop.change("PATCH", f"{GROUPS}/~Common~openshift_limits_dg", {"records": []})
    assert shop.converge() == []
    assert list(records(shop).values()) == [path.rsplit("/", 1)[1]]


@pytest.mark.parametrize(("method", "path", "clients", "lasting"), [
    pytest.param("PATCH", "openshift_limits_dg", "10.0.0.2", [{"10.0.0.2"}], id="a record"),
    pytest.param("POST", "ltm/pool", None, [], id="the pool without a list"),
])
def test_what_the_device_refuses_keeps_record_list_and_irule(shop, method, path, clients, lasting):
    """Nobody gets in by a record whose list is gone; the Rule that stays serves the clients of its list."""
    shop.apply(listed("a", "10.0.0.1"))
    router = shop.router()
    shop.settle(router)
    before = records(shop)
    shop.bigip.inject("refuse", times=None, method=method, path=path, status=400, code=400,
                      message="01070734:3: Configuration error: refused")
    shop.apply(listed("a", clients))
    for _ in range(3):
        shop.settle(router)
        shop.later()
    assert (records(shop), rules(shop)) == (before, {"/Common/ose-vserver"})
    assert f"/Common/{next(iter(before.values()))}" in lists(shop)
    shop.bigip.clear_faults()
    for _ in range(2):
        shop.later()
        shop.settle(router)
    assert list(lists(shop).values()) == lasting
    assert len(records(shop)) == len(lasting)
    router.close()


def test_a_namespace_with_more_clients_than_the_limit(shop):
    """Routes beyond the limit are refused, the youngest first, and served as soon as there is room."""
    def clients(number: int) -> str:
        return " ".join(f"10.{number}.{host // 100}.{2 * (host % 100)}" for host in range(MOST_ENTRIES))

    count = LISTED_CLIENTS // MOST_ENTRIES + 1
    shop.apply(*(listed(f"r{number:02}", clients(number), created=f"2026-01-01T00:00:{number:02}Z")
                 for number in range(count)),
               listed("same", clients(0)), listed("other", "10.0.0.1", namespace="other"))
    router = shop.router()
    shop.settle(router)
    last = f"r{count - 1:02}"
    assert "list more than 10000 clients" in shop.admitted("shop", last)["message"]
    assert len(lists(shop)) == count
    assert {shop.admitted(*key)["status"] for key in (("shop", "same"), ("other", "other"))} == {"True"}
    shop.apply(listed("r00", None), listed("same", None))
    shop.settle(router)
    assert shop.admitted("shop", last)["status"] == "True"
    router.close()
