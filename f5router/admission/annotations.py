"""Annotations of Routes by which teams configure a router, and their support here.

Names: OpenShift's documentation, Route-specific annotations, and openshift/router, haproxy-config.template;
clouddocs, Container Ingress Services, Route annotations.
"""

from collections.abc import Collection, Iterable

from f5router.admission import allowlist, route_options
from f5router.admission.allowed_objects import WAF

PREFIXES = ("haproxy.router.openshift.io/", "router.openshift.io/", "virtual-server.f5.com/")

MOST_KEYS = 20
"""Keys of a Route that are remembered."""
MOST_CHARACTERS = 317
"""Length of the longest key: a prefix of 253, a slash and a name of 63 (Kubernetes, Annotations)."""


def select(keys: Iterable[str]) -> tuple[str, ...]:
    """Select the keys for a router that it does not read."""
    read = route_options.KEYS | allowlist.KEYS | {WAF}
    return tuple(sorted(key for key in keys if key.startswith(PREFIXES) and len(key) <= MOST_CHARACTERS
                        and key not in read)[:MOST_KEYS])


def warnings(keys: Collection[str]) -> tuple[str, ...]:
    """Return warnings for the team: a sentence for each key that has no effect."""
    return tuple(f"metadata.annotations: {key} is not supported by this router; it has no effect"
                 for key in keys)
