"""Indexes of what Gateways refer to."""

from typing import TypeVar

from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.gateway import GATEWAY

_T = TypeVar("_T")
_U = TypeVar("_U")


def put(index: dict[_T, set[_U]], value: _T, key: _U, *, is_new: bool) -> None:
    """Add a key to the set of a value, or discard it; an empty set goes."""
    if is_new:
        index[value].add(key)
    elif value in index:
        index[value].discard(key)
        if not index[value]:
            del index[value]


def stand_in(gateway: Key, secret: Key) -> Key:
    """Return the key of the Route that names a Secret of a Gateway, so that it is read."""
    return Key(gateway.namespace, names.virtual_route(GATEWAY, gateway.name, f"Secret {secret}"))
