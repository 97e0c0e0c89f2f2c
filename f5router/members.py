"""What is known of a Service when its pool members are chosen; and pods as members.

Node ports as members are in nodeport.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from f5router import refused_addresses
from f5router.bigip import PoolMember
from f5router.cluster import EndpointSlice, Service

SHOWN = 3
"""Refused addresses that a warning names."""


class Candidate(NamedTuple):
    """A Node that may be a pool member."""

    ipv4: str
    ipv6: str
    """Addresses; "" for none."""
    wanted: bool
    """Not in a state that is excluded."""


@dataclass(frozen=True, slots=True)
class ServiceView:
    """A Service with what stands behind it."""

    service: Service | None = None
    """None: there is none."""
    slices: tuple[EndpointSlice, ...] = ()
    listed: bool = True
    """Whether the slices are all that there are; else they may not be read."""
    candidates: Mapping[str, Candidate] = field(default_factory=dict)
    """By name of the Node; none where pods are members."""
    own_addresses: frozenset[str] = frozenset()
    """Those of the BIG-IP, which are no pool members."""

    def refusals(self, addresses: Iterable[str]) -> dict[str, str]:
        """Those that never become pool members, with the reason."""
        found = ((address, refused_addresses.reason(address, self.own_addresses)) for address in addresses)
        return {address: reason for address, reason in found if reason}


def choose(port: str, view: ServiceView) -> frozenset[PoolMember]:
    """The ready TCP endpoints of a Service port, without those that are refused.

    Args:
        port: targetPort of the Route, number or name; "" for every port of the Service.
    """
    refused = refusals(port, view)
    return frozenset(member for member in _endpoints(port, view) if member.address not in refused)


def refusals(port: str, view: ServiceView) -> dict[str, str]:
    """Addresses of ready TCP endpoints of a Service port that never become pool members, with the reason."""
    return view.refusals({member.address for member in _endpoints(port, view)})


def _endpoints(port: str, view: ServiceView) -> Iterator[PoolMember]:
    return (
        PoolMember(address, found.port)
        for part in view.slices
        for found in part.ports
        if found.protocol == "TCP" and port in ("", found.name, str(found.port))
        for address in part.addresses
    )


def refusal_warning(name: str, refused: Mapping[str, str]) -> str:
    """What becomes of refused addresses of a Service.

    Args:
        name: of the Service.
        refused: reasons by address, one at least.
    """
    shown = [f"{address} ({refused[address]})" for address in sorted(refused)[:SHOWN]]
    more = [f"{len(refused) - SHOWN} more"] * (len(refused) > SHOWN)
    return f"spec.to.name: addresses of Service {name} that are no pool members: {', '.join(shown + more)}"


def warnings(port: str, view: ServiceView, *, served: bool) -> Iterator[str]:
    """Why a Route to a Service that exists has no pods.

    Args:
        served: whether the Route is served at all.
    """
    name = view.service.key.name
    if port and not _has_port(port, view):
        yield f"spec.port.targetPort: Service {name} has no port {port}"
    elif served:
        yield f"spec.to.name: Service {name} has no ready endpoints"


def _has_port(wanted: str, view: ServiceView) -> bool:
    """By the endpoints, which decide; by the Service, where there are none yet."""
    if found := [port for part in view.slices for port in part.ports]:
        return any(wanted in (port.name, str(port.port)) for port in found)
    return any(wanted in (port.name, port.target_port) for port in view.service.ports)
