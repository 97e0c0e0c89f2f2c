"""Checks an entry of an IngressRoute by itself, and makes its virtual Route, as its root publishes it.

Nothing here depends on who delegates to the object. Texts of errors are Contour's where it has one. Sources:
projectcontour/contour v1.5.1, internal/dag/builder.go (processRoutes), and v0.15.3 for the check of weights;
docs/ingressroute.md of both; design/ingressroute-design.md (defaults of health checks).

A path that looks like a regular expression is compared as text, whatever kind of object has it: teams come
from controllers that take some paths for expressions. Sources: Kubernetes v1.17, extensions/v1beta1,
HTTPIngressPath ("an extended POSIX regex"); kubernetes/ingress-nginx,
docs/user-guide/ingress-path-matching.md; projectcontour/contour v1.5.1, internal/dag/builder.go: route ("path
smells like a regex").
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from f5router.admission import health
from f5router.model import hostnames, names, route_options, texts
from f5router.model.cluster import (
    CA_CRT,
    Backend,
    Key,
    Origin,
    PathMatch,
    PodAuthority,
    Route,
    RouteTLS,
    Service,
    ServicePort,
)
from f5router.model.hostnames import quote
from f5router.model.ingress import IngressRoute, RouteEntry, RouteService, ServiceHealthCheck
from f5router.model.route_options import DEFAULTS, HealthCheck, PathRewrite, RouteOptions

EXPRESSION_WARNING = "is text, not a regular expression"

_SIGNS = re.compile(r"[\[\]\\^{|}()*]|\.\+|\$$")
r"""Characters that the path of a request hardly has.

