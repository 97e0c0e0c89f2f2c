"""Selectors as the API server reads them."""

import pytest

from mocks.kube.requirements import Unreadable, field_terms, label_requirements
from tests import selector_cases as cases


@pytest.mark.parametrize(("_source", "text", "taken", "left"), cases.LABELS)
def test_labels(_source, text, taken, left):
    wanted = label_requirements(text)

    def takes(labels) -> bool:
        return all(requirement.takes(labels) for requirement in wanted)

    assert [labels for labels in taken if not takes(labels)] == []
    assert [labels for labels in left if takes(labels)] == []


@pytest.mark.parametrize(("_source", "text", "message"), cases.BAD_LABELS + cases.ODD_LABELS)
def test_no_labels(_source, text, message):
    with pytest.raises(Unreadable) as caught:
        label_requirements(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(("_source", "text", "taken", "left"), cases.FIELDS)
def test_fields(_source, text, taken, left):
    terms = field_terms(text)

    def takes(fields) -> bool:
        return all((fields[name] == value) == equal for name, equal, value in terms)

    assert [fields for fields in taken if not takes(fields)] == []
    assert [fields for fields in left if takes(fields)] == []


@pytest.mark.parametrize(("_source", "text", "message"), cases.BAD_FIELDS)
def test_no_fields(_source, text, message):
    with pytest.raises(Unreadable) as caught:
        field_terms(text)
    assert message in str(caught.value)
