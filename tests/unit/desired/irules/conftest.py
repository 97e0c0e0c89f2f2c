"""One tclsh for all tests of iRules."""

from collections.abc import Iterator

import pytest

from tests.unit.desired.irules.tmm import Tmm


@pytest.fixture(scope="session")
def tmm() -> Iterator[Tmm]:
    tmm = Tmm()
    yield tmm
    tmm.close()
