"""The annotations of other controllers that are translated, and the controllers that have others.

Sources: kubernetes/ingress-nginx, docs/user-guide/nginx-configuration/annotations.md; docs.nginx.com, NGINX
Ingress Controller, Advanced configuration with Annotations; haproxy-ingress.github.io, Configuration keys;
haproxytech/kubernetes-ingress, documentation/annotations.md; doc.traefik.io, Traefik & Kubernetes (Ingress);
docs.konghq.com, Kong Ingress Controller annotations; kubernetes-sigs/aws-load-balancer-controller,
docs/guide/ingress/annotations.md; Azure/application-gateway-kubernetes-ingress, docs/annotations.md;
projectcontour.io, Annotations reference; Google Cloud, Ingress for external load balancers;
clouddocs.f5.com, Container Ingress Services, Ingress annotations.

A name that asks for a protection is known by its words, so that one which this router has never heard of
refuses the Ingress, too. Sources: the lists of annotations that docs/ingress.md links for each controller.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from f5router.admission import route_options
from f5router.admission.foreign import readers
from f5router.admission.foreign.readers import Reader
from f5router.model import texts
from f5router.model.route_options import COOKIE_NAME_TEXT, parse_app_root, parse_cookie_name

_BOOLEAN, _ADDRESSES = "true or false", "addresses and CIDRs with commas between them"
_STATUS = f"one of {', '.join(map(str, readers.REDIRECTS))}"
_TARGET = "a URL that begins with http:// or https://, without variables"
_PATH = "a path that begins with /, without groups of a regular expression"
_SECRET = "NAMESPACE/NAME or NAME"
_TIMES = texts.TIME_TEXT


class Row(NamedTuple):
    """How an annotation is translated."""

    read: Reader
    expected: str
    """Description of a valid value, which follows "must be"."""
    protects: bool = True
    """True if a value that is not valid refuses the Ingress; otherwise it has no effect."""


def _option(name: str, parse: object, expected: str) -> Row:
    return Row(readers.option(name, parse), expected, protects=False)  # type: ignore[arg-type]


_ALLOW, _DENY = Row(readers.allow(), _ADDRESSES), Row(readers.deny(), _ADDRESSES)
_TLS_REDIRECT, _FORCED = Row(readers.redirect(), _BOOLEAN), Row(readers.redirect(forced=True), _BOOLEAN)
_STATUS_ROW = Row(readers.set_field("redirect_status", readers.status), _STATUS, protects=False)
_COOKIE = _option("cookie_name", parse_cookie_name, COOKIE_NAME_TEXT)
_AFFINITY = _option("session_cookie", readers.cookie, "cookie")
_SAME_SITE = _option("same_site", route_options.parse_same_site, "Lax, Strict or None")
_APP_ROOT = _option("app_root", parse_app_root, "a path below /")
_TARGET_ROW = _option("redirect_to", readers.url, _TARGET)
_CONNECTIONS = Row(readers.option("most_connections", readers.plus_one), "a whole number from 1")
_PASSTHROUGH = Row(readers.set_field("passthrough"), _BOOLEAN)
_TIMEOUT = _option("timeout_ms", texts.parse_milliseconds, _TIMES)
_TUNNEL = _option("tunnel_timeout_ms", texts.parse_milliseconds, _TIMES)
_CERTIFICATE = Row(readers.encrypt, "")
_PODS = Row(readers.backend("https", plain=("http", "auto_http"), ignored=("grpc",)), "HTTP or HTTPS")
_AUTHORITY, _POD_NAME = Row(readers.authority, _SECRET), Row(readers.set_field("pod_name", str.strip),
                                                             "a name")

_NGINX = {
    "whitelist-source-range": _ALLOW, "allowlist-source-range": _ALLOW, "denylist-source-range": _DENY,
    "ssl-redirect": Row(readers.redirect(308), _BOOLEAN),
    "force-ssl-redirect": Row(readers.redirect(308, forced=True), _BOOLEAN),
    "ssl-passthrough": _PASSTHROUGH,
    "permanent-redirect": _TARGET_ROW, "temporal-redirect": _TARGET_ROW,
    "permanent-redirect-code": Row(readers.set_field("code", readers.status), _STATUS, protects=False),
    "temporal-redirect-code": Row(readers.set_field("code", readers.status), _STATUS, protects=False),
    "app-root": _APP_ROOT,
    "rewrite-target": _option("rewrite", readers.whole_path, _PATH),
    "backend-protocol": _PODS,
    "proxy-ssl-secret": _AUTHORITY, "proxy-ssl-verify": Row(readers.nginx_verify, "on or off"),
    "proxy-ssl-name": _POD_NAME,
    "affinity": _AFFINITY,
    "session-cookie-name": _COOKIE, "session-cookie-samesite": _SAME_SITE,
    "limit-connections": _CONNECTIONS,
}
_HAPROXY_INGRESS = {
    "allowlist-source-range": Row(readers.allow(exceptions=True), _ADDRESSES),
    "whitelist-source-range": Row(readers.allow(exceptions=True), _ADDRESSES),
    "denylist-source-range": Row(readers.deny(exceptions=True), _ADDRESSES),
    "ssl-redirect": _TLS_REDIRECT, "ssl-redirect-code": _STATUS_ROW, "ssl-passthrough": _PASSTHROUGH,
    "app-root": _APP_ROOT, "redirect-to": _TARGET_ROW,
    "secure-backends": Row(readers.set_field("pods_tls"), _BOOLEAN),
    "backend-protocol": Row(readers.backend("h1-ssl", "https", plain=("h1", "http"), ignored=("h2", "grpc")),
                            "h1 or h1-ssl"),
    "secure-verify-ca-secret": _AUTHORITY, "secure-verify-hostname": _POD_NAME,
    "affinity": _AFFINITY,
    "session-cookie-name": _COOKIE, "session-cookie-same-site": _SAME_SITE,
    "limit-connections": _CONNECTIONS,
    "timeout-server": _TIMEOUT, "timeout-tunnel": _TUNNEL,
}
_HAPROXY_TECH = {
    "allow-list": _ALLOW, "whitelist": _ALLOW, "deny-list": _DENY, "blacklist": _DENY,
    "ssl-redirect": _FORCED, "ssl-redirect-code": _STATUS_ROW, "ssl-passthrough": _PASSTHROUGH,
    "server-ssl": Row(readers.set_field("pods_tls"), _BOOLEAN),
    "cookie-persistence": _COOKIE,
    "timeout-server": _TIMEOUT, "timeout-tunnel": _TUNNEL,
}
_UNPREFIXED = {  # CIS, NGINX Ingress Controller, Contour, and the first releases of others
    "whitelist-source-range": _ALLOW, "allowlist-source-range": _ALLOW,
    "ssl-redirect": _TLS_REDIRECT, "force-ssl-redirect": _FORCED,
    "allow-http": Row(readers.allow_http(), _BOOLEAN), "ssl-passthrough": _PASSTHROUGH,
    "app-root": _APP_ROOT, "secure-backends": Row(readers.set_field("pods_tls"), _BOOLEAN),
    "affinity": _AFFINITY, "session-cookie-name": _COOKIE,
}
_NGINX_INC = {"redirect-to-https": Row(readers.redirect(301, forced=True), _BOOLEAN), "app-root": _APP_ROOT}
_TRAEFIK = {
    "router.tls": Row(readers.encrypt_if, _BOOLEAN), "router.tls.certresolver": _CERTIFICATE,
    "router.entrypoints": Row(readers.entry_points, "of the entry points web, http, websecure and https"),
    "whitelist-source-range": _ALLOW, "app-root": _APP_ROOT,
}
_KONG = {
    "protocols": Row(readers.protocols, "of http and https"),
    "https-redirect-status-code": _STATUS_ROW,
}
_ALB = {
    "inbound-cidrs": _ALLOW, "certificate-arn": _CERTIFICATE,
    "listen-ports": Row(readers.listen_ports, 'a list of {"HTTP": 80} and {"HTTPS": 443}'),
    "ssl-redirect": Row(readers.redirect_port, "443"), "backend-protocol": _PODS,
}
_APPGW = {
    "ssl-redirect": Row(readers.redirect(301), _BOOLEAN), "appgw-ssl-certificate": _CERTIFICATE,
    "backend-protocol": _PODS,
}
_VERSIONS = Row(readers.set_field("minimum_tls", route_options.one_of("1.1", "1.2", "1.3")),
                "1.1, 1.2 or 1.3")

_BY_DOMAIN = {
    "nginx.ingress.kubernetes.io": _NGINX, "haproxy-ingress.github.io": _HAPROXY_INGRESS,
    "haproxy.org": _HAPROXY_TECH, "ingress.kubernetes.io": _UNPREFIXED, "nginx.org": _NGINX_INC,
    "traefik.ingress.kubernetes.io": _TRAEFIK, "konghq.com": _KONG, "alb.ingress.kubernetes.io": _ALB,
    "appgw.ingress.kubernetes.io": _APPGW,
    "projectcontour.io": {"tls-minimum-protocol-version": _VERSIONS},
    "contour.heptio.com": {"tls-minimum-protocol-version": _VERSIONS},
    "kubernetes.io": {"ingress.allow-http": Row(readers.allow_http(silent=True), _BOOLEAN)},
    "networking.gke.io": {"managed-certificates": _CERTIFICATE},
    "ingress.gcp.kubernetes.io": {"pre-shared-cert": _CERTIFICATE},
    "virtual-server.f5.com": {"clientssl": Row(readers.client_ssl, "the path of a profile, or a JSON list"),
                              "serverssl": Row(readers.pods_tls, "")},
}

TABLE: Mapping[str, Row] = {
    f"{domain}/{name}": row for domain, rows in _BY_DOMAIN.items() for name, row in rows.items()}
"""By annotation, in the order in which they count: the first of two that set the same."""

DOMAINS = frozenset({
    "nginx.ingress.kubernetes.io",
    "nginx.org", "nginx.com", "appprotect.f5.com", "appprotectdos.f5.com",
    "haproxy-ingress.github.io", "haproxy.org", "haproxy.com", "ingress.haproxy.org",
    "ingress.kubernetes.io", "traefik.ingress.kubernetes.io", "ingress.traefik.io",
    "konghq.com", "configuration.konghq.com", "alb.ingress.kubernetes.io", "appgw.ingress.kubernetes.io",
    "projectcontour.io", "contour.heptio.com", "networking.gke.io", "ingress.gcp.kubernetes.io",
    "ingress.citrix.com", "ingress.appscode.com", "getambassador.io", "k8s.apisix.apache.org", "higress.io",
    "zalando.org", "ingress.cilium.io", "cis.f5.com",
})
"""Besides all that end in `.ingress.kubernetes.io`, and those of PREFIXES."""

PREFIXES = ("haproxy.router.openshift.io/", "router.openshift.io/", "virtual-server.f5.com/")
"""Beginnings of the annotations that this router has in common with OpenShift's router and with CIS."""

