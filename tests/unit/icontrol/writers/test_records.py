"""Records of a data-group: a refused list costs only the record that the device refuses."""

from hypothesis import given
from hypothesis import strategies as st

from f5router.icontrol.writers.records import LONG, RecordWriter
from f5router.model.errors import NotFound, Refused
from f5router.model.ltm import Record
from f5router.plan.change import CREATE, DELETE, Change

GROUP = "/Common/ssl_passthrough_servername_dg"


class Device:
    """A data-group behind PATCH, which refuses a list that holds a certain name."""

    def __init__(self, poison: str = "", error: Exception | None = None):
        self.records: set[str] = {"www.example.com"}
        self.poison, self.error, self.writes = poison, error, 0

    def patch(self, path, body, params=None):
        assert params is None, "a record written singly"
        self.writes += 1
        if self.error:
            raise self.error
        names = {record["name"] for record in body["records"]}
        if self.poison in names:
            raise Refused(text="no", status=400)
        self.records = names


def record(name: str) -> Record:
    return Record(GROUP, name, "/Common/pool")


def create(count: int) -> list[Change[Record]]:
    return [Change(CREATE, None, record(f"host-{n}.com")) for n in range(count)]


def write(device: Device, changes: list[Change[Record]]):
    return RecordWriter(device, lambda group: [record("www.example.com")]).write(changes)


@given(st.integers(5, 40), st.integers(0, 39))
def test_a_refused_list_is_halved(count, bad):
    bad %= count
    device = Device(poison=f"host-{bad}.com")
    changes = [*create(count), Change(DELETE, record("www.example.com"), None)]
    failed = [change.obj.name for change, error in write(device, changes) if error]
    assert failed == [device.poison]
    assert device.records == {f"host-{n}.com" for n in range(count) if n != bad}
    assert device.writes <= 14


def test_a_data_group_that_is_gone_is_not_searched():
    device = Device(error=NotFound(text="not found", status=404))
    assert {error for _, error in write(device, create(9))} == {device.error}
    assert device.writes == 1


@given(st.integers(900, 1100))
def test_a_long_record_is_no_part_of_an_address(size):
    """It is written in the body, with all others."""
    class Singly(Device):
        def patch(self, path, body, params=None):
            assert (params is None) == (size > LONG)
            self.writes += 1

    device = Singly()
    assert write(device, [Change(CREATE, None, Record(GROUP, "a", "x" * size))])[0][1] is None
    assert device.writes == 1
