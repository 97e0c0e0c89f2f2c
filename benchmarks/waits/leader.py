"""A new leader: how long new Routes wait from its election on."""

import subprocess
import time
from collections.abc import Iterator

from benchmarks.waits import crowd
from benchmarks.waits.site import (
    READY_POLL_S,
    START_LIMIT_S,
    TENANT,
    Row,
    Settings,
    Site,
    is_ready,
    rule,
    site,
)
from tests import manifests

LEASE = {"leader_elect": "true", "leader_elect_lease_duration": "4s", "leader_elect_renew_deadline": "3s",
         "leader_elect_retry_period": "500ms", "leader_elect_resource_namespace": "default"}
ELECTION_LIMIT_S = 60.0
LIMIT_S = 180.0


def leader(settings: Settings) -> Iterator[Row]:
    """The leader is killed when all is loaded, and in the middle of a load."""
    yield _killed(settings, loaded=True)
    yield _killed(settings, loaded=False)


def _killed(settings: Settings, *, loaded: bool) -> Row:
    count = settings.count(2000)
    when = "all are loaded" if loaded else "a third are loaded"
    row = Row("new Route, from the election on", f"the leader of {count:,} Routes is killed when {when}")
    with site(settings) as place:
        place.cluster.apply({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                             "metadata": {"name": "f5router-public", "namespace": "default"}})
        place.cluster.fill(crowd.with_service, count if loaded else 0)
        first, address = place.launch(**LEASE)
        place.wait(lambda: is_ready(address), START_LIMIT_S, READY_POLL_S)
        _, address = place.launch(**LEASE)
        place.wait(lambda: is_ready(address), START_LIMIT_S, READY_POLL_S)
        if not loaded:
            place.cluster.begin(crowd.added_routes, count)
            place.wait(lambda: place.device.rules() > count // 3, START_LIMIT_S)
        else:
            place.device.quiet(2.0, 60.0)
        _measure(place, first, row)
    return row


def _measure(place: Site, first: subprocess.Popen, row: Row) -> None:
    before, _ = place.cluster.holder()
    first.kill()
    first.wait()
    place.device.expect(rule(TENANT, "fresh"))
    begin = time.monotonic()
    place.cluster.apply(manifests.route("fresh", host="fresh.shop.test"))
    elected = place.cluster.new_holder(before, ELECTION_LIMIT_S)
    row.add(elected or begin, place.device.seen(rule(TENANT, "fresh"), LIMIT_S))
