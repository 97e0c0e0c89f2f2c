import threading

import pytest

from f5router.icontrol.rest.readiness import BACKOFF, Repetition
from f5router.model.errors import BigIPError, Busy, NotFound

RETRY_S = 10.0
BUSY, ABSENT = Busy("GET", "/a", "busy"), NotFound("GET", "/a", "absent")


class Bench:
    """A call with the results of its attempts, and the waits between them."""

    def __init__(self, clock, *results: str | BigIPError, attempt_s: float = 0.0):
        self._clock, self._results, self._attempt_s = clock, list(results), attempt_s
        self.waits: list[float] = []
        self.given_up = threading.Event()
        self.repetition = Repetition(RETRY_S, clock=clock, sleep=self._sleep, given_up=self.given_up)

    def run(self) -> str:
        return self.repetition.repeat(self._call, lambda error: isinstance(error, Busy))

    def left(self) -> int:
        return len(self._results)

    def _call(self) -> str:
        self._clock.now += self._attempt_s
        result = self._results.pop(0)
        if isinstance(result, BigIPError):
            raise result
        return result

    def _sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._clock.now += seconds


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_until_it_succeeds(clock, failures):
    """Each failure is followed by a wait of its own."""
    bench = Bench(clock, *[BUSY] * failures, "done", "left")
    assert (bench.run(), bench.left()) == ("done", 1)
    assert len(bench.waits) == failures
    assert all(0 < wait <= BACKOFF.limit_s for wait in bench.waits)


@pytest.mark.parametrize("results", [[ABSENT], [BUSY, ABSENT]])
def test_an_error_not_worth_repeating(clock, results):
    bench = Bench(clock, *results, "left")
    with pytest.raises(NotFound):
        bench.run()
    assert (bench.left(), len(bench.waits)) == (1, len(results) - 1)


@pytest.mark.parametrize(("attempt_s", "attempts"), [(RETRY_S, 1), (RETRY_S - 0.01, 2)])
def test_the_end_of_the_time(clock, attempt_s, attempts):
    """No attempt begins after retry_s; the last error is the result."""
    bench = Bench(clock, BUSY, BUSY, BUSY, attempt_s=attempt_s)
    with pytest.raises(Busy):
        bench.run()
    assert bench.left() == 3 - attempts


def test_given_up(clock):
    bench = Bench(clock, BUSY, "left")
    bench.given_up.set()
    with pytest.raises(Busy):
        bench.run()
    assert (bench.left(), bench.waits) == (1, [])


def test_it_is_logged_once_until_one_succeeds(clock, caplog):
    caplog.set_level("DEBUG")
    bench = Bench(clock, BUSY, BUSY, "done", BUSY, "done")
    assert (bench.run(), bench.run()) == ("done", "done")
    assert [(record.levelname, record.error) for record in caplog.records] == [
        ("INFO", str(BUSY)), ("DEBUG", str(BUSY)), ("INFO", str(BUSY))]
