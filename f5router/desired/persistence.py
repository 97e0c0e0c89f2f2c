"""How clients stay with a pod: by their address, by a session cookie, or not at all.

Sources: openshift/router, haproxy-config.template (cookie, balance source).
"""

from collections.abc import Iterator

from f5router.admission.route_options import HAPROXY, ROUTER
from f5router.desired import irules
from f5router.model import names
from f5router.model.ltm import Attachment, IRule, Object, Record
from f5router.model.objects import Ref
from f5router.model.route_options import RouteOptions


def data(options: RouteOptions, *, source: bool) -> str:
    """Return the data of the record of a Route's pool.

    Args: source: True if the algorithm of the Route is source.
    """
    if source:
        return names.SOURCE
    if options.disable_cookies:
        return names.NO_PERSISTENCE
    return f"{names.COOKIE}/{options.cookie_name}/{options.same_site}".rstrip("/")


def record(folder: str, name: str, wanted: str) -> Record:
    """Build the record that makes an exception from the router's default. Args: wanted: its data."""
    return Record(names.full_path(folder, names.PERSISTENCE_GROUP), name, wanted)


def irule(folder: str, virtuals: list[str], *, https: bool) -> list[Object]:
    """Build the iRule of session cookies with its Attachments.

    They come after the iRule that recognises TLS, without which a cookie would lack Secure.
    Args: https: True if there is a virtual server for TLS.
    """
    path = names.full_path(folder, names.COOKIE_IRULE)
    required = frozenset({Ref(IRule.KIND, names.full_path(folder, names.PASSTHROUGH_IRULE))} if https else ())
    return [IRule(path, irules.cookie_irule(folder)),
            *(Attachment(virtual, "rules", path, IRule.KIND, extra_dependencies=required)
              for virtual in virtuals)]


def warnings(options: RouteOptions, *, source: bool, insecure: str, works: bool) -> Iterator[str]:
    """Yield warnings about what a Route asks for without effect.

    Args:
        insecure: insecureEdgeTerminationPolicy.
        works: True if Rules can set the pool of a request for the iRules.
    """
    cookie = {f"{HAPROXY}disable_cookies": options.disable_cookies,
              f"{ROUTER}cookie_name": options.cookie_name, f"{ROUTER}cookie-same-site": options.same_site}
    asked = [key for key, value in cookie.items() if value]
    if not works:
        if source:
            yield "balance source has no effect before TMOS 12.1: each connection goes to the next pod"
        asked = [key for key in asked if not options.disable_cookies]
        reason = "before TMOS 12.1"
    elif source:
        asked = [key for key in asked if not options.disable_cookies]
        reason = "with balance source, which keeps clients with a pod without a cookie"
    elif options.disable_cookies:
        asked = [key for key in asked if not key.endswith("disable_cookies")]
        reason = f"with {HAPROXY}disable_cookies"
    else:
        asked = [key for key in asked if insecure == "Allow" and key.endswith("same-site")]
        reason = "with insecureEdgeTerminationPolicy Allow, whose cookie is for port 80 too"
    for key in asked:
        yield f"metadata.annotations: {key} has no effect {reason}"
