"""request_times.py: requests that take more than half of the time that the BIG-IP allows."""

import pytest

from f5router.icontrol.rest.request_times import MOST_SLOW, REMEMBERED_S, SlowRequests
from tests.unit.icontrol.scripted import Answer, connected

PUBLISH = ("POST", "/mgmt/tm/ltm/policy")


@pytest.mark.parametrize(("timeout_s", "took_s", "reported"), [
    (60, 29.9, False), (60, 30, True), (20, 9.9, False), (20, 10, True), (300, 29.9, False), (300, 30, True),
])
def test_half_of_the_shorter_limit(timeout_s, took_s, reported):
    """The device gives up after 60 s, the client after its own time-out."""
    slow = SlowRequests(timeout_s, lambda: 0.0)
    slow.record(*PUBLISH, took_s)
    assert bool(slow.warnings()) is reported


def test_text():
    """The same while a request takes about as long, so that it is logged once."""
    slow = SlowRequests(60, lambda: 0.0)
    slow.record(*PUBLISH, 31.0)
    (text,) = slow.warnings()
    assert text == ("POST /mgmt/tm/ltm/policy takes over 30 s, and requests end after 60 s: give some of the "
                    "Routes to another shard (docs/sharding.md)")
    slow.record(*PUBLISH, 39.0)
    assert slow.warnings() == (text,)
    slow.record(*PUBLISH, 41.0)
    assert "over 40 s" in slow.warnings()[0]


def test_forgotten_after_an_hour():
    now = [0.0]
    slow = SlowRequests(60, lambda: now[0])
    slow.record(*PUBLISH, 40.0)
    now[0] = REMEMBERED_S
    assert slow.warnings()
    now[0] += 1
    assert slow.warnings() == ()


def test_bound():
    """The slowest stay."""
    slow = SlowRequests(60, lambda: 0.0)
    for number in range(3 * MOST_SLOW):
        slow.record("GET", f"/mgmt/tm/ltm/pool/{number:03}", 30.0 + number)
    assert len(slow.warnings()) == MOST_SLOW
    assert "/pool/029 " in slow.warnings()[-1]


def test_requests_of_a_client():
    """A save has a limit of its own."""
    with connected() as (device, client, clock):
        def passes() -> None:
            clock.now += 45

        device.add(Answer(meanwhile=passes), method="PATCH")
        device.add(Answer(meanwhile=passes), path="sys/config")
        client.patch("ltm/virtual/x", {})
        client.save()
        client.get("ltm/pool")
        assert [text.split(" takes")[0] for text in client.slow_requests.warnings()] == [
            "PATCH /mgmt/tm/ltm/virtual/x"]
