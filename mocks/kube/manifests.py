"""YAML files of objects, several documents and ``List`` kinds allowed."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

_Base = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):
    """Timestamps stay text, as in the JSON they stand for."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, rule) for tag, rule in rules if tag != "tag:yaml.org,2002:timestamp"]
    for letter, rules in _Base.yaml_implicit_resolvers.items()
}


class ManifestError(ValueError):
    """A file that cannot be read as objects; the message names the file and the document, from 1."""


def read_manifests(path: str | Path) -> Iterator[tuple[str, dict]]:
    """Objects of a file, each with where it stands for error messages.

    Raises: ManifestError, OSError.
    """
    text = Path(path).read_text(encoding="utf-8")
    documents = yaml.load_all(text, Loader=_Loader)
    number = 0
    while True:
        number += 1
        where = f"{path}: document {number}"
        try:
            document = next(documents, _END)
        except yaml.YAMLError as exc:
            raise ManifestError(f"{where}: {' '.join(str(exc).split())}") from exc
        if document is _END:
            return
        if document is not None:  # an empty document between two separators
            yield from _objects(document, where)


_END = object()


def _objects(document: object, where: str) -> Iterator[tuple[str, dict]]:
    if not isinstance(document, Mapping) or not document.get("kind"):
        raise ManifestError(f"{where}: not an object with apiVersion and kind")
    if not document["kind"].endswith("List"):
        yield where, dict(document)
        return
    for index, item in enumerate(document.get("items") or ()):
        if not isinstance(item, Mapping):
            raise ManifestError(f"{where}: items[{index}] is not an object")
        # Items of a typed list (RouteList, as `oc get -o yaml --raw` writes it) have the list's type.
        inherited = {}
        if document["kind"] != "List":
            inherited = {
                "apiVersion": document.get("apiVersion"),
                "kind": document["kind"].removesuffix("List"),
            }
        yield f"{where}, items[{index}]", inherited | dict(item)
