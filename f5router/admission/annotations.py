"""Annotations of Routes by which teams configure a router, and their support here.

Names: OpenShift's documentation, Route-specific annotations, and openshift/router, haproxy-config.template;
clouddocs, Container Ingress Services, Route annotations.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from sys import intern
from typing import NamedTuple

from f5router.admission import allowlist, route_options
from f5router.admission.foreign.tables import PREFIXES, is_foreign
from f5router.admission.route_options import MOST_PATH, WAF
from f5router.model.ingress import READ_ANNOTATIONS
from f5router.model.route_options import RouteOptions
from f5router.model.texts import did_you_mean

MOST_KEYS = 20
"""Keys of a Route that are remembered."""
MOST_CHARACTERS = 317
"""Length of the longest key: a prefix of 253, a slash and a name of 63 (Kubernetes, Annotations)."""
MOST_LISTED = 600
"""Characters of a list of keys in a message: that of an Event may have 1,024 (Kubernetes, Event v1, note)."""
LIKELY = 0.85
"""Least similarity of a key that is perhaps meant: most have the same beginning."""
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
    """Return the keys for a router that have no effect here; an empty one is no setting.

    Those that this router could have come first.
    """
    keys = sorted(key for key, value in given.items() if len(key) <= MOST_CHARACTERS and key not in READ
                  and isinstance(value, str) and value.strip())
    own = [key for key in keys if key.startswith(PREFIXES)]
    others = [key for key in keys if is_foreign(key)]
    return tuple(map(intern, (*own[:MOST_KEYS], *others[:MOST_KEYS])))


def warnings(keys: Collection[str]) -> tuple[str, ...]:
    """Return warnings for the team: a sentence for each key that has no effect, one for all others'.

    A key that is nearly another one is called unknown: it is most probably misspelt.
    """
    own = [key for key in keys if key.startswith(PREFIXES)]
    others = [key for key in keys if not key.startswith(PREFIXES)]
    hints = {key: hint(key) for key in own}
    texts = [f"metadata.annotations: {key} is {'unknown to' if near else 'not supported by'} this router; it "
             f"has no effect{near}" for key, near in hints.items()]
    return (*texts, f"metadata.annotations: {listed(others)} has no effect on a Route: another controller "
                    "reads it on Ingresses") if others else tuple(texts)


def hint(key: str) -> str:
    """Return which key is perhaps meant, as the end of a sentence; "" for none."""
    return did_you_mean(key, sorted(READ | READ_ANNOTATIONS), cutoff=LIKELY)


def listed(keys: Collection[str]) -> str:
    """Return keys as a list of bounded length."""
    shown: list[str] = []
    length = 0
    for key in keys:
        if shown and length + len(key) > MOST_LISTED:
            break
        shown.append(key)
        length += len(key) + 2
    more = f" and {len(keys) - len(shown)} more" if len(keys) > len(shown) else ""
    return f"{', '.join(shown)}{more}"
