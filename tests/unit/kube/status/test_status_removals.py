"""Statuses of Routes that are deleted, return or leave the selection."""

import pytest

from f5router.model.selection import Selection
from tests.unit.kube import objects
from tests.unit.kube.status.writing import HOST, NO, OTHER, SERVED, A, ingress, verdicts, writes
from tests.waiting import DEADLINE_S


@pytest.mark.parametrize("gone", [
    pytest.param(("404", {"message": "not here", "text": '{"details": {"name": "a"}}'}), id="404"),
    pytest.param(None, id="deleted"),
])
def test_deleted_route(kube, write, gone, caplog):
    """There is nothing to write, and nothing to say."""
    kube.apply(objects.route("a"))
    status = write()
    if gone:
        kube.inject(gone[0], **gone[1])
    else:
        kube.delete("Route", "shop", "a")
    status.submit()
    assert status.flush(DEADLINE_S)
    assert writes(kube) == [("PATCH", 404)]
    assert caplog.records == []


def test_recreated_route(kube, write):
    """Another object of the same name is judged anew."""
    kube.apply(objects.route("a"))
    status = write()
    kube.delete("Route", "shop", "a")
    kube.apply(objects.route("a"))
    status.submit(verdict=NO)
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == []


def test_a_route_that_was_away_just_then(kube, write):
    """It left the selection and came back between two passes, which saw no change: it has its status."""
    kube.apply(objects.route("a"))
    status = write()
    route = status.cluster.routes.pop(A)
    status.submit(uid=route.uid)
    assert status.flush(DEADLINE_S)
    assert writes(kube) == []
    status.cluster.routes[A] = route
    status.writer.route_updated(route, route)
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "True")]
    kube.clear_log()
    status.writer.route_updated(route, route)
    assert status.flush(DEADLINE_S)
    assert writes(kube) == []


@pytest.mark.parametrize("case", ["a conflict", "an update", "a removal"])
def test_a_route_that_left_just_then(kube, write, case):
    """The Route of a reply is not served: it may be for another router's BIG-IP only."""
    def labelled(shard: str, host: str) -> dict:
        obj = objects.route("a", host=host, ingress=[SERVED])
        obj["metadata"]["labels"] = {"shard": shard}
        return obj

    kube.apply(labelled("blue", HOST))
    status = write(selection=Selection(labels="shard=blue"))
    known = status.cluster.route(A)
    if case == "a removal":
        status.submit()
        assert status.flush(DEADLINE_S)
    kube.apply(labelled("green", "internal.example.com"))
    if case == "an update":
        kube.forbid("routes/status", ["patch"])
    if case == "a removal":
        status.writer.route_removed(known, remove=True)
    else:
        status.submit(verdict=NO)
    assert kube.wait_for(lambda: any("routes?" in f"{entry.path}?" for entry in kube.log))
    status.flush(0.2)
    assert status.cluster.route(A) == known
    assert verdicts(kube) == ([] if case == "a removal" else [("public", "True")])


@pytest.mark.parametrize(("meanwhile", "expected"), [
    pytest.param(None, [("haproxy",)], id="as we wrote it"),
    pytest.param([OTHER, SERVED | {"host": "b.example.com"}], [("haproxy",), ("public", "True")],
                 id="another router of the name has taken over"),
    pytest.param([OTHER], [("haproxy",)], id="removed already"),
])
def test_left(kube, write, meanwhile, expected):
    """Our entry goes, nothing else."""
    kube.apply(objects.route("a", ingress=[OTHER]))
    status = write()
    status.submit()
    assert status.flush(DEADLINE_S)
    route = status.cluster.route(A)
    if meanwhile is not None:
        kube.apply(objects.route("a", ingress=meanwhile))
    kube.clear_log()
    status.writer.route_removed(route, remove=True)
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == expected
    assert len(writes(kube)) == (meanwhile is None)
    assert not status.writer.is_requested(A, route.uid)


def test_left_and_came_back(kube, write):
    """The newest wish wins over the removal, and sets right what it did."""
    kube.apply(objects.route("a"))
    status = write()
    status.submit()
    assert status.flush(DEADLINE_S)
    route = status.cluster.route(A)
    status.writer.route_removed(route, remove=True)
    status.submit(verdict=NO)
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "False")]
    assert status.writer.is_requested(A, route.uid)


def test_left_before_it_was_written(kube, write):
    """The ClusterWatcher may know the Route still: one of a namespace that is not selected any more."""
    kube.apply(objects.route("a"))
    kube.inject("503", method="PATCH", retry_after=0)
    status = write()
    status.submit()
    assert kube.wait_for(lambda: writes(kube) == [("PATCH", 503)])
    status.writer.route_removed(status.cluster.route(A), remove=False)
    assert status.flush(DEADLINE_S)
    assert ingress(kube) == []


@pytest.mark.parametrize(("meanwhile", "expected"), [
    pytest.param(None, [("haproxy",)], id="nobody"),
    pytest.param([OTHER, SERVED | {"host": "b.example.com"}], [("haproxy",), ("public", "True")],
                 id="another router of the name has taken over"),
])
def test_left_before_an_old_entry_was_set_right(kube, write, meanwhile, expected):
    """One of a former run, as when ten thousand others are written first: it goes too."""
    kube.apply([objects.route("a", ingress=[OTHER, SERVED]), objects.route("b")])
    status = write()
    kube.inject("503", method="PATCH", retry_after=1)
    status.submit("b")
    assert kube.wait_for(lambda: writes(kube) == [("PATCH", 503)])
    status.submit(verdict=NO)
    if meanwhile is not None:
        kube.apply(objects.route("a", ingress=meanwhile))
    status.writer.route_removed(status.cluster.route(A), remove=True)
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == expected


@pytest.mark.parametrize("fault", ["409", "503"])
def test_left_with_trouble(kube, write, fault):
    kube.apply(objects.route("a", ingress=[OTHER]))
    status = write()
    status.submit()
    assert status.flush(DEADLINE_S)
    kube.inject(fault, method="PATCH", times=2)
    status.writer.route_removed(status.cluster.route(A), remove=True)
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("haproxy",)]


@pytest.mark.parametrize("case", ["kept", "deleted", "recreated", "never written", "switched off"])
def test_left_without_a_removal(kube, write, case):
    kube.apply(objects.route("a", ingress=[SERVED]))
    status = write(enabled=case != "switched off")
    route = status.cluster.route(A)
    if case != "never written":
        status.submit(verdict=NO)
        assert status.flush(DEADLINE_S)
    if case in ("deleted", "recreated"):
        kube.delete("Route", "shop", "a")
    if case == "recreated":
        kube.apply(objects.route("a", ingress=[SERVED]))
    kube.clear_log()
    status.writer.route_removed(route, remove=case != "kept")
    assert status.flush(DEADLINE_S)
    assert writes(kube) == []
