"""One setting, the groups of settings, and forms of values; options.py has the table.

Sources: openshift/router, haproxy-config.template (compression type); openshift/api, operator/v1,
types_ingress.go: CompressionMIMEType, whose parameters have to be quoted; openshift/enhancements, HTTP
compression, which names text/*; HAProxy, src/flt_http_comp.c, which compares as many characters as the
setting has, and takes * for a character.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from f5router.config import parsers

BIGIP = "BIG-IP"
UPLOAD = "Certificate upload"
OBJECTS = "BIG-IP objects"
VIRTUAL_SERVERS = "Virtual servers"
TLS = "TLS towards clients"
HTTP = "HTTP"
VXLAN = "VxLAN"
PODS = "Clusters without openshift-sdn"
ADMISSION = "Admission"
ROUTER = "Routes and their status"
CLUSTER = "Cluster"
SELECTION = "Which Routes are served"
HA = "High availability"
TIMING = "Timing"
LOGGING = "Logging"
SERVING = "Metrics and health"
GROUPS = (
    BIGIP, UPLOAD, OBJECTS, VIRTUAL_SERVERS, HTTP, TLS, VXLAN, PODS, ADMISSION, ROUTER, CLUSTER, SELECTION,
    HA, TIMING, LOGGING, SERVING,
)


@dataclass(frozen=True, slots=True)
class Option:
    """One setting."""

    name: str
    """The flag without its dashes: "f5-host"."""
    env: str
    """The variable; "" for none."""
    default: str
    """As it would be written; "" for not set."""
    group: str
    help: str
    metavar: str = "TEXT"
    parse: Callable[[str], object] = str
    """Value of a text; raises ValueError. It takes the default, unless that is ""."""
    short: str = ""
    """One letter, or ""."""
    secret: bool = False
    """The text is never repeated in a message."""

    repeats: bool = False
    """True if the flag may be given several times; the texts are joined by commas."""

    @property
    def boolean(self) -> bool:
        return self.parse is parsers.boolean

    @property
    def label(self) -> str:
        """Name in messages: "--f5-host / ROUTER_EXTERNAL_HOST_HOSTNAME"."""
        return f"--{self.name} / {self.env}" if self.env else f"--{self.name}"


def boolean(name: str, env: str, default: str, group: str, text: str) -> Option:
    return Option(name, env, default, group, text, "true|false", parsers.boolean)


_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9!#$&+._/;= -]*")


def content_types(text: str) -> tuple[str, ...]:
    """Split a list of types at blanks; quotes hold a type with parameters together.

    Returns: the types, without a `*` at their end. Raises: ValueError.
    """
    types = tuple(word.removesuffix("*") for word in shlex.split(text))
    for content_type in types:
        if not _TYPE.fullmatch(content_type):
            raise ValueError(f"{content_type!r} is not a content type such as text/html")
    return types


_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def object_name(text: str) -> str:
    """Check a name of an object. Raises: ValueError."""
    if not _SUBDOMAIN.fullmatch(text):
        raise ValueError(f"{text!r} cannot be the name of an object in the cluster")
    return text


Item = TypeVar("Item")

MOST_UNITS = 8
"""Most units of a BIG-IP device group. Source: F5's manual "BIG-IP Device Service Clustering:
Administration", Working with Device Groups."""


def unit_hosts(text: str) -> tuple[parsers.Host, ...]:
    """Host names or addresses, separated by commas; one is usual."""
    return _list(text, parsers.host, lambda address: address.netloc.lower())


def internal_addresses(text: str) -> tuple[str, ...]:
    """IPv4 addresses of the units in the Nodes' network; one is usual."""
    return _list(text, parsers.internal_address, lambda address: address)


def gateways(text: str) -> tuple[str, ...]:
    """Addresses of the units in the cluster network, with its prefix length; one is usual."""
    return _list(text, parsers.gateway, lambda gateway: gateway.partition("/")[0])


def _list(text: str, parse: Callable[[str], Item], address: Callable[[Item], str]) -> tuple[Item, ...]:
    items = tuple(parse(item.strip()) for item in text.split(","))
    if len(items) > MOST_UNITS:
        raise ValueError(f"there are more than {MOST_UNITS} addresses")
    if len(set(map(address, items))) < len(items):
        raise ValueError("one address is there twice")
    return items
