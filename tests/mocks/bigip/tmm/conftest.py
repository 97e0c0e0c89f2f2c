"""One interpreter for the tests that do not end it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mocks.bigip.tmm import Interpreter


@pytest.fixture(scope="module")
def tcl() -> Iterator[Interpreter]:
    with Interpreter() as interpreter:
        yield interpreter


@pytest.fixture(scope="module")
def hasty() -> Iterator[Interpreter]:
    """For rules that run away."""
    with Interpreter(limit_s=1.0) as interpreter:
        yield interpreter
