"""secret_schedule.py: which Secret is read when, on a made-up clock."""

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.kube.api.work_queue import FairQueue
from f5router.kube.secrets.secret_schedule import ReadSchedule
from f5router.kube.settings import SecretPace
from f5router.model.cluster import Key

PACE = SecretPace()
FOUND, ABSENT, FAILED, HANGS = "found", "absent", "failed", "hangs"
TOOK_S = 0.02


def keys(count: int, namespace: str = "shop") -> list[Key]:
    return [Key(namespace, f"s{number:04}") for number in range(count)]


class Readers:
    """Plays the readers: every read takes TOOK_S, or timeout_s on a Secret that hangs."""

    def __init__(self, pace: SecretPace = PACE, answer: Callable[[Key], str] = lambda key: FOUND):
        self.now, self.pace, self.answer = 0.0, pace, answer
        self.schedule = ReadSchedule(pace, lambda: self.now)
        self.log: list[tuple[float, Key]] = []
        self._running: list[tuple[float, int, Key]] = []
        self._number = itertools.count()

    def run(self, until: float) -> None:
        while True:
            while (key := self.schedule.take()) is not None:
                self.log.append((self.now, key))
                took_s = self.pace.timeout_s if self.answer(key) == HANGS else TOOK_S
                self._running.append((self.now + took_s, next(self._number), key))
                assert len(self._running) <= self.pace.readers
            ends = [end for end, _, _ in self._running]
            wait_s = self.schedule.wait_s()
            at = min([*ends, *([] if wait_s is None else [self.now + wait_s + 1e-6])], default=until)
            if at >= until:
                self.now = until
                return
            self.now = at
            self._finish()

    def _finish(self) -> None:
        for done in sorted(entry for entry in self._running if entry[0] <= self.now):
            self._running.remove(done)
            answer = self.answer(done[2])
            if answer in (FOUND, ABSENT):
                self.schedule.answered(done[2], useful=answer == FOUND)
            else:
                self.schedule.failed(done[2])

    def first(self, key: Key) -> float:
        return next(at for at, read in self.log if read == key)

    def count(self, since: float, until: float) -> int:
        return sum(since <= at < until for at, _ in self.log)

    def gaps(self, key: Key) -> list[float]:
        times = [at for at, read in self.log if read == key]
        return [after - before for before, after in itertools.pairwise(times)]


def test_a_start_reads_all_without_a_pause():
    readers = Readers()
    for key in keys(2000):
        readers.schedule.add(key)
    readers.run(10.1)
    assert len({key for _, key in readers.log}) == 2000, "4 readers of 0.02 s"


@pytest.mark.parametrize("count", [1, 100, 390])
def test_each_is_refreshed(count):
    readers = Readers()
    for key in keys(count):
        readers.schedule.add(key)
    readers.run(200.0)
    for key in keys(count):
        assert max(readers.gaps(key)) <= PACE.refresh_s + 2.0
        assert len(readers.gaps(key)) >= 8


@pytest.mark.parametrize("answer", [FOUND, ABSENT, FAILED])
def test_the_rate_is_bounded(answer):
    """However many there are, found or not, and however often their Routes change."""
    readers = Readers(answer=lambda key: answer)
    named = keys(1500) + keys(500, "bank")
    for key in named:
        readers.schedule.add(key)
    readers.run(30.0)
    for at in range(30, 60):
        for key in named:
            readers.schedule.hasten(key)
        readers.run(at + 1.0)
    assert readers.count(30.0, 60.0) <= 30 * PACE.again_per_s + PACE.again_per_s


