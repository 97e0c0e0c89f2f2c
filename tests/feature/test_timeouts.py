"""Time-outs of Routes: their records, and what is on the virtual servers only while a Route needs it."""

import pytest

from f5router.model import names
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS, Lab

GROUP, IRULE = f"/Common/{names.TIMEOUT_GROUP}", f"/Common/{names.TIMEOUT_IRULE}"


def timed(name: str, kind: str = "", **annotations: str) -> dict:
    """A Route with time-outs."""
    obj = manifests.route(name, host=f"{name}.example.com", kind=kind)
    obj["metadata"]["annotations"] = {
        f"haproxy.router.openshift.io/{key if key == 'ip_allowlist' else key.replace('_', '-')}": text
        for key, text in annotations.items()}
    return obj


def records(lab: Lab) -> list[str]:
    """Data of the records, whose names are pools that exist."""
    there = GROUP in lab.paths("ltm/data-group/internal")
    group = lab.bigip.get(f"ltm/data-group/internal/{GROUP.replace('/', '~')}") if there else {}
    rows = group.get("records", [])
    assert {record["name"] for record in rows} <= lab.pools()
    return sorted(record["data"] for record in rows)


def attached(lab: Lab) -> list[bool]:
    """True if the iRule is on the virtual servers."""
    return [IRULE in lab.bigip.get(f"ltm/virtual/~Common~{name}").get("rules", ()) for name in (HTTP, HTTPS)]


@pytest.mark.parametrize(("kind", "annotations", "data"), [
    ("", {"timeout": "5s"}, ["5/0"]), ("edge", {"timeout": "1001", "timeout_tunnel": "1h"}, ["2/3600"]),
    ("reencrypt", {"timeout_tunnel": "1d"}, ["0/86400"]), ("passthrough", {"timeout": "5s"}, ["0/5"]),
    ("passthrough", {"timeout": "5s", "timeout_tunnel": "1us"}, ["0/1"]),
    ("", {"timeout": "9999999999d"}, ["2147484/0"]), ("edge", {"timeout": "soon"}, []),
])
def test_records(lab, kind, annotations, data):
    lab.apply(timed("a", kind, **annotations), timed("b"))
    assert lab.converge() == []
    assert records(lab) == data
    assert attached(lab) == [bool(data)] * 2


def test_a_time_out_that_changes_is_one_write(lab):
    router = lab.router()
    lab.apply(timed("a", timeout="5s"), timed("b", timeout="6s"), timed("c"))
    lab.settle(router)
    for text, data in (("7s", "7/0"), ("8s", "8/0")):
        lab.apply(timed("a", timeout=text))
        lab.clear()
        lab.settle(router)
        assert [path for _, path in lab.writes()] == [
            f"/mgmt/tm/ltm/data-group/internal/{GROUP.replace('/', '~')}"]
        assert records(lab) == sorted(["6/0", data])
    lab.apply(timed("a"), timed("b"))
    lab.settle(router)
    lab.later()
    lab.settle(router)
    assert (GROUP in lab.paths("ltm/data-group/internal"), IRULE in lab.paths("ltm/rule")) == (False, False)
    assert attached(lab) == [False, False]


def test_a_refused_irule_leaves_the_route_served(lab):
    lab.apply(timed("b"))
    router = lab.router()
    assert lab.converge(router) == []
    lab.bigip.inject("refuse", times=99, method="POST", path="ltm/rule", status=400, message="no such word")
    lab.apply(timed("a", timeout="5s"))
    lab.settle(router)
    assert "no such word" in lab.admitted("shop", "a")["message"]
    assert lab.admitted("shop", "b")["status"] == "True"
    assert "openshift_route_shop_a" in str(lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes"))
    lab.bigip.clear_faults()
    lab.later()
    assert lab.converge(router) == []
    assert lab.admitted("shop", "a")["status"] == "True"


@pytest.mark.parametrize("again", [False, True], ids=["the same router", "a router that begins"])
@pytest.mark.parametrize("earlier", [{}, {"pod_concurrent_connections": "9"}], ids=["at once", "later"])
@pytest.mark.parametrize("kind", ["", "reencrypt", "passthrough"])
def test_what_stays_keeps_its_time_outs(lab, kind, earlier, again):
    """A list of clients needs another pool, which the device refuses: the old one keeps its tunnels."""
    lab.apply(timed("a", kind, **earlier, timeout_tunnel="8h" if not earlier else ""))
    router = lab.router()
    lab.settle(router)
    lab.apply(timed("a", kind, **earlier, timeout_tunnel="8h"))
    lab.settle(router)
    assert (records(lab), attached(lab)) == (["0/28800"], [True, True])
    if again:
        router.close()
        router = lab.router()
        assert lab.converge(router) == []
    lab.bigip.inject("refuse", times=None, method="POST", path="ltm/pool", status=400, code=400,
                     message="01070734:3: Configuration error: refused")
    lab.apply(timed("a", kind, **earlier, ip_allowlist="10.0.0.1"))
    for _ in range(3):
        lab.settle(router)
        lab.later()
    assert (records(lab), attached(lab)) == (["0/28800"], [True, True])
    lab.bigip.clear_faults()
    for _ in range(2):
        lab.later()
        lab.settle(router)
    assert (records(lab), attached(lab)) == ([], [False, False])
    router.close()


@pytest.mark.parametrize(("before", "after"), [("", "5s"), ("5s", "")])
def test_a_router_that_ends_between_the_writes(lab, before, after):
    """The next one ends at the same."""
    lab.apply(timed("a", **({"timeout": before} if before else {})))
    assert lab.converge() == []
    lab.apply(timed("a", **({"timeout": after} if after else {})))
    for _ in lab.each_end(7):
        assert lab.converge() == []
        assert records(lab) == (["5/0"] if after else [])
        assert attached(lab) == [bool(after)] * 2
