"""texts.py: names that are perhaps meant."""

from f5router.model.texts import MOST_NAMES, did_you_mean
from tests.rows import rows


@rows(("wanted", "known", "text"), [
    ("wbe", ["api", "web"], "; did you mean web?"),
    ("web", [], ""), ("web", ["api"], ""),
    ("wbe", [*(f"x{number}" for number in range(MOST_NAMES - 1)), "web"], "; did you mean web?"),
    ("wbe", [*(f"x{number}" for number in range(MOST_NAMES)), "web"],
     "; only the first 1,000 names were compared with it"),
])
def test_did_you_mean(wanted, known, text):
    """The nearest name, of a bounded number of them; whoever reads it knows that some were left out."""
    assert did_you_mean(wanted, known) == text