_GKE = "kubernetes.io/ingress."
"""Beginning of the annotations of Google's controller, which have no domain of their own."""

_BOOKKEEPING = frozenset({
    "kubernetes.io/ingress.class", "projectcontour.io/ingress.class", "contour.heptio.com/ingress.class",
    "kubernetes.io/ingress.global-static-ip-name", "kubernetes.io/ingress.regional-static-ip-name",
    *(f"ingress.kubernetes.io/{name}" for name in (
        "backends", "forwarding-rule", "https-forwarding-rule", "https-target-proxy", "ssl-cert",
        "static-ip", "target-proxy", "url-map")),
})
"""Keys that choose a controller or an address, or that a controller writes as its status."""

_PROTECTS = re.compile(
    r"(?:^|[-_.])(?:"
    r"auth\w*|oauth\w*|ext-?authz?|oidc|jwt|saml|ldap|hmac|cognito|login|"
    r"(?:allow|deny|white|black|block)[-_]?lists?\w*|allow|deny|restrict\w*|acls?|inbound-cidrs|"
    r"source-(?:range|header|ip)\w*|src-ip-header|ip[-_]?(?:allow|deny|filter|restriction)\w*|"
    r"security-(?:groups?|polic(?:y|ies))|conditions|internal|scheme|use-private-ip|"
    r"waf\w*|mod-?security|owasp|app-protect\w*|bot|captcha|shield|firewall|csrf|secure-link|"
    r"mtls|mutual\w*|client-?(?:ca|certs?|certificate|crt|verify)|verify-client|ssl-profile|tls\.options|"
    r"limits?|rates?|rps|rpm|throttl\w*|quota|satisfy|middlewares?|plugins?|header-match"
    r")(?:$|[-_.])|^(?:polic(?:y|ies)|methods|snis|headers\..*|override)$", re.ASCII)
