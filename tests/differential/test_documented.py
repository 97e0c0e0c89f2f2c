"""The table in docs/haproxy-differences.md and the differences that are seen are the same."""

from pathlib import Path

from tests.differential.differences import DIFFERENCES

PAGE = Path(__file__).parents[2] / "docs" / "haproxy-differences.md"
HEAD = "| request | HAProxy's router | f5router | reason |\n|---|---|---|---|\n"


def test_the_page_has_every_difference_and_no_other():
    section = PAGE.read_text().split("## Requests\n")[1]
    rows = section.split(HEAD)[1].split("\n\n")[0].splitlines()
    assert rows == [difference.row() for difference in DIFFERENCES]


def test_every_difference_is_one():
    assert [difference.request for difference in DIFFERENCES if difference.haproxy == difference.ours] == []
    assert len({difference.request for difference in DIFFERENCES}) == len(DIFFERENCES)
