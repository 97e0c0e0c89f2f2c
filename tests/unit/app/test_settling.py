"""Work after writes: nodes are removed and the configuration is saved once writes have settled."""

import logging

import pytest

from f5router.app.settling import AGAIN_S, Settling
from f5router.app.timing import Timing
from f5router.icontrol.dispatcher import Job, Lane
from f5router.model.errors import Busy
from f5router.reconcile.timers import Timers

TIMING = Timing(settle_s=5.0, settle_limit_s=60.0, tidy_most=2)


class Device:
    """A device with LTM nodes that were left behind; saves fail as told. Jobs end when the test says so."""

    def __init__(self, orphans: int = 0, error: Exception | None = None):
        self.orphans, self.error, self.saves, self.asked = orphans, error, 0, []
        self.dispatcher, self.jobs, self.refusals = self, [], []

    def keep_used_nodes(self) -> None:
        pass

    def save(self) -> None:
        self.saves += 1
        if self.error is not None:
            raise self.error

    def remove_orphans(self, most: int) -> int:
        self.asked.append(most)
        if self.refusals:
            raise self.refusals.pop()
        removed = min(most, self.orphans)
        self.orphans -= removed
        return removed

    def send(self, work, then, lane=Lane.OTHER) -> None:
        self.jobs.append(Job(self, work, then, lane))

    def ended(self, job) -> None:
        pass

    def end_jobs(self) -> None:
        while self.jobs:
            job = self.jobs.pop(0)
            job.result = job.work()
            job.end()


class Syncer:
    """A ConfigSyncer that counts."""

    def __init__(self):
        self.changes, self.steps, self.at = 0, 0, None

    def changed(self):
        self.changes += 1

    def due_at(self):
        return self.at

    def step(self):
        self.steps += 1
        self.at = None


class World:
    def __init__(self, device: Device, *, save: bool = True):
        self.now, self.device, self.syncer, self.timers = 100.0, device, Syncer(), Timers()
        self.settling = Settling(device, self.syncer, save=save, timing=TIMING, clock=lambda: self.now)
        self.settling.connect(self.timers)

    def advance(self, seconds: float, *, ends: bool = True) -> None:
        """Let time pass. Args: ends: whatever is begun ends at once."""
        self.now += seconds
        self.timers.fire(self.now)
        if ends:
            self.device.end_jobs()


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
    assert (world.device.orphans, world.device.saves, world.timers.next_at()) == (3, 0, world.now)
    world.advance(0)
    world.advance(0)
    assert (world.device.orphans, world.device.asked, world.device.saves) == (0, [2, 2, 2], int(save))


def test_a_write_while_nodes_are_removed():
    """The rest of the nodes waits until it has settled too."""
    world = World(Device(orphans=5))
    world.settling.record_write()
    world.advance(5, ends=False)
    world.settling.record_write()
    world.device.end_jobs()
    world.advance(1)
    assert world.device.orphans == 3
    world.advance(4)
    assert world.device.orphans == 1


@pytest.mark.parametrize("fails", [False, True])
def test_one_thread_at_a_time_removes_nodes(fails):
    """Also if writes settle, or a back-off ends, while a request for it hangs."""
    world = World(Device(orphans=5))
    if fails:
        world.device.refusals = [Busy("DELETE", "/node", "busy")]
        world.settling.record_write()
        world.advance(5)
    world.settling.record_write()
    for seconds in (5, 5, AGAIN_S, 100):
        world.advance(seconds, ends=False)
        world.settling.record_write()
        assert len(world.device.jobs) == 1
    world.device.end_jobs()
    for _ in range(4):
        world.advance(5)
    assert (world.device.orphans, len(world.device.jobs)) == (0, 0)


def test_nodes_that_could_not_be_removed_are_tried_again():
    """Ever more rarely, and nothing is saved for that."""
    world = World(Device(orphans=1))
    world.device.refusals = [Busy("DELETE", "/node", "busy")] * 3
    world.settling.record_write()
    world.advance(5)
    assert (world.device.orphans, world.device.saves) == (1, 1)
    for wait_s in (5, 10, 20):
        world.advance(wait_s - 1)
        world.advance(1)
    assert (world.device.orphans, world.device.asked, world.device.saves) == (0, [2] * 4, 1)
    assert world.timers.next_at() is None


@pytest.mark.parametrize("save", [True, False])
def test_the_state_of_saving_in_words(save):
    world = World(Device(), save=save)
    states = [world.settling.save_state()]
    world.settling.record_write()
    states.append(world.settling.save_state())
    world.advance(5, ends=False)
    world.device.jobs[0].result = world.device.jobs[0].work()  # LTM nodes
    world.device.jobs.pop(0).end()
    states.append(world.settling.save_state())
    world.device.end_jobs()
    states.append(world.settling.save_state())
    assert states == (["", "changes are saved soon", "a save is under way", "saved"] if save
                      else ["off: the router saves nothing"] * 4)
    assert world.settling.last_save == (world.now if save else None)
    saved_at = world.settling.last_save
    world.device.error = Busy("POST", "/save", "busy")
    world.settling.record_write()
    world.advance(5)
    assert world.settling.save_state().startswith("failed: " if save else "off")
    assert world.settling.last_save == saved_at


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
    world.advance(TIMING.busy_s)
    assert not world.settling.is_disturbing()


def test_no_sync_while_a_save_runs():
    world = World(Device())
    world.settling.record_write()
    world.advance(5, ends=False)
    (tidy,) = world.device.jobs
    world.device.jobs.clear()
    tidy.end()
    assert world.settling.is_disturbing(), "the save has begun"
    world.syncer.at = world.now
    world.settling.record_write()
    world.advance(0, ends=False)
    assert world.syncer.steps == 0
    world.device.end_jobs()
    world.advance(AGAIN_S)
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
