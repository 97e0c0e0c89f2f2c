"""delegation_graph.py: the counts of Contour's metrics."""

from f5router.model.cluster import Key
from f5router.sources.delegation_graph import GraphStatus, Labels, StatusCounts

ROOT, VERTEX = Key("shop", "root"), Key("bank", "v")


def test_counts():
    counts = StatusCounts()
    counts.put(ROOT, GraphStatus("valid", "", "a.b"), is_root=True)
    counts.put(VERTEX, GraphStatus("orphaned", ""))
    assert counts.counts == {}
    counts.publish(7.0)
    assert counts.rebuilt_at == 7.0
    assert counts.counts == {
        Labels("total", "shop"): 1, Labels("root", "shop"): 1, Labels("valid", "shop", "a.b"): 1,
        Labels("total", "bank"): 1, Labels("orphaned", "bank"): 1}


def test_labels_vanish():
    counts = StatusCounts()
    counts.put(ROOT, GraphStatus("valid", "", "a.b"), is_root=True)
    counts.put(ROOT, GraphStatus("invalid", "", "c" * 300), is_root=True)
    counts.put(VERTEX, GraphStatus("valid", ""))
    counts.put(VERTEX, None)
    counts.publish(1.0)
    assert counts.counts == {Labels("total", "shop"): 1, Labels("root", "shop"): 1,
                             Labels("invalid", "shop", "c" * 253): 1}
