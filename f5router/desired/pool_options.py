"""Properties of a pool beside its members: a health monitor, persistence, limits on its clients.

Clients stay with a pod by their address, by a session cookie, or not at all. Sources: openshift/router,
haproxy-config.template (cookie, balance source).

Limits on the clients of a Route are its record, its list of addresses, and the iRule that acts on them. A
list fails closed. The name of the pool alone (names.LIMITED) shows that there is one: without record, list or
iRule nobody gets in. Limits of rates fail open (names.RATED, if there is no list).
"""

from collections.abc import Iterator
from typing import Protocol

from f5router.admission.health import END, INTERVAL_S, TIMEOUT_S
from f5router.admission.route_options import HAPROXY, ROUTER
from f5router.desired import irules
from f5router.desired.front_ends import LimitSettings
from f5router.desired.irules.groups import own_irule
from f5router.model import names, route_options
from f5router.model.front_end_names import FrontEndPlace, own_path
from f5router.model.ltm import Attachment, DataGroup, IRule, Object, Record
from f5router.model.objects import Ref
from f5router.model.route_options import (
    BalancingDefaults,
    HealthCheck,
    HealthMonitor,
    HTTPMonitor,
    HTTPSMonitor,
    RouteOptions,
    TCPMonitor,
)
from f5router.network import node_ports


class MonitorSettings(Protocol):
    """The part of config.Config that is used here."""

    @property
    def folder(self) -> str: ...

    @property
    def pool_monitor(self) -> str: ...

    @property
    def check_interval_s(self) -> int:
        """Interval of our monitor, which takes the place of pool_monitor; 0 for none."""


def tcp_monitor(folder: str, interval_s: int) -> TCPMonitor:
    """Build the monitor with an interval.

    A member is down after three checks without an answer, and up at the first answer. HAProxy waits for a
    second one, but begins with members that are up: a BIG-IP that counted a new member as down for the time
    of timeUntilUp would leave a Service without pods after a roll-out. Source: openshift/router,
    haproxy-config.template (check inter); docs.haproxy.org, fall and rise.
    """
    return TCPMonitor(names.tcp_monitor(folder, interval_s), interval_s, 3 * interval_s + 1)


def monitor_of_check(folder: str, check: HealthCheck) -> HealthMonitor:
    """Build the monitor that a Route asks for."""
    properties = check[2:] if check.until_up_s else check[2:-1]
    value = "\0".join(map(str, properties))
    if check.type == "tcp":
        path = names.monitor(folder, TCPMonitor, value)
        return TCPMonitor(path, check.interval_s, check.timeout_s, check.until_up_s)
    kind = HTTPSMonitor if check.type == "https" else HTTPMonitor
    path = names.monitor(folder, kind, value)
    return kind(path, check.interval_s, check.timeout_s, check.until_up_s, check.send, check.recv)


def tls_monitor(folder: str, check: HealthCheck | None, interval_s: int, profile: str) -> HTTPSMonitor:
    """Build the monitor that verifies pods as requests to them do.

    Without a check of the Route's own any answer is a good one: what counts is the handshake before it, as in
    the checks of HAProxy's router, which verifies servers in them. Source: openshift/router,
    haproxy-config.template (server ... ssl verify required verifyhost ... check inter).

    Args: interval_s: 0 for the default; profile: full path of the server SSL profile of the requests.
    """
    if check is None:
        interval_s, timeout_s = (interval_s, 3 * interval_s + 1) if interval_s else (INTERVAL_S, TIMEOUT_S)
        check = HealthCheck("/", "https", interval_s, timeout_s, _HANDSHAKE)
    value = "\0".join(map(str, (*check[2:], profile)))
    return HTTPSMonitor(names.monitor(folder, HTTPSMonitor, value, use=HTTPSMonitor.VERIFYING),
                        check.interval_s, check.timeout_s, check.until_up_s, check.send, check.recv, profile)


_HANDSHAKE = f"HEAD / HTTP/1.1{END}Host: health-check{END}Connection: close{END}{END}"
"""Request after the handshake."""


def monitors_of_pool(
    config: MonitorSettings, check: HealthCheck | None, interval_s: int, tls: str = "",
) -> HealthMonitor | None:
    """Build the monitor that a Route asks for; None if the Route asks for none.

    Args: tls: full path of the server SSL profile by which its pods are checked; "" for none.
    """
    if tls and (check is None or check.type == "https"):
        return tls_monitor(config.folder, check, interval_s or config.check_interval_s, tls)
    if check is not None:
        return monitor_of_check(config.folder, check)
    return tcp_monitor(config.folder, interval_s) if interval_s else None


def monitor_text(config: MonitorSettings, check: HealthCheck | None, interval_s: int, active: int,
                 tls: str = "") -> str:
    """Return the monitor of a pool, as Pool.monitor has it.

    One with an interval alone is for several active members: a single one is not checked. Source:
    openshift/router, haproxy-config.template (gt $cfg.ActiveEndpoints 1).
    """
    interval_s = interval_s or config.check_interval_s
    own = monitors_of_pool(config, check, interval_s, tls)
    if own is None:
        return config.pool_monitor
    return own.path if check is not None or not interval_s or active > 1 else ""


def default_persistence(defaults: BalancingDefaults) -> str:
    """Return the data of a record as which a pool without one counts."""
    if defaults.of("") == "source":
        return names.SOURCE
    return names.COOKIE if defaults.cookies else names.NO_PERSISTENCE


