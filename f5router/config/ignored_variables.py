"""Variables and flags of OpenShift's routers without effect here: reported at start, not ignored in silence.

Rows: openshift/router, pkg/cmd/infra/router/router.go and template.go (what the controller reads),
images/router/haproxy/conf/haproxy-config.template (what HAProxy's configuration reads); openshift/origin
v3.11.0, pkg/cmd/infra/router/router.go and f5.go (flags of the original F5 router).
A test holds docs/haproxy-settings.md against these tables.
"""

import re
from collections.abc import Callable, Iterable

from f5router.model.texts import did_you_mean

PREFIX = "ROUTER_"
"""Variables of other programs in the pod do not begin so."""
LIKELY = 0.8
"""Least similarity of a variable that is perhaps meant: all have the same beginning."""

_SERVICE_HOST, _SERVICE_LINK = "_SERVICE_HOST", re.compile(r"_SERVICE_HOST|_SERVICE_PORT(_\w+)?|_PORT(_\w+)?")
"""Endings of what the kubelet sets for each Service of the namespace, such as one named "router". Source:
kubernetes.io, Accessing the Service, Environment variables; pkg/kubelet/envvars/envvars.go."""

_DEVICE = "the BIG-IP serves without the router, and keeps serving when it ends"
_RELOAD = "nothing is reloaded: changes are written as they come, see --hold-off"
_HAPROXY = "part of HAProxy's router"
_HTTP2 = "clients are served by HTTP/1.1, see limits.md"
_NGINX = "part of the nginx router"
_CACHE = "metrics are counted by the router, not fetched from HAProxy"

_POLICY_MODEL = "the TMOS version and the policies that are there decide how LTM policies are changed"

WITHOUT_MEANING = {
    "ROUTER_SERVICE_NAMESPACE": "the router does not look for its own Service",
    "UPGRADE_VALIDATION": "there are no such rules any longer",
    "DEBUG_UPGRADE_VALIDATION_FORCE_ADD_CONDITION": "there are no such rules any longer",
    "DEBUG_UPGRADE_VALIDATION_FORCE_REMOVE_CONDITION": "there are no such rules any longer",
    "RELOAD_INTERVAL": _RELOAD,
    "COMMIT_INTERVAL": _RELOAD,
    "MAX_RELOAD_WAIT_TIME": _RELOAD,
    "RESYNC_INTERVAL": "no router reads it, though documents name it; see --resync-interval",
    "RELOAD_SCRIPT": _RELOAD,
    "TEMPLATE_FILE": _HAPROXY,
    "ROUTER_BIND_PORTS_AFTER_SYNC": _DEVICE,
    "ROUTER_BIND_PORTS_BEFORE_SYNC": _DEVICE,
    "ROUTER_GRACEFUL_SHUTDOWN_DELAY": _DEVICE,
    "ROUTER_MAX_SHUTDOWN_TIMEOUT": _DEVICE,
    "ROUTER_METRICS_HAPROXY_TIMEOUT": _CACHE,
    "ROUTER_METRICS_HAPROXY_BASE_SCRAPE_INTERVAL":
        "statistics are read from the BIG-IP, see --f5-statistics-interval",
    "ROUTER_METRICS_HAPROXY_SERVER_THRESHOLD":
        "pool members have metrics only if they are asked for, see --f5-statistics-members",
    "ROUTER_METRICS_HAPROXY_EXPORTED": _CACHE,
    "ROUTER_METRICS_HAPROXY_SCRAPE_URI": _CACHE,
    "ROUTER_METRICS_HAPROXY_PID_FILE": _CACHE,
    "ROUTER_METRICS_READY_HTTP_URL": "readiness is at /readyz, see monitoring.md",
    "ROUTER_METRICS_TLS_CURVES": "metrics over TLS use the curves that OpenSSL chooses",
    "ROUTER_METRICS_AUTHENTICATOR_CA_FILE": "metrics are protected by user and password, not by tokens",
    "ROUTER_HAPROXY_CONFIG_MANAGER": "every change is made without a reload",
    "ROUTER_BLUEPRINT_ROUTE_NAMESPACE": "every change is made without a reload",
    "ROUTER_BLUEPRINT_ROUTE_LABELS": "every change is made without a reload",
    "ROUTER_BLUEPRINT_ROUTE_POOL_SIZE": "every change is made without a reload",
    "ROUTER_MAX_DYNAMIC_SERVERS": "every change is made without a reload",
    "OPENSHIFT_PROFILE": "for programs written in Go",
    "OPENSHIFT_ON_PANIC": "for programs written in Go",
    "ROUTER_MUTUAL_TLS_HEADER_FILTER": "headers that vouch for a client are always removed",
    "ROUTER_SERVICE_SNI_PORT": _HAPROXY,
    "ROUTER_SERVICE_NO_SNI_PORT": _HAPROXY,
    "ROUTER_DISABLE_HTTP2": _HTTP2,
    "ROUTER_ENABLE_HTTP2": _HTTP2,
    "ROUTER_THREADS": _HAPROXY,
    "ROUTER_HARD_STOP_AFTER": _HAPROXY,
    "ROUTER_BACKEND_PROCESS_ENDPOINTS": "the order of pool members does not matter",
    "ROUTER_HAPROXY_CONTSTATS": _HAPROXY,
    "ROUTER_HAPROXY_ADMIN_UNIX_SOCKET": _HAPROXY,
    "ROUTER_ABORT_ON_CLOSE": _HAPROXY,
    "ROUTER_IDLE_CLOSE_ON_RESPONSE": _HAPROXY,
    "ROUTER_DONT_LOG_NULL": "connections without a request are not logged",
    "ROUTER_HTTP_IGNORE_PROBES": "connections without a request are not logged",
    "ROUTER_H1_CASE_ADJUST": "names of headers keep the case in which they are sent",
    "ROUTER_PROXY_PROTOCOL_TRUSTED_SOURCE": _NGINX,
    "ROUTER_SERVICE_503_SERVER_PORT": _NGINX,
    "ROUTER_SERVICE_INTERNAL_PASSTHROUGH_PORT": _NGINX,
    "ROUTER_USE_HTTP2": _NGINX,
    "ROUTER_F5_POLICY_MODEL": _POLICY_MODEL,
}
"""Variable to the reason why it has none on a BIG-IP."""

