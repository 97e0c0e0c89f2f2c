"""Redirects of requests without TLS to port 443."""

from f5router.model import hostnames, tmos
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import CheckedRedirect, Redirect
from f5router.model.route_options import RouteOptions


def build(host: str, status: int, facts: DeviceFacts) -> tuple[Redirect | CheckedRedirect, str]:
    """Build the action that sends a Host's requests to port 443, with their path and query.

    The location has an exact Host itself, not the name in the request: the name that the policy compared
    and HTTP::host may differ where a request has two of them, or an absolute target. A slash goes before
    anything that stands for the path. For a wildcard, only the request has the name.
    Source: openshift/router, haproxy-config.template (redirect scheme https).

    Args: status: status of the answer; where it is not possible it is 302.
    Returns: the action, and a warning for the team; "" for none.
    Raises:
        ValueError: the Host is no name, and would be Tcl to the device.
    """
    if host.startswith("*."):
        return CheckedRedirect(), _warning(status, "on a wildcard host") if status != 302 else ""
    if fault := hostnames.problem(host):
        raise ValueError(f"{host=}: {fault}")
    location = f"tcl:https://{host}/[string range [HTTP::uri] 1 end]"
    if status != 302 and facts.version < tmos.REDIRECT_CODE_SINCE:
        return Redirect(location), _warning(status, "before TMOS 14.0")
    return Redirect(location, status), ""


def elsewhere(options: RouteOptions, facts: DeviceFacts) -> Redirect:
    """Build the action that redirects all requests of a Route to one URL, which is not Tcl to the device."""
    possible = facts.version >= tmos.REDIRECT_CODE_SINCE
    return Redirect(options.redirect_to, options.redirect_code if possible else 302)


def _warning(status: int, reason: str) -> str:
    return f"spec: requests are redirected to https with status 302; {status} is not possible {reason}"
