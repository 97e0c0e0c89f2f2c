"""Pools: which Routes share one, and the members and properties of each."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from f5router.desired import limits
from f5router.model import balancing, names, time_units
from f5router.model.cluster import Key, Route
from f5router.model.ltm import Pool, PoolMember, TCPMonitor, monitor_interval_s
from f5router.model.route_options import DEFAULTS, RouteOptions
from f5router.network import node_ports, pool_members, weights
from f5router.network.pool_members import LeftOut, ServiceView

QUEUE_MS = 5000
"""How long a connection waits for a pod that is at its limit, in milliseconds. Source: openshift/router: as
long as for a connection to a pod, 5 s by default (HAProxy, timeout queue)."""


class PoolConfig(Protocol):
    """The part of config.Config that is used here."""

    @property
    def folder(self) -> str: ...

    @property
    def pool_monitor(self) -> str: ...

    @property
    def check_interval_s(self) -> int:
        """Interval of our monitor, which takes the place of pool_monitor; 0 for none."""

    @property
    def nodeport(self) -> node_ports.NodePortConfig | None:
        """None: pods are the pool members, not Nodes."""

    @property
    def max_pool_members(self) -> int: ...

    @property
    def balancing(self) -> balancing.Defaults: ...


class PoolKey(NamedTuple):
    """A Service port, the TLS towards its pods, and the Route to which alone the pool belongs, if any."""

    service: Key
    """spec.to."""
    port: str
    tls: str
    route: str = ""
    """Name of the Route, which is in the namespace of the Service; "" if Routes may share the pool."""
    limited: bool = False
    """True if only some clients get in; see names.LIMITED."""


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Properties of a pool that a Route chooses."""

    weights: tuple[tuple[str, int], ...] = ()
    """Name of each Service with its weight, all in the namespace of the Route; () for spec.to alone."""
    balance: str = ""
    """leastconn; "" for all that take turns."""
    connection_limit: int = 0
    """Connections at a time to each pod; 0 for no limit."""
    timeout_s: int = 0
    """Seconds to wait for a response; 0 for those of the virtual server's profiles."""
    tunnel_timeout_s: int = 0
    """Seconds without data on a connection that carries no HTTP; 0 likewise."""
    check_interval_s: int = 0
    """Seconds between two health checks of a pod; 0: as the router is configured."""
    source: bool = False
    """True if each client stays with one pod. Passthrough Routes say so by a record of their own, so that
    they can share pools with others."""

    @property
    def load_balancing(self) -> str:
        """The load balancing mode of the pool.

        Turns by ratio stand for `random` too: both spread requests evenly.
        """
        several = sum(weight > 0 for _, weight in self.weights) > 1
        if self.balance == "leastconn":
            return "ratio-least-connections-member" if several else "least-connections-member"
        return "ratio-member" if several else "round-robin"


SHARED = PoolSettings()
SHARED_LEASTCONN, SHARED_SOURCE = PoolSettings((), "leastconn"), PoolSettings(source=True)
"""Those of a pool that Routes share, by the algorithm that is the router's default."""


class Share(NamedTuple):
    """The part of a pool that comes from one Service."""

    members: int = 0
    """Number of its members."""
    left_out: LeftOut = LeftOut()


@dataclass(frozen=True, slots=True)
class BuiltPool:
    """A pool, and what it has of each Service."""

    pool: Pool
    shares: Mapping[str, Share] = field(default_factory=dict)
    """By name of the Service."""


def backends(route: Route) -> dict[str, int]:
    """Return the Services of a Route with their weights; of one named twice the last weight counts.

    Source: openshift/router, pkg/router/template/router.go: getServiceUnits, routeWeights.
    """
    return {route.service: weights.effective(route.weight),
            **{backend.service: weights.effective(backend.weight) for backend in route.alternates}}


def algorithm(route: Route, termination: str, defaults: balancing.Defaults) -> str:
    """Return how the pods of a Route share its connections: one of balancing.ALGORITHMS."""
    several = sum(weight > 0 for weight in backends(route).values()) > 1
    return route.options.balance or defaults.of(termination, several=several)


