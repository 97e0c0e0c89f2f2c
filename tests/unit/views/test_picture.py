"""The chains of Routes as a graph, read by a parser of the language."""

import dataclasses

import pydot

from f5router.views import chain, picture
from f5router.views.routes import BrokenLink, Link
from tests.unit.views.test_chain import POOL, ROUTE, member


def graph(*routes):
    """Return the boxes by name and the edges of each cluster."""
    (parsed,) = pydot.graph_from_dot_data(picture.dot(routes))
    return [({node.get_name(): node for node in cluster.get_nodes()},
             [(edge.get_source(), edge.get_destination()) for edge in cluster.get_edges()])
            for cluster in sorted(parsed.get_subgraphs(), key=lambda each: each.get_name())]


def test_a_route():
    ((boxes, edges),) = graph(ROUTE)
    steps = chain.steps(ROUTE)
    assert len(boxes) == len(steps)
    last = len(steps) - 1  # two members, both behind the pool
    assert edges == [*((f"r0_{at}", f"r0_{at + 1}") for at in range(last - 2)),
                     (f"r0_{last - 2}", f"r0_{last - 1}"), (f"r0_{last - 2}", f"r0_{last}")]
    assert {box.get("color") for box in boxes.values()} == {"darkgreen"}


def test_a_broken_link_is_red():
    problem = BrokenLink(Link.POOL, "no members")
    ((boxes, _),) = graph(dataclasses.replace(ROUTE, problems=(problem,)))
    assert [box.get("label").split("\\n")[0].strip('"') for box in boxes.values()
            if box.get("color") == "red"] == ["pool"]


def test_a_node_stands_behind_its_members():
    members = (member(1, node="node-1", node_problem="not ready"), member(2, node="node-2"))
    ((boxes, edges),) = graph(dataclasses.replace(ROUTE, pool=dataclasses.replace(POOL, members=members)))
    (node,) = [name for name, box in boxes.items() if box.get("label").startswith('"Node')]
    (behind,) = [source for source, target in edges if target == node]
    assert "10.1.1.1 " in boxes[behind].get("label")


def test_text_of_the_cluster_stays_text():
    """Two Routes, one with all that the language gives a meaning."""
    odd = dataclasses.replace(ROUTE, host='x"] ; evil -> b [label="\\', path="/\n}\x1b")
    (boxes, edges), (others, _) = graph(odd, ROUTE)
    assert boxes.keys() == {name.replace("r1", "r0") for name in others}
    assert not any("evil" in end for edge in edges for end in edge)
    assert "\x1b" not in picture.dot([odd])
