"""reports.py: what was reported about an object is news once, whoever reports it."""

from types import SimpleNamespace

import pytest

from f5router.admission.admission import Rejection
from f5router.app.reports import ObjectEvents, Reports
from f5router.kube.status.events import Involved
from f5router.model.cluster import Key
from f5router.model.texts import Problem

SITE = Key("shop", "site")
A, B = Problem("NoEndpoints", "no pods"), Problem("NoHost", "no host")


@pytest.mark.parametrize(("calls", "news"), [
    pytest.param([((A, B), "", "u")], [A, B], id="all are new"),
    pytest.param([((A,), "", "u"), ((A, B), "", "u")], [B], id="one was there"),
    pytest.param([((A,), "", "u"), ((), "", "u"), ((A,), "", "u")], [A], id="it was over in between"),
    pytest.param([((A,), "", "u"), ((A,), "other", "u")], [A], id="another topic"),
    pytest.param([((A,), "other", "u"), ((), "", "u"), ((A,), "other", "u")], [], id="topics are apart"),
    pytest.param([((A,), "", "u"), ((A,), "", "v")], [A], id="another object of the same name"),
    pytest.param([((), "", "u")], [], id="nothing"),
])
def test_news(calls, news):
    reports = Reports()
    results = [reports.news("Ingress", SITE, texts, topic=topic, uid=uid) for texts, topic, uid in calls]
    assert results[-1] == news
    assert (reports.find("Ingress", SITE) is None) == (calls == [((), "", "u")])


@pytest.mark.parametrize("change", [
    {"lost": Rejection("HostAlreadyClaimed", "taken")}, {"hosts": {"www.example.com"}},
    {"is_admitted": False},
])
def test_what_one_reporter_forgets_others_keep(change):
    """Problems of an Ingress whose Hosts are contested, say."""
    reports = Reports()
    events = ObjectEvents(SimpleNamespace(warn_about=lambda *texts: None), reports)
    events.report(Involved("v1", "Ingress", SITE, "u"), [A])
    for name, value in change.items():
        setattr(reports.of("Ingress", SITE), name, value)
    events.forget("Ingress", SITE)
    known = reports.find("Ingress", SITE)
    assert known is not None
    assert {name: getattr(known, name) for name in change} == change
    assert reports.news("Ingress", SITE, (A,), uid="u") == [A]


def test_a_record_without_reports_takes_no_memory():
    reports = Reports()
    reports.put("Route", SITE, "admission", (A,))
    assert reports.problems("Route", SITE, "admission") == (A,)
    reports.put("Route", SITE, "admission", ())
    assert (reports.find("Route", SITE), reports.problems("Route", SITE, "admission")) == (None, ())
