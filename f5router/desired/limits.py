"""Limits on the clients of a Route: its record, its list of addresses, and the iRule that acts on them.

A list fails closed. The name of the pool alone (names.LIMITED) shows that there is one: without record, list
or iRule nobody gets in. Limits of rates fail open (names.RATED, if there is no list).
"""

from f5router.desired import irules
from f5router.model import names, route_options
from f5router.model.ltm import Attachment, DataGroup, IRule, Object, Record
from f5router.model.objects import Ref
from f5router.model.route_options import RouteOptions


def ending(options: RouteOptions) -> str:
    """Return the end of the name of a Route's pool: names.LIMITED, names.RATED, or "" without limits."""
    if options.sources:
        return names.LIMITED
    return names.RATED if any(options.rates) else ""


def records(folder: str, pool: str, options: RouteOptions) -> list[Object]:
    """Build the list of addresses that may connect to a pool, and the record with the limits of its clients.

    A list never changes. A Route whose list does gets another one by one write of its record, so that there
    is no moment with half a list. An iRule of an earlier release understands only a record of a list alone.
    """
    if not ending(options):
        return []
    objects: list[Object] = []
    required = set()
    path = names.address_list(folder, options.sources) if options.sources else ""
    if path:
        addresses = DataGroup(path, "ip", frozenset(options.sources))
        objects.append(addresses)
        required.add(addresses.ref)
    limits = options.rates if any(options.rates) else ()
    if limits:
        required.add(Ref(IRule.KIND, names.full_path(folder, names.LIMITS_IRULE)))
    data = route_options.encode_limits(path, limits)
    group = names.full_path(folder, names.LIMITS_GROUP)
    return [*objects, Record(group, pool, data, frozenset(required))]


def irule(folder: str, virtual: str) -> list[Object]:
    """Build the iRule with its data-group, and its Attachment to a virtual server."""
    group = DataGroup(names.full_path(folder, names.LIMITS_GROUP))
    path = names.full_path(folder, names.LIMITS_IRULE)
    return [
        group,
        IRule(path, irules.limits_irule(folder), extra_dependencies=frozenset({group.ref})),
        Attachment(virtual, "rules", path, IRule.KIND),
    ]
