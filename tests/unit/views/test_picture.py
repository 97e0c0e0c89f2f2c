"""The way to the pods of Routes as a graph, read by a parser of the language."""

import dataclasses

import pydot

from f5router.model import findings, texts
from f5router.model.findings import Link, finding
from f5router.views import chain
from f5router.views.requests import State
from f5router.views.route_view import RuleView, Status, VirtualServerView
from tests.unit.views.test_chain import POOL, ROUTE, member

SECURE = VirtualServerView("/Common/s", "10.0.0.1", 443, exists=True)
EDGE = dataclasses.replace(ROUTE, termination="edge", insecure="Redirect",
                           virtual_servers=(SECURE, *ROUTE.virtual_servers), rules=(
    RuleView("a", "/Common/openshift_insecure_routes", "", "redirect 302 to https", State.IN_PLACE),
    RuleView("a", "/Common/openshift_secure_routes", "", "pool /Common/p", State.IN_PLACE)))


def graph(*routes):
    """Return the boxes by name and the edges of each cluster."""
    (parsed,) = pydot.graph_from_dot_data(chain.dot(routes))
    return [({node.get_name(): node for node in cluster.get_nodes()},
             [(edge.get_source(), edge.get_destination()) for edge in cluster.get_edges()])
            for cluster in sorted(parsed.get_subgraphs(), key=lambda each: each.get_name())]


def first_lines(boxes, edges):
    """Return the edges with the first two lines of both ends."""
    text = {name: " ".join(box.get("label").strip('"').split("\\n")[:2]) for name, box in boxes.items()}
    return [(text[source], text[target]) for source, target in edges]


def test_a_route():
    ((boxes, edges),) = graph(ROUTE)
    assert first_lines(boxes, edges) == [
        ("client a.com", "virtual server /Common/v"),
        ("virtual server /Common/v", "rule r in /Common/policy"),
        ("virtual server /Common/v", "rule r-1 in /Common/policy"),
        ("rule r in /Common/policy", "pool /Common/p"), ("rule r-1 in /Common/policy", "pool /Common/p"),
        ("pool /Common/p", "member 10.1.1.1 port 80"), ("pool /Common/p", "member 10.1.1.10 port 80")]
    assert {box.get("color") for box in boxes.values()} == {"darkgreen"}


def test_each_rule_stands_behind_its_virtual_server():
    """And only the one that leads to the pool stands before it."""
    ((boxes, edges),) = graph(EDGE)
    between = first_lines(boxes, edges)
    assert ("virtual server /Common/v", "rule a in /Common/openshift_insecure_routes") in between
    assert ("virtual server /Common/s", "rule a in /Common/openshift_secure_routes") in between
    assert [source for source, target in between if target == "pool /Common/p"] == [
        "rule a in /Common/openshift_secure_routes"]


def test_a_broken_link_is_red():
    problem = finding(Link.POOL, texts.NO_ENDPOINTS, "no members", at="/Common/p")
    ((boxes, _),) = graph(dataclasses.replace(ROUTE, problems=(problem,)))
    (broken,) = [box.get("label") for box in boxes.values() if box.get("color") == "red"]
    assert broken == '"pool\\n/Common/p\\nround-robin\\nno members"'


def test_a_rejected_route_ends_there():
    problem = finding(Link.ROUTE, findings.CLAIMED, "HostAlreadyClaimed: x")
    ((boxes, edges),) = graph(dataclasses.replace(ROUTE, problems=(problem,), status=Status.REJECTED))
    assert [box.get("color") for box in boxes.values()] == ["darkgreen", "red"]
    assert first_lines(boxes, edges) == [("client a.com", "Route shop/a is not served")]


def test_a_node_stands_behind_its_members():
    members = (member(1, node="node-1", node_problem="not ready"), member(2, node="node-2", vtep="10.3.0.2"),
               member(3, node="node-2", vtep="10.3.0.2"))
    ill = finding(Link.NODE, findings.NODE_NOT_REACHED, "node-1: not ready", at="node-1")
    ((boxes, edges),) = graph(dataclasses.replace(
        ROUTE, pool=dataclasses.replace(POOL, members=members), problems=(ill,)))
    behind = [(source, target) for source, target in first_lines(boxes, edges) if target.startswith("Node")]
    assert behind == [("member 10.1.1.1 port 80", "Node node-1"), ("member 10.1.1.2 port 80", "Node node-2"),
                      ("member 10.1.1.3 port 80", "Node node-2")]
    labels = [box.get("label").strip('"') for box in boxes.values() if "Node" in box.get("label")]
    assert labels == ["Node\\nnode-1\\nnode-1: not ready", "Node\\nnode-2\\nby way of 10.3.0.2"]


def test_members_are_bounded():
    members = tuple(member(number) for number in range(1, 200))
    ((boxes, _),) = graph(dataclasses.replace(ROUTE, pool=dataclasses.replace(POOL, members=members)))
    assert len(boxes) < chain.MOST_DRAWN + 10
    assert any("179 more" in box.get("label") for box in boxes.values())


def test_text_of_the_cluster_stays_text():
    """Two Routes, one with all that the language gives a meaning."""
    odd = dataclasses.replace(ROUTE, host='x"] ; evil -> b [label="\\', path="/\n}\x1b")
    (boxes, edges), (others, _) = graph(odd, ROUTE)
    assert boxes.keys() == {name.replace("r1", "r0") for name in others}
    assert not any("evil" in end for edge in edges for end in edge)
    assert "\x1b" not in chain.dot([odd])
