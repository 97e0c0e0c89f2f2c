"""Requests of the writer of static routes, and routes that it leaves alone."""

import json
from pathlib import Path

import pytest

from f5router.icontrol.codec import net_codec
from f5router.icontrol.writers.objects import StaticRouteWriter
from f5router.model import ownership
from f5router.model.errors import Conflict, NotFound, Refused
from f5router.model.net import StaticRoute
from f5router.plan.change import CREATE, DELETE, UPDATE, Change

RECORDINGS = Path(__file__).parents[3] / "recordings" / "net" / "route"
PATH = "/Common/openshift_pods_10.128.0.0_23"
URL = "net/route/~Common~openshift_pods_10.128.0.0_23"
ROUTE = StaticRoute(PATH, "10.128.0.0/23", "10.1.1.1")
MOVED = StaticRoute(PATH, "10.128.0.0/23", "10.1.1.2")
ASTRAY = StaticRoute(PATH, "10.128.0.0/23", "")
BODY = {"name": "openshift_pods_10.128.0.0_23", "partition": "Common", "network": "10.128.0.0/23"}


class Device:
    """One route, or none, under its URL; keeps what was sent."""

    def __init__(self, there: dict | None = None, *, taken: bool = False):
        self.there, self.sent, self._taken = there, [], taken

    def get(self, path, params=None):
        if self.there is None:
            raise NotFound(text="absent", status=404)
        return self.there

    def post(self, path, body):
        self.sent.append(("POST", path, body))
        if self.there is not None or self._taken:
            raise Conflict(text="exists", status=409)

    def patch(self, path, body):
        self.sent.append(("PATCH", path, body))

    def delete(self, path):
        self.sent.append(("DELETE", path, None))
        if self.there is None:
            raise NotFound(text="absent", status=404)
        self.there = None


def writer(device: Device) -> StaticRouteWriter:
    return StaticRouteWriter(device, "/Common", lambda obj: "ours")


def there(**fields) -> dict:
    return {**BODY, "fullPath": PATH, **fields}


POST = ("POST", "net/route", {**BODY, "gw": "10.1.1.1", "description": "ours"})
PATCH = ("PATCH", URL, {"gw": "10.1.1.1", "description": "ours"})
GONE = ("DELETE", URL, None)


@pytest.mark.parametrize(("change", "before", "sent"), [
    pytest.param(Change(CREATE, None, ROUTE), None, [POST], id="create"),
    pytest.param(Change(CREATE, None, ROUTE), there(gw="10.1.1.1"), [POST], id="created before"),
    pytest.param(Change(CREATE, None, ROUTE), there(gw="10.1.1.1%5", network="10.128.0.0%5/23"), [POST],
                 id="created before, in a route domain"),
    pytest.param(Change(CREATE, None, ROUTE), there(gw="10.1.1.9"), [POST, PATCH], id="created otherwise"),
    pytest.param(Change(UPDATE, MOVED, ROUTE), there(gw="10.1.1.2"), [PATCH], id="another gateway"),
    pytest.param(Change(UPDATE, ASTRAY, ROUTE), there(blackhole=True), [GONE, POST], id="no gateway"),
    pytest.param(Change(DELETE, ROUTE, None), there(gw="10.1.1.1"), [GONE], id="delete"),
    pytest.param(Change(DELETE, ROUTE, None), None, [GONE], id="deleted before"),
])
def test_writes(change, before, sent):
    device = Device(before)
    writer(device).write([change])
    assert device.sent == sent


def test_a_name_that_is_taken():
    """By a route to another network, which is somebody's."""
    device = Device(there(network="10.77.0.0/16", gw="10.1.1.9"))
    with pytest.raises(Refused, match=r"leads to 10\.77\.0\.0/16"):
        writer(device).write([Change(CREATE, None, ROUTE)])
    assert device.sent == [POST]


def test_a_network_that_is_taken():
    """By a route of another name: the device's own words."""
    with pytest.raises(Conflict, match="exists"):
        writer(Device(taken=True)).write([Change(CREATE, None, ROUTE)])


@pytest.mark.parametrize(("network", "gateway", "expected"), [
    ("10.128.0.0/23", "10.1.1.1", ("10.128.0.0/23", "10.1.1.1")),
    ("10.128.0.0%5/23", "10.1.1.1%5", ("10.128.0.0/23", "10.1.1.1")),
    ("fd01:0::%2/64", "2001:DB8::1%2", ("fd01::/64", "2001:db8::1")),
    ("default%5", "10.1.1.1", ("default%5", "10.1.1.1")),
])
def test_decode(network, gateway, expected):
    route = net_codec.decode_route(there(network=network, gw=gateway))
    assert (route.network, route.gateway) == expected


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.json")), ids=lambda path: path.stem)
def test_recordings(path):
    """Every recorded route is understood, and none is taken for one of ours."""
    recorded = json.loads(path.read_text())
    for item in recorded.get("items", [recorded]):
        route = net_codec.decode_route(item)
        assert route == StaticRoute(item["fullPath"], item["network"], item.get("gw", ""))
        assert not ownership.owns("/Common", route)


def test_encode_and_decode():
    assert net_codec.decode_route({**net_codec.encode_route(ROUTE), "fullPath": PATH}) == ROUTE
