"""Work after writes: nodes are removed and the configuration is saved once writes have settled."""

import logging

import pytest

from f5router.app.settling import Settling
from f5router.app.timing import Timing
from f5router.model.errors import Busy
from tests.waiting import DEADLINE_S

TIMING = Timing(settle_s=5.0, settle_limit_s=60.0, tidy_most=2)


class Device:
    """A device with LTM nodes that were left behind; saves fail as told."""

    def __init__(self, orphans: int = 0, error: Exception | None = None):
        self.orphans, self.error, self.saves, self.asked = orphans, error, 0, []

    def save(self) -> None:
        self.saves += 1
        if self.error is not None:
            raise self.error

    def remove_orphans(self, most: int) -> int:
        self.asked.append(most)
        removed = min(most, self.orphans)
        self.orphans -= removed
        return removed


class Syncer:
    """A ConfigSyncer that counts."""

    def __init__(self):
        self.changes, self.steps = 0, 0

    def changed(self):
        self.changes += 1

    def due_at(self):
        return None

    def due(self, now):
        return True

    def step(self):
        self.steps += 1


class World:
    def __init__(self, device: Device, *, save: bool = True):
        self.now, self.device, self.syncer = 100.0, device, Syncer()
        self.settling = Settling(device, self.syncer, save=save, wake=lambda: None, timing=TIMING,
                                 clock=lambda: self.now)

    def advance(self, seconds: float, *, blocked_until: float = 0.0) -> None:
        self.now += seconds
        self.settling.advance(blocked_until=blocked_until)
        assert self.settling.saver.wait(DEADLINE_S)


def test_it_is_saved_once_when_writes_have_settled():
    world = World(Device())
    world.advance(100)
    world.settling.record_write()
    world.advance(4)
    world.settling.record_write()
    world.advance(4)
    assert (world.device.saves, world.settling.settles_at()) == (0, world.now + 1)
    world.advance(1)
    assert (world.device.saves, world.settling.settles_at()) == (1, None)
    world.advance(1)
    world.advance(100)
    assert (world.device.saves, world.syncer.changes) == (1, 2)


def test_writes_that_never_end_are_saved_all_the_same():
    world = World(Device())
    for _ in range(16):
        world.settling.record_write()
        world.advance(4)
    assert world.device.saves == 1


@pytest.mark.parametrize("save", [True, False])
def test_nodes_go_first_a_few_in_each_turn(save):
    world = World(Device(orphans=5), save=save)
    world.settling.record_write()
    world.advance(5)
    assert (world.device.orphans, world.device.saves, world.settling.due_at()) == (3, 0, world.now)
    world.advance(0)
    world.advance(0)
    assert (world.device.orphans, world.device.asked, world.device.saves) == (0, [2, 2, 2], int(save))


def test_a_write_while_nodes_are_removed():
    """The loop sleeps until it has settled too, and then goes on with the nodes."""
    world = World(Device(orphans=5))
    world.settling.record_write()
    world.advance(5)
    world.settling.record_write()
    assert world.settling.due_at() == world.now + 5
    world.advance(1)
    assert world.device.orphans == 3
    world.advance(4)
    assert world.device.orphans == 1


def test_nothing_begins_during_a_back_off():
    world = World(Device(orphans=1))
    world.settling.record_write()
    world.advance(50, blocked_until=160.0)
    assert (world.device.orphans, world.device.saves) == (1, 0)
    world.advance(10, blocked_until=160.0)
    assert (world.device.orphans, world.device.saves) == (0, 1)


def test_a_save_that_failed_is_repeated(caplog):
    world = World(Device(error=Busy("POST", "/save", "busy")))
    world.settling.record_write()
    world.advance(5)
    world.device.error = None
    world.advance(1)
    assert world.device.saves == 1
    assert world.settling.settles_at() is not None
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    world.advance(5)
    assert world.device.saves == 2


def test_the_device_may_be_busy_with_a_save_and_shortly_afterwards():
    world = World(Device())
    world.settling.record_write()
    assert not world.settling.is_disturbing()
    world.advance(5)
    assert world.settling.is_disturbing()
    world.advance(0.5)
    assert world.settling.is_disturbing()
    world.advance(1.0)
    assert not world.settling.is_disturbing()


def test_no_sync_while_a_save_runs():
    world = World(Device())
    world.settling.record_write()
    world.advance(5)
    world.settling.sync(world.now)
    assert world.syncer.steps == 0, "its result was not taken yet"
    world.advance(1)
    world.settling.sync(world.now)
    assert world.syncer.steps == 1


@pytest.mark.parametrize(("timeout_s", "orphans"), [(None, 0), (10.0, 1)])
def test_finish(timeout_s, orphans):
    """At the end all at once; with a limit only some nodes."""
    world = World(Device(orphans=5))
    assert world.settling.finish(timeout_s=timeout_s)
    assert (world.device.orphans, world.device.saves) == (5, 0), "nothing was written"
    world.settling.record_write()
    assert world.settling.finish(timeout_s=timeout_s)
    assert (world.device.orphans, world.device.saves) == (orphans, 1)
