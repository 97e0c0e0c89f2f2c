"""Pool members at addresses whose LTM nodes an administrator, or another controller, made."""

import contextlib
import threading

import pytest

from f5router.cli import uninstall
from f5router.icontrol import statistics
from f5router.model.cluster import Key
from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.feature.conftest import HTTP, Lab
from tests.feature.test_doctor import checks, doctor
from tests.feature.test_nodeport import members
from tests.feature.test_preflight import document


def by_hand(lab: Lab, path: str, address: str, **fields: str) -> None:
    _, partition, name = path.split("/")
    lab.change("POST", "ltm/node", {"name": name, "partition": partition, "address": address, **fields})


def node(lab: Lab, path: str) -> dict:
    return next(item.fields for item in lab.bigip.items("ltm/node") if item.path == path)


def calls(lab: Lab) -> list[str]:
    """Requests about pools and nodes, without the readings of all pools."""
    sent = [f"{entry.method} {entry.path.removeprefix('/mgmt/tm/')}" for entry in lab.bigip.log]
    return [line for line in sent if "node" in line or ("ltm/pool" in line and line != "GET ltm/pool")]


def pods(lab: Lab, *addresses: str) -> None:
    lab.apply(manifests.endpoints("shop", "web", addresses))


def asked(lab: Lab, host: str) -> str | None:
    """Return the pool to which a request for a host goes."""
    return decide(lab.bigip.store, f"{lab.partition}/{HTTP}", Request(host, "/")).pool


def test_a_rollout_to_an_address_of_another_name(lab, caplog):
    """The pool gets the pod by the name of the node, and a full pass finds nothing to write."""
    by_hand(lab, "/Common/app7.dc1.example.com", "10.1.1.7", session="user-disabled")
    lab.apply(manifests.route("a"))
    router = lab.router()
    assert lab.converge(router) == []
    pods(lab, "10.1.1.2", "10.1.1.7")
    lab.settle(router)
    assert members(lab) == {"10.1.1.2:8080", "app7.dc1.example.com:8080"}
    (told,) = (record for record in caplog.records if "disabled by an administrator" in record.message)
    assert (told.levelname, told.node) == ("WARNING", "/Common/app7.dc1.example.com")
    health = statistics.read_health(router.device.client, "/Common/openshift_shop_web")
    assert health.keys() == {("10.1.1.2", 8080), ("10.1.1.7", 8080)}
    assert lab.admitted("shop", "a")["status"] == "True"
    assert lab.converge(router) == []
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []
    pods(lab, "10.1.1.2")
    lab.settle(router)
    assert members(lab) == {"10.1.1.2:8080"}
    router.settling.finish()
    assert node(lab, "/Common/app7.dc1.example.com")["session"] == "user-disabled"


def test_node_ports_of_nodes_named_by_host(lab):
    """All nodes are read once for all pools; uninstall leaves them as they are."""
    lab.kube.delete("EndpointSlice", "shop", "web-1")
    lab.apply(manifests.node("n1", "10.3.89.1"), manifests.node("n2", "10.3.89.2"))
    for at, name in enumerate(("web", "api", "app")):
        lab.apply(*manifests.published("shop", name, pods={f"10.128.0.{at + 1}": "n1"}),
                  manifests.route(name, host=f"{name}.com", service=name))
    for name, address in (("n1.example.com", "10.3.89.1"), ("n2.example.com", "10.3.89.2")):
        by_hand(lab, f"/Common/{name}", address)
    before = lab.paths("ltm/node")
    lab.clear()
    router = lab.router(pool_member_type="nodeport", f5_max_in_flight="1")
    assert lab.converge(router) == []
    read = [line for line in calls(lab) if line.startswith("GET") and line != "GET ltm/node"]
    assert (calls(lab).count("GET ltm/node"), len(read)) == (1, 1)
    assert members(lab) == {"n1.example.com:30080", "n2.example.com:30080"}
    router.close()
    assert uninstall.uninstall(
        lab.config(pool_member_type="nodeport"), dry_run=False, confirm=lambda question: True,
        stopping=lambda: contextlib.nullcontext(threading.Event()), timing=lab.timing) == 0
    assert lab.paths("ltm/node") == before


def test_pools_of_our_own_nodes_read_no_nodes(lab):
    lab.apply(manifests.route("a"))
    router = lab.router()
    lab.clear()
    assert lab.converge(router) == []
    pods(lab, "10.1.1.2", "10.1.1.9")
    lab.settle(router)
    assert members(lab) == {"10.1.1.2:8080", "10.1.1.9:8080"}
    assert not [line for line in calls(lab) if "node" in line or line.startswith("GET")]


def test_a_node_that_no_pool_of_ours_may_use(lab):
    """Its pod alone is left out and named; an ended pod leaves, and the pod comes once the node is gone."""
    lab.bigip.put_object("auth/partition", {"name": "k8s"})
    by_hand(lab, "/k8s/10.1.1.7", "10.1.1.7")
    pods(lab, "10.1.1.1")
    lab.apply(manifests.route("a"))
    router = lab.router()
    assert lab.converge(router) == []
    pods(lab, "10.1.1.2", "10.1.1.7")
    lab.settle(router)
    assert members(lab) == {"10.1.1.2:8080"}
    condition = lab.admitted("shop", "a")
    assert condition["status"] == "True"
    assert condition["message"].startswith(
        "ltm/pool /Common/openshift_shop_web: 1 of 2 pods are not in the pool: LTM node /k8s/10.1.1.7 has ")
    assert router.reconciler.verdicts.unserved() == {}
    lab.clear()
    pods(lab, "10.1.1.3", "10.1.1.7")
    lab.settle(router)
    assert members(lab) == {"10.1.1.3:8080"}
    pods(lab, "10.1.1.7")
    lab.settle(router)
    assert members(lab) == set()
    assert router.reconciler.verdicts.unserved().keys() == {Key("shop", "a")}
    lab.change("DELETE", "ltm/node/~k8s~10.1.1.7")
    lab.later()
    lab.settle(router)
    assert members(lab) == {"10.1.1.7:8080"}
    assert "message" not in lab.admitted("shop", "a")


