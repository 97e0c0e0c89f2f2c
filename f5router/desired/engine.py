"""Desired, kept up to date by recomputing only what an event affects.

Desired is the union of independent parts: the baseline, the objects of each Host, a Pool for each Service
port and, by settings, an FDB record for each Node or a static route for each network of its pods. A property
test holds `Engine.objects` equal to a build from the whole cluster (tests/reference/full_build.py).
"""

import functools
import itertools
from collections.abc import Collection, Iterable, Mapping

from f5router.admission import admission
from f5router.admission.admission import EvaluatedRoute
from f5router.admission.certificates import CheckQueue
from f5router.admission.claim_index import ClaimIndex, Site
from f5router.admission.host_claims import ClaimResult
from f5router.admission.namespace_limits import NamespaceLimits
from f5router.desired import baseline, route_objects
from f5router.desired.cluster_state import ClusterState, PodPlaces
from f5router.desired.contributions import Contributions
from f5router.desired.front_end_views import FrontEndViews, unserved
from f5router.desired.front_ends import limits
from f5router.desired.node_ways import NodeWays
from f5router.desired.pools import PoolKey, PoolSettings
from f5router.desired.results import NOTHING, RouteResults
from f5router.desired.service_pools import DroppedPools, WantedPools
from f5router.desired.settings import DesiredSettings
from f5router.model import hostnames, names
from f5router.model.client_tls import TLSFiles
from f5router.model.cluster import Key, Route
from f5router.model.containment import OnFailure, contained, fail
from f5router.model.delta import Delta
from f5router.model.device_facts import DeviceFacts
from f5router.model.limits import Steps, finish
from f5router.model.ltm import Object, Pool, PoolMember
from f5router.model.objects import Ref
from f5router.model.texts import Findings, Problem
from f5router.model.virtual_server import FrontEndSet
from f5router.network import vxlan

POOL_SIZE, SIZE_OF_A_STEP = 20, 2000
"""Cost of a pool besides that of its members, and cost of a step; both counted in members."""


