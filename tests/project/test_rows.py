"""`rows`: each row is checked, and each that fails is named."""

import pytest

from tests.rows import rows


@rows("number", [1, 3])
@rows(("word", "length"), [("a", 1), pytest.param("bcd", 3, id="three"), ("", 0)])
def odd(number, word, length):
    assert number % 2
    assert len(word) == length


@rows(("number", "name"), [(1, "a"), (2, "b"), (3, "c"), (4, "d")], ids=["one", "two", "three", "four"])
def some_even(number, name):
    assert number % 2, name


@rows("number", [1, 2], ids=lambda number: f"number {number}")
def none_raises(number):
    with pytest.raises(ValueError, match="never"):
        assert number


def test_all_rows_are_right():
    odd()


def test_every_row_that_fails_is_named():
    with pytest.raises(ExceptionGroup, match=r"rows 1: two; 3: four") as caught:
        some_even()
    notes = [failure.__notes__ for failure in caught.value.exceptions]
    assert notes == [["in row 1: two"], ["in row 3: four"]]


def test_rows_that_do_not_raise_fail():
    with pytest.raises(BaseExceptionGroup, match=r"rows 0: number 1; 1: number 2") as caught:
        none_raises()
    assert all(isinstance(failure, pytest.fail.Exception) for failure in caught.value.exceptions)


def test_all_combinations_are_checked():
    seen = []
    rows("first", "ab")(rows("second", "xy")(lambda first, second: seen.append(first + second)))()
    assert seen == ["ax", "ay", "bx", "by"]


def test_a_row_without_an_id_is_named_by_its_values():
    def wrong(text, number):
        raise OSError

    with pytest.raises(ExceptionGroup, match=r"rows 0: 'a\\u20ac'-1"):
        rows("text, number", [("a€", 1)])(wrong)()


def test_a_table_that_checks_nothing_is_refused():
    with pytest.raises(AssertionError, match="without rows"):
        rows("number", [])
    with pytest.raises(AssertionError, match="does not take"):
        rows("number", [1])(lambda other: None)
