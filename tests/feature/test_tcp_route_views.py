"""`f5router get` and `explain` of TCPRoutes, and their Events, on both fakes."""

from contextlib import ExitStack

import pytest

from tests import manifests
from tests.feature.commands import invoke
from tests.feature.conftest import Lab
from tests.gateways import backend, gateway, gateway_class, listener, tcp_route
from tests.rows import rows

FLAGS = {"sources": "routes,gateway", "f5_vserver_address": "203.0.113.10",
         "gateway_addresses": "10.9.0.0/28"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A Gateway with TCPRoutes, some with faults; no test changes anything for others."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path_factory.mktemp("site"), gateway_api="v1.6")
        lab.apply(
            *manifests.service("infra", "db", pods=("10.1.1.1",)), gateway_class(),
            gateway("web", listener("db", 5432, "TCP"), listener("half", 5433, "TCP"),
                    listener("free", 5434, "TCP")),
            tcp_route("app", backend("db"), parents=({"name": "web", "sectionName": "db"},)),
            tcp_route("half", backend("db"), backend("none"),
                      parents=({"name": "web", "sectionName": "half"},)),
            tcp_route("late", backend("db"), created="2026-01-02T00:00:00Z",
                      parents=({"name": "web", "sectionName": "db"},)),
            tcp_route("odd", parents=({"name": "web", "sectionName": "gone"},)))
        assert lab.converge(**FLAGS) == []
        yield lab


def ask(lab, *arguments: str):
    return invoke(lab, *arguments, **FLAGS, f5_static_routes="false")


def test_lists(lab):
    result = ask(lab, "get", "tcproutes")
    assert [line.split() for line in result.stdout.splitlines()[1:]] == [
        ["infra", "app", "*", "1/1", "admitted", "-"],
        ["infra", "half", "*", "1/1", "admitted", "BackendNotFound"],
        ["infra", "late", "-", "0/0", "admitted", "-"],
        ["infra", "odd", "-", "0/0", "rejected", "NoMatchingParent"]]


@rows(("arguments", "status", "words"), [
    (("gateway", "infra/web"), 0, (
        "+ listener db    TCP port 5432, all hosts: 2 routes\n", "! TCPRoute       infra/half\n",
        "+ options         connections that are reset: 100%\n",
        "+ rule            pool in /Common/openshift_tcp__infra.web.5434: every connection -> reset\n")),
    (("tcproute", "infra/app"), 0, (
        "+ parent  Gateway infra/web: listener db with all hosts\n",
        "+ virtual server  /Common/openshift_tcp__infra.web.5432, 10.9.0.1 port 5432\n",
        "every connection -> pool /Common/openshift_infra_db_http\n",
        "+ member          10.1.1.1 port 8080")),
    (("tcproute", "infra/half"), 1, (
        "Service 'none': not found\n", "connections that are reset: 50%\n")),
])
def test_explanations(lab, arguments, status, words):
    result = ask(lab, "explain", *arguments)
    assert result.exit_code == status, result.output
    for word in words:
        assert word in result.stdout
    assert "503" not in result.stdout
    assert "request " not in result.stdout


def test_events_and_addresses(lab):
    """A TCPRoute that is refused, or lacks a Service, has an Event; the Gateway has its address."""
    status = lab.kube.get("Gateway", "infra", "web")["status"]
    assert [each["value"] for each in status["addresses"]] == ["10.9.0.1"]
    events = {(each["involvedObject"]["kind"], each["involvedObject"]["name"], each["reason"])
              for each in lab.kube.list("Event")}
    assert {("TCPRoute", "odd", "NoMatchingParent"), ("TCPRoute", "half", "BackendNotFound")} <= events
