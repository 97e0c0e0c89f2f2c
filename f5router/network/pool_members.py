"""Choice of pool members: pods of a Service, their ratios, and LTM nodes that somebody else made.

node_ports.py has Nodes as members.

Source: openshift/router, pkg/router/template/router.go: calculateServiceWeights, getServiceUnits.
"""

import hashlib
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import NamedTuple, TypeVar

from f5router.model.cluster import EndpointSlice, Route, Service
from f5router.model.device_facts import Doubt
from f5router.model.ltm import Pool, PoolMember
from f5router.model.ltm_nodes import LTMNode, NodeMap
from f5router.model.texts import Findings, number_of
from f5router.network import refused_addresses

SHOWN = 3
"""Refused addresses that a warning names."""

MOST_READ = 10_000
"""Endpoints of a Service port that are looked at for each change; more are only counted. No pool may have
more members."""


HTTP2 = ("h2c", "kubernetes.io/h2c")
"""Values of appProtocol for HTTP/2 without TLS."""


class Candidate(NamedTuple):
    """A Node that may be a pool member."""

    ipv4: str
    ipv6: str
    """Addresses; "" for none."""
    wanted: bool
    """Not in a state that is excluded."""


@dataclass(frozen=True, slots=True)
class ServiceEndpoints:
    """A Service with its endpoints."""

    service: Service | None = None
    """None: there is none."""
    slices: tuple[EndpointSlice, ...] = ()
    listed: bool = True
    """False if EndpointSlices may not be read."""
    candidates: Mapping[str, Candidate] = field(default_factory=dict)
    """By name of the Node; none where pods are members."""
    own_addresses: frozenset[str] = frozenset()
    """Those of the BIG-IP, which are no pool members."""
    doubt: Doubt = field(default_factory=Doubt)
    """Where it may have others."""

    def refusals(self, addresses: Iterable[str], *, of_nodes: bool = False) -> dict[str, str]:
        """Return addresses that never become pool members, with the reason.

        Args: of_nodes: they are those of Nodes, which no tenant chooses: the benefit of the doubt.
        """
        doubt = Doubt() if of_nodes else self.doubt
        reasons = ((address, refused_addresses.reason(address, self.own_addresses, doubt))
                   for address in addresses)
        return {address: reason for address, reason in reasons if reason}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Ready endpoints that are not pool members; false if there are none."""

    refused: Mapping[str, str] = field(default_factory=dict)
    """Addresses that never become pool members, with the reason."""
    total: int = 0
    """How many members there would be at least; 0 if the pool has room for all."""

    def __bool__(self) -> bool:
        return bool(self.refused or self.total)


_NONE = LeftOut()


class Choice(NamedTuple):
    """The members of a pool."""

    members: frozenset[PoolMember] = frozenset()
    left_out: LeftOut = _NONE


def choose(port: str, view: ServiceEndpoints, most: int) -> Choice:
    """Choose from the TCP endpoints of a Service port, without those that are refused.

    Endpoints that are ready come first. Those that are draining have the room that is left, and keep their
    connections only; while nothing is ready, they serve like others. Source for the last: Kubernetes,
    KEP-1669, proxy terminating endpoints.

    Args:
        port: targetPort of the Route, number or name; "" for every port of the Service.
        most: so many members at most.
    """
    slices = [(slice_, ports) for slice_ in view.slices if (ports := _numbers(port, slice_))]
    total = sum((len(slice_.addresses) + slice_.omitted) * len(ports) for slice_, ports in slices)
    if total > MOST_READ:
        slices.sort(key=lambda pair: pair[0].key)
    endpoints = list(islice(_endpoints(slices, in_order=total > MOST_READ), MOST_READ))
    leaving = list(islice(_draining(slices), most)) if any(slice_.draining for slice_, _ in slices) else []
    refused = view.refusals({member.address for member in (*endpoints, *leaving)})
    ready = {member for member in endpoints if member.address not in refused}
    draining = {member for member in leaving if member.address not in refused} - ready
    if not ready:
        return limit(draining, 0, refused, most)
    choice = limit(ready, total - len(endpoints), refused, most)
    if not draining:
        return choice
    kept = sorted(draining, key=_place)[:most - len(choice.members)]
    return choice._replace(
        members=choice.members | {member._replace(state="forced_offline") for member in kept})


def limit(ready: set[PoolMember], omitted: int, refused: Mapping[str, str], most: int) -> Choice:
    """Choose at most so many members, by a digest of address and port.

    So an endpoint that comes or goes changes places with one other at most, and all others stay.

    Args:
        omitted: how many more there are.
        refused: see LeftOut.
    """
    members = frozenset(sorted(ready, key=_place)[:most] if len(ready) > most else ready)
    total = len(ready) + omitted
    too_many = total > len(members)
    if not refused and not too_many:
        return Choice(members)
    return Choice(members, LeftOut(refused, _rounded(total) if too_many else 0))


def digest(text: str) -> bytes:
    """Return a key that sorts texts in an order unrelated to anything else."""
    return hashlib.blake2b(text.encode(), digest_size=8).digest()


def _place(member: PoolMember) -> tuple[bytes, PoolMember]:
    return digest(member.name), member


def _rounded(total: int) -> int:
    """Keep the first two digits: each other number would be another Event."""
    step: int = 10 ** max(0, len(str(total)) - 2)
    return total // step * step


def _numbers(port: str, slice_: EndpointSlice) -> set[int]:
    return {candidate.port for candidate in slice_.ports
            if candidate.protocol == "TCP" and port in ("", candidate.name, str(candidate.port))}


def _endpoints(slices: Iterable[tuple[EndpointSlice, set[int]]], *, in_order: bool) -> Iterator[PoolMember]:
    """Yield endpoints.

    Args: in_order: sort them, so that an address that comes or goes moves no other but the last."""
    return (
        PoolMember(address, number)
        for slice_, numbers in slices
        for address in (sorted(slice_.addresses, key=digest) if in_order else slice_.addresses)
        for number in sorted(numbers)
    )


def _draining(slices: Iterable[tuple[EndpointSlice, set[int]]]) -> Iterator[PoolMember]:
    return (PoolMember(address, number) for slice_, numbers in slices
            for address in sorted(slice_.draining) for number in sorted(numbers))


def limit_warning(field: str, name: str, total: int, most: int, *, several: bool) -> str:
    """Return the warning about a Service with more endpoints than have room in a pool.

    Args:
        field: the one that names the Service.
        several: True if other Services have members of the pool too.
    """
    room = f"the pool has {most} at most for all Services of the Route" if several else (
        f"a pool has {most} at most")
    return (f"{field}: Service {name} would have {total} pool members or more, and {room} "
            "(--max-pool-members): the other pods get no requests")


def refusal_warning(field: str, name: str, refused: Mapping[str, str]) -> str:
    """Return the warning about refused addresses of a Service.

    Args:
        field: the one that names the Service.
        name: of the Service.
        refused: reasons by address, one at least.
    """
    shown = [f"{address} ({refused[address]})" for address in sorted(refused)[:SHOWN]]
    more = [f"{len(refused) - SHOWN} more"] * (len(refused) > SHOWN)
    return f"{field}: addresses of Service {name} that are no pool members: {', '.join(shown + more)}"


def protocol_warnings(field: str, port: str, view: ServiceEndpoints) -> Iterator[str]:
    """Yield that pods want another protocol than the BIG-IP speaks to them.

    Source: openshift/router, haproxy-config.template (proto h2); Kubernetes, KEP-3726.

    Args: field: the one that names the Service.
    """
    if view.service is None:
        return
    names = {each.app_protocol for each in view.service.ports if port in ("", each.name, each.target_port)}
    if spoken := sorted(names & set(HTTP2)):
        yield (f"{field}: Service {view.service.key.name} has appProtocol {spoken[0]}; its pods get HTTP/1.1 "
               "all the same")


Backing = TypeVar("Backing", bound=Hashable)
"""Whatever stands for a Service."""

MAX_WEIGHT = 256
DEFAULT_WEIGHT = 1
"""Weight of a Service that names none; the API server fills in 100, so only raw objects get this."""

MAX_RATIO = 100
"""The range that every source gives at least: f5-ansible's bigip_pool_member and AS3 take 1 to 100."""