def test_plan_and_doctor_read_the_nodes_once(lab):
    """They name the pods that are members by another name, or left out, and pools that would have none."""
    lab.bigip.put_object("auth/partition", {"name": "k8s"})
    by_hand(lab, "/Common/web1", "10.1.1.1", session="user-disabled")
    by_hand(lab, "/k8s/10.1.1.2", "10.1.1.2")
    lab.apply(manifests.route("a"))
    for _ in ("planned", "served"):
        shown = document(lab)
        assert [line for line in calls(lab) if "node" in line] == ["GET ltm/node"]
        assert (shown["problems"], len(shown["warnings"])) == ([], 3), shown["warnings"]
        for words in ("LTM node /k8s/10.1.1.2", "another name: /Common/web1 (10.1.1.1)", "is disabled"):
            assert any(words in text for text in shown["warnings"])
        lab.converge()
        assert members(lab) == {"web1:8080"}
    told = checks(doctor(lab, "--output=json"), "warning")
    assert sum(check == "LTM nodes" for _, check, _ in told) == 3
    assert [line for line in calls(lab) if "node" in line] == ["GET ltm/node"]
    pods(lab, "10.1.1.2")
    assert any("1 pool would have no member" in str(problem) for problem in document(lab)["problems"])
    assert any(check == "LTM nodes" for _, check, _ in checks(doctor(lab, "--output=json"), "failure"))


@pytest.mark.parametrize("domain", [1, 2])
def test_route_domains(make_lab, domain):
    """Members are in the default route domain of the partition; a node of another one is another host."""
    lab = make_lab()
    lab.bigip.put_object("net/route-domain", {"name": "1", "id": 1})
    lab.bigip.put_object("net/route-domain", {"name": "2", "id": 2})
    lab.bigip.put_object("auth/partition", {"name": "openshift", "defaultRouteDomain": 1})
    lab.partition = "/openshift"
    lab.virtuals(partition="/openshift")
    by_hand(lab, "/Common/web", f"10.1.1.1%{domain}")
    by_hand(lab, "/Common/zero", "10.1.1.1")
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", "10.1.1.2")), manifests.route("a"))
    assert lab.converge() == []
    fields = lab.bigip.get("ltm/pool/~openshift~openshift_shop_web")
    assert {item["fullPath"] for item in fields["membersReference"]["items"]} == {
        "/openshift/10.1.1.2:8080",
        "/Common/web:8080" if domain == 1 else "/openshift/10.1.1.1:8080"}
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_nothing_else_waits_for_a_pod_that_is_left_out(lab):
    """A Route with another host, and one that is deleted, go at once, also if a pool has no member at all."""
    lab.bigip.put_object("auth/partition", {"name": "k8s"})
    by_hand(lab, "/k8s/10.1.1.2", "10.1.1.2")
    lab.apply(*manifests.service("shop", "empty", pods=("10.1.1.2",)))
    for service in ("web", "empty"):
        lab.apply(manifests.route(service, host=f"{service}.com", service=service),
                  manifests.route(f"{service}-2", host=f"two.{service}.com", service=service))
    router = lab.router()
    lab.converge(router)
    assert all(asked(lab, f"{host}.com") for host in ("web", "two.web", "empty", "two.empty"))
    lab.apply(*manifests.service("shop", "old", pods=("10.1.1.9",)),
              manifests.route("a", host="moved.com", service="old"))
    lab.settle(router)
    lab.kube.delete("Route", "shop", "a")
    lab.apply(manifests.route("b", host="moved.com", service="web"))
    for service in ("web", "empty"):
        lab.apply(manifests.route(service, host=f"new.{service}.com", service=service))
        lab.kube.delete("Route", "shop", f"{service}-2")
    lab.settle(router)
    lab.settle(router)
    assert [host for host in ("web", "two.web", "empty", "two.empty", "new.web", "new.empty")
            if asked(lab, f"{host}.com")] == ["new.web", "new.empty"]
    assert asked(lab, "moved.com") == "/Common/openshift_shop_web"
    assert "/Common/openshift_shop_old" not in lab.pools()


@pytest.mark.parametrize("foreign", ["/Common/web7", "/k8s/web7"])
def test_a_router_that_ends_at_any_write(lab, foreign):
    """The next one finishes its work, and the node is as it was."""
    lab.bigip.put_object("auth/partition", {"name": "k8s"})
    by_hand(lab, foreign, "10.1.1.7", session="user-disabled")
    pods(lab, "10.1.1.2", "10.1.1.7")
    lab.apply(manifests.route("a"))
    at = 1
    while lab.break_off(at):
        at += 1
    assert at > 3
    lab.converge()
    assert members(lab) == {"10.1.1.2:8080"} | ({"web7:8080"} if foreign == "/Common/web7" else set())
    assert asked(lab, "www.example.com")
    assert node(lab, foreign)["session"] == "user-disabled"
