"""Selection of a list or watch: ``labelSelector`` and ``fieldSelector``, and the namespace of its URL."""

from collections.abc import Mapping
from dataclasses import dataclass

from .errors import bad_request
from .kinds import Kind
from .requirements import Test, Unreadable, field_terms, label_requirements
from .store import Record


@dataclass(frozen=True, slots=True)
class Selection:
    """Selectors of a list or watch; an empty one takes everything."""

    namespace: str = ""
    labels: tuple[Test, ...] = ()
    fields: tuple[Test, ...] = ()

    @property
    def selective(self) -> bool:
        """Has selectors; a namespace alone is none."""
        return bool(self.labels or self.fields)

    def takes(self, record: Record | None) -> bool:
        if record is None or (self.namespace and record.key[0] != self.namespace):
            return False
        return all(test(record.labels) for test in self.labels) and all(
            test(record.fields) for test in self.fields
        )


def selection(kind: Kind, namespace: str, name: str, query: Mapping[str, str]) -> Selection:
    """Selection of a request. Args: name: of the URL, empty for a whole collection.

    Raises: ApiError: 400 for a selector that cannot be read or a field the kind does not select on.
    """
    try:
        labels = [requirement.takes for requirement in label_requirements(query.get("labelSelector", ""))]
        terms = field_terms(query.get("fieldSelector", ""))
    except Unreadable as exc:
        raise bad_request(str(exc)) from None
    for field, _, _ in terms:
        if field not in kind.fields:
            raise bad_request(f"field label not supported: {field}")
    if name:
        terms.append(("metadata.name", True, name))
    return Selection(namespace, tuple(labels), tuple(_test(*term) for term in terms))


def _test(field: str, equal: bool, value: str) -> Test:
    return lambda values: (values.get(field) == value) == equal