def effective_weight(weight: int | None) -> int:
    """Clamp the weight of a Route's backend to 0..256; an absent one is DEFAULT_WEIGHT."""
    return DEFAULT_WEIGHT if weight is None else max(0, min(weight, MAX_WEIGHT))


def weight_of(route: Route, weight: int | None) -> int:
    """Return the weight of a Route's backend; weights in other objects have no upper limit."""
    return effective_weight(weight) if route.origin is None or weight is None else max(0, weight)


def ratios(weights: Mapping[Backing, int], endpoints: Mapping[Backing, int]) -> dict[Backing, int]:
    """Compute the ratio of each endpoint of each Service.

    A Service's share of the requests is its weight, divided evenly among its endpoints. Ratios are
    reduced by their common divisor, so that most weights are met exactly; larger ones are scaled down to
    MAX_RATIO, and a positive one is never below 1.

    Args:
        weights: effective weight by Service.
        endpoints: number of usable endpoints by Service; those without any are left out.

    Returns: ratio by Service; 0: new sessions go elsewhere, and all are 0 where no weight is positive.
    """
    shares = {name: Fraction(weights[name], count) for name, count in endpoints.items() if count}
    positive = [share for share in shares.values() if share]
    if not positive:
        return dict.fromkeys(shares, 0)
    common = math.lcm(*(share.denominator for share in positive))
    whole = {name: int(share * common) for name, share in shares.items()}
    divisor, most = math.gcd(*whole.values()), max(whole.values())
    if most // divisor > MAX_RATIO:
        return {name: max(1, round(Fraction(value * MAX_RATIO, most))) if value else 0
                for name, value in whole.items()}
    return {name: value // divisor for name, value in whole.items()}


def weight_warnings(route: Route) -> Iterator[str]:
    """Yield which weights of a Route are out of range, and what counts instead."""
    if not route.alternates and (route.weight is None or route.weight == effective_weight(route.weight)):
        return
    if route.origin is not None:
        return
    fields = [("spec.to.weight", route.weight)]
    fields += [(f"spec.alternateBackends[{number}].weight", backend.weight)
               for number, backend in enumerate(route.alternates)]
    for name, weight in fields:
        if weight is not None and weight != effective_weight(weight):
            yield (f"{name}: {weight} is not in the range 0 to {MAX_WEIGHT}; "
                   f"{effective_weight(weight)} counts instead")


NODES_SHOWN = 3
"""Nodes that a sentence names; the others are counted."""


def foreign_node_findings(nodes: NodeMap, pools: Iterable[Pool]) -> Findings:
    """Compare wanted pools with the nodes that are on the BIG-IP.

    It is a problem if a pool has no member left, and a warning if it has fewer, or members of other names.
    """
    used: dict[LTMNode, set[str]] = {}
    emptied: list[str] = []
    for pool in pools:
        foreign = {m.address: nodes.foreign[m.address] for m in pool.members if m.address in nodes.foreign}
        for node in foreign.values():
            used.setdefault(node, set()).add(pool.path)
        if foreign and all(nodes.obstacle(member.address) for member in pool.members):
            emptied.append(pool.path)
    left = [node for node in used if node.obstacle(nodes.partition)]
    reused = [node for node in used if not node.obstacle(nodes.partition)]
    problems = (f"{number_of(len(emptied), 'pool')} would have no member, as LTM nodes of others have the "
                f"addresses of the pods: {_listed(emptied)}",) if emptied else ()
    return Findings(problems, (
        *(f"left out of {number_of(len(used[node]), 'pool')}: {node.obstacle(nodes.partition)}"
          for node in sorted(left, key=_path)[:NODES_SHOWN]),
        *((f"{len(left) - NODES_SHOWN} more LTM nodes leave pods out of pools",
          ) if len(left) > NODES_SHOWN else ()),
        *((f"members use {number_of(len(reused), 'LTM node')} of {_another(len(reused), 'name')}: "
           f"{_nodes(reused)}",) if reused else ())))


def disabled_node_findings(nodes: NodeMap, pools: Iterable[Pool]) -> Findings:
    """Report LTM nodes of members that get no new clients; a problem if no pool has another member."""
    filled = [pool for pool in pools if pool.members]
    off = {nodes.disabled[member.address] for pool in filled for member in pool.members
           if member.address in nodes.disabled}
    if not off:
        return Findings()
    idle = [pool.path for pool in filled if all(member.address in nodes.disabled for member in pool.members)]
    state = "is disabled or forced offline and gets" if len(off) == 1 else (
        "are disabled or forced offline and get")
    text = f"{number_of(len(off), 'LTM node')} of pool members {state} no new clients: {_nodes(off)}"
    text += f"; {number_of(len(idle), 'pool')} without another member: {_listed(idle)}" if idle else ""
    return Findings((text,)) if len(idle) == len(filled) else Findings(warnings=(text,))


def _another(count: int, noun: str) -> str:
    return f"another {noun}" if count == 1 else f"other {noun}s"


def _path(node: LTMNode) -> str:
    return node.path


def _nodes(nodes: Iterable[LTMNode]) -> str:
    return _listed(f"{node.path} ({node.address})" for node in sorted(nodes, key=_path))


def _listed(texts: Iterable[str]) -> str:
    names = sorted(texts)
    more = f" and {len(names) - NODES_SHOWN} more" if len(names) > NODES_SHOWN else ""
    return ", ".join(names[:NODES_SHOWN]) + more
