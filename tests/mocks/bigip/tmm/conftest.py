"""One interpreter for the tests that do not end it: a tclsh, and Tcl in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mocks.bigip.tmm import Interpreter


@pytest.fixture(scope="module", params=[False, True], ids=["tclsh", "inside"])
def inside(request: pytest.FixtureRequest) -> bool:
    return request.param


@pytest.fixture(scope="module")
def tcl(inside: bool) -> Iterator[Interpreter]:
    with Interpreter(inside=inside) as interpreter:
        yield interpreter


@pytest.fixture(scope="module")
def hasty(inside: bool) -> Iterator[Interpreter]:
    """For rules that run away."""
    with Interpreter(limit_s=1.0, inside=inside) as interpreter:
        yield interpreter
