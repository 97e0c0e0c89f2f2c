"""Rules that are refused, certificates on a slow device, requests that hang: who waits for them."""

import time
from collections.abc import Iterator

from benchmarks.waits import crowd
from benchmarks.waits.site import TENANT, Row, Settings, Site, mark_of, rule, site
from tests import manifests

REFUSED_S = 60.0
HUNG_LIMIT_S = 10.0
SLOW_S = 0.02
APART_S = 0.05


def refused(settings: Settings) -> Iterator[Row]:
    """Writes in a minute for rules that the device refuses, by the one and in lists."""
    count = settings.count(400)
    name = f"{count} rules are refused"
    delays = Row("endpoints of another tenant", name)
    with site(settings) as place:
        place.cluster.fill(crowd.service)
        place.start()
        place.device.quiet(1.0, 60.0)
        place.device.fail("refuse", times=None, path="/ltm/policy", body="openshift_route_crowd_",
                          message="01070151:3: no")
        place.device.calls()
        end = place.cluster.begin(crowd.added_routes, count) + settings.within(REFUSED_S)
        changes = 0
        while time.monotonic() < end:
            place.change(delays)
            changes += 1
            time.sleep(1.0)
        calls = place.device.calls()
    writes = sum(number for method, number in calls.items() if method != "GET")
    yield Row(name, f"writes in {settings.within(REFUSED_S):.0f} s, {changes} for endpoints left out",
              [writes - changes], unit="calls")
    yield delays


def certificates(settings: Settings) -> Iterator[Row]:
    """Endpoint changes while Routes with certificates are loaded, with 20 ms for each call."""
    count = settings.count(200)
    row = Row("endpoints of another tenant", f"{count} certificates are loaded, 20 ms a call")
    with site(settings, latency_s=SLOW_S) as place:
        place.cluster.fill(crowd.service)
        place.start()
        place.device.quiet(1.0, 60.0)
        begin = place.cluster.begin(crowd.certificates, count)
        rules = place.device.rules() + count
        while place.device.rules() < rules and time.monotonic() < begin + 120.0:
            place.change(row)
            time.sleep(APART_S)
        loaded = Row("certificates", f"{count} are loaded, 20 ms a call", [time.monotonic() - begin])
    yield from (row, loaded)


HUNG = (
    ("the write of a pool", {"method": "PATCH", "path": "/ltm/pool/.*stuck"},
     [manifests.endpoints(TENANT, "stuck", ("10.56.0.2",))]),
    ("the creation of a pool", {"method": "POST", "path": "/ltm/pool$", "body": "late"},
     [*manifests.service(TENANT, "late", pods=("10.56.0.3",)),
      manifests.route("late", host="late.shop.test", service="late")]),
    ("the install of a key", {"method": "POST", "path": "ssl-key"},
     [manifests.route("hanging", host="hanging.shop.test", kind="edge",
                      **crowd.pair("hanging.shop.test", 100))]),
    ("a rule for port 443", {"method": "POST", "path": "~openshift_secure_routes/rules", "body": "bare"},
     [manifests.route("bare", host="bare.shop.test", kind="edge")]),
)
"""Name of the request that hangs, how it is recognised, and objects that make the router send it."""


def hung(settings: Settings) -> Iterator[Row]:
    """Other changes of the same tenant while one request hangs."""
    limit_s = settings.within(HUNG_LIMIT_S)
    for number, (name, fault, objects) in enumerate(HUNG):
        with site(settings) as place:
            place.cluster.apply(*manifests.service(TENANT, "stuck", pods=("10.56.0.1",)),
                                manifests.route("stuck", host="stuck.shop.test", service="stuck"),
                                manifests.route("leaving", host="leaving.shop.test"))
            place.start()
            place.device.quiet(1.0, 60.0)
            place.device.fail("hold", times=1, **fault)
            place.cluster.apply(*objects)
            place.wait(place.device.held, 30.0)
            yield from _others(place, name, number, limit_s)
            place.device.respond()


def _others(place: Site, name: str, number: int, limit_s: float) -> Iterator[Row]:
    """Yield how long the other changes wait, all of which come at once."""
    endpoints = Row("endpoints of another Service", f"{name} hangs")
    place.change(endpoints, limit_s)
    yield endpoints
    changes = {
        "new plain Route": ("plain", {}),
        "new passthrough Route": ("through", {"kind": "passthrough"}),
        "new edge Route": ("edge", {"kind": "edge"}),
        "new Route with a certificate": ("own", {"kind": "edge", **crowd.pair("own.shop.test", number)}),
    }
    marks = {what: mark_of(route, how.get("kind", "")) for what, (route, how) in changes.items()}
    gone = rule(TENANT, "leaving")
    place.device.expect(*marks.values(), gone=(gone,))
    begin = place.cluster.apply(*(manifests.route(route, host=f"{route}.shop.test", **how)
                                  for route, how in changes.values()))
    place.cluster.delete("Route", TENANT, "leaving")
    for what, mark in (*marks.items(), ("plain Route deleted", gone)):
        row = Row(what, f"{name} hangs")
        row.add(begin, place.device.seen(mark, max(0.0, begin + limit_s - time.monotonic())))
        yield row