FLAGS = {
    "enable-ingress": "Ingresses are a kind of --sources",
    "include-udp-endpoints": "both virtual servers carry TCP only",
    "f5-policy-model": _POLICY_MODEL,
}
"""Flag to the reason why it has no effect; the last was a setting of earlier versions."""

_WHOLE = "a template of request logging has a header as a whole, and cannot cut it"

INEXACT = {
    "ROUTER_LOG_MAX_LENGTH": "a template of request logging cannot cut a line; --syslog-format chooses what "
                             "is in it",
    "ROUTER_CAPTURE_HTTP_REQUEST_HEADERS": f"{_WHOLE}; if it may be whole, --syslog-format has it with "
                                           "%[req.hdr(NAME)]",
    "ROUTER_CAPTURE_HTTP_RESPONSE_HEADERS": _WHOLE,
    "ROUTER_CAPTURE_HTTP_COOKIE": "a template of request logging has all cookies of a request, and cannot "
                                  "pick one",
}
"""Variable of the access log to the reason why the BIG-IP cannot do it.

A header that is not cut may show to readers of the log what it was cut for, such as a password. Source: F5's
manual "Using the Request Logging Profile", whose words have no length.
"""

PROFILES = {
    "ROUTER_IP_V4_V6_MODE": "destination of both virtual servers, for IPv4 or for IPv6: see "
                            "--f5-vserver-address",
    "ROUTER_CURVES": "dh-groups of a cipher rule, in the cipher group of /Common/clientssl and of the "
                     "default client SSL profile",
}
"""Variable to what the administrator sets instead, on the virtual servers or in their profiles.

Source: clouddocs, tmsh reference, ltm virtual and ltm cipher rule.
"""

_FALSE = ("0", "f", "F", "false", "FALSE", "False")

REFUSED = {
    "ROUTER_METRICS_TYPE": (("haproxy",), "haproxy is the only type"),
    "ROUTER_DISABLE_ENDPOINT_ADDRESS_VALIDATION": (
        _FALSE, "addresses of loopback, link-local and metadata services never become pool members"),
}
"""Variable to the texts that pass nevertheless, and why others do not."""


def problems(given: Callable[[str], str]) -> list[str]:
    """Return one sentence for each variable that is refused.

    Args: given: text of a variable, "" for not set.
    """
    return [f"{name}: {why}" for name, (good, why) in REFUSED.items() if given(name) not in ("", *good)]


def warnings(given: Callable[[str], str], has_flag: Callable[[str], bool]) -> list[str]:
    """Return one sentence for each flag and variable that is set without effect.

    Args: given: text of a variable, "" for not set; has_flag: True for a flag that is set.
    """
    return [
        *(f"--{name}: has no effect: {why}" for name, why in FLAGS.items() if has_flag(name)),
        *(f"{name}: without meaning on a BIG-IP: {why}"
          for name, why in WITHOUT_MEANING.items() if given(name)),
        *(f"{name}: has no effect: {why}" for name, why in INEXACT.items() if given(name)),
        *(f"{name}: has no effect; on the BIG-IP, set {what}"
          for name, what in PROFILES.items() if given(name)),
    ]


def unknown(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Return one sentence for each variable that looks like the router's, and is not.

    Args: names: of all variables that are set; known: those of the settings.
    """
    known = sorted({*known, *WITHOUT_MEANING, *INEXACT, *PROFILES, *REFUSED})
    names = sorted(name for name in names if name.startswith(PREFIX))
    services = [name.removesuffix(_SERVICE_HOST) for name in names if name.endswith(_SERVICE_HOST)]
    sentences = []
    for name in names:
        if name in known or any(_SERVICE_LINK.fullmatch(name.removeprefix(service)) for service in services):
            continue
        hint = did_you_mean(name, known, cutoff=LIKELY)
        sentences.append(f"{name}: unknown variable, it has no effect{hint}")
    return sentences
