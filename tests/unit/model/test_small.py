"""small.py: what takes little memory has the items that a dict or a set has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import small

KEYS = st.sampled_from("abc")


@given(st.dictionaries(KEYS, st.integers(), max_size=2))
def test_compact_mapping(items):
    """It is equal to the dict, and has the same views."""
    mapping = small.compact(items)
    assert mapping == items
    assert (list(mapping), len(mapping), {*mapping.keys()}) == (list(items), len(items), {*items})
    assert (list(mapping.values()), list(mapping.items())) == (list(items.values()), list(items.items()))
    assert {key: mapping.get(key) for key in "abc"} == {key: items.get(key) for key in "abc"}
    assert {key for key in "abc" if key in mapping} == items.keys()
    assert {**mapping, "d": 1} == {**items, "d": 1}
    with pytest.raises(KeyError):
        mapping["d"]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("xy"), KEYS, st.integers(0, 2))))
def test_groups(steps):
    """Whatever is put and removed, the mappings have what dicts would have, and the sets what sets would."""
    mappings, expected = {}, {}
    sets, values = small.Groups(), {}
    for puts, group, key, value in steps:
        if puts:
            small.put(mappings, group, key, value)
            expected.setdefault(group, {})[key] = value
            sets.add(group, key)
        elif key in expected.get(group, ()):
            small.remove(mappings, group, key)
            del expected[group][key]
        if not puts:
            sets.discard(group, key)
        expected = {name: items for name, items in expected.items() if items}
        values = {name: set(items) for name, items in expected.items()}
        assert mappings == expected
        assert {name: set(sets.get(name)) for name in sets} == values
        assert {name for name in "xy" if name in sets} == values.keys()
    assert sets.get("z") == ()


def test_an_item_that_is_not_there():
    """Removing it is an error, as with a dict."""
    mappings = {"x": small.compact({"a": 1})}
    with pytest.raises(KeyError):
        small.remove(mappings, "x", "b")
