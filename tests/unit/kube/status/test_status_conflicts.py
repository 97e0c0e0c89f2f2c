"""Statuses that others write too: conflicts, other routers, contention."""

import pytest

from f5router.admission.condition import PENDING, own, same
from f5router.kube.status import status_writer
from tests.unit.kube import objects
from tests.unit.kube.status.writing import (
    DENIED,
    HOST,
    NO,
    OTHER,
    SERVED,
    UNKNOWN,
    A,
    ingress,
    verdicts,
    writes,
)
from tests.waiting import DEADLINE_S


def test_entry_of_another_router_meanwhile(kube, write):
    """Both routers wrote at the same time: a conflict, then both entries."""
    kube.apply(objects.route("a"))
    status = write()
    kube.apply(objects.route("a", ingress=[OTHER]))
    status.submit()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("haproxy",), ("public", "True")]
    assert writes(kube) == [("PATCH", 409), ("PATCH", 200)]


def test_conflict_without_the_right_to_get(kube, write):
    """The role system:router may list and watch only."""
    kube.forbid("routes", ["get"])
    kube.apply(objects.route("a"))
    status = write()
    kube.apply(objects.route("a", ingress=[OTHER]))
    status.submit()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("haproxy",), ("public", "True")]


def test_conflict_until_the_watch_catches_up(kube, write):
    kube.apply(objects.route("a"))
    status = write(observing=False)
    kube.apply(objects.route("a", ingress=[OTHER]))
    status.submit()
    assert kube.wait_for(lambda: writes(kube).count(("PATCH", 409)) >= 2)
    assert not status.flush(0)
    status.cluster.read()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("haproxy",), ("public", "True")]


def test_update_conflict(kube, write):
    kube.forbid("routes/status", ["patch"])
    kube.apply(objects.route("a"))
    kube.inject("409", method="PUT")
    status = write()
    status.submit()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "True")]


@pytest.mark.parametrize(("fault", "options", "most"), [
    pytest.param("403", {}, 4, id="403: of all"),
    pytest.param("403", {"message": DENIED}, 6, id="403 of a webhook: each once"),
    pytest.param("404", {}, 6, id="404: each once"),
    pytest.param("409", {}, 6 * 8, id="409: each by itself"),
    pytest.param("422", {}, 6, id="422: each once"),
    pytest.param("429", {"retry_after": 60}, 1, id="429: what the server asked for"),
    pytest.param("500", {}, 4, id="500: a quarter of a second"),
    pytest.param("503", {}, 3, id="503: of all"),
])
def test_no_loop(kube, write, fault, options, most):
    """Requests for six Routes in less than a second, at a rate of a thousand."""
    kube.apply([objects.route(f"r{number}") for number in range(6)])
    kube.inject(fault, times=None, path="/status", **options)
    status = write(forbidden_s=60)
    for number in range(6):
        status.submit(f"r{number}")
    assert kube.wait_for(lambda: writes(kube))
    status.flush(0.7)
    assert len(writes(kube)) <= most


def test_a_route_that_changes_all_the_time(kube, write):
    """It costs its own status a delay, not that of others: nobody writes our entry."""
    kube.apply([objects.route("a"), *(objects.route(f"r{number}") for number in range(5))])
    kube.inject("409", times=None, path="/a/status")
    status = write()
    status.submit()
    assert kube.wait_for(lambda: writes(kube).count(("PATCH", 409)) >= 4)
    for number in range(5):
        status.submit(f"r{number}")
    assert kube.wait_for(lambda: all(verdicts(kube, f"r{number}") for number in range(5)))
    assert not status.flush(0)
    kube.clear_faults()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "True")]
    assert status.writer.counts["written"] == 6


