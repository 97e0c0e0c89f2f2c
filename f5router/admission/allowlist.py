"""The annotations that list the clients of a Route, and their parsing.

A bad entry lets nobody in, as in openshift/router. A list that cannot be applied is a reason to refuse the
Route: without it everybody would get in. If a Route has a list for OpenShift's router and one for Container
Ingress Services, a client must be in both.
Sources: openshift/router, pkg/router/template/template_helper.go, parseIPList, and
images/router/haproxy/conf/haproxy-config.template; OpenShift documentation, Route-specific annotations;
F5Networks/k8s-bigip-ctlr, pkg/resource: ParseWhitelistSourceRangeAnnotations (clouddocs, Route annotations).
"""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from f5router.admission.foreign.readers import ClientList
from f5router.model.hostnames import quote

_HAPROXY, _CIS = "haproxy.router.openshift.io/", "virtual-server.f5.com/"
IN_ORDER = (f"{_HAPROXY}ip_allowlist", f"{_HAPROXY}ip_whitelist")
"""The first one that is not empty decides."""
CIS_IN_ORDER = (f"{_CIS}whitelist-source-range", f"{_CIS}allow-source-range")
"""Likewise, in the order of F5's controller. Commas may stand between their entries, too."""
KEYS = frozenset((*IN_ORDER, *CIS_IN_ORDER))

MOST_ENTRIES = 1000
"""Entries of a list; a longer one refuses the Route."""

_MAPPED = 0xFFFF
"""The first 96 bits of IPv6 addresses that hold an IPv4 address, ::ffff:0:0/96 (RFC 4291 2.5.5.2)."""

Network = tuple[int, int, int]
"""Bits of an address, and the first and the last address."""

_BITS4, _BITS6 = 32, 128


@dataclass(frozen=True, slots=True)
class Allowlist:
    """The clients of a Route."""

    sources: tuple[str, ...] = ()
    """CIDRs, sorted, without overlaps; empty: all clients."""
    problems: tuple[str, ...] = ()
    """Sentences about entries that have no effect."""
    refusal: str = ""
    """Why the Route must not be served; "" if it may be."""


@dataclass(frozen=True, slots=True)
class _List:
    """One annotation."""

    field: str
    networks: tuple[Network, ...] = ()
    problems: tuple[str, ...] = ()
    refusal: str = ""


def parse(annotations: Mapping[str, object]) -> Allowlist:
    """Read the clients of a Route."""
    if KEYS.isdisjoint(annotations):
        return Allowlist()
    lists = [*_first(annotations, IN_ORDER, r"\s+"), *_first(annotations, CIS_IN_ORDER, r"[,\s]+")]
    if refusal := next((entry.refusal for entry in lists if entry.refusal), ""):
        return Allowlist(refusal=refusal)
    ranges = [_merged(entry.networks) for entry in lists]
    networks = _common(*ranges) if len(ranges) == 2 else ranges[0] if ranges else []
    if lists and not networks:
        fields = " and ".join(entry.field.removeprefix(_FIELD) for entry in lists)
        return Allowlist(refusal=f"{_FIELD}{fields} have no client in common; a client must be in both")
    return Allowlist(tuple(sorted(cidr for network in networks for cidr in _cidrs(*network))),
                     tuple(problem for entry in lists for problem in entry.problems))


def narrowed(clients: Allowlist, lists: Iterable[ClientList]) -> Allowlist:
    """Apply lists of other controllers, too: a client must be in each list that lets clients in.

    An entry that is not valid refuses the object, as ingress-nginx denies all requests then (its source:
    internal/ingress/annotations/ipallowlist, LocationDeniedError).
    """
    allowed = _merged(network for network in map(_network, clients.sources) if network) or _everybody()
    for entry in lists:
        given: list[Network] = []
        excepted: list[Network] = []
        for text in filter(None, re.split(r"[,\s]+", entry.text)):
            exception = entry.exceptions and text.startswith("!")
            if (network := _network(text[exception:])) is None:
                return Allowlist(refusal=f"{_about(_FIELD + entry.key, [text])}; the Ingress is not served "
                                         "without the whole list")
            (excepted if exception else given).append(network)
        if not given:
            return Allowlist(refusal=f"{_FIELD}{entry.key} has no entry; without one everybody would get in")
        networks = _common(_merged(given), _complement(_merged(excepted)))
        allowed = _common(allowed, _complement(networks) if entry.refused else networks)
        clients = replace(clients, sources=tuple(sorted(
            islice((cidr for network in allowed for cidr in _cidrs(*network)), MOST_ENTRIES + 1))))
        if not clients.sources:
            return Allowlist(refusal=f"{_FIELD}{entry.key} leaves no client that may connect")
        if len(clients.sources) > MOST_ENTRIES:
            return Allowlist(refusal=f"{_FIELD}{entry.key} makes a list of more than {MOST_ENTRIES} "
                                     "networks; use wider CIDRs")
    return clients


