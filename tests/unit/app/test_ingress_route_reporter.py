"""ingress_reporter.py: what a pass means for the status of IngressRoutes, and which Events they get."""

from types import SimpleNamespace

import pytest

from f5router.admission.admission import Rejection
from f5router.admission.condition import Verdict
from f5router.app.ingress_reporter import IngressRouteReporter
from f5router.app.reports import MOST, Reports
from f5router.model.cluster import Key
from f5router.model.limits import finish
from f5router.reconcile.report import Report
from tests.unit.sources.contour_objects import Source, delta, entry, ingress_route, service

ROOT, VERTEX = Key("shop", "root"), Key("bank", "v")
REFUSED = Verdict(False, "DeviceRejected", "the BIG-IP says no")


class Written:
    """Takes statuses and Events as their writers do."""

    def __init__(self):
        self.statuses, self.events, self.discarded = {}, [], []

    def submit(self, key, uid, status):
        self.statuses[key] = status["currentStatus"], status["description"]

    def discard(self, key):
        self.discarded.append(key)

    def warn_about(self, about, reason, message):
        self.events.append((about.key, reason, message))


@pytest.fixture
def site():
    source, written, rejections = Source(), Written(), {}
    routes = source.apply(delta(
        service(), service("bank/web"), ingress_route("root", entry("/", "web"), entry("/v", to="bank/v"),
                                                      fqdn="www.example.com"),
        ingress_route("bank/v", entry("/v", "web"))))
    engine = SimpleNamespace(rejection=rejections.get, route=routes.get, warnings=lambda key: (),
                             on_front_ends=lambda key: [key])
    selected = {"shop", "bank"}

    def reporter(later):
        return IngressRouteReporter(source, engine, written, written, Reports(), later=later,
                                    selects=selected.__contains__, wall=lambda: 7.0)

    owned = {route.origin.key: key for key, route in routes.items()}
    return SimpleNamespace(source=source, written=written, rejections=rejections, reporter=reporter(finish),
                           another=reporter, routes=routes, owned=owned, selected=selected)


def report(verdicts=None, *, full=False, removed=None):
    return Report(full, verdicts or {}, {}, removed or {})


def test_valid(site):
    site.reporter.passed(report())
    assert {status for status, _ in site.written.statuses.values()} == {"valid"}
    assert site.written.events == []
    assert sum(site.reporter.counts.counts.values()) == 5
    site.written.statuses.clear()
    site.reporter.passed(report())
    assert site.written.statuses == {}


def test_a_full_pass_looks_at_all(site):
    site.reporter.passed(report())
    site.written.statuses.clear()
    site.reporter.passed(report(full=True))
    assert site.written.statuses.keys() == {ROOT, VERTEX}


def test_a_rejected_route(site):
    """Its owner and its root are invalid; another vertex of the root would not be."""
    key = site.owned[VERTEX]
    site.reporter.passed(report())
    site.rejections[key] = Rejection("HostAlreadyClaimed", "a route in another namespace holds it", None)
    for _ in range(2):
        site.reporter.passed(report({key: Verdict(False, "HostAlreadyClaimed", "m")}))
    told = "invalid", "a route in another namespace holds it"
    assert site.written.statuses == {ROOT: told, VERTEX: told}
    assert site.written.events == [(name, "InvalidIngressRoute", told[1]) for name in (VERTEX, ROOT)]


def test_a_rejected_route_whose_path_stays_open(site):
    """The status has the reason already; the Event has what the BIG-IP refuses, for owner and root."""
    key = site.owned[VERTEX]
    site.rejections[key] = Rejection("RouteNotAdmitted", "no list of clients", None)
    for _ in range(2):
        site.reporter.passed(report({key: Verdict(
            False, "RouteNotAdmitted", "no list of clients; others may get its requests")}))
    assert [event for event in site.written.events if event[1] == "RouteNotAdmitted"] == [
        (name, "RouteNotAdmitted", "others may get its requests") for name in (VERTEX, ROOT)]


@pytest.mark.parametrize(("reason", "created"), [
    pytest.param("HostAlreadyClaimed", "2025-01-01T00:00:00Z", id="its host, older"),
    pytest.param("HostAlreadyClaimed", "2026-01-02T00:00:00Z", id="its host, younger"),
    pytest.param("ExtendedValidationFailed", "2026-01-02T00:00:00Z", id="a certificate that fits"),
])
def test_a_root_of_others_that_lacks(site, reason, created):
    """Whoever delegates to a vertex costs it no status that its own root gives it."""
    site.selected.add("evil")
    site.routes |= site.source.apply(delta(ingress_route(
        "evil/root", entry("/v", to="bank/v"), fqdn="www.example.com", created=created)))
    [theirs] = [key for key, route in site.routes.items() if route.claimant.namespace == "evil"]
    site.rejections[theirs] = Rejection(reason, "no")
    site.reporter.passed(report({theirs: Verdict(False, reason, "no")}))
    assert {key.namespace: status for key, (status, _) in site.written.statuses.items()} == {
        "shop": "valid", "bank": "valid", "evil": "invalid"}


