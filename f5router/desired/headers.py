"""Options of Routes that act on requests and responses: their records, and the iRule that acts on these.

A Rule names its record. Pools have no part in it: Routes with different options may share one.
"""

from f5router.admission.route_options import HAPROXY
from f5router.desired import irules
from f5router.model import http_options, names
from f5router.model.ltm import Attachment, DataGroup, IRule, Object, Record
from f5router.model.route_options import RouteOptions


def record(folder: str, options: RouteOptions, *, secure: bool) -> Record | None:
    """Build the record with the options of a Route; None if it needs none.

    Args: secure: True for requests over TLS.
    """
    data = http_options.encode(options, secure=secure)
    if not data:
        return None
    return Record(names.full_path(folder, names.HTTP_GROUP), http_options.record_name(data), data)


def irule(folder: str, virtual: str) -> list[Object]:
    """Build the iRule with its data-group, and its Attachment to a virtual server."""
    group = DataGroup(names.full_path(folder, names.HTTP_GROUP))
    path = names.full_path(folder, names.HEADERS_IRULE)
    return [
        group,
        IRule(path, irules.headers_irule(folder), extra_dependencies=frozenset({group.ref})),
        Attachment(virtual, "rules", path, IRule.KIND),
    ]


def warnings(options: RouteOptions) -> list[str]:
    """List the options of a Route that have no effect where Rules cannot set variables."""
    given = {f"{HAPROXY}hsts_header": options.hsts}
    return [f"metadata.annotations: {key} has no effect before TMOS 12.1"
            for key, value in given.items() if value]
