"""Names of the router's objects on a BIG-IP, and the ordinals of Rules.

Names of the original router are kept where the object means the same (openshift/origin v3.11.0,
pkg/router/f5/f5.go and plugin.go). They
are injective: namespaces, Services, hosts and Route names are made of letters, digits, "-" and
".", and none ends in ".": so "_" separates, and "._" occurs only in a name that was shortened.
"""

import ipaddress
from collections.abc import Iterable

from f5router.model import hostnames
from f5router.model.cluster import Key
from f5router.model.objects import digest
from f5router.model.route_options import HealthMonitor, TCPMonitor

INSECURE_POLICY = "openshift_insecure_routes"
SECURE_POLICY = "openshift_secure_routes"
NOOP_RULE = "default_noop"
PASSTHROUGH_IRULE = "openshift_passthrough_irule"
PROXY_IRULE = "openshift_proxy_irule"
REENCRYPT_IRULE = "openshift_reencrypt_irule"
UNAVAILABLE_IRULE = "openshift_unavailable_irule"
NOT_FOUND_IRULE = "openshift_not_found_irule"
REQUEST_IRULE = "openshift_request_irule"
LIMITS_IRULE = "openshift_limits_irule"
TIMEOUT_IRULE = "openshift_timeout_irule"
COOKIE_IRULE = "openshift_session_cookie_irule"
CLIENT_CERTIFICATE_IRULE = "openshift_client_certificate_irule"
HEADERS_IRULE, SHARE_IRULE = "openshift_headers_irule", "openshift_share_irule"
IRULE_ORDER = (
    PROXY_IRULE, SHARE_IRULE, PASSTHROUGH_IRULE, CLIENT_CERTIFICATE_IRULE, REENCRYPT_IRULE, LIMITS_IRULE,
    REQUEST_IRULE, HEADERS_IRULE, COOKIE_IRULE, TIMEOUT_IRULE, NOT_FOUND_IRULE, UNAVAILABLE_IRULE)
"""Their order on a virtual server, behind the administrator's iRules."""
POOL_VARIABLE = "f5router_pool"
"""Variable that a forwarding Rule sets to its pool, for REQUEST_IRULE."""
UNMATCHED_VARIABLE = "f5router_unmatched"
"""Variable that default_noop sets if no other Rule matched, for REQUEST_IRULE."""
WILDCARD_VARIABLE = "f5router_wildcard"
"""Variable that the Rule of a wildcard Route sets to its domain, for REQUEST_IRULE."""
INSECURE_VARIABLE = "f5router_insecure"
"""Variable that a Rule for TLS sets for REQUEST_IRULE if its Route is served without TLS, too."""
REDIRECT_VARIABLE = "f5router_redirect"
"""Variable that the Rule of a wildcard Route sets so that REQUEST_IRULE redirects the request."""
STAY_VARIABLE = "f5router_stay"
"""Variable that a forwarding Rule sets to NO_PERSISTENCE, in place of a record in PERSISTENCE_GROUP."""
HTTP_VARIABLE = "f5router_http"
"""Variable that a forwarding Rule sets to the name of a record in HTTP_GROUP, for HEADERS_IRULE."""
NOWHERE_POOL = "openshift_nowhere"
"""Pool without members, for an unmatched request that follows a matched one on its connection. The name of a
Service's pool has at least two components after "openshift_"."""