def test_new_names_all_the_time():
    """A tenant whose Routes name other Secrets again and again costs no more than the burst and the rate, and
    others a moment.
    """
    readers = Readers(SecretPace(burst=100), answer=lambda key: ABSENT)
    for turn in range(60):
        for key in keys(50, f"n{turn - 1}"):
            readers.schedule.discard(key)
        for key in keys(50, f"n{turn}"):
            readers.schedule.add(key)
        readers.run(turn + 1.0)
    assert len(readers.log) <= 100 + 60 * (PACE.first_per_s + PACE.again_per_s) + PACE.again_per_s
    readers.schedule.add(other := Key("bank", "tls"))
    readers.run(61.0)
    assert readers.first(other) < 60.5


@pytest.mark.parametrize("answer", [ABSENT, FAILED])
def test_an_absent_one_is_noticed(answer):
    """The wait grows to its limit, and no further."""
    readers = Readers(answer=lambda key: answer)
    key = Key("shop", "tls")
    readers.schedule.add(key)
    readers.run(600.0)
    backoff = PACE.absent if answer == ABSENT else PACE.failed
    assert readers.gaps(key)[0] <= backoff.first_s + 2 * TOOK_S
    assert backoff.limit_s / 2 <= readers.gaps(key)[-1] <= backoff.limit_s + 2 * TOOK_S


def test_hastened():
    """An edit of the Route has it read within hasten_s, also when that comes during a read."""
    readers = Readers(answer=lambda key: ABSENT)
    key = Key("shop", "tls")
    readers.schedule.add(key)
    readers.run(300.0)
    before = len(readers.log)
    while len(readers.log) == before:
        readers.run(readers.now + 1.0)
    readers.run(at := readers.now + 5.0)
    readers.schedule.hasten(key)
    readers.run(at + TOOK_S)
    assert readers.log[-1][0] == pytest.approx(at, abs=1e-3)
    readers.run(at + 0.1)
    readers.schedule.hasten(key)
    readers.run(at + 1.1)
    assert readers.log[-1][0] == pytest.approx(at + PACE.hasten_s, abs=0.01)


def test_hastened_during_a_read():
    now = [0.0]
    schedule = ReadSchedule(PACE, lambda: now[0])
    key = Key("shop", "tls")
    schedule.add(key)
    assert schedule.take() == key
    schedule.hasten(key)
    schedule.answered(key, useful=True)
    assert schedule.take() is None
    now[0] = PACE.hasten_s
    assert schedule.take() == key


def test_turns_by_namespace():
    """The few Secrets of a team are read as soon as if the many of another did not exist."""
    readers = Readers()
    few = keys(3, "bank")
    for key in keys(2000) + few:
        readers.schedule.add(key)
    readers.run(10.0)
    assert all(readers.first(key) < 0.1 for key in few)
    readers.run(400.0)
    assert max(gap for key in few for gap in readers.gaps(key)) <= PACE.refresh_s + 2.0


def test_a_namespace_that_hangs():
    """It has some of the readers, and once it is known to hang only readers_of_slow."""
    readers = Readers(answer=lambda key: HANGS if key.namespace == "shop" else FOUND)
    others = keys(200, "bank")
    for key in keys(50) + others:
        readers.schedule.add(key)
    readers.run(6.0)
    assert all(readers.first(key) < 2.0 for key in others)
    readers.run(200.0)
    late = keys(1, "late")[0]
    readers.schedule.add(late)
    readers.run(201.0)
    assert readers.first(late) < 200.1
    assert max(gap for key in others for gap in readers.gaps(key)) <= PACE.refresh_s + 2.0


def test_the_api_server_fails():
    """While all reads fail there is one now and then; afterwards all are read at once."""
    fails = [True]
    readers = Readers(answer=lambda key: FAILED if fails[0] else FOUND)
    named = keys(1000) + keys(1000, "bank")
    for key in named:
        readers.schedule.add(key)
    readers.run(60.0)
    assert readers.count(10.0, 60.0) <= 50
    fails[0] = False
    readers.run(60.0 + 20.0)
    assert {key for at, key in readers.log if at > 60.0 - TOOK_S} >= set(named)  # one may be under way


