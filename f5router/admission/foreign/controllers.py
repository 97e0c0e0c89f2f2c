"""Other controllers whose annotations users bring along, and the annotations that ask for a protection.

A name that asks for a protection is known by its words, so that one which this router has never heard of
refuses the Ingress, too. Sources: the lists of annotations that docs/ingress.md links for each controller.
"""

import re

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


def domain(key: str) -> str:
    """Return the part of a key before its slash; "" without one."""
    prefix, slash, _ = key.partition("/")
    return prefix if slash else ""


def is_foreign(key: str) -> bool:
    """True for an annotation of another controller that is to change how an object is served."""
    prefix = domain(key)
    known = prefix in DOMAINS or prefix.endswith(".ingress.kubernetes.io") or key.startswith(_GKE)
    return known and key not in _BOOKKEEPING


def protects(key: str, value: str) -> bool:
    """True for an annotation that keeps clients away, or limits them, by its name."""
    name = key.partition("/")[2]
    return (key not in _HARMLESS and value.strip().lower() not in _OFF
            and (domain(key) in _PROTECTING_DOMAINS
                 or (_PROTECTS.search(name) is not None and _CORS.search(name) is None)))


def is_snippet(key: str) -> bool:
    """True for an annotation that is text of a configuration."""
    name = key.partition("/")[2]
    return "snippet" in name or (domain(key).startswith("haproxy") and name.startswith("config-"))
