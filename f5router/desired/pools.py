"""Pools: which Routes share one, and the members and properties of each."""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from f5router.desired import front_ends, pool_options
from f5router.desired.pool_options import PoolConfig
from f5router.model import names, route_options, texts, tls_names
from f5router.model.cluster import Backend, Key, Route
from f5router.model.ltm import Pool, PoolMember
from f5router.model.route_options import DEFAULTS, HealthCheck, RouteOptions, interval_s
from f5router.model.small import compact
from f5router.network import node_ports, pool_members
from f5router.network.pool_members import Choice, LeftOut, ServiceEndpoints


class Target(NamedTuple):
    """A Service of a Route, and the port of it."""

    service: str
    """Its name."""
    port: str
    """As Route.target_port."""
    namespace: str = ""
    """"" for that of the Route."""


class PoolKey(NamedTuple):
    """A Service port, the TLS towards its pods, and the Route to which alone the pool belongs, if any."""

    service: Key
    """spec.to."""
    port: str
    tls: str
    route: str = ""
    """Name of the Route, which is in the namespace of the Service; "" if Routes may share the pool."""
    ending: str = ""
    """End of the pool's name: names.LIMITED or names.RATED, if the Route has limits for its clients."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Properties of a pool that a Route chooses."""

    weights: tuple[tuple[Target, int], ...] = ()
    """Each Service with its weight; () for spec.to alone."""
    balance: str = ""
    """leastconn or route_options.BY_NODE; "" for all that take turns."""
    connection_limit: int = 0
    """Connections at a time to each pod; 0 for no limit."""
    timeout_s: int = 0
    """Seconds to wait for a response; 0 for those of the virtual server's profiles."""
    tunnel_timeout_s: int = 0
    """Seconds without data on a connection that carries no HTTP; 0 likewise."""
    check_interval_s: int = 0
    """Seconds between two health checks of a pod; 0: as the router is configured."""
    check: HealthCheck | None = None
    """How a pod is checked; None: by TCP, or as the router is configured."""
    persistence: str = names.COOKIE
    """How each client stays with one pod: data of a record in names.PERSISTENCE_GROUP. Passthrough Routes
    have a record of their own, so that they can share pools with others."""
    by_service: bool = False
    """True if each pod is verified by the name of its Service, one of several."""
    tls_profile: str = ""
    """Full path of the server SSL profile by which a monitor verifies the pods; "" for none."""

    @property
    def load_balancing(self) -> str:
        """The load balancing mode of the pool.

        Turns by ratio stand for `random` too: both spread requests evenly.
        """
        several = sum(weight > 0 for _, weight in self.weights) > 1
        if self.balance == route_options.BY_NODE:
            return route_options.BY_NODE
        if self.balance == "leastconn":
            return "ratio-least-connections-member" if several else "least-connections-member"
        return "ratio-member" if several else "round-robin"




class Share(NamedTuple):
    """The part of a pool that comes from one Service."""

    members: int = 0
    """Number of its members."""
    left_out: LeftOut = LeftOut()


class BuiltMembers(NamedTuple):
    """The members of a pool, and what it has of each Service."""

    members: frozenset[PoolMember]
    active: int
    """Number of members that get new connections."""
    shares: Mapping[Target, Share]


@dataclass(frozen=True, slots=True)
class BuiltPool:
    """A pool, and what it has of each Service."""

    pool: Pool
    shares: Mapping[Target, Share] = field(default_factory=dict)
    computed: int = 0
    """Number of its members if they were computed for it; 0 if an earlier pool has the same."""


def backends(route: Route) -> dict[Target, int]:
    """Return the Services of a Route with their weights; of one named twice the last weight counts.

    Source: openshift/router, pkg/router/template/router.go: getServiceUnits, routeWeights.
    """
    return {Target(route.service, route.target_port): pool_members.weight_of(route, route.weight),
            **{target(route, backend): pool_members.weight_of(route, backend.weight)
               for backend in route.alternates}}


def target(route: Route, backend: Backend) -> Target:
    """Return the Service of an entry of spec.alternateBackends with its port."""
    namespace = "" if backend.namespace == route.key.namespace else backend.namespace
    return Target(backend.service, route.target_port if backend.port is None else backend.port, namespace)


def services(route: Route) -> set[str]:
    """Return the names of a Route's Services."""
    return {target.service for target in backends(route)}


def pod_names(route: Route) -> dict[str, str]:
    """Return the names that the pods of each Service must carry, as `pod_authority` has them; "" for any."""
    wanted = dict(route.pod_authority.names) if route.pod_authority else {}
    return {service: wanted.get(service, "") for service in sorted(services(route))}


def has_several_names(route: Route) -> bool:
    """True if pods of different Services must carry different names, as `pod_authority` has them."""
    return len(set(pod_names(route).values())) > 1


