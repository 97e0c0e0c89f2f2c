"""The annotations that list the clients of a Route, and their parsing.

A bad entry lets nobody in, as in openshift/router. A list that cannot be applied is a reason to refuse the
Route: without it everybody would get in.
Source: openshift/router, pkg/router/template/template_helper.go, parseIPList, and
images/router/haproxy/conf/haproxy-config.template; OpenShift documentation, Route-specific annotations.
"""

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from f5router.model.hostnames import quote

_PREFIX = "haproxy.router.openshift.io/"
IN_ORDER = (f"{_PREFIX}ip_allowlist", f"{_PREFIX}ip_whitelist")
"""The first one that is not empty decides."""
KEYS = frozenset(IN_ORDER)

MOST_ENTRIES = 1000
"""Entries of a list; a longer one refuses the Route."""

_MAPPED = 96
"""Length of the prefix of IPv6 addresses that hold an IPv4 address, ::ffff:0:0/96 (RFC 4291 2.5.5.2)."""

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The clients of a Route."""

    sources: tuple[str, ...] = ()
    """CIDRs, sorted, without overlaps; empty: all clients."""
    problems: tuple[str, ...] = ()
    """Sentences about entries that have no effect."""
    refusal: str = ""
    """Why the Route must not be served; "" if it may be."""


def parse(annotations: Mapping[str, object]) -> Allowlist:
    """Read the list of clients of a Route."""
    for key in IN_ORDER:
        text = annotations.get(key)
        if isinstance(text, str) and (entries := text.split()):
            return _parse(f"metadata.annotations: {key}", entries)
    return Allowlist()


def _parse(field: str, entries: list[str]) -> Allowlist:
    if len(entries) > MOST_ENTRIES:
        return Allowlist(refusal=f"{field} has {len(entries)} entries, at most {MOST_ENTRIES} are possible")
    networks = {entry: _network(entry) for entry in entries}
    bad = [entry for entry, network in networks.items() if network is None]
    if len(bad) == len(networks):
        return Allowlist(refusal=f"{_about(field, bad)}; without a valid entry everybody would get in")
    return Allowlist(tuple(sorted(_merged(filter(None, networks.values())))), tuple(_problems(field, bad)))


def _problems(field: str, bad: list[str]) -> Iterator[str]:
    if bad:
        yield f"{_about(field, bad)}; {'they let' if len(bad) > 1 else 'it lets'} nobody in"


def _about(field: str, bad: list[str]) -> str:
    if len(bad) == 1:
        return f"{field} has {quote(bad[0])}, which is neither an address nor a CIDR"
    return f"{field} has {quote(bad[0])} and {len(bad) - 1} more, which are neither addresses nor CIDRs"


def _network(entry: str) -> Network | None:
    """Return the network of an address or CIDR; None if it is neither, or has a zone.

    A netmask is neither (RFC 4632 3.1): the mask of one router is the wildcard of another, so that
    10.1.2.3/0.0.0.0 may mean one client or all of them.
    """
    length = entry.partition("/")[2]
    if "%" in entry or not (length or "0").isdigit():
        return None
    try:
        network = ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return None
    mapped = getattr(network.network_address, "ipv4_mapped", None)
    if mapped is None or network.prefixlen < _MAPPED:
        return network
    return ipaddress.ip_network((mapped, network.prefixlen - _MAPPED))


def _merged(networks: Iterable[Network]) -> Iterator[str]:
    """Yield the CIDRs of networks without overlaps, none of length 0.

    How a BIG-IP shows 0.0.0.0/0 in a data-group is not documented; its two halves are the same addresses.
    """
    networks = list(networks)
    v4 = ipaddress.collapse_addresses(n for n in networks if isinstance(n, ipaddress.IPv4Network))
    v6 = ipaddress.collapse_addresses(n for n in networks if isinstance(n, ipaddress.IPv6Network))
    merged: list[Network] = [*v4, *v6]
    for network in merged:
        yield from map(str, network.subnets() if network.prefixlen == 0 else (network,))
