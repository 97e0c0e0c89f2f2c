"""Shards: what enters or leaves the selection comes to the BIG-IP, or leaves it, at once."""

import json
import threading

import pytest

from f5router.app import once
from f5router.cli import preflight
from f5router.model.cluster import Key
from mocks.bigip.traffic import Request, decide
from tests import manifests, pump
from tests.builders import identity
from tests.waiting import DEADLINE_S, until

ONE = identity()
WEST, EAST = {"zone": "west"}, {"zone": "east"}


def labelled(obj: dict, **labels: str) -> dict:
    obj["metadata"]["labels"] = labels
    return obj


def namespace(name: str, **labels: str) -> dict:
    return labelled({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, **labels)


def secure(name: str, **fields) -> dict:
    """A Route with everything that a Route can need."""
    return manifests.route(name, kind="reencrypt", insecure="Redirect", certificate=ONE.certificate,
                           key=ONE.key, **fields)


def ask(lab, host: str = "www.example.com", *, tls: bool = False) -> str:
    virtual = "/Common/https-ose-vserver" if tls else "/Common/ose-vserver"
    return decide(lab.bigip.store, virtual, Request(host, "/", sni=host if tls else None, tls=tls)).pool


def ours(lab) -> set[str]:
    """Return what belongs to Routes."""
    kinds = ("ltm/profile/client-ssl", "sys/file/ssl-cert", "sys/file/ssl-key")
    rules = {item.name for item in lab.bigip.items("ltm/policy/rules")}
    paths = {path for kind in kinds for path in lab.paths(kind)} | rules | lab.pools()
    return {path for path in paths if "openshift_" in path}


@pytest.mark.parametrize(("flags", "enter", "leave"), [
    pytest.param({"labels": "zone=west"}, labelled(secure("a"), **WEST), labelled(secure("a"), **EAST),
                 id="labels of the Route"),
    pytest.param({"labels": "zone notin (west)"}, labelled(secure("a"), **EAST),
                 labelled(secure("a"), **WEST), id="labels that it must not have"),
    pytest.param({"fields": "spec.host=www.example.com"}, secure("a"), secure("a", host="x.com"),
                 id="a field of the Route"),
    pytest.param({"namespace_labels": "zone=west"}, namespace("shop", **WEST), namespace("shop", **EAST),
                 id="labels of the namespace"),
    pytest.param({"namespace": "bank"}, secure("a", namespace="bank", service="till"), None,
                 id="one namespace"),
])
def test_enters_and_leaves(lab, running, flags, enter, leave):
    """In both directions, by an event; nothing of the Route stays on the BIG-IP."""
    lab.apply(*manifests.service("bank", "till", pods=("10.1.1.7",)))
    if "namespace_labels" in flags:
        lab.apply(namespace("shop"), secure("a"))
    router = running(**flags)
    lab.apply(enter)
    router.wait(lambda: ask(lab, tls=True))
    assert ours(lab)
    if leave is None:
        lab.kube.delete("Route", "bank", "a")
    else:
        lab.apply(leave)
    router.wait(lambda: not ours(lab))
    assert not ask(lab)
    assert not ask(lab, tls=True)
    lab.apply(enter)
    router.wait(lambda: ask(lab, tls=True))


def test_projects(lab):
    """Listed at the start; those of others are not served."""
    lab.apply(namespace("shop", **WEST), manifests.route("a"), namespace("bank"),
              manifests.route("b", namespace="bank", host="b.com"))
    assert lab.converge(project_labels="zone=west") == []
    assert [bool(ask(lab)), bool(ask(lab, "b.com"))] == [True, False]
    assert lab.converge(project_labels="*") == []
    assert ask(lab, "b.com")


def test_what_is_not_selected_claims_nothing(lab, running):
    """The older Route has the host when its namespace is selected, and hands it on when that leaves."""
    lab.apply(namespace("shop", **WEST), namespace("bank"),
              *manifests.service("bank", "till", pods=("10.1.1.7",)),
              manifests.route("old", namespace="bank", service="till", created="2020-01-01T00:00:00Z"),
              manifests.route("new"))
    router = running(namespace_labels="zone=west")
    router.wait(lambda: ask(lab) == "/Common/openshift_shop_web")
    assert lab.admitted("bank", "old") == {}
    lab.apply(namespace("bank", **WEST))
    router.wait(lambda: ask(lab) == "/Common/openshift_bank_till")
    router.wait(lambda: lab.admitted("shop", "new").get("reason") == "HostAlreadyClaimed")
    lab.apply(namespace("bank", **EAST))
    router.wait(lambda: ask(lab) == "/Common/openshift_shop_web")


def test_a_namespace_costs_its_own_routes(lab):
    """No write to what belongs to another."""
    for name in ("bank", "shop"):
        lab.apply(namespace(name, **WEST), *manifests.service(name, "web", pods=("10.1.1.1",)))
        lab.apply(*(manifests.route(f"r{n}", namespace=name, host=f"{name}{n}.com") for n in range(5)))
    router = lab.router(namespace_labels="zone=west")
    assert lab.converge(router) == []
    for labels, verb in ((EAST, "DELETE"), (WEST, "POST")):
        lab.clear()
        lab.apply(namespace("bank", **labels))
        until(lambda: router.reconcile_once() and lab.writes())
        rules = [path for method, path in lab.writes() if method == verb and "/rules" in path]
        assert len(rules) == 5
        assert not [path for _, path in lab.writes() if "shop" in path]


def test_a_list_of_namespaces_that_fails_is_no_empty_list(lab, running):
    """At a restart, and while the router runs."""
    lab.apply(namespace("shop", **WEST), manifests.route("a"))
    assert lab.converge(namespace_labels="zone=west") == []
    lab.clear()
    lab.kube.forbid("namespaces")
    (reason,) = once.converge(lab.router(namespace_labels="zone=west"), threading.Event(), refused_s=0.1)
    assert "--verb=get,list,watch --resource=namespaces" in reason
    assert lab.writes() == []
    lab.kube.allow("namespaces")
    router = running(namespace_labels="zone=west")
    router.wait(lambda: router.router.cluster.synced())
    until(lambda: any(path.endswith("/namespaces") for path in lab.kube.watches))
    lab.kube.forbid("namespaces")
    lab.kube.compact()
    lab.kube.inject("drop-watch", path="namespaces")
    router.wait(lambda: router.router.cluster.problems())
    lab.apply(manifests.route("b", host="b.com"))
    router.wait(lambda: ask(lab, "b.com"))
    assert ask(lab)
    assert not [path for method, path in lab.writes() if method == "DELETE"]


def counted_rollouts(router) -> list:
    """Return a list that grows by one with each rollout from now on."""
    begun, told = [], router.router.reconciler.on_begin

    def count() -> None:
        begun.append(None)
        told()

    router.router.reconciler.on_begin = count
    return begun


def test_labels_that_change_a_hundred_times(lab, running):
    """Passes come at the pace of the hold-off, not of the events; what is true in the end is served."""
    lab.apply(namespace("shop", **WEST), labelled(manifests.route("a"), **WEST))
    router = running(namespace_labels="zone=west", labels="zone=west", hold_off="1s", hold_off_limit="1s")
    router.wait(lambda: ask(lab))
    count = counted_rollouts(router)
    for number in range(300):
        labels = WEST if number % 2 else EAST
        lab.apply(labelled(manifests.route("a"), **labels), namespace("shop", **labels))
    lab.apply(labelled(manifests.route("b", host="b.com"), **WEST))
    router.wait(lambda: ask(lab, "b.com"))
    assert ask(lab)
    assert len(count) < 30


def test_a_storm_of_labels_holds_up_nobody(lab, running):
    """A Route that enters and leaves a hundred times a second: others are served meanwhile, and what it
    costs, on the BIG-IP and in statuses, is a matter of the passes.
    """
    lab.apply(labelled(manifests.route("busy", host="busy.com"), **WEST))
    router = running(labels="zone=west", hold_off="100ms", hold_off_limit="500ms")
    router.wait(lambda: lab.admitted("shop", "busy"))
    passes, ended, events = counted_rollouts(router), threading.Event(), []

    def storm() -> None:
        while not ended.wait(0.01):
            events.append(lab.apply(labelled(manifests.route("busy", host="busy.com"),
                                             **(EAST if len(events) % 2 else WEST))))

    lab.clear()
    lab.kube.clear_log()
    thread = threading.Thread(target=storm)
    thread.start()
    try:
        for number in range(3):
            lab.apply(labelled(manifests.route(f"calm{number}", host=f"calm{number}.com"), **WEST))
            router.wait(lambda host=f"calm{number}.com": ask(lab, host))
            router.wait(lambda name=f"calm{number}": lab.admitted("shop", name).get("status") == "True")
        router.wait(lambda: len(events) > 50)
    finally:
        ended.set()
        thread.join()
    statuses = [log for log in lab.kube.log if log.path.endswith("/busy/status")]
    rules = [path for _, path in lab.writes() if "busy" in path]
    assert len(passes) < len(events) / 2
    assert len(rules) <= 2 * len(passes)
    assert len([log for log in statuses if log.status == 200]) <= 2 * len(passes)


def test_routes_that_left_are_reported(lab):
    """For whoever writes their status: the key, and the Route as it was last judged."""
    lab.apply(labelled(manifests.route("a"), **WEST), labelled(manifests.route("b", host="b.com"), **WEST))
    router = lab.router(labels="zone=west")
    router.cluster.wait_synced(DEADLINE_S)
    assert router.reconcile_once().removed == {}
    lab.apply(labelled(manifests.route("a"), **EAST))
    until(lambda: router.cluster.route(Key("shop", "a")) is None)
    lab.bigip.inject("503-html", times=2)
    with pytest.raises(Exception, match="restarting"):
        router.reconcile_once()
    report = router.reconcile_once()
    assert {key: route.host for key, route in report.removed.items()} == {Key("shop", "a"): "www.example.com"}
    assert router.reconcile_once().removed == {}
    for labels, there in ((EAST, False), (WEST, True)):
        lab.apply(labelled(manifests.route("b", host="b.com"), **labels))
        until(lambda there=there: (router.cluster.route(Key("shop", "b")) is not None) is there)
        pump.take_events(router)
    assert router.reconcile_once().removed == {}


def test_a_selector_that_the_server_refuses(lab):
    """Told with the server's words; nothing is written, nothing deleted."""
    lab.apply(manifests.route("a"))
    assert lab.converge() == []
    lab.clear()
    (reason,) = once.converge(lab.router(fields="spec.hots=x"), threading.Event(), refused_s=0.1)
    assert "field label not supported: spec.hots" in reason
    assert lab.writes() == []


def test_a_selection_that_takes_nothing(lab, caplog, capsys):
    """A plan and a pass say why everything goes."""
    lab.apply(manifests.route("a"), namespace("shop", **EAST))
    assert lab.converge() == []
    flags = {"namespace_labels": "zone=west"}
    assert preflight.plan(lab.config(**flags), output="json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert "/Common/openshift_shop_web" in {change["path"] for change in printed["changes"]}
    words = "--namespace-labels 'zone=west' selects no namespace: no Route is served"
    assert printed["warnings"] == [words]
    assert lab.converge(**flags) == []
    assert words in {getattr(record, "problem", "") for record in caplog.records}
