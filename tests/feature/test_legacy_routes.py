"""A cluster whose Routes are served under /oapi/v1 alone, with the rights of its role system:router."""

import pytest
from click.testing import CliRunner

from f5router.cli.main import main
from mocks.kube import FakeKube
from tests import manifests
from tests.feature.running import Running
from tests.feature.test_loop import pool

ROLE = [
    {"apiGroups": [""], "resources": ["routes", "endpoints"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["routes/status"], "verbs": ["update"]},
]
"""Rules of system:router. Source: openshift/origin v1.1, pkg/cmd/server/bootstrappolicy/policy.go."""

MORE = [
    {"apiGroups": [""], "resources": ["services"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]
OURS = {"host": "www.example.com", "routerName": "public", "wildcardPolicy": "None", "conditions": [
    {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}
OTHER = OURS | {"routerName": "haproxy"}


def legacy(name: str, shard: str = "", entries: tuple[dict, ...] = (), **fields) -> dict:
    manifest = manifests.route(name, **fields) | {"apiVersion": "v1"}
    manifest["metadata"]["labels"] = {"shard": shard}
    return manifest | ({"status": {"ingress": list(entries)}} if entries else {})


@pytest.fixture(params=[True, False], ids=["update", "patch"])
def old_kube(lab, request):
    """An old API server behind the lab's kubeconfig; the router may update a status, or all that it wants."""
    with FakeKube(route_api="oapi", slices=False) as kube:
        web, _ = manifests.service("shop", "web")
        kube.apply([web, {
            "apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": "shop", "name": "web"},
            "subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"name": "http", "port": 8080}]}],
        }])
        kube.write_kubeconfig(lab.kubeconfig)
        if request.param:
            text = lab.kubeconfig.read_text()
            lab.kubeconfig.write_text(text.replace(kube.token, account(kube)))
        yield kube


def account(kube: FakeKube) -> str:
    """The token of a ServiceAccount that has the role, and MORE."""
    rbac = "rbac.authorization.k8s.io"
    kube.apply([
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "router"}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "system:router"},
         "rules": [*ROLE, *MORE]},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "router"},
         "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "system:router"},
         "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "router"}]},
    ])
    return kube.token_for("default", "router")


def entries(kube: FakeKube, name: str) -> dict[str, str]:
    """Status of the Admitted condition by router name."""
    ingress = (kube.get("Route.oapi", "shop", name).get("status") or {}).get("ingress") or ()
    return {entry["routerName"]: entry["conditions"][0]["status"] for entry in ingress}


def test_served_told_and_cleaned_up(lab, old_kube):
    """Routes are served, told their status and warned; entries of those that are not served go away."""
    old_kube.apply([
        legacy("a", "blue", (OTHER,)), legacy("bad", "blue", host="bad.example.com", path="no-slash"),
        legacy("green", "green", (OTHER, OURS), host="green.example.com"),
    ])
    router = Running(lab, labels="shard=blue")
    try:
        router.wait(lambda: entries(old_kube, "a") == {"haproxy": "True", "public": "True"})
        router.wait(lambda: entries(old_kube, "bad") == {"public": "False"})
        assert pool(lab) == {"10.1.1.1:8080"}
        router.wait(lambda: entries(old_kube, "green") == {"haproxy": "True"})
        router.wait(lambda: old_kube.list("Event"))
        (event,) = old_kube.list("Event")
        assert (event["involvedObject"]["apiVersion"], event["involvedObject"]["name"]) == ("v1", "bad")
        old_kube.apply(legacy("new", "blue", host="new.example.com"))
        router.wait(lambda: entries(old_kube, "new") == {"public": "True"})
        held = old_kube.get("Route.oapi", "shop", "a")
        old_kube.apply(held | {"metadata": held["metadata"] | {"labels": {"shard": "green"}}})
        router.wait(lambda: entries(old_kube, "a") == {"haproxy": "True"})
        old_kube.delete("Route.oapi", "shop", "new")
        router.wait(lambda: not any("new" in rule.name for rule in lab.bigip.items("ltm/policy/rules")))
    finally:
        router.stop()
    asked = {entry.path for entry in old_kube.log if "route.openshift.io" in entry.path}
    assert asked == {"/apis/route.openshift.io/v1"}


def test_status_clear(lab, old_kube):
    """`f5router status clear` finds them there too."""
    old_kube.apply([legacy("a", entries=(OTHER, OURS)), legacy("b", entries=(OURS,), host="b.example.com")])
    flags = [f"--config={lab.kubeconfig}", "--status-rate=1000", "--router-name=public"]
    result = CliRunner().invoke(main, ["status", "clear", *flags])
    assert (result.exit_code, "2 are cleared" in result.output) == (0, True), result.output
    assert [entries(old_kube, name) for name in ("a", "b")] == [{"haproxy": "True"}, {}]
