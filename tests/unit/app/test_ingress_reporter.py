"""When the status of an Ingress is written, by what reports have of its Routes."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from f5router.admission import condition
from f5router.admission.condition import Verdict
from f5router.app.ingress_reporter import IngressReporter, load_balancer_status
from f5router.app.reports import MOST, Reports
from f5router.desired.front_end_views import FrontEndViews
from f5router.model.cluster import Key
from f5router.model.texts import Problem
from f5router.reconcile.report import Report
from tests.builders import Settings, route, virtual

SITE = Key("shop", "site")
ENTRY = {"hostname": "router.example.com"}
PAGE = virtual(route("site"))
GOOD, BAD = Verdict(True, "", ""), Verdict(False, "HostAlreadyClaimed", "taken")


@pytest.fixture
def site():
    """A reporter of an Ingress that has the status of before a restart, one Route and a problem."""
    source = Mock(**{"take_changed.return_value": {SITE}, "condition.return_value": (),
                     "routes_of.return_value": {PAGE.key}})
    cluster = Mock(**{"objects.return_value": source, "ingress.return_value": SimpleNamespace(
        uid="u", resource_version="1", load_balancer=(ENTRY,))})
    engine = Mock(**{"route.return_value": PAGE, "on_front_ends": lambda key: [key]})
    engine.front_ends = FrontEndViews(Settings())
    statuses, events, reports = Mock(), Mock(), Reports()
    return SimpleNamespace(
        cluster=cluster, source=source, statuses=statuses, events=events, reports=reports,
        reporter=IngressReporter(cluster, engine, statuses, events, reports,
                                 hostnames={"": ENTRY["hostname"]}))


def passed(site, verdict=None):
    verdicts = {} if verdict is None else {PAGE.key: verdict}
    site.reporter.passed(Report(full=True, verdicts=verdicts, warnings={}))
    return [call.args[2] for call in site.statuses.submit.call_args_list]


@pytest.mark.parametrize("first", [None, condition.PENDING])
def test_a_status_stays_until_each_route_is_judged(site, first):
    """The first report after a restart need not have all Routes of an Ingress."""
    assert passed(site, first) == []
    assert passed(site, GOOD) == [load_balancer_status([ENTRY])]


def test_a_status_goes_with_the_last_route(site):
    assert passed(site, BAD) == [load_balancer_status(())]


def test_what_changed_while_another_replica_led(site):
    """The status of before is not that of an Ingress of the same name; one without Routes has its Events."""
    passed(site, GOOD)
    site.reports.clear()
    site.source.condition.return_value = (Problem("ServiceNotFound", "Service web"),)
    gone = Key("shop", "gone")
    site.source.take_changed.return_value = {SITE, gone}
    ingress = site.cluster.ingress.return_value
    site.cluster.ingress.side_effect = lambda key: ingress if key == SITE else None
    site.reporter.follow()
    site.source.take_changed.return_value = set()
    site.cluster.ingress.reset_mock()
    assert passed(site) == [load_balancer_status([ENTRY])], "no second one: no Route is judged"
    assert all(call.args != (gone,) for call in site.cluster.ingress.call_args_list), "it is not remembered"
    assert [call.args[1:] for call in site.events.warn_about.call_args_list] == [
        ("ServiceNotFound", "Service web")]


def test_events(site):
    """Each problem once; of very many the first ones, and how many there are more."""
    site.source.condition.return_value = tuple(
        Problem("ServiceNotFound", f"Service {number}") for number in range(1000))
    for verdict in (BAD, BAD, GOOD):
        passed(site, verdict)
    written = [call.args[1:] for call in site.events.warn_about.call_args_list]
    shown = [("ServiceNotFound", f"Service {number}") for number in range(MOST)]
    assert written == [*shown, ("Warning", "there are 991 more problems"),
                       ("Warning", "there are 990 more problems")]
    site.source.condition.return_value = (Problem("ServiceNotFound", "Service 3"), Problem("NoHost", "none"))
    passed(site, GOOD)
    assert site.events.warn_about.call_args.args[1:] == ("NoHost", "none")
    assert site.events.warn_about.call_count == len(written) + 1
