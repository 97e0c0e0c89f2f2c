"""Paths that stay closed: paths of unserved Routes that ask for a protection.

Without a Rule of its own, requests for such a path come to a less specific Route of the host, or of its
wildcard, perhaps to the same pods: a Route / beside a Route /admin that restricts its clients.
"""

from collections.abc import Collection, Iterable

from f5router.admission.admission import EvaluatedRoute
from f5router.desired.match_conditions import covers
from f5router.model.cluster import Key, Route


def ports(evaluated: EvaluatedRoute, admitted: Iterable[EvaluatedRoute],
          wildcards: Iterable[EvaluatedRoute], *, secure: bool) -> tuple[bool, bool]:
    """Return if another Route would get the requests for a path, on port 443 and on port 80.

    Args:
        admitted: all Routes of the Host.
        wildcards: those of its wildcard that answer on port 80.
        secure: True if one of its wildcard gets requests on port 443.
    """
    route = evaluated.route
    above = [other for other in admitted if other.route.key != route.key and covers(other.route, route)]
    return (secure or any(other.termination in ("edge", "reencrypt") for other in above),
            any(True for _ in wildcards) or any(other.insecure != "None" for other in above))


def blank(evaluated: EvaluatedRoute, secure: str | None, plain: str | None) -> str:
    """Return why a Route is served on no port at all; "" if it is. Args: secure, plain: virtual servers."""
    if evaluated.termination and secure is None:
        return "--f5-https-vserver is blank: this router serves no Route with TLS"
    if not evaluated.termination and plain is None:
        return "--f5-http-vserver is blank: this router serves no unencrypted Route"
    return ""


def in_clear_text(route: Route, above: Collection[EvaluatedRoute], around: Collection[EvaluatedRoute],
                  ) -> tuple[bool, EvaluatedRoute | None]:
    """Return if port 80 would redirect requests of a Route that it does not serve, and which Route gets them.

    The most specific Route decides whether a request is redirected. A request that is not redirected goes to
    the most specific Route that serves port 80; without one it gets 503. Source: openshift/router,
    haproxy-config.template since 4.9: os_route_http_redirect.map has every Route, os_http_be.map those that
    serve port 80.

    Args: above, around: Routes of the Host, and of its wildcard, that get them and answer on port 80.
    """
    nearest = max(above, key=_length, default=None)
    redirected = nearest.insecure == "Redirect" if nearest else any(c.insecure == "Redirect" for c in around)
    serving = [c for c in above if c.insecure == "Allow"] or [
        c for c in around if c.insecure == "Allow" and covers(c.route, route)]
    return redirected, max(serving, key=_length, default=None)


def _length(evaluated: EvaluatedRoute) -> tuple[int, Key]:
    """Rank a Route among the Routes that cover its requests; the longest path is the most specific."""
    return len(evaluated.route.path.rstrip("/")), evaluated.route.key
