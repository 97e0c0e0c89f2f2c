"""Looks at the BIG-IP beside everything else: when they are made, and what is known between them."""

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from f5router.app.device_watch import DeviceWatch, Periods, System
from f5router.icontrol.dispatcher import Job, Lane
from f5router.icontrol.surroundings import Licence
from f5router.model.errors import NotFound
from tests.rows import rows

LICENCE = {"entries": {"0": {"nestedStats": {"entries": {"registrationKey": {"description": "A-B"}}}}}}
ADMIN = [{"name": "all-partitions", "role": "admin"}]


@dataclass
class Unit:
    """A unit whose client answers; it is its own client, dispatcher and map of nodes."""

    name: str = "lb1"
    ltm: str = "nominal"
    roles: list[dict[str, str]] | None = field(default_factory=lambda: ADMIN)
    licence: bool = True
    calls: Counter = field(default_factory=Counter)

    def get_once(self, path, params=None):
        self.calls[path.split("?")[0]] += 1
        match path:
            case "sys/license" if self.licence:
                return LICENCE
            case "sys/provision/ltm" if self.ltm:
                return {"level": self.ltm}
            case "auth/user/router" if self.roles is not None:
                return {"partitionAccess": self.roles}
            case "ltm/node":
                return {}
        raise NotFound("GET", path, "not there", status=404)


class World:
    def __init__(self, unit: Unit):
        self.now, self.jobs = 1000.0, []
        client = SimpleNamespace(for_reading=lambda: self.device.unit)
        self.device = SimpleNamespace(unit=unit, client=client, observed={}, dispatcher=self)
        self.watch = DeviceWatch(
            self.device, user="router", partition="Common", clock=lambda: self.now, wall=lambda: 1.8e9,
            periods=Periods(nodes_s=5.0, licence_s=60.0, system_s=3600.0))

    def send(self, work, then, lane=Lane.OTHER):
        self.jobs.append(Job(self, work, then, lane))

    def ended(self, job):
        pass

    def end(self):
        while self.jobs:
            job = self.jobs.pop(0)
            job.result = job.work()
            job.end()

    def look(self):
        self.watch.look()
        self.end()


def test_an_hour_of_looks():
    """The cost: 12 requests for nodes and 1 for the licence in a minute, 2 for the rest in an hour."""
    unit = Unit()
    world = World(unit)
    while world.now < 1000 + 3600:
        world.look()
        world.now += 1
    assert unit.calls == {"ltm/node": 720, "sys/license": 60, "sys/provision/ltm": 1, "auth/user/router": 1}


@rows(("unit", "known"), [
    (Unit(), System("nominal", "admin in partition Common")),
    (Unit(ltm="none"), System("none", "admin in partition Common")),
    (Unit(ltm=""), System("", "admin in partition Common")),
    (Unit(roles=None), System("nominal", "")),
    (Unit(roles=[{"name": "Common", "role": "guest"}]),
     System("nominal", "user router has the role guest in partition Common, which may not write")),
])
def test_what_is_known(unit, known):
    world = World(unit)
    assert (world.watch.system, world.watch.read_licence) == (None, None)
    world.look()
    assert world.watch.system == known
    assert world.watch.read_licence == Licence(exists=True)


def test_a_licence_that_cannot_be_read_stays_unknown_and_is_asked_for_again():
    world = World(Unit(licence=False))
    for _ in range(3):
        world.look()
    assert world.watch.read_licence is None
    assert world.device.unit.calls["sys/license"] == 3


@pytest.mark.parametrize("ends_late", [False, True])
def test_another_unit_is_not_described_by_the_one_before(ends_late):
    """Also where the answer of the one before comes after the switch."""
    first, second = Unit("lb1"), Unit("lb2", ltm="none", licence=False)
    world = World(first)
    world.watch.look()
    if not ends_late:
        world.end()
        assert world.watch.system == System("nominal", "admin in partition Common")
    world.device.unit = second
    world.end()
    assert not ends_late or world.watch.system is None
    world.look()
    assert world.watch.system == System("none", "admin in partition Common")
    assert world.watch.read_licence is None


def test_a_follower_forgets():
    world = World(Unit())
    world.look()
    world.watch.start_over()
    assert (world.watch.system, world.watch.read_licence) == (None, None)
    world.look()
    assert world.watch.system is not None
    assert world.device.unit.calls["sys/provision/ltm"] == 2
