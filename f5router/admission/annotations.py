"""Annotations of Routes by which teams configure a router, and their support here.

Names: OpenShift's documentation, Route-specific annotations, and openshift/router, haproxy-config.template;
clouddocs, Container Ingress Services, Route annotations.
"""

from collections.abc import Collection, Iterable

from f5router.admission import allowlist, route_options

PREFIXES = ("haproxy.router.openshift.io/", "router.openshift.io/", "virtual-server.f5.com/")

HEADERS = "spec.httpHeaders"
"""Not an annotation, but treated as one: header actions of OpenShift 4.14."""

PROTECTIONS = frozenset({"virtual-server.f5.com/waf"})
"""They keep requests from pods. A Route that has one is not served without it."""

MOST_KEYS = 20
"""Keys of a Route that are remembered, besides all PROTECTIONS."""
MOST_CHARACTERS = 317
"""Length of the longest key: a prefix of 253, a slash and a name of 63 (Kubernetes, Annotations)."""


def select(keys: Iterable[str]) -> tuple[str, ...]:
    """Select the keys for a router that it does not read.

    PROTECTIONS come first, so that others cannot crowd them out.
    """
    ours = {key for key in keys if key.startswith(PREFIXES) and len(key) <= MOST_CHARACTERS
            and key not in route_options.KEYS | allowlist.KEYS}
    others = sorted(ours - PROTECTIONS)
    return (*sorted(ours & PROTECTIONS), *others[:MOST_KEYS])


def refusal(keys: Collection[str]) -> str:
    """Return why a Route with these keys is not served; "" if it may be."""
    protections = sorted(PROTECTIONS.intersection(keys))
    if not protections:
        return ""
    return (f"metadata.annotations: this router does not enforce {', '.join(protections)}; without it "
            "everybody would get in. Remove it to have the Route served to everybody")


def warnings(keys: Collection[str]) -> tuple[str, ...]:
    """Return warnings for the team: a sentence for each key that has no effect."""
    return tuple(f"{key}: not supported by this router; it has no effect" if key == HEADERS
                 else f"metadata.annotations: {key} is not supported by this router; it has no effect"
                 for key in keys)
