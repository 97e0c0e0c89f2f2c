"""Objects of the administrator on the BIG-IP that Routes may name, each for some namespaces.

Teams name them in annotations of Container Ingress Services. Whatever is not allowed counts as not there: a
profile on the device may be another team's.
"""

import re
from collections.abc import Mapping

from f5router.model.hostnames import quote

WAF = "virtual-server.f5.com/waf"
"""A protection: a Route that has it is not served without it."""

EVERY = "*"
"""Stands for all namespaces."""

MOST_PATH = 255
_PATH = re.compile(r"(?:/[A-Za-z0-9][A-Za-z0-9_.-]*){2,}")
_NAMESPACE = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")

Allowed = Mapping[str, frozenset[str]]
"""Namespaces, or EVERY, by full path."""


def parse_path(text: str) -> str:
    """Parse the full path of an object of the BIG-IP. Raises: ValueError."""
    if len(text) > MOST_PATH or _PATH.fullmatch(text) is None:
        raise ValueError(f"{quote(text)} is not a full path such as /Common/name")
    return text


def parse(text: str) -> Allowed:
    """Parse a setting: entries PATH=NAMESPACE,NAMESPACE with blanks between them. Raises: ValueError."""
    allowed: dict[str, frozenset[str]] = {}
    for entry in text.split():
        path, equals, listed = entry.partition("=")
        namespaces = frozenset(listed.split(","))
        if not equals or not all(name == EVERY or _NAMESPACE.fullmatch(name) for name in namespaces):
            raise ValueError(f"{quote(entry)} is not PATH=NAMESPACE[,NAMESPACE], or PATH=* for all of them")
        allowed[parse_path(path)] = allowed.get(path, frozenset()) | namespaces
    return allowed


def allows(allowed: Allowed, path: str, namespace: str) -> bool:
    """True if Routes of a namespace may name an object."""
    return not allowed.get(path, frozenset()).isdisjoint({EVERY, namespace})


def waf_refusal(waf: str, namespace: str, termination: str, allowed: Allowed) -> str:
    """Return why a Route with this WAF policy must not be served; "" if it may be.

    Args: waf: the annotation WAF, "" without it.
    """
    if not waf:
        return ""
    reason = "for it" if termination != "passthrough" else "on a Route with termination passthrough"
    if termination != "passthrough" and allows(allowed, waf, namespace):
        return ""
    return (f"metadata.annotations: this router does not enforce {WAF} {quote(waf)} {reason}; without it "
            "everybody would get in. Remove it to have the Route served to everybody")
