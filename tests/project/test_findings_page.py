"""docs/findings.md: every code, from the table of the code."""

from f5router.model import texts
from f5router.model.findings import CATALOGUE, CAUSES_OF_EMPTY_POOLS
from tools import findings_page


def test_the_page_is_up_to_date():
    """If it is not: python -m tools.findings_page."""
    assert findings_page.PAGE.read_text() == findings_page.page()


def test_every_warning_has_a_meaning():
    assert CATALOGUE.keys() >= texts.WARNINGS
    assert CAUSES_OF_EMPTY_POOLS <= texts.WARNINGS
