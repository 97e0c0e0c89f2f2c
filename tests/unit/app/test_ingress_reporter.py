"""When the status of an Ingress is written, by what reports have of its Routes."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from f5router.app.ingress_reporter import IngressReporter, load_balancer_status
from f5router.model.cluster import Key
from f5router.reconcile.report import Report
from f5router.status import condition
from f5router.status.condition import Verdict
from tests.builders import route, virtual

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
    reconciler = Mock(**{"engine.route.return_value": PAGE})
    return IngressReporter(cluster, reconciler, Mock(), Mock(), hostname=ENTRY["hostname"])


def passed(site, verdict=None):
    verdicts = {} if verdict is None else {PAGE.key: verdict}
    site.passed(Report(outcome=None, full=True, verdicts=verdicts, warnings={}))
    return [call.args[2] for call in site.statuses.submit.call_args_list]


@pytest.mark.parametrize("first", [None, condition.PENDING])
def test_a_status_stays_until_each_route_is_judged(site, first):
    """The first report after a restart need not have all Routes of an Ingress."""
    assert passed(site, first) == []
    assert passed(site, GOOD) == [load_balancer_status([ENTRY])]


def test_a_status_goes_with_the_last_route(site):
    assert passed(site, BAD) == [load_balancer_status(())]
