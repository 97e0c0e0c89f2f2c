"""Settings of one Route besides its spec, checked and in one unit; and the monitors that check its pods.

Sources: openshift/router, images/router/haproxy/conf/haproxy-config.template (balance,
setForwardedHeadersPattern, http-request replace-path; router.openshift.io/cookie_name, cookie-same-site), and
pkg/router/template/util/rewritetarget/rewritetarget.go, for what quotes, `#`, `%` and backslashes mean; tmsh
reference, ltm pool load-balancing-mode.

Routes with equal health checks share a monitor. The record of a pool in names.LIMITS_GROUP says which clients
may use it, and how often each of them. Its data is the name of a list of addresses. Limits of each client
follow behind slashes, as in `openshift_addresses_<digest>_dg/10/0/100`; without a list there is a hyphen in
its place.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from f5router.model import texts
from f5router.model.objects import NamedObject, Ref

SERVER_SSL = "ltm/profile/server-ssl"
"""Kind of server SSL profiles."""


class HealthCheck(NamedTuple):
    """An entry of the annotation `health`, or a check with thresholds; its fields are valid."""

    path: str
    """Path of the Route for which it is."""
    type: str
    """http, https or tcp."""
    interval_s: int
    timeout_s: int
    send: str = ""
    """Request in the form of the BIG-IP; "" with tcp."""
    recv: str = ""
    """Regular expression without quantifiers; "": any answer is a good one."""
    until_up_s: int = 0
    """How long a pod must go on answering after its first good answer before it is up."""


def check_of_path(checks: tuple[HealthCheck, ...], path: str) -> HealthCheck | None:
    """Return the check of a Route: the last one for its path, else the last one for all of a Service.

    Source: F5Networks/k8s-bigip-ctlr, pkg/appmanager: assignHealthMonitorsByPath.
    """
    by_path = {check.path: check for check in checks}
    return by_path.get(path or "/") or by_path.get("/")


@dataclass(frozen=True, slots=True)
class HealthMonitor(NamedObject):
    """Properties of every monitor."""

    STEM: ClassVar[str]
    """Beginning of its name, which the interval or a digest follows."""
    interval_s: int
    timeout_s: int
    """How long a member may go without a good answer before it is down."""
    until_up_s: int = 0
    """How long a member must go on answering after its first good answer before it is up."""


@dataclass(frozen=True, slots=True)
class TCPMonitor(HealthMonitor):
    """Opens a TCP connection to each member."""

    KIND: ClassVar[str] = "ltm/monitor/tcp"
    STEM: ClassVar[str] = "openshift_monitor_tcp_"


@dataclass(frozen=True, slots=True)
class HTTPMonitor(HealthMonitor):
    """Sends a request to each member."""

    KIND: ClassVar[str] = "ltm/monitor/http"
    STEM: ClassVar[str] = "openshift_monitor_http_"
    send: str = ""
    """The request in the form of the BIG-IP, with \\r\\n for ends of lines."""
    recv: str = ""
    """Regular expression that the answer must match; "": any answer is a good one."""


@dataclass(frozen=True, slots=True)
class HTTPSMonitor(HTTPMonitor):
    """Sends a request over TLS."""

    KIND: ClassVar[str] = "ltm/monitor/https"
    STEM: ClassVar[str] = "openshift_monitor_https_"
    VERIFYING: ClassVar[str] = "tls_"
    """Text behind the stem in the name of one with a server SSL profile."""
    ssl_profile: str = ""
    """Full path of the server SSL profile by which it verifies the pods; "": it verifies nothing."""

    @property
    def dependencies(self) -> tuple[Ref, ...]:
        return (Ref(SERVER_SSL, self.ssl_profile),) if self.ssl_profile else ()


MONITOR_TYPES: Mapping[str,
                       type[HealthMonitor]] = {cls.KIND: cls
                                               for cls in (TCPMonitor, HTTPMonitor, HTTPSMonitor)}
"""By kind."""


def monitor_kind(path: str) -> str:
    """Return the kind of one of our monitors by its full path; "" for a foreign monitor, or none."""
    if not path:
        return ""  # as most pools have it
    name = path.rpartition("/")[2]
    return next((kind for kind, cls in MONITOR_TYPES.items() if name.startswith(cls.STEM)), "")


MAX_CHECK_S = 28799
"""Longest interval of a monitor, whose time-out must not exceed 86,400 s. Source: F5Networks/f5-ansible,
bigip_monitor_tcp."""
MAX_TIMEOUT_S = 86400


def interval_s(interval_ms: int) -> int:
    """Return the interval of a monitor, in whole seconds; 0 for none."""
    return min(texts.parse_seconds(interval_ms), MAX_CHECK_S)


LONGEST_REWRITE = 1000
"""Characters of a target."""
_LONGEST_TEXT = 4 * LONGEST_REWRITE
"""Likewise, of an annotation: a character of a target may need several there."""
REWRITE_TEXT = ("a path that begins with /, in printable ASCII without blanks, of at most 1000 characters, "
                "and with backslashes only before quotes, # and others that stand for themselves")

URL_PATH = re.compile(rf"/[A-Za-z0-9/._~%&=+,:;@!*-]{{0,{LONGEST_REWRITE - 1}}}")
"""Characters that have no meaning to a BIG-IP, and none in an address beyond its path."""

_PATH = re.compile(rf"/[!-\[\]-~]{{0,{LONGEST_REWRITE - 1}}}")
"""Printable ASCII but the backslash, which HAProxy takes for the beginning of a group's number."""


