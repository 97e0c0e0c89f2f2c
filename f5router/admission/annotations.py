"""Annotations of Routes by which teams configure a router, and their support here.

Names: OpenShift's documentation, Route-specific annotations, and openshift/router, haproxy-config.template;
clouddocs, Container Ingress Services, Route annotations.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from sys import intern
from typing import NamedTuple

from f5router.admission import allowlist, route_options
from f5router.admission.allowed_objects import MOST_PATH, WAF
from f5router.model.route_options import RouteOptions

PREFIXES = ("haproxy.router.openshift.io/", "router.openshift.io/", "virtual-server.f5.com/")

MOST_KEYS = 20
"""Keys of a Route that are remembered."""
MOST_CHARACTERS = 317
"""Length of the longest key: a prefix of 253, a slash and a name of 63 (Kubernetes, Annotations)."""
READ = route_options.KEYS | allowlist.KEYS | {WAF}
"""Keys that the router reads."""


class AnnotatedOptions(NamedTuple):
    """Values that annotations set, by field of a Route."""

    options: RouteOptions
    option_problems: tuple[str, ...]
    option_refusal: str
    waf: str
    """Longer than any valid path, it still counts."""


def parse(given: Mapping[str, object], termination: str) -> AnnotatedOptions:
    """Parse the annotations of an object. Args: termination: see route_options.parse."""
    options, problems = route_options.parse(given, termination)
    clients, waf = allowlist.parse(given), given.get(WAF)
    return AnnotatedOptions(
        replace(options, sources=clients.sources) if clients.sources else options,
        (*problems, *clients.problems), clients.refusal,
        waf.strip()[:MOST_PATH + 1] if isinstance(waf, str) else "")


def unsupported(given: Mapping[str, object]) -> tuple[str, ...]:
    """Return the keys for a router that have no effect here; an empty one is no setting."""
    keys = sorted(key for key, value in given.items() if key.startswith(PREFIXES)
                  and len(key) <= MOST_CHARACTERS and key not in READ
                  and isinstance(value, str) and value.strip())
    return tuple(map(intern, keys[:MOST_KEYS]))


def warnings(keys: Collection[str]) -> tuple[str, ...]:
    """Return warnings for the team: a sentence for each key that has no effect."""
    return tuple(f"metadata.annotations: {key} is not supported by this router; it has no effect"
                 for key in keys)