def test_a_certificate_of_the_root_that_does_not_fit(site):
    """Its team sees the problem; the owner of a path below it only that there is one."""
    site.rejections[site.owned[VERTEX]] = Rejection(
        "ExtendedValidationFailed", "it cannot be used", claimant_message="tls.crt: no")
    site.reporter.passed(report(full=True))
    assert site.written.statuses == {
        ROOT: ("invalid", "tls.crt: no"), VERTEX: ("invalid", "it cannot be used")}


def test_what_is_wrong_with_a_vertex_alone(site):
    """Its root is valid. Source: projectcontour/contour v1.5.1, internal/dag/status_test.go."""
    site.rejections[site.owned[VERTEX]] = Rejection("ExternalCertificate", "no authorities", of_owner=True)
    site.reporter.passed(report(full=True))
    assert site.written.statuses == {
        ROOT: ("valid", "valid IngressRoute"), VERTEX: ("invalid", "no authorities")}
    site.rejections[site.owned[ROOT]] = Rejection("ExternalCertificate", "none here", of_owner=True)
    site.reporter.passed(report(full=True))
    assert site.written.statuses[ROOT] == ("invalid", "none here")


def test_what_the_device_refuses(site):
    """An Event, no status; the next one comes after it was served in between."""
    key = site.owned[ROOT]
    for verdict in (REFUSED, REFUSED, Verdict(True), REFUSED):
        site.reporter.passed(report({key: verdict}))
    assert site.written.statuses[ROOT][0] == "valid"
    assert site.written.events == [(ROOT, "DeviceRejected", "the BIG-IP says no")] * 2


def test_namespaces_of_other_routers(site):
    """An object that a selected root reaches is reported, wherever it is; others are left to others."""
    site.selected.remove("bank")
    site.reporter.passed(report())
    assert site.written.statuses.keys() == {ROOT, VERTEX}
    site.selected.clear()
    site.written.statuses.clear()
    site.reporter.passed(report(full=True))
    assert site.written.statuses == {}
    assert site.reporter.counts.counts == {}


def test_gone(site):
    site.reporter.passed(report())
    gone = {key: site.routes[key] for key in site.source.apply(
        delta(gone=[ingress_route("root", fqdn="www.example.com")]))}
    site.reporter.passed(report(removed=gone))
    assert site.written.discarded == [ROOT]
    assert site.written.statuses[VERTEX][0] == "orphaned"


def test_many_warnings(site):
    site.source.apply(delta(ingress_route(
        "root", *(entry(f"/{number}") for number in range(MOST + 5)), fqdn="www.example.com")))
    site.reporter.passed(report())
    texts = [text for _, reason, text in site.written.events if reason == "Warning"]
    assert len(texts) == MOST + 1
    assert texts[-1] == "there are 5 more problems; f5router explain shows them"


def test_a_vertex_below_many_roots(site):
    """It is evaluated in steps, anew if it changes meanwhile, and the objects behind it come first then."""
    for number in range(20):
        site.routes |= site.source.apply(delta(ingress_route(
            f"evil/root{number}", entry("/v", to="bank/v"), fqdn=f"www{number}.example.com",
            created="2026-01-02T00:00:00Z")))
    waiting = []
    reporter = site.another(waiting.append)
    reporter.passed(report())
    [steps] = waiting
    for _ in range(5):
        next(steps)
    assert VERTEX not in site.written.statuses
    site.rejections[site.owned[VERTEX]] = Rejection("ExternalCertificate", "no", of_owner=True)
    reporter.passed(report({site.owned[VERTEX]: Verdict(False, "ExternalCertificate", "no")}))
    assert len(waiting) == 1
    seen = []
    for _ in steps:
        seen.append(VERTEX in site.written.statuses)
    assert len(seen) > 20
    assert site.written.statuses[VERTEX] == ("invalid", "no")
    assert list(site.written.statuses)[-1] == VERTEX


def test_what_is_due_is_dropped_by_a_follower(site):
    waiting = []
    reporter = site.another(waiting.append)
    reporter.passed(report())
    reporter.follow()
    finish(waiting.pop())
    assert site.written.statuses == {}
    reporter.passed(report(full=True))
    reporter.finish()
    assert site.written.statuses.keys() == {ROOT, VERTEX}
