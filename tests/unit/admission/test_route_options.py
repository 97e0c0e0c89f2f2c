"""Annotations that set options of a Route: upstream's parsing, and a sentence for what has no effect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission import annotations
from f5router.admission.route_options import CIS, HAPROXY, KEYS, LIMITS, OPTIONS, SECURE, parse
from f5router.model.route_options import RouteOptions
from tests.rows import rows

HOSTILE = ["'", '"', "{", "}", "[exec reboot]", "$x", "a;b", "a\nb", "\x1b[2J", "‮", "\ud800", "x" * 100_000,
           "}; delete ltm pool all;", "\\", "%[src]", "\0", " ", "-5", "1.5", "٣", "9" * 130]


@rows(("key", "text", "options"), [
    (f"{HAPROXY}balance", "roundrobin", RouteOptions(balance="roundrobin")),
    (f"{HAPROXY}balance", "leastconn", RouteOptions(balance="leastconn")),
    (f"{HAPROXY}balance", "random", RouteOptions(balance="random")),
    (f"{HAPROXY}balance", "source", RouteOptions(balance="source")),
    (f"{HAPROXY}pod-concurrent-connections", "10", RouteOptions(pod_connections=10)),
    (f"{HAPROXY}pod-concurrent-connections", "+10", RouteOptions(pod_connections=10)),
    (f"{HAPROXY}pod-concurrent-connections", "0", RouteOptions()),
    (f"{CIS}balance", "round-robin", RouteOptions(balance="roundrobin")),
    (f"{CIS}balance", "ratio-member", RouteOptions(balance="roundrobin")),
    (f"{CIS}balance", "least-connections-member", RouteOptions(balance="leastconn")),
    (f"{CIS}balance", "ratio-least-connections-member", RouteOptions(balance="leastconn")),
    (f"{CIS}balance", "least-connections-node", RouteOptions(balance="least-connections-node")),
    (f"{CIS}pod-concurrent-connections", "10", RouteOptions(pod_connections=10)),
])
@rows("termination", ["", "edge", "reencrypt", "passthrough"])
def test_valid_values(key, text, options, termination):
    assert parse({key: text}, termination) == (options, ())


@rows("option", OPTIONS, ids=lambda option: option.key)
@rows("text", HOSTILE, ids=lambda text: ascii(text[:20]))
def test_a_bad_value_counts_for_nothing_and_is_reported(option, text):
    switch = {LIMITS: "true"} if option.key.startswith(LIMITS) else {}
    options, problems = parse({**switch, option.key: text}, max(option.terminations))
    assert options == RouteOptions()
    assert len(problems) == 1
    assert problems[0].startswith(f"metadata.annotations: {option.key} is ")
    assert "the default applies" in problems[0]
    assert problems[0].isprintable()
    assert len(problems[0]) < 1000


@pytest.mark.parametrize("method", [
    "dynamic-ratio-member", "dynamic-ratio-node", "fastest-app-response", "fastest-node", "least-sessions",
    "observed-member", "observed-node", "predictive-member", "predictive-node",
    "weighted-least-connections-node", "roundrobin", "ROUND-ROBIN"])
def test_methods_that_are_not_supported(method):
    options, problems = parse({f"{CIS}balance": method}, "")
    assert options == RouteOptions()
    assert len(problems) == 1
    assert f"{CIS}balance is '{method}' but must be one of round-robin" in problems[0]


@pytest.mark.parametrize(("name", "first", "second", "options"), [
    ("balance", "source", "least-connections-member", RouteOptions(balance="source")),
    ("balance", "nonsense", "least-connections-member", RouteOptions()),
    ("pod-concurrent-connections", "5", "7", RouteOptions(pod_connections=5))])
def test_openshifts_annotation_goes_first(name, first, second, options):
    read, problems = parse({f"{HAPROXY}{name}": first, f"{CIS}{name}": second}, "")
    assert read == options
    assert problems[-1] == f"metadata.annotations: {CIS}{name} has no effect beside {HAPROXY}{name}"
    assert parse({f"{HAPROXY}{name}": "", f"{CIS}{name}": second}, "")[1] == ()


@pytest.mark.parametrize(("text", "verify"), [("true", True), ("1", True), ("false", False)])
def test_verification_of_pods(text, verify):
    assert parse({SECURE: text}, "reencrypt") == (RouteOptions(verify_pods=verify), ())
    assert parse({SECURE: text}, "edge")[1] == (
        f"metadata.annotations: {SECURE} has no effect on a Route with termination 'edge'",)


@pytest.mark.parametrize("value", ["", None, 5, {}, [], True])
def test_what_is_no_text_asks_for_nothing(value):
    assert parse({option.key: value for option in OPTIONS}, "reencrypt") == (RouteOptions(), ())


@given(st.dictionaries(st.sampled_from(sorted(KEYS)), st.text()), st.text())
def test_any_values_give_options_or_a_sentence_each(values, termination):
    options, problems = parse(values, termination)
    given = sum(bool(value) for value in values.values())
    default = RouteOptions()
    fields = {option.field for option in OPTIONS}  # two annotations may set one
    changed = sum(getattr(options, field) != getattr(default, field) for field in fields)
    assert len(problems) + changed <= given
    assert all(problem.isprintable() for problem in problems)


@rows(("name", "text"), [
    ("timeouts",
     "is unknown to this router; it has no effect; did you mean haproxy.router.openshift.io/timeout?"),
    ("unheard-of", "is not supported by this router; it has no effect"),
])
def test_an_annotation_without_effect(name, text):
    key = f"haproxy.router.openshift.io/{name}"
    assert annotations.warnings([key]) == (f"metadata.annotations: {key} {text}",)


def test_an_annotation_that_is_read_is_not_reported_as_unsupported():
    assert annotations.unsupported(dict.fromkeys(KEYS, "x")) == ()


@pytest.mark.parametrize("word", ["1", "t", "T", "true", "TRUE", "True"])
def test_limits_of_clients(word):
    values = {LIMITS: word, f"{LIMITS}.concurrent-tcp": "10", f"{LIMITS}.rate-tcp": "+20",
              f"{LIMITS}.rate-http": "2"}
    assert parse(values, "edge") == (
        RouteOptions(most_connections=10, connection_rate=20, request_rate=2), ())
    options, problems = parse(values, "passthrough")
    assert options == RouteOptions(most_connections=10, connection_rate=20)
    assert problems == (f"metadata.annotations: {LIMITS}.rate-http has no effect on a Route with termination "
                        "'passthrough'",)


@pytest.mark.parametrize("values", [
    {f"{LIMITS}.rate-tcp": "20"}, {LIMITS: "false", f"{LIMITS}.rate-tcp": "20"},
    {LIMITS: "", f"{LIMITS}.rate-tcp": "20"}, {LIMITS: "true"}, {LIMITS: "yes"},
    {LIMITS: "true", f"{LIMITS}.rate-tcp": "0"}, {LIMITS: "true", f"{LIMITS}.rate-tcp": "1"},
    {LIMITS: "true", f"{LIMITS}.rate-tcp": "-5"}, {LIMITS: "true", f"{LIMITS}.rate-tcp": "9" * 12}])
def test_limits_of_clients_without_effect_are_reported(values):
    options, problems = parse(values, "")
    assert options == RouteOptions()
    assert len(problems) == 1


@pytest.mark.parametrize("word", ["false", "0", "F"])
def test_a_switch_that_is_off_is_not_reported(word):
    assert parse({LIMITS: word}, "") == (RouteOptions(), ())


@pytest.mark.parametrize("word", ["append", "replace", "if-none", "never"])
@pytest.mark.parametrize("termination", ["", "edge", "reencrypt"])
def test_forwarded_headers(word, termination):
    key = f"{HAPROXY}set-forwarded-headers"
    assert parse({key: word}, termination) == (RouteOptions(forwarded=word), ())
    assert "has no effect" in parse({key: word}, "passthrough")[1][0]
    assert "must be append" in parse({key: word.title()}, termination)[1][0]


@pytest.mark.parametrize("text", [
    "max-age=0", "max-age=31536000;includeSubDomains;preload", "MAX-AGE = 1 ; INCLUDESUBDOMAINS",
    'preload; max-age="31536000"', "includeSubDomains;preload;max-age=5;preload", "max-age=5\t; preload"])
def test_strict_transport_security(text):
    """It is sent as it stands. Source: openshift/router, haproxy-config.template (hstsPattern)."""
    key = f"{HAPROXY}hsts_header"
    for termination in ("edge", "reencrypt"):
        assert parse({key: text}, termination) == (RouteOptions(hsts=text), ())
    for termination in ("", "passthrough"):
        options, problems = parse({key: text}, termination)
        assert options == RouteOptions()
        assert "has no effect on a Route" in problems[0]


@pytest.mark.parametrize("text", [
    "max-age", "max-age=", "max-age=-1", "max-age=1;", ";max-age=1", "max-age=1;other", "preload",
    "max-age=1,preload", 'max-age="1', "max-age=1\n;preload", "max-age=1 preload", "max-age=\u0661",
    "max-age=1;preload" * 20, "max-age=1;" + "preload;" * 30 + "preload", "preload;" * 12_500 + "max-age=1",
    "max-age=" + "1" * 200, "max-age=1; includeSubDomain\u017f"])
def test_no_strict_transport_security(text):
    options, problems = parse({f"{HAPROXY}hsts_header": text}, "edge")
    assert options == RouteOptions()
    assert "must be max-age=SECONDS" in problems[0]
