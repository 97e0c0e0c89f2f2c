"""Owners of Hosts: the namespaces whose Routes serve them, or hold them."""

from collections.abc import Collection

from f5router.admission.claim_index import Site
from f5router.desired.engine import Engine
from f5router.model import hostnames, names, ownership, sni_records
from f5router.model.cluster import Key
from f5router.model.ltm import Object, Rule
from f5router.model.ownership import is_passthrough
from f5router.model.virtual_server import DefaultPool


class HostOwners:
    """Finds previous objects on Hosts that only other namespaces serve.

    It is made for one plan, during which the Routes do not change, and looks at the Routes of a Host once,
    however many objects the Host has: teams choose their number.
    """

    def __init__(self, engine: Engine):
        self._engine = engine
        self._found: dict[Site, frozenset[str] | None] = {}  # functools.cache would make a cycle

    def serves_foreign_namespace(self, obj: Object) -> bool:
        """True if an object leads requests for a Host that only other namespaces hold to its own pods."""
        if isinstance(obj, Rule):
            namespace, own = names.rule_namespace(obj.name), obj.hosts
        elif is_passthrough(obj):
            namespace, own = names.pool_namespace(obj.data), frozenset({sni_records.host_of(obj.name)})
        elif isinstance(obj, DefaultPool) and ownership.is_of_service(obj.pool):
            namespace, own = names.pool_namespace(obj.pool), frozenset({hostnames.ANY})
        else:
            return False
        front_end = ownership.front_end(obj)
        owners = (self._common(Site(front_end, entry)) for entry in own)
        return any(common is not None and namespace not in common for common in owners)

    def _common(self, entry: Site) -> frozenset[str] | None:
        """Return the namespaces with pods for all served Hosts that an entry covers; None if none is served.

        Without Routes of its own a Host has those of its wildcard. The namespace that holds it may have given
        paths of it to others, and serve none itself.
        """
        if entry in self._found:
            return self._found[entry]
        hosts = self._engine.covered_hosts(entry.host, entry.front_end)
        served = [frozenset(key.namespace for key in keys) for host in hosts
                  if (keys := self._routes_for(host, entry.front_end))]
        self._found[entry] = common = frozenset.intersection(*served) if served else None
        return common

    def claimants(self, host: str, front_end: str) -> set[str]:
        """Return the namespaces that hold a Host of a front end, and whose certificates it may show."""
        routes = (self._engine.route(key) for key in self._routes_for(host, front_end))
        return {route.claim_namespace for route in routes if route is not None}

    def _routes_for(self, host: str, front_end: str) -> Collection[Key]:
        return self._engine.host_routes(host, front_end) or self._engine.host_routes(
            hostnames.wildcard(host), front_end)
