"""Objects that lead the connections of virtual servers which carry TCP of any kind.

All connections go to the pool of the virtual server. A share of them is reset where Services of the route
cannot be used: the iRule that does so is attached before the pool gets any.
"""

from collections.abc import Callable

from f5router.desired import front_ends, irules
from f5router.model import http_edge, names
from f5router.model.cluster import Route
from f5router.model.front_end_names import own_path
from f5router.model.ltm import Attachment, IRule, Object, attachment_ref
from f5router.model.objects import Ref
from f5router.model.virtual_server import DefaultPool, default_pool_ref, listeners


def lead(route: Route, virtual: str, pool: str, config: front_ends.FrontEndSettings,
         add: Callable[[Object], Ref]) -> Ref:
    """Build the objects; returns the one by which connections come to the pool.

    Args: virtual: full path of the virtual server of the first address; add: takes the objects.
    """
    path = own_path(config, names.SHARE_IRULE)
    answer = http_edge.reply_of(route.options.reply) if route.service else None
    if answer is not None:
        share = round(answer.share * http_edge.SHARE)
        add(IRule(path, irules.share_irule(config.folder, share)))
        add(Attachment(virtual, "rules", path, IRule.KIND))
    for each in listeners(config.front_ends):
        needed = {attachment_ref(each.virtual, "rules", path)} if answer is not None else ()
        add(DefaultPool(each.virtual, pool, frozenset(needed)))
    return default_pool_ref(virtual)
