"""kind_states.py: which kinds are awaited, and why one cannot be read."""

import logging
import math

import pytest

from f5router.kube.watch.kind_states import KindStates
from f5router.kube.watch.sources import HOST_SUBNETS, NODES, ROUTES, SERVICES, TCP_ROUTES
from f5router.model.gateway import GATEWAY, TCP_ROUTE

WHY = "GET /apis/x: 403"


@pytest.fixture
def kinds(clock) -> KindStates:
    return KindStates([ROUTES, NODES, HOST_SUBNETS], {NODES, HOST_SUBNETS}, clock)


def test_complete_when_each_is_listed(kinds):
    for source in (ROUTES, NODES):
        kinds.record_list(source)
        assert not kinds.is_complete()
    kinds.record_list(HOST_SUBNETS)
    assert kinds.is_complete()


def test_only_a_dispensable_kind_is_given_up(kinds):
    assert not kinds.record_problem(ROUTES, WHY)
    assert kinds.record_problem(NODES, WHY)
    kinds.record_list(HOST_SUBNETS)
    assert not kinds.is_complete()
    kinds.record_list(ROUTES)
    assert kinds.is_complete()


def test_first_list_of_a_dispensable_kind(kinds):
    """The objects of the device that depend on it are known from then on."""
    assert [kinds.record_list(source) for source in (ROUTES, NODES, NODES)] == [False, True, False]
    assert kinds.is_listed(NODES)
    assert not kinds.is_listed(HOST_SUBNETS)


def test_a_kind_that_is_served_again(kinds):
    """Its first list is news once its absence is settled; a single look may be wrong."""
    kinds.record_list(ROUTES)
    kinds.record_absence(ROUTES)
    assert not kinds.record_list(ROUTES)
    kinds.record_absence(ROUTES, sure=True)
    assert [kinds.record_list(ROUTES) for _ in range(2)] == [True, False]


def test_routes_of_gateways_that_are_absent():
    kinds = KindStates([TCP_ROUTES], [TCP_ROUTES])
    kinds.record_absence(TCP_ROUTES)
    assert kinds.absent([GATEWAY]) == frozenset()
    kinds.record_absence(TCP_ROUTES, sure=True)
    assert (kinds.absent([GATEWAY]), kinds.absent([])) == ({TCP_ROUTE}, frozenset())
    kinds.record_list(TCP_ROUTES)
    assert kinds.absent([GATEWAY]) == frozenset()


def test_missing(kinds):
    kinds.record_list(NODES)
    assert set(kinds.missing()) == {"routes are not listed yet", "hostsubnets are not listed yet"}
    kinds.record_problem(ROUTES, WHY)
    kinds.record_problem(HOST_SUBNETS, "GET /apis/y: 403")
    assert kinds.missing() == (f"KindNotReadable: {WHY}",)
    assert kinds.problems() == (WHY,)
    assert kinds.problem(HOST_SUBNETS) == "GET /apis/y: 403"
    kinds.record_problem(ROUTES, "")
    assert kinds.missing() == ("routes are not listed yet",)
    assert kinds.problems() == ()


def test_without_its_namespace_nothing_else_is_missing(kinds, clock):
    kinds.record_problem(ROUTES, WHY)
    clock.now += 5
    kinds.record_namespace("shop", "no such namespace")
    assert kinds.missing() == ("no such namespace",)
    assert kinds.refused_since() == clock()
    kinds.record_namespace("shop", "")
    assert f"KindNotReadable: {WHY}" in kinds.missing()
    assert kinds.refused_since() == clock() - 5


def test_refused_since(kinds, clock):
    """The first refusal counts, and only while the kind is awaited."""
    assert kinds.refused_since() == math.inf
    kinds.record_problem(NODES, WHY)
    assert kinds.refused_since() == math.inf
    kinds.record_problem(ROUTES, WHY)
    began = clock()
    clock.now += 5
    kinds.record_problem(ROUTES, "GET /apis/x: 404")
    assert kinds.refused_since() == began
    kinds.record_list(ROUTES)
    assert kinds.refused_since() == math.inf


def test_required(kinds):
    """Neither an optional kind, nor a dispensable one while it cannot be read."""
    sources = (ROUTES, SERVICES, NODES, HOST_SUBNETS)
    assert kinds.required(sources) == [ROUTES, SERVICES, NODES]
    kinds.record_problem(NODES, WHY)
    kinds.record_problem(ROUTES, WHY)
    assert kinds.required(sources) == [ROUTES, SERVICES]
    kinds.record_problem(NODES, "")
    assert kinds.required(sources) == [ROUTES, SERVICES, NODES]


def test_each_problem_is_logged_when_it_begins_and_ends(kinds, caplog):
    caplog.set_level(logging.INFO)
    for source, problem in ((ROUTES, WHY), (ROUTES, WHY), (HOST_SUBNETS, WHY), (ROUTES, ""), (ROUTES, "")):
        kinds.record_problem(source, problem)
    assert [(record.levelname, record.message, record.kind) for record in caplog.records] == [
        ("ERROR", "kind not readable", "routes"), ("INFO", "kind not readable", "hostsubnets"),
        ("INFO", "kind readable again", "routes")]


def test_looks(kinds, caplog):
    """A look finds a kind forbidden while its watch goes on, and the watch may be refused later."""
    caplog.set_level(logging.INFO)
    for source in (ROUTES, NODES, HOST_SUBNETS):
        kinds.record_list(source)
    kinds.record_look(ROUTES, "")
    assert (kinds.missing(), kinds.unreadable()) == ((), set())
    kinds.record_look(ROUTES, WHY)
    kinds.record_look(ROUTES, WHY)
    kinds.record_look(NODES, WHY)
    assert (kinds.missing(), kinds.degraded()) == ((f"KindNotReadable: {WHY}",), (f"KindNotReadable: {WHY}",))
    assert kinds.unreadable() == {"routes", "nodes"}
    kinds.record_look(NODES, "")
    kinds.record_problem(ROUTES, "refused")
    kinds.record_look(ROUTES, WHY)
    assert kinds.missing() == ("KindNotReadable: refused",)
    kinds.record_problem(ROUTES, "")
    assert kinds.missing() == ()
    assert [(record.message, record.kind) for record in caplog.records] == [
        ("kind not readable", "routes"), ("kind not readable", "nodes"), ("kind readable again", "nodes"),
        ("kind readable again", "routes")]


def test_a_kind_that_is_surely_absent_is_known_at_once(kinds):
    assert kinds.record_absence(HOST_SUBNETS)
    assert not kinds.is_known(HOST_SUBNETS)
    assert kinds.record_absence(HOST_SUBNETS, sure=True)
    assert kinds.is_known(HOST_SUBNETS)
    assert not kinds.record_absence(HOST_SUBNETS, sure=True)
