"""HAProxy's configuration for Routes, as OpenShift's router makes it.

The shape and every default are those of its template: two public frontends, TLS that ends in two inner ones,
maps from regular expressions to backends, a backend per Route. Where releases differ, the newest counts.
Sources: openshift/router, images/router/haproxy/conf/haproxy-config.template (backends, annotations);
pkg/router/template/util/util.go, pkg/router/template/util/haproxy/map_entry.go (maps);
pkg/router/template/router.go (weights).
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.differential.haproxy_frontends import TRUE, Listeners, frontends
from tests.differential.haproxy_headers import action_lines, forwarded_lines

REFUSES = 1
"""A local port where nobody listens, for a pod that is gone."""
PREFIXES = {"": "be_http", "edge": "be_edge_http", "reencrypt": "be_secure", "passthrough": "be_tcp"}
HAPROXY, ROUTER = "haproxy.router.openshift.io/", "router.openshift.io/"
TIME = r"[1-9][0-9]*(us|ms|s|m|h|d)?"
MAX_WEIGHT = 256
_TOKEN = "(?:includeSubDomains|preload)"
HSTS = rf'(?i)(?:{_TOKEN}\s*[;]\s*)*max-age\s*=\s*(?:\d+|"\d+")(?:\s*[;]\s*{_TOKEN})*'
RATES = {"concurrent-tcp": "src_conn_cur", "rate-tcp": "src_conn_rate", "rate-http": "src_http_req_rate"}
"""Last words of the annotations, and what HAProxy compares with their values."""


@dataclass(frozen=True)
class Endpoint:
    """A ready address of a Service."""

    address: str
    port: int
    port_name: str = ""
    protocol: str = ""
    """appProtocol of the port."""
    is_checked: bool = True


Endpoints = Mapping[tuple[str, str], tuple[Endpoint, ...]]
"""By namespace and name of the Service."""
Locate = Callable[[Endpoint], int]
"""Returns the port on 127.0.0.1 where a pod listens."""


def write(folder: Path, routes: Iterable[dict], endpoints: Endpoints, locate: Locate, listeners: Listeners,
          default_certificate: str, variables: Mapping[str, str]) -> Path:
    """Write configuration, maps and certificates for admitted Routes. Returns: path of the configuration.

    Args: variables: environment of OpenShift's router.
    """
    backends = [Backend(route, endpoints, locate, folder, variables) for route in routes]
    (folder / "default.pem").write_text(default_certificate)
    for backend in backends:
        backend.write_certificates()
    for name, lines in maps(backends).items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    path = folder / "haproxy.cfg"
    sections = [*frontends(folder, listeners, variables), *(backend.section() for backend in backends)]
    path.write_text("\n\n".join("\n  ".join(section) for section in sections) + "\n")
    return path


def maps(backends: Iterable["Backend"]) -> dict[str, list[str]]:
    """Compute the lines of each map: exact hosts before wildcards, each in descending order."""
    by_map: dict[str, list[tuple[bool, str]]] = {name: [] for name in (
        "os_http_be.map", "os_edge_reencrypt_be.map", "os_route_http_redirect.map", "os_tcp_be.map",
        "os_sni_passthrough.map", "cert_config.map")}

    def add(name: str, backend: Backend, key: str, value: str) -> None:
        by_map[name].append((not backend.wildcard, f"{key} {value}"))

    for served in backends:
        if served.termination == "" or (served.ends_tls and served.insecure == "Allow"):
            add("os_http_be.map", served, served.pattern, served.name)
        if served.ends_tls:
            add("os_edge_reencrypt_be.map", served, served.pattern, served.name)
        redirects = served.insecure == "Redirect"
        add("os_route_http_redirect.map", served, served.pattern, "1" if redirects else "0")
        if served.termination in ("passthrough", "reencrypt") and not served.path:
            add("os_tcp_be.map", served, served.pattern, served.name)
        if served.termination == "passthrough":
            add("os_sni_passthrough.map", served, f"^{served.host_pattern}$", "1")
        if served.ends_tls and served.tls.get("certificate"):
            add("cert_config.map", served, f"{served.folder / served.file}.pem", served.certificate_host)
    return {name: [line for _, line in sorted(lines, reverse=True)] for name, lines in by_map.items()}


class Backend:
    """A Route as HAProxy sees it."""

    def __init__(self, route: dict, endpoints: Endpoints, locate: Locate, folder: Path,
                 variables: Mapping[str, str]):
        self.spec, self.folder, self._locate, self._variables = route["spec"], folder, locate, variables
        self.namespace, route_name = route["metadata"]["namespace"], route["metadata"]["name"]
        self.annotations: dict[str, str] = route["metadata"].get("annotations", {})
        self.key = f"{self.namespace}:{route_name}"
        self.tls: dict = self.spec.get("tls") or {}
        self.termination: str = self.tls.get("termination", "")
        self.insecure: str = self.tls.get("insecureEdgeTerminationPolicy", "")
        self.wildcard = self.spec.get("wildcardPolicy") == "Subdomain"
        self.host, self.path = self.spec["host"], self.spec.get("path", "")
        self.name = f"{PREFIXES[self.termination]}:{self.key}"
        self.file = self.key.replace(":", "_")
        port = str((self.spec.get("port") or {}).get("targetPort", ""))
        self._services = service_weights(self.spec)
        self._endpoints = {
            name: [endpoint for endpoint in endpoints.get((self.namespace, name), ())
                   if port in ("", str(endpoint.port), endpoint.port_name)] for name in self._services}
        counts = {name: len(members) for name, members in self._endpoints.items()}
        self.weights = endpoint_weights(self._services, counts)
        """Weight of each endpoint by Service."""

    @property
    def ends_tls(self) -> bool:
        return self.termination in ("edge", "reencrypt")

    @property
    def host_pattern(self) -> str:
        if self.wildcard:
            return rf"[^\.]*{quote('.' + self.host.partition('.')[2])}"
        return quote(self.host)

    @property
    def pattern(self) -> str:
        """Regular expression for Host and path of a request."""
        path, below = quote(self.path), "(/.*)?"
        if not self.path.rstrip("/"):
            path = ""
        elif self.path.endswith("/"):
            below = "(.*)?"
        return rf"^{self.host_pattern}\.?(:[0-9]+)?{path}{below}$"

    @property
    def certificate_host(self) -> str:
        return f"*.{self.host.partition('.')[2]}" if self.wildcard else self.host

    def write_certificates(self) -> None:
        """Write the Route's own certificate with its chain and key, and the CA of its pods."""
        parts = [self.tls.get(field, "") for field in ("certificate", "caCertificate", "key")]
        (self.folder / f"{self.file}.pem").write_text("\n".join(pem for pem in parts if pem))
        (self.folder / f"{self.file}-ca.pem").write_text(self.tls.get("destinationCACertificate", ""))

    def annotation(self, key: str, pattern: str, default: str = "") -> str:
        """Return the value of an annotation that matches as a whole, else the default."""
        return _first_match(pattern, self.annotations.get(key, "")) or default

    def section(self) -> list[str]:
        """Return the lines of the backend."""
        http = self.termination != "passthrough"
        lines = [f"backend {self.name}", f"balance {self._balance()}", "timeout check 5000ms"]
        lines += ["mode http", "option redispatch"] if http else ["mode tcp", "hash-type consistent"]
        lines += [*self._access(), *self._limits(http), *self._timeouts(http)]
        if http:
            actions = (self.spec.get("httpHeaders") or {}).get("actions") or {}
            lines += [*self._forwarded(), *self._rewrite(),
                      *action_lines("request", actions.get("request", ())),
                      *self._cookie(), *self._hsts(), *action_lines("response", actions.get("response", ()))]
        return [*lines, *self._servers(http)]

    def _balance(self) -> str:
        several = sum(weight > 0 for weight in self._services.values()) > 1
        names, built_in = ["ROUTER_LOAD_BALANCE_ALGORITHM"], "random"
        if self.termination == "passthrough":
            names, built_in = ["ROUTER_TCP_BALANCE_SCHEME", *names], "source"
        words = "roundrobin|leastconn|source|random"
        default = "roundrobin" if several else _first_match(words, *map(self._variable, names)) or built_in
        return self.annotation(f"{HAPROXY}balance", words, default)

    def _variable(self, name: str) -> str:
        return self._variables.get(name, "")

    def _access(self) -> list[str]:
        key = next((key for key in (f"{HAPROXY}ip_allowlist", f"{HAPROXY}ip_whitelist")
                    if self.annotations.get(key)), "")
        text = self.annotations.get(key, "")
        entries = [] if text != text.strip() else [entry for entry in text.split() if _is_network(entry)]
        if not entries:
            return []
        return [f"acl allowed src {' '.join(entries)}", "tcp-request content reject if !allowed"]

    def _limits(self, http: bool) -> list[str]:
        prefix = f"{HAPROXY}rate-limit-connections"
        if not self.annotation(prefix, TRUE):
            return []
        values = {key: self.annotation(f"{prefix}.{key}", "[+-]?[0-9]+") for key in RATES}
        return ["stick-table type ip size 100k expire 30s store conn_cur,conn_rate(3s),http_req_rate(10s)",
                "tcp-request content track-sc2 src",
                *(f"tcp-request content reject if {{ {RATES[key]} ge {value} }}"
                  for key, value in values.items() if value and (http or key != "rate-http"))]

    def _timeouts(self, http: bool) -> list[str]:
        timeout = self.annotation(f"{HAPROXY}timeout", TIME)
        tunnel = self.annotation(f"{HAPROXY}timeout-tunnel", TIME, "" if http else timeout)
        lines = [f"timeout server {timeout}"] if http and timeout else []
        return [*lines, f"timeout tunnel {tunnel}"] if tunnel else lines

    def _forwarded(self) -> list[str]:
        """Return the lines that set the headers by which pods know the client."""
        words = "append|replace|if-none|never"
        default = _first_match(words, self._variable("ROUTER_SET_FORWARDED_HEADERS")) or "append"
        policy = self.annotation(f"{HAPROXY}set-forwarded-headers", words, default)
        return forwarded_lines(policy, ipv6=self._variable("ROUTER_IP_V4_V6_MODE") == "v6")

    def _cookie(self) -> list[str]:
        if self.annotation(f"{HAPROXY}disable_cookies", TRUE):
            return []
        own = hashlib.md5(f" {self.key}".encode(), usedforsecurity=False).hexdigest()
        words = "[a-zA-Z0-9_-]+"
        default = _first_match(words, self._variable("ROUTER_COOKIE_NAME")) or own
        name = self.annotation(f"{ROUTER}cookie_name", words, default)
        line = f"cookie {name} insert indirect nocache httponly"
        if self.ends_tls and self.insecure != "Allow":
            site = self.annotation(f"{ROUTER}cookie-same-site", "Lax|Strict|None", "None")
            line += f" secure attr SameSite={site}"
        return [line]

    def _hsts(self) -> list[str]:
        text = self.annotation(f"{HAPROXY}hsts_header", HSTS) if self.ends_tls else ""
        return [f"http-response set-header Strict-Transport-Security '{text}'"] if text else []

    def _rewrite(self) -> list[str]:
        target = self.annotation(f"{HAPROXY}rewrite-target", "/.*")
        if not target:
            return []
        slash = "/?" if target == "/" else ""
        return [f"http-request replace-path ^{self.path}{slash}(.*)$ '{sanitized(target)}'"]

    def _servers(self, http: bool) -> Iterable[str]:
        """Yield the pods. Behind passthrough there are none of weight 0."""
        active = sum(len(members) for name, members in self._endpoints.items() if self._services[name] > 0)
        default = _first_match(TIME, self._variable("ROUTER_BACKEND_CHECK_INTERVAL")) or "5000ms"
        interval = self.annotation(f"{ROUTER}haproxy.health.check.interval", TIME, default)
        limit = self.annotation(f"{HAPROXY}pod-concurrent-connections", "[+-]?[0-9]+")
        for service, members in self._endpoints.items():
            weight = self.weights.get(service, 0)
            if not http and not weight:
                continue
            for endpoint in members:
                address = f"{endpoint.address}:{endpoint.port}"
                identity = f"pod:{endpoint.address}:{service}:{endpoint.port_name}:{address}"
                line = f"server {identity} 127.0.0.1:{self._locate(endpoint)} weight {weight}"
                if http:
                    line += f" cookie {hashlib.md5(identity.encode(), usedforsecurity=False).hexdigest()}"
                if self.termination == "reencrypt":
                    line += " ssl alpn h2,http/1.1" + self._verification(service)
                elif http and endpoint.protocol in ("h2c", "kubernetes.io/h2c"):
                    line += " proto h2"
                line += f" check inter {interval}" if active > 1 and endpoint.is_checked else ""
                yield line + (f" maxconn {limit}" if limit else "")

    def _verification(self, service: str) -> str:
        if self.tls.get("destinationCACertificate"):
            return f" verify required ca-file {self.folder / self.file}-ca.pem"
        if default := self._variables.get("DEFAULT_DESTINATION_CA_PATH"):
            return f" verify required ca-file {default} verifyhost {service}.{self.namespace}.svc"
        return " verify none"


