"""Hints at drift by names and generations."""

import math

import pytest

from f5router.icontrol.beside import Reading
from f5router.icontrol.generations import NotSelected
from f5router.model.errors import Unreachable
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, Change
from f5router.reconcile.drift_hint import DriftHint
from f5router.reconcile.reading_pace import ReadingPace

A, B = "/P/a", "/P/b"


def generations(**values: int) -> dict[Ref, int]:
    return {Ref(Pool.KIND, f"/P/{name}"): value for name, value in values.items()}


class Looks:
    """A DriftHint, and what it reads."""

    def __init__(self, clock, *, period_s: float = 45, limit_s: float = 300, share=math.inf):
        self.clock, self.writing, self.begun = clock, set(), 0
        self.hint = DriftHint(self._begin, self.writing.__contains__, limit_s=limit_s, clock=clock,
                              pace=ReadingPace("names", period_s, share))

    def _begin(self) -> Reading:
        self.begun += 1
        self.future = Reading()
        return self.future

    def look(self, answer, *, meanwhile=lambda: None, cpu_s: float = 0.0) -> bool:
        """Return what a reading with this answer leads to."""
        self.clock.now = max(self.clock.now, self.hint.due_at())
        assert not self.hint.check(self.clock.now)
        assert not self.hint.check(self.clock.now), "nothing was read yet"
        meanwhile()
        self.future.cpu_s = cpu_s
        if isinstance(answer, Exception):
            self.future.set_exception(answer)
        else:
            self.future.set_result(answer)
        return self.hint.check(self.clock.now)

    def write(self, path: str) -> None:
        self.hint.record(Change(CREATE, None, Pool(path)))


@pytest.mark.parametrize(("after", "hint"), [
    pytest.param(generations(a=1, b=1), False, id="nothing"),
    pytest.param(generations(a=2, b=1), True, id="changed"),
    pytest.param(generations(a=1), True, id="gone"),
    pytest.param(generations(a=1, b=1, c=1), True, id="new"),
])
def test_hints(clock, after, hint):
    looks = Looks(clock)
    assert not looks.look(generations(a=1, b=1)), "there is nothing to compare with"
    assert looks.look(after) is hint


@pytest.mark.parametrize("when", ["before", "during", "under way", "before a reading that failed"])
def test_own_writes_are_no_hint(clock, when):
    looks = Looks(clock)
    looks.look(generations(a=1, b=1))
    if when.startswith("before"):
        looks.write(A)
    if when == "under way":
        looks.writing.add(Ref(Pool.KIND, A))
    if "failed" in when:
        assert not looks.look(Unreachable())
    during = (lambda: looks.write(A)) if when == "during" else (lambda: None)
    assert not looks.look(generations(a=2, b=1), meanwhile=during)
    looks.writing.clear()
    if when == "during":
        assert not looks.look(generations(a=3, b=1)), "the write may have been applied after that reading"
    assert looks.look(generations(a=4, b=1))


def test_wrong_hints_become_rare(clock):
    looks = Looks(clock)
    waits = []
    for _ in range(4):
        looks.hint.record_reading(right=False)
        waits.append(looks.hint.due_at() - clock.now)
    assert waits == [90, 180, 300, 300]
    looks.hint.record_reading(right=True)
    assert looks.hint.due_at() - clock.now == 45


def test_costly_hints_are_rare(clock):
    """They take no more than their share, and come as asked for again when they are cheap."""
    looks, waits = Looks(clock, share=0.01), []
    for cpu_s in (0.1, 0.9, 9.0, 0.1):
        looks.look(generations(a=1), cpu_s=cpu_s)
        waits.append(looks.hint.due_at() - clock.now)
    assert waits == pytest.approx([45, 90, 900, 45])
    looks.look(generations(a=1), cpu_s=9.0)
    looks.hint.record_reading(right=True)
    assert looks.hint.due_at() - clock.now == pytest.approx(900)


@pytest.mark.parametrize("stop", ["no shorter period", "a device that gives everything"])
def test_no_hints(clock, stop):
    looks = Looks(clock, period_s=300 if stop == "no shorter period" else 45)
    if stop != "no shorter period":
        assert not looks.look(NotSelected("no"))
    assert looks.hint.due_at() == float("inf")