class Engine(RouteResults):
    """Not thread-safe: one thread applies Deltas and reads the results."""

    def __init__(self, config: DesiredSettings, checks: CheckQueue | None = None, *,
                 on_failure: OnFailure = fail):
        """Args: checks: certificate checks; None for checks that run at once."""
        super().__init__(ClaimIndex(ownership=config.admission.ownership))
        self._config, self.folder, self._on_failure = config, config.folder, on_failure
        self.checks = checks or CheckQueue()
        self.cluster = ClusterState(config.nodeport)
        self.places = PodPlaces(self.cluster)
        self.objects: dict[Ref, Object] = {}
        """Desired."""
        self._contributions = Contributions(self.objects)
        self.facts, self.tls_files = DeviceFacts(), config.tls_files
        self._undecided: dict[Key, Route] = {}
        """Routes whose certificates are not checked yet, as they are now."""
        self._limits = NamespaceLimits(config.admission)
        self._claims_by_host: dict[Site, tuple[Mapping[Key, EvaluatedRoute], ClaimResult]] = {}
        """The Routes of each Host and their verdicts, from which its objects were built."""
        self._undetermined: dict[Site, frozenset[Ref]] = {}
        """Undetermined objects by Host, where there are any."""
        self._pools = WantedPools(config, self.cluster, self.places, vxlan.addresses(config))
        self.followers = self._pools.followers
        """See WantedPools.followers."""
        self._dropped = DroppedPools(config)
        self.front_ends = FrontEndViews(config)
        self._baselines: dict[str, Mapping[Ref, Object]] = {}
        """By front end."""
        self.ways = NodeWays(config, self.cluster, self._contributions)
        """To the pods of each Node."""
        self._findings: Findings | None = None
        self._dirty: set[Ref] = set()
        """Objects that may have changed since the last `take_changes`."""
        self._affected_routes: set[Key] = set()
        """Routes whose objects were built anew since then."""
        self._rebuild_baseline()
        self.ways.set_facts(self.facts)

    # --- results -------------------------------------------------------------------------

    def take_changes(self) -> tuple[set[Ref], set[Key]]:
        """Return objects that may have changed, and Routes evaluated anew, since the last call."""
        changes = self._dirty, self._affected_routes
        self._dirty, self._affected_routes = set(), set()
        return changes

    def undetermined(self) -> frozenset[Ref]:
        """Return the objects whose desired state is not known yet: see HostObjects.undetermined."""
        return self.front_ends.awaited_profiles().union(*self._undetermined.values())

    def undecided(self) -> Collection[Key]:
        """Return the Routes whose newest version waits for the check of its certificates."""
        return self._undecided.keys()

    def covered_hosts(self, host: str, front_end: str) -> set[str]:
        """Return the Hosts of a front end whose requests may come to the objects of a Host.

        For a wildcard these are all of its subdomain; only itself if namespaces may share a subdomain.
        """
        shared = not host.startswith("*.") or not self._config.admission.ownership
        return {host} if shared else {host, *self._claim_index.hosts(front_end, host[2:])}

    def closure(self, refs: Iterable[Ref]) -> set[Ref]:
        """Return objects with all their dependencies."""
        seen, stack = set[Ref](), list(refs)
        while stack:
            ref = stack.pop()
            if ref not in seen:
                seen.add(ref)
                if (obj := self.objects.get(ref)) is not None:
                    stack.extend(obj.dependencies)
        return seen

    def pool_of(self, key: Key) -> Ref | None:
        """Return the pool of a Route that is served."""
        pool = self._objects_of(key).pool_of.get(key)
        return Ref(Pool.KIND, names.pool(self.folder, *pool)) if pool is not None else None

    def members(self, pool: Pool) -> frozenset[PoolMember]:
        """Return the members that a pool of the device is to have, wanted or not.

        If nothing shows its Services or their numbers, those stay whose address a pod of its namespace has.
        """
        if isinstance(wanted := self.objects.get(pool.ref), Pool):
            return wanted.members
        dropped, numbered = self._dropped.get(pool.path), any(each.priority_group for each in pool.members)
        if dropped is not None and (dropped[1].by_service or not numbered):
            return self._pools.members(*dropped)
        known = self.cluster.addresses(names.pool_namespace(pool.path))
        return frozenset(member for member in pool.members if member.address in known)

    def dropped_pools(self, service: Key) -> Iterable[Ref]:
        """Return the unused pools that may have members of a Service."""
        return (Ref(Pool.KIND, path) for path in self._dropped.of_service(service))

    def set_dropped_pools(self, refs: Iterable[Ref]) -> None:
        """Replace the unused pools that the device has."""
        self._dropped.start_over({ref.path for ref in refs}, self.routes().values)

    def keep_pods(self, present: Mapping[str, Collection[PoolMember]]) -> None:
        """See WantedPools.keep_pods."""
        for key in self._pools.keep_pods(present):
            self._rebuild_pool(key)

    def pools_of_pods(self) -> set[Ref]:
        """Return the pools that keep their pods: see WantedPools.of_pods."""
        return {Ref(Pool.KIND, names.pool(self._config.folder, *key)) for key in self._pools.of_pods}

    def empty_pools(self) -> dict[Ref, str]:
        """See WantedPools.empty."""
        return self._pools.empty(self.objects)

    def forget_pool(self, ref: Ref) -> None:
        """Drop a pool that is no longer on the device."""
        self._dropped.discard(ref.path)

    def on_front_ends(self, route: Key) -> list[Key]:
        """Return the keys of a Route of the cluster, or of a source, on the front ends that serve it."""
        return [key for key in map(route.on, self.front_ends) if key in self.routes()]

    def routes_of_host(self, host: str) -> Iterable[Key]:
        """Return the Routes of a Host on all front ends."""
        known = (self._claims_by_host.get(Site(name, host)) for name in self.front_ends)
        return [key for each in known if each is not None for key in each[0]]

    def warnings(self, key: Key) -> tuple[Problem, ...]:
        """Return the warnings about a served Route."""
        route, objects = self.route(key), self._objects_of(key)
        pool = objects.pool_of.get(key)
        of_services = self._pools.warnings(route, pool, served=key in objects.uses) if route else ()
        return (*objects.warnings.get(key, ()), *of_services)

    def network_findings(self) -> Findings:
        """Return the problems between settings, device, Nodes and cluster network."""
        if self._findings is None:
            self._findings = self.ways.findings()
        return self._findings

    def virtual_server_findings(self) -> Findings:
        """Return which settings have no effect because of what is on a virtual server."""
        views = filter(None, map(self.front_ends.get, self.front_ends))
        warnings = [baseline.virtual_server_findings(*view).warnings for view in views]
        return Findings(warnings=tuple(itertools.chain.from_iterable(warnings)))

    # --- inputs --------------------------------------------------------------------------

    def set_facts(self, facts: DeviceFacts) -> None:
        """Apply new facts about the device, and rebuild everything if they differ."""
        if facts == self.facts:
            return
        self._set_addresses(facts)
        self.facts = facts
        self.front_ends.set_facts(facts)
        self._rebuild_baseline()
        finish(self._rebuild_hosts(self._claims_by_host))
        finish(self.rebuild_pools())
        self._dirty |= self.ways.set_facts(facts)
        self._refresh_warnings(self.places.set_locator(self.ways.locator()))
        self._findings = None

    def _set_addresses(self, facts: DeviceFacts) -> None:
        if (facts.own_addresses, facts.doubt) != (self.facts.own_addresses, self.facts.doubt):
            self._pools.set_own_addresses(facts.own_addresses, facts.doubt)

    def set_tls_files(self, files: TLSFiles) -> None:
        """Apply the new content of the administrator's files for TLS towards clients."""
        self.tls_files = files
        self._rebuild_baseline()

    def set_front_ends(self, front_ends: FrontEndSet, facts: DeviceFacts) -> Steps[None]:
        """Replace the front ends, and rebuild the Hosts of those that differ.

        Routes of one that does not exist keep their claims, and are served once it does.

        Args: facts: those known, completed by the virtual servers of the front ends.
        """
        before, self._config = self._config, self._config.with_front_ends(front_ends)
        different = self.front_ends.set_config(self._config)
        self._set_addresses(facts)
        self.facts = facts
        self.front_ends.set_facts(facts)
        self._rebuild_baseline(different)
        yield from self._rebuild_hosts(site for site in self._claims_by_host if site.front_end in different)
        if limits(before) != limits(self._config):
            self._pools.set_config(self._config)
        yield from self.rebuild_pools()

    def set_default_destination_ca(self, certificates: str) -> Steps[None]:
        """Apply a renewed default CA for pods, and rebuild the Hosts of the Routes that need it."""
        self._config = self._config.with_default_destination_ca(certificates)
        self.front_ends.set_config(self._config)
        yield from self._rebuild_hosts(site for site, (checked, _) in self._claims_by_host.items()
                                       if any(evaluated.needs_default_ca for evaluated in checked.values()))

    def apply(self, delta: Delta) -> None:
        """Apply changes of the cluster."""
        finish(self.apply_in_steps(delta))

    def apply_endpoints(self, delta: Delta) -> None:
        """Apply changes of endpoints only, also between two steps of `apply_in_steps`.

        Some of their pools are built at once, the others by `rebuild_pools`.
        """
        services = self.cluster.put_slices(delta)
        self._pools.mark(services)
        next(self.rebuild_pools(), None)
        self._refresh_warnings({*self.places.update(services), *(services if self._config.nodeport else ())})

    def rebuild_pools(self) -> Steps[None]:
        """Build the pools anew whose Services have changed; the caller may do so a step at a time."""
        size = 0
        while (key := self._pools.take_marked()) is not None:
            size += POOL_SIZE
            with contained(self._on_failure, "pool of", key.service):
                size += self._rebuild_pool(key)
            if size >= SIZE_OF_A_STEP:
                size = 0
                yield

    @property
    def has_changed_pools(self) -> bool:
        """True if `rebuild_pools` has something to do."""
        return self._pools.are_marked

    def apply_in_steps(self, delta: Delta) -> Steps[None]:
        """Apply changes of the cluster in steps. Between two steps each Host has its old or its new form."""
        everywhere = self._apply_nodes(delta)
        moved = self.places.set_locator(self.ways.locator()) if (
            delta.nodes or delta.host_subnets or delta.block_affinities or delta.cilium_nodes) else set[Key]()
        self.cluster.put_services(delta)
        services = {*delta.services, *self.cluster.put_slices(delta)}
        self._pools.mark(self._pools.services() if everywhere else services)
        again = self.cluster.secret_users(delta.secrets) | self._limits.update(delta.routes)
        for number, (key, route) in enumerate({**again, **delta.routes}.items(), start=1):
            self._put_route(key, route)
            if number % route_objects.ROUTES_OF_A_STEP == 0:
                yield
        for key in self.checks.work() & self._undecided.keys():
            self._put_route(key, self._undecided[key])
        for host, routes, claims in self._claim_index.take():
            yield
            with contained(self._on_failure, "Host", host):
                yield from self._rebuild_host(host, routes, claims)
        yield from self.rebuild_pools()
        moved |= self.places.update(services)
        self._refresh_warnings({*moved, *(services if self._config.nodeport else delta.services)})

    def _refresh_warnings(self, services: Iterable[Key]) -> None:
        """Mark Routes whose warnings may differ; with node ports these depend on endpoints too."""
        for pool_key in [key for service in services for key in self._pools.of_service(service)]:
            self._mark_users(pool_key)

    def _apply_nodes(self, delta: Delta) -> bool:
        """Apply Nodes and their networks; returns True if the members of every pool may have changed."""
        everywhere = self.cluster.put_nodes(delta)
        networks = self.cluster.put_pod_networks(delta)
        self._dirty |= self.ways.update(delta.nodes, delta.host_subnets, networks)
        if delta.cluster_networks:
            self._rebuild_baseline()
        if delta.nodes or delta.host_subnets or delta.cluster_networks or networks:
            self._findings = None
        return everywhere

    def _put_route(self, key: Key, route: Route | None) -> None:
        with contained(self._on_failure, "Route", key):
            self.cluster.put_secret_user(key, route)
            if route is not None:
                return self._evaluate(key, route)
            self.checks.forget(key)
            self._undecided.pop(key, None)
            self._claim_index.put(key, None)

    def _evaluate(self, key: Key, route: Route) -> None:
        """Apply a new version of a Route. The last checked one stays until new certificates are checked."""
        checked = admission.check(route, self._config.admission, self.cluster.secrets,
                                  functools.partial(self.checks.ask, key, claimant=route.claim_namespace),
                                  refusal=self._limits.refusal(key))
        self._undecided.pop(key, None)
        if checked.pending and checked.pending_authority is None:
            self._undecided[key] = route
            old = self._claim_index.routes().get(key)
            if old is not None and not old.pending and old.route.uid == route.uid:
                return
        self._claim_index.put(key, checked)

    # --- parts ---------------------------------------------------------------------------

    def _rebuild_baseline(self, front_ends: Iterable[str] | None = None) -> None:
        """Build what front ends always need. Args: front_ends: their names; None for all."""
        for name in self.front_ends if front_ends is None else front_ends:
            view, old = self.front_ends.get(name), self._baselines.pop(name, {})
            files = self.front_ends.files(name, self.tls_files)
            new = baseline.build(*view, self.cluster.networks, files) if view else {}
            self._dirty |= self._contributions.swap(old, new)
            if new:
                self._baselines[name] = new

    def _rebuild_hosts(self, sites: Iterable[Site]) -> Steps[None]:
        """Build the objects of Hosts anew, one in a step, whose Routes are as they were."""
        for site in list(sites):
            yield
            with contained(self._on_failure, "Host", site):
                if site in self._claims_by_host:
                    yield from self._rebuild_host(site, *self._claims_by_host[site])

    def _rebuild_host(self, host: Site, checked: Mapping[Key, EvaluatedRoute],
                      claims: ClaimResult) -> Steps[None]:
        """Build the objects of a Host anew, then put them in place of the old ones, all in one step."""
        new = NOTHING
        if checked and (view := self.front_ends.get(host.front_end)):
            new = yield from route_objects.host_objects(host.host, checked.values(), claims, *view)
        elif checked:
            new = unserved(host.front_end, checked, claims)
        old, _ = self._host_objects.pop(host, NOTHING), self._claims_by_host.pop(host, None)
        if checked:
            self._host_objects[host] = new = new.sharing(old)
            self._claims_by_host[host] = (checked, claims)
        if host.host == hostnames.ANY and self.front_ends.defaults.put(
                host.front_end, new.default if checked else None):
            self._rebuild_baseline((host.front_end,))
        self._affected_routes |= {*checked, *old.uses, *old.rejections}
        self._undetermined.pop(host, None)
        if new.undetermined:
            self._undetermined[host] = new.undetermined
        self._dirty |= old.undetermined ^ new.undetermined
        for key, settings in new.pools.items():
            if self._pools.use(key, settings, host):
                self._dropped.discard(names.pool(self._config.folder, *key))
                self._rebuild_pool(key)
        self._dirty |= self._contributions.swap(old.objects, new.objects)
        for key in old.pools.keys() - new.pools.keys():
            if (dropped := self._pools.drop(key, host)) is not None:
                self._drop_pool(key, dropped)

    def _drop_pool(self, key: PoolKey, settings: PoolSettings) -> None:
        ref = Ref(Pool.KIND, names.pool(self._config.folder, *key))
        del self.objects[ref]
        self._dropped.put(ref.path, (key, settings))
        self._dirty.add(ref)

    def _rebuild_pool(self, key: PoolKey) -> int:
        """Build a pool; returns the number of members that were computed."""
        built, warnings_differ = self._pools.build(key)
        if warnings_differ:
            self._mark_users(key)
        if self.objects.get((pool := built.pool).ref) != pool:
            self.objects[pool.ref] = pool
            self._dirty.add(pool.ref)
        return built.computed

    def _mark_users(self, key: PoolKey) -> None:
        for host in self._pools.hosts(key):
            own = (Key(key.service.namespace, key.route, host.front_end),) if key.route else ()
            self._affected_routes.update(own or self._claims_by_host[host][0])
