"""What several modules need: a clock that a test turns, and logging as it was."""

import logging

import pytest

from f5router import logs


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
def logging_as_before():
    """The root logger and the levels of libraries as they were, whatever logs.setup() does."""
    root = logging.getLogger()
    level = root.level
    levels = {name: logging.getLogger(name).level for name in (*logs.NOISY, *logs.NEVER_DEBUG)}
    yield
    for handler in [each for each in root.handlers if hasattr(each, "redaction")]:
        root.removeHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(False)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)
