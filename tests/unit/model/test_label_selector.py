"""Label selectors that the router applies itself select what the API server selects by them."""

from f5router.model import label_selector, selection
from tests.rows import rows
from tests.selector_cases import BAD_LABELS, LABELS


@rows(("source", "text", "taken", "left"), LABELS)
def test_selects_as_the_api_server_does(source, text, taken, left):
    selector = label_selector.parse(selection.parse_labels(text))
    shown = [tuple(sorted(labels.items())) for labels in (*taken, *left)]
    assert [label_selector.takes(selector, labels) for labels in shown] == [True] * len(taken) + [
        False] * len(left)


@rows("text", [text for _, text, _ in BAD_LABELS])
def test_refuses_what_no_selector_is(text):
    try:
        label_selector.parse(text)
    except ValueError:
        return
    raise AssertionError(text)
