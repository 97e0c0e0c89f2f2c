"""Entries in status.ingress go with their Routes, or when these leave the selection."""

from dataclasses import replace

import pytest

from f5router.kube.settings import StatusTiming
from tests import manifests, pump
from tests.feature.test_statuses import (
    BLUE,
    GREEN,
    HAPROXY,
    QUICK,
    entry,
    failing_pass,
    ingress,
    labelled,
    status_writes,
)
from tests.waiting import DEADLINE_S, until


def settled(lab, router) -> None:
    """Like Lab.settle, for a router that takes no marker."""
    router.reconcile_once()
    assert router.reporter.statuses.flush(DEADLINE_S)


def leave(lab, router, name: str, obj: dict | None) -> None:
    """Change or delete a Route, and let the router see it."""
    if obj is None:
        lab.kube.delete("Route", "shop", name)
    else:
        lab.apply(obj)
    until(lambda: router.cluster.pending())
    settled(lab, router)


def test_a_route_that_leaves(lab):
    """Our entry goes, the other router's stays; it comes back with the Route."""
    lab.apply(labelled(manifests.route("a"), **BLUE) | {"status": {"ingress": [HAPROXY]}})
    router = lab.router(labels="shard=blue")
    lab.converge(router)
    assert len(ingress(lab, "a")) == 2
    leave(lab, router, "a", labelled(manifests.route("a"), **GREEN))
    assert ingress(lab, "a") == [HAPROXY]
    leave(lab, router, "a", labelled(manifests.route("a"), **BLUE))
    assert lab.admitted("shop", "a")["status"] == "True"


@pytest.mark.parametrize("back", [True, False])
def test_a_namespace_that_leaves(lab, back):
    """All its Routes, refused ones too."""
    shop = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": BLUE}}
    lab.apply(shop, manifests.route("a"), manifests.route("bad", host="b.com", path="no-slash"))
    router = lab.router(namespace_labels="shard=blue")
    lab.converge(router)
    assert lab.admitted("shop", "bad")["status"] == "False"
    leave(lab, router, "", shop | {"metadata": {"name": "shop", "labels": GREEN}})
    assert ingress(lab, "a") == ingress(lab, "bad") == []
    if back:
        leave(lab, router, "", shop)
        assert [lab.admitted("shop", name)["status"] for name in ("a", "bad")] == ["True", "False"]


@pytest.mark.parametrize(("flags", "obj", "writes"), [
    pytest.param({"labels": "shard=blue"}, None, 0, id="it is deleted"),
    pytest.param({"labels": "shard=blue", "clean_status": "false"}, "green", 0, id="switched off"),
    pytest.param({"labels": "shard=blue", "update_status": "false"}, "green", 0, id="no statuses at all"),
    pytest.param({"labels": "shard=blue"}, "green", 1, id="it leaves"),
])
def test_what_is_written_when_a_route_leaves(lab, flags, obj, writes):
    lab.apply(labelled(manifests.route("a"), **BLUE))
    lab.converge()
    router = lab.router(**flags)
    lab.converge(router)
    lab.kube.clear_log()
    leave(lab, router, "a", labelled(manifests.route("a"), **GREEN) if obj else None)
    assert status_writes(lab) == [("a", 200)] * writes


def test_without_a_selection_a_deletion_costs_no_request(lab):
    lab.apply(manifests.route("a"))
    router = lab.router()
    lab.converge(router)
    lab.kube.clear_log()
    leave(lab, router, "a", None)
    assert [log.path for log in lab.kube.log] == []


def test_while_the_device_is_away_nothing_is_removed(lab):
    """It serves the Route as before."""
    lab.apply(labelled(manifests.route("a"), **BLUE))
    router = lab.router(labels="shard=blue", **QUICK)
    lab.converge(router)
    lab.bigip.stop()
    lab.apply(labelled(manifests.route("a"), **GREEN))
    until(lambda: router.cluster.pending())
    router.reconciler.must_read("of the test")
    failing_pass(lab, router)
    assert lab.admitted("shop", "a")["status"] == "True"
    lab.bigip.start()
    lab.converge(router)
    assert ingress(lab, "a") == []


def test_what_left_while_the_router_did_not_run(lab):
    """Found once the BIG-IP is loaded, and removed; ending removes nothing."""
    lab.apply(*(labelled(manifests.route(name, host=f"{name}.com"), **BLUE) for name in "abcd"))
    lab.apply(labelled(manifests.route("other", host="o.com"), **GREEN) | {"status": {"ingress": [HAPROXY]}})
    router = lab.router(labels="shard=blue")
    lab.converge(router)
    router.close()
    assert all(lab.admitted("shop", name) for name in "abcd")
    lab.apply(*(labelled(manifests.route(name, host=f"{name}.com"), **GREEN) for name in "cd"))
    router = lab.router(labels="shard=blue")
    lab.converge_events(router)
    assert len(ingress(lab, "c")) == 1
    pump.attempt(router)
    until(lambda: ingress(lab, "c") == ingress(lab, "d") == [])
    assert lab.admitted("shop", "a")["status"] == lab.admitted("shop", "b")["status"] == "True"
    assert ingress(lab, "other") == [HAPROXY]


@pytest.mark.parametrize("flags", [{}, {"labels": "shard=blue", "clean_status": "false"}])
def test_nothing_is_looked_for(lab, flags):
    """Where nothing can have left, and where it is switched off."""
    lab.apply(labelled(manifests.route("a"), **GREEN))
    lab.converge()
    before = ingress(lab, "a")
    lab.kube.clear_log()
    router = lab.router(**flags)
    lab.converge_events(router)
    pump.attempt(router)
    assert router.reporter.statuses.flush(DEADLINE_S)
    selectors = lambda: [log.query.get("labelSelector") for log in lab.kube.log  # noqa: E731
                         if log.path.endswith("/routes") and "watch" not in log.query]
    assert not lab.kube.wait_for(lambda: len(selectors()) > 1, 0.2)
    assert selectors() == [flags.get("labels")]
    assert ingress(lab, "a") == before


@pytest.mark.parametrize("canonical", ["", "green.example.com"])
def test_two_shards_of_one_name(make_lab, canonical):
    """Against the advice: a Route that goes from one to the other ends with the entry of the second."""
    other, lab = make_lab(), make_lab()  # the kubeconfig is that of the last
    for each_lab in (lab, other):
        each_lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    lab.apply(labelled(manifests.route("a"), **BLUE))
    lab.timing = replace(lab.timing, statuses=StatusTiming(repair_s=0.05))
    blue = lab.router(labels="shard=blue")
    green = lab.router(
        labels="shard=green", router_canonical_hostname=canonical, f5_host=other.bigip.address,
        f5_ca_bundle=str(other.bigip.ca_file))
    for router in (blue, green):
        assert lab.converge(router) == []
    lab.apply(labelled(manifests.route("a"), **GREEN))
    for router in (green, blue):
        until(lambda router=router: router.cluster.pending())
        settled(lab, router)
    until(lambda: lab.admitted("shop", "a").get("status") == "True")
    assert entry(lab, "a").get("routerCanonicalHostname", "") == canonical
    assert (blue.reporter.statuses.contended(), green.reporter.statuses.contended()) == (0, 0)
