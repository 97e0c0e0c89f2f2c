"""Names of the records in PASSTHROUGH_GROUP, and which of them cover a Host.

The record of a Host has its name. The record of a Route's wildcard is the domain after a dot, for one label
more. The record of a TLSRoute's wildcard is the domain after two dots, for any number of labels more.
PASSTHROUGH_IRULE looks up the server name, then its domain after one dot. Its text for wildcards of any depth
then looks up each domain after two dots, the longest one first, and at last EVERY; other texts never do.
There is no "*" in a name, which may be a pattern to tmsh.
"""

from collections.abc import Iterator

from f5router.model import hostnames
from f5router.model.front_end_names import beside
from f5router.model.ltm import BigIPState, Record, record_ref
from f5router.model.names import EXCLUSION, OWNER_GROUP
from f5router.model.objects import Ref

EVERY = ".._"
"""Record for all server names that no other one covers, and for clients without a server name. "_" is no
domain: no label of a Host has it."""


def name_of(host: str, *, any_depth: bool = False) -> str:
    """Return the name of a Host's record.

    Args: host: may be a wildcard, or hostnames.ANY. any_depth: True if a wildcard has all below its domain.
    """
    if host == hostnames.ANY:
        return EVERY
    return host if not host.startswith("*.") else f"..{host[2:]}" if any_depth else host[1:]


def host_of(record: str) -> str:
    """Return the Host of a record."""
    if record == EVERY:
        return hostnames.ANY
    return f"*.{record.lstrip('.')}" if record.startswith(".") else record


def deciding(host: str) -> Iterator[str]:
    """Yield the names of the records that may decide about a Host, the most specific one first."""
    own = name_of(host)
    yield own
    yield from covering(own)


def covering(record: str) -> Iterator[str]:
    """Yield the names of the records that cover the Host of another one, the most specific one first."""
    if record == EVERY:
        return
    is_any_depth, is_wildcard = record.startswith(".."), record.startswith(".")
    domain = record.lstrip(".")
    if not is_wildcard:
        domain = hostnames.parent(domain)
        if domain:
            yield f".{domain}"
    elif is_any_depth:
        domain = hostnames.parent(domain)
    while domain:
        yield f"..{domain}"
        domain = hostnames.parent(domain)
    yield EVERY


def covering_refs(record: Record) -> Iterator[Ref]:
    """Yield the Refs of the records that cover the Host of another one, the most specific one first."""
    return (record_ref(record.group, name) for name in covering(record.name))


def covering_ref(record: Record, state: BigIPState) -> Ref | None:
    """Return the record of a state that decides about the Host of another one without that; None for none."""
    return next((ref for ref in covering_refs(record) if ref in state), None)


def is_passed_around(record: Record, state: BigIPState) -> bool:
    """True if TLS of the Host of a record would be passed through without it, by a wildcard's record."""
    ref = covering_ref(record, state)
    nearest = state[ref] if ref is not None else None
    return isinstance(nearest, Record) and nearest.data != EXCLUSION


def breadth(record: str) -> int:
    """Return a rank of a record: one that covers another one has a greater rank."""
    if record == EVERY:
        return hostnames.MOST
    if record.startswith(".."):
        return hostnames.MOST - 1 - record.count(".")
    return int(record.startswith("."))


def owner_ref(record: Record) -> Ref:
    """Return the record of the owner of a record in PASSTHROUGH_GROUP."""
    return record_ref(beside(record.group, OWNER_GROUP), record.name)
