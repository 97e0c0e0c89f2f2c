"""When names and generations are looked at."""

import math

import pytest

from f5router.icontrol.dispatcher import Dispatcher, Job, Lane
from f5router.icontrol.generations import KINDS, Look, NotSelected, Replies
from f5router.model.errors import Unreachable
from f5router.model.ltm import Policy, Pool
from f5router.model.objects import Ref
from f5router.plan.change import UPDATE, Change
from f5router.reconcile.drift_hint import FIRST_S, HINT, SETTLED_S, DriftHint
from f5router.reconcile.explained import Explained
from f5router.reconcile.reading_pace import ReadingPace
from f5router.reconcile.timers import Timers

A, POLICY = Pool("/P/a"), Policy("/P/openshift_insecure_routes")


def generations(**values: int) -> dict[Ref, int]:
    return {Ref(Pool.KIND, f"/P/{name}"): value for name, value in values.items()}


class Looks:
    """A DriftHint, and what it reads."""

    def __init__(self, clock, *, period_s: float = 45, limit_s: float = 300, share=math.inf, read=True):
        self.clock, self.begun, self.replies, self.timers = clock, [], Replies(), Timers()
        self.hints = 0
        explained = Explained(lambda ref: False, tuple, lambda: self.replies)
        self.hint = DriftHint(self._begin, explained, limit_s=limit_s, clock=clock, timers=self.timers,
                              pace=ReadingPace("names", period_s, share))
        self.hint.on_hint = self._count
        if read:
            self.read(generations(a=1))

    def _count(self) -> None:
        self.hints += 1

    def _begin(self, extent, then) -> None:
        self.begun.append(extent)
        self.job = Job(Dispatcher(1), lambda: None, then, Lane.BESIDE)

    @property
    def due_at(self) -> float:
        at = self.timers.when(HINT)
        return math.inf if at is None else at

    def act(self) -> bool:
        """Let the time come for what is due; True if that gives a hint."""
        before, self.clock.now = self.hints, max(self.clock.now, self.due_at)
        self.timers.fire(self.clock.now)
        return self.hints > before

    def read(self, answer: dict) -> None:
        self.hint.begin_reading()
        self.hint.take_reading(answer)

    def look(self, answer, *, meanwhile=lambda: None, cpu_s: float = 0.0) -> bool:
        """Return what a reading with this answer leads to."""
        assert not self.act()
        assert (self.hint.is_looking, self.due_at) == (True, math.inf)
        meanwhile()
        before, self.job.cpu_s = self.hints, cpu_s
        if isinstance(answer, Exception):
            self.job.error = answer
        else:
            self.job.result = Look(answer)
        self.job.end()
        return self.hints > before

    def write(self, obj=A, generation: int | None = None) -> None:
        self.replies.note("PATCH", f"{obj.KIND}/{obj.path.replace('/', '~')}", {"generation": generation})
        self.hint.record(Change(UPDATE, obj, obj))

    @property
    def wait_s(self) -> float:
        return self.due_at - self.clock.now


@pytest.mark.parametrize(("after", "hint"), [
    pytest.param(generations(a=1), False, id="nothing"),
    pytest.param(generations(a=2), True, id="changed"),
    pytest.param(generations(), True, id="gone"),
    pytest.param(generations(a=1, b=1), True, id="new"),
])
def test_hints(clock, after, hint):
    assert Looks(clock).look(after) is hint


def test_times_at_rest(clock):
    """The first look comes soon after the first reading, the next ones in turn; none before it."""
    looks = Looks(clock, read=False)
    assert looks.wait_s == math.inf
    looks.read(generations(a=1))
    assert looks.wait_s == FIRST_S
    for _ in range(3):
        looks.look(generations(a=1))
        assert looks.wait_s == 45
    assert [extent.kinds for extent in looks.begun] == [KINDS] * 3
    looks.hint.start_over()
    assert looks.wait_s == math.inf


