"""Entries of IngressRoutes as options, Services and weights of Routes.

Sections named by the tests are those of projectcontour/contour v1.5.1, docs/ingressroute.md.
"""

from dataclasses import replace

import pytest

from f5router.model import texts
from f5router.model.cluster import CA_CRT, Backend, Key, PodAuthority
from f5router.sources import contour_entries
from tests.unit.sources.contour_objects import entry, ingress_route, service, service_of

WEB = service("shop/web", 80, 81)


def secured(name, secret, subject):
    return service_of(name, validation={"caSecret": secret, "subjectName": subject})


def check(*services, **more):
    obj = ingress_route("v", entry("/", *services, **more.pop("route", {})), **more)
    return contour_entries.check(obj, obj.routes[0], {each.key: each for each in (
        WEB, service("shop/b"), service("shop/c"), service("shop/d"), service("shop/e"),
        service("shop/tls", 443, upstream_protocol="tls"),
        service("shop/more", 443, upstream_protocol="tls"),
        service("shop/h2c", 80, upstream_protocol="h2c"),
        service("shop/h2", 443, upstream_protocol="h2"),
        replace(service("shop/limited"), circuit_breakers=("max-connections", "max-requests")))})


@pytest.mark.parametrize(("weights", "expected"), [
    pytest.param([None], [1], id="one Service"),
    pytest.param([0], [1], id="one Service of weight 0"),
    pytest.param([None, None], [1, 1], id="even"),
    pytest.param([0, 0], [1, 1], id="even, of zeros"),
    pytest.param([90, 10], [90, 10], id="given"),
    pytest.param([90, None], [90, 0], id="an absent one is 0"),
    pytest.param([2_000_000_000, 1], [2_000_000_000, 1], id="without limit"),
])
def test_weights(weights, expected):
    """Section "Upstream Weighting"."""
    names = ["web", "b", "c"]
    checked = check(*(service_of(name, weight=weight) for name, weight in zip(names, weights, strict=False)))
    assert [backend.weight for backend in checked.backends] == expected


def test_services_of_other_ports():
    """A Service may be named twice. Section "Multiple Upstreams"."""
    checked = check("web:81", "b", "web:81", "web")
    assert checked.backends == (
        Backend("web", 2, port="p81"), Backend("b", 1, port="http"), Backend("web", 1, port="http"))


@pytest.mark.parametrize(("strategies", "balance", "cookies", "words"), [
    ([""], "roundrobin", False, []),
    (["RoundRobin"], "roundrobin", False, []),
    (["WeightedLeastRequest"], "leastconn", False, []),
    (["Cookie"], "roundrobin", True, []),
    (["Random"], "random", False, ["Random is not possible"]),
    (["Maglev"], "roundrobin", False, ['"Maglev" is unknown']),
    (["Cookie", ""], "roundrobin", True, ["differ in strategy"]),
    (["WeightedLeastRequest", "Random"], "leastconn", False, ["differ in strategy"]),
])
def test_strategies(strategies, balance, cookies, words):
    """Sections "Load Balancing Strategy" and "Session Affinity"; RingHash and Maglev: v0.6.0."""
    checked = check(*(service_of(name, strategy=each) for name, each in zip("bcd", strategies, strict=False)))
    assert (checked.options.balance, checked.options.disable_cookies) == (balance, not cookies)
    assert checked.options.asks_for_cookie is cookies
    assert [word in text for word, text in zip(words, checked.warnings, strict=True)] == [True] * len(words)


def test_strategy_of_all_services():
    """Source: v0.6.0, design/ingressroute-design.md."""
    assert check("web", strategy="WeightedLeastRequest").options.balance == "leastconn"


@pytest.mark.parametrize(("given", "interval_s", "timeout_s", "host"), [
    pytest.param({"path": "/up"}, 5, 16, "contour-envoy-healthcheck", id="design/ingressroute-design.md"),
    pytest.param({"path": "/up", "host": "a.b", "intervalSeconds": 30, "timeoutSeconds": 60,
                  "unhealthyThresholdCount": 2, "healthyThresholdCount": 3}, 30, 90, "a.b",
                 id="time-out of one check"),
])
def test_health_checks(given, interval_s, timeout_s, host):
    """Section "Per-Upstream Active Health Checking"."""
    for checked in (check(service_of("web", healthCheck=given)), check("web", healthCheck=given)):
        [monitor] = checked.options.health
        assert (monitor.type, monitor.interval_s, monitor.timeout_s) == ("http", interval_s, timeout_s)
        assert monitor.send == f"GET /up HTTP/1.1\\r\\nHost: {host}\\r\\nConnection: close\\r\\n\\r\\n"
        assert monitor.recv == r"^HTTP/1\.[01] 200"
        assert monitor.until_up_s == (60 if host == "a.b" else 0)