RFC 3986 3.3 allows none of []\^{|} in a path. It allows parentheses and * too, but in an Ingress these stand
for a group and a repetition far more often. Other signs occur in ordinary paths: . and +, unless they stand
together, a $ that is not at the end (/$metadata), ~ and percent-encoding.
"""


def resembles_expression(path: str) -> bool:
    """True if a path was probably meant as a regular expression."""
    return _SIGNS.search(path) is not None


STRATEGIES = {"": "roundrobin", "RoundRobin": "roundrobin", "WeightedLeastRequest": "leastconn",
              "Random": "random", "Cookie": "roundrobin"}
"""Algorithm by strategy."""
COOKIE = "Cookie"

OVER_TLS = ("tls", "h2")
"""Values of upstream-protocol whose pods speak TLS; with h2c they speak HTTP/2 in clear text. Source:
projectcontour/contour v1.5.1, internal/envoy/cluster.go."""

INTERVAL_S, TIMEOUT_S, UNHEALTHY = 5, 2, 3
CHECK_HOST = "contour-envoy-healthcheck"
"""A pod is healthy if it answers with 200."""

_MATCH = re.compile(r"/[ -\"$->@-~]*")
_DURATION = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,9}))?(ns|us|µs|ms|s|m|h)")
_NANOSECONDS = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9,
                "h": 3600 * 10**9}


@dataclass(frozen=True, slots=True)
class CheckedEntry:
    """An entry of spec.routes, or spec.tcpproxy."""

    conflict: str = ""
    """Why it means nothing: it has services and a delegate; "" if it does."""
    error: str = ""
    """Any other error, which is not looked for in an entry without services and delegate."""
    warnings: tuple[str, ...] = ()
    backends: tuple[Backend, ...] = ()
    """The Services with their weights and ports; empty where it delegates, or does nothing."""
    options: RouteOptions = DEFAULTS
    reencrypt: bool = False
    """True if the pods speak TLS."""
    authority: PodAuthority | None = None
    """By what their certificates are verified; None: as the router is configured."""


def quoted(text: str) -> str:
    """Quote a text as Go's %q does, at most 60 characters of it."""
    return '"' + quote(text)[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'


def is_below(match: str, prefix: str) -> bool:
    """True if a match lies in the space of a prefix, by segments: /foo has /foo and /foo/x, not /foobar.

    Source: projectcontour/contour v1.5.1, internal/dag/builder.go: matchesPathPrefix.
    """
    if not prefix:
        return True
    return bool(match) and f"{match.rstrip('/') if match.endswith('/') else match}/".startswith(
        prefix if prefix.endswith("/") else f"{prefix}/")


def users(obj: IngressRoute) -> Iterator[Key]:
    """Yield the Services that an IngressRoute names."""
    for entry in (*obj.routes, *((obj.tcp_proxy,) if obj.tcp_proxy else ())):
        for service in entry.services:
            yield Key(obj.key.namespace, service.name)


def check(obj: IngressRoute, entry: RouteEntry, services: Mapping[Key, Service]) -> CheckedEntry:
    """Check an entry of spec.routes."""
    place = f"route {quoted(entry.match)}"
    if entry.services and entry.delegate:
        return CheckedEntry(f"{place}: cannot specify services and delegate in the same route")
    if not entry.services and not entry.delegate:
        return CheckedEntry(warnings=(f"{place}: neither services nor delegate: it serves nothing",))
    if entry.match and not (_MATCH.fullmatch(entry.match) and len(entry.match) <= names.MAX_PATH):
        return CheckedEntry(error=f"{place}: match must begin with / and may have at most "
                            f"{names.MAX_PATH} characters, of printable ASCII without ? and #")
    expression = resembles_expression(entry.match)
    text = (f"{place}: match {EXPRESSION_WARNING}",) if expression else ()
    if entry.delegate:
        return CheckedEntry(warnings=text)
    try:
        ports = [_port(obj, service, services, place) for service in entry.services]
        options, warnings = _options(obj, entry, ports, place)
        backends = _backends(entry.services, ports)
        reencrypt = ports[0].upstream_protocol in OVER_TLS
        authority = _authority(obj, entry, place) if reencrypt else None
    except _Invalid as exc:
        return CheckedEntry(error=str(exc))
    warnings += _circuit_breakers(obj, entry, services, place)
    return CheckedEntry(warnings=(*text, *warnings), backends=backends, options=options, reencrypt=reencrypt,
                        authority=authority)


def _circuit_breakers(obj: IngressRoute, entry: RouteEntry, services: Mapping[Key, Service],
                      place: str) -> list[str]:
    """Return a warning for each Service with limits that have no effect."""
    names = dict.fromkeys(service.name for service in entry.services)
    return [f"{place}: {', '.join(words)} of Service {quoted(name)} has no effect"
            for name in names if (words := services[Key(obj.key.namespace, name)].circuit_breakers)]


def check_proxy(obj: IngressRoute, services: Mapping[Key, Service]) -> CheckedEntry:
    """Check spec.tcpproxy, which must not be None."""
    proxy = obj.tcp_proxy
    assert proxy is not None, "called without a tcpproxy"
    if proxy.services and proxy.delegate:
        return CheckedEntry("tcpproxy: cannot specify services and delegate in the same tcpproxy")
    if not proxy.services:
        return CheckedEntry(warnings=() if proxy.delegate else ("tcpproxy: no services: it serves nothing",))
    ports = []
    for service in proxy.services:
        known = services.get(Key(obj.key.namespace, service.name))
        port = next((port for port in known.ports if port.port == service.port), None) if known else None
        if port is None:
            return CheckedEntry(
                error=f"tcpproxy: service {obj.key.namespace}/{service.name}/{service.port}: not found")
        ports.append(port)
    backends = _backends(proxy.services, ports)
    options, warnings = _balance(obj, proxy.services, "tcpproxy")
    if any(service.health_check or obj.health_check for service in proxy.services):
        warnings.append("tcpproxy: healthCheck has no effect: the pods are not asked over HTTP")
    if any(service.ca_secret or service.subject_name for service in proxy.services):
        warnings.append("tcpproxy: validation has no effect: it is for clients to verify the pods")
    return CheckedEntry(warnings=tuple(warnings), backends=backends, options=RouteOptions(
        balance=options.balance))


class _Invalid(ValueError):
    """An entry that makes its IngressRoute invalid; the text is the description."""


def _port(obj: IngressRoute, service: RouteService, services: Mapping[Key, Service],
          place: str) -> ServicePort:
    """Find the port of a Service. Raises: _Invalid."""
    where = f"{place}: service {quoted(service.name)}"
    if not 1 <= service.port <= 65535:
        raise _Invalid(f"{where}: port must be in the range 1-65535")
    if (service.weight or 0) < 0:
        raise _Invalid(f"{where}: weight must be greater than or equal to zero")
    known = services.get(Key(obj.key.namespace, service.name))
    ports = [port for port in known.ports if port.port == service.port] if known else []
    if not ports:
        raise _Invalid(f"Service [{service.name[:253]}:{service.port}] is invalid or missing")
    port = next((port for port in ports if port.protocol == "TCP"), None)
    if port is None:
        raise _Invalid(f"{where}: port {service.port} is none of TCP")
    return port


def _authority(obj: IngressRoute, entry: RouteEntry, place: str) -> PodAuthority | None:
    """Return by what the pods of an entry are verified. Raises: _Invalid.

    A host name is compared with the names in the certificate. Source: projectcontour/contour v1.5.1,
    internal/dag/builder.go: lookupUpstreamValidation, whose rules for the Secret are in
    admission._authority_refusal.
    """
    validated = [service for service in entry.services if service.ca_secret or service.subject_name]
    if not validated:
        return None
    subjects: dict[str, str] = {}
    for service in validated:
        where = f"Service [{service.name[:253]}:{service.port}] TLS upstream validation policy error"
        if not service.ca_secret:
            raise _Invalid(f'{where}: invalid CA Secret "{obj.key.namespace}/": Secret not found')
        if not service.subject_name:
            raise _Invalid(f"{where}: missing subject alternative name")
        if hostnames.problem(service.subject_name.lower()):
            raise _Invalid(f"{where}: subjectName {quoted(service.subject_name)} is no host name")
        if subjects.setdefault(service.name, service.subject_name) != service.subject_name:
            raise _Invalid(f"{where}: the Service has another subjectName in the same route")
    if len({service.ca_secret for service in entry.services}) > 1:
        raise _Invalid(f"{place}: its services differ in validation.caSecret: a route can have one")
    first = validated[0]
    secret = Key(obj.key.namespace, first.ca_secret)
    return PodAuthority(secret, CA_CRT, (
        f"Service [{first.name}:{first.port}] TLS upstream validation policy error: invalid CA Secret "
        f"{quoted(str(secret))}"), tuple(sorted(subjects.items())))


def _backends(services: tuple[RouteService, ...], ports: list[ServicePort]) -> tuple[Backend, ...]:
    """Return the Services with their shares, those named twice once."""
    weights = [service.weight or 0 for service in services]
    if not any(weights):
        weights = [1] * len(weights)  # even
    shares: dict[tuple[str, str], int] = {}
    for service, port, weight in zip(services, ports, weights, strict=True):
        pair = service.name, port.name
        shares[pair] = shares.get(pair, 0) + weight
    return tuple(Backend(name, weight, port=port) for (name, port), weight in shares.items())


def _options(obj: IngressRoute, entry: RouteEntry, ports: list[ServicePort],
             place: str) -> tuple[RouteOptions, list[str]]:
    """Return the options of an entry and warnings. Raises: _Invalid."""
    options, warnings = _balance(obj, entry.services, place)
    checks = [service.health_check or obj.health_check for service in entry.services]
    if len(set(checks)) > 1:
        warnings.append(f"{place}: services differ in healthCheck; that of "
                        f"{quoted(entry.services[0].name)} applies")
    protocols = {port.upstream_protocol for port in ports}
    over_tls = not protocols.isdisjoint(OVER_TLS)
    if over_tls and not protocols <= set(OVER_TLS):
        raise _Invalid(f"{place}: some of its services speak TLS and others do not")
    if not over_tls and any(service.ca_secret or service.subject_name for service in entry.services):
        warnings.append(f"{place}: validation has no effect: its Services do not speak TLS")
    if "h2" in protocols:
        warnings.append(f"{place}: HTTP/2 of upstream-protocol.h2 has no effect: pods are asked with "
                        "HTTP/1.1 over TLS")
    if "h2c" in protocols:
        warnings.append(f"{place}: upstream-protocol.h2c has no effect: pods are asked with HTTP/1.1")
    if entry.retries:
        warnings.append(f"{place}: retryPolicy has no effect: a request is sent once")
    return RouteOptions(
        balance=options.balance, disable_cookies=options.disable_cookies,
        session_cookie=options.session_cookie,
        timeout_ms=_timeout_ms(entry.request_timeout, place, warnings),
        rewrite=_rewrite(entry.prefix_rewrite, place),
        health=(_health(checks[0], place, tls=over_tls),) if checks[0] else (),
    ), warnings


def _balance(obj: IngressRoute, services: tuple[RouteService, ...],
             place: str) -> tuple[RouteOptions, list[str]]:
    """Return how pods share the requests: one way for all services of an entry."""
    words, warnings = [service.strategy or obj.strategy for service in services], []
    if len({STRATEGIES.get(word, "roundrobin") + (word == COOKIE) * "+" for word in words}) > 1:
        warnings.append(f"{place}: services differ in strategy; that of {quoted(services[0].name)} applies")
    word = words[0]
    if word not in STRATEGIES:
        warnings.append(f"{place}: strategy {quoted(word)} is unknown; RoundRobin applies")
    elif word == "Random":
        warnings.append(f"{place}: strategy Random is not possible on the BIG-IP; RoundRobin applies")
    return RouteOptions(balance=STRATEGIES.get(word, "roundrobin"), disable_cookies=word != COOKIE,
                        session_cookie=word == COOKIE), warnings


def _timeout_ms(text: str, place: str, warnings: list[str]) -> int:
    """Return the time for a response: 0 for the router's, MAX_MS for any.

    Source: projectcontour/contour v1.5.1, internal/dag/builder.go: a time that is not valid means infinity.
    """
    if not text:
        return 0
    if text == "infinity":
        return texts.MAX_MS
    if text in ("0", "+0", "-0"):
        return 0
    terms = list(_DURATION.finditer(text))
    if not terms or "".join(term[0] for term in terms) != text.removeprefix("+"):
        warnings.append(f"{place}: timeoutPolicy.request {quoted(text)} is no time such as 30s; "
                        "infinity applies")
        return texts.MAX_MS
    nanoseconds = sum(int(term[1] + (term[2] or "").ljust(9, "0")) * _NANOSECONDS[term[3]] // 10**9
                      for term in terms)
    return min(-(-nanoseconds // 10**6), texts.MAX_MS)


def _rewrite(text: str, place: str) -> PathRewrite | None:
    if not text:
        return None
    if not route_options.URL_PATH.fullmatch(text):
        raise _Invalid(f"{place}: prefixRewrite is {quoted(text)} but must be a path that begins with /")
    return PathRewrite(text, keeps_rest=True, drops_slash=text == "/")


def _health(check: ServiceHealthCheck, place: str, *, tls: bool) -> HealthCheck:
    """Build the check of an entry. Without a number of good answers a pod is up at the first one."""
    numbers = check.interval_s, check.timeout_s, check.unhealthy_count, check.healthy_count
    if min(numbers) < 0:
        raise _Invalid(f"{place}: healthCheck: a number must be greater than or equal to zero")
    try:
        return health.of_thresholds(
            "/", check.path or "/", kind="https" if tls else "http", host=check.host or CHECK_HOST,
            interval_s=check.interval_s or INTERVAL_S, timeout_s=check.timeout_s or TIMEOUT_S,
            unhealthy=check.unhealthy_count or UNHEALTHY, healthy=check.healthy_count or 1)
    except health.InvalidCheck as exc:
        raise _Invalid(f"{place}: healthCheck: {exc}") from None


KIND = "IngressRoute"

DEFAULT_VERSION, VERSIONS = "1.1", ("", "1.1", "1.2", "1.3")
"""Values of minimumProtocolVersion. Any other text means the default."""


def host_of(fqdn: str) -> str:
    """Return the Host of a root."""
    return fqdn.strip().lower().removesuffix(".")


def secret_of(root: IngressRoute) -> Key | None:
    """Return the Secret that a root names: NAME, /NAME, or NAMESPACE/NAME; None without one.

    Source: projectcontour/contour v1.5.1, internal/dag/builder.go: splitSecret.
    """
    text = root.virtual_host.secret if root.virtual_host else ""
    namespace, _, name = text.partition("/") if "/" in text else ("", "", text)
    return Key(namespace or root.key.namespace, name) if text else None


def _minimum(text: str) -> str:
    return text if text and text in VERSIONS else DEFAULT_VERSION


def build_route(root: IngressRoute, owner: Key, entry: RouteEntry, checked: CheckedEntry, *,
                passthrough: bool = False) -> Route:
    """Make the Route of an entry. Args: owner: the object that has the entry."""
    host, secret = root.virtual_host, secret_of(root)
    assert host is not None, "called with a root"
    first, *others = checked.backends
    tls = None
    if passthrough:
        tls = RouteTLS("passthrough")
    elif secret is not None:
        tls = RouteTLS("reencrypt" if checked.reencrypt else "edge",
                       "Allow" if entry.permit_insecure else "Redirect")
    # The tcpproxy is the Route without a path: / beside it is another claim, of all requests on port 80.
    beside = host.passthrough and any(root.tcp_proxy or ()) and not passthrough
    path = "" if entry.match == "/" and not beside else entry.match
    return Route(
        key=Key(owner.namespace, names.virtual_route(
            KIND, owner.name, "\0".join((*root.key, "tcpproxy" if passthrough else path)))),
        uid=root.uid,
        created=root.created,
        host=host_of(host.fqdn),
        path=path,
        path_match=PathMatch.TEXT,
        service=first.service,
        weight=first.weight,
        target_port=first.port or "",
        alternates=tuple(backend._replace(port=None) if backend.port == first.port else backend
                         for backend in others),
        tls=tls,
        tls_secret=secret if tls and not passthrough else None,
        pod_authority=checked.authority,
        pods_speak_tls=checked.reencrypt and tls is None,
        redirect_status=301,
        minimum_tls=_minimum(host.minimum_version) if tls and not passthrough else "",
        options=checked.options,
        origin=Origin(KIND, owner, "spec.tcpproxy" if passthrough else f"route {quoted(entry.match)}",
                      "spec.virtualhost.fqdn", claimant=root.key,
                      tls_field="spec.virtualhost.tls.secretName"))
