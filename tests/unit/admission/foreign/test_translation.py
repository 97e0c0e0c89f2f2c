"""Annotations of other controllers: translated, refused, without effect, or ignored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission import allowlist, annotations
from f5router.admission.allowlist import Allowlist
from f5router.admission.foreign import readers, tables, translation
from f5router.admission.foreign.readers import ClientList
from f5router.admission.foreign.tables import TABLE
from f5router.model import route_options
from tests.rows import rows

NGINX = "nginx.ingress.kubernetes.io/"


@rows(("text", "harmful"), [
    ("add_header X-A b;", False), ('more_set_headers "A: b; deny all";', False),
    ("gzip on; # deny all", False),
    ("deny all;", True),
    ("add_header A b; allow 10.0.0.0/8; deny all;", True),
    ("if ($x) { return 403; }", True),
    ("# don't\ndeny all; # it's", True),
    ("add_header A b'; deny all; add_header C 'd;", True),
    ("proxy_set_header X-User '';", True), ("auth_request /auth;", True), ("add_headers X", True),
    ("include /etc/nginx/acl;", True), ("gzip on;" * 1000, True), ('add_header A "b\\"; c"; deny all;', True),
])
def test_snippets(text, harmful):
    """Only what is known to keep nobody out is harmless."""
    assert readers.restricts(text, haproxy=False) is harmful


@rows(("text", "harmful"), [
    ("http-response set-header A b", False), ("timeout server 5s\n# x", False),
    ("http-request deny if !{ src 10.0.0.0/8 }", True),
    ("http-response deny", True), ("acl a src 1.2.3.4", True),
])
def test_snippets_of_haproxy(text, harmful):
    assert readers.restricts(text, haproxy=True) is harmful


@rows(("key", "value", "protects"), [
    (f"{NGINX}auth-url", "x", True), (f"{NGINX}auth-signin", "x", False),
    (f"{NGINX}cors-allow-origin", "*", False),
    (f"{NGINX}enable-modsecurity", "off", False), (f"{NGINX}global-rate-limit", "5", True),
    (f"{NGINX}proxy-buffering", "on", False), ("nginx.com/jwt-key", "x", True),
    ("appprotect.f5.com/app-protect-enable", "True", True), ("konghq.com/strip-path", "true", False),
    ("konghq.com/plugins", "x", True), ("higress.io/ip-access-deny", "x", True),
    ("mse.ingress.kubernetes.io/blacklist-source-range", "x", True), ("haproxy.org/client-ca", "x", True),
    ("alb.ingress.kubernetes.io/conditions.web", "[]", True),
    ("alb.ingress.kubernetes.io/ssl-policy", "x", False),
    ("appgw.ingress.kubernetes.io/override-frontend-port", "81", False),
    ("traefik.ingress.kubernetes.io/router.tls.options", "x", True),
    ("zalando.org/skipper-filter", "x", False),
])
def test_names_that_protect(key, value, protects):
    """A name that nobody has listed is known by its words."""
    assert tables.is_foreign(key)
    assert tables.protects(key, value) is protects


@rows("key", ["kubernetes.io/ingress.class", "ingress.kubernetes.io/url-map", "cert-manager.io/issuer",
              "kubernetes.io/tls-acme", "external-dns.alpha.kubernetes.io/hostname", "auth",
              "example.com/auth"])
def test_annotations_of_nobody_known(key):
    assert not tables.is_foreign(key)


def test_a_refusal_names_the_annotation_and_what_to_do():
    result = translation.translate({f"{NGINX}auth-url": "x", f"{NGINX}limit-rps": "5"}, ())
    assert result.refusal.startswith(f"metadata.annotations: {NGINX}auth-url asks for a protection")
    assert "--ignore-annotations" in result.refusal
    assert result.refusal.endswith("1 more annotation refuses it")


@rows("patterns", [{f"{NGINX}auth-url"}, {f"{NGINX}*"}])
def test_ignored(patterns):
    result = translation.translate({f"{NGINX}auth-url": "x"}, frozenset(patterns))
    assert (result.refusal, result.ignored) == ("", [f"{NGINX}auth-url"])


def test_parsing_of_the_setting():
    text = f"{NGINX}auth-url,konghq.com/* virtual-server.f5.com/ip"
    assert translation.parse_ignored(text) == {f"{NGINX}auth-url", "konghq.com/*", "virtual-server.f5.com/ip"}
    assert translation.parse_ignored(" ") == frozenset()


@pytest.mark.parametrize("text", ["*", "auth-url", "example.com/x", "konghq.com/*x", "kong*/x",
                                  "haproxy.router.openshift.io/ip_allowlist", "virtual-server.f5.com/waf"])
def test_settings_that_are_refused(text):
    with pytest.raises(ValueError, match="neither an annotation"):
        translation.parse_ignored(text)


def merged(given, termination="edge"):
    own = annotations.parse(given, termination)
    return translation.merged(own, translation.translate(given, ()), termination)


def test_values_of_options():
    result = merged({f"{NGINX}rewrite-target": "/new", f"{NGINX}app-root": "/start",
                     f"{NGINX}limit-connections": "5", f"{NGINX}affinity": "cookie",
                     f"{NGINX}session-cookie-name": "route", "haproxy.org/timeout-server": "5s"}).options
    assert result.rewrite == route_options.PathRewrite("/new", keeps_rest=False, drops_slash=False)
    assert (result.app_root, result.most_connections, result.cookie_name, result.timeout_ms) == (
        "/start", 6, "route", 5000)


def test_options_of_this_router_go_before_and_lists_are_joined():
    result = merged({f"{NGINX}rewrite-target": "/a", "haproxy.router.openshift.io/rewrite-target": "/b",
                     f"{NGINX}whitelist-source-range": "10.0.0.0/8",
                     "haproxy.router.openshift.io/ip_allowlist": "10.1.0.0/16 192.0.2.1"})
    assert result.options.rewrite.target == "/b"
    assert result.options.sources == ("10.1.0.0/16",)
    assert "has no effect beside" in result.option_problems[0]


def test_what_only_tls_has():
    given = {f"{NGINX}affinity": "cookie", f"{NGINX}session-cookie-samesite": "Lax"}
    assert merged(given).options.same_site == "Lax"
    assert merged(given, "").options.same_site == ""


def test_affinity_asks_for_a_cookie():
    """Also where a router sets none by default; not where requests are not seen, which is said."""
    given = {f"{NGINX}affinity": "cookie"}
    assert merged(given).options.asks_for_cookie
    assert merged(given, "").options.asks_for_cookie
    passed = merged(given, "passthrough")
    assert not passed.options.asks_for_cookie
    assert "affinity has no effect with termination passthrough" in passed.option_problems[0]
    assert not merged({f"{NGINX}affinity": "ip"}).options.asks_for_cookie


@given(st.dictionaries(st.sampled_from([*TABLE, f"{NGINX}auth-url", f"{NGINX}configuration-snippet"]),
                       st.text(max_size=20), max_size=4))
def test_any_value_is_translated_or_has_a_reason(given):
    result = translation.translate({key: text for key, text in given.items() if text.strip()}, ())
    told = " ".join([*result.refusals, *result.problems])
    for key, text in given.items():
        if text.strip() and key not in annotations.READ:
            assert key in told or key in (*result.translated, *result.without_effect)


def listed(text, *, refused=False):
    return allowlist.narrowed(Allowlist(), [ClientList("key", text, refused, False)])


@given(st.lists(st.ip_addresses(v=4), min_size=1, max_size=5))
def test_a_denylist_leaves_all_others(addresses):
    text = ",".join(map(str, addresses))
    left = allowlist.narrowed(Allowlist(listed(text, refused=True).sources),
                              [ClientList("key", text, False, False)])
    assert "leaves no client" in left.refusal
    assert "::/1" in listed(text, refused=True).sources


@rows("text", ["0.0.0.0/0,::/0", "0.0.0.0/1,128.0.0.0/1,::/1,8000::/1"])
def test_a_denylist_of_everybody_refuses(text):
    assert listed(text, refused=True).refusal


def test_lists_have_a_bound():
    text = ",".join(f"10.{a}.{b}.1" for a in range(4) for b in range(0, 250, 2))
    assert "more than 1000" in listed(text, refused=True).refusal
    assert not listed("0.0.0.0/0, ::/0").refusal