def tls_by_authority(route: Route, *of: str) -> str:
    """Return the digest of TLS towards pods by `pod_authority`. Args: of: Services; none for all of them."""
    authority, wanted = route.pod_authority, pod_names(route)
    assert authority is not None, "called for a Route with such a Secret"
    several = has_several_names(route) and not of
    texts = chain.from_iterable(wanted.items()) if several else {wanted[(*of, route.service)[0]]} - {""}
    entry = f"{authority.entry} by name" if authority.asks_for_name else authority.entry
    return tls_names.pod_tls_by_authority(authority.secret[:2], entry, *texts)


def is_divided(route: Route) -> bool:
    """True if several Services of a Route get new sessions."""
    return sum(weight > 0 for weight in backends(route).values()) > 1


def with_one_service(route: Route) -> Route:
    """Return a Route with only the Service that gets new sessions, spec.to if none does.

    A Route of which several do is returned as it is.
    """
    if is_divided(route):
        return route
    weights_of = backends(route)
    own = Target(route.service, route.target_port)
    first = next((target for target, weight in weights_of.items() if weight), own)
    return replace(route, service=first.service, target_port=first.port, weight=weights_of[first],
                   alternates=())


def algorithm(route: Route, termination: str, defaults: route_options.BalancingDefaults) -> str:
    """Return the load-balancing algorithm of a Route's pool, of route_options.ALGORITHMS, or BY_NODE."""
    balance = "" if ignores_weights(route) else route.options.balance
    return balance or defaults.of(termination, several=is_divided(route))


def ignores_weights(route: Route) -> bool:
    """True if a Route asks for a method under which its weights would have no effect."""
    return route.options.balance == route_options.BY_NODE and is_divided(route)


def of_route(
    route: Route, termination: str, tls: str, defaults: route_options.BalancingDefaults,
) -> tuple[PoolKey, PoolSettings]:
    """Return the pool of a Route, which is its own as soon as it asks for more than a Service's members.

    Routes that share a pool would share its limits too; HAProxy's router has a backend for each Route.

    Args: tls: digest of the TLS towards the pods, "" for none.
    """
    key = PoolKey(Key(route.key.namespace, route.service), route.target_port, tls)
    plain = not route.alternates and route.weight != 0 and route.options == DEFAULTS
    if plain and termination != "passthrough":
        return key, shared(defaults)
    weights_of = backends(route)
    if len(weights_of) == 1 and all(weights_of.values()):
        weights_of = {}  # a single weight is a share of nothing
    if termination == "passthrough":
        # No sessions are kept there, so nothing is left for pods of weight 0 beside others.
        weights_of = {target: weight for target, weight in weights_of.items() if weight} or weights_of
    options, default, wanted = route.options, shared(defaults), algorithm(route, termination, defaults)
    settings = PoolSettings(
        tuple(weights_of.items()),
        default.balance if wanted == "source" else
        wanted if wanted in ("leastconn", route_options.BY_NODE) else "",
        options.pod_connections, *timeouts(options, termination),
        interval_s(options.check_interval_ms), route_options.check_of_path(options.health, route.path),
        default.persistence if termination == "passthrough" else
        pool_options.persistence_data(options, source=wanted == "source", cookies=defaults.cookies))
    if route.alternates and tls in (
            tls_names.pod_tls_by_service(services(route), route.key.namespace),
            *([tls_by_authority(route)] if has_several_names(route) else ())):
        settings = replace(settings, by_service=True)
    ending = pool_options.limits_ending(options)
    if settings == default and not ending and (termination == "passthrough" or not (
            pool_options.needs_persistence_record(options, settings.persistence, default.persistence))):
        return key, default
    return key._replace(route=route.key.name, ending=ending), settings


@functools.cache
def shared(defaults: route_options.BalancingDefaults) -> PoolSettings:
    """Return the settings of a pool that Routes share."""
    return PoolSettings(balance="leastconn" if defaults.of("") == "leastconn" else "",
                        persistence=pool_options.default_persistence(defaults))


def timeouts(options: RouteOptions, termination: str) -> tuple[int, int]:
    """Return the seconds to wait for a response, and those without data for what is no HTTP.

    Source: openshift/router, haproxy-config.template (timeout server, timeout tunnel).
    """
    if termination == "passthrough":
        return 0, texts.parse_seconds(options.tunnel_timeout_ms or options.timeout_ms)
    return texts.parse_seconds(options.timeout_ms), texts.parse_seconds(options.tunnel_timeout_ms)


def services_of(key: PoolKey, settings: PoolSettings) -> set[Key]:
    """Return the Services whose endpoints are members of a pool, and spec.to."""
    return {key.service, *(Key(target.namespace or key.service.namespace, target.service)
                           for target, _ in settings.weights)}