@dataclass(frozen=True, slots=True)
class PathRewrite:
    """Replacement for the path of a Route at the beginning of a request's path."""

    target: str
    keeps_rest: bool
    """True if what follows the path of the Route goes on behind the target."""
    drops_slash: bool
    """True if a slash at the beginning of that is left out."""
    needs_path: bool = False
    """True if it has an effect on Routes with a path only."""


def parse_rewrite(text: str) -> PathRewrite:
    """Read a rewrite-target. Raises: ValueError."""
    if not text.startswith("/") or len(text) > _LONGEST_TEXT:
        raise ValueError(text)
    kept, comment = _until_comment(text)
    for mark in "\"'":
        kept = "".join(char for char, escaped in _escaped(kept) if char != mark or escaped)
    kept = re.sub("%+", lambda run: run[0] if len(run[0]) % 2 else run[0][::2], kept)
    target = re.sub(r"\\+", lambda run: run[0][1:] if len(run[0]) == 1 else run[0], kept)
    if _PATH.fullmatch(target) is None:
        raise ValueError(text)
    return PathRewrite(target, keeps_rest=not comment, drops_slash=text == "/")


def parse_url_rewrite(text: str) -> PathRewrite:
    """Read a rewrite-target-url that is a path. Raises: ValueError.

    The path of the Route becomes this one; a Route without a path is left alone. Source:
    F5Networks/k8s-bigip-ctlr, pkg/resource: ProcessURLRewrite, ParseRewriteAction.
    """
    if _PATH.fullmatch(text) is None or not URL_PATH.fullmatch(text):
        raise ValueError(text)
    return PathRewrite(text, keeps_rest=True, drops_slash=text == "/", needs_path=True)


def parse_app_root(text: str) -> str:
    """Read a rewrite-app-root. Raises: ValueError: no path, or the root itself."""
    if URL_PATH.fullmatch(text) is None or text.strip("/") == "" or text.startswith("//"):
        raise ValueError(text)
    return text


def _until_comment(text: str) -> tuple[str, bool]:
    """Return the text before the first `#` that is not escaped, and True if there is one."""
    for at, (char, escaped) in enumerate(_escaped(text)):
        if char == "#" and not escaped:
            return text[:at], True
    return text, False


