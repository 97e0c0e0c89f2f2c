"""Tables of crashes on each version of TMOS: `make test` has one version for a row, `make explore` all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from tests.conftest import EVERY_END
from tests.feature.conftest import Lab

VERSIONS = ("11.6.0", "12.1.2", "14.1.2.1", "17.1.0")


def in_turn(name: str, table: Iterable[str], *,
            without: Collection[tuple[str, str]] = ()) -> pytest.MarkDecorator:
    """Parametrize a test by a table and `version`; all but one version of a row are for `make explore` alone.

    Args: name: of the argument that has the row; without: rows and versions on which they cannot be.
    """
    parameters: list[Any] = []
    for number, row in enumerate(table):
        versions = [version for version in VERSIONS if (row, version) not in without]
        parameters += [pytest.param(row, version, id=f"{row}-{version}", marks=(
            () if place == number % len(versions) else pytest.mark.explore))
            for place, version in enumerate(versions)]
    return pytest.mark.parametrize((name, "version"), parameters)


@pytest.fixture
def step(request: pytest.FixtureRequest) -> int:
    """How many writes are between two ends of a router."""
    return 1 if request.config.getoption(EVERY_END) else 12


def access(lab: Lab, version: str) -> dict[str, str]:
    """Flags for a BIG-IP of a version: below 12.0 certificates go over SSH; tokens run out in no test."""
    return {"f5_auth": "basic", **(lab.ssh_flags() if version < "12" else {})}