def test_times_after_own_writes(clock):
    """A short look learns the generation, soon after the last of several writes, but not often."""
    looks = Looks(clock, period_s=60)
    looks.look(generations(a=1))
    looks.write(generation=2)
    assert looks.wait_s == 60, "the reply shows the generation"
    looks.write()
    assert looks.wait_s == SETTLED_S
    waits = []
    for _ in range(30):
        looks.write()
        waits.append(looks.wait_s)
        clock.now += 1
    assert waits[:18] == [2] * 18
    assert looks.due_at <= clock.now
    assert not looks.look(generations(a=9))
    assert looks.begun[-1].kinds == {Pool.KIND}
    assert looks.wait_s <= 60
    looks.write()
    assert looks.wait_s == 20, "a third of the period from look to look"
    clock.now += 30
    looks.look(generations(a=12))
    assert looks.begun[-1].kinds == KINDS, "the next look at everything is not far"


def test_a_reading_that_overtakes_a_look(clock):
    """The look may be older."""
    looks = Looks(clock)
    assert not looks.look(generations(a=1), meanwhile=lambda: looks.read(generations(a=2)))
    assert not looks.look(generations(a=2))


def test_a_look_that_fails(clock):
    """The router goes on, and learns what it has written from the next one."""
    looks = Looks(clock)
    looks.write()
    assert not looks.look(Unreachable())
    assert looks.wait_s < 45
    assert not looks.look(generations(a=2))
    assert looks.look(generations(a=3))


def test_wrong_hints_become_rare(clock):
    looks, waits = Looks(clock), []
    for _ in range(4):
        looks.hint.record_reading(right=False)
        waits.append(looks.wait_s)
    assert waits == [90, 180, 300, 300]
    looks.write()
    assert looks.wait_s == 100, "short looks are rarer, too"
    looks.hint.record_reading(right=True)
    assert looks.wait_s == FIRST_S


def test_a_right_hint_is_followed_by_a_look_soon(clock):
    """Unless what it leads to is costly."""
    looks = Looks(clock)
    looks.look(generations(a=2))
    looks.hint.record_reading(right=True, cost_s=0.1)
    looks.write()
    assert looks.wait_s == FIRST_S
    looks.hint.record_reading(right=True, cost_s=2.0)
    assert looks.wait_s == 40


def test_replies_that_do_not_show_the_generation(clock):
    """One wrong hint, and replies are of no use any more; looks are not."""
    looks = Looks(clock)
    looks.write(generation=7)
    assert looks.look(generations(a=8))
    looks.hint.record_reading(right=False)
    assert looks.wait_s == 45
    looks.write(generation=10)
    assert looks.wait_s == SETTLED_S
    assert not looks.look(generations(a=11))


def test_a_policy_that_was_changed_before_a_draft(clock):
    looks = Looks(clock)
    looks.read({POLICY.ref: 1})
    for number in (1, 3):
        looks.replies.opened(POLICY.path, {"generation": number})
        looks.write(POLICY)
        if number == 1:
            looks.look({POLICY.ref: 2})
    assert looks.due_at <= clock.now
    assert looks.act()
    assert looks.due_at > clock.now


def test_costly_looks_are_rare(clock):
    """They take no more than their share, and come as asked for again when they are cheap."""
    looks, waits = Looks(clock, share=0.01), []
    for cpu_s in (0.1, 0.9, 9.0, 0.1):
        looks.look(generations(a=1), cpu_s=cpu_s)
        waits.append(looks.wait_s)
    assert waits == pytest.approx([45, 90, 900, 45])
    looks.look(generations(a=1), cpu_s=9.0)
    looks.hint.record_reading(right=True)
    assert looks.wait_s == pytest.approx(300)


@pytest.mark.parametrize("stop", ["no shorter period", "a device that gives everything"])
def test_no_hints(clock, stop):
    looks = Looks(clock, period_s=300 if stop == "no shorter period" else 45)
    if stop != "no shorter period":
        assert not looks.look(NotSelected("no"))
    looks.write()
    looks.read(generations(a=1))
    assert looks.due_at == math.inf
