"""Texts of selectors, checked at start: tables with sources in tests/selector_cases.py."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from f5router.model import selection
from mocks.kube.requirements import Unreadable, field_terms, label_requirements
from tests import selector_cases as cases
from tests.rows import rows


@rows("text", [row[1] for row in cases.LABELS])
def test_labels(text):
    assert selection.parse_labels(text) == text.strip()
    assert selection.parse_project_labels(text) == text.strip()


@rows("text", [row[1] for row in cases.BAD_LABELS])
def test_no_labels(text):
    with pytest.raises(ValueError, match=r"is none of|is not|nothing before or after"):
        selection.parse_labels(text)


def test_every_project():
    """Upstream's star; nowhere else it has a meaning."""
    assert selection.parse_project_labels("*") == "*"
    with pytest.raises(ValueError, match="is not the key of a label"):
        selection.parse_labels("*")


@pytest.mark.parametrize("text", [row[1] for row in cases.FIELDS])
def test_fields(text):
    assert selection.parse_fields(text) == text.strip()


@pytest.mark.parametrize("text", [row[1] for row in cases.BAD_FIELDS])
def test_no_fields(text):
    with pytest.raises(ValueError, match=r"neither name=value|must stand behind"):
        selection.parse_fields(text)


@pytest.mark.parametrize(("text", "message"), [
    ("a=b,", "there is nothing before or after a comma"),
    ("a=b c=d", "'a=b c=d' is none of key, !key, key=value, key!=value, key in (a,b), key notin (a,b), "
                "key>1 and key<1"),
    ("zone>west", "'zone>west': 'west' is not a whole number"),
    ("zone in (west,_)", "'zone in (west,_)': '_' is not the value of a label: at most 63 letters, digits, "
                         "'-', '_' or '.', beginning and ending with a letter or digit"),
    ("Example.com/zone", "'Example.com/zone' is not the key of a label, such as zone or example.com/zone"),
])
def test_messages(text, message):
    """They name the part that is wrong."""
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        selection.parse_labels(text)


def good(parse, text: str, *errors: type[Exception]) -> bool:
    try:
        parse(text)
    except errors:
        return False
    return True


PIECES = st.lists(st.sampled_from([
    "a", "b", "in", "notin", " in (", " notin (", "(", ")", ",", ",", "=", "==", "!=", "!", "<", ">", " ",
    "1", "x.y/z", "_", "-", "\t"]), max_size=9).map("".join)


@given(PIECES)
@example("xin (a)")
@example("a in (b) c")
def test_labels_as_the_server_reads_them(text):
    """The same texts are accepted and refused, except for lists with two commas in a row."""
    server = good(label_requirements, text, Unreadable)
    ours = good(selection.parse_labels, text, ValueError)
    assert ours == server or (ours and ",," in text.translate({9: None, 32: None}))


@given(st.text(r"ab=!,\ ", max_size=9))
def test_fields_as_the_server_reads_them(text):
    assert good(selection.parse_fields, text, ValueError) == good(field_terms, text, Unreadable)
