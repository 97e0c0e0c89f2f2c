"""What several modules need: a clock that a test turns."""

import pytest


class Clock:
    """Seconds, as a test says."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()
