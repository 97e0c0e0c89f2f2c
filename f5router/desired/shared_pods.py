"""Pods that several Routes have in common although they differ in the TLS towards them."""

from operator import itemgetter

from f5router.desired.engine import Engine
from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.front_end_names import base_name
from f5router.model.ltm import Pool, Record


def differing_routes(engine: Engine) -> tuple[Key, Key] | None:
    """Return two Routes of the HTTPS virtual server that differ in the TLS towards one pod; None for none."""
    profiles = {obj.name: obj.data for obj in engine.objects.values()
                if isinstance(obj, Record) and base_name(obj.group) == names.REENCRYPT_GROUP}
    first: dict[tuple[str, int], tuple[Key, str]] = {}
    for key, evaluated in sorted(engine.routes().items(), key=itemgetter(0)):
        ref = engine.pool_of(key)
        pool = engine.objects.get(ref) if ref else None
        if evaluated.termination not in ("edge", "reencrypt") or not isinstance(pool, Pool):
            continue
        mine = key, profiles.get(pool.path, "")
        for member in pool.members:
            other = first.setdefault((member.address, member.port), mine)
            if other[1] != mine[1]:
                return other[0], key
    return None
