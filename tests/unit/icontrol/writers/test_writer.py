"""A batch that the device refuses is halved until only the culprits fail."""

from hypothesis import given
from hypothesis import strategies as st

from f5router.icontrol.writers.writer import bisect
from f5router.model.errors import Refused, Unreachable
from f5router.model.ltm import Pool
from f5router.plan.change import CREATE, Change


class Device:
    """Refuses a batch with one of the bad pools; is lost at a batch with the fatal one."""

    def __init__(self, bad: set[str], fatal: str = ""):
        self.bad, self.fatal, self.written = bad, fatal, []

    def write(self, changes: list[Change]):
        paths = {change.obj.path for change in changes}
        if self.fatal in paths:
            return [(change, Unreachable(text="lost")) for change in changes]
        if self.bad & paths:
            return bisect(units(changes), Refused(text=f"{min(paths)} and others"), self.write)
        self.written += sorted(paths)
        return [(change, None) for change in changes]


def units(changes: list[Change]) -> list[list[Change]]:
    """Pools of one first letter are written together."""
    letters = sorted({change.obj.path[0] for change in changes})
    return [[change for change in changes if change.obj.path[0] == letter] for letter in letters]


PATHS = st.sets(st.builds("{}{}".format, st.sampled_from("abcdefgh"), st.integers(0, 2)), min_size=1)


@given(PATHS, st.data())
def test_only_units_with_a_culprit_fail(paths, data):
    bad = data.draw(st.sets(st.sampled_from(sorted(paths))))
    device = Device(bad)
    results = device.write([Change(CREATE, None, Pool(path)) for path in sorted(paths)])
    letters = {path[0] for path in bad}
    assert {change.obj.path for change, error in results if error} == {p for p in paths if p[0] in letters}
    assert sorted(device.written) == sorted(p for p in paths if p[0] not in letters)
    assert len(results) == len(paths)


def test_nothing_is_sent_after_an_error_of_the_device():
    device = Device({"b0", "h0"}, fatal="a0")
    changes = [Change(CREATE, None, Pool(f"{letter}0")) for letter in "abcdefgh"]
    results = bisect(units(changes), Refused(text="no"), device.write)
    assert {type(error) for _, error in results} == {Unreachable}
    assert device.written == []
