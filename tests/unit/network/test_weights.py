"""Shares of Services and the ratios that express them."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.network.pool_members import MAX_RATIO, effective_weight, ratios


@pytest.mark.parametrize(("given", "expected"), [
    (None, 1), (-1, 0), (0, 0), (1, 1), (100, 100), (256, 256), (257, 256), (2**40, 256)])
def test_a_weight_is_clamped(given, expected):
    assert effective_weight(given) == expected


@pytest.mark.parametrize(("weights", "endpoints", "expected"), [
    ({"a": 100}, {"a": 3}, {"a": 1}),
    ({"a": 100, "b": 0}, {"a": 3, "b": 2}, {"a": 1, "b": 0}),
    ({"a": 75, "b": 25}, {"a": 1, "b": 1}, {"a": 3, "b": 1}),
    ({"a": 75, "b": 25}, {"a": 5, "b": 1}, {"a": 3, "b": 5}),
    ({"a": 75, "b": 25}, {"a": 0, "b": 4}, {"b": 1}),
    ({"a": 0, "b": 0}, {"a": 1, "b": 2}, {"a": 0, "b": 0}),
    ({"a": 100, "b": 100}, {}, {}),
    ({"a": 256, "b": 1}, {"a": 1, "b": 1}, {"a": 100, "b": 1}),
    ({"a": 256, "b": 1}, {"a": 1, "b": 1000}, {"a": 100, "b": 1}),
    ({"a": 1, "b": 1, "c": 1, "d": 1}, {"a": 2, "b": 3, "c": 5, "d": 7},
     {"a": 100, "b": 67, "c": 40, "d": 29}),
])
def test_ratios(weights, endpoints, expected):
    assert ratios(weights, endpoints) == expected


names = st.sampled_from("abcd")


@given(st.dictionaries(names, st.integers(0, 256), min_size=1).flatmap(
    lambda weights: st.tuples(st.just(weights), st.fixed_dictionaries(
        {name: st.integers(0, 10_000) for name in weights}))))
def test_a_ratio_is_in_range_and_close_to_its_share(case):
    weights, endpoints = case
    result = ratios(weights, endpoints)
    assert result.keys() == {name for name, count in endpoints.items() if count}
    shares = {name: Fraction(weights[name], endpoints[name]) for name in result}
    for name, ratio in result.items():
        assert (ratio > 0) == (weights[name] > 0)
        assert 0 <= ratio <= MAX_RATIO
    largest = max(shares.values(), default=Fraction(0))
    for name, share in shares.items():
        if share * MAX_RATIO >= largest > 0:
            exact = share / largest * max(result.values())
            assert abs(result[name] - exact) <= Fraction(1, 2)
