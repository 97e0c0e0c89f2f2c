"""Desired, kept up to date by recomputing only what an event touched.

Holds the same parts as `desired.build`, by Host and by pool, and counts how many parts contribute
an object. A property test holds `Engine.objects` equal to `desired.build(...).objects`.
"""

import functools
from collections.abc import Collection, Iterable, Mapping
from typing import TypeVar

from f5router.admission import admission
from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.certificate_queue import CheckQueue
from f5router.admission.claim_index import ClaimIndex
from f5router.admission.host_claims import ClaimResult
from f5router.desired import baseline, route_objects
from f5router.desired.route_objects import Fragment, PoolKey
from f5router.model import names
from f5router.model.cluster import (
    ClusterNetwork,
    ClusterSnapshot,
    Delta,
    EndpointSlice,
    HostSubnet,
    Key,
    Node,
    Route,
    Secret,
    Service,
)
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import Object, Pool
from f5router.model.objects import Ref
from f5router.model.steps import Steps, finish
from f5router.network import node_ports, pool_members, refused_addresses, static_routes, vxlan, vxlan_checks
from f5router.network.diagnostics import Findings
from f5router.network.pool_members import Candidate, LeftOut, ServiceView

_EMPTY = Fragment()

V = TypeVar("V")


class Engine:
    """Not thread-safe: one thread applies Deltas and reads the results."""

    def __init__(self, config: route_objects.DesiredSettings, checks: CheckQueue | None = None):
        """Args: checks: one that checks at once if None is given."""
        self._config = config
        self.checks = checks or CheckQueue()
        self._undecided: dict[Key, Route] = {}
        """Routes whose certificates are not checked yet, as they are now."""
        self._facts = DeviceFacts()
        self._claim_index = ClaimIndex(ownership=config.admission.ownership)
        self._claims_by_host: dict[str, tuple[Mapping[Key, EvaluatedRoute], ClaimResult]] = {}
        """By Host: its Routes and their verdicts, as its fragment was made."""
        self._secrets: dict[Key, Secret] = {}
        self._secret_users: dict[Key, dict[Key, Route]] = {}
        """By Secret, also one that is not there: the Routes that name it."""
        self._secret_of: dict[Key, Key] = {}
        self._services: dict[Key, Service] = {}
        self._slices: dict[Key, dict[Key, EndpointSlice]] = {}
        self._service_of: dict[Key, Key] = {}
        self._fragments: dict[str, Fragment] = {}
        self._pool_users: dict[PoolKey, set[str]] = {}
        self._pools_of: dict[Key, set[PoolKey]] = {}
        self._left_out: dict[PoolKey, LeftOut] = {}
        """What a pool leaves out; where there is something."""
        self._count: dict[Ref, int] = {}
        self._base: Mapping[Ref, Object] = {}
        self._slices_listed = False
        self._nodes: dict[Key, Node] = {}
        self._candidates: dict[str, Candidate] = {}
        self._host_subnets: dict[Key, HostSubnet] = {}
        self._networks: dict[Key, ClusterNetwork] = {}
        self._records: dict[Key, Mapping[Ref, Object]] = {}
        """By Node."""
        self._node_networks: dict[Key, static_routes.NodeNetworks] = {}
        self._allocation = static_routes.NetworkAllocation({})
        self._findings: Findings | None = None
        self.nodes_listed = False
        """Whether every Node is known: without, no FDB record and no route is one too many."""
        self.objects: dict[Ref, Object] = {}
        """Desired."""
        self._unknown: dict[str, frozenset[Ref]] = {}
        """By Host, where there are some."""
        self._dirty: set[Ref] = set()
        self.touched: set[Key] = set()
        """Routes whose fragment was made anew since the last `take`."""
        self._rebase()

    # --- results -------------------------------------------------------------------------

    def take(self) -> tuple[set[Ref], set[Key]]:
        """Refs whose wanted object may have changed, and Routes judged anew, since the last call."""
        taken = self._dirty, self.touched
        self._dirty, self.touched = set(), set()
        return taken

    def routes(self) -> Mapping[Key, EvaluatedRoute]:
        """Every Route of the cluster."""
        return self._claim_index.routes()

    def route(self, key: Key) -> Route | None:
        """The Route as it was judged."""
        checked = self._claim_index.routes().get(key)
        return checked.route if checked else None

    def rejection(self, key: Key) -> Rejection | None:
        """Why a Route is not admitted; None when it is."""
        return self._fragment(key).rejections.get(key)

    def fault(self, key: Key) -> str:
        """Why this router cannot serve an admitted Route; "" when it can."""
        return self._fragment(key).faults.get(key, "")

    def uses(self, key: Key) -> frozenset[Ref]:
        """Objects through which requests come to an admitted Route."""
        return self._fragment(key).uses.get(key, frozenset())

    def unknown(self) -> frozenset[Ref]:
        """Objects of which is not known yet how they are wanted, and whether: see Fragment.unknown."""
        return frozenset().union(*self._unknown.values())

    def pending_secret(self, key: Key) -> Secret | None:
        """The Secret that an admitted Route waits for."""
        checked = self._claim_index.routes().get(key)
        return checked.pending_secret if checked and self.rejection(key) is None else None

    def undecided(self) -> Collection[Key]:
        """Routes whose newest form waits for the check of its certificates."""
        return self._undecided.keys()

    def pending(self, key: Key) -> bool:
        """True if a Route had no form that was checked, so that nobody knows whether it is valid."""
        checked = self._claim_index.routes().get(key)
        return checked is not None and checked.pending

    def host_routes(self, host: str) -> Mapping[Key, frozenset[Ref]]:
        """Admitted Routes of a Host, with what `uses` says of each."""
        return self._fragments.get(host, _EMPTY).uses

    def covered_hosts(self, host: str) -> set[str]:
        """Hosts whose requests may come to what stands for a Host: of a wildcard, all of its subdomain.

        Where namespaces may share a subdomain, only itself.
        """
        if not host.startswith("*.") or not self._config.admission.ownership:
            return {host}
        return {host, *self._claim_index.hosts(host[2:])}

    def closure(self, refs: Iterable[Ref]) -> set[Ref]:
        """Objects, and all that they need in turn."""
        seen: set[Ref] = set()
        stack = list(refs)
        while stack:
            ref = stack.pop()
            if ref in seen:
                continue
            seen.add(ref)
            obj = self.objects.get(ref)
            if obj is not None:
                stack.extend(obj.dependencies)
        return seen

    def pool(self, path: str) -> Pool | None:
        """A pool with its present members, wanted or not; None if its name does not tell whose it is."""
        key = names.pool_key(self._config.folder, path)
        return route_objects.pool(PoolKey(*key), self._view(key[0]), self._config)[0] if key else None

    def addresses(self, namespace: str) -> frozenset[str]:
        """Addresses of all pods that are ready in a namespace."""
        return frozenset().union(*(part.addresses for service, parts in self._slices.items()
                                   if service.namespace == namespace for part in parts.values()))

    def keys_of(self, host: str) -> Iterable[Key]:
        """Routes of a Host."""
        return self._claims_by_host[host][0].keys() if host in self._claims_by_host else ()

    def warnings(self, key: Key) -> tuple[str, ...]:
        """What the team should know of a Route that is served; see also `service_warning`."""
        return (*self._fragment(key).warnings.get(key, ()), *self._service_warning(key))

    def snapshot(self) -> ClusterSnapshot:
        """The cluster as it was applied so far; for the full pass."""
        routes = {key: checked.route for key, checked in self._claim_index.routes().items()}
        return ClusterSnapshot(routes, dict(self._services), dict(self._slices), dict(self._nodes),
                               dict(self._host_subnets), dict(self._networks), self._slices_listed,
                               dict(self._secrets))

    def network_findings(self) -> Findings:
        """What is wrong between settings, device, Nodes and cluster network."""
        if self._findings is None:
            known = vxlan_checks.ClusterNetworkView(self._nodes, self._host_subnets, self._networks)
            found = vxlan_checks.check(self._config, self._facts, known)
            found += node_ports.findings(self._candidates, self._config.nodeport)
            found += refused_addresses.findings(self._facts)
            self._findings = found + Findings(warnings=self._allocation.warnings)
        return self._findings

    def services_of(self, delta: Delta) -> set[Key]:
        """Services that a Delta may give other members."""
        gone = (self._service_of.get(key) for key in delta.slices)
        now = (Key(part.key.namespace, part.service) for part in delta.slices.values() if part is not None)
        return {*delta.services, *now, *(service for service in gone if service is not None)}

    # --- inputs --------------------------------------------------------------------------

    def set_facts(self, facts: DeviceFacts) -> None:
        """Take new facts of the device; everything is made anew when they differ."""
        if facts == self._facts:
            return
        other_addresses = facts.own_addresses != self._facts.own_addresses
        self._facts = facts
        self._rebase()
        for host, (checked, claims) in list(self._claims_by_host.items()):
            finish(self._remake(host, checked, claims))
        for pool_key in self._pool_users if other_addresses else ():
            self._remake_pool(pool_key)
        for key in list(self._nodes):
            self._remake_record(key)
        self._findings = None

    def apply(self, delta: Delta) -> None:
        """Take changes of the cluster."""
        finish(self.apply_in_steps(delta))

    def apply_endpoints(self, delta: Delta) -> None:
        """Take changes of endpoints alone, also between two steps of `apply_in_steps`."""
        services = self._put_slices(delta)
        self._remake_pools_of(services)
        self._tell_of(services if self._config.nodeport else ())

    def apply_in_steps(self, delta: Delta) -> Steps[None]:
        """Take changes of the cluster. Between two steps each Host is as it was, or as it is to be."""
        everywhere = self._apply_nodes(delta)
        _update(self._services, delta.services)
        _update(self._secrets, delta.secrets)
        touched = {*delta.services, *self._put_slices(delta)}
        again = {key: route for secret in delta.secrets
                 for key, route in self._secret_users.get(secret, {}).items()}
        for number, (key, route) in enumerate({**again, **delta.routes}.items(), start=1):
            self._put_route(key, route)
            if number % route_objects.ROUTES_OF_A_STEP == 0:
                yield
        for key in self.checks.work() & self._undecided.keys():
            self._judge(key, self._undecided[key])
        for host, routes, claims in self._claim_index.take():
            yield from self._remake(host, routes, claims)
        self._remake_pools_of({*self._pools_of} if everywhere else touched)
        self._tell_of(touched if self._config.nodeport else delta.services)

    def _put_slices(self, delta: Delta) -> set[Key]:
        """Take endpoints; returns the Services that they are of, or were."""
        return set().union(*(self._put_slice(key, part) for key, part in delta.slices.items()))

    def _remake_pools_of(self, services: Collection[Key]) -> None:
        for service in services & self._pools_of.keys():
            for pool_key in self._pools_of[service]:
                self._remake_pool(pool_key)

    def _tell_of(self, services: Iterable[Key]) -> None:
        """Have warnings looked at again; with node ports they tell of endpoints that are no members."""
        for service in services:
            for pool_key in self._pools_of.get(service, ()):
                self._touch_users(pool_key)

    def _apply_nodes(self, delta: Delta) -> bool:
        """Nodes and their network; returns whether every pool may have other members."""
        self.nodes_listed = self.nodes_listed or delta.nodes_listed
        newly = delta.slices_listed and not self._slices_listed
        self._slices_listed = self._slices_listed or delta.slices_listed
        _update(self._nodes, delta.nodes)
        _update(self._host_subnets, delta.host_subnets)
        _update(self._networks, delta.cluster_networks)
        for key in {*delta.nodes, *delta.host_subnets}:
            self._remake_record(key)
        if delta.cluster_networks:
            self._rebase()
        if self._config.static_routes:
            self._allocate_networks(delta.nodes)
        if delta.nodes or delta.host_subnets or delta.cluster_networks:
            self._findings = None
        setup = self._config.nodeport
        return setup is not None and (self._choose(delta.nodes, setup) or newly)

    def _choose(self, changed: Iterable[Key], setup: node_ports.NodePortConfig) -> bool:
        """Follow Nodes that may be pool members; returns whether any differs from before."""
        differs = False
        for key in changed:
            node, old = self._nodes.get(key), self._candidates.pop(key.name, None)
            new = node_ports.candidate(node, setup) if node else None
            if new is not None:
                self._candidates[key.name] = new
            differs = differs or new != old
        return differs

    def _put_route(self, key: Key, route: Route | None) -> None:
        if (old := self._secret_of.pop(key, None)) is not None:
            users = self._secret_users[old]
            del users[key]
            if not users:
                del self._secret_users[old]
        if route is None:
            self.checks.forget(key)
            self._undecided.pop(key, None)
            self._claim_index.put(key, None)
            return
        if route.secret:
            self._secret_of[key] = route.secret
            self._secret_users.setdefault(route.secret, {})[key] = route
        self._judge(key, route)

    def _judge(self, key: Key, route: Route) -> None:
        """Take a Route as it is now. Until it is checked, a form that was stays: as if it came later."""
        secret = self._secrets.get(route.secret) if route.secret else None
        checked = admission.check(route, self._config.admission, secret,
                                  functools.partial(self.checks.ask, key))
        self._undecided.pop(key, None)
        if checked.pending:
            self._undecided[key] = route
            old = self._claim_index.routes().get(key)
            if old is not None and not old.pending and old.route.uid == route.uid:
                return
        self._claim_index.put(key, checked)

    def _put_slice(self, key: Key, part: EndpointSlice | None) -> frozenset[Key]:
        services = set()
        old = self._service_of.pop(key, None)
        if old is not None:
            services.add(old)
            self._slices[old].pop(key, None)
            if not self._slices[old]:
                del self._slices[old]
        if part is not None:
            service = Key(part.key.namespace, part.service)
            self._service_of[key] = service
            self._slices.setdefault(service, {})[key] = part
            services.add(service)
        return frozenset(services)

    # --- parts ---------------------------------------------------------------------------

    def _rebase(self) -> None:
        made = baseline.build(self._config, self._facts, self._networks)
        self._swap(self._base, made)
        self._base = made

    def _remake(self, host: str, checked: Mapping[Key, EvaluatedRoute], claims: ClaimResult) -> Steps[None]:
        """Make the objects of a Host anew, then put them in place of the old ones, all in one step."""
        new = _EMPTY
        if checked:
            new = yield from route_objects.fragment_in_steps(
                host, checked.values(), claims, self._config, self._facts)
        old = self._fragments.pop(host, _EMPTY)
        self._claims_by_host.pop(host, None)
        if checked:
            self._fragments[host] = new
            self._claims_by_host[host] = (checked, claims)
        self.touched |= {*checked, *old.uses, *old.rejections}
        self._unknown.pop(host, None)
        if new.unknown:
            self._unknown[host] = new.unknown
        self._dirty |= old.unknown ^ new.unknown
        for key in new.pools - old.pools:
            self._use_pool(key, host)
        self._swap(old.objects, new.objects)
        for key in old.pools - new.pools:
            self._drop_pool(key, host)

    def _swap(self, old: Mapping[Ref, Object], new: Mapping[Ref, Object]) -> None:
        for ref, obj in new.items():
            if ref not in old:
                self._count[ref] = self._count.get(ref, 0) + 1
            if self.objects.get(ref) != obj or self.objects[ref].dependencies != obj.dependencies:
                self._dirty.add(ref)
            self.objects[ref] = obj
        for ref in old.keys() - new.keys():
            self._count[ref] -= 1
            if not self._count[ref]:
                del self._count[ref], self.objects[ref]
                self._dirty.add(ref)

    def _use_pool(self, key: PoolKey, host: str) -> None:
        users = self._pool_users.setdefault(key, set())
        users.add(host)
        self._pools_of.setdefault(key.service, set()).add(key)
        if len(users) == 1:
            self._remake_pool(key)

    def _drop_pool(self, key: PoolKey, host: str) -> None:
        users = self._pool_users[key]
        users.discard(host)
        if users:
            return
        del self._pool_users[key]
        self._left_out.pop(key, None)
        self._pools_of[key.service].discard(key)
        if not self._pools_of[key.service]:
            del self._pools_of[key.service]
        ref = Ref("ltm/pool", names.pool(self._config.folder, *key))
        del self.objects[ref]
        self._dirty.add(ref)

    def _remake_pool(self, key: PoolKey) -> None:
        made, left_out = route_objects.pool(key, self._view(key.service), self._config)
        old = self.objects.get(made.ref)
        full = isinstance(old, Pool) and old.members and made.members
        if not full or left_out != self._left_out.get(key, LeftOut()):
            self._touch_users(key)  # their warnings may differ
        self._left_out.pop(key, None)
        if left_out:
            self._left_out[key] = left_out
        if old != made:
            self.objects[made.ref] = made
            self._dirty.add(made.ref)

    def _touch_users(self, key: PoolKey) -> None:
        for host in self._pool_users.get(key, ()):
            self.touched |= self._claims_by_host[host][0].keys()

    def _remake_record(self, key: Key) -> None:
        old, node = self._records.pop(key, {}), self._nodes.get(key)
        subnet = self._host_subnets.get(key)
        new = vxlan.record(node, subnet, self._config, self._facts) if node else {}
        if new:
            self._records[key] = new
        self._swap(old, new)

    def _allocate_networks(self, changed: Iterable[Key]) -> None:
        """Judge anew who gets which network of pods, where a Node says something else than before."""
        before = {key: self._node_networks.pop(key, None) for key in changed}
        for key in before:
            if node := self._nodes.get(key):
                self._node_networks[key] = static_routes.node_networks(node, self._config.folder)
        if any(self._node_networks.get(key) != old for key, old in before.items()):
            old, self._allocation = self._allocation, static_routes.allocate(self._node_networks.values())
            self._swap(old.routes, self._allocation.routes)

    def _fragment(self, key: Key) -> Fragment:
        checked = self._claim_index.routes().get(key)
        return self._fragments.get(checked.host, _EMPTY) if checked else _EMPTY

    def _view(self, service: Key) -> ServiceView:
        parts = tuple(self._slices.get(service, {}).values())
        return ServiceView(self._services.get(service), parts, self._slices_listed, self._candidates,
                           self._facts.own_addresses)

    def _service_warning(self, key: Key) -> Iterable[str]:
        route = self.route(key)
        if route is None:
            return
        wanted, owner = route.target_port, Key(key.namespace, route.service)
        view = self._view(owner)
        left_out = self._left_out_of(owner, wanted)
        if view.service is None:
            yield f"spec.to.name: there is no Service {route.service}"
        elif self._config.nodeport:
            yield from node_ports.warnings(wanted, view) if key in self._fragment(key).uses else ()
        elif not self._has_members(owner, wanted) and not left_out:
            served = key in self._fragment(key).uses
            yield from pool_members.warnings(wanted, view, served=served)
        if left_out.refused:
            yield pool_members.refusal_warning(route.service, left_out.refused)
        if left_out.total:
            yield pool_members.limit_warning(route.service, left_out.total, self._config.max_pool_members)

    def _left_out_of(self, service: Key, port: str) -> LeftOut:
        """The same in each pool of a Service port."""
        return next((self._left_out[key] for key in self._pools_of.get(service, ())
                     if key.port == port and key in self._left_out), LeftOut())

    def _has_members(self, service: Key, port: str) -> bool:
        pools = (names.pool(self._config.folder, *key)
                 for key in self._pools_of.get(service, ()) if key.port == port)
        found = (self.objects[Ref("ltm/pool", path)] for path in pools)
        return any(isinstance(pool, Pool) and pool.members for pool in found)


def _update(known: dict[Key, V], changes: Mapping[Key, V | None]) -> None:
    """Take the new values; None is gone."""
    for key, value in changes.items():
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value
