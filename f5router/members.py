"""What is known of a Service when its pool members are chosen; and pods as members.

Node ports as members are in nodeport.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from f5router.bigip import PoolMember
from f5router.cluster import EndpointSlice, Service


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


def choose(port: str, view: ServiceView) -> frozenset[PoolMember]:
    """The ready TCP endpoints of a Service port.

    Args:
        port: targetPort of the Route, number or name; "" for every port of the Service.
    """
    return frozenset(
        PoolMember(address, found.port)
        for part in view.slices
        for found in part.ports
        if found.protocol == "TCP" and port in ("", found.name, str(found.port))
        for address in part.addresses
    )


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
