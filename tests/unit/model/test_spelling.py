"""texts.py: names that are perhaps meant."""

from f5router.model.texts import MOST_NAMES, did_you_mean
from tests.rows import rows


@rows(("wanted", "known", "text"), [
    ("wbe", ["api", "web"], "; did you mean web?"),
    ("web", [], ""), ("web", ["api"], ""),
    ("wbe", [*(f"x{number}" for number in range(MOST_NAMES)), "web"], ""),
])
def test_did_you_mean(wanted, known, text):
    """The nearest name, of a bounded number of them."""
    assert did_you_mean(wanted, known) == text
