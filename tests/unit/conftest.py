"""Fixtures for several packages: a clock that a test turns, and a look at locks while a message is logged."""

import logging
from collections.abc import Callable, Iterator

import pytest

from tests.waiting import ends_elsewhere


class Clock:
    """Seconds, as a test says."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def unlocked(caplog) -> Iterator[Callable[[logging.Logger, Callable[[], object]], dict[str, bool]]]:
    """Follow a logger: maps each message to True if another thread completed an action meanwhile."""
    filters = []

    def follow(log: logging.Logger, action: Callable[[], object]) -> dict[str, bool]:
        ended: dict[str, bool] = {}

        def check(record: logging.LogRecord) -> bool:
            ended[record.getMessage()] = ends_elsewhere(action)
            return True

        caplog.set_level(logging.INFO, log.name)
        log.addFilter(check)
        filters.append((log, check))
        return ended

    yield follow
    for log, check in filters:
        log.removeFilter(check)
