"""The pools that Routes want, the Services that each has members of, and warnings about these.

While pools that no Route wants any more are on the device, requests may still come to them.
"""

import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from f5router.admission import validation
from f5router.admission.admission import EvaluatedRoute
from f5router.admission.claim_index import Site
from f5router.desired import pools
from f5router.desired.cluster_state import ClusterState, PodPlaces
from f5router.desired.pool_options import PoolConfig
from f5router.desired.pools import BuiltPool, PoolKey, PoolSettings, Share, Target
from f5router.model import names, objects, tls_names
from f5router.model.cluster import Key, Route
from f5router.model.device_facts import Doubt
from f5router.model.ltm import Object, Pool, PoolMember
from f5router.model.objects import Ref
from f5router.model.small import Groups
from f5router.model.texts import (
    ADDRESSES_REFUSED,
    ALL_WEIGHTS_ZERO,
    PODS_NOT_REACHED,
    SERVICE_NOT_FOUND,
    TOO_MANY_ENDPOINTS,
    UNSUPPORTED_PROTOCOL,
    Problem,
)
from f5router.network import lacking_pods, node_ports, pool_members, static_routes
from f5router.network.pool_members import LeftOut


class WantedPools:
    """Not thread-safe."""

    def __init__(self, config: PoolConfig, cluster: ClusterState, places: PodPlaces,
                 of_units: frozenset[str]):
        """Args: of_units: addresses that units of the BIG-IP have by the settings."""
        self._config, self._cluster, self._places, self._of_units = config, cluster, places, of_units
        self._own_addresses = of_units
        """Those of the BIG-IP, which are no pool members."""
        self._doubt = Doubt()
        """Where it may have others."""
        self._builder = self._new_builder()
        """A new one for each state of the cluster."""
        self._marked: dict[str, dict[PoolKey, None]] = {}
        """Pools whose members may differ, by namespace in the order of their turns."""
        self._users = Groups[PoolKey, Site]()
        """Hosts whose Routes use a pool."""
        self._settings: dict[PoolKey, PoolSettings] = {}
        self._of_service = Groups[Key, PoolKey]()
        self._shares: dict[PoolKey, Mapping[Target, Share]] = {}
        """Share of each Service in a pool."""
        self.of_pods: set[PoolKey] = set()
        """Pools whose members are pods although the settings ask for Nodes, which would leave them none."""

    # --- which pools -------------------------------------------------------------------------

    def use(self, key: PoolKey, settings: PoolSettings, host: Site) -> bool:
        """Add a use of a pool by a Host; returns True if the pool must be rebuilt."""
        self._users.add(key, host)
        if self._settings.get(key) == settings:
            return False
        self._put_settings(key, settings)
        return True

    def drop(self, key: PoolKey, host: Site) -> PoolSettings | None:
        """Remove a use of a pool by a Host; returns the pool's settings if it was the last use."""
        self._users.discard(key, host)
        if key in self._users:
            return None
        del self._shares[key]
        self.of_pods.discard(key)
        settings = self._settings[key]
        self._put_settings(key, None)
        return settings

    def _put_settings(self, key: PoolKey, settings: PoolSettings | None) -> None:
        """Update the settings of a pool, and follow its Services; None if the pool is no longer used."""
        if (old := self._settings.pop(key, None)) is not None:
            for service in pools.services_of(key, old):
                self._of_service.discard(service, key)
        if settings is not None:
            self._settings[key] = settings
            for service in pools.services_of(key, settings):
                self._of_service.add(service, key)

    def keys(self) -> Collection[PoolKey]:
        """Return all pools."""
        return self._users

    def services(self) -> Collection[Key]:
        """Return the Services of all pools."""
        return self._of_service

    def of_service(self, service: Key) -> Collection[PoolKey]:
        """Return the pools that follow a Service."""
        return self._of_service.get(service)

    def followers(self, service: Key) -> dict[Ref, set[Key]]:
        """Return the pools that follow a Service, each with all Services that it follows."""
        return {Ref(Pool.KIND, names.pool(self._config.folder, *key)):
                pools.services_of(key, self._settings[key]) for key in self.of_service(service)}

    def hosts(self, key: PoolKey) -> Collection[Site]:
        """Return the Hosts whose Routes use a pool."""
        return self._users.get(key)

    # --- their members -----------------------------------------------------------------------

    def set_own_addresses(self, addresses: frozenset[str], doubt: Doubt) -> None:
        """Update the BIG-IP's addresses, which are no pool members, and the networks where it may have more.
        """
        self._own_addresses, self._doubt = self._of_units | addresses, doubt
        self.mark(self.services())

    def set_config(self, config: PoolConfig) -> None:
        """Apply other settings: every pool must be rebuilt."""
        self._config = config
        self.mark(self.services())

    def mark(self, services: Iterable[Key]) -> None:
        """Mark changed Services: their pools must be rebuilt."""
        self._builder = self._new_builder()
        for service in services:
            for key in self.of_service(service):
                self._marked.setdefault(service.namespace, {})[key] = None

    def take_marked(self) -> PoolKey | None:
        """Return a pool that must be built anew; namespaces take turns. None if there are no more."""
        while self._marked:
            namespace, keys = next(iter(self._marked.items()))
            key, _ = keys.popitem()
            del self._marked[namespace]
            if keys:
                self._marked[namespace] = keys
            if key in self._users:
                return key
        self._builder = self._new_builder()  # what it remembers would take memory
        return None

    def _new_builder(self) -> pools.PoolBuilder:
        view_of = functools.partial(self._cluster.view, own_addresses=self._own_addresses,
                                    doubt=self._doubt)
        return pools.PoolBuilder(view_of, self._config)

    @property
    def are_marked(self) -> bool:
        """True if there are pools that must be built anew."""
        return bool(self._marked)

    def build(self, key: PoolKey) -> tuple[BuiltPool, bool]:
        """Build a pool with its present members; returns it with True if warnings may differ."""
        built = self._builder.build(key, self._settings[key])
        if built.pool.members:
            self.of_pods.discard(key)
        elif key in self.of_pods:
            built = self._builder.build(key, self._settings[key], of_pods=True)
        before, self._shares[key] = self._shares.get(key), built.shares
        full = before is not None and all(share.members for share in built.shares.values())
        return built, not full or _compared(before) != _compared(built.shares)

    def keep_pods(self, present: Mapping[str, Collection[PoolMember]]) -> list[PoolKey]:
        """Keep the pods of pools that would have no node port, and keep following the pods.

        A pool of the device whose members are pods of its Services serves requests; that they are no Nodes
        is the doing of the settings. Where it is not known which pods there are, no address is kept.

        Args: present: members by path, of pools of the device that are to lose all.
        Returns: the pools that must be built anew.
        """
        if not present or self._config.nodeport is None or not self._cluster.slices_listed:
            return []
        chosen = []
        for key in self.keys():
            members = present.get(names.pool(self._config.folder, *key))
            if members is None or key in self.of_pods:
                continue
            pods = self._builder.build(key, self._settings[key], of_pods=True).pool.members
            if {(pod.address, pod.port) for pod in pods} & {(each.address, each.port) for each in members}:
                chosen.append(key)
        self.of_pods.update(chosen)
        return chosen

    def empty(self, objects: Mapping[Ref, Object]) -> dict[Ref, str]:
        """Return the pools without members, each with the setting that leaves it none.

        "" stands for pools of which no pod is ready. Args: objects: Desired.
        """
        empty = {}
        for key in self.keys():
            pool = objects.get(Ref(Pool.KIND, names.pool(self._config.folder, *key)))
            if isinstance(pool, Pool) and not pool.members:
                empty[pool.ref] = self._emptied_by(key)
        return empty

    def _emptied_by(self, key: PoolKey) -> str:
        """Return the setting that leaves a pool without members; "" if the reason is that no pod is ready."""
        services = pools.services_of(key, self._settings[key])
        views = [self._cluster.view(service, self._own_addresses, self._doubt) for service in services]
        shares = self._shares[key].values()
        if shares and all(share.left_out.refused for share in shares):
            return "all addresses of their Services are refused"
        if self._config.nodeport is None or not any(
                view.service and (node_ports.places(view) or not view.listed) for view in views):
            return ""
        return node_ports.UNPUBLISHED if self._cluster.candidates else node_ports.UNSELECTED

    def members(self, key: PoolKey, settings: PoolSettings) -> frozenset[PoolMember]:
        """Return the present members of a pool, wanted or not."""
        return self._builder.build(key, settings).pool.members

    def warnings(self, route: Route, key: PoolKey | None, *, served: bool) -> Iterator[Problem]:
        """Yield warnings about the Services of a Route; a Service of weight 0 may lack pods.

        Args:
            key: pool of the Route; None if it has none.
            served: True if the Route is served at all.
        """
        weights, shares = pools.backends(route), self._shares.get(key, {}) if key else {}
        fields = {pools.Target(route.service, route.target_port): "spec.to.name"}
        for number, backend in enumerate(route.alternates):
            fields.setdefault(pools.target(route, backend), f"spec.alternateBackends[{number}].name")
        if served and weights and not any(weights.values()) and not route.options.reply:
            yield Problem(ALL_WEIGHTS_ZERO, validation.field_of_origin(
                route, "spec.to.weight: no Service has a weight above 0: clients get 503"))
        for target, field in fields.items():
            for reason, text in self._warnings_of(
                    route, target, field, shares, served=served, active=weights[target] > 0):
                yield Problem(reason, validation.field_of_origin(route, text))

    def _warnings_of(self, route: Route, target: Target, field: str, shares: Mapping[Target, Share], *,
                     served: bool, active: bool) -> Iterator[Problem]:
        (name, port, namespace), share = target, shares.get(target, Share())
        if not name:
            return  # an Ingress without a backend has its own reason
        service = Key(namespace or route.key.namespace, name)
        view = self._cluster.view(service, self._own_addresses, self._doubt)
        if view.service is None:
            yield Problem(SERVICE_NOT_FOUND, f"{field}: there is no Service {name}")
        elif self._config.nodeport:
            yield from node_ports.warnings(field, port, view) if served and active else ()
        elif active and not share.members and not share.left_out:
            yield from lacking_pods.warnings(field, port, view, served=served)
        clear = route.tls is None and not route.pods_speak_tls
        if served and active and (clear or (route.tls and route.tls.termination == "edge")):
            for text in pool_members.protocol_warnings(field, port, view):
                yield Problem(UNSUPPORTED_PROTOCOL, text)
        if served and active and (astray := self._places.problems(service)):
            yield Problem(PODS_NOT_REACHED, (
                f"{field}: pods of Service {name} that the BIG-IP may not reach: "
                f"{static_routes.shown_pods(astray)}"))
        if share.left_out.refused:
            yield Problem(
                ADDRESSES_REFUSED, pool_members.refusal_warning(field, name, share.left_out.refused))
        if share.left_out.total:
            yield Problem(TOO_MANY_ENDPOINTS, pool_members.limit_warning(
                field, name, share.left_out.total, self._config.max_pool_members, several=len(shares) > 1))


def _compared(shares: Mapping[Target, Share] | None) -> dict[Target, tuple[bool, LeftOut]]:
    """Return the values on which warnings depend."""
    return {target: (share.members > 0, share.left_out) for target, share in (shares or {}).items()}


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
            namespace, name, _ = evaluated.route.key
            if namespace in namespaces:
                own_keys = [key._replace(route=name)
                            for key in keys.get((namespace, objects.digest(name)), ())]
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
