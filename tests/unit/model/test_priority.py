"""Priority bands put the Rule of the more specific Route first, and ordinals stay in their band."""

from hypothesis import given
from hypothesis import strategies as st

from f5router.model import hostnames, names

LABELS = st.sampled_from([0, 0, 1, 2, 3, hostnames.MOST_LABELS])


@given(st.integers(0, 2200), st.integers(0, 2200), LABELS, LABELS, st.text(), st.text())
def test_bands_order_rules(length_one, length_other, labels_one, labels_other, name_one, name_other):
    """Exact hosts before wildcards, longer domains first, longer paths first; every ordinal in its band."""
    paths = ["/" + "x" * (length - 1) if length else "" for length in (length_one, length_other)]
    bands = [names.priority_band(path, labels=labels)
             for path, labels in zip(paths, (labels_one, labels_other), strict=True)]
    if labels_one != labels_other:
        before = not labels_one or (labels_other and labels_one > labels_other)
        assert (bands[0] < bands[1]) == bool(before)
    elif max(length_one, length_other) <= names.MAX_PATH:
        assert (bands[0] < bands[1]) == (length_one > length_other)
    ordinals = names.band_ordinals(bands[0])
    ordinal = ordinals[names.first_place(ordinals, name_one)]
    assert names.band_of(ordinal) == bands[0]
    assert 0 < ordinal < names.LAST_ORDINAL


def test_bands_end_below_the_rule_that_is_always_last():
    last_exact = names.band_ordinals(names.priority_band(""))
    first_wildcard = names.band_ordinals(names.priority_band("/" * 2000, labels=20))
    last_wildcard = names.band_ordinals(names.priority_band("", labels=1))
    assert last_exact[-1] < first_wildcard[0]
    closing, default = map(names.band_ordinals, (names.CLOSING_BAND, names.DEFAULT_BAND))
    assert last_wildcard[-1] < closing[0]
    assert closing[-1] < default[0]
    assert default[-1] < names.LAST_ORDINAL
