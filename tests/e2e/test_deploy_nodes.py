"""docs/deploy on clusters without openshift-sdn: static routes and node ports, with their rights."""

from contextlib import ExitStack

import pytest
import requests

from tests import manifests
from tests.e2e import deployment
from tests.e2e.site import Site
from tests.waiting import DEADLINE_S

ROLE = "f5router-nodes"
STATIC, NODEPORT = map(deployment.commented, ("ROUTER_F5_STATIC_ROUTES", "ROUTER_POOL_MEMBER_TYPE"))
MODES = pytest.mark.parametrize("mode", [STATIC, NODEPORT], ids=["static routes", "node ports"])


@pytest.fixture
def site(tmp_path):
    """One Node, a Service with a node port, and the BIG-IP beside them."""
    with ExitStack() as stack:
        new_site = Site(stack, tmp_path)
        new_site.load(sdn=False)
        new_site.apply(manifests.node("n1", "10.3.89.1", cidrs=("10.128.0.0/23",)),
                       *manifests.published("shop", "web", pods={"10.128.0.5": "n1"}, local=True))
        new_site.bigip.put_object("net/self", {
            "name": "near", "partition": "Common", "address": "10.3.89.213/24", "vlan": "/Common/internal"})
        yield new_site


@MODES
def test_the_rights_are_enough(site, mode):
    """With 10-account.yaml and 17-nodes-reader.yaml no request is refused."""
    pod = site.start(more=mode)
    pod.until(lambda: pod.get("/readyz").status_code == 200)
    if mode is STATIC:
        assert "/Common/openshift_pods_10.128.0.0_23" in site.paths("net/route")
    else:
        pool = site.bigip.get("ltm/pool/~Common~openshift_shop_web")
        assert [item["name"] for item in pool["membersReference"]["items"]] == ["10.3.89.1:30080"]
        assert site.paths("net/route") == set()
    assert {entry.status for entry in site.kube.log} <= {200, 201}
    assert site.bigip.errors == []


@MODES
@pytest.mark.parametrize("right", deployment.rights(ROLE), ids=lambda right: right[2])
def test_every_right_on_nodes_is_needed(site, mode, right):
    """Without one of them the log has the command that grants it, which this cluster can carry out."""
    site.apply(deployment.role([other for other in deployment.rights(ROLE) if other != right], ROLE))
    pod = site.start(more=mode)
    words = f'cannot {right[2]} resource "nodes" in API group ""'
    pod.until(lambda: any(words in line.get("error", "") for line in pod.lines()))
    told = next(line for line in pod.lines() if words in line.get("error", ""))
    assert told["level"] == "error"
    assert f"oc create clusterrole {ROLE} " in told["error"]
    assert f"add-cluster-role-to-user {ROLE} system:serviceaccount:f5router:f5router" in told["error"]


def test_the_binding(site):
    """Nodes, and nothing that is not needed."""
    token = site.kube.token_for("f5router", "f5router")

    def status(path: str) -> int:
        return requests.get(f"{site.kube.url}{path}", headers={"Authorization": f"Bearer {token}"},
                            verify=site.kube.ca_file, timeout=DEADLINE_S).status_code

    assert [status(f"/api/v1/{kind}") for kind in ("nodes", "nodes/n1", "secrets", "pods")] == [
        200, 403, 403, 403]
    site.kube.delete("ClusterRoleBinding", None, ROLE)
    assert status("/api/v1/nodes") == 403
