"""A health check that a Route, or a Service of another object, asks for."""

from typing import NamedTuple


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


def of_path(checks: tuple[HealthCheck, ...], path: str) -> HealthCheck | None:
    """Return the check of a Route: the last one for its path, else the last one for all of a Service.

    Source: F5Networks/k8s-bigip-ctlr, pkg/appmanager: assignHealthMonitorsByPath.
    """
    by_path = {check.path: check for check in checks}
    return by_path.get(path or "/") or by_path.get("/")