@pytest.mark.parametrize(("text", "expected"), [
    ("", 0), ("0s", 0), ("0", 0), ("infinity", texts.MAX_MS), ("1.5s", 1500), ("1m30s", 90_000),
    ("100us", 1), ("90000h", texts.MAX_MS),
])
def test_timeouts(text, expected):
    """Section "Request Timeout"; internal/dag/policy.go: ingressrouteTimeoutPolicy."""
    checked = check("web", route={"timeoutPolicy": {"request": text}})
    assert checked.options.timeout_ms == expected
    assert not checked.warnings


@pytest.mark.parametrize(("kwargs", "words"), [
    ({"route": {"timeoutPolicy": {"request": "soon"}}}, "infinity applies"),
    ({"route": {"retryPolicy": {}}}, "retryPolicy has no effect"),
])
def test_warnings(kwargs, words):
    """Section "Request Timeout"; a request is never sent twice here."""
    [text] = check("web", **kwargs).warnings
    assert words in text


def test_circuit_breakers():
    """Source: projectcontour/contour v1.5.1, docs/annotations.md. Once for a Service."""
    assert check("web", "limited", "limited").warnings == (
        'route "/": max-connections, max-requests of Service "limited" has no effect',)


@pytest.mark.parametrize(("services", "kwargs", "words"), [
    (["web"], {"route": {"prefixRewrite": "/a[b]"}}, "prefixRewrite"),
    (["web"], {"healthCheck": {"path": "/\r\nX: y"}}, "healthCheck: path is"),
    (["web"], {"healthCheck": {"path": "/", "intervalSeconds": -1}}, "greater than or equal"),
    (["web"], {"healthCheck": {"path": "/", "intervalSeconds": 90000}}, "intervalSeconds must be"),
    (["tls:443", "web"], {}, "some of its services speak TLS"),
    ([secured("tls:443", "", "a.b")], {}, 'Service [tls:443] TLS upstream validation policy error: '
     'invalid CA Secret "shop/": Secret not found'),
    ([secured("tls:443", "ca", "")], {},
     "Service [tls:443] TLS upstream validation policy error: missing subject alternative name"),
    ([secured("tls:443", "ca", "*.a.b")], {}, 'subjectName "*.a.b" is no host name'),
    ([secured("tls:443", "ca", "a.b"), secured("tls:443", "ca", "c.d")], {}, "has another subjectName"),
    ([secured("tls:443", "ca", "a.b"), secured("more:443", "b", "a.b")], {}, "differ in validation.caSecret"),
    ([secured("tls:443", "ca", "a.b"), "more:443"], {}, "differ in validation.caSecret"),
])
def test_errors(services, kwargs, words):
    """Texts about a caSecret are of internal/dag/builder.go: lookupUpstreamValidation; others are our own."""
    checked = check(*services, **kwargs)
    assert words in checked.error
    assert not checked.backends


def test_validation():
    """Each Service by its own name; without effect on what does not speak TLS.

    Source: internal/dag/builder.go: processIngressRoutes, lookupUpstreamValidation.
    """
    checked = check(secured("tls:443", "ca", "A.b"), secured("more:443", "ca", "c.d"))
    assert checked.authority == PodAuthority(
        Key("shop", "ca"), CA_CRT,
        'Service [tls:443] TLS upstream validation policy error: invalid CA Secret "shop/ca"',
        (("more", "c.d"), ("tls", "A.b")))
    assert checked.warnings == ()
    plain = check(secured("web", "ca", "a.b"))
    assert plain.authority is None
    assert "validation has no effect" in plain.warnings[0]


def test_pods_that_speak_tls():
    """Source: internal/annotation/annotations_test.go, upstream-protocol."""
    checked = check("tls:443", healthCheck={"path": "/"})
    assert checked.reencrypt
    assert checked.options.health[0].type == "https"
    assert "h2c has no effect" in check("h2c").warnings[0]
    assert not check("h2c").reencrypt


def test_pods_that_speak_http2_over_tls():
    """They are not asked in clear text, whatever version of HTTP they get."""
    checked = check(secured("h2:443", "ca", "a.b"), secured("tls:443", "ca", "a.b"))
    assert (checked.reencrypt, checked.authority.secret) == (True, Key("shop", "ca"))
    assert checked.warnings == (
        'route "/": HTTP/2 of upstream-protocol.h2 has no effect: pods are asked with HTTP/1.1 over TLS',)
    assert check("h2:443", "web").error == 'route "/": some of its services speak TLS and others do not'


def test_rewrite():
    """Section "Prefix Rewrite Support"."""
    assert check("web", route={"prefixRewrite": "/v2"}).options.rewrite.target == "/v2"
