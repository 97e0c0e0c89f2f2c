"""f5router uninstall and status clear: a router's statuses of the Gateway API go, those of others stay."""

from contextlib import ExitStack

import pytest
from click.testing import CliRunner

from f5router.cli.main import main
from tests import manifests
from tests.feature.conftest import Lab
from tests.feature.test_uninstall import reasons, run
from tests.gateways import (
    EVERYWHERE,
    backend,
    backend_policy,
    conditions,
    gateway,
    gateway_class,
    http_route,
    listener,
    rule,
    tcp_route,
    tls_route,
)
from tests.rows import rows
from tests.waiting import until

FLAGS = {"sources": "routes,gateway", "f5_vserver_address": "203.0.113.10"}
THEIRS = {"controllerName": "example.com/other", "parentRef": {"name": "theirs"}, "conditions": []}
WAITING = {"Accepted": ("Unknown", "Pending"), "Programmed": ("Unknown", "Pending")}
OTHER = {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "",
         "lastTransitionTime": "2026-01-01T00:00:00Z"}


@pytest.fixture
def lab(tmp_path):
    """A router has served a Gateway with an HTTPRoute, beside those of another controller."""
    with ExitStack() as stack:
        lab = Lab(stack, tmp_path, gateway_api="v1.6")
        lab.apply(
            gateway_class(), gateway_class("other", "example.com/other"),
            *manifests.service("infra", "web", pods=("10.1.1.1",)),
            gateway("web", listener(namespaces=EVERYWHERE)), http_route("app", rule(backend("web"))),
            tls_route("app", backend("web"), hostnames=("a.test",)), tcp_route("app", backend("web")),
            backend_policy("app", "web", {"group": "", "kind": "Secret", "name": "ca"}),
            gateway("theirs", class_name="other") | {"status": {"conditions": [OTHER]}},
            http_route("alien", rule(backend("web")), parents=({"name": "theirs"},)) | {
                "status": {"parents": [THEIRS]}})
        shared = lab.kube.get("HTTPRoute", "infra", "app")
        lab.apply(shared | {"status": {"parents": [THEIRS]}})
        router = lab.router(**FLAGS)
        assert lab.converge(router) == []
        until(lambda: len(parents(lab)) == 2 and status(lab, "Gateway", "web").get("addresses")
              and parents(lab, kind="TLSRoute") and parents(lab, kind="TCPRoute")
              and status(lab, "BackendTLSPolicy", "app").get("ancestors"))
        router.close()
        yield lab


def status(lab: Lab, kind: str, name: str) -> dict:
    return lab.kube.get(kind, "" if kind == "GatewayClass" else "infra", name).get("status", {})


def parents(lab: Lab, name: str = "app", kind: str = "HTTPRoute") -> list:
    return status(lab, kind, name).get("parents", [])


def withdrawn(lab: Lab) -> bool:
    web = status(lab, "Gateway", "web")
    return (parents(lab) == [THEIRS] and parents(lab, kind="TLSRoute") == []
            and parents(lab, kind="TCPRoute") == []
            and status(lab, "BackendTLSPolicy", "app") == {"ancestors": []}
            and conditions(web["conditions"]) == WAITING
            and not web.get("listeners") and not web.get("addresses"))


def patches(lab: Lab) -> int:
    return sum(entry.method in ("PATCH", "PUT") for entry in lab.kube.log)


def clear(lab: Lab, *arguments: str):
    return CliRunner().invoke(main, ["status", "clear", "--router-name=public", f"--config={lab.kubeconfig}",
                                     "--sources=gateway", *arguments])


