"""Nodes as the BIG-IP reaches them: VTEP, FDB record, static routes, their pods; a summary of the BIG-IP."""

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from f5router.model.net import FDBRecord, StaticRoute
from f5router.network import static_routes, vxlan
from f5router.views.records import NodeRecord
from f5router.views.requests import NeededObject, State


@dataclass(frozen=True, slots=True)
class WayView:
    """An FDB record or a static route to the pods of a Node."""

    kind: str
    """"FDB record" or "static route"."""
    name: str
    """MAC address of an FDB record, network of a static route."""
    target: str
    """Address of the VTEP, or the gateway."""
    state: State
    problem: str = ""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A Node."""

    name: str
    addresses: tuple[str, ...]
    ready: bool
    schedulable: bool
    vtep: str
    """Address of its end of the VxLAN; "" without one."""
    networks: tuple[str, ...]
    """CIDRs of its pods."""
    ways: tuple[WayView, ...]
    """None where the BIG-IP needs none: it reaches pods by its own routes, or by node ports."""
    problem: str = ""
    """Why its pods may not be reached; "" if nothing is known to be wrong."""
    is_reached: bool = True
    """False if the BIG-IP has no way to its pods; a Node that is not ready may still be reached."""


class Locator:
    """Finds the Node of an address; each network is parsed once."""

    def __init__(self, nodes: Iterable[NodeView]):
        self._by_address: dict[str, NodeView] = {}
        spans: list[tuple[int, int, int, NodeView]] = []
        for node in nodes:
            self._by_address.update(dict.fromkeys(node.addresses, node))
            for network in map(ipaddress.ip_network, node.networks):
                spans.append((network.version, int(network.network_address),
                              int(network.broadcast_address), node))
        self._spans = sorted(spans, key=lambda span: span[:3])
        self._starts = [span[:2] for span in self._spans]

    def node_of(self, address: str) -> NodeView | None:
        """Return the Node that has an address, or a pod with it; None if no Node is known to."""
        if node := self._by_address.get(address):
            return node
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return None
        at = bisect_right(self._starts, (parsed.version, int(parsed)))
        if at == 0:
            return None
        version, _, last, node = self._spans[at - 1]
        return node if version == parsed.version and int(parsed) <= last else None


def view(record: NodeRecord) -> NodeView:
    """Build the view of a Node."""
    node, ways = record.node, tuple(_way(needed) for needed in record.ways)
    broken = next((way for way in ways if way.state != State.IN_PLACE), None)
    problem = record.problem or ("" if node.ready else "the Node is not ready")
    if broken is not None:
        problem = f"{broken.kind} {broken.name}: {broken.problem or broken.state.value}"
    return NodeView(node.key.name, node.internal_ips, node.ready, not node.unschedulable,
                    vxlan.vtep(node, record.subnet), _networks(record), ways, problem,
                    is_reached=broken is None and not record.problem)


def _networks(record: NodeRecord) -> tuple[str, ...]:
    if record.subnet is not None and record.subnet.subnet:
        try:
            return (str(ipaddress.ip_network(record.subnet.subnet, strict=False)),)
        except ValueError:
            return ()
    return tuple(route.network for _, route in static_routes.node_networks(
        record.node, "", {}, record.networks).wanted)


def _way(needed: NeededObject) -> WayView:
    wanted = needed.desired
    if isinstance(wanted, FDBRecord):
        return WayView("FDB record", wanted.mac, wanted.endpoint, needed.state, needed.refusal)
    assert isinstance(wanted, StaticRoute), "pods are reached by these two alone"
    return WayView("static route", wanted.network, wanted.gateway, needed.state, needed.refusal)


@dataclass(frozen=True, slots=True)
class CheckView:
    """A check of /readyz."""

    name: str
    problem: str
    note: str
    warns: bool
    """True if the note is about trouble, although the check passes."""


@dataclass(frozen=True, slots=True)
class LicenceView:
    """The licence of the BIG-IP."""

    exists: bool
    ends: str
    """Its last day, "2026-12-31"; "" for one without an end."""


@dataclass(frozen=True, slots=True)
class DeviceView:
    """Everything but Routes and Nodes."""

    router: str
    """Name of the router."""
    version: str
    """Version of f5router."""
    addresses: tuple[str, ...]
    """Management addresses of the BIG-IP's units."""
    unit: str
    """The one in use."""
    tmos: str
    """"" before the first reading."""
    active: bool | None
    """True if it is the active unit; None while that is not known."""
    sync: str
    """State of config sync, "off" if the router does not follow it; "" without a device group, and while it
    is not known."""
    has_group: bool | None
    """True if config sync has a device group; None while that is not known, and if nobody follows it."""
    licence: LicenceView | None
    """None while it is not known."""
    clock_ahead_s: float | None
    """How far its clock is ahead of this machine's, in seconds, negative if it is behind; None likewise."""
    ltm: str | None
    """Level to which LTM is provisioned; "" if it cannot be read, None while it is not known."""
    role: str | None
    """Role of the router's user on the BIG-IP, in words; "" and None likewise."""
    save: str
    """If the configuration is saved, in words; "" while that is not known."""
    last_save: float | None
    """When the configuration was last saved, in seconds since the epoch; None if this router has not yet."""
    leader: bool | None
    """True if this replica leads; None without leader election."""
    election: str
    """State of the election; "" without one."""
    last_reading: float | None
    """When the last reading of the whole device began, in seconds since the epoch; None before the first."""
    queues: tuple[tuple[str, int], ...]
    """Length of each queue, by name."""
    requests: tuple[tuple[str, int], ...]
    """REST calls since the start, by method."""
    checks: tuple[CheckView, ...]