EXCLUSION = "terminate"
"""Data of an exclusion record in PASSTHROUGH_GROUP: TLS of this Host ends on the BIG-IP, although that of the
wildcard above it is passed through."""
ENDED = EXCLUSION
"""Begin of the data of a record in PASSTHROUGH_GROUP, before the full path of a pool: TLS of this Host ends
on the BIG-IP, and the connection goes to the pool without HTTP."""
PASSTHROUGH_GROUP = "ssl_passthrough_servername_dg"
REENCRYPT_GROUP = "ssl_reencrypt_serverssl_dg"
BY_SERVICE = "services"
"""Data of a pool's record in REENCRYPT_GROUP: each of its Services has a server SSL profile, the data of
service_record. The number of a pod's Service is the priority group of the pool member."""
LIMITS_GROUP = "openshift_limits_dg"
LIMITED = "__limited"
"""End of the name of a pool to which LIMITS_IRULE lets only some clients; without the iRule, or a record in
LIMITS_GROUP, nobody gets in. No other pool's name ends so: after two underscores comes a digest."""
RATED = "__rated"
"""End of the name of a pool that is open to all clients, of which LIMITS_IRULE admits each only so often;
without the iRule or a record, as often as they like."""
TIMEOUT_GROUP = "openshift_timeouts_dg"
PERSISTENCE_GROUP = "openshift_persistence_dg"
HTTP_GROUP = "openshift_http_dg"
SERVER_NAME_GROUP = "openshift_server_names_dg"
"""Server names for which there is a certificate; a wildcard is its domain after a dot."""
CERTIFICATE = "certificate"
"""Data of such a record."""
OWNER_GROUP = "openshift_owners_dg"
"""Owners of the records in PASSTHROUGH_GROUP that lead to pods of virtual Routes: under the name of such a
record, the stem of its Route. A record without an owner here belongs to a Route of the cluster, but only if
this group has OWNERS_KNOWN: earlier releases recorded no owners."""
OWNERS_KNOWN, OWNERS_KNOWN_DATA = "/known", "yes"
"""Name and data of the record in OWNER_GROUP that says that every owner is recorded."""
STRICT, STRICT_DATA = "/strict", "on"
"""Name and data of the record in SERVER_NAME_GROUP with which PASSTHROUGH_IRULE refuses all other names."""
SOURCE, COOKIE, NO_PERSISTENCE = "source", "cookie", "off"
"""Data of a record in PERSISTENCE_GROUP: each client stays with a pod by its address, by a cookie, or not at
all. Behind COOKIE may come the name of the cookie and its SameSite, a slash before each."""
COMPRESSION_PROFILE = "openshift_http-compression-profile"
VXLAN_PROFILE = "vxlan-ose"
TUNNEL = "vxlan5000"
POD_ROUTE = "openshift_pods_"

NODE_DESCRIPTION = "made by f5router for pool members"
"""Description of LTM nodes created separately; every router with a shared partition may remove them."""

STEM_LIMIT = 150
"""Longest stem: the characters of a name that come from the cluster. With folder and suffix a full path stays
below the device's 255 (bigip-behaviour.md B10, inferred there)."""


def service_numbers(services: Iterable[str]) -> dict[str, int]:
    """Return the number of each Service of a pool, for records of REENCRYPT_GROUP."""
    return {service: number for number, service in enumerate(sorted(services), start=1)}


def service_record(pool: str, number: int) -> str:
    """Return the name of the record in REENCRYPT_GROUP for a Service of a pool. No pool has such a name."""
    return f"{pool}/{number}"


def server_name(service: str, namespace: str) -> str:
    """Return the name in the certificate of a Service, if the default destination CA has signed it.

    Source: docs.openshift.com, Service serving certificate secrets.
    """
    return f"{service}.{namespace}.svc"


def shorten(stem: str) -> str:
    """Return a stem of at most STEM_LIMIT characters: itself, or its beginning and its digest."""
    if len(stem) <= STEM_LIMIT:
        return stem
    return f"{stem[: STEM_LIMIT - 18]}._{digest(stem)}"


def full_path(folder: str, name: str) -> str:
    """Return the full path of a name in our folder."""
    return f"{folder}/{name}"


def route(key: Key) -> str:
    """Return the stem of the names of a Route's objects: the original's openshift_route_<ns>_<name>."""
    return shorten(f"openshift_route_{key.namespace}_{key.name}")


VIRTUAL = {"Ingress": "-i-", "IngressRoute": "-c-", "HTTPRoute": "-h-", "Gateway": "-g-",
           "TLSRoute": "-t-", "TCPRoute": "-s-", "BackendTLSPolicy": "-b-"}
"""By kind: beginning of the name of a virtual Route. No object of the cluster has such a name: no DNS label
begins with "-". It stands first, where `shorten` leaves it."""


def virtual_route(kind: str, name: str, distinction: str) -> str:
    """Return the name of a virtual Route.

    Args: distinction: what distinguishes it from others of the same object.
    """
    return f"{VIRTUAL[kind]}{digest(distinction)}.{name}"


def virtual_kind(name: str) -> str:
    """Return the kind of object that a virtual Route's Rule or other object was made for; "" for none."""
    return next((kind for kind, marker in VIRTUAL.items() if f"_{marker}" in name), "")


def route_kind(name: str) -> str:
    """Return the kind of object that the Route of a Rule, file or stem stands for; "" if it is no Route's.

    Args: name: a bare name or a full path.
    """
    is_of_route = name.rsplit("/", 1)[-1].startswith("openshift_route_")
    return virtual_kind(name) or "Route" if is_of_route else ""


