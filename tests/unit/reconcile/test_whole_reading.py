"""whole_reading.py: a reading that is dropped changes nothing, however late it ends."""

from types import SimpleNamespace

import pytest

from f5router.icontrol.dispatcher import Dispatcher, Job, Lane
from f5router.model.errors import Unreachable
from f5router.reconcile.whole_reading import DeviceReader


class Device:
    """A BIG-IP whose requests end when the test says so."""

    def __init__(self, *, several: bool):
        self.pair, self.dispatcher, self.then = SimpleNamespace(is_several=several), self, []
        self.calls: list[str] = []
        self.is_outdated = False

    def send(self, work, then, lane) -> None:
        self.then.append(then)

    def end(self, number: int, error: Exception | None = None) -> None:
        """End a request. Args: number: in the order in which they began."""
        job = Job(Dispatcher(1), lambda: None, lambda job: None, Lane.OTHER)
        job.result, job.error = f"result {number}", error
        self.then[number](job)

    def begin_whole_reading(self):
        self.is_outdated = False
        return SimpleNamespace(facts="facts", read_objects=None)

    def take(self, observation) -> None:
        self.calls.append(observation)

    def turn_to(self, unit) -> None:
        self.calls.append(f"turn to {unit}")

    def expect(self, reading) -> None:
        pass

    def fail_reading(self) -> None:
        self.calls.append("failed")

    def end_reading(self) -> None:
        pass

    def active_unit(self) -> None:
        pass


def reader(device: Device) -> DeviceReader:
    """Return one that notes facts and ends among the calls of the device."""
    return DeviceReader(device, SimpleNamespace(end_doubts=lambda number: False), clock=lambda: 0.0,
                        on_facts=device.calls.append, on_end=lambda error: device.calls.append("end"))


@pytest.mark.parametrize("error", [None, Unreachable()], ids=["read", "failed"])
@pytest.mark.parametrize("ended", [0, 1], ids=["facts", "objects"])
def test_a_reading_that_ends_after_a_newer_one(ended, error):
    """It is older, as that of a follower which was elected since."""
    device = Device(several=False)
    reading = reader(device)
    reading.begin()
    for number in range(ended):
        device.end(number)
    reading.drop()
    reading.begin()
    device.end(ended + 1)
    device.end(ended + 2)
    assert device.calls[-3:] == ["facts", f"result {ended + 2}", "end"]
    before = [*device.calls]
    device.end(ended, error)
    assert device.calls == before


def test_a_choice_of_the_unit_that_ends_after_a_newer_one():
    device = Device(several=True)
    reading = reader(device)
    reading.begin()
    reading.begin()
    device.end(1)
    device.end(0)
    assert device.calls == ["turn to result 1"]


def test_what_calls_for_a_reading_during_one():
    """It may be older than that. Not what is known before the BIG-IP is asked, as which unit is active."""
    device = Device(several=True)
    reading = reader(device)
    reading.begin()
    reading.must_read("another unit is active")
    device.end(0)
    device.end(1)
    reading.must_read("not found")
    reading.must_read("refused")
    device.end(2)
    assert reading.reason == "not found"
    reading.begin()
    for number in (3, 4, 5):
        device.end(number)
    assert (reading.reason, device.calls[-1]) == ("", "end")


def test_front_ends_that_come_with_the_facts():
    """The facts are read again, with those of their virtual servers, before the objects."""
    device = Device(several=False)
    DeviceReader(device, SimpleNamespace(end_doubts=lambda number: False), clock=lambda: 0.0,
                 on_end=lambda error: device.calls.append("end"),
                 on_facts=lambda facts: (device.calls.append(facts), setattr(
                     device, "is_outdated", device.calls == ["facts"]))).begin()
    for number in range(3):
        device.end(number)
    assert device.calls == ["facts", "facts", "result 2", "end"]


def test_front_ends_that_come_with_the_objects():
    """The device is read once more: what was read may lack their virtual servers."""
    device = Device(several=False)
    reading = reader(device)
    reading.begin()
    device.end(0)
    device.is_outdated = True
    device.end(1)
    assert (device.calls[-1], reading.reason) == ("end", "front ends have changed")
