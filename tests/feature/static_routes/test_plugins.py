"""Networks of pods that Calico and Cilium gave to the Nodes."""

import pytest

from tests import manifests
from tests.feature.sdn import network_writes
from tests.feature.static_routes.conftest import FLAGS, routes
from tests.feature.static_routes.test_routes import ROUTES
from tests.feature.test_doctor import checks, doctor

KINDS = ("blockaffinities", "ciliumnodes")
CALICO, CILIUM = "crd.projectcalico.org", "cilium.io"
BLOCKS = {"10.244.7.64/26": "10.3.89.1", "10.244.9.0/26": "10.3.89.1", "10.244.8.0/26": "10.3.89.2"}


def block(cidr: str, node: str, **spec) -> dict:
    name = f"{node}-{cidr.replace('.', '-').replace('/', '-')}"
    return {"apiVersion": f"{CALICO}/v1", "kind": "BlockAffinity", "metadata": {"name": name},
            "spec": {"cidr": cidr, "node": node, "state": "confirmed", "deleted": "false", **spec}}


def cilium(node: str, *cidrs: str, pools: tuple[str, ...] = ()) -> dict:
    ipam: dict = {"podCIDRs": list(cidrs)} if cidrs else {}
    if pools:
        ipam["pools"] = {"allocated": [{"pool": f"p{n}", "cidrs": [cidr]} for n, cidr in enumerate(pools)]}
    return {"apiVersion": f"{CILIUM}/v2", "kind": "CiliumNode", "metadata": {"name": node},
            "spec": {"ipam": ipam}}


@pytest.fixture
def calico(near):
    """Blocks of two Nodes, whose podCIDRs Calico does not use."""
    for cidr, gateway in BLOCKS.items():
        near.apply(block(cidr, f"n{gateway[-1]}"))
    return near


def test_blocks_of_calico(calico):
    """Instead of spec.podCIDRs; those that are not confirmed, or are being given back, are left out."""
    calico.apply(block("10.244.1.0/26", "n1", state="pending"), block("10.244.2.0/26", "n1", deleted="true"),
                 block("10.244.3.0/26", "n1", state="pendingDeletion"), block("10.244.4.0/26", "n9"),
                 block("10.244.5.0/26", "n1", type="virtual"))
    assert calico.converge(**FLAGS) == []
    assert routes(calico) == BLOCKS
    calico.clear()
    assert calico.converge(**FLAGS) == []
    assert network_writes(calico) == []


def test_nodes_of_cilium(near):
    near.apply(cilium("n1", "10.0.1.0/24", "10.0.1.0/24"),
               cilium("n2", pools=("10.1.0.0/27", "10.1.0.32/27")))
    assert near.converge(**FLAGS) == []
    assert routes(near) == {
        "10.0.1.0/24": "10.3.89.1", "10.1.0.0/27": "10.3.89.2", "10.1.0.32/27": "10.3.89.2"}


def test_blocks_come_and_go(calico, running):
    """At once, one write for each."""
    router = running(**FLAGS)
    router.wait(lambda: routes(calico) == BLOCKS)
    calico.clear()
    calico.apply(block("10.244.10.0/26", "n2"))
    router.wait(lambda: routes(calico) == {**BLOCKS, "10.244.10.0/26": "10.3.89.2"})
    calico.kube.delete("BlockAffinity", "", "n2-10-244-10-0-26")
    router.wait(lambda: routes(calico) == BLOCKS)
    assert [method for method, _ in network_writes(calico)] == ["POST", "DELETE"]


def test_a_cluster_without_these_kinds(near):
    """No problem, and spec.podCIDRs count."""
    near.kube.withdraw(CALICO, CILIUM)
    assert near.converge(**FLAGS) == []
    assert routes(near) == ROUTES


@pytest.mark.parametrize("lose", [
    pytest.param(lambda kube: kube.forbid("blockaffinities"), id="forbidden"),
    pytest.param(lambda kube: kube.withdraw(CALICO), id="not served at the start"),
])
def test_what_is_not_known_takes_no_route_away(calico, lose):
    """Routes of blocks stay where the next router cannot read them, and go with their Node."""
    assert calico.converge(**FLAGS) == []
    lose(calico.kube)
    assert calico.converge(**FLAGS) == []
    assert routes(calico) == {**BLOCKS, **ROUTES}
    calico.kube.delete("Node", "", "n1")
    assert calico.converge(**FLAGS) == []
    assert set(routes(calico).values()) == {"10.3.89.2"}


def test_a_right_that_is_granted_later(near, running):
    """The routes of podCIDRs go when the blocks are known."""
    near.kube.forbid("blockaffinities")
    router = running(**FLAGS)
    router.wait(lambda: routes(near) == ROUTES)
    near.apply(*(block(cidr, f"n{gateway[-1]}") for cidr, gateway in BLOCKS.items()))
    near.kube.allow("blockaffinities")
    router.wait(lambda: routes(near) == BLOCKS)


def test_a_right_that_is_lost(calico, running):
    """The routes stay as they are."""
    router = running(**FLAGS)
    router.wait(lambda: routes(calico) == BLOCKS)
    calico.kube.forbid("blockaffinities")
    calico.apply(manifests.route("plain"))
    router.wait(lambda: calico.admitted("shop", "plain").get("status") == "True")
    assert routes(calico) == BLOCKS


def test_doctor_names_the_right(near):
    """A warning with the file that grants it; nothing where the kind is not served."""
    near.kube.forbid("blockaffinities")
    near.kube.withdraw(CILIUM)
    texts = [text for _, check, text in checks(doctor(near, "-o", "json", **FLAGS), "warning")
             if check == "rights"]
    assert len(texts) == 2
    assert "may not list blockaffinities.crd.projectcalico.org" in texts[0]
    assert "oc apply -f docs/deploy/21-pod-networks.yaml" in texts[0]
    near.kube.withdraw(CALICO)
    assert not [text for _, check, text in checks(doctor(near, "-o", "json", **FLAGS), "warning", "failure")
                if check in ("rights", "kinds")]
