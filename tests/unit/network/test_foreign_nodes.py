"""Members on LTM nodes that somebody else made."""

import pytest

from f5router.model.ltm import Pool, PoolMember
from f5router.model.ltm_nodes import LTMNode, NodeMap, node_map
from f5router.model.texts import Findings
from f5router.network.pool_members import disabled_node_findings, foreign_node_findings
from tests.rows import rows

A, B = "10.1.1.1", "10.1.1.2"
WEB = LTMNode("/Common/web", A)
K8S = LTMNode(f"/k8s/{A}", A)
ADVICE = "Controllers that share pods need their nodes in /Common (--f5-node-partition; CIS: --share-nodes)"


def left_out(path: str, address: str) -> str:
    return (f"left out of 1 pool: LTM node {path} has the address {address}; pools of /P cannot use a node "
            f"of /k8s. {ADVICE}")


NO_K8S = left_out(f"/k8s/{A}", A)


def pool(*addresses: str, name: str = "web") -> Pool:
    return Pool(f"/P/{name}", members=frozenset(PoolMember(address, 8080) for address in addresses))


@rows(("nodes", "pools", "problems", "warnings"), [
    pytest.param([], [pool(A)], [], []),
    pytest.param([LTMNode("/Common/web", "10.9.9.9")], [pool(A)], [], []),
    pytest.param([LTMNode("/Common/web", A, domain=2)], [pool(A)], [], []),
    pytest.param([LTMNode("/Q/web", A)], [pool(A)], [], []),
    pytest.param([WEB], [pool(A), pool(A, B, name="b")], [], [
        f"members use 1 LTM node of another name: /Common/web ({A})"]),
    pytest.param([WEB, LTMNode("/Common/api", B)], [pool(A, B)], [], [
        f"members use 2 LTM nodes of other names: /Common/api ({B}), /Common/web ({A})"]),
    pytest.param([K8S], [pool(A, B)], [], [NO_K8S]),
    pytest.param([K8S], [pool(A)], [
        "1 pool would have no member, as LTM nodes of others have the addresses of the pods: /P/web"],
        [NO_K8S]),
    pytest.param([LTMNode("/Common/_auto_10.1.1.1", A, resolved=True)], [pool(A, B)], [], [
        f"left out of 1 pool: LTM node /Common/_auto_{A}, which comes from an FQDN, has the address {A}"]),
    pytest.param([LTMNode("/P/web:1", A)], [pool(A, B)], [], [
        f"left out of 1 pool: LTM node /P/web:1 has the address {A}, and a colon in its name"]),
    pytest.param([LTMNode("/P/2001:DB8::1", "2001:db8::1")],
                                            [pool("2001:db8::1")], [], [
        "members use 1 LTM node of another name: /P/2001:DB8::1 (2001:db8::1)"]),
    pytest.param([LTMNode(f"/k8s/n{at}", f"10.1.1.{at}") for at in range(1, 6)],
             [pool(*(f"10.1.1.{at}" for at in range(1, 7)))], [], [
        *(left_out(f"/k8s/n{at}", f"10.1.1.{at}") for at in range(1, 4)),
        "2 more LTM nodes leave pods out of pools"]),
])
def test_findings(nodes, pools, problems, warnings):
    assert foreign_node_findings(node_map(nodes, {"Q": 3}, "P"), pools) == Findings(tuple(problems),
                                                                                    tuple(warnings))


OFF = f"1 LTM node of pool members is disabled or forced offline and gets no new clients: /P/{A} ({A})"


@rows(("disabled", "pools", "expected"), [
    pytest.param([], [pool(A)], Findings()),
    pytest.param([A], [], Findings()),
    pytest.param([A], [pool(), pool(B)], Findings()),
    pytest.param([A], [pool(A, B)], Findings(warnings=(OFF,))),
    pytest.param([A], [pool(A), pool(B, name="b")],
                 Findings(warnings=(f"{OFF}; 1 pool without another member: /P/web",))),
    pytest.param([A, B], [pool(A, B, "10.9.9.9")], Findings(warnings=(
        "2 LTM nodes of pool members are disabled or forced offline and get no new clients: "
        f"/P/{A} ({A}), /P/{B} ({B})",))),
    pytest.param([A], [pool(A), pool(name="empty")],
                 Findings((f"{OFF}; 1 pool without another member: /P/web",))),
])
def test_disabled_nodes(disabled, pools, expected):
    nodes = {address: LTMNode(f"/P/{address}", address, state="disabled") for address in disabled}
    assert disabled_node_findings(NodeMap({}, "P", disabled=nodes), pools) == expected
