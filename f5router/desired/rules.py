"""Rules of Routes: their conditions match the requests for a Host and a path; redirects to port 443."""

import re
from collections.abc import Iterable

from f5router.model import hostnames, tmos
from f5router.model.cluster import PathMatch, Route
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import CheckedRedirect, Condition, Redirect
from f5router.model.request_match import RequestMatch
from f5router.model.route_options import RouteOptions

MOST_PATHS = 2
"""Most Rules that a path may need."""

_PLAIN_SEGMENT = re.compile(r"[A-Za-z0-9._~-]+")


def match_path(text: str, kind: PathMatch = PathMatch.SEGMENTS) -> list[frozenset[Condition]]:
    """Return the conditions for a Route path; each set is one Rule, a request matches any of them.

    A prefix of segments ends at their boundary (openshift/router, GenerateRouteRegexp). `startsWith` the path
    and an equal last segment express that in one Rule; how the device counts empty or escaped segments is not
    recorded, so such paths get two Rules that do not depend on it.
    """
    whole = Condition("httpUri", "path", "equals", frozenset({text or "/"}), case_sensitive=True)
    if kind is PathMatch.EXACT:
        return [frozenset({whole})]
    if text in ("", "/"):
        return [frozenset()]
    begins = Condition("httpUri", "path", "startsWith", frozenset({text}), case_sensitive=True)
    if text.endswith("/") or kind is PathMatch.TEXT:
        return [frozenset({begins})]
    segments = text.split("/")[1:]
    if all(_PLAIN_SEGMENT.fullmatch(segment) for segment in segments):
        last = Condition("httpUri", "pathSegment", "equals", frozenset({segments[-1]}),
                         index=len(segments), case_sensitive=True)
        return [frozenset({begins, last})]
    below = Condition("httpUri", "path", "startsWith", frozenset({text + "/"}), case_sensitive=True)
    return [frozenset({whole}), frozenset({below})]


def match_request(match: RequestMatch | None) -> frozenset[Condition]:
    """Return the conditions for what a request must have besides host and path.

    Source: tmsh reference, ltm policy (http-method, http-header name, http-uri query-parameter name). A
    header, or a parameter, that a request has several times is compared as the device does it.
    """
    if match is None:
        return frozenset()
    method = [Condition("httpMethod", "all", "equals", frozenset({match.method}), case_sensitive=True)]
    return frozenset([
        *(method if match.method else ()),
        *(Condition("httpHeader", "all", "equals", frozenset({value}), case_sensitive=True, name=name)
          for name, value in match.headers),
        *(Condition("httpUri", "queryParameter", "equals", frozenset({value}), case_sensitive=True, name=name)
          for name, value in match.query)])


def match_fault(match: RequestMatch | None, facts: DeviceFacts) -> str:
    """Return why the BIG-IP cannot compare a request; "" if it can.

    Where Rules are not published together, a new order of them takes effect one by one.
    """
    narrow = match is not None and match.is_narrow
    needed = narrow and facts.version < tmos.DRAFTS_SINCE
    return "spec: matches by method, header or query parameter need TMOS 12.1" if needed else ""


def match_root() -> frozenset[Condition]:
    """Return the conditions for the path / alone."""
    (conditions,) = match_path("/", PathMatch.EXACT)
    return conditions


def covers(route: Route, other: Route) -> bool:
    """True if the path conditions of a Route match every request that another Route's path matches.

    One of two paths covers the other, or no request matches both.
    """
    prefix, text = route.path or "/", other.path or "/"
    if route.path_match is PathMatch.EXACT:
        return other.path_match is PathMatch.EXACT and text == prefix
    if route.path_match is PathMatch.TEXT:
        return text.startswith(prefix)
    same = text == prefix and (other.path_match is not PathMatch.TEXT or prefix.endswith("/"))
    return same or text.startswith(prefix if prefix.endswith("/") else f"{prefix}/")


def match_host(text: str, ports: Iterable[int]) -> frozenset[Condition]:
    """Return the condition for a Host in any case, with and without a trailing dot; none for hostnames.ANY.

    The selector compares without port; where a device should keep it (bigip-behaviour.md B12.5), the
    ports of the virtual server match too. A wildcard matches at any depth: see names.priority_band
    and irules.request_irule.
    """
    if text == hostnames.ANY:
        return frozenset()
    wildcard, name = text.startswith("*."), text.removeprefix("*")
    forms = {name, f"{name}."}
    values = forms | {f"{form}:{port}" for form in forms for port in ports}
    return frozenset({
        Condition("httpHost", "host", "endsWith" if wildcard else "equals", frozenset(values))})


def build_redirects(host: str, status: int, facts: DeviceFacts) -> tuple[Redirect | CheckedRedirect, str]:
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
