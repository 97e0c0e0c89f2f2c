"""Health monitors of ours. Pools share those of equal values, which are in the name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from f5router.model import time_units
from f5router.model.objects import NamedObject


@dataclass(frozen=True, slots=True)
class HealthMonitor(NamedObject):
    """Properties of every monitor."""

    STEM: ClassVar[str]
    """Beginning of its name, which the interval or a digest follows."""
    interval_s: int
    timeout_s: int
    """How long a member may go without a good answer before it is down."""
    until_up_s: int = 0
    """How long a member must go on answering after its first good answer before it is up."""


@dataclass(frozen=True, slots=True)
class TCPMonitor(HealthMonitor):
    """Opens a TCP connection to each member."""

    KIND: ClassVar[str] = "ltm/monitor/tcp"
    STEM: ClassVar[str] = "openshift_monitor_tcp_"


@dataclass(frozen=True, slots=True)
class HTTPMonitor(HealthMonitor):
    """Sends a request to each member."""

    KIND: ClassVar[str] = "ltm/monitor/http"
    STEM: ClassVar[str] = "openshift_monitor_http_"
    send: str = ""
    """The request in the form of the BIG-IP, with \\r\\n for ends of lines."""
    recv: str = ""
    """Regular expression that the answer must match; "": any answer is a good one."""


@dataclass(frozen=True, slots=True)
class HTTPSMonitor(HTTPMonitor):
    """Sends a request over TLS, in which it verifies nothing."""

    KIND: ClassVar[str] = "ltm/monitor/https"
    STEM: ClassVar[str] = "openshift_monitor_https_"


TYPES: Mapping[str, type[HealthMonitor]] = {cls.KIND: cls for cls in (TCPMonitor, HTTPMonitor, HTTPSMonitor)}
"""By kind."""


def kind_of(path: str) -> str:
    """Return the kind of a monitor of ours by its full path; "" for one of others, or none."""
    if not path:
        return ""  # as most pools have it
    name = path.rpartition("/")[2]
    return next((kind for kind, cls in TYPES.items() if name.startswith(cls.STEM)), "")


MAX_CHECK_S = 28799
"""Longest interval of a monitor, whose time-out must not exceed 86,400 s. Source: F5Networks/f5-ansible,
bigip_monitor_tcp."""
MAX_TIMEOUT_S = 86400


def interval_s(interval_ms: int) -> int:
    """Return the interval of a monitor, in whole seconds; 0 for none."""
    return min(time_units.seconds(interval_ms), MAX_CHECK_S)
