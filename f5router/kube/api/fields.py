"""Fields of objects of the API, read without trust in them; canonical addresses."""

import ipaddress
import re
from functools import lru_cache
from sys import intern
from typing import Any

from f5router.model import hostnames
from f5router.model.cluster import Key, is_object_name
from f5router.model.errors import RouterError
from f5router.model.hostnames import quote
from f5router.model.json_types import JSON
from f5router.model.label_selector import TOO_MANY

MOST_TEXT = 4096
"""Longest text kept, in characters, apart from certificates and keys. Every later check has a lower limit, so
a text that is cut here is refused there."""

_SEGMENT = re.compile(r"[!-$&-.0-~]{1,253}")
"""A name that a path may contain, in printable ASCII. Source: k8s.io/apimachinery, IsValidPathSegmentName,
which forbids "/", "%", "." and ".."."""
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")

_NOTHING: JSON = {}


class DecodeError(RouterError):
    """An object that cannot be used.

    Attributes:
        key: the object, as far as it is known.
        field: path of the field, such as "spec.tls".
        problem: what is wrong with the field.
    """

    def __init__(self, key: str, field: str, problem: str = "has a wrong type"):
        super().__init__(f"{key}: {field} {problem}")
        self.key, self.field, self.problem = key, field, problem


def key(obj: object) -> Key:
    """Return namespace and name of any object.

    Raises: DecodeError: the name is missing, or no object of any kind can have it.
    """
    metadata = mapping(mapping(obj).get("metadata"))
    name, space = metadata.get("name"), metadata.get("namespace")
    if not name or not isinstance(name, str):
        raise DecodeError("an object", "metadata.name")
    if not _SEGMENT.fullmatch(name) or name in (".", ".."):
        raise DecodeError(quote(name), "metadata.name", "is no name of an object")
    if space and not (isinstance(space, str) and _LABEL.fullmatch(space)):
        raise DecodeError(quote(name), "metadata.namespace", "is no name of a namespace")
    return Key(intern(space or ""), name)


def cluster_key(obj: object) -> Key:
    """Return the key of an object of a kind whose names are DNS subdomains, as with most kinds.

    Sources: k8s.io/apimachinery, NameIsDNSSubdomain; for Routes openshift/library-go, validateRouteName.

    Raises: DecodeError: the name is no DNS subdomain.
    """
    object_key = key(obj)
    if not is_object_name(object_key.name):
        raise DecodeError(str(object_key), "metadata.name", "is no DNS subdomain")
    return object_key


def namespaced_key(obj: object) -> Key:
    """Return the key of an object of a kind that has namespaces.

    Raises: DecodeError: the name is no DNS subdomain, or there is no namespace.
    """
    object_key = cluster_key(obj)
    if not object_key.namespace:
        raise DecodeError(str(object_key), "metadata.namespace", "is missing")
    return object_key


def resource_version(obj: object) -> str:
    """Return metadata.resourceVersion of an object or a list, "" without one."""
    return text(mapping(mapping(obj).get("metadata")).get("resourceVersion"))


def uid(obj: object) -> str:
    """Return metadata.uid of an object, "" without one."""
    return text(mapping(mapping(obj).get("metadata")).get("uid"))


def mapping(value: object) -> JSON:
    """Return the value if it is an object, as json has it, else an empty one."""
    return value if isinstance(value, dict) else _NOTHING


def items(value: object) -> list[Any]:
    """Return the value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects(value: object) -> list[JSON]:
    """Return the objects in a list."""
    return [item for item in items(value) if isinstance(item, dict)]


def text(value: object, most: int = MOST_TEXT) -> str:
    """Return the first characters of a text."""
    return value[:most] if isinstance(value, str) else ""


def pem(value: object) -> str:
    """Return a text of any length, such as a certificate."""
    return value if isinstance(value, str) else ""


def integer(value: object) -> int | None:
    """Return a whole number; True and False are none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def port(value: object) -> int | None:
    """Return the number of a port."""
    number = integer(value)
    return number if number is not None and 0 < number < 1 << 16 else None


def port_text(value: object) -> str:
    """Return number or name of a port, an IntOrString, as text."""
    number = integer(value)
    return intern(text(value) if number is None else str(number))


LONGEST_ADDRESS = 45
"""Characters of the longest address: IPv6 with the last four bytes as in IPv4. Nothing longer is cached."""


def canonical_address(text: object) -> str | None:
    """Return the canonical text of an IP address, None for anything else.

    An IPv4-mapped IPv6 address becomes IPv4, as Go's net.ParseIP does. No zone index, no prefix.
    """
    return _canonical(text) if isinstance(text, str) and len(text) <= LONGEST_ADDRESS else None


@lru_cache(maxsize=65536)  # several slices and every new list contain the same pods
def _canonical(text: str) -> str | None:
    if hostnames.IPV4.fullmatch(text):
        return intern(text)
    if "%" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return intern(str(address))


_OF_FEW_VALUES = frozenset({"type", "status", "routerName", "wildcardPolicy"})


def with_shared_names(entry: JSON) -> JSON:
    """Return an equal entry of a status that shares in memory what many have: names, and some values.

    Each object of the cluster is decoded by itself, with copies of its own.
    """
    shared = _shared(entry)
    conditions = entry.get("conditions")
    if isinstance(conditions, list):
        shared["conditions"] = [_shared(each) if isinstance(each, dict) else each for each in conditions]
    return shared


def _shared(obj: JSON) -> dict[str, Any]:
    return {intern(name): intern(value) if name in _OF_FEW_VALUES and isinstance(value, str) else value
            for name, value in obj.items()}


MOST_LABELS, LONGEST_KEY, LONGEST_VALUE = 64, 317, 63
"""Labels of an object that are kept, and characters of theirs. Source of the latter: Kubernetes, "Labels and
Selectors", syntax and character set."""


def labels(metadata: JSON) -> tuple[tuple[str, str], ...]:
    """Return the labels of an object, sorted by key; TOO_MANY of an object with more than are kept.

    Args: metadata: of the object.
    """
    given = {key: value for key, value in mapping(metadata.get("labels")).items() if isinstance(value, str)
             and len(key) <= LONGEST_KEY and len(value) <= LONGEST_VALUE}
    if len(given) > MOST_LABELS:
        return TOO_MANY
    return _one_of_equal(tuple(sorted((intern(key), intern(value)) for key, value in given.items())))


@lru_cache(maxsize=4096)
def _one_of_equal(labels: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return one of equal sets of labels: many objects have the same."""
    return labels