def matches(pattern: str, text: str) -> bool:
    """True if a text matches as a whole."""
    return re.fullmatch(pattern, text) is not None


def _first_match(pattern: str, *texts: str) -> str:
    """Return the first text that matches as a whole; "" for none."""
    return next((text for text in texts if matches(pattern, text)), "")


def sanitized(target: str) -> str:
    """Return a rewrite-target as the router writes it between single quotes.

    Source: openshift/router, pkg/router/template/util/rewritetarget/rewritetarget.go: SanitizeInput.
    """
    comment = False
    for mark, replacement in (("#", "#"), ('"', '"'), ("'", "'\\\\''")):
        kept, escaped = "", False
        for char in target:
            if char == mark == "#" and not escaped:
                comment = True
                break
            if char == mark and not escaped:
                continue
            kept += replacement if char == mark and escaped else char
            escaped = char == "\\" and not escaped
        target = kept
    target = re.sub("%+", lambda run: run[0] * (1 + len(run[0]) % 2), target)
    target = re.sub(r"\\+", lambda run: "" if len(run[0]) == 1 else run[0], target).replace(r"\\", "\\")
    return target if comment else rf"{target}\1"


def _is_network(entry: str) -> bool:
    return matches(r"[0-9a-fA-F.:]+(/[0-9]+)?", entry)


def quote(text: str) -> str:
    """Escape what has a meaning in a regular expression, as Go's regexp.QuoteMeta."""
    return re.sub(r"([\\.+*?()|\[\]{}^$])", r"\\\1", text)


def service_weights(spec: dict) -> dict[str, int]:
    """Return the weight of each Service of a Route; the last one counts for a name that stands twice."""
    by_service = {}
    for target in (spec["to"], *spec.get("alternateBackends", ())):
        weight = target.get("weight")
        by_service[target["name"]] = 1 if weight is None else max(0, min(weight, MAX_WEIGHT))
    return by_service


def endpoint_weights(services: Mapping[str, int], counts: Mapping[str, int]) -> dict[str, int]:
    """Compute the weight of each endpoint by Service: scaled so that the largest is 256."""
    shares = {name: weight / counts[name] for name, weight in services.items() if counts[name]}
    positive = [share for share in shares.values() if share > 0]
    if len(positive) == 1:
        return {name: int(share > 0) for name, share in shares.items()}
    scale = MAX_WEIGHT / max(positive, default=1)
    return {name: max(1, int(share * scale)) if share else 0 for name, share in shares.items()}