@pytest.mark.parametrize(("ingress", "verdict", "new", "expected"), [
    pytest.param([], PENDING, True, [("public", "Unknown")], id="no status"),
    pytest.param([OTHER], PENDING, True, [("haproxy",), ("public", "Unknown")], id="another router's"),
    pytest.param([UNKNOWN], NO, True, [("public", "False")], id="pending, and then refused"),
    pytest.param([SERVED], PENDING, False, [("public", "True")], id="old statuses stay"),
    pytest.param([SERVED], NO, False, [("public", "True")], id="whatever is wrong now"),
])
def test_only_where_nothing_was_said(kube, write, ingress, verdict, new, expected):
    kube.apply(objects.route("a", ingress=ingress))
    status = write()
    assert status.writer.submit_new(A, status.cluster.route(A).uid, verdict, HOST) is new
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == expected


def test_pending_is_written_once(kube, write):
    kube.apply(objects.route("a"))
    status = write()
    for _ in range(3):
        assert status.writer.submit_new(A, status.cluster.route(A).uid, PENDING, HOST)
        assert status.flush(DEADLINE_S)
    assert writes(kube) == [("PATCH", 200)]


def test_what_was_judged_is_not_new(kube, write):
    """Its status waits to be written, perhaps for minutes."""
    kube.apply(objects.route("a"))
    kube.inject("503", method="PATCH", retry_after=0)
    status = write()
    status.submit()
    assert status.writer.submit_new(A, status.cluster.route(A).uid, PENDING, HOST) is False
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "True")]


def test_another_replica_was_quicker(kube, write):
    """It reaches the BIG-IP, we do not: its answer stays, also when ours was asked for before."""
    kube.apply(objects.route("a"))
    kube.inject("503", method="PATCH", retry_after=0)
    status = write()
    assert status.writer.submit_new(A, status.cluster.route(A).uid, PENDING, HOST)
    assert kube.wait_for(lambda: writes(kube) == [("PATCH", 503)])
    kube.apply(objects.route("a", ingress=[SERVED]))
    assert status.flush(DEADLINE_S)
    assert ingress(kube) == [SERVED]


@pytest.mark.parametrize("wrong", [
    pytest.param([], id="removed"),
    pytest.param([OTHER, UNKNOWN], id="changed"),
    pytest.param([OTHER], id="removed beside another's"),
    pytest.param([SERVED | {"routerCanonicalHostname": "x.example.com"}], id="another canonical name"),
])
def test_an_entry_that_somebody_changed(kube, write, wrong, caplog):
    """Set right once, as upstream's router does after clear-route-status; not a second time so soon."""
    kube.apply(objects.route("a"))
    status = write(canonical_hostname="r.example.com")
    status.submit()
    assert status.flush(DEADLINE_S)
    right = ingress(kube)
    kube.apply(objects.route("a", ingress=wrong))
    status.cluster.read()
    assert status.flush(DEADLINE_S)
    assert same(own(ingress(kube), "public"), right[0])
    assert (status.writer.contended(), caplog.records) == (0, [])
    kube.apply(objects.route("a", ingress=wrong))
    status.cluster.read()
    assert status.flush(DEADLINE_S)
    assert ingress(kube) == wrong
    assert status.writer.contended() == 1
    (told,) = caplog.records
    assert "another router of the same name" in told.message


def test_contention_is_logged_without_the_lock(kube, write, unlocked):
    """Every worker and watch takes it."""
    kube.apply(objects.route("a"))
    status = write()
    logged = unlocked(status_writer.log, status.writer.contended)
    status.submit()
    assert status.flush(DEADLINE_S)
    for _ in range(2):
        kube.apply(objects.route("a", ingress=[OTHER]))
        status.cluster.read()
        assert status.flush(DEADLINE_S)
    assert logged == {"another router of the same name writes different statuses: give each router its own "
                      "--name": True}


def test_an_entry_is_not_repaired_where_nothing_is_wished(kube, write):
    kube.apply(objects.route("a", ingress=[SERVED]))
    status = write()
    kube.apply(objects.route("a"))
    status.cluster.read()
    assert status.flush(0)
    assert writes(kube) == []
