"""Names in the Host header of a request: against pages of others that are led here by a name of theirs."""

import ipaddress
from urllib.parse import urlsplit

PRIVATE = (".localhost", ".local", ".svc")
"""Domains that nobody owns in the public DNS."""


def is_own(host: str) -> bool:
    """True if a Host header has a name of this machine alone."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_foreign(host: str) -> bool:
    """True if a Host header has a name whose owner may point it at any machine, and so at this one.

    An address is no such name, nor is one without a dot or below a domain that is not in the public DNS.
    Sources: RFC 6761, 6.3; RFC 6762, 3; Kubernetes, "DNS for Services and Pods".
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "." in name and not name.endswith(PRIVATE)
    return False
