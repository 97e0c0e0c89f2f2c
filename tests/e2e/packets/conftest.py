"""Needs of a laboratory, and what keeps it from being built."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.e2e.packets.namespaces import Namespace, NotPermitted, tool


@pytest.fixture(scope="session")
def permitted() -> None:
    """Skip where, and only where, no network namespace can be made."""
    for name in ("ip", "bridge"):
        tool(name)
    try:
        Namespace("probe").close()
    except NotPermitted as error:
        pytest.skip(f"network namespaces are not permitted here: {error}")


@pytest.fixture
def stack(permitted) -> Iterator[ExitStack]:
    """Stack whose contents are closed after the test, in any case."""
    with ExitStack() as stack_:
        yield stack_
