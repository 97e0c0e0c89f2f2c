"""--namespace with a name that does not exist: nothing is deleted, and the log says why."""

import logging
import threading

import pytest

from f5router.app import launch, once
from f5router.cli import adopt, preflight
from tests import manifests
from tests.feature.running import Running


@pytest.fixture
def served(lab):
    """Routes on the BIG-IP, by a router of all namespaces."""
    lab.apply(*(manifests.route(f"r{n}", host=f"{n}.example.com") for n in range(3)))
    assert lab.converge() == []
    lab.clear()
    return lab


def messages(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_once_deletes_nothing(served, caplog):
    """Exit status 1; the log names the flag, the name and the nearest one."""
    with caplog.at_level(logging.INFO):
        assert launch.run(served.config(namespace="shpo"), once=True, stop=threading.Event()) == 1
    assert served.writes() == []
    assert len(served.pools()) == 1
    (reason,) = [record.reason for record in caplog.records if record.getMessage() == "not converged"]
    assert reason == "--namespace / -n: the namespace 'shpo' does not exist; did you mean shop?"


def test_without_the_right_to_list_there_is_no_hint(served):
    served.kube.forbid("namespaces")
    (reason,) = once.converge(served.router(namespace="shpo"), threading.Event(), refused_s=0.1)
    assert reason == "--namespace / -n: the namespace 'shpo' does not exist"
    assert served.writes() == []


def test_plan_and_adopt_refuse_it(served, caplog):
    config = served.config(namespace="shpo")
    assert preflight.plan(config, output="table", refused_s=0.1) == 1
    assert adopt.adopt(config, dry_run=False, stop=threading.Event()) == 1
    assert "does not exist" in " ".join(getattr(record, "problem", "") for record in caplog.records)
    assert served.writes() == []


def test_the_running_router_waits_for_it(served, caplog):
    """Told once, not ready; served when the namespace is there."""
    with caplog.at_level(logging.INFO):
        router = Running(served, namespace="bank")
        try:
            router.wait(lambda: router.router.cluster.missing()[:1] and "does not exist" in
                        router.router.cluster.missing()[0])
            looked_up = [entry for entry in served.kube.log if entry.path == "/api/v1/namespaces/bank"]
            router.wait(lambda: len([entry for entry in served.kube.log
                                     if entry.path == "/api/v1/namespaces/bank"]) > len(looked_up) + 1)
            checks = {check.name: check.problem for check in router.router.monitor.health.ready()}
            assert "'bank' does not exist" in checks["cluster-listed"]
            assert served.writes() == []
            served.apply(*manifests.service("bank", "till", pods=("10.1.1.7",)),
                         manifests.route("till", namespace="bank", service="till", host="till.com"))
            router.wait(lambda: served.pools() == {"/Common/openshift_bank_till"})
        finally:
            router.stop()
    assert messages(caplog).count("changing nothing until the namespace exists") == 1
    assert "namespace found" in messages(caplog)


def test_an_account_without_the_right_goes_on(served, caplog):
    """It may have rights in its namespace only, none of which is on Namespaces."""
    served.kube.forbid("namespaces", ("get", "list", "watch"))
    with caplog.at_level(logging.INFO):
        assert served.converge(namespace="shop") == []
    (told,) = [record for record in caplog.records
               if record.getMessage().startswith("namespace not checked")]
    assert 'cannot get resource "namespaces"' in told.error
    assert served.admitted("shop", "r0")["status"] == "True"


def test_an_api_server_that_fails_is_asked_again(served):
    served.kube.inject("503", times=2, method="GET", path="/api/v1/namespaces/shop")
    assert served.converge(namespace="shop") == []
