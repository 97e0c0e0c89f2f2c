"""Health checks that Routes ask for, and the monitors of ours that make them. Pools share equal ones."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from f5router.model import texts
from f5router.model.objects import NamedObject


class HealthCheck(NamedTuple):
    """An entry of the annotation `health`, or a check with thresholds; its fields are valid."""

    path: str
    """Path of the Route for which it is."""
    type: str
    """http, https or tcp."""
    interval_s: int
    timeout_s: int
    send: str = ""
    """Request in the form of the BIG-IP; "" with tcp."""
    recv: str = ""
    """Regular expression without quantifiers; "": any answer is a good one."""
    until_up_s: int = 0
    """How long a pod must go on answering after its first good answer before it is up."""


def check_of_path(checks: tuple[HealthCheck, ...], path: str) -> HealthCheck | None:
    """Return the check of a Route: the last one for its path, else the last one for all of a Service.

    Source: F5Networks/k8s-bigip-ctlr, pkg/appmanager: assignHealthMonitorsByPath.
    """
    by_path = {check.path: check for check in checks}
    return by_path.get(path or "/") or by_path.get("/")


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


MONITOR_TYPES: Mapping[str,
                       type[HealthMonitor]] = {cls.KIND: cls
                                               for cls in (TCPMonitor, HTTPMonitor, HTTPSMonitor)}
"""By kind."""


def monitor_kind(path: str) -> str:
    """Return the kind of one of our monitors by its full path; "" for a foreign monitor, or none."""
    if not path:
        return ""  # as most pools have it
    name = path.rpartition("/")[2]
    return next((kind for kind, cls in MONITOR_TYPES.items() if name.startswith(cls.STEM)), "")


MAX_CHECK_S = 28799
"""Longest interval of a monitor, whose time-out must not exceed 86,400 s. Source: F5Networks/f5-ansible,
bigip_monitor_tcp."""
MAX_TIMEOUT_S = 86400


def interval_s(interval_ms: int) -> int:
    """Return the interval of a monitor, in whole seconds; 0 for none."""
    return min(texts.parse_seconds(interval_ms), MAX_CHECK_S)
