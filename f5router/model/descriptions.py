"""The `description` of objects on the BIG-IP, by which its administrators see whose they are.

It is made of an object's own path and of settings, so it costs no request and depends on nothing that a Route
brings. It is written with an object and never compared: objects without one, of the original router or an
earlier release, are no difference, and a device that returns another text is not written to again.
"""

import re
from collections.abc import Callable

from f5router.model import names
from f5router.model.ltm import ClientSSL, DataGroup, HTTPCompression, Object, Policy, Pool, ServerSSL
from f5router.model.monitors import TYPES
from f5router.model.net import StaticRoute, Tunnel

KINDS = frozenset({
    *TYPES, Pool.KIND, Policy.KIND, DataGroup.KIND, ClientSSL.KIND, ServerSSL.KIND, HTTPCompression.KIND,
    Tunnel.KIND, StaticRoute.KIND,
})
"""Kinds that get one. Source: bigip-behaviour.md B1.

Rules and records get none: they are written in lists of all, which would
become longer, and are named by their Route, Host or pool.
"""

LIMIT = 200
"""Longest description, in characters."""

Describe = Callable[[Object], str]
"""Returns the description of an object; "" for a kind that gets none."""

_OTHER = re.compile(r"[^A-Za-z0-9.:_/*() -]+")


def describer(router: str, hostname: str = "", folder: str = "/Common") -> Describe:
    """Return what describes the objects of a router.

    Args:
        router: its name, see --name.
        hostname: the name under which clients reach it, see --router-canonical-hostname; "" for none.
    """
    owner = " ".join(filter(None, ("managed by f5router", router, f"({hostname})" if hostname else "")))

    def describe(obj: Object) -> str:
        if obj.KIND not in KINDS:
            return ""
        use = _use(folder, obj)
        return _OTHER.sub("_", f"{owner}: {use}" if use else owner)[:LIMIT]

    return describe


def properties(describe: Describe, obj: Object) -> dict[str, str]:
    """Return the property for the body of a request; none for a kind that gets no description."""
    text = describe(obj)
    return {"description": text} if text else {}


def _use(folder: str, obj: Object) -> str:
    """Return what of the cluster an object is for; "" if it is for all of it."""
    if isinstance(obj, Pool) and not obj.path.endswith(f"/{names.NOWHERE_POOL}"):
        known = names.pool_key(folder, obj.path) or names.own_pool_key(folder, obj.path)
        return f"Service {known[0]}" if known else f"a Service in {names.pool_namespace(obj.path)}"
    if isinstance(obj, ClientSSL) and obj.server_name:
        return f"host {obj.server_name}"
    return ""
