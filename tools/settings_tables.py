"""The tables of settings in docs/configuration.md, from the table that help is made of.

`python -m tools.settings_tables` writes them into the page: the rows below the head, in the section of each
group of settings. A test fails when the page is not up to date.
"""

import inspect
import re
from pathlib import Path

from f5router.config.option import GROUPS, Option
from f5router.config.options import OPTIONS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "configuration.md"
HEAD = "| flag | variable | default | meaning |\n|---|---|---|---|\n"

PLACES = {
    "f5-host": "#connection",
    "f5-credentials-dir": "#login",
    "f5-partition-path": "#partition-and-virtual-servers",
    "f5-node-partition": "#partition-and-virtual-servers",
    "f5-pool-monitor": "#policies-and-pools",
    "backend-check-interval": "#policies-and-pools",
    "tls-health-checks": "tls.md#health-checks-that-verify-pods",
    "f5-503-page": "#policies-and-pools",
    "load-balance-algorithm": "annotations.md#balance",
    "cookie-name": "annotations.md#session-cookies",
    "set-forwarded-headers": "routes.md#forwarded-headers",
    "set-delete-http-request-header": "http.md#header-actions",
    "set-delete-http-response-header": "http.md#header-actions",
    "default-destination-ca-path": "#authorities-for-pods",
    "allow-mass-delete": "operations.md#mass-deletes",
    "f5-config-sync": "bigip-pairs.md#config-sync",
    "f5-vserver-vlans": "virtual-servers.md#the-network",
    "f5-http-profile": "virtual-servers.md#objects-of-the-administrator",
    "syslog-address": "virtual-servers.md#access-log",
    "enable-compression": "http.md#compression",
    "errorfile-503": "http.md#error-pages",
    "errorfile-404": "http.md#error-pages",
    "hsts-header": "http.md#strict-transport-security",
    "disable-cookies": "annotations.md#session-cookies",
    "use-proxy-protocol": "http.md#proxy-protocol",
    "unique-id-header-name": "http.md#ids-of-requests",
    "unique-id-format": "http.md#ids-of-requests",
    "default-certificate": "tls.md#default-certificate",
    "strict-sni": "tls.md#strict-sni",
    "ciphers": "tls.md#versions-and-cipher-suites",
    "ssl-min-version": "tls.md#versions-and-cipher-suites",
    "mutual-tls-auth": "tls.md#client-certificates",
    "f5-internal-address": "pod-network.md#vxlan",
    "f5-static-routes": "pod-network.md#static-routes",
    "static-route-node-networks": "pod-network.md#static-routes",
    "pool-member-type": "pod-network.md#node-ports",
    "allowed-domains": "#domains",
    "denied-domains": "#domains",
    "allowed-policies": "#objects-that-routes-may-name",
    "allowed-profiles": "#objects-that-routes-may-name",
    "hostname-template": "#how-the-host-is-made",
    "allow-wildcard-routes": "routes.md#wildcards",
    "extended-validation": "#extended-validation",
    "allow-external-certificates": "routes.md#certificates",
    "status-rate": "operations.md#status",
    "ignore-annotations": "ingress.md#annotations-of-other-controllers",
    "ingress-insecure-policy": "ingress.md#tls",
    "default-backend-namespaces": "ingress.md#default-backend",
    "root-namespaces": "ingressroute.md",
    "leader-elect": "high-availability.md",
    "f5-drift-interval": "operations.md#drift",
    "f5-statistics-interval": "monitoring.md#statistics-of-the-big-ip",
    "f5-statistics-members": "monitoring.md#statistics-of-pool-members",
    "f5-resync-interval": "operations.md#drift",
    "listen-addr": "#address",
    "stats-user": "#login-for-metrics",
    "metrics-tls-cert-file": "#tls-for-metrics",
    "metrics-tls-min-version": "#tls-for-metrics",
    "metrics-tls-ciphers": "#tls-for-metrics",
}
"""Setting to the place that says more, which its flag leads to."""

_CODE = re.compile(r"""--[a-z][a-z0-9-]+=? | (?<![\w/])/[A-Za-z](?:[\w/=.]*\w)? | \$\{\S*\w
                   | [A-Z]+(?::[A-Za-z]+)+ | (?:[A-Z]+/)?\* | \b[a-z]+(?:\.[A-Za-z]+)+(?:/[\w.]*\w)?
                   | \b[a-z]+(?:_[a-z]+)+""", re.VERBOSE)
"""Flags, paths, templates, forms of items, fields, and names of files."""


def tables(page: str) -> str:
    """Return the page with the rows of each group. Raises: ValueError: no such section or table."""
    for group in GROUPS:
        start = page.index(HEAD, page.index(f"\n## {group}\n")) + len(HEAD)
        end = page.index("\n\n", start) + 1
        rows = [f"{row(option)}\n" for option in OPTIONS.values() if option.group == group]
        page = page[:start] + "".join(rows) + page[end:]
    return page


def row(option: Option) -> str:
    """Return the row of a setting."""
    flag, place = f"`--{option.name}`", PLACES.get(option.name)
    flag = f"[{flag}]({place})" if place else flag
    flag += f", `-{option.short}`" if option.short else ""
    cells = (flag, *(f"`{text}`" if text else "" for text in (option.env, option.default)), _meaning(option))
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|"


def _meaning(option: Option) -> str:
    """Return the help with its values as code, and the values and bounds that it does not name."""
    words = option.metavar.split("|") if "|" in option.metavar else []
    text = _CODE.sub(lambda match: f"`{match[0]}`", option.help.removesuffix("."))
    for word in words:
        text = re.sub(rf"(?<![\w`/.-]){re.escape(word)}(?![\w`/-])", f"`{word}`", text)
    if not option.boolean and any(f"`{word}`" not in text for word in words):
        text += f". One of {', '.join(f'`{word}`' for word in words)}"
    bounds = _bounds(option)
    return text + (f". {bounds}" if bounds and bounds.partition(": ")[2] not in text else "")


def _bounds(option: Option) -> str:
    """Return the bounds of a number or duration, which only its parser knows; "" for none."""
    kind, limits = option.parse.__qualname__.partition(".")[0], {}
    if kind in ("integer", "number", "duration"):
        limits = inspect.getclosurevars(option.parse).nonlocals
    if kind == "duration":
        return f"Minimum: `{limits['low_s']}s`" if limits["low_s"] else ""
    return f"Range: {limits['low']} to {limits['high']}" if limits else ""


if __name__ == "__main__":
    PAGE.write_text(tables(PAGE.read_text()))
