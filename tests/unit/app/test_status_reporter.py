"""Statuses and Events after passes: what is written, and what is not repeated."""

import dataclasses
from types import SimpleNamespace

import pytest

from f5router.admission import condition
from f5router.admission.admission import Rejection
from f5router.admission.condition import Verdict
from f5router.app.reports import NOT_SERVED, NOTICED, Reports
from f5router.app.status_reporter import StatusReporter
from f5router.icontrol import own_servers
from f5router.model.cluster import Key
from f5router.model.findings import CLAIMED
from f5router.model.texts import Findings, Problem
from f5router.reconcile.report import Report
from tests.builders import route, virtual

A, B = route("a"), route("b")
ADMITTED = Verdict(True)
INVALID = Verdict(False, "ExtendedValidationFailed", "spec.path: bad")
NO_ENDPOINTS, ANNOTATION = Problem("NoEndpoints", "no pods"), Problem("UnsupportedAnnotation", "unknown")
OTHER = Verdict(False, "ExtendedValidationFailed", "spec.path: worse")


class Statuses:
    """A StatusWriter that keeps what was submitted."""

    def __init__(self, *, written: bool = True, refusal: str = ""):
        self.log: list[tuple] = []
        self.known: set[Key] = set()
        self.written, self.reason = written, refusal

    def submit(self, key, uid, verdict, host):
        self.known.add(key)
        self.log.append(("status", key.name, verdict.reason or "admitted"))

    def submit_new(self, key, uid, verdict, host):
        if key in self.known:
            return False
        self.submit(key, uid, verdict, host)
        return True

    def route_removed(self, removed, *, remove):
        self.log.append(("removed", removed.key.name, remove))

    def drop_requests(self):
        self.log.append(("drop",))

    def flush(self, timeout_s, *, unless_forbidden=False):
        return self.written and unless_forbidden

    def refusal(self):
        return self.reason


class Events(list):
    """An EventWriter that keeps what was sent."""

    def warn(self, route, reason, text):
        self.append((route.key.name, reason, text))

    def flush(self, timeout_s):
        return True


class World:
    """A StatusReporter between scripted neighbours."""

    def __init__(self, *routes, rejections=(), clean=False, **statuses):
        self.routes = {route.key: SimpleNamespace(route=route) for route in routes}
        self.rejections = dict(rejections)
        self.findings, self.warnings, self.on_virtual_servers = Findings(), (), Findings()
        engine = SimpleNamespace(
            routes=lambda: self.routes, rejection=self.rejections.get,
            route=lambda key: self.routes[key].route if key in self.routes else None)
        verdicts = SimpleNamespace(network_findings=lambda: self.findings,
                                   virtual_server_findings=lambda: self.on_virtual_servers)
        self.slow_requests = ()
        client = SimpleNamespace(slow_requests=SimpleNamespace(warnings=lambda: self.slow_requests))
        reconciler = SimpleNamespace(
            engine=engine, verdicts=verdicts,
            device=SimpleNamespace(own_servers=own_servers.NONE, client=client))
        self.statuses, self.events = Statuses(**statuses), Events()
        self.reporter = StatusReporter(
            SimpleNamespace(warnings=lambda: self.warnings), reconciler, self.statuses, self.events,
            Reports(), clean=clean, clock=lambda: 0.0)

    def passed(self, verdicts=(), warnings=(), removed=()) -> None:
        self.reporter.passed(Report(
            full=False, verdicts={route.key: verdict for route, verdict in dict(verdicts).items()},
            warnings={route.key: texts for route, texts in dict(warnings).items()},
            removed={route.key: route for route in removed}))


def logged(caplog, message: str) -> list[str]:
    return [record.text if message in (NOT_SERVED, NOTICED) else record.problem
            for record in caplog.records if record.getMessage() == message]


def test_a_verdict_is_written_and_a_rejection_is_an_event(caplog):
    world = World(A, B)
    world.passed({A: ADMITTED, B: INVALID})
    assert world.statuses.log == [("status", "a", "admitted"), ("status", "b", INVALID.reason)]
    assert world.events == [("b", INVALID.reason, INVALID.message)]
    assert logged(caplog, NOT_SERVED) == [INVALID.message]


def test_an_event_is_not_repeated_until_its_text_changes():
    """The status is submitted each time: the writer knows what the API server has."""
    world = World(A)
    for verdict in (INVALID, INVALID, OTHER, ADMITTED, INVALID):
        world.passed({A: verdict})
    assert [text for _, _, text in world.events] == [INVALID.message, OTHER.message, INVALID.message]
    assert len(world.statuses.log) == 5


def test_warnings_and_verdicts_are_apart():
    """A warning is not repeated because the verdict changed, and the other way round."""
    world = World(A)
    world.passed({A: ADMITTED}, {A: (NO_ENDPOINTS, ANNOTATION)})
    world.passed({A: INVALID}, {A: (NO_ENDPOINTS, ANNOTATION)})
    world.passed({A: INVALID}, {A: ()})
    assert [(reason, text) for _, reason, text in world.events] == [
        NO_ENDPOINTS, ANNOTATION, (INVALID.reason, INVALID.message)]