_FIELD = "metadata.annotations: "


def _first(annotations: Mapping[str, object], keys: Iterable[str], between: str) -> Iterator[_List]:
    """Yield the first list that is not empty. Args: between: pattern of what separates its entries."""
    for key in keys:
        text = annotations.get(key)
        if isinstance(text, str) and text.strip():
            entries = [entry for entry in re.split(between, text) if entry]
            yield _parse(f"{_FIELD}{key}", entries or [text])
            return


def _parse(field: str, entries: list[str]) -> _List:
    if len(entries) > MOST_ENTRIES:
        return _List(
            field, refusal=f"{field} has {len(entries)} entries, at most {MOST_ENTRIES} are possible")
    networks = {entry: _network(entry) for entry in entries}
    bad = [entry for entry, network in networks.items() if network is None]
    if len(bad) == len(networks):
        return _List(field, refusal=f"{_about(field, bad)}; without a valid entry everybody would get in")
    return _List(field, tuple(filter(None, networks.values())), tuple(_problems(field, bad)))


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
    text, slash, length = entry.partition("/")
    if "%" in text or (slash and not (length.isascii() and length.isdigit())):
        return None
    try:
        address = ipaddress.IPv6Address(text) if ":" in text else ipaddress.IPv4Address(text)
        bits = int(address.max_prefixlen)
        free = bits - int(length or bits)
    except ValueError:
        return None
    if free < 0:
        return None
    first = int(address) >> free << free
    if bits == _BITS6 and free <= _BITS4 and first >> _BITS4 == _MAPPED:
        first, bits = first & (1 << _BITS4) - 1, _BITS4
    return bits, first, first + (1 << free) - 1


def _merged(networks: Iterable[Network]) -> list[Network]:
    """Return the ranges that networks make up, in order and without overlaps."""
    ranges: list[Network] = []
    for bits, first, last in sorted(networks):
        if ranges and ranges[-1][0] == bits and first <= ranges[-1][2] + 1:
            ranges[-1] = bits, ranges[-1][1], max(ranges[-1][2], last)
        else:
            ranges.append((bits, first, last))
    return ranges


def _common(left: list[Network], right: list[Network]) -> list[Network]:
    """Return the ranges that are in both of two results of `_merged`."""
    common, others = [], iter(right)
    other = next(others, None)
    for bits, first, last in left:
        while other is not None and (other[0], other[1]) <= (bits, last):
            if other[0] == bits and other[2] >= first:
                common.append((bits, max(first, other[1]), min(last, other[2])))
            if (other[0], other[2]) > (bits, last):
                break
            other = next(others, None)
    return common


def _everybody() -> list[Network]:
    return [(bits, 0, (1 << bits) - 1) for bits in (_BITS4, _BITS6)]


def _complement(ranges: list[Network]) -> list[Network]:
    """Return the ranges outside of all given ranges, which are a result of `_merged`."""
    left: list[Network] = []
    for bits, first, last in _everybody():
        for _, begin, end in (each for each in ranges if each[0] == bits):
            if first < begin:
                left.append((bits, first, begin - 1))
            first = end + 1
        if first <= last:
            left.append((bits, first, last))
    return left


def _cidrs(bits: int, first: int, last: int) -> Iterator[str]:
    """Yield the largest CIDRs that cover a range of addresses, without length 0.

    How a BIG-IP shows 0.0.0.0/0 in a data-group is not documented; its two halves are the same addresses.
    """
    while first <= last:
        aligned = (first & -first).bit_length() - 1 if first else bits - 1
        free = min(aligned, (last - first + 1).bit_length() - 1)
        address = ipaddress.IPv4Address(first) if bits == _BITS4 else ipaddress.IPv6Address(first)
        yield f"{address}/{bits - free}"
        first += 1 << free
