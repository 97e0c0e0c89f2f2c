"""A rule that somebody deletes by hand: how long until it is back."""

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from benchmarks.waits import crowd
from benchmarks.waits.site import Row, Settings, Site, rule, site
from tests import manifests

POLICY = "openshift_insecure_routes"
RULE = rule(crowd.CROWD, "r0")
LIMIT_S = 400.0
EARLY_S = 5.0
LATER_S = 10.0
SETTLED_S = 75.0
"""By then the router has read the generations a second time."""


def _deleted(place: Site, row: Row, limit_s: float) -> Row:
    begin = place.device.delete_rule(POLICY, RULE)
    place.device.expect(RULE)
    row.add(begin, place.device.seen(RULE, limit_s))
    return row


def after_a_start(settings: Settings) -> Row:
    """It is deleted a few seconds after the router has become ready."""
    with site(settings) as place:
        place.cluster.fill(crowd.with_service, settings.count(50))
        place.start()
        time.sleep(settings.within(EARLY_S))
        return _deleted(place, Row("a rule deleted by hand", f"{EARLY_S:g} s after the start"),
                        settings.within(LIMIT_S))


def after_a_change(settings: Settings) -> Row:
    """It is deleted some seconds after the router has written the same policy."""
    with site(settings) as place:
        place.cluster.fill(crowd.with_service, settings.count(50))
        place.start()
        time.sleep(settings.within(SETTLED_S))
        place.publish(Row("", ""), "before")
        time.sleep(settings.within(LATER_S))
        return _deleted(place, Row("a rule deleted by hand", f"{LATER_S:g} s after a Route was added"),
                        settings.within(LIMIT_S))


def among_changes(settings: Settings) -> Row:
    """It is deleted while the router writes the same policy now and then."""
    limit_s = settings.within(LIMIT_S)
    row = Row("a rule deleted by hand", f"while a Route is added every {LATER_S:g} s")
    with site(settings) as place:
        place.cluster.fill(crowd.with_service, settings.count(50))
        place.start()
        end = time.monotonic() + settings.within(SETTLED_S)
        for number in itertools.count():
            place.cluster.apply(manifests.route(f"more{number}", host=f"more{number}.shop.test"))
            time.sleep(settings.within(LATER_S))
            if time.monotonic() > end:
                break
        begin, at = place.device.delete_rule(POLICY, RULE), None
        place.device.expect(RULE)
        while at is None and time.monotonic() < begin + limit_s:
            number += 1
            place.cluster.apply(manifests.route(f"more{number}", host=f"more{number}.shop.test"))
            at = place.device.seen(RULE, settings.within(LATER_S))
        row.add(begin, at)
    return row


def repaired(settings: Settings) -> Iterator[Row]:
    """Each with fakes and a router of its own, all at once: they mostly wait."""
    with ThreadPoolExecutor() as pool:
        yield from pool.map(lambda case: case(settings), (after_a_start, after_a_change, among_changes))