_CORS = re.compile(r"(?:^|[-_.])cors(?:$|[-_.])")
"""Rules for browsers: without them, pages of other hosts get less, not more."""

_HARMLESS = frozenset({
    *(f"nginx.ingress.kubernetes.io/{name}" for name in (
        "auth-realm", "auth-secret-type", "auth-cache-key", "auth-cache-duration", "auth-keepalive",
        "auth-keepalive-requests", "auth-keepalive-share-vars", "auth-keepalive-timeout", "auth-method",
        "auth-response-headers", "auth-signin", "auth-signin-redirect-param", "auth-request-redirect",
        "auth-always-set-cookie", "auth-proxy-set-headers", "auth-snippet", "auth-tls-verify-depth",
        "auth-tls-error-page", "auth-tls-pass-certificate-to-upstream", "auth-tls-match-cn",
        "auth-tls-verify-client", "limit-rate", "limit-rate-after", "limit-burst-multiplier",
        "modsecurity-transaction-id", "modsecurity-snippet")),
    "nginx.org/basic-auth-realm", "nginx.com/jwt-realm", "nginx.com/jwt-token", "nginx.com/jwt-login-url",
    "haproxy.org/auth-realm", "haproxy.org/rate-limit-period", "haproxy.org/rate-limit-size",
    "haproxy.org/rate-limit-status-code", "haproxy-ingress.github.io/auth-realm",
    "haproxy-ingress.github.io/waf-mode",
    "alb.ingress.kubernetes.io/auth-session-cookie", "alb.ingress.kubernetes.io/auth-session-timeout",
    "alb.ingress.kubernetes.io/auth-scope", "alb.ingress.kubernetes.io/auth-on-unauthenticated-request",
    "alb.ingress.kubernetes.io/ssl-policy", "alb.ingress.kubernetes.io/load-balancer-attributes",
})
"""Keys with such a word that protect nothing by themselves, only together with another one that does."""

