"""The router and its BIG-IP, in a summary."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CheckView:
    """A check of /readyz."""

    name: str
    problem: str
    note: str


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
    """State of config sync; "" without a device group."""
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
