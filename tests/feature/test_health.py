"""The annotation `health`: monitors on the BIG-IP, what a change costs, and a device that refuses one."""

import json

import pytest

from f5router.admission.route_options import HEALTH
from tests import manifests
from tests.feature.conftest import Lab

KINDS = {"http": "ltm/monitor/http", "https": "ltm/monitor/https", "tcp": "ltm/monitor/tcp"}


def checked(name: str, **fields: object) -> dict:
    obj = manifests.route(name, host=f"{name}.example.com")
    obj["metadata"]["annotations"] = {HEALTH: json.dumps([{"path": "x/", **fields}])} if fields else {}
    return obj


def ours(lab: Lab) -> list[tuple]:
    """Type, interval, request and pattern of our monitors."""
    return sorted((kind, item.fields["interval"], item.fields.get("send", ""),
                   item.fields.get("recv", "none"))
                  for kind, url in KINDS.items() for item in lab.bigip.items(url)
                  if "openshift_" in item.path)


def used(lab: Lab) -> list[str]:
    """Monitors of pools, without the hash of their names."""
    texts = (item.fields.get("monitor", "").rpartition("_")[0] or item.fields.get("monitor", "")
             for item in lab.bigip.items("ltm/pool") if not item.path.endswith("nowhere"))
    return sorted(texts)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_equal_checks_share_a_monitor(lab, kind):
    lab.apply(checked("a", type=kind, interval=7), checked("b", interval=7, type=kind, timeout=22),
              checked("c"))
    assert lab.converge() == []
    send = "" if kind == "tcp" else r"GET /\r\n\r\n"
    assert ours(lab) == [(kind, 7, send, "none")]
    assert used(lab) == ["/Common/openshift_monitor_" + kind] * 2 + ["/Common/tcp"]
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_a_check_that_changes_is_three_writes(lab):
    lab.apply(checked("a", interval=7), checked("b", interval=7, recv="x"))
    router = lab.router()
    lab.settle(router)
    lab.apply(checked("a", interval=7, recv="HTTP/1.[01] 200"))
    lab.clear()
    lab.settle(router)
    lab.later()
    lab.settle(router)
    assert [method for method, _ in lab.writes()] == ["POST", "PATCH", "DELETE"]
    assert [fields[3] for fields in ours(lab)] == ["HTTP/1.[01] 200", "x"]
    lab.apply(checked("a"), checked("b"))
    lab.settle(router)
    lab.later()
    lab.settle(router)
    assert (ours(lab), set(used(lab))) == ([], {"/Common/tcp"})
    router.close()


def test_a_monitor_that_was_changed_by_hand_is_repaired(lab):
    lab.apply(checked("a", interval=7))
    assert lab.converge() == []
    (item,) = (item for item in lab.bigip.items("ltm/monitor/http") if "openshift_" in item.path)
    lab.change("PATCH", f"ltm/monitor/http/{item.path.replace('/', '~')}", {"send": "GET /other\\r\\n"})
    assert lab.converge() == []
    assert ours(lab) == [("http", 7, r"GET /\r\n\r\n", "none")]


def test_routes_go_on_without_a_refused_monitor(lab):
    """Its pool follows its pods, and other Routes do not notice."""
    lab.bigip.inject("refuse", times=99, method="POST", path="ltm/monitor/https", status=400,
                     message="no TLS today")
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), checked("a", type="https"), checked("b"))
    router = lab.router()
    lab.settle(router)
    assert "no TLS today" in lab.admitted("shop", "a")["message"]
    assert lab.admitted("shop", "b")["status"] == "True"
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")))
    lab.settle(router)
    members = {item.key for item in lab.bigip.items("ltm/pool/members")}
    assert len(members) == 4
    router.close()
