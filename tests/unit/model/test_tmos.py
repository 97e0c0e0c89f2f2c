"""tmos.py: versions as F5 writes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model.tmos import dotted


@pytest.mark.parametrize(("version", "text"), [
    ((11, 4), "11.4"), ((14, 1, 2, 1), "14.1.2.1"), ((17,), "17"), ((12, 1, 0), "12.1.0"), ((), "")])
def test_dotted(version, text):
    assert dotted(version) == text


@given(st.lists(st.integers(min_value=0), min_size=1).map(tuple))
def test_every_number_is_written_once_and_in_order(version):
    assert tuple(map(int, dotted(version).split("."))) == version