def label(key: Key, kind: str = "") -> str:
    """Return the name of a Route in logs and output: for a virtual Route, the name of its source object.

    Args: kind: what stands before the name of a Route that is none of these.
    """
    suffix = f" on front end {key.front_end}" if key.front_end else ""
    if virtual := virtual_kind(f"_{key.name}"):
        return f"{virtual} {key.namespace}/{key.name.partition('.')[2]}{suffix}"
    return f"{kind} {key}{suffix}".lstrip()


def rule(key: Key, alternative: int = 0) -> str:
    """Return the name of a Route's Rule; a Route whose path needs several has one per alternative."""
    return route(key) if not alternative else f"{route(key)}__{alternative}"


def pool(folder: str, service: Key, port: str = "", tls: str = "", route: str = "",
         ending: str = "") -> str:
    """Return the full path of the pool of a Service port.

    Args:
        port: targetPort of the Route, number or name; "" for every port of the Service.
        tls: digest of the TLS towards pods, "" for none: Routes share a pool only if it is equal.
        route: name of the Route to which alone the pool belongs, "" for none.
        ending: LIMITED or RATED, for a pool that belongs to one Route; "" for no limits of clients.
    """
    stem = f"openshift_{service.namespace}_{service.name}"
    if port or tls or route:
        stem += f"_{port}"
    if tls or route:
        stem += f"_{tls}"
    if route:
        stem += f"_{digest(route)}"
    return full_path(folder, shorten(stem) + ending)


def limits_clients(pool: str) -> bool:
    """True for the full path of a pool that LIMITS_IRULE looks at."""
    return pool.endswith((LIMITED, RATED))


def address_list(folder: str, addresses: Iterable[str]) -> str:
    """Return the full path of the data-group of a list of addresses; equal lists share one."""
    return full_path(folder, f"openshift_addresses_{digest(' '.join(sorted(addresses)), 32)}_dg")


def tcp_monitor(folder: str, interval_s: int) -> str:
    """Return the full path of the monitor with an interval; all pools share it."""
    return full_path(folder, f"{TCPMonitor.STEM}{interval_s}")


def monitor(folder: str, kind: type[HealthMonitor], value: str, *, use: str = "") -> str:
    """Return the full path of a monitor of a kind.

    Args: value: text of all its properties; use: HTTPSMonitor.VERIFYING for one that verifies pods.
    """
    return full_path(folder, f"{kind.STEM}{use}{digest(value)}")


def pool_key(folder: str, path: str) -> tuple[Key, str, str] | None:
    """Return Service, port and tls from a full path made by `pool`.

    Returns: None if the path was shortened, or the pool belongs to one Route.
    """
    parts = path.removeprefix(f"{folder}/openshift_").split("_")
    if "._" in path or not 2 <= len(parts) <= 4:
        return None
    namespace, service, port, tls = (*parts, "", "")[:4]
    return Key(namespace, service), port, tls


def own_pool_key(folder: str, path: str) -> tuple[Key, str, str, str, str] | None:
    """Return Service, port, tls, digest of the Route's name and ending from a full path made by `pool`.

    Returns: None if the path was shortened, or the pool does not belong to one Route.
    """
    ending = next((ending for ending in (LIMITED, RATED) if path.endswith(ending)), "")
    parts = path.removeprefix(f"{folder}/openshift_").removesuffix(ending).split("_")
    if "._" in path or len(parts) != 5:
        return None
    namespace, service, port, tls, route = parts
    return Key(namespace, service), port, tls, route, ending


def pool_namespace(path: str) -> str:
    """Return the namespace of a pool's Service, which every name made by `pool` contains."""
    return path.rsplit("/", 1)[-1].removeprefix("openshift_").split("_", 1)[0]


def rule_namespace(name: str) -> str:
    """Return the namespace of a Rule's Route, which every name made by `rule` contains."""
    return name.removeprefix("openshift_route_").split("_", 1)[0]


def vxlan_profile(folder: str) -> str:
    """Return the full path of the VxLAN profile.

    Source of this and the next three: openshift/origin v3.11.0, pkg/router/f5/f5.go: ensureVxLANTunnel,
    checkIPAndGetMac.
    """
    return full_path(folder, VXLAN_PROFILE)


def tunnel(folder: str) -> str:
    """Return the full path of the tunnel."""
    return full_path(folder, TUNNEL)


def self_ip(folder: str, cidr: str) -> str:
    """Return the full path of the self IP; its name is its address with the prefix length."""
    return full_path(folder, cidr)


def fdb_mac(address: str) -> str:
    """Return the name of a Node's FDB record: 0a:0a and the bytes of its address; "" if that is not IPv4.

    A placeholder: the device learns the pods' own MAC addresses by ARP.
    """
    try:
        ipv4 = ipaddress.IPv4Address(address)
    except ValueError:
        return ""
    return ":".join(["0a", "0a", *(f"{byte:02x}" for byte in ipv4.packed)])