class PoolBuilder:
    """Builds pools from one state of the cluster, and computes only once what several have in common.

    So thousands of Routes to one Service, each with a pool of its own, cost little more than one.
    """

    def __init__(self, view_of: Callable[[Key], ServiceEndpoints], config: PoolConfig):
        """Args: view_of: returns what is known of a Service."""
        self._view_of, self._config = view_of, config
        self._choices: dict[tuple[bool, Key, str, int], Choice] = {}
        self._members: dict[tuple[object, ...], BuiltMembers] = {}
        """By what decides about the members of a pool."""

    def build(self, key: PoolKey, settings: PoolSettings, *, of_pods: bool = False) -> BuiltPool:
        """Build a pool. Args: of_pods: its members are pods, whatever the settings are."""
        of_nodes = self._config.nodeport is not None and not of_pods
        path, limit = names.pool(self._config.folder, *key), settings.connection_limit
        weights_of = dict(settings.weights) if settings.weights else {Target(key.service.name, key.port): 1}
        numbers = names.service_numbers({target.service for target in weights_of}) if (
            settings.by_service) else {}
        same = (of_nodes, key.service.namespace, tuple(weights_of.items()), limit, settings.by_service)
        built, computed = self._members.get(same), 0
        if built is None:
            built = self._members[same] = self._build_members(
                key, weights_of, limit, numbers, of_nodes)
            computed = len(built.members)
        monitor = pool_options.monitor_text(
            self._config, settings.check, settings.check_interval_s, built.active, settings.tls_profile)
        queue_ms = front_ends.limits(self._config).queue_ms if limit else 0
        return BuiltPool(Pool(path, monitor, built.members, settings.load_balancing, queue_ms), built.shares,
                         computed)

    def _choose_members(self, service: Key, port: str, most: int, of_nodes: bool) -> Choice:
        known = self._choices.get((of_nodes, service, port, most))
        if known is None:
            choose = (node_ports if of_nodes else pool_members).choose
            known = choose(port, self._view_of(service), most)
            self._choices[of_nodes, service, port, most] = known
        return known

    def _choices_of(self, namespace: str, targets: Iterable[Target],
                    of_nodes: bool) -> dict[Target, Choice]:
        """Choose the members from each Service; they share the room in the pool."""
        most = self._config.max_pool_members
        keys = {target: Key(target.namespace or namespace, target.service) for target in targets}
        choices = {target: self._choose_members(key, target.port, most, of_nodes)
                   for target, key in keys.items()}
        if sum(len(choice.members) for choice in choices.values()) <= most:
            return choices
        active = {target: _active(choice.members) for target, choice in choices.items()}
        rooms = share_room(active, most)
        ending = share_room({target: len(choice.members) - active[target]
                             for target, choice in choices.items()}, most - sum(rooms.values()))
        return {target: self._choose_members(key, target.port, rooms[target] + ending[target], of_nodes)
                for target, key in keys.items()}

    def _build_members(self, key: PoolKey, weights_of: Mapping[Target, int], limit: int,
                       numbers: Mapping[str, int], of_nodes: bool) -> BuiltMembers:
        """Build members. Terminating pods, and pods of a Service with weight 0, get no new sessions.

        An address and port that two Services have is one member, with both their shares. It is verified by
        the name of the first one with a weight.

        Args: numbers: of the Services by whose names their pods are verified.
        """
        choices = self._choices_of(key.service.namespace, weights_of, of_nodes)
        counts = {target: _active(choice.members) for target, choice in choices.items()}
        parts = compact({
            target: Share(counts[target], choice.left_out) for target, choice in choices.items()})
        if len(weights_of) == 1 and all(weights_of.values()) and not limit:
            (choice,) = choices.values()
            return BuiltMembers(choice.members, sum(counts.values()), parts)
        ratios = pool_members.ratios(weights_of, counts)
        shares: dict[PoolMember, int] = {}
        stay: set[PoolMember] = set()
        groups: dict[PoolMember, int] = {}
        for target in sorted(choices, key=lambda target: not weights_of[target]):
            for member in choices[target].members:
                share = ratios[target] if member.state == "enabled" else 0
                place = member._replace(state="enabled")
                stay |= set() if member.state == "forced_offline" else {place}
                groups.setdefault(place, numbers.get(target.service, 0))
                shares[place] = min(shares.get(place, 0) + share, pool_members.MAX_RATIO)
        return BuiltMembers(frozenset(
            place._replace(ratio=max(1, ratio), connection_limit=limit,
                           state="enabled" if ratio else "disabled" if place in stay else "forced_offline",
                           priority_group=groups[place])
            for place, ratio in shares.items()
        ), sum(map(bool, shares.values())), parts)


def share_room(wanted: Mapping[Target, int], most: int) -> dict[Target, int]:
    """Divide the members of a pool: small Services get all their pods, larger ones equal parts of the rest.

    Args:
        wanted: number of members by Service.
        most: number of members that there is room for.
    """
    rooms: dict[Target, int] = {}
    for number, target in enumerate(sorted(wanted, key=lambda target: (wanted[target], target))):
        rooms[target] = min(wanted[target], (most - sum(rooms.values())) // (len(wanted) - number))
    return rooms


def _active(members: Iterable[PoolMember]) -> int:
    """Return the number of members that get new connections."""
    return sum(member.state == "enabled" for member in members)
