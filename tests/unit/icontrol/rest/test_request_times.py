"""request_times.py: no name of an object and no token in a collection, and bounds."""

import threading

import pytest

from f5router.icontrol.rest.request_times import BUCKETS_S, MOST, OTHER, RequestTimes, collection


@pytest.mark.parametrize(("path", "expected"), [
    ("/mgmt/tm/ltm/pool", "ltm/pool"),
    ("/mgmt/tm/ltm/pool/~Common~x", "ltm/pool"),
    ("/mgmt/tm/ltm/pool/~Common~x/members", "ltm/pool/members"),
    ("/mgmt/tm/ltm/pool/~Common~x/members/~Common~10.1.1.1:80", "ltm/pool/members"),
    ("/mgmt/tm/ltm/policy/~Common~Drafts~p/rules/openshift_route_shop_a", "ltm/policy/rules"),
    ("/mgmt/tm/ltm/policy/~Common~Drafts~p/rules/x/actions/0", "ltm/policy/rules"),
    ("/mgmt/tm/ltm/data-group/internal/~Common~x", "ltm/data-group/internal"),
    ("/mgmt/tm/sys/config", "sys/config"),
    ("/mgmt/tm/util/unix-rm", "util/unix-rm"),
    ("/mgmt/shared/authn/login", "shared/authn/login"),
    ("/mgmt/shared/authz/tokens/SECRET", "shared/authz/tokens"),
    ("/mgmt/shared/file-transfer/uploads/f5router-shop.key", "shared/file-transfer/uploads"),
])
def test_collection(path, expected):
    assert collection(path) == expected


def test_durations():
    times = RequestTimes()
    for took_s in (0.005, 0.006, 61.0):
        times.record("GET", "/mgmt/tm/ltm/pool", 200, took_s)
    times.record("GET", "/mgmt/tm/ltm/pool/~Common~x", 404, 0.02)
    (((method, name), each),) = times.durations().items()
    assert (method, name) == ("GET", "ltm/pool")
    assert each.statuses == {200: 3, 404: 1}
    assert each.seconds == pytest.approx(61.031)
    counts = dict(zip((*BUCKETS_S, "more"), each.buckets, strict=True))
    assert {bound for bound, count in counts.items() if count} == {0.005, 0.01, 0.025, "more"}
    times.record("GET", "/mgmt/tm/ltm/pool", 200, 1.0)
    assert sum(each.buckets) == 4, "a copy"


def test_bound():
    times = RequestTimes()
    for number in range(2 * MOST):
        times.record("GET", f"/mgmt/tm/ltm/kind{number}", 200, 0.1)
    durations = times.durations()
    assert len(durations) == MOST + 1
    assert durations["GET", OTHER].statuses == {200: MOST}


def test_threads():
    times = RequestTimes()

    def record() -> None:
        for _ in range(1000):
            times.record("GET", "/mgmt/tm/ltm/pool", 200, 0.1)

    threads = [threading.Thread(target=record) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(times.durations()["GET", "ltm/pool"].buckets) == 4000
