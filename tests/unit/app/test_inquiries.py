"""Questions of other threads to the control loop."""

import threading

import pytest

from f5router.app import inquiries
from f5router.app.inquiries import Inquiries
from f5router.model.errors import Unanswered
from tests.waiting import DEADLINE_S, until


class Desk:
    """Questions, and a clock that moves a fixed time whenever it is read."""

    def __init__(self, tick_s: float = 0.0):
        self.now, self.tick_s, self.wakes = 0.0, tick_s, 0
        self.inquiries = Inquiries(self._wake, clock=self._clock)
        self.answers: list[object] = []

    def _wake(self) -> None:
        self.wakes += 1

    def _clock(self) -> float:
        self.now += self.tick_s
        return self.now

    def ask(self, begin) -> threading.Thread:
        """Ask in a thread of its own; returns once the question waits."""
        def run() -> None:
            try:
                self.answers.append(self.inquiries.ask(begin, timeout_s=DEADLINE_S))
            except Exception as exc:
                self.answers.append(exc)

        before, thread = self.wakes, threading.Thread(target=run, daemon=True)
        thread.start()
        until(lambda: self.wakes > before)
        return thread


def steps(number: int, log: list[str], name: str = "a"):
    for step in range(number):
        log.append(f"{name}{step}")
        yield
    return name


def test_an_answer_in_several_rounds_of_the_loop():
    desk, log = Desk(tick_s=inquiries.BUDGET_S), []
    thread = desk.ask(lambda: steps(3, log))
    desk.inquiries.answer()
    assert (log, desk.answers, desk.wakes) == (["a0"], [], 2)
    for _ in range(3):
        desk.inquiries.answer()
    thread.join(DEADLINE_S)
    assert (log, desk.answers, desk.wakes) == (["a0", "a1", "a2"], ["a"], 4)


def test_questions_take_turns():
    desk, log = Desk(), []
    threads = [desk.ask(lambda name=name: steps(2, log, name)) for name in "ab"]
    desk.inquiries.answer()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert log == ["a0", "b0", "a1", "b1"]
    assert sorted(desk.answers) == ["a", "b"]


def test_an_error_is_the_answer_and_does_not_reach_the_loop():
    def fail():
        raise LookupError("gone")
        yield

    desk = Desk()
    thread = desk.ask(fail)
    desk.inquiries.answer()
    thread.join(DEADLINE_S)
    assert [str(answer) for answer in desk.answers] == ["gone"]


def test_nobody_waits_for_ever():
    desk, log = Desk(), []
    with pytest.raises(Unanswered, match="not answered"):
        desk.inquiries.ask(lambda: steps(1, log), timeout_s=0.0)
    desk.inquiries.answer()
    assert log == []
    for _ in range(inquiries.MOST):
        with pytest.raises(Unanswered):
            desk.inquiries.ask(lambda: steps(1, log), timeout_s=0.0)
    with pytest.raises(Unanswered, match="too many"):
        desk.inquiries.ask(lambda: steps(1, log), timeout_s=0.0)