def _escaped(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each character, and True behind a backslash that is not escaped itself."""
    escaped = False
    for char in text:
        yield char, escaped
        escaped = char == "\\" and not escaped


@dataclass(frozen=True, slots=True)
class RouteOptions:
    """Options of a Route; each default means "as the router is configured"."""

    balance: str = ""
    """roundrobin, leastconn, random, source or route_options.BY_NODE."""
    pod_connections: int = 0
    """Connections at a time to each pod; 0 for no limit."""
    most_connections: int = 0
    """Connections at a time of one client, which the one with this number is refused; 0 for any number."""
    connection_rate: int = 0
    """Likewise, connections of one client in 3 seconds."""
    request_rate: int = 0
    """Requests of one client in 10 seconds; 0 for any number."""
    sources: tuple[str, ...] = ()
    """CIDRs of the clients that may connect, sorted; empty: all clients may."""
    timeout_ms: int = 0
    """Milliseconds to wait for a pod's response; for passthrough, as tunnel_timeout_ms."""
    tunnel_timeout_ms: int = 0
    """Milliseconds without data on an upgraded or passed-through connection."""
    disable_cookies: bool = False
    """True if no session cookie keeps a client with a pod."""
    unbound_by_rules: bool = False
    """True if the Rules say so, and no record of the pool."""
    session_cookie: bool = False
    """True if one does, whatever the router's default is."""
    cookie_name: str = ""
    """Name of the session cookie."""
    same_site: str = ""
    """SameSite of the session cookie: Lax or Strict."""
    hsts: str = ""
    """Header Strict-Transport-Security of responses over TLS."""
    rewrite: PathRewrite | None = None
    """Rewriting of the path of requests."""
    app_root: str = ""
    """Path to which requests for / are redirected."""
    redirect_to: str = ""
    """URL to which all requests are redirected, in the place of pods; "" for none."""
    redirect_code: int = 0
    """Status of that redirect."""
    server_profile: str = ""
    """Full path of the server SSL profile that it names."""
    verify_pods: bool | None = None
    """True if TLS towards pods must be verified, False if it must not; None: where there is a CA for it."""
    health: tuple[HealthCheck, ...] = ()
    """Health checks, each for a path."""
    forwarded: str = ""
    """One of route_options.FORWARDED_POLICIES."""
    request_actions: tuple[str, ...] = ()
    """Actions on the headers of requests, each as header_actions encodes it."""
    response_actions: tuple[str, ...] = ()
    """Likewise, of responses."""
    check_interval_ms: int = 0
    """Milliseconds between two health checks of a pod."""
    reply: str = ""
    """Answer of the BIG-IP in the place of pods, as http_edge encodes it; "" for none. A Route without a
    Service has nothing else."""

    @property
    def asks_for_cookie(self) -> bool:
        """True if a session cookie is wanted whatever the router's default is."""
        return self.session_cookie or bool(self.cookie_name)

    @property
    def rates(self) -> tuple[int, int, int]:
        """The limits of each client, in the order of a record in names.LIMITS_GROUP."""
        return self.most_connections, self.connection_rate, self.request_rate


DEFAULTS = RouteOptions()

FORWARDED_APPEND, REPLACE, IF_NONE, FORWARDED_NEVER = "append", "replace", "if-none", "never"
FORWARDED_POLICIES = (FORWARDED_APPEND, REPLACE, IF_NONE, FORWARDED_NEVER)
"""Add headers to those that the client sent; replace these; add those that it did not send; add none."""

COOKIE_NAME_TEXT = "1 to 128 letters, digits, _ and -, not beginning with -"
DEFAULT_SAME_SITE = "None"
SAME_SITE = ("Lax", "Strict", DEFAULT_SAME_SITE)

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,127}")


def parse_cookie_name(text: str) -> str:
    """Check the name of a cookie. A dash at its beginning could be an option to a command of an iRule.

    Raises: ValueError.
    """
    if not _NAME.fullmatch(text):
        raise ValueError(f"must be {COOKIE_NAME_TEXT}")
    return text


_NO_LIST = "-"


def encode_limits(addresses: str, limits: Iterable[int]) -> str:
    """Return the data of a record.

    Args:
        addresses: full path of the list, "" for all clients.
        limits: of each client, 0 for none; empty for a list alone, as earlier releases wrote it.
    """
    return "/".join((addresses.rsplit("/", 1)[-1] or _NO_LIST, *map(str, limits)))


def list_of_limits(data: str) -> str:
    """Return the name of the list in the data of a record; "" for none."""
    name = data.partition("/")[0]
    return "" if name == _NO_LIST else name


ALGORITHMS = ("roundrobin", "leastconn", "random", "source")

BY_NODE = "least-connections-node"
"""The BIG-IP's method that counts all connections of a pod, whatever pools lead to it, and no weights."""

BALANCING_METHODS = {
    "round-robin": "roundrobin", "ratio-member": "roundrobin", "ratio-session": "roundrobin",
    "ratio-node": "roundrobin",
    "least-connections-member": "leastconn", "ratio-least-connections-member": "leastconn",
    "weighted-least-connections-member": "leastconn",
    BY_NODE: BY_NODE, "ratio-least-connections-node": BY_NODE,
}
"""Methods of the BIG-IP, each with the algorithm that means the same for members of ours, whose weights and
limits come from the Route and whose nodes have none.

The others are left out. dynamic-ratio-* needs an agent on each pod, least-sessions a persistence profile on
the virtual server, weighted-least-connections-node a limit on each node. fastest-* sends most requests to a
pod that fails at once. observed-* and predictive-* are computed every second for each member, at the cost of
everybody else: F5 does not recommend them for large pools. Source: techdocs.f5.com, BIG-IP Local Traffic
Management, "Load balancing methods".
"""


@dataclass(frozen=True, slots=True)
class BalancingDefaults:
    """The router's settings, which apply where a Route has no annotation."""

    http: str = ""
    """One of ALGORITHMS; "" if the operator did not choose."""
    tcp: str = ""
    """The same, for passthrough."""
    cookies: bool = True
    """True if a session cookie keeps a client with its pod where the algorithm is not source."""

    def of(self, termination: str, *, several: bool = False) -> str:
        """Return the algorithm of a Route that sets none.

        Args: several: True if several of its Services have a weight above 0.
        """
        if several:
            return "roundrobin"
        if termination == "passthrough":
            return self.tcp or self.http or "source"
        return self.http or "random"
