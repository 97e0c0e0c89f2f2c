"""Pods that several Routes have in common although they differ in the TLS towards them."""

from collections.abc import Collection
from operator import itemgetter

from f5router.desired.engine import Engine
from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.front_end_names import base_name, front_end_of
from f5router.model.ltm import Pool, Record


def differing_routes(engine: Engine, front_ends: Collection[str]) -> tuple[Key, Key] | None:
    """Return two Routes over HTTPS that differ in the TLS towards one pod; None for none.

    Args: front_ends: names of those that share connections to pods with each other.
    """
    profiles = {(front_end_of(obj.group), obj.name): obj.data for obj in engine.objects.values()
                if isinstance(obj, Record) and base_name(obj.group) == names.REENCRYPT_GROUP}
    first: dict[tuple[str, int], tuple[Key, str]] = {}
    for key, evaluated in sorted(engine.routes().items(), key=itemgetter(0)):
        if key.front_end not in front_ends or evaluated.termination not in ("edge", "reencrypt"):
            continue
        ref = engine.pool_of(key)
        pool = engine.objects.get(ref) if ref else None
        if not isinstance(pool, Pool):
            continue
        mine = key, profiles.get((key.front_end, pool.path), "")
        for member in pool.members:
            other = first.setdefault((member.address, member.port), mine)
            if other[1] != mine[1]:
                return other[0], key
    return None
