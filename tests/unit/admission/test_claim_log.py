"""ClaimLog: both Routes are named, at a bounded rate."""

import pytest

from f5router.admission.admission import Rejection
from f5router.admission.claim_log import MOST, PERIOD_S, ClaimLog
from f5router.model.cluster import Key
from f5router.model.findings import CLAIMED
from tests.builders import route


@pytest.fixture
def now():
    return [0.0]


@pytest.fixture
def claims(now):
    return ClaimLog(lambda: now[0])


LOST = Rejection(CLAIMED, "spec.host: a route in another namespace holds it", Key("shop", "web"))


def test_both_routes(claims, caplog):
    claims.lost(route("thief", namespace="other", host="www.example.com"), LOST)
    (line,) = caplog.records
    assert (line.host, line.route, line.holder) == ("www.example.com", "other/thief", "shop/web")


def test_another_reason(claims, caplog):
    claims.lost(route("a"), Rejection("RouteNotAdmitted", "no"))
    assert caplog.records == []


def test_bound(claims, now, caplog):
    """A tenant with a thousand such Routes gets few lines; the log has the number of those left out."""
    for _ in range(1000):
        claims.lost(route("thief"), LOST)
    assert len(caplog.records) == MOST
    now[0] = PERIOD_S
    claims.lost(route("thief"), LOST)
    assert caplog.records[-1].lines_left_out == 1000 - MOST
    claims.lost(route("thief"), LOST)
    assert not hasattr(caplog.records[-1], "lines_left_out")
