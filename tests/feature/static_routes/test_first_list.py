"""A first list that lacks all Nodes takes nothing away before a second one confirms it."""

from tests import manifests
from tests.feature.sdn import network_writes
from tests.feature.static_routes.conftest import FLAGS, routes
from tests.feature.static_routes.test_routes import ROUTES
from tests.feature.test_mass_delete import messages
from tests.feature.test_nodeport import BOTH, members

NODEPORT = {"pool_member_type": "nodeport"}


def test_a_first_list_without_nodes(near, caplog, running):
    """It may be wrong: the routes stay until a second list confirms it, and for good if it does not."""
    near.converge(**FLAGS)
    near.clear()
    near.kube.inject("empty", path="/nodes")
    router = running(**FLAGS)
    router.wait(lambda: messages(caplog, "holding deletes", "problem"))
    ((problem,),) = messages(caplog, "holding deletes", "problem")
    assert "Keeping 2 FDB records or static routes: their Nodes are not listed" in problem
    router.wait(lambda: messages(caplog, "held-back deletes released"))
    assert routes(near) == ROUTES
    assert network_writes(near) == []


def test_a_second_list_without_nodes(near, caplog, running):
    near.converge(**FLAGS)
    for name in ("n1", "n2"):
        near.kube.delete("Node", "", name)
    router = running(**FLAGS)
    router.wait(lambda: not routes(near))
    assert messages(caplog, "holding deletes")


def test_node_ports(near, caplog, running):
    """Pools keep Nodes as members, however few pools there are."""
    near.apply(manifests.node("n1", "10.3.89.1"), manifests.node("n2", "10.3.89.2"), manifests.route("plain"),
               *manifests.published("shop", "web", pods={"10.128.0.5": "n1"}))
    assert near.converge(**NODEPORT) == []
    assert members(near) == BOTH
    near.clear()
    near.kube.inject("empty", path="/nodes")
    router = running(**NODEPORT)
    router.wait(lambda: messages(caplog, "holding deletes", "problem"))
    ((problem,),) = messages(caplog, "holding deletes", "problem")
    assert "Keeping the members of 1 pools: no Node is listed" in problem
    router.wait(lambda: messages(caplog, "held-back deletes released"))
    assert members(near) == BOTH
    assert [path for _, path in near.writes() if "/pool" in path] == []
