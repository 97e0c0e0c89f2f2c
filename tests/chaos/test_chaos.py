"""Random faults from a few seeds; `python -m tests.chaos` runs many."""

import pytest

from tests.chaos import script
from tests.chaos.run import run

SEEDS = (1, 3, 4, 8, 13, 36)


@pytest.mark.parametrize("seed", SEEDS)
def test_seed(seed):
    result = run(seed)
    assert not result.problems, str(result)


def test_a_seed_has_one_script():
    assert list(script.draw(7).lines()) == list(script.draw(7).lines())
