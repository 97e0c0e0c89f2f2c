"""Slots of matches in a band: those that come first have the smaller ordinals."""

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.model import names, request_match
from f5router.model.request_match import ANY_REQUEST, MOST_TIES, RequestMatch
from tests.examples import examples

BANDS = [names.priority_band("/a"), names.priority_band("/a", labels=2),
         names.priority_band("/a", default=True)]


def _pairs(most: int) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    return st.integers(0, most).map(lambda count: tuple((f"n{number:02}", "v") for number in range(count)))


MATCHES = st.builds(RequestMatch, st.sampled_from(["", "GET"]), _pairs(request_match.MOST_HEADERS),
                    _pairs(request_match.MOST_PARAMETERS), st.integers(0, MOST_TIES + 3))


def order(match: RequestMatch) -> tuple:
    """The order of the specification; the smaller comes first."""
    return (not match.method, -len(match.headers), -len(match.query),
            min(match.ties, MOST_TIES) if match.is_narrow else 0)


@settings(max_examples=examples(300))
@given(MATCHES, MATCHES, st.sampled_from(BANDS))
def test_ordinals_are_in_the_order_of_the_specification(match, other, band):
    whole = names.band_ordinals(band)
    first, second = (request_match.slot_ordinals(whole, request_match.slot(each)) for each in (match, other))
    assert (order(match) < order(other)) == (first[-1] < second[0])
    assert (order(match) == order(other)) == (first == second)
    for ordinals in (first, second):
        assert whole[0] <= ordinals[0] <= ordinals[-1] <= whole[-1]
    assert {request_match.slot_of(whole, ordinal) for ordinal in (first[0], first[-1])} == {
        request_match.slot(match)}


def test_a_path_without_matches_has_the_whole_band():
    for band in map(names.band_ordinals, BANDS):
        assert request_match.slot_ordinals(band, request_match.slot(None)) == band
        plain = request_match.slot_ordinals(band, request_match.slot(ANY_REQUEST))
        assert len(plain) == len(band) // 2
        assert plain[-1] == band[-1]
