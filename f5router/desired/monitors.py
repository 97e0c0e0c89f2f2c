"""Health monitors of pools: which one a pool has, and the objects."""

from typing import Protocol

from f5router.model import names
from f5router.model.health_checks import HealthCheck, HealthMonitor, HTTPMonitor, HTTPSMonitor, TCPMonitor


class MonitorSettings(Protocol):
    """The part of config.Config that is used here."""

    @property
    def folder(self) -> str: ...

    @property
    def pool_monitor(self) -> str: ...

    @property
    def check_interval_s(self) -> int:
        """Interval of our monitor, which takes the place of pool_monitor; 0 for none."""


def tcp(folder: str, interval_s: int) -> TCPMonitor:
    """Build the monitor with an interval.

    A member is down after three checks without an answer, and up at the first answer. HAProxy waits for a
    second one, but begins with members that are up: a BIG-IP that counted a new member as down for the time
    of timeUntilUp would leave a Service without pods after a roll-out. Source: openshift/router,
    haproxy-config.template (check inter); docs.haproxy.org, fall and rise.
    """
    return TCPMonitor(names.tcp_monitor(folder, interval_s), interval_s, 3 * interval_s + 1)


def of_check(folder: str, check: HealthCheck) -> HealthMonitor:
    """Build the monitor that a Route asks for."""
    properties = check[2:] if check.until_up_s else check[2:-1]
    value = "\0".join(map(str, properties))
    if check.type == "tcp":
        path = names.monitor(folder, TCPMonitor, value)
        return TCPMonitor(path, check.interval_s, check.timeout_s, check.until_up_s)
    kind = HTTPSMonitor if check.type == "https" else HTTPMonitor
    path = names.monitor(folder, kind, value)
    return kind(path, check.interval_s, check.timeout_s, check.until_up_s, check.send, check.recv)


def of_pool(
    config: MonitorSettings, check: HealthCheck | None, interval_s: int,
) -> HealthMonitor | None:
    """Build the monitor that a Route asks for; None if the Route asks for none."""
    if check is not None:
        return of_check(config.folder, check)
    return tcp(config.folder, interval_s) if interval_s else None


def text(config: MonitorSettings, check: HealthCheck | None, interval_s: int, active: int) -> str:
    """Return the monitor of a pool, as Pool.monitor has it.

    One with an interval alone is for several active members: a single one is not checked. Source:
    openshift/router, haproxy-config.template (gt $cfg.ActiveEndpoints 1).
    """
    own = of_pool(config, check, interval_s or config.check_interval_s)
    if own is None:
        return config.pool_monitor
    return own.path if check is not None or active > 1 else ""