def pod_route(folder: str, network: str) -> str:
    """Return the full path of the route to a network of pods, such as openshift_pods_10.128.0.0_23.

    If a network moves to another Node, only the gateway of its route changes; two routes to one network,
    which the device may refuse, never exist. A colon of IPv6 becomes "-": which other characters a name may
    hold is not recorded (bigip-behaviour.md B1).
    """
    return full_path(folder, POD_ROUTE + network.replace(":", "-").replace("/", "_"))


LABEL, HEX = r"[a-z0-9.-]+", r"[0-9a-f]{16}"
"""Patterns of a component of a name, and of a digest."""
STEM = rf"openshift_route_{LABEL}_{LABEL}(?:_{HEX})?"
"""Pattern of the name of a Route's objects, without what follows."""


def route_key(stem: str, front_end: str = "") -> Key | None:
    """Return the Route of a stem on a front end; None if it was shortened."""
    parts = stem.removeprefix("openshift_route_").split("_")
    return Key(parts[0], parts[1], front_end) if len(parts) == 2 and "._" not in stem else None


def draft_paths(policy: str) -> tuple[str, ...]:
    """Return the paths that the draft of a policy may have, likeliest first.

    Recorded for policies in the root of a partition: /P/Drafts/x (bigip-behaviour.md B4). For nested
    folders nothing is recorded, so both paths are tried.
    """
    folder, _, name = policy.rpartition("/")
    root = "/" + folder.split("/")[1]
    return tuple(dict.fromkeys((f"{folder}/Drafts/{name}", f"{root}/Drafts/{name}")))


MAX_PATH = 2000
"""Longest Route path that has a priority band of its own; an exact one is shorter."""

BAND_WIDTH = 1 << 18
"""Ordinals in a band of Routes with exact hosts."""

WILDCARD_WIDTH = 1 << 15
"""Ordinals in a band of wildcard Routes; there are 20 times as many bands. All stay below 2 ** 31."""

_WILDCARDS = MAX_PATH + 2
"""The first band of wildcard Routes, and the number of bands before."""

LAST_ORDINAL = 2**31 - 1
"""Ordinal of default_noop, which comes after every other Rule."""

CLOSING_BAND = _WILDCARDS + hostnames.MOST_LABELS * (MAX_PATH + 1)
"""The band of Rules that keep what no Route of a Host serves from the default backend."""

DEFAULT_BAND = CLOSING_BAND + 1 + MAX_PATH
"""The last band: that of the default backend; its paths have those before."""


def priority_band(path: str, *, labels: int = 0, exact: bool = False, default: bool = False) -> int:
    """Return the band of a Route: exact hosts first, then longer domains, then longer paths.

    Two Routes that can both match one request differ in it. An exact path has the band of those that are
    one character longer, which never match its only request. A condition on the end of a name matches at
    any depth, so the wildcard of a subdomain comes before that of the domain above. Source:
    openshift/router, pkg/router/template/util/util.go: SortMapPaths.

    Args:
        exact: True if the path stands for itself alone; it is shorter than MAX_PATH then.
        labels: number of labels in a wildcard's domain, at most hostnames.MOST_LABELS; 0 for an exact host.
        default: True for all hosts that nobody claims.
    """
    length = len(path or "/") + 1 if exact else len(path)
    shorter = MAX_PATH - min(length, MAX_PATH)
    if not labels:
        return (CLOSING_BAND + 1 if default else 1) + shorter
    return _WILDCARDS + (hostnames.MOST_LABELS - labels) * (MAX_PATH + 1) + shorter


def band_ordinals(band: int) -> range:
    """Return the ordinals of a band."""
    if band < _WILDCARDS:
        return range(band * BAND_WIDTH, (band + 1) * BAND_WIDTH)
    start = _WILDCARDS * BAND_WIDTH + (band - _WILDCARDS) * WILDCARD_WIDTH
    return range(start, start + WILDCARD_WIDTH)


def band_of(ordinal: int) -> int:
    """Return the band that an ordinal belongs to."""
    above = ordinal - _WILDCARDS * BAND_WIDTH
    return ordinal // BAND_WIDTH if above < 0 else _WILDCARDS + above // WILDCARD_WIDTH


def first_place(ordinals: range, name: str) -> int:
    """Return where the search for a free one begins; spread by name, so that few Rules collide."""
    return int(digest(name), 16) % len(ordinals)