def of_route(
    route: Route, termination: str, tls: str, defaults: balancing.Defaults,
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
    if len(weights_of) == 1 and weights_of[route.service]:
        weights_of = {}  # a single weight is a share of nothing
    if termination == "passthrough":
        # No sessions are kept there, so nothing is left for pods of weight 0 beside others.
        weights_of = {name: weight for name, weight in weights_of.items() if weight} or weights_of
    options, default, wanted = route.options, shared(defaults), algorithm(route, termination, defaults)
    settings = PoolSettings(
        tuple(weights_of.items()),
        default.balance if wanted == "source" else "leastconn" if wanted == "leastconn" else "",
        options.pod_connections, *timeouts(options, termination),
        monitor_interval_s(options.check_interval_ms),
        default.source if termination == "passthrough" else wanted == "source")
    limited = limits.has_limits(options)
    if settings == default and not limited:
        return key, default
    return key._replace(route=route.key.name, limited=limited), settings


def shared(defaults: balancing.Defaults) -> PoolSettings:
    """Return the settings of a pool that Routes share."""
    return {"leastconn": SHARED_LEASTCONN, "source": SHARED_SOURCE}.get(defaults.of(""), SHARED)


def timeouts(options: RouteOptions, termination: str) -> tuple[int, int]:
    """Return the seconds to wait for a response, and those without data for what is no HTTP.

    Source: openshift/router, haproxy-config.template (timeout server, timeout tunnel).
    """
    if termination == "passthrough":
        return 0, time_units.seconds(options.tunnel_timeout_ms or options.timeout_ms)
    return time_units.seconds(options.timeout_ms), time_units.seconds(options.tunnel_timeout_ms)


def tcp_monitor(folder: str, interval_s: int) -> TCPMonitor:
    """Build the monitor with an interval.

    A member is down after three checks without an answer, and up at the first answer. HAProxy waits for a
    second one, but begins with members that are up: a BIG-IP that counted a new member as down for the time
    of timeUntilUp would leave a Service without pods after a roll-out. Source: openshift/router,
    haproxy-config.template (check inter); docs.haproxy.org, fall and rise.
    """
    return TCPMonitor(names.tcp_monitor(folder, interval_s), interval_s, 3 * interval_s + 1)


def _monitor(settings: PoolSettings, active: int, config: PoolConfig) -> str:
    """Return the monitor of a pool. Ours is for several active members: a single one is not checked.

    Source: openshift/router, haproxy-config.template (gt $cfg.ActiveEndpoints 1).
    """
    interval_s = settings.check_interval_s or config.check_interval_s
    if not interval_s:
        return config.pool_monitor
    return names.tcp_monitor(config.folder, interval_s) if active > 1 else ""


def services_of(key: PoolKey, settings: PoolSettings) -> set[Key]:
    """Return the Services whose endpoints are members of a pool, and spec.to."""
    return {key.service, *(Key(key.service.namespace, name) for name, _ in settings.weights)}


def build(key: PoolKey, settings: PoolSettings, view_of: Callable[[Key], ServiceView],
          config: PoolConfig) -> BuiltPool:
    """Build a pool. Pods that are ending, and those of a Service with weight 0, get no new sessions.

    An address and port that two Services have is one member, with both their shares.

    Args: view_of: returns what is known of a Service.
    """
    most, choose = config.max_pool_members, (node_ports if config.nodeport else pool_members).choose
    path = names.pool(config.folder, *key)
    if settings == SHARED:
        members, left_out = choose(key.port, view_of(key.service), most)
        active = _active(members)
        return BuiltPool(Pool(path, _monitor(settings, active, config), members), {
            key.service.name: Share(active, left_out)})
    weights_of = dict(settings.weights) or {key.service.name: 1}
    views = {name: view_of(Key(key.service.namespace, name)) for name in weights_of}
    choices = {name: choose(key.port, view, most) for name, view in views.items()}
    if sum(len(choice.members) for choice in choices.values()) > most:
        choices = {name: choose(key.port, view, max(1, most // len(views))) for name, view in views.items()}
    counts = {name: _active(choice.members) for name, choice in choices.items()}
    ratios = weights.ratios(weights_of, counts)
    shares: dict[PoolMember, int] = {}
    stay: set[PoolMember] = set()
    for name, choice in choices.items():
        for member in choice.members:
            share = ratios[name] if member.state == "enabled" else 0
            place = member._replace(state="enabled")
            stay |= set() if member.state == "forced_offline" else {place}
            shares[place] = min(shares.get(place, 0) + share, weights.MAX_RATIO)
    pool = Pool(path, _monitor(settings, sum(map(bool, shares.values())), config), frozenset(
        place._replace(ratio=max(1, ratio), connection_limit=settings.connection_limit,
                       state="enabled" if ratio else "disabled" if place in stay else "forced_offline")
        for place, ratio in shares.items()
    ), settings.load_balancing, QUEUE_MS if settings.connection_limit else 0)
    return BuiltPool(pool, {
        name: Share(counts[name], choice.left_out) for name, choice in choices.items()})


def _active(members: Iterable[PoolMember]) -> int:
    """Return the number of members that get new connections."""
    return sum(member.state == "enabled" for member in members)