_PROTECTING_DOMAINS = frozenset({"appprotect.f5.com", "appprotectdos.f5.com"})

_OFF = frozenset({"false", "off", "no", "0", "none", "disabled", "internet-facing"})
"""Values by which an annotation asks for no protection."""


def domain_of(key: str) -> str:
    """Return the part of a key before its slash; "" without one."""
    prefix, slash, _ = key.partition("/")
    return prefix if slash else ""


def is_foreign(key: str) -> bool:
    """True for an annotation of another controller that is to change how an object is served."""
    prefix = domain_of(key)
    known = prefix in DOMAINS or prefix.endswith(".ingress.kubernetes.io") or key.startswith(_GKE)
    return known and key not in _BOOKKEEPING


def protects(key: str, value: str) -> bool:
    """True for an annotation that keeps clients away, or limits them, by its name."""
    name = key.partition("/")[2]
    return (key not in _HARMLESS and value.strip().lower() not in _OFF
            and (domain_of(key) in _PROTECTING_DOMAINS
                 or (_PROTECTS.search(name) is not None and _CORS.search(name) is None)))


def is_snippet(key: str) -> bool:
    """True for an annotation that is text of a configuration."""
    name = key.partition("/")[2]
    return "snippet" in name or (domain_of(key).startswith("haproxy") and name.startswith("config-"))
