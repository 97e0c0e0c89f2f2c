"""Data of a record in names.LIMITS_GROUP: which clients may use a pool, and how often each of them.

It is the name of a list of addresses. Limits of each client follow behind slashes, as in
`openshift_addresses_<digest>_dg/10/0/100`; without a list there is a hyphen in its place.
"""

from collections.abc import Iterable

_NO_LIST = "-"


def encode(addresses: str, limits: Iterable[int]) -> str:
    """Return the data of a record.

    Args:
        addresses: full path of the list, "" for all clients.
        limits: of each client, 0 for none; empty for a list alone, as earlier releases wrote it.
    """
    return "/".join((addresses.rsplit("/", 1)[-1] or _NO_LIST, *map(str, limits)))


def list_name(data: str) -> str:
    """Return the name of the list in the data of a record; "" for none."""
    name = data.partition("/")[0]
    return "" if name == _NO_LIST else name
