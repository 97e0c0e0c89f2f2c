"""The log while the API server or the BIG-IP is away: a line when it begins and one when it ends."""

import logging

from tests import manifests
from tests.feature.running import Running
from tests.feature.test_loop import pool


def told(caplog, *messages: str) -> list[str]:
    """Messages of the level info or above, in order."""
    return [record.message for record in caplog.records
            if record.levelno >= logging.INFO and record.message in messages]


def tries(caplog, message: str) -> int:
    return sum(record.message == message for record in caplog.records)


def test_the_api_server_goes_away(lab, caplog):
    """Three watches break and are tried again; a status waits."""
    caplog.set_level(logging.DEBUG, "f5router")
    begun, ended = "API server unusable", "API server usable again"
    lab.apply(manifests.route("a"))
    router = Running(lab)
    try:
        router.wait(lambda: lab.admitted("shop", "a"))
        lab.kube.stop()
        router.wait(lambda: tries(caplog, begun) >= 8)
        assert told(caplog, begun, ended) == [begun]
        lab.kube.start()
        lab.apply(manifests.route("b", host="b.example.com"))
        router.wait(lambda: lab.admitted("shop", "b"))
        router.wait(lambda: tries(caplog, ended))
        assert told(caplog, begun, ended) == [begun, ended]
    finally:
        router.stop()
    assert not [record for record in caplog.records
                if record.name.startswith("f5router.kube") and record.levelno >= logging.WARNING
                and record.message != begun]


def test_the_big_ip_goes_away(lab, caplog):
    """Each pass fails for the same cause."""
    caplog.set_level(logging.DEBUG, "f5router")
    begun, ended = "BIG-IP not programmed", "BIG-IP programmed again"
    lab.apply(manifests.route("a"))
    lab.bigip.stop()
    router = Running(lab)
    try:
        router.wait(lambda: tries(caplog, begun) >= 3)
        assert told(caplog, begun, ended) == [begun]
        lab.bigip.start()
        router.wait(lambda: pool(lab) and tries(caplog, ended))
        assert told(caplog, begun, ended) == [begun, ended]
    finally:
        router.stop()


def test_an_error_of_a_timer_does_not_end_the_loop(lab, serving):
    def fail() -> None:
        raise ZeroDivisionError

    running = serving()
    router = running.router
    router.inbox.put(lambda: router.timers.at(0.0, "fails", fail))
    lab.apply(manifests.route("b", host="b.example.com"))
    running.wait(lambda: router.timers.when("fails") is None and lab.admitted("shop", "b"))


def test_the_big_ip_goes_away_later(lab, caplog):
    """While Routes come in: each pass fails, and one line has the cause."""
    caplog.set_level(logging.DEBUG, "f5router")
    begun, ended = "BIG-IP not programmed", "BIG-IP programmed again"
    lab.apply(manifests.route("a"), *manifests.service("shop", "web", pods=("10.1.1.1",)))
    router = Running(lab, retry_s=0.1)
    try:
        router.wait(lambda: pool(lab))
        lab.bigip.stop()
        since = len(caplog.records)
        lab.apply(*(manifests.route(f"r{number}", host=f"r{number}.example.com") for number in range(20)))
        router.wait(lambda: tries(caplog, begun) >= 3)
        outage = caplog.records[since:]
        shown = [record.message for record in outage if record.levelno >= logging.INFO]
        assert shown.count(begun) == 1
        assert shown.count("repeating BIG-IP request") <= 1
        assert [text for text in shown if text not in (begun, "repeating BIG-IP request", "changed")] == []
        lab.bigip.start()
        router.wait(lambda: lab.admitted("shop", "r19") and tries(caplog, ended))
    finally:
        router.stop()
