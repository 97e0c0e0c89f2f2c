"""Pools that no Route uses any longer. Requests may still reach a pool until it is deleted."""

from collections.abc import Callable, Collection, Iterable, Iterator

from f5router.admission.admission import EvaluatedRoute
from f5router.desired import pools
from f5router.desired.pools import PoolConfig, PoolKey, PoolSettings
from f5router.model import names, tls_names
from f5router.model.cluster import Key


class DroppedPools:
    """Keeps the key and the settings of each such pool, so that it follows its pods until it is gone.

    Not thread-safe.
    """

    def __init__(self, config: PoolConfig):
        self._config = config
        self._known: dict[str, tuple[PoolKey, PoolSettings] | None] = {}
        """By full path; None if nothing shows its Services."""
        self._of_service: dict[Key, set[str]] = {}
        """Full paths by Service, those of unknown ones by a Service without a name."""

    def get(self, path: str) -> tuple[PoolKey, PoolSettings] | None:
        """Return the key and the settings of a pool; None if they are unknown."""
        return self._known.get(path)

    def of_service(self, service: Key) -> set[str]:
        """Return the pools that may have members of a Service."""
        unknown = self._of_service.get(Key(service.namespace, ""), set())
        return self._of_service.get(service, set()) | unknown

    def put(self, path: str, pool: tuple[PoolKey, PoolSettings] | None) -> None:
        """Add a pool in its last desired form."""
        self.discard(path)
        self._known[path] = pool
        for service in self._services(path):
            self._of_service.setdefault(service, set()).add(path)

    def discard(self, path: str) -> None:
        """Forget a pool that is wanted again, or not on the device."""
        if path not in self._known:
            return
        for service in self._services(path):
            self._of_service[service].discard(path)
            if not self._of_service[service]:
                del self._of_service[service]
        del self._known[path]

    def _services(self, path: str) -> set[Key]:
        pool = self._known[path]
        return pools.services_of(*pool) if pool else {Key(names.pool_namespace(path), "")}

    def start_over(self, paths: Collection[str], routes: Callable[[], Iterable[EvaluatedRoute]]) -> None:
        """Keep only the pools that the device has and no Route uses.

        A pool from before a restart is recognised by its name, and by the Route to which it belonged.

        Args: routes: returns those of the cluster.
        """
        for path in self._known.keys() - set(paths):
            self.discard(path)
        unknown = {path for path in paths if self._known.get(path) is None}
        for path in unknown:
            key = names.pool_key(self._config.folder, path)
            self.put(path, (PoolKey(*key), pools.shared(self._config.balancing)) if key else None)
        unknown = {path for path in unknown if self._known[path] is None}
        if unknown:
            self._recognise(unknown, routes())

    def _recognise(self, unknown: set[str], routes: Iterable[EvaluatedRoute]) -> None:
        """Find the Routes to which pools belonged; where a name was shortened, by the Route's present key."""
        namespaces = {names.pool_namespace(path) for path in unknown}
        keys: dict[tuple[str, str], list[PoolKey]] = {}
        for path in unknown:
            if own := names.own_pool_key(self._config.folder, path):
                service, port, tls, digest, ending = own
                keys.setdefault((service.namespace, digest), []).append(
                    PoolKey(service, port, tls, ending=ending))
        for evaluated in routes:
            namespace, name = evaluated.route.key
            if namespace in namespaces:
                own_keys = [key._replace(route=name) for key in keys.get((namespace, names.digest(name)), ())]
                for key in (*own_keys, *_present_keys(evaluated)):
                    self._put_recognised(key, evaluated, unknown)

    def _put_recognised(self, key: PoolKey, evaluated: EvaluatedRoute, unknown: set[str]) -> None:
        path = names.pool(self._config.folder, *key)
        if path not in unknown:
            return
        route = evaluated.route
        settings = pools.of_route(route, evaluated.termination, key.tls, self._config.balancing)[1]
        if key.service.name not in pools.services(route):
            settings = PoolSettings()  # its Services were others
        self.put(path, (key, settings))


def _present_keys(evaluated: EvaluatedRoute) -> Iterator[PoolKey]:
    """Yield the keys that pools of a Route may have; without TLS, or with TLS without a CA in its text."""
    route = evaluated.route
    default_tls = tls_names.pod_tls("", route.service, route.key.namespace)
    by_service = tls_names.pod_tls_by_service(pools.services(route), route.key.namespace)
    by_authority = (pools.tls_by_authority(route),) if route.pod_authority else ()
    for tls in ("", tls_names.UNVERIFIED, default_tls, by_service, *by_authority):
        key = PoolKey(Key(route.key.namespace, route.service), route.target_port, tls)
        yield key
        for ending in ("", names.LIMITED, names.RATED):
            yield key._replace(route=route.key.name, ending=ending)