def test_uninstall(lab, capsys):
    """First a list, which changes nothing; a second run finds nothing, and writes nothing."""
    lab.kube.clear_log()
    assert run(lab, dry_run=True, **FLAGS) == 0
    assert patches(lab) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if "\t" in line] == [
        "HTTPRoute\tinfra/app\tweb", "TLSRoute\tinfra/app\tweb", "TCPRoute\tinfra/app\tweb",
        "BackendTLSPolicy\tinfra/app\tweb",
        "Gateway\tinfra/web\tAccepted True, Programmed True", "GatewayClass\tf5\tAccepted True"]
    assert run(lab, **FLAGS) == 0
    assert withdrawn(lab)
    assert conditions(status(lab, "GatewayClass", "f5")["conditions"]) == {"Accepted": ("Unknown", "Pending")}
    assert not status(lab, "GatewayClass", "f5").get("supportedFeatures")
    assert status(lab, "Gateway", "theirs")["conditions"] == [OTHER]
    assert parents(lab, "alien") == [THEIRS]
    written = patches(lab)
    assert run(lab, **FLAGS) == 0
    assert patches(lab) == written


def test_a_class_that_is_gone(lab):
    """Its Gateways have addresses of the router; others stay, also where their class is gone."""
    lost = gateway("lost", class_name="gone") | {"status": {
        "conditions": [OTHER], "addresses": [{"type": "IPAddress", "value": "192.0.2.1"}]}}
    lab.apply(lost)
    lab.kube.delete("GatewayClass", None, "f5")
    assert run(lab, **FLAGS) == 0
    assert withdrawn(lab)
    assert status(lab, "Gateway", "theirs")["conditions"] == [OTHER]
    assert status(lab, "Gateway", "lost")["conditions"] == [OTHER]


def test_clear(lab):
    """The same without a BIG-IP; a router that runs again writes its statuses again."""
    result = clear(lab)
    assert (result.exit_code, result.stdout.splitlines()) == (0, [
        f"{kind}: 1 had a status of this router, 1 are cleared, 0 had none left, 0 are left; 0 conflicts"
        for kind in ("HTTPRoute", "TLSRoute", "TCPRoute", "BackendTLSPolicy", "Gateway", "GatewayClass")])
    assert withdrawn(lab)
    assert lab.converge(**FLAGS) == []
    until(lambda: len(parents(lab)) == 2)


@rows(("arguments", "left"), [
    (["-n", "shop"], True), (["--gateway-controller=example.com/none"], True), (["-n", "infra"], False)])
def test_what_is_not_meant_stays(lab, arguments, left):
    """Other namespaces and controllers; a router of one namespace leaves the GatewayClass."""
    assert clear(lab, *arguments).exit_code == 0
    assert withdrawn(lab) is not left
    assert conditions(status(lab, "GatewayClass", "f5")["conditions"])["Accepted"] == ("True", "Accepted")


def test_only_namespaces_that_the_router_serves(lab):
    lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"s": "1"}}})
    assert run(lab, namespace_labels="s=1", **FLAGS) == 0
    assert len(parents(lab)) == 2
    assert status(lab, "Gateway", "web")["addresses"]


def test_refusals(lab, caplog):
    """A conflict is tried again, the log names a missing right, and objects on the BIG-IP go all the same."""
    lab.kube.forbid("gateways/status", ["patch"])
    lab.kube.inject("409", method="PATCH", path="/httproutes/app/status", times=2)
    assert run(lab, **FLAGS) == 1
    assert reasons(caplog).strip() == "statuses are left"
    assert parents(lab) == [THEIRS]
    assert status(lab, "Gateway", "web")["addresses"]
    lab.kube.allow("gateways/status")
    assert run(lab, **FLAGS) == 0
    assert withdrawn(lab)


def test_virtual_servers_of_a_gateway_go_with_its_address(lab):
    own = FLAGS | {"gateway_addresses": "203.0.113.32/28"}
    lab.apply(gateway("more", listener(port=8080)))
    assert lab.converge(**own) == []
    assert {path for path in lab.paths("ltm/virtual") if ".8080" in path} == {
        "/Common/openshift_http__infra.more.8080"}
    until(lambda: status(lab, "Gateway", "more").get("addresses"))
    assert run(lab, **own) == 0
    assert lab.paths("ltm/virtual") == set()
    assert not status(lab, "Gateway", "more").get("addresses")


def test_crds_that_are_gone(lab):
    lab.kube.withdraw("gateway.networking.k8s.io")
    assert run(lab, **FLAGS) == 0
    assert clear(lab).exit_code == 0
