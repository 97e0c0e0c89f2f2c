"""Fields of objects of the Gateway API: each of its type, and within the bounds of the CRDs.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1 (markers MaxItems).
"""

from collections.abc import Iterator
from sys import intern
from typing import Any

from f5router.kube.api import fields
from f5router.model.gateway import ObjectRef
from f5router.model.hostnames import quote
from f5router.model.json_types import JSON

MOST = {"parentRefs": 32, "hostnames": 16, "rules": 16, "matches": 64, "filters": 16, "backendRefs": 16,
        "listeners": 64, "addresses": 16, "certificateRefs": 64, "kinds": 8, "headers": 16,
        "queryParams": 16, "set": 16, "add": 16, "remove": 16, "from": 16, "to": 16,
        "targetRefs": 16, "caCertificateRefs": 8, "perPort": 64}
"""Entries of a list, by its name."""
MOST_OPTIONS, MOST_LABELS, MOST_REQUIREMENTS = 16, 1000, 100
"""Keys of tls.options; labels of a namespace, and requirements of a selector, which have no bound of their
own."""
MOST_SERVER_NAMES = 1024
"""Hostnames of a TLSRoute. Source: kubernetes-sigs/gateway-api v1.6.1, apis/v1/tlsroute_types.go."""
MOST_NUMBER = 2**31 - 1
MOST_WEIGHT = 1_000_000


class FieldProblem(Exception):
    """A field that cannot be decoded."""

    def __init__(self, name: str, text: str = "has a wrong type"):
        super().__init__(f"{name}: {text}" if text != "has a wrong type" else f"{name} {text}")


def ref_of(obj: JSON, at: str, kind: str, *, group: str = "") -> ObjectRef:
    return ObjectRef(intern(text_of(obj, "group", at, group)), intern(text_of(obj, "kind", at, kind)),
                     text_of(obj, "name", at), intern(text_of(obj, "namespace", at)))


def items_of(obj: JSON, name: str, at: str, most: int = 0) -> list[Any]:
    """Return the entries of a list. Args: most: how many there may be; 0 for those of MOST."""
    value = obj.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        raise FieldProblem(f"{at}.{name}")
    if len(value) > (most := most or MOST[name]):
        raise FieldProblem(f"{at}.{name}", f"{len(value)} entries, at most {most} are possible")
    return value


def objects_of(obj: JSON, name: str, at: str) -> list[tuple[str, JSON]]:
    """Return the objects in a list, each with its field."""
    return list(_numbered(items_of(obj, name, at), f"{at}.{name}"))


def _numbered(values: list[Any], at: str) -> Iterator[tuple[str, JSON]]:
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            raise FieldProblem(f"{at}[{number}]")
        yield f"{at}[{number}]", value


def object_of(obj: JSON, name: str, field: str) -> JSON:
    value = obj.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise FieldProblem(field)
    return value


def text_of(obj: JSON, name: str, at: str, default: str = "") -> str:
    value = obj.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise FieldProblem(f"{at}.{name}")
    if len(value) > fields.MOST_TEXT:
        raise FieldProblem(f"{at}.{name}", f"{quote(value)} is too long")
    if any("\ud800" <= letter <= "\udfff" for letter in value if letter > "\x7f"):
        raise FieldProblem(f"{at}.{name}", f"{quote(value)} is no text in Unicode")
    return value


def number_of(obj: JSON, name: str, at: str) -> int:
    value = fields.integer(obj.get(name, 0))
    if value is None or not 0 <= value <= MOST_NUMBER:
        raise FieldProblem(f"{at}.{name}")
    return value
