"""Hosts: what a good name is, how a Route gets one, and which domains it lies in.

A Route names its Host, or the router makes the name. Sources:
openshift/router, RouterSelection.RouteUpdate and hostInDomainList; Go's os.Expand for templates.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from f5router.model.cluster import Route

MOST = 253
"""Characters of a name."""

MOST_LABELS = 20
"""Of the domain of a wildcard: each number of labels has its own precedence (priority.priority_band)."""

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_VARIABLE = re.compile(r"\$(?:\{([^{}]*)\}|([A-Za-z0-9_]+))?")


@dataclass(frozen=True, slots=True)
class Naming:
    """How a Route without a host, or every Route, gets its Host."""

    domain: str = ""
    """Of Routes with spec.subdomain; "" for none."""
    template: str = ""
    """Good for `expanded`; "" for none."""
    override: bool = False
    """The template goes before spec.host."""
    override_domains: frozenset[str] = frozenset()
    """It goes before a host in one of these, too."""

    def host(self, route: Route) -> tuple[str, str]:
        """The Host of a Route, "" for none, and what it was made of: a field, or the setting."""
        found, source = route.host, "spec.host"
        if not found and route.subdomain and self.domain:
            found, source = f"{route.subdomain}.{self.domain}", "spec.subdomain"
        if self.template and (self.override or not found or within(found, self.override_domains)):
            return expanded(self.template, *reversed(route.key)), "--hostname-template"
        return found, source


def problem(host: str) -> str:
    """What is wrong with a Host, "" for nothing. RFC 1123 subdomain in lower case."""
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
    """What keeps a good Host from standing for its whole subdomain, "" for nothing."""
    labels = host.count(".")
    if not labels:
        return "a wildcard needs a host with a domain"
    if labels > MOST_LABELS:
        return f"a wildcard below {labels} labels, at most {MOST_LABELS} are supported"
    return ""


def parent(host: str) -> str:
    """The domain in which a Host is one label, "" for none. Source: openshift/router GetDomainForHost."""
    return host.partition(".")[2]


def wildcard(host: str) -> str:
    """All Hosts of one label beside a Host: "*.example.com" of "www.example.com"."""
    return f"*.{parent(host)}"


def within(host: str, domains: Collection[str]) -> bool:
    """Whether a Host is one of these domains or lies below one."""
    if len(host) > MOST:  # no name; the end of it is enough to find a domain, whatever its number of labels
        host = parent(host[-MOST - 2:])
    while domains and host:
        if host in domains:
            return True
        host = parent(host)
    return False


def domain(text: str) -> str:
    """Parser of a domain. Raises ValueError with what is wrong with it."""
    if "://" in text or "/" in text:
        raise ValueError(f"{text!r} must be a domain, not a URL")
    if re.search(r":[0-9]*$", text):
        raise ValueError(f"{text!r} must be a domain without a port")
    if text.startswith(("*", ".")):
        raise ValueError(f"{text!r}: a domain stands for all hosts below it; write it without '*' and '.'")
    if found := problem(text):
        raise ValueError(f"{text!r} is not a domain: {found}")
    return text


def domains(text: str) -> frozenset[str]:
    """Parser of domains separated by commas; blanks around them and empty items are dropped."""
    return frozenset(domain(item.strip()) for item in text.split(",") if item.strip())


def template(text: str) -> str:
    """Parser of a template with ${name} and ${namespace}, without the quotes around it.

    Raises ValueError: an unknown variable, or no Host comes of it.
    """
    text = text.strip("\"'")
    for variable in _VARIABLE.finditer(text):
        name = variable[1] if variable[1] is not None else variable[2]
        if name not in ("name", "namespace"):
            shown = variable[0] if name is not None else "'$' without a name"
            raise ValueError(f"{text!r}: {shown} is unknown; ${{name}} and ${{namespace}} are variables")
    if found := problem(expanded(text, "name", "namespace")):
        raise ValueError(f"{text!r} does not make a host: {found}")
    return text


def expanded(text: str, name: str, namespace: str) -> str:
    """What a template makes of a Route's name and namespace."""
    known = {"name": name, "namespace": namespace}
    return _VARIABLE.sub(lambda found: known[found[1] or found[2]], text)


def quote(text: str) -> str:
    """User text for a message: printable, at most 60 characters."""
    shown = ascii(text[:60])
    return shown if len(shown) <= 60 else f"{shown[:57]}...'"