def persistence_data(options: RouteOptions, *, source: bool, cookies: bool = True) -> str:
    """Return the data of the record of a Route's pool.

    Args:
        source: True if the algorithm of the Route is source.
        cookies: True if the router's default is a session cookie.
    """
    if source:
        return names.SOURCE
    if options.disable_cookies or not (cookies or options.asks_for_cookie):
        return names.NO_PERSISTENCE
    return f"{names.COOKIE}/{options.cookie_name}/{options.same_site}".rstrip("/")


def needs_persistence_record(options: RouteOptions, wanted: str, default: str) -> bool:
    """True if the pool of a Route needs a record: its clients do not stay as those of other pools do.

    One that switches cookies off has it, and a pool of its own, whatever the router's default is: it sets no
    cookie while that changes.

    Args: wanted, default: data of records.
    """
    return wanted != default or (options.disable_cookies and wanted == names.NO_PERSISTENCE)


def persistence_record(config: FrontEndPlace, name: str, wanted: str) -> Record:
    """Build the record that makes an exception from the router's default. Args: wanted: its data."""
    return Record(own_path(config, names.PERSISTENCE_GROUP), name, wanted)


def persistence_irule(config: FrontEndPlace, virtuals: list[str], *, https: bool) -> list[Object]:
    """Build the iRule of session cookies with its Attachments.

    They come after the iRule that recognises TLS, without which a cookie would lack Secure.
    Args: https: True if there is a virtual server for TLS.
    """
    path = own_path(config, names.COOKIE_IRULE)
    required = frozenset({Ref(IRule.KIND, own_path(config, names.PASSTHROUGH_IRULE))} if https else ())
    return [IRule(path, irules.cookie_irule(config.folder)),
            *(Attachment(virtual, "rules", path, IRule.KIND, extra_dependencies=required)
              for virtual in virtuals)]


def persistence_warnings(options: RouteOptions, *, source: bool, insecure: str, works: bool,
                         cookies: bool = True) -> Iterator[str]:
    """Yield warnings about what a Route asks for without effect.

    Args:
        insecure: insecureEdgeTerminationPolicy.
        works: True if Rules can set the pool of a request for the iRules.
        cookies: True if the router's default is a session cookie.
    """
    cookie = {f"{HAPROXY}disable_cookies": options.disable_cookies,
              f"{ROUTER}cookie_name": options.cookie_name, f"{ROUTER}cookie-same-site": options.same_site}
    asked = [key for key, value in cookie.items() if value]
    if not works:
        if source:
            yield "balance source has no effect before TMOS 12.1: each connection goes to the next pod"
        asked = [key for key in asked if not options.disable_cookies]
        reason = "before TMOS 12.1"
    elif source:
        asked = [key for key in asked if not options.disable_cookies]
        reason = "with balance source, which keeps clients with a pod without a cookie"
    elif options.disable_cookies:
        asked = [key for key in asked if not key.endswith("disable_cookies")]
        reason = f"with {HAPROXY}disable_cookies"
    elif not (cookies or options.asks_for_cookie):
        reason = f"without {ROUTER}cookie_name: the router sets no session cookies"
    else:
        asked = [key for key in asked if insecure == "Allow" and key.endswith("same-site")]
        reason = "with insecureEdgeTerminationPolicy Allow, whose cookie is for port 80 too"
    for key in asked:
        yield f"metadata.annotations: {key} has no effect {reason}"


def limits_ending(options: RouteOptions) -> str:
    """Return the end of the name of a Route's pool: names.LIMITED, names.RATED, or "" without limits."""
    if options.sources:
        return names.LIMITED
    return names.RATED if any(options.rates) else ""


def limits_records(config: FrontEndPlace, pool: str, options: RouteOptions) -> list[Object]:
    """Build the list of addresses that may connect to a pool, and the record with the limits of its clients.

    A list never changes. A Route whose list does gets another one by one write of its record, so that there
    is no moment with half a list. An iRule of an earlier release understands only a record of a list alone.
    """
    if not limits_ending(options):
        return []
    objects: list[Object] = []
    required = set()
    path = names.address_list(config.folder, options.sources) if options.sources else ""
    if path:
        addresses = DataGroup(path, "ip", frozenset(options.sources))
        objects.append(addresses)
        required.add(addresses.ref)
    limits = options.rates if any(options.rates) else ()
    if limits:
        required.add(Ref(IRule.KIND, own_path(config, names.LIMITS_IRULE)))
    data = route_options.encode_limits(path, limits)
    group = own_path(config, names.LIMITS_GROUP)
    return [*objects, Record(group, pool, data, frozenset(required))]


def limits_irule(config: FrontEndPlace, virtual: str) -> list[Object]:
    """Build the iRule with its data-group, and its Attachment to a virtual server."""
    group = DataGroup(own_path(config, names.LIMITS_GROUP))
    path = own_path(config, names.LIMITS_IRULE)
    return [
        group,
        own_irule(config, path, irules.limits_irule(config.folder), {group.ref}),
        Attachment(virtual, "rules", path, IRule.KIND),
    ]


class PoolConfig(MonitorSettings, LimitSettings, Protocol):
    """The part of config.Config that is used here."""

    @property
    def nodeport(self) -> node_ports.NodePortConfig | None:
        """None: pods are the pool members, not Nodes."""

    @property
    def max_pool_members(self) -> int: ...

    @property
    def balancing(self) -> route_options.BalancingDefaults: ...
