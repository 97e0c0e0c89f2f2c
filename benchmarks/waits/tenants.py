"""One tenant changes much; how long another one waits."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.waits import crowd
from benchmarks.waits.fakes import Objects
from benchmarks.waits.site import Row, Settings, site

TRIES = 100
NEW_TRIES = 10
LATE_S = 60.0
"""Here a change is given up later than elsewhere: all of a load may stand before it."""


@dataclass(frozen=True)
class Flood:
    """Changes of a tenant."""

    name: str
    count: int
    """How many objects it has."""
    before: Objects
    """Objects that are there when the router starts."""
    events: Objects
    per_s: float
    """How many objects it changes a second; 0 as many as it can."""
    pause_s: float = 0.2
    """Time between two changes of the other tenant."""


FLOODS = (
    Flood("nothing", 0, crowd.with_service, crowd.added_routes, 0.0),
    Flood("{} Routes change by turns, 1,000/s", 1000, crowd.with_service, crowd.changed_routes, 1000.0),
    Flood("{} IngressRoutes change by turns, 1,000/s", 1000, crowd.ingress_routes,
          crowd.changed_ingress_routes, 1000.0),
    Flood("a child with 100 routes below {} roots changes, 10/s", 1000, crowd.delegating,
          crowd.changed_child, 10.0),
    Flood("{} Routes are created", 10_000, crowd.with_service, crowd.added_routes, 0.0, pause_s=0.5),
)


def endpoints(settings: Settings) -> Iterator[Row]:
    """Endpoint changes of another tenant during each flood."""
    for flood in FLOODS:
        count = settings.count(flood.count) if flood.count else 0
        name = flood.name.format(f"{count:,}")
        row = Row("endpoints of another tenant", name)
        with site(settings) as place:
            place.cluster.fill(flood.before, 0 if flood.events is crowd.added_routes else count)
            place.start()
            place.device.quiet(1.0, LATE_S)
            place.cluster.begin(flood.events, count, per_s=flood.per_s)
            for _ in range(settings.times(TRIES)):
                time.sleep(flood.pause_s)
                place.change(row, LATE_S)
            place.cluster.end()
        yield row


def new_routes(settings: Settings) -> Iterator[Row]:
    """New Routes of another tenant while many are loaded."""
    count = settings.count(4000)
    row = Row("new Route of another tenant", f"{count:,} Routes are created")
    with site(settings) as place:
        place.cluster.fill(crowd.service)
        place.start()
        place.device.quiet(1.0, LATE_S)
        place.cluster.begin(crowd.added_routes, count)
        for number in range(settings.times(NEW_TRIES)):
            time.sleep(0.5)
            place.publish(row, f"other{number}", LATE_S)
    yield row
