"""The options of a Route that are in force, as words and values."""

from collections.abc import Iterable
from typing import NamedTuple

from f5router.model.cluster import Route
from f5router.model.route_options import DEFAULTS


class OptionView(NamedTuple):
    """An option that differs from what the router is configured for."""

    name: str
    value: str


def in_force(route: Route) -> tuple[OptionView, ...]:
    """Return the options of a Route; values of headers, which may be secrets, are left out."""
    options, named = route.options, []
    for name, field in FIELDS.items():
        value = getattr(options, field)
        if value != getattr(DEFAULTS, field):
            named.append(OptionView(name, _text(field, value)))
    return tuple(named)


FIELDS = {
    "balance": "balance", "connections per pod": "pod_connections",
    "connections per client": "most_connections", "connection rate per client": "connection_rate",
    "request rate per client": "request_rate", "allowed clients": "sources", "timeout": "timeout_ms",
    "tunnel timeout": "tunnel_timeout_ms", "session cookies off": "disable_cookies",
    "session cookie": "cookie_name", "SameSite": "same_site", "HSTS": "hsts", "rewrite": "rewrite",
    "redirect to": "redirect_to", "redirect status": "redirect_code",
    "application root": "app_root", "server SSL profile": "server_profile", "verify pods": "verify_pods",
    "health checks": "health", "forwarded headers": "forwarded", "request headers": "request_actions",
    "response headers": "response_actions", "check interval": "check_interval_ms",
}
"""Field of RouteOptions by the name that people see."""


def _text(field: str, value: object) -> str:
    """Return the value of an option in words."""
    if value is True or value is False:
        return "yes" if value else "no"
    if field.endswith("_ms") and isinstance(value, int):
        return f"{value // 1000} s" if value % 1000 == 0 else f"{value} ms"
    if field.endswith("_actions") and isinstance(value, tuple):
        return ", ".join(map(_header_action, value))
    if field == "rewrite":
        return str(getattr(value, "target", ""))
    if field == "health" and isinstance(value, tuple):
        return ", ".join(f"{check.type} {check.path} every {check.interval_s} s" for check in value)
    return _joined(value) if isinstance(value, tuple) else str(value)


def _joined(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _header_action(encoded: str) -> str:
    """Return an action of header_actions without its value: "set X-Frame-Options"."""
    verb, name = encoded.split(".")[:2]
    return f"{verb} {bytes.fromhex(name).decode(errors='replace')}"