def test_a_namespace_that_fails_does_not_count_as_the_api_server():
    readers = Readers(answer=lambda key: FAILED if key.namespace == "shop" else FOUND)
    for key in keys(100):
        readers.schedule.add(key)
    readers.schedule.add(Key("bank", "tls"))
    readers.run(100.0)
    readers.schedule.add(Key("late", "tls"))
    readers.run(101.0)
    assert readers.first(Key("late", "tls")) < 100.1


def test_a_watched_namespace():
    """It is read less often, until its watch ends; then at once, for what may have been missed."""
    readers = Readers()
    watched, other = keys(10), keys(10, "bank")
    readers.schedule.watch("shop")
    for key in watched + other:
        readers.schedule.add(key)
    readers.run(600.0)
    assert all(min(readers.gaps(key)[1:]) >= PACE.watched_s * 0.9 for key in watched)
    assert all(max(readers.gaps(key)) <= PACE.watched_s + 2.0 for key in watched)
    assert all(max(readers.gaps(key)) <= PACE.refresh_s + 2.0 for key in other)
    readers.schedule.unwatch("shop")
    readers.run(602.0)
    assert {key for at, key in readers.log if at >= 600.0} >= {
        key for key in watched if max(at for at, read in readers.log if read == key and at < 600.0) < 599.0}
    readers.run(700.0)
    assert all(readers.gaps(key)[-1] <= PACE.refresh_s + 2.0 for key in watched)


def test_added_again_while_it_is_read():
    """The read in flight counts; there is no second one beside it."""
    now = [0.0]
    schedule = ReadSchedule(PACE, lambda: now[0])
    key = Key("shop", "tls")
    schedule.add(key)
    assert schedule.take() == key
    schedule.discard(key)
    schedule.add(key)
    assert schedule.take() is None
    schedule.answered(key, useful=True)
    assert 0 < schedule.wait_s() <= PACE.refresh_s
    schedule.discard(key)
    now[0] = 2 * PACE.refresh_s
    assert schedule.take() is None


CHANGES = st.lists(st.tuples(
    st.sampled_from(["add", "discard", "hasten", "run"]), st.sampled_from("abc"), st.integers(0, 3)))


@given(CHANGES, st.randoms(use_true_random=False))
def test_nothing_is_forgotten(changes, random):
    """Whatever happens, every Secret that is wanted is read again, and no other."""
    readers = Readers(answer=lambda key: random.choice([FOUND, ABSENT, FAILED, HANGS]))
    wanted = set()
    for change, namespace, number in changes:
        key = Key(namespace, f"s{number}")
        if change == "add":
            readers.schedule.add(key)
            wanted.add(key)
        elif change == "discard":
            readers.schedule.discard(key)
            wanted.discard(key)
        elif change == "hasten":
            readers.schedule.hasten(key)
        else:
            readers.run(readers.now + number * 3.0)
    begin = readers.now
    readers.run(begin + 200.0)
    assert {key for at, key in readers.log if at > begin + 10.0} == wanted


@given(st.lists(st.builds(Key, st.sampled_from("abcd"), st.sampled_from("12345"))))
def test_fair_queue(pushed):
    """Each once, in order within a namespace; no namespace comes again before every other had its turn."""
    queue, popped = FairQueue(), []
    for key in pushed:
        queue.push(key)
    while (key := queue.pop(lambda namespace: True)) is not None:
        popped.append(key)
    assert Counter(popped) == Counter(set(pushed))
    for namespace in "abcd":
        first = dict.fromkeys(key for key in pushed if key.namespace == namespace)
        assert [key for key in popped if key.namespace == namespace] == list(first)
    for at, key in enumerate(popped):
        left = {other.namespace for other in popped[at:]}
        until_next = list(itertools.takewhile(
            lambda other: other.namespace != key.namespace, popped[at + 1:]))  # noqa: B023
        if any(other.namespace == key.namespace for other in popped[at + 1:]):
            assert {other.namespace for other in until_next} == left - {key.namespace}
