"""Host names: their validation, how a Route gets one, and the domains that one lies in.

A Route names its Host, or the router makes the name. Sources:
openshift/router, RouterSelection.RouteUpdate and hostInDomainList; Go's os.Expand for templates.
"""

import re
from collections.abc import Collection, Iterator

ANY = "*"
"""In the place of a Host: all hosts that nobody claims. No Route or rule can have it, see `problem`."""

ANY_DEPTH = "AnyDepth"
"""Wildcard policy of a virtual Route for all hosts below a domain, such as *.example.com, which is its host.

Routes of the cluster have Subdomain, for hosts of one label more."""

MOST = 253
"""Longest Host, in characters."""

MOST_LABELS = 20
"""Most labels in a wildcard's domain; each number has a precedence of its own (names.priority_band)."""

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = re.compile(rf"{_OCTET}(?:\.{_OCTET}){{3}}")
"""An IPv4 address in its only canonical spelling, as `ipaddress` writes it."""

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_VARIABLE = re.compile(r"\$(?:\{([^{}]*)\}|([A-Za-z0-9_]+))?")


def problem(host: str) -> str:
    """Return the problem with a Host; "" if it is an RFC 1123 subdomain in lower case."""
    if len(host) > MOST:
        return f"{len(host)} characters, at most {MOST} are allowed"
    if host != host.lower():
        return "upper-case letters are not allowed"
    for label in host.split("."):
        if not _LABEL.fullmatch(label):
            return (f"label {quote(label)} must be 1 to 63 letters, digits or '-', "
                    "beginning and ending with a letter or digit")
    return ""


def wildcard_problem(host: str) -> str:
    """Return why a valid Host cannot be a wildcard; "" if it can."""
    labels = host.count(".")
    if not labels:
        return "a wildcard needs a host with a domain"
    if labels > MOST_LABELS:
        return f"a wildcard below {labels} labels, at most {MOST_LABELS} are supported"
    return ""


def parent(host: str) -> str:
    """Return the domain after the first label; "" for none. Source: openshift/router GetDomainForHost."""
    return host.partition(".")[2]


def wildcard(host: str) -> str:
    """Return the wildcard that covers a Host: "*.example.com" for "www.example.com"."""
    return f"*.{parent(host)}"


def wildcards(host: str) -> Iterator[str]:
    """Yield the wildcards that cover a Host at any depth, the nearest one first; a wildcard is its own."""
    while host := parent(host):
        yield f"*.{host}"


def within(host: str, domains: Collection[str]) -> bool:
    """True if a Host is one of the domains, or a subdomain of one."""
    if len(host) > MOST:  # invalid, and its end is enough to find a domain
        host = parent(host[-MOST - 2:])
    while domains and host:
        if host in domains:
            return True
        host = parent(host)
    return False


def domain(text: str) -> str:
    """Parse a domain. Raises: ValueError: what is wrong with it."""
    if "://" in text or "/" in text:
        raise ValueError(f"{text!r} must be a domain, not a URL")
    if re.search(r":[0-9]*$", text):
        raise ValueError(f"{text!r} must be a domain without a port")
    if text.startswith(("*", ".")):
        raise ValueError(f"{text!r}: a domain stands for all hosts below it; write it without '*' and '.'")
    if reason := problem(text):
        raise ValueError(f"{text!r} is not a domain: {reason}")
    return text


def domains(text: str) -> frozenset[str]:
    """Parse domains separated by commas; blanks around them and empty items are dropped."""
    return frozenset(domain(item.strip()) for item in text.split(",") if item.strip())


def template(text: str) -> str:
    """Parse a template with ${name} and ${namespace}, and remove quotes around it.

    Raises: ValueError: a variable is unknown, or the result is no Host.
    """
    text = text.strip("\"'")
    for variable in _VARIABLE.finditer(text):
        name = variable[1] if variable[1] is not None else variable[2]
        if name not in ("name", "namespace"):
            shown = variable[0] if name is not None else "'$' without a name"
            raise ValueError(f"{text!r}: {shown} is unknown; ${{name}} and ${{namespace}} are variables")
    if reason := problem(expanded(text, "name", "namespace")):
        raise ValueError(f"{text!r} does not make a host: {reason}")
    return text


def expanded(text: str, name: str, namespace: str) -> str:
    """Expand a template with a Route's name and namespace."""
    known = {"name": name, "namespace": namespace}
    return _VARIABLE.sub(lambda match: known[match[1] or match[2]], text)


def quote(text: str) -> str:
    """Quote user text for a message: printable, at most 60 characters."""
    shown = ascii(text[:60])
    return shown if len(shown) <= 60 else f"{shown[:57]}...'"