def test_slow_requests_are_logged_once(caplog):
    world, subject = World(A), "requests near the time limit of the BIG-IP"
    world.slow_requests = ("GET ltm/policy takes over 40 s",)
    for _ in range(2):
        world.passed({A: ADMITTED})
    assert tuple(each.problem for each in caplog.records if each.message == subject) == world.slow_requests


def test_a_pending_route_keeps_its_status():
    world = World(A, B)
    world.passed({A: ADMITTED})
    world.passed({A: condition.PENDING, B: condition.PENDING})
    assert world.statuses.log == [("status", "a", "admitted"), ("status", "b", condition.PENDING.reason)]
    assert world.events == []


@pytest.mark.parametrize("clean", [False, True])
def test_a_route_that_leaves(clean):
    """Its entry is removed where that is asked for; when it comes back, its problem is news."""
    world = World(A, clean=clean)
    world.passed({A: INVALID}, {A: (NO_ENDPOINTS,)})
    world.passed(removed=[A])
    assert world.statuses.log[-1] == ("removed", "a", clean)
    world.passed({A: INVALID}, {A: (NO_ENDPOINTS,)})
    assert len(world.events) == 4


def test_a_verdict_of_a_route_that_has_left_meanwhile():
    world = World()
    world.passed({A: INVALID}, {A: (NO_ENDPOINTS,)})
    assert (world.statuses.log, world.events) == ([], [])


def test_a_lost_host_is_logged_with_its_holder(caplog):
    rejection = Rejection(CLAIMED, "spec.host: another Route has it", Key("bank", "first"))
    world = World(A, rejections={A.key: rejection})
    world.passed({A: Verdict(False, rejection.reason, rejection.message)})
    assert [record.holder for record in caplog.records if record.getMessage() == "host already claimed"] == [
        "bank/first"]


@pytest.mark.parametrize("failed", [False, True])
def test_the_holder_of_a_lost_host_has_an_event(failed):
    """After a failed pass, too: who holds a Host does not depend on the BIG-IP."""
    loser = virtual(B)
    rejection = Rejection(CLAIMED, "spec.rules[0].host: route a already exposes it", A.key)
    world = World(A, loser, rejections={loser.key: rejection})
    world.statuses.known.add(A.key)
    if failed:
        world.reporter.failed()
    else:
        world.passed({loser: Verdict(False, rejection.reason, rejection.message)})
    assert [event[:2] for event in world.events] == [("a", "HostContested")]


def test_a_failed_pass(caplog):
    """Old statuses stay; others get their rejection, or that they are pending, which is logged elsewhere."""
    rejection = Rejection(CLAIMED, "spec.host: another Route has it")
    new = dataclasses.replace(A, key=Key("shop", "new"))
    world = World(A, B, new, rejections={B.key: rejection})
    world.passed({A: ADMITTED})
    world.statuses.log.clear()
    world.reporter.failed()
    world.reporter.failed()
    assert world.statuses.log == [("status", "b", CLAIMED), ("status", "new", condition.PENDING.reason)]
    assert [name for name, _, _ in world.events] == ["b", "new"]
    assert logged(caplog, NOT_SERVED) == [rejection.message]


def test_a_standby_withdraws_what_is_not_written_yet():
    world = World(A)
    world.reporter.standing_by()
    assert world.statuses.log == [("drop",), ("status", "a", condition.PENDING.reason)]


def test_problems_of_no_route_are_logged_once(caplog):
    caplog.set_level("INFO")
    world = World()
    world.findings, world.warnings = Findings(("no tunnel",)), ("no Route matches",)
    world.on_virtual_servers = Findings(warnings=("not compressed",))
    world.passed()
    world.passed()
    world.findings, world.warnings, world.on_virtual_servers = Findings(), (), Findings()
    world.passed()
    assert logged(caplog, "way to the pods") == ["no tunnel"]
    assert logged(caplog, "selection of Routes") == ["no Route matches"]
    assert logged(caplog, "virtual servers") == ["not compressed"]
    assert sorted(logged(caplog, "problem resolved")) == ["no Route matches", "no tunnel", "not compressed"]


@pytest.mark.parametrize(("written", "refusal", "expected"), [
    (True, "", ""), (True, "forbidden", ""),
    (False, "", "not every Route status could be written"),
    (False, "forbidden", "not every Route status could be written: forbidden"),
])
def test_flush_all(written, refusal, expected):
    world = World(written=written, refusal=refusal)
    assert world.reporter.flush_all(1.0, events_s=1.0) == expected


def test_reports_are_forgotten_together():
    """Another replica has led since: what this router has reported may be out of date."""
    lost, kept = virtual(B), Rejection(CLAIMED, "spec.rules[0].host: route a already exposes it", A.key)
    world = World(A, lost, rejections={lost.key: kept})
    for _ in range(2):
        world.passed({A: INVALID, lost: Verdict(False, kept.reason, kept.message)}, {A: (NO_ENDPOINTS,)})
        world.reporter.forget()
    assert [reason for _, reason, _ in world.events] == [
        INVALID.reason, NO_ENDPOINTS.reason, "HostContested"] * 2
