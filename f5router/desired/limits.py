"""Limits on the clients of a Route: its record, its list of addresses, and the iRule that acts on them.

Everything fails closed. The name of the pool alone (names.LIMITED) shows that its clients are limited:
without record, list or iRule nobody gets in.
"""

from f5router.desired import irules
from f5router.model import names
from f5router.model.ltm import Attachment, DataGroup, IRule, Object, Record
from f5router.model.route_options import RouteOptions


def has_limits(options: RouteOptions) -> bool:
    """True if not every client may connect."""
    return bool(options.sources)


def records(folder: str, pool: str, options: RouteOptions) -> list[Object]:
    """Build the list of addresses that may connect to a pool, and the record that names it.

    A list never changes. A Route whose list does gets another one by one write of its record, so that there
    is no moment with half a list.
    """
    if not has_limits(options):
        return []
    path = names.address_list(folder, options.sources)
    addresses = DataGroup(path, "ip", frozenset(options.sources))
    group = names.full_path(folder, names.LIMITS_GROUP)
    return [addresses, Record(group, pool, path.rsplit("/", 1)[1], frozenset({addresses.ref}))]


def irule(folder: str, virtual: str) -> list[Object]:
    """Build the iRule with its data-group, and its Attachment to a virtual server."""
    group = DataGroup(names.full_path(folder, names.LIMITS_GROUP))
    path = names.full_path(folder, names.LIMITS_IRULE)
    return [
        group,
        IRule(path, irules.limits_irule(folder), extra_dependencies=frozenset({group.ref})),
        Attachment(virtual, "rules", path, IRule.KIND),
    ]
